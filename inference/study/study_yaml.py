"""What all parts of a study file share: lines of values, problems as sentences, exact types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from ..errors import InputError, first_line
from ..tables.limits import (
    DEPTH,
    DIGITS,
    HALF_A_PAIR,
    YAML_BYTES,
    YAML_VALUES,
    decoded,
    read_content,
    reading,
)

CHOICE_COLUMNS = (
    *("judge_id", "judge_kind", "prompt_id", "pair_id", "task", "position", "profile_id"),
    *("chosen", "status", "repeat", "repeat_of", "sample", "probability", "sampling_probability"),
)
# With those that choices of people and simulated ones have besides: no attribute may have such a name.
COLUMNS_OF_CHOICES = frozenset(
    (
        *CHOICE_COLUMNS,
        *("origin", "panel", "excluded", "seconds", "focus_lost", "focus_lost_seconds"),
    )
)
STIMULI = ("text", "user")  # columns of choices whose names only stimuli may have


RESERVED_TABLES = (
    "answers",
    "engines",
    "engines_summary",
    "published",
    "published_difference",
    "recovery",
    "truth",
)


@dataclass(frozen=True)
class Problem:
    """Where a study file contradicts itself, and the sentence that says how to mend it."""

    location: Location
    sentence: str


def suggestion(name: str, candidates: Iterable[str]) -> str:
    """Say that ``name`` is unknown, with the nearest known name or the list of them."""
    names = list(candidates)
    near = get_close_matches(name, names, n=1)
    remedy = f"did you mean '{near[0]}'?" if near else f"use one of {', '.join(names)}."
    return f"'{name}' is unknown here; {remedy}"


def duplicates(names: Sequence[str], location: Location, what: str, field: str = "id") -> Iterator[Problem]:
    """Report names that are given twice in a list of parts."""
    for position, name in enumerate(names):
        if name in names[:position]:
            yield Problem(
                (*location, position, field), f"{what} '{name}' is given twice; rename or remove one of them."
            )


def missing_file(
    folder: Path, at: Location, what: str, name: str | None, or_folder: bool = False
) -> Iterator[Problem]:
    """Report a file, ``or_folder``, that a study file names and that is not in ``folder``."""
    if name is None:
        return
    try:
        path = (folder / name).resolve()
    except (ValueError, RuntimeError, OSError) as error:  # a NUL; a link that leads back to itself
        yield Problem(at, f"{what}: {name!r} is no name of a file ({error}); correct it.")
        return
    if not path.is_relative_to(folder.resolve()):
        yield Problem(at, f"{what}: {name} lies outside the folder of the study; move it there.")
    elif not (path.is_file() or (or_folder and path.is_dir())):
        sort = "file or folder" if or_folder else "file"
        yield Problem(
            at,
            f"{what}: there is no {sort} {name} next to the study file; write it or correct the path.",
        )


Location = tuple[str | int, ...]
_TOO_DEEP = f"values are nested more than {DEPTH} levels deep"


@dataclass(frozen=True)
class MarkedYaml:
    """The content of a YAML file, and the line (from 1) of each value by its path of keys and positions."""

    path: Path
    content: object
    lines: dict[Location, int]

    def line(self, location: Location) -> int:
        """Find the line of ``location``, or of the nearest value around it that the file holds."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)

    def error(self, location: Location, sentence: str) -> InputError:
        """Make an InputError that names the file and the line of ``location``."""
        return InputError(f"{self.path}:{self.line(location)}: {sentence}")


def read_marked_yaml(path: Path) -> MarkedYaml:
    """Read one YAML document."""
    text = decoded(read_content(path, YAML_BYTES), path)
    try:
        with reading(path):
            loader, node = _compose(text)
            if node is not None:
                _measure(path, node, {}, set())
            lines = {} if node is None else dict(_lines(path, node, (), set()))  # before keys are merged
            content = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = 1 if mark is None else mark.line + 1
        raise InputError(
            f"{path}:{line}: this is not valid YAML ({problem.problem}); check indentation, colons, quotes."
        ) from None
    except (
        yaml.YAMLError,
        ValueError,
        LookupError,
        AttributeError,
        TypeError,
    ) as problem:  # of explicit tags
        reason = first_line(problem)
        raise InputError(f"{path}:1: this is not valid YAML ({reason}); correct the file.") from None
    if node is None:
        raise InputError(f"{path}:1: the file is empty; fill in at least a name and the attributes.")
    return MarkedYaml(path, content, lines)


def _compose(text: str) -> tuple[yaml.SafeLoader | yaml.CSafeLoader, yaml.Node | None]:
    """Compose a document, by libyaml where it can, which is several times as fast."""
    # Deep nesting ends a process in libyaml, and its sentences on errors are not those of PyYAML.
    if yaml.__with_libyaml__ and _is_flat(text):
        loader: yaml.SafeLoader | yaml.CSafeLoader = yaml.CSafeLoader(text)
    else:
        loader = yaml.SafeLoader(text)
    return loader, loader.get_single_node()


def _is_flat(text: str) -> bool:
    """Whether libyaml can parse all of a text, and values in it are nested no deeper than they may be."""
    depth = 0
    try:
        for event in yaml.parse(text, yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH:
                return False
    except yaml.YAMLError:
        return False
    return True


def _measure(
    path: Path, node: yaml.Node, sizes: dict[int, tuple[int, int]], around: set[int]
) -> tuple[int, int]:
    """Count the values of a node, aliases followed, and how deep they are nested; refuse too many."""
    if id(node) in sizes:
        return sizes[id(node)]
    at = f"{path}:{node.start_mark.line + 1}"
    if id(node) in around or len(around) > DEPTH:
        problem = "an alias is inside the value that it names" if id(node) in around else _TOO_DEEP
        raise InputError(f"{at}: {problem}; write the values out.")
    if isinstance(node, yaml.ScalarNode):
        _check_scalar(at, node)
        return 1, 0
    around.add(id(node))
    parts = (
        [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
    )
    measured = [_measure(path, part, sizes, around) for part in parts]
    around.remove(id(node))
    size = 1 + sum(size for size, _ in measured)
    depth = 1 + max((depth for _, depth in measured), default=0)
    if size > YAML_VALUES:
        raise InputError(
            f"{at}: with aliases followed there are more than {YAML_VALUES:,} values, the limit; use "
            "fewer aliases or write less."
        )
    if depth > DEPTH:
        raise InputError(f"{at}: {_TOO_DEEP}; write the values flat.")
    sizes[id(node)] = size, depth
    return size, depth


def _check_scalar(at: str, node: yaml.ScalarNode) -> None:
    if node.tag.endswith((":int", ":float")) and len(node.value) > DIGITS:
        raise InputError(
            f"{at}: a number has {len(node.value):,} digits, and the limit is {DIGITS}; correct it."
        )
    if HALF_A_PAIR.search(node.value):
        raise InputError(f"{at}: a text contains half of a surrogate pair; write the character itself.")


def _lines(
    path: Path, node: yaml.Node, location: Location, node_ids: set[int]
) -> Iterator[tuple[Location, int]]:
    yield location, node.start_mark.line + 1
    if id(node) in node_ids:
        return
    node_ids.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield from _lines(path, item, (*location, position), node_ids)
    elif isinstance(node, yaml.MappingNode):
        line_of_key: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise InputError(f"{path}:{line}: a key is a list or a mapping; write a name in its place.")
            if key.value in line_of_key:
                raise InputError(
                    f"{path}:{line}: '{key.value}' was already given on line {line_of_key[key.value]}; "
                    "keep one of the two."
                )
            line_of_key[key.value] = line
            yield from _lines(path, value, (*location, key.value), node_ids)
            yield (*location, key.value), line


def _as_number(value: object) -> object:
    if isinstance(value, str):
        try:
            number = float(Fraction(value) if "/" in value and len(value) <= DIGITS else float(value))
        except (ValueError, ZeroDivisionError, OverflowError):
            return value
        return number if isfinite(number) else value
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


IDENTIFIER = r"^[a-z][a-z0-9_]*$"

Identifier = Annotated[str, Field(pattern=IDENTIFIER)]
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(gt=0)]
Amount = Annotated[float, BeforeValidator(_as_number), Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, BeforeValidator(_as_number), Field(gt=0, le=1)]
Share = Annotated[float, BeforeValidator(_as_number), Field(ge=0, le=1)]


class Part(BaseModel):
    """Base of all parts of a study file: exact types, no unknown fields, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known_fields(cls, values: object) -> object:
        for key in values if isinstance(values, dict) else ():
            if key not in cls.model_fields:
                hint = suggestion(str(key), cls.model_fields)
                meant = next(iter(get_close_matches(str(key), cls.model_fields, n=1)), "")
                facts = {"hint": hint, "field": str(key), "meant": meant}
                raise PydanticCustomError("unknown_field", "{hint}", facts)
        return values


class Named(Part):
    """A part with a name for tables and one in words."""

    id: Identifier
    """Name in tables, files and options: small letters, digits and _."""
    label: Text
    """Name in words, as judges, figures and reports show it."""
