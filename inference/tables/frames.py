"""What public functions accept, DataFrames of any library, and what they answer to wrong calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from inspect import Parameter, Signature, signature
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd

from ..errors import OF_COMMAND, ConjuryError, InputError, UnknownOption, did_you_mean, listed

P = ParamSpec("P")
R = TypeVar("R")
LIBRARIES = ("polars", "pyarrow", "duckdb", "_duckdb")
ORIGIN, SIMULATED = "origin", "simulated"  # column of tables, and its value in rows that a simulator wrote
TYPES: Mapping[str, tuple[tuple[type, ...], str, str]] = {  # by annotation: in one word, and of several
    "str": ((str,), "text", "texts"),
    "int": ((Integral,), "a whole number", "whole numbers"),
    "float": ((Real,), "a number", "numbers"),
    "bool": ((bool,), "True or False", "truth values"),
    "Path": ((PathLike,), "a path", "paths"),
    "pd.DataFrame": ((pd.DataFrame,), "a DataFrame", "DataFrames"),
    "None": ((type(None),), "", ""),
}
# real judges of each table with simulated rows that was read for the public function that is running
NOTED: ContextVar[list[tuple[str, ...]] | None] = ContextVar("NOTED", default=None)
# what the public function that is running warned of, and kinds of warnings that are no notes of its result
WARNED: ContextVar[list[str] | None] = ContextVar("WARNED", default=None)
UNNOTED: ContextVar[tuple[type[Warning], ...]] = ContextVar("UNNOTED", default=())
LONGEST = 60  # characters of a value in a sentence
OPTION = re.compile(  # of a command, with what may be its value: in quotes, a number, NAME, a=b, a,b, a scale
    r"--(?P<name>[a-z][a-z-]*[a-z])(?: (?P<value>'[^']*'|\"[^\"]*\"|\d+\b|\w+(?:[=,]\w+)+|[A-Z_]{2,}\b"
    r"|(?:nominal|ordinal|interval|half)\b))?"
)


def any_frame(function: Callable[P, R]) -> Callable[P, R]:
    """Let a public function accept frames of any library, note what is simulated and what it warns of."""

    @wraps(function)
    def accepting(*args: P.args, **kwargs: P.kwargs) -> R:
        rows: list[Any] = [to_pandas(value) for value in args]
        options: dict[str, Any] = {name: to_pandas(value) for name, value in kwargs.items()}
        token = NOTED.set([] if NOTED.get() is None else NOTED.get())  # functions inside note for this one
        caller, warned = WARNED.get(), list[str]()
        warned_token = WARNED.set(warned)
        try:
            result = _with_notes(function(*rows, **options), warned)
            return cast("R", _with_origin(result, [*rows, *options.values()]))
        except Exception as error:
            problem = _problem(error, function, rows, options)
            if not problem:
                raise
        finally:
            NOTED.reset(token)
            WARNED.reset(warned_token)
            (caller if caller is not None else []).extend(warned)
        raise InputError(problem)

    return accepting


def note_warning(message: str, category: type[Warning]) -> None:
    """Have the public function that is running note in its result what it warns of."""
    if (warned := WARNED.get()) is not None and not issubclass(category, UNNOTED.get()):
        warned.append(message)


def _with_notes(result: Any, warned: Collection[str]) -> Any:
    """What a function returned, with what it warned of among its notes."""
    if not warned or "notes" not in getattr(result, "__dataclass_fields__", ()):
        return result
    return replace(result, notes=tuple(dict.fromkeys([*result.notes, *warned])))


def _with_origin(result: Any, sources: Iterable[Any]) -> Any:
    """What a function returned, with the judges that are real where its tables have simulated rows."""
    if isinstance(result, list):
        return [_with_origin(part, sources) for part in result]
    if not hasattr(result, "real_judges") or result.real_judges is not None:
        return result
    judges = [names for source in sources if (names := real_judges_of(source)) is not None]
    judges += NOTED.get() or []
    return replace(result, real_judges=tuple(dict.fromkeys(sum(judges, ())))) if judges else result


def is_simulated(table: pd.DataFrame) -> np.ndarray:
    """Flag the rows, shape (n,), that a simulator marked as its own."""
    if ORIGIN not in table:
        return np.zeros(len(table), dtype=bool)
    return (table[ORIGIN].astype("string") == SIMULATED).fillna(False).to_numpy(dtype=bool)


def real_judges_of(source: Any) -> tuple[str, ...] | None:
    """Judges of a table, or of what was computed from it, whose rows are not simulated; None if none is."""
    if isinstance(source, list | tuple | Mapping):
        parts = source.values() if isinstance(source, Mapping) else source
        return next((names for part in parts if (names := real_judges_of(part)) is not None), None)
    if isinstance(source, str | PathLike):
        source = _origins_in_file(Path(source))
    if not isinstance(source, pd.DataFrame):
        return cast("tuple[str, ...] | None", getattr(source, "real_judges", None))
    mask = is_simulated(source)
    if not mask.any():
        return None
    column = source.loc[~mask, "judge_id"] if "judge_id" in source else pd.Series(dtype="string")
    return tuple(str(name) for name in column.dropna().unique())


def _origins_in_file(path: Path) -> pd.DataFrame | None:
    """Origins and judges of the rows of a Parquet file, of which analyses read the columns that they need."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return None
    from .parquet import column_names, read_parquet  # here, since most calls have frames

    names = [name for name in (ORIGIN, "judge_id") if name in column_names(path)]
    return read_parquet(path, names) if ORIGIN in names else None


def note_origins(table: pd.DataFrame) -> None:
    """Tell the public function that is running whether a table that was read for it has simulated rows."""
    noted = NOTED.get()
    if noted is not None and (names := real_judges_of(table)) is not None:
        noted.append(names)


def answer_wrong_calls(function: Callable[P, R]) -> Callable[P, R]:
    """Let a public function answer options and types that it does not take with a sentence, not an error."""

    @wraps(function)
    def answering(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            problem = _problem(error, function, args, kwargs)
            if not problem:
                raise
        raise InputError(problem)

    return answering


def in_python(text: str, function: Callable[..., Any]) -> str:
    """A sentence whose options are those of a function, as ``scale='nominal'``; commands stay as they are."""
    names = set(signature(function).parameters)
    if "RuleArguments" in str(list(signature(function).parameters.values())[-1].annotation):
        from .reading.reading_rules import RuleArguments  # which imports this module

        names |= set(RuleArguments.__annotations__)

    def words(option: re.Match[str]) -> str:
        name, value = option["name"].replace("-", "_"), option["value"]
        if name not in names:
            return option[0]
        if value is not None and value.isupper() and "=" in value:
            return f"{name}={{{value.replace('=', ': ')}}}"
        if value is None or value.isdecimal() or value.isupper():
            return f"{name}={value or ''}"
        plain_text = value.strip("'\"") if value[0] in "'\"" else value
        key, equals, content = plain_text.partition("=")
        if equals and name != "missing":
            return f"{name}={{{key!r}: {content!r}}}"
        is_list = name == "levels" or (plain_text == value and "," in value)
        return f"{name}={plain_text.split(',') if is_list else repr(plain_text)}"

    parts = re.split("(`conjury [^`]*`)", text)
    return "".join(part if part.startswith("`conjury ") else OPTION.sub(words, part) for part in parts)


def _problem(
    error: Exception, function: Callable[..., Any], values: Collection[object], options: Mapping[str, object]
) -> str:
    """Why a call that raised an error cannot be right; empty where the error stands."""
    if isinstance(error, UnknownOption):
        meant = did_you_mean(error.option, signature(function).parameters)
        return f"{function.__name__} has no option {error.option!r}{meant}." if meant else ""
    if isinstance(error, InputError) and not OF_COMMAND.get():
        text = in_python(str(error), function)
        return text if text != str(error) else ""
    if isinstance(error, ConjuryError) or not isinstance(
        error, TypeError | AttributeError | ValueError | KeyError
    ):
        return ""
    return wrong_call(function, values, options)


def to_pandas(value: Any) -> Any:
    """Return a DataFrame of another library as one of pandas; anything else as it is."""
    if isinstance(value, pd.DataFrame) or type(value).__module__.partition(".")[0] not in LIBRARIES:
        return value
    import narwhals as nw  # imported for these frames alone

    frame = nw.from_native(value, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame.to_pandas() if isinstance(frame, nw.DataFrame) else value


def wrong_call(
    function: Callable[..., Any], values: Collection[object], options: Mapping[str, object]
) -> str:
    """What is wrong with a call that failed, as a sentence; empty where nothing is seen."""
    called = signature(function)
    try:
        arguments = called.bind(*values, **options).arguments
    except TypeError:
        return _unbound(function.__name__, called, len(values), options)
    for place, (name, value) in enumerate(arguments.items()):
        annotation = str(called.parameters[name].annotation)
        if not place and isinstance(value, str | PathLike):
            continue  # a path of a table
        if not place and isinstance(value, Real | None) and not _accepted(annotation):
            return f"{name} is {value!r}; give a table, as a DataFrame or the path of a file."
        remedy = _remedy(value, annotation)
        if remedy:
            return f"{name} is {value_in_words(value)}; give {remedy}."
    return ""


def _unbound(name: str, called: Signature, count: int, options: Mapping[str, object]) -> str:
    """Say which option a function does not have or needs."""
    parameters = called.parameters
    takes_more = any(part.kind is Parameter.VAR_KEYWORD for part in parameters.values())
    named = [part for part, each in parameters.items() if each.kind is not Parameter.VAR_KEYWORD]
    stray = [option for option in options if option not in parameters]
    if stray and not takes_more:
        meant = did_you_mean(stray[0], named)
        return f"{name} has no option {stray[0]!r}{meant}; it takes {listed(named, 30)}."
    by_place = [part for part in named if parameters[part].kind is Parameter.POSITIONAL_OR_KEYWORD]
    if count > len(by_place):
        names = listed(by_place)
        return f"{name} takes {names} without their names; write the name of every other value before it."
    missing = [
        part
        for part in named
        if parameters[part].default is Parameter.empty and part not in (*by_place[:count], *options)
    ]
    if not missing:
        return ""
    close = next((option for option in stray if did_you_mean(option, missing)), None)
    hint = f" (did you mean it by {close!r}?)" if close else ""
    needed = [part for part in named if parameters[part].default is Parameter.empty]
    return f"{name} needs {missing[0]}{hint}; call it as {name}({', '.join(needed)})."


def _remedy(value: object, annotation: str) -> str:
    """What a parameter of an annotation takes; empty where the value may be right."""
    accepted = _accepted(annotation)
    if not accepted or any(_fits(value, part) for part in accepted):
        return ""
    phrases = [_phrase(part) for part in accepted]
    return " or ".join(dict.fromkeys(filter(None, phrases)))


def _accepted(annotation: str) -> list[str]:
    """The alternatives of an annotation; empty where one of them is not known here."""
    parts = list(_split(annotation, "|"))
    return parts if all(part in TYPES or _phrase(part) for part in parts) else []


def _split(annotation: str, mark: str) -> Iterator[str]:
    """The parts of an annotation between marks that are in no brackets."""
    depth, begin = 0, 0
    for place, letter in enumerate(annotation):
        depth += (letter in "[(") - (letter in ")]")
        if letter == mark and not depth:
            yield annotation[begin:place].strip()
            begin = place + 1
    yield annotation[begin:].strip()


def _inner(part: str) -> list[str]:
    return [each for each in _split(part.partition("[")[2].removesuffix("]"), ",") if each != "..."]


def _phrase(part: str) -> str:
    """An alternative in words; empty where it is not known."""
    if part in TYPES:
        return TYPES[part][1]
    outer = part.partition("[")[0]
    if outer == "Literal":
        return listed(_inner(part))
    if outer == "Mapping":
        return "a dictionary"
    names = [TYPES[each][2] for kind in _inner(part) for each in _split(kind, "|") if each in TYPES]
    if outer in ("Sequence", "list", "Collection") and names:
        return f"a list of {' or '.join(names)}"
    if outer == "tuple" and names:
        return f"{len(_inner(part))} {names[0]}, as ({', '.join('...' for _ in _inner(part))})"
    return ""


def _fits(value: object, part: str) -> bool:
    """Whether a value may be what an alternative says."""
    if part in TYPES:
        return isinstance(value, TYPES[part][0]) and (part == "bool" or not isinstance(value, bool))
    if part.startswith(("Literal", "Mapping")):
        return isinstance(value, str if part.startswith("Literal") else Mapping)
    if isinstance(value, str) or not isinstance(value, Iterable):
        return False
    kinds = [each for kind in _inner(part) for each in _split(kind, "|")]
    if not isinstance(value, list | tuple) or any(kind not in TYPES for kind in kinds):
        return True
    return all(any(_fits(each, kind) for kind in kinds) for each in value)


def value_in_words(value: object) -> str:
    """A value as sentences about wrong calls show it: short, and a table by what it is."""
    if isinstance(value, pd.DataFrame):
        return "a DataFrame"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
