"""Options of the commands: what several share, groups of them as dataclasses, and what they accept."""

from __future__ import annotations

import csv
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from conjury.inference.errors import InputError


def at_most(limit: int) -> Callable[[typer.CallbackParam, Any], Any]:
    """Make the callback of an option that refuses numbers above a limit with one sentence."""

    def check(param: typer.CallbackParam, value: Any) -> Any:
        if value is not None and value > limit:
            raise InputError(
                f"{param.opts[0]} is {value:,}, but the limit is {limit:,}; give a smaller number."
            )
        return value

    return check


FILE_ENDINGS = (".html", ".pdf", ".docx", ".tex", ".md", ".csv", ".tsv", ".parquet", ".json", ".xlsx", ".svg")


def not_a_file(param: typer.CallbackParam, value: Any) -> Any:
    """Refuse the name of a file for a folder that is written."""
    if isinstance(value, Path) and value.suffix.lower() in FILE_ENDINGS and not value.is_dir():
        raise InputError(
            f"{param.opts[0]} {value} is the name of a file; give a folder, such as {value.with_suffix('')}."
        )
    return value


StudyName = Annotated[str, typer.Argument(help="Name of a study that ships, or the path of a study.yaml.")]
LevelsFile = Annotated[
    Path | None, typer.Option("--levels", help="Level order of columns in a CSV, which cannot store it.")
]
Renames = Annotated[list[str] | None, typer.Option("--rename", help="Column of the file as THEIRS=OURS.")]
Alpha = Annotated[float, typer.Option("--alpha", help="One minus the confidence level.")]
ResultsPath = Annotated[Path, typer.Option("--results", help="Results folder that `conjury fit` wrote.")]
RunFolderPath = Annotated[
    Path | None, typer.Option("--out", callback=not_a_file, help="Folder of the run; by default runs/STUDY.")
]
FigureFormats = Annotated[
    str | None,
    typer.Option(
        "--figures", help="Formats of figures: svg, png, pdf, several as svg,pdf; or none. [default: svg]"
    ),
]
PriceTable = Annotated[Path | None, typer.Option(help="Table of prices, in place of the one that ships.")]
SERVER = ("starlette", "uvicorn", "itsdangerous", "markdown_it")  # packages that serve pages
Rule = Annotated[str, typer.Option(help="Parsing rule: default, strict, lenient, token.")]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of the dataclasses among its parameters as options."""
    # Fields are annotated as parameters of typer commands are, `Annotated[type, typer.Option(...)]`, or have
    # a help in their metadata; others are no options. Their names are the names of the options. The command
    # takes the object, its users see the options.
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters = [
        parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for name, parameter in signature(command).parameters.items()
        if name not in groups
    ]
    options = [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=annotation,
        )
        for kind in groups.values()
        for field, annotation in _options_of(kind)
    ]

    def run(**values: Any) -> None:
        objects = {
            name: kind(**{field.name: values.pop(field.name) for field, _ in _options_of(kind)})
            for name, kind in groups.items()
        }
        command(**values, **objects)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, *options)}
    run.__dict__["__signature__"] = Signature([*parameters, *options])
    return run


def _options_of(kind: Any) -> Iterator[tuple[Field[Any], Any]]:
    """Fields of a dataclass that are options, with the annotations of a command of typer."""
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        settings = field.metadata
        if hasattr(hints[field.name], "__metadata__"):
            yield field, hints[field.name]
        elif settings:
            names = [f"--{field.name.replace('_', '-')}"] if field.default is False else []
            limit = settings["most"] and at_most(settings["most"])
            option = typer.Option(*names, help=settings["help"], min=settings["least"], callback=limit)
            yield field, Annotated[hints[field.name], option]


def read_pairs(option: str, texts: Sequence[str] | None, *, at_last: bool = False) -> dict[str, str]:
    """Read NAME=VALUE options, each name once, cut at the first sign or the last, as names may have one."""
    pairs: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=") if at_last else text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{option} {text!r} is not a pair; give NAME=VALUE.")
        if name in pairs:
            raise InputError(f"{option} gives {name!r} twice; give it once.")
        pairs[name] = value
    return pairs


def read_conditions(option: str, texts: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Read COLUMN=VALUE options, of which a column may have several."""
    conditions: dict[str, tuple[str, ...]] = {}
    for text in texts or ():
        for name, value in read_pairs(option, [text]).items():
            conditions[name] = (*conditions.get(name, ()), value)
    return conditions


def typed_options(*groups: Any) -> dict[str, str]:
    """Options that differ from their defaults, as they are typed, by the names of their fields."""
    return {
        field.name: _flag(field.name, annotation.__metadata__, field.default)
        for group in groups
        for field, annotation in _options_of(type(group))
        if getattr(group, field.name) not in (None, [], field.default)
    }


def refuse_typed(reason: str, *groups: Any, only: Container[str] | None = None) -> None:
    """Refuse the first option of groups that was typed, or of some of their fields, for a reason."""
    for name, option in typed_options(*groups).items():
        if only is None or name in only:
            raise InputError(f"{option} {reason}")


def of_other_kind(study: str, kind: str) -> str:
    """The reason to refuse options of another kind of study."""
    return f"does not apply to {study}, which is a study of {kind}; omit it."


def _flag(name: str, annotations: Sequence[Any], default: object) -> str:
    """An option as it is typed where it differs from its default."""
    info = next(part for part in annotations if hasattr(part, "param_decls"))
    names = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
    return names[0] if names else f"--{'no-' * (default is True)}{name.replace('_', '-')}"


def split_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Names of an option that may be repeated, or have several, separated by commas as in a row of CSV."""
    rows = (csv.reader(text.splitlines(), skipinitialspace=True) for text in values or ())
    return tuple(name.strip() for texts in rows for row in texts for name in row if name.strip())


MOST_MEANT = 2  # options that are suggested
MEANT = {  # what is typed: options of the same wish, the nearest first
    "--out --output --output-dir --save --save-to --write": "--out --results --html --table --figure",
    "--results --results-dir": "--results --out --html",
    "--html --page --report": "--html --out --results",
    "--table --tables --csv --excel": "--table --tables --out --results",
    "--figure --figures --plot --plots": "--figure --figures --figure-size --html",
    "--to --format": "--to --out",
    "--people --human --humans --raters --annotator --annotators --label": "--human --raters --all-people",
    "--gold --labels --truth": "--gold --human --labels --raters",
    "--judge --judges --model --models": "--judge --models --model",
    "--id --item --items --key --cluster --clusters --respondent --respondents": "--cluster --id --item",
    "--rating --ratings --value --values --score --rating-column": "--rating-column --value --outcome",
    "--outcome --choice --chosen": "--outcome --value",
    "--dimension --dimensions --criterion --criteria": "--dimension --dimension-column",
    "--fail-under --threshold --min --at-least": "--fail-under --threshold",
    "--fail-over --max --at-most": "--fail-over",
    "--by --group --groups --subgroup --subgroups --strata --moderator": "--by --strata",
    "--where --filter --only --select --rows --subset": "--where --filter --select --only",
    "--classes --categories --order": "--levels",
    "--max-cost --budget --limit": "--max-cost --budget",
    "--draws --bootstrap --samples --n --iterations": "--draws --samples",
    "--alpha --confidence --conf-level --level --ci": "--alpha",
    "--sep --separator --delim": "--delimiter",
    "--na --na-values": "--missing",
    "--drop --skip": "--exclude",
    "--weight --weights": "--weights",
    "--verbose --details": "--all",
    "--silent": "--quiet",
}
MEANT_BY = {word: options.split() for words, options in MEANT.items() for word in words.split()}


def options_meant(typed: str, options: Iterable[str]) -> Sequence[str]:
    """Options of a command that mean what was typed: those of the same wish, or else of a like name."""
    names = {name.removeprefix("--"): name for name in options if name.startswith("--")}
    same_wish = [name for name in MEANT_BY.get(typed, ()) if name in names.values()]
    like = [names[name] for name in get_close_matches(typed.removeprefix("--"), list(names), n=MOST_MEANT)]
    return same_wish[:MOST_MEANT] or like


def suggest_meant(error: Any, command: Any) -> None:
    """Put into an error about an option that a command does not have which one is meant."""
    bare = error.option_name.removeprefix("--").replace("-", "_")
    if any(part.param_type_name == "argument" and part.name == bare for part in command.params):
        error.message = f"{error.message}: give it without the name of an option"
        error.possibilities = []
        return
    error.possibilities = options_meant(
        error.option_name, (name for part in command.params for name in part.opts)
    )
