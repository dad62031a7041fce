"""The outcome of each profile: chosen as 0 or 1, from the number of the chosen profile, or a rating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError, counted, listed
from ...tables.reading import ReadingRules, read_answers
from ...tables.reading.account import AccountEntry
from ...tables.reading.cell_rules import key_of
from ...tables.row_numbers import row_words

YES = {
    "1",
    "yes",
    "true",
    "y",
    "t",
    "chosen",
    "selected",
    "picked",
    "preferred",
    "won",
    "ja",
    "oui",
    "si",
    "sí",
}
NO = {
    *("0", "no", "false", "n", "f", "not chosen", "not selected", "unselected", "not picked", "rejected"),
    *("lost", "nein", "non", "not preferred", "unchosen", "notchosen", "non-chosen"),
}
NEITHER = {
    "neither",
    "none",
    "no choice",
    "neither of the two",
    "none of them",
    "none of these",
    "neither one",
}
WAYS = (
    {"a", "1", "left", "first", "one"},
    {"b", "2", "right", "second", "two"},
    {"c", "3", "third", "three"},
)
ONE_CHOSEN = 0.9  # share of tasks with one chosen profile above which all are forced choices


@dataclass(frozen=True)
class ProfileOutcomes:
    """The outcome of each row, missing where there is none; whether it says which profile was chosen."""

    values: NDArray[np.float64]
    is_choice: bool
    entries: tuple[AccountEntry, ...]


def read_outcomes(
    column: pd.Series[Any], task: NDArray[np.int64], position: Sequence[str], rules: ReadingRules, source: str
) -> ProfileOutcomes:
    """Outcomes of n rows; ``task`` is the number of the task of each row, ``position`` its profile."""
    name = str(column.name)
    relabel = {
        text: "neither" if key_of(label) in NEITHER else label for text, label in rules.relabel.items()
    }
    cells = {key_of(relabel.get(str(value), str(value))) for value in column.dropna().unique()}
    may_name_none = (
        rules.scale is None and bool(cells & NEITHER) and len(cells - NEITHER) <= len(set(position))
    )
    scale = "nominal" if may_name_none else rules.scale
    # The account of the survey is strict, and leaves out the scale, which the outcome decides.
    rules = replace(rules, levels=_levels_of(rules, name), relabel=relabel, scale=scale, strict=False)
    answers = read_answers({name: column}, rules, source=source)
    entries = [entry for entry in answers.entries if entry.subject not in ("types", "order")]
    codes, classes = answers.codes[0], answers.classes
    if rules.scale in ("interval", "ordinal") or (answers.scale == "interval"):
        return _ratings(answers.values[0], task, name, source, rules, entries)
    _refuse_equal_profiles(codes, classes, task, name, source)
    keys = [key_of(label) for label in classes]
    if len(classes) == 2 and {*keys} & YES and {*keys} & NO and not {*keys} <= YES and not {*keys} <= NO:
        values = np.array([*(float(key in YES) for key in keys), np.nan])[codes]
        return _choices(values, task, name, source, entries)
    is_one = pd.Series(codes).groupby(task).nunique().max() == 1 and pd.Series(task).duplicated().any()
    if is_one:
        place = profile_named(classes, list(dict.fromkeys(position)), name, source, entries)
        profile = np.array([list(dict.fromkeys(position)).index(text) for text in position])
        picked = np.array([*place, np.nan])[codes]
        values = np.where(np.isnan(picked), np.nan, (picked == profile).astype(float))
        return _choices(values, task, name, source, entries)
    if answers.scale == "ordinal":
        return _ratings(answers.values[0], task, name, source, rules, entries)
    raise InputError(
        f"{source}: column '{name}' has {listed(map(repr, classes))}: neither 0 and 1, nor the number of a "
        "profile, nor a rating; state what they mean, such as "
        f"--relabel '{classes[0]}=1' for chosen and =0 for not chosen."
    )


def _refuse_equal_profiles(
    codes: NDArray[np.int64], classes: Sequence[str], task: NDArray[np.int64], name: str, source: str
) -> None:
    """Refuse 0 and 1, yes and no that are the same for all profiles of nearly every task."""
    yes = [label for label in classes if key_of(label) in YES]
    no = [label for label in classes if key_of(label) in NO]
    if len(classes) == 2 and len(yes) == len(no) == 1 and _is_equal(pd.Series(codes).where(codes >= 0), task):
        first, second = (f"--relabel '{yes[0]}={place}' --relabel '{no[0]}={3 - place}'" for place in (1, 2))
        raise InputError(
            f"{source}: column '{name}' has '{yes[0]}' or '{no[0]}' for all profiles of a task, which does "
            f"not say which one was chosen; if '{yes[0]}' means the first, add {first}, if the second, "
            f"{second}."
        )


def _is_equal(values: pd.Series[Any], task: NDArray[np.int64]) -> bool:
    """Whether nearly all tasks of several profiles have one value for all of them."""
    groups = values.groupby(task)
    n_values = groups.nunique()[(groups.size() > 1) & (groups.count() > 0)]
    return len(n_values) > 0 and float((n_values == 1).mean()) >= ONE_CHOSEN


def _levels_of(rules: ReadingRules, name: str) -> Mapping[str, Sequence[str]]:
    """Stated levels of the outcome alone: those of all columns are not for it."""
    return {name: rules.levels[name]} if name in rules.levels else {}


def _ratings(
    values: NDArray[np.float64],
    task: NDArray[np.int64],
    name: str,
    source: str,
    rules: ReadingRules,
    entries: list[AccountEntry],
) -> ProfileOutcomes:
    if _is_equal(pd.Series(values), task):
        raise InputError(
            f"{source}: column '{name}' has one rating per task, the same for all its profiles, which says "
            "nothing about one of them; name a column with a rating per profile with --outcome."
        )
    span = f"{np.nanmin(values):g} to {np.nanmax(values):g}"
    sentence = f"Outcome '{name}' is a rating from {span}."
    option = None if rules.scale else "--scale"
    return ProfileOutcomes(
        values, is_choice=False, entries=(*entries, AccountEntry("types", sentence, name, option=option))
    )


def _choices(
    values: NDArray[np.float64],
    task: NDArray[np.int64],
    name: str,
    source: str,
    entries: list[AccountEntry],
) -> ProfileOutcomes:
    """Choices, of which a task has one; tasks without any are counted."""
    groups = pd.DataFrame({"value": values, "task": task}).groupby("task")["value"]
    chosen, complete = groups.sum(), groups.size() == groups.count()
    several = (groups.size() > 1) & complete
    usual = float(chosen[several].mode().iloc[0]) if several.any() else 0.0
    if usual > 1 and (groups.size()[several] % usual == 0).all() and (chosen[several] == usual).all():
        raise InputError(
            f"{source}: column '{name}' says that {usual:.0f} profiles of every task are chosen; if surveys "
            "with the same numbers are stacked, name the columns that tell respondents apart, such as "
            "--id SURVEY,RESPONDENT, else name the task with --task."
        )
    if usual == 1 and float((chosen[several] == 1).mean()) >= ONE_CHOSEN:
        twice = several & (chosen > 1)
        if twice.any():
            rows = np.flatnonzero(task == twice.index[int(twice.to_numpy().argmax())])
            raise InputError(
                f"{source}: column '{name}' says that {int(chosen[twice].iloc[0])} profiles of one task are "
                f"chosen (rows {listed(row_words(source, row) for row in rows)}; "
                f"{counted(int(twice.sum()), 'such task')}); correct it, or "
                "name the respondent and the task with --id and --task."
            )
        n_without = int((several & (chosen == 0)).sum())
        if n_without:
            verb = "counts" if n_without == 1 else "count"
            sentence = f"{counted(n_without, 'task')} without a chosen profile {verb} as a choice of none."
            entries = [*entries, AccountEntry("missing", sentence, name, count=n_without, option="--missing")]
    n_missing = int(np.isnan(values).sum())
    if n_missing:
        sentence = (
            f"{counted(n_missing, 'row')} without an outcome {'is' if n_missing == 1 else 'are'} excluded."
        )
        entries = [*entries, AccountEntry("excluded", sentence, name, count=n_missing)]
    return ProfileOutcomes(values, is_choice=True, entries=tuple(entries))


def profile_named(
    answers: Sequence[str], profiles: Sequence[str], name: str, source: str, entries: list[AccountEntry]
) -> list[float]:
    """The place of the profile that each answer names; -1 for neither."""
    places: list[float] = []
    by_key = {key_of(text): place for place, text in enumerate(profiles)}
    by_way = {word: place for place, words in enumerate(WAYS) for word in words}
    are_usual = len(profiles) <= len(WAYS) and (
        all(key_of(text) in WAYS[place] for place, text in enumerate(profiles))
    )
    for text in answers:
        key = key_of(text)
        word = key.split()[-1].strip(".()") if key.split() else key
        if key in NEITHER:
            places.append(-1.0)
        elif key in by_key or word in by_key:
            places.append(float(by_key.get(key, by_key.get(word, 0))))
        elif are_usual and by_way.get(word, len(profiles)) < len(profiles):
            places.append(float(by_way[word]))
        else:
            example = " ".join(
                f"--relabel '{answer}={profile}'" for answer, profile in zip(answers, profiles, strict=False)
            )
            raise InputError(
                f"{source}: column '{name}' contains '{text}', which names none of the profiles "
                f"({listed(map(repr, profiles))}); state what answers mean, such as {example}, or =none."
            )
    if not {key_of(text) for text in answers} <= {*by_key, *NEITHER}:
        pairs = listed(
            f"'{text}' as profile {profiles[int(place)]}"
            for text, place in zip(answers, places, strict=True)
            if place >= 0
        )
        entries.append(AccountEntry("roles", f"Outcome '{name}': {pairs}.", name, option="--relabel"))
    return places
