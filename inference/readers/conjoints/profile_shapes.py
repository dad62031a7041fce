"""Wide conjoint tables made long: columns such as roof1 and roof2, or age_1_a, age_1_b and choice_1."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from ...errors import InputError, counted, listed
from ...tables.reading.account import AccountEntry
from ...tables.reading.cell_rules import key_of
from .column_roles import named_like, outcomes_like
from .profile_outcomes import NO, YES
from .role_names import CHOICES, RATINGS, TASKS

# Numbers and letters of profiles and tasks in names of columns, and the words before them.
_INDEX = re.compile(
    r"\d+|(?<![A-Za-z])[A-Ea-e](?![A-Za-z])|(?<=[a-z])[A-E](?![A-Za-z])"
    r"|(?<![a-z])(?:left|right)(?![a-z])"
)
_OF_TASK = re.compile(r"(?:^|[^a-z])(task|t|contest|c|round|r|set|q|game|trial)[_.\- ]*$", re.IGNORECASE)
_OF_PROFILE = re.compile(
    r"(?:^|[^a-z])(profile|p|prof|alternative|alt|option|candidate|cand|concept|side)[_.\- ]*$", re.IGNORECASE
)
_SECOND = re.compile(r"(.+)[_. ]2")
_OF_ATTRIBUTE = re.compile(
    r"(?:^|[^a-z])(attributes?|attribut|attr|att|feature|feat|factor|dim)_?$", re.IGNORECASE
)
MOST_PROFILES = 10
OVERLAP = 0.5  # of the levels of columns that show one attribute in two profiles
POSITION, TASK, ROW = "profile", "task", "__row"


@dataclass(frozen=True)
class IndexedColumn:
    """A name with a stem and one or two indices: of the profile, or of the task and the profile."""

    name: str
    stem: str
    indices: tuple[str, ...]
    kinds: tuple[str, ...]  # "task", "profile" or "" for each index, by the word before it


@dataclass(frozen=True)
class LongProfiles:
    """A table with one row per profile, its columns by role, and the row from which each is."""

    frame: pd.DataFrame
    roles: dict[str, str]
    entries: list[AccountEntry]
    rows: NDArray[np.int64]  # (n,): places in the table that was made long
    columns: dict[str, tuple[str, ...]]  # of the table that was made long, by the column of this one


def indexed(name: str) -> IndexedColumn | None:
    """A name of a column by its stem and indices; None without an index."""
    matches = list(_INDEX.finditer(name))
    of_attribute = [match for match in matches if _OF_ATTRIBUTE.search(name[: match.start()])]
    if len(matches) - len(of_attribute) >= 2:  # attribute1_task2_profile1
        matches = [match for match in matches if match not in of_attribute]
    matches = matches[-2:]
    if not matches:
        return None
    text, kinds, end = "", [], 0
    for match in matches:
        before = name[end : match.start()]
        kind = ""
        for pattern, words in ((_OF_TASK, TASK), (_OF_PROFILE, POSITION)):
            hint = pattern.search(before)
            if hint is not None and not kind:
                kind, before = words, before[: hint.start(1)]
        text += before + "\0"
        kinds.append(kind)
        end = match.end()
    text += name[end:]
    stem = re.sub(r"[_.\- \0]+", "_", text).strip("_")
    return IndexedColumn(name, stem, tuple(match[0] for match in matches), tuple(kinds)) if stem else None


def make_long(
    frame: pd.DataFrame, source: str, outcome: str | None, attributes: Sequence[str]
) -> LongProfiles | None:
    """A table with one row per profile, and its columns by role; None for one that is long already."""
    columns = [parts for name in frame if (parts := indexed(str(name))) is not None]
    stems: dict[str, list[IndexedColumn]] = {}
    for column in columns:
        stems.setdefault(column.stem, []).append(column)
    if any(name in frame for name in attributes) and not _with_first_profiles(frame):
        return None
    stems = _without_constant_indices(stems)
    if pairs := _with_first_profiles(frame):
        paired = {part.name for parts in pairs.values() for part in parts}
        stems = {stem: [part for part in parts if part.name not in paired] for stem, parts in stems.items()}
        stems |= pairs
    groups = {stem: parts for stem, parts in stems.items() if len(parts) > 1 and _one_kind(parts)}
    single = {stem: parts for stem, parts in groups.items() if len(parts[0].indices) == 1}
    double = {stem: parts for stem, parts in groups.items() if len(parts[0].indices) == 2}
    names = [name for name in frame if outcomes_like([name])]
    if double and any(_overlaps(frame, parts) for parts in double.values()):
        return _from_respondents(frame, single, double, source, outcome)
    profiles = _shared_indices(frame, single, attributes, outcome, bool(names))
    if profiles is None:
        return None
    return _from_tasks(frame, single, profiles, outcome)


def _without_constant_indices(stems: dict[str, list[IndexedColumn]]) -> dict[str, list[IndexedColumn]]:
    """Columns by their stems, of which a number that all columns of a stem have is a part."""
    changed: dict[str, list[IndexedColumn]] = {}
    for stem, parts in stems.items():
        constant = [
            place
            for place in range(2)
            if all(len(part.indices) == 2 for part in parts)
            and len(parts) > 1
            and len({part.indices[place] for part in parts}) == 1
        ]
        if len(constant) != 1:
            changed.setdefault(stem, []).extend(parts)
            continue
        place = 1 - constant[0]
        for part in parts:
            match = list(_INDEX.finditer(part.name))[-2:][place]
            name = re.sub(r"[_.\- ]+", " ", part.name[: match.start()] + part.name[match.end() :]).strip()
            column = IndexedColumn(part.name, name, (part.indices[place],), (part.kinds[place],))
            changed.setdefault(name, []).append(column)
    return changed


def _with_first_profiles(frame: pd.DataFrame) -> dict[str, list[IndexedColumn]]:
    """Columns such as roof and roof_2, of which the first has no number, by the name of the first."""
    pairs = {
        match[1]: [
            IndexedColumn(match[1], match[1], ("1",), ("",)),
            IndexedColumn(name, match[1], ("2",), ("",)),
        ]
        for name in map(str, frame)
        if (match := _SECOND.fullmatch(name)) is not None and match[1] in frame
    }
    pairs = {stem: parts for stem, parts in pairs.items() if _overlaps(frame, parts)}
    return pairs if len(pairs) > 1 else {}


def _outcome_stem(frame: pd.DataFrame, stems: dict[str, dict[Any, str]], outcome: str | None) -> str | None:
    """The stem of the outcome: as stated, else by its name where its cells can be one, choices first."""
    if outcome is not None:
        return next((stem for stem in stems if stem == outcome), None)
    candidates = [
        stem
        for stem, columns in stems.items()
        if _is_outcome(stem, None) and all(_may_be_outcome(frame[name]) for name in columns.values())
    ]
    words = {*CHOICES[:16]}
    by_choice = [stem for stem in candidates if words & {*re.split(r"[^a-z]+", stem.casefold())}]
    return next(iter([*by_choice, *candidates]), None)


def _may_be_outcome(column: pd.Series[Any]) -> bool:
    """Whether cells of a column are numbers, or say yes and no."""
    return (
        is_numeric_dtype(column.dtype) or {key_of(str(cell)) for cell in column.dropna().unique()} <= YES | NO
    )


def _one_kind(parts: Sequence[IndexedColumn]) -> bool:
    """Whether the columns of a stem have indices of one number, none of them twice."""
    return len({len(part.indices) for part in parts}) == 1 and len({part.indices for part in parts}) == len(
        parts
    )


def _overlaps(frame: pd.DataFrame, parts: Sequence[IndexedColumn]) -> bool:
    """Whether columns have the same cells, as those that show one attribute in several profiles."""
    cells = [set(frame[part.name].dropna().unique()) for part in parts]
    together = set().union(*cells)
    return bool(together) and min(len(part) for part in cells) >= OVERLAP * len(together)


def _shared_indices(
    frame: pd.DataFrame,
    stems: dict[str, list[IndexedColumn]],
    attributes: Sequence[str],
    outcome: str | None,
    has_outcome: bool,
) -> tuple[str, ...] | None:
    """The indices of profiles that several attributes share, or one and a column of the outcome."""
    sets: dict[tuple[str, ...], int] = {}
    for stem, parts in stems.items():
        indices = tuple(part.indices[0] for part in parts)
        if len(indices) <= MOST_PROFILES and (stem in attributes or _overlaps(frame, parts)):
            sets[indices] = sets.get(indices, 0) + 1
    if not sets:
        return None
    best = max(sets, key=lambda indices: sets[indices])
    return (
        best
        if sets[best] > 1 or attributes or ((outcome in frame or has_outcome) and len(best) == 2)
        else None
    )


def _is_outcome(stem: str, outcome: str | None) -> bool:
    if outcome is not None:
        return stem == outcome
    words = {*re.split(r"[^a-z]+", stem.casefold())}
    return bool(words & {*CHOICES[:16], *RATINGS[:6]})


def _from_tasks(
    frame: pd.DataFrame,
    stems: dict[str, list[IndexedColumn]],
    profiles: tuple[str, ...],
    outcome: str | None,
) -> LongProfiles:
    """Rows of profiles from rows of tasks."""
    names = {
        stem: {part.indices[0]: part.name for part in parts}
        for stem, parts in stems.items()
        if tuple(part.indices[0] for part in parts) == profiles
    }
    wide = [name for columns in names.values() for name in columns.values()]
    further = frame.drop(columns=wide)
    parts = [
        further.assign(
            **{POSITION: profile},
            **{stem: frame[columns[profile]] for stem, columns in names.items()},
            **{ROW: range(len(frame))},
        )
        for profile in profiles
    ]
    long = pd.concat(parts).sort_values(ROW, kind="stable").reset_index(drop=True)
    sentence = (
        f"One row per task with {counted(len(profiles), 'profile')}: {listed(names, 20)} in columns such as "
        f"{listed(wide[:2])}."
    )
    entries = [AccountEntry("source", sentence, option="--attributes")]
    roles = {"profile": POSITION}
    if not named_like(frame, TASKS):
        long, roles["task"] = long.assign(**{TASK: long[ROW]}), TASK
    choice = _outcome_stem(frame, names, outcome)
    if choice is not None:
        roles["outcome"] = choice
    origin = {stem: tuple(columns.values()) for stem, columns in names.items()}
    return LongProfiles(long.drop(columns=ROW), roles, entries, long[ROW].to_numpy(), origin)


def _from_respondents(
    frame: pd.DataFrame,
    single: dict[str, list[IndexedColumn]],
    double: dict[str, list[IndexedColumn]],
    source: str,
    outcome: str | None,
) -> LongProfiles:
    """Rows of profiles from rows of respondents."""
    at = _task_index(double, single, source, outcome)
    tasks = list(dict.fromkeys(part.indices[at] for parts in double.values() for part in parts))
    profiles = list(dict.fromkeys(part.indices[1 - at] for parts in double.values() for part in parts))
    by_task = {
        stem: {part.indices[0]: part.name for part in parts}
        for stem, parts in single.items()
        if {part.indices[0] for part in parts} == {*tasks}
    }
    cells = {
        stem: {(part.indices[at], part.indices[1 - at]): part.name for part in parts}
        for stem, parts in double.items()
        if len(parts) == len(tasks) * len(profiles)
    }
    if not cells:
        example = next(iter(double.values()))[0].name
        raise InputError(
            f"{source}: columns such as {example} are read as those of {counted(len(tasks), 'task')} and "
            f"{counted(len(profiles), 'profile')}, of which some are absent; rename them, as in "
            "age_task1_profile2, or name long columns with --attributes."
        )
    wide = [name for columns in by_task.values() for name in columns.values()]
    wide += [name for columns in cells.values() for name in columns.values()]
    further = frame.drop(columns=wide)
    parts: list[Any] = []
    for task in tasks:
        for profile in profiles:
            parts.append(
                further.assign(
                    **{TASK: task, POSITION: profile},
                    **{stem: frame[columns[task]] for stem, columns in by_task.items()},
                    **{stem: frame[columns[task, profile]] for stem, columns in cells.items()},
                    **{ROW: range(len(frame))},
                )
            )
    long = pd.concat(parts).sort_values(ROW, kind="stable").reset_index(drop=True)
    long = long[long[list(cells)].notna().any(axis=1)].reset_index(drop=True)
    sentence = (
        f"One row per respondent with {counted(len(tasks), 'task')} of {counted(len(profiles), 'profile')}: "
        f"{listed(cells, 20)} in columns such as {listed(wide[-2:])}."
    )
    roles = {"profile": POSITION, "task": TASK}
    choice = next((stem for stem in by_task if _is_outcome(stem, outcome)), None)
    if choice is None:
        choice = _outcome_stem(frame, cells, outcome)
    if choice is not None:
        roles["outcome"] = choice
    entries = [AccountEntry("source", sentence, option="--attributes")]
    origin = {stem: tuple(columns.values()) for stem, columns in cells.items()}
    return LongProfiles(long.drop(columns=ROW), roles, entries, long[ROW].to_numpy(), origin)


def _task_index(
    double: dict[str, list[IndexedColumn]],
    single: dict[str, list[IndexedColumn]],
    source: str,
    outcome: str | None,
) -> int:
    """Which of two indices is the task: by the word before it, by a letter, or by the columns of answers."""
    first = next(iter(double.values()))
    for place, kind in enumerate(first[0].kinds):
        if kind:
            return place if kind == TASK else 1 - place
    sets = [{part.indices[place] for part in first} for place in (0, 1)]
    indices = {stem: {part.indices[0] for part in parts} for stem, parts in single.items()}
    of_outcomes = [texts for stem, texts in indices.items() if _is_outcome(stem, outcome)]
    for answered in (of_outcomes, list(indices.values())):
        matches = [place for place in (0, 1) if sets[place] in answered]
        if len(matches) == 1 and sets[0] != sets[1]:
            return matches[0]
    for place in (0, 1):
        if all(not text.isdigit() for text in sets[place]):
            return 1 - place
    if len(sets[0]) != len(sets[1]) and 2 in (len(sets[0]), len(sets[1])):
        return 1 if len(sets[0]) == 2 else 0
    raise InputError(
        f"{source}: it is not clear whether {first[0].name} begins with the task or the profile; rename such "
        "columns, as in age_task1_profile2."
    )
