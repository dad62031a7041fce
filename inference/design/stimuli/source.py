"""Data files of a study: read, checked against what the study asks for, and refused by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ...study.checks import suggestion
from ...study.yaml import MarkedYaml, read_marked_yaml

REMEDIES = {"missing": "add it", "string_type": "put words in quotes"}
TOLD = "told"  # type of a problem whose sentence says what to do
File = TypeVar("File", bound=BaseModel)


def read_checked(path: Path, model: type[File]) -> tuple[File, MarkedYaml]:
    """Read a YAML file into a pydantic model; raises InputError with file, line and remedy."""
    marked = read_marked_yaml(path)
    try:
        return model.model_validate(marked.content), marked
    except ValidationError as problems:
        first = min(problems.errors(), key=lambda problem: marked.line(problem["loc"]))
        place = ".".join(str(step) for step in first["loc"]) or "the file"
        if first["type"] == "unknown_field":
            at = (*first["loc"], first["ctx"]["field"])
            raise marked.error(at, f"{place}: {first['msg']}") from None
        if first["type"] == TOLD:
            raise marked.error(first["loc"], f"{place}: {first['msg']}") from None
        remedy = REMEDIES.get(first["type"], "correct it")
        raise marked.error(first["loc"], f"{place}: {first['msg'].rstrip('.')}; {remedy}.") from None


def stimulus_counts(ids: Iterable[str]) -> Counter[str]:
    """Count stimuli by level, from ids such as ``politics_07``."""
    return Counter(name.rpartition("_")[0] for name in ids)


def check_counts(
    marked: MarkedYaml, field: str, noun: str, held: Mapping[str, int], ids: Iterable[str]
) -> None:
    """Refuse a file with other levels, or another number of ``noun`` for a level, than ``ids`` ask for."""
    wanted = stimulus_counts(ids)
    for level, count in held.items():
        if level not in wanted:
            raise marked.error((field, level), f"{field}: {suggestion(level, wanted)}")
        if count != wanted[level]:
            raise marked.error(
                (field, level),
                f"{level} has {count} {noun} and the study asks for {wanted[level]}; "
                f"{'add' if count < wanted[level] else 'remove'} {abs(wanted[level] - count)}.",
            )
    for level in wanted:
        if level not in held:
            raise marked.error(
                (field,), f"{level} is missing from {field}; add {wanted[level]} {noun} for it."
            )
