"""Problems of a study file: where, and the sentence that says how to correct it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from .yaml import Location

CHOICE_COLUMNS = (
    *("judge_id", "judge_kind", "prompt_id", "pair_id", "task", "position", "profile_id"),
    *("chosen", "status", "repeat", "repeat_of", "sample", "probability"),
)


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


def suggestion(name: str, known: Iterable[str]) -> str:
    """Say that ``name`` is unknown, with the nearest known name or the list of them."""
    names = list(known)
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
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        yield Problem(at, f"{what}: {name} lies outside the folder of the study; move it there.")
    elif not (path.is_file() or (or_folder and path.is_dir())):
        sort = "file or folder" if or_folder else "file"
        yield Problem(
            at,
            f"{what}: there is no {sort} {name} next to the study file; write it or correct the path.",
        )
