"""All that is wrong with a study file at once: single fields, fields together, files that it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .load import complete_study, contradictions, location_of, read_study_file, sentence_of, validate_study
from .models import ItemStudy, Study
from .study_yaml import Location, MarkedYaml, Problem, missing_file

# Sections from which subjects are drawn and answers simulated, which need that these agree.
DRAWN = (
    *("attributes", "derived", "stimuli", "design", "content"),
    *("strata", "assignment", "response"),
)
FILES = (("items",), ("gold", "file"), ("panel", "consent"), ("panel", "instructions"))


@dataclass(frozen=True)
class ExaminedStudy:
    """A study file that was read as far as it can be."""

    marked: MarkedYaml  # the file as it is
    # the study without the fields that are wrong; None where the rest is no study
    study: Study | ItemStudy | None
    problems: tuple[Problem, ...]  # in the order of the file
    # whether everything was checked; otherwise problems of several fields may come up once those of single
    # ones are mended
    is_complete: bool
    is_sound: bool = False  # whether subjects can be drawn and truth tables be read


def examine(name_or_path: str | Path) -> ExaminedStudy:
    """Read a study file and find all that is wrong with it."""
    marked = read_study_file(name_or_path)
    content, problems = _known_fields(marked)
    errors = _errors(marked, content)
    problems += _field_problems(marked, content, errors)
    study = _study(marked, _remove_fields(content, errors))
    if study is None:
        problems += _missing_files(marked)
        return ExaminedStudy(marked, None, _sort_problems(marked, problems), is_complete=False)
    wrong = {location_of(content, error)[:2] for error in errors}
    group_problems = [problem for group in contradictions(study) for problem in group]
    if isinstance(study, ItemStudy):
        group_problems += missing_file(study.folder, ("items",), "items", study.items)
    problems += [problem for problem in group_problems if problem.location[:2] not in wrong]
    is_sound = not any(problem.location[0] in DRAWN for problem in group_problems)
    return ExaminedStudy(
        marked, complete_study(study), _sort_problems(marked, problems), not wrong and is_sound, is_sound
    )


def _known_fields(marked: MarkedYaml) -> tuple[Any, list[Problem]]:
    """Report unknown fields, and return the content with these under the name that was meant, or without."""
    content, problems = deepcopy(marked.content), []
    while unknown := [error for error in _errors(marked, content) if error["type"] == "unknown_field"]:
        for error in unknown:
            location = location_of(content, error)
            part = _part_at(content, location[:-1])
            value = part.pop(next(key for key in part if str(key) == location[-1]))
            meant = error["ctx"]["meant"]
            if meant and meant not in part:
                part[meant] = value
            problems.append(Problem(location, sentence_of(location, error)))
    return content, problems


def _errors(marked: MarkedYaml, content: Any) -> list[ErrorDetails]:
    try:
        validate_study(marked, content)
    except ValidationError as problems:
        return problems.errors()
    return []


def _field_problems(marked: MarkedYaml, content: Any, errors: Iterable[ErrorDetails]) -> list[Problem]:
    """One problem for each field that is wrong, and one for all that a part lacks."""
    problems: dict[Location, Problem] = {}
    missing_fields: dict[Location, list[Location]] = {}
    located = [(location_of(content, error), error) for error in errors]
    for location, error in located:
        if error["type"] == "missing":
            missing_fields.setdefault(location[:-1], []).append(location)
    for location, error in located:
        if error["type"] != "missing":
            problems.setdefault(location, Problem(location, sentence_of(location, error)))
        elif missing_fields[location[:-1]][0] == location:
            problems[location] = Problem(
                location, sentence_of(location, error, missing_fields[location[:-1]])
            )
    return list(problems.values())


def _remove_fields(content: Any, errors: Iterable[ErrorDetails]) -> Any:
    """The content without the fields that are wrong."""
    valid_content = deepcopy(content)
    for location in sorted(
        (location_of(content, error) for error in errors), key=_deletion_order, reverse=True
    ):
        part = _part_at(valid_content, location[:-1])
        if location and isinstance(part, dict):
            part.pop(location[-1], None)
        elif location and isinstance(part, list) and location[-1] in range(len(part)):
            del part[int(location[-1])]
    return valid_content


def _deletion_order(location: Location) -> list[tuple[bool, int, str]]:
    return [(isinstance(step, int), step if isinstance(step, int) else 0, str(step)) for step in location]


def _part_at(content: Any, location: Location) -> Any:
    for step in location:
        content = content[step]
    return content


def _study(marked: MarkedYaml, content: Any) -> Study | ItemStudy | None:
    try:
        return validate_study(marked, content)
    except ValidationError:
        return None


def _missing_files(marked: MarkedYaml) -> Iterator[Problem]:
    """Report files that are not there, in a file that cannot be read as a study."""
    content, folder = marked.content, marked.path.parent
    files: list[tuple[Location, str, object]] = [
        (place, ".".join(map(str, place)), _text_at(content, place)) for place in FILES
    ]
    prompts = content.get("prompts") if isinstance(content, dict) else None
    for number, prompt in enumerate(prompts if isinstance(prompts, list) else ()):
        for field in ("template", "user"):
            at: Location = ("prompts", number, field)
            files.append((at, str(_text_at(prompt, ("id",)) or at), _text_at(prompt, (field,))))
    for place, what, name in files:
        if isinstance(name, str):
            yield from missing_file(folder, place, what, name)


def _text_at(content: object, location: Location) -> object:
    for step in location:
        content = content.get(step) if isinstance(content, dict) else None
    return content


def _sort_problems(marked: MarkedYaml, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: marked.line(problem.location)))
