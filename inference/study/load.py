"""Study files are found, read and checked; the first problem is reported with file, line and remedy."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..errors import InputError, listed, not_percent
from ..tables.files import STUDIES
from .asking import DATE, KEY_VARIABLE, with_answer
from .checks_conjoint import conjoint_problems
from .checks_items import collecting_problems, item_problems
from .checks_panel import panel_problems
from .models import NOUNS, ItemStudy, Study
from .panel_section import ADDRESS, LANGUAGE, PARAMETER
from .study_yaml import IDENTIFIER, Location, MarkedYaml, Problem, read_marked_yaml


def list_studies() -> list[str]:
    """List the studies that ship with the project.

    Returns
    -------
    list of str
        Names of the studies, in alphabetical order.

    Examples
    --------
    >>> "moderation" in list_studies()
    True
    """
    return sorted(path.parent.name for path in STUDIES.glob("*/study.yaml"))


def load_study(name_or_path: str | Path) -> Study:
    """Read and check the file of a conjoint study.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a study that ships with the project, a folder with a ``study.yaml``,
        or the path of a study file.

    Returns
    -------
    Study
        The study as its file describes it.

    Raises
    ------
    InputError
        With file, line and remedy, for the first problem in the file.

    Examples
    --------
    >>> load_study("moderation").levels("reply")
    ['no_reply', 'agree', 'disagree']
    """
    study = load_any_study(name_or_path)
    if not isinstance(study, Study):
        raise InputError(
            f"{study.argument} is a study of items, not a conjoint; name one with 'kind: conjoint'."
        )
    return study


def load_any_study(name_or_path: str | Path) -> Study | ItemStudy:
    """Read and check a study file of any kind; raises as :func:`load_study` does.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a study that ships, or the path of a study file.

    Returns
    -------
    Study or ItemStudy
        A conjoint or a study of items.

    Examples
    --------
    >>> load_any_study("moderation").kind, load_any_study("multiturn").kind
    ('conjoint', 'items')
    """
    marked = read_study_file(name_or_path)
    try:
        study = validate_study(marked, marked.content)
    except ValidationError as problems:
        raise error_of_fields(marked, problems.errors()) from None
    for group in contradictions(study):
        problem = min(group, key=lambda candidate: marked.line(candidate.location), default=None)
        if problem is not None:
            raise marked.error(problem.location, problem.sentence)
    return complete_study(study)


def read_study_file(name_or_path: str | Path) -> MarkedYaml:
    """Read a study file as it is, without checking its fields."""
    marked = read_marked_yaml(_find(name_or_path))
    if not isinstance(marked.content, dict):
        raise marked.error((), "a study file is a list of fields such as 'name: ...'; start with the name.")
    return marked


def validate_study(marked: MarkedYaml, content: object) -> Study | ItemStudy:
    """Check the fields of ``content`` one by one; pydantic's error names those that are wrong."""
    kind = content.get("kind") if isinstance(content, dict) else None
    study = (ItemStudy if kind == "items" else Study).model_validate(content)
    study._file = marked.path
    return study


def contradictions(study: Study | ItemStudy) -> Iterator[Iterator[Problem]]:
    """Yield problems of several fields together: of asking, of the kind of the study, of its panel."""
    yield collecting_problems(study)
    yield conjoint_problems(study) if isinstance(study, Study) else item_problems(study)
    if study.panel is not None:
        yield panel_problems(study, study.panel)


def complete_study(study: Study | ItemStudy) -> Study | ItemStudy:
    """Fill in what depends on the kind of the study or on the form of its answers."""
    noun = study.collect.noun or NOUNS[study.kind]
    samples = study.instrument.facets.sample if study.instrument is not None else None
    sampled = {} if samples is None else {"samples": samples}
    judges = [
        judge
        if judge.ask is None
        else judge.model_copy(
            update={"ask": with_answer(judge.ask, *study.responses).model_copy(update=sampled)}
        )
        for judge in study.judges
    ]
    return study.model_copy(
        update={"collect": study.collect.model_copy(update={"noun": noun}), "judges": judges}
    )


def _find(name_or_path: str | Path) -> Path:
    shipped = list_studies()
    if str(name_or_path) in shipped:
        return STUDIES / str(name_or_path) / "study.yaml"
    path = Path(name_or_path)
    if path.is_dir():
        path = path / "study.yaml"
    if path.is_file():
        _refuse_table(path)
        return path
    near = get_close_matches(str(name_or_path), shipped, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    raise InputError(
        f"There is no study '{name_or_path}'{meant}; name one that ships ({', '.join(shipped)}) "
        "or give the path of a study.yaml."
    )


def _refuse_table(path: Path) -> None:
    """Refuse a table where a study is expected, and name the commands for it."""
    from ..tables.reading.containers import FILE_KINDS

    endings = [ending for kind in FILE_KINDS for ending in kind.endings if kind.name not in ("json", "jsonl")]
    if path.name.lower().endswith(tuple(endings)):
        file = shlex.quote(str(path))
        raise InputError(
            f"{path} is a table, and a study file is expected; `conjury read {file}` names the command for "
            f"it, `conjury conjoint {file}` estimates the effects of a conjoint survey without a study."
        )


def error_of_fields(marked: MarkedYaml, problems: list[ErrorDetails]) -> InputError:
    """The first problem in the file as a sentence with its line."""
    located = [(location_of(marked.content, problem), problem) for problem in problems]
    location, problem = min(located, key=lambda entry: marked.line(entry[0]))
    missing = [where for where, error in located if error["type"] == "missing"]
    return marked.error(location, sentence_of(location, problem, missing))


def sentence_of(location: Location, problem: ErrorDetails, missing: Sequence[Location] = ()) -> str:
    """One problem of a field in words; ``missing`` are all fields that are reported as missing with it."""
    place = _place(location)
    if problem["type"] == "missing":
        if len(missing) < 2:
            return f"{place} is missing; add it."
        return f"{listed(map(_place, missing), len(missing))} are missing; add them."
    if problem["type"] == "unknown_field":
        return f"{place}: {problem['msg']}"
    if problem.get("ctx", {}).get("pattern") == KEY_VARIABLE:  # perhaps the key itself: not quoted
        return f"{place}: {describe_error(problem)}; correct it."
    if isinstance(problem["input"], bool):
        read, word = ("true", "yes") if problem["input"] else ("false", "no")
        return (
            f"{place}: {describe_error(problem)}, but the file says {read}, as which YAML reads {word}, too; "
            f"if it is a name or text, quote it ('{word}')."
        )
    value = _shorten(problem["input"])
    return f"{place}: {describe_error(problem)}, but the file says {value}; correct it."


def _place(location: Location) -> str:
    return ".".join(str(step) for step in location) or "the study"


def location_of(content: object, problem: ErrorDetails) -> Location:
    """Where a problem is in the file: without the steps by which pydantic tells alternatives apart."""
    place: list[str | int] = []
    for step in problem["loc"]:
        inside = isinstance(content, dict) and step in content
        if inside or (isinstance(content, list) and isinstance(step, int) and step < len(content)):
            content = content[step]  # type: ignore[index]
            place.append(step)
    if problem["type"] == "missing":
        place.append(problem["loc"][-1])
    if problem["type"] == "unknown_field":
        place.append(problem["ctx"]["field"])
    return tuple(place)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


PATTERNS = {
    IDENTIFIER: "a name starts with a small letter and goes on with small letters, digits and '_'",
    KEY_VARIABLE: "an environment variable has a name of capital letters, digits and '_', such as MY_API_KEY",
    LANGUAGE: "a language is written as a code such as en or pt-BR",
    PARAMETER: "a parameter of an address consists of letters, digits, '_', '.', '-', such as PROLIFIC_PID",
    ADDRESS: "an address begins with https:// and has no spaces or quotes",
    DATE: "a date is written as 2025-01-31",
}
TYPES = {
    "string_type": "text belongs here",
    "string_too_short": "text belongs here",
    "int_type": "a whole number belongs here",
    "int_from_float": "a whole number belongs here",
    "float_type": "a number belongs here",
    "finite_number": "a finite number belongs here",
    "bool_type": "true or false belongs here",
    "list_type": "a list belongs here",
    "dict_type": "fields and their values belong here",
    "model_type": "fields and their values belong here",
    "model_attributes_type": "fields and their values belong here",
}
LIMITS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


def describe_error(problem: ErrorDetails) -> str:
    """State what belongs in a field, for one error of a validation."""
    kind = problem["type"]
    context: dict[str, Any] = problem.get("ctx", {})
    if kind == "string_pattern_mismatch" and context["pattern"] in PATTERNS:
        return PATTERNS[context["pattern"]]
    if kind == "literal_error":
        return f"use one of {context['expected'].replace(' or ', ', ')}"
    if kind == "union_tag_invalid":
        return f"use one of {context['expected_tags']}"
    if kind == "union_tag_not_found":
        return f"the field {context['discriminator']} belongs here"
    if kind == "value_error":
        return str(context["error"])
    if kind in ("too_short", "too_long"):
        limit = context.get("min_length", context.get("max_length"))
        return f"{'at least' if kind == 'too_short' else 'at most'} {limit:,} entries belong here"
    for name, words in LIMITS.items():
        if name in context:
            hint = not_percent(problem["input"]) if context[name] == 1 and name in ("lt", "le") else ""
            return f"a number of {words} {context[name]:,} belongs here{hint}"
    return TYPES.get(kind, problem["msg"])
