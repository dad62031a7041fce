"""Choices by judge and prompt, in the order in which checks want them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import judge_of
from conjury.inference.study.models import Study
from conjury.inference.tables.schema import SUM_TOLERANCE

from ..conjoint import amce
from ..conjoint.estimates import Estimates
from ..frames.notes import Note, join_notes

Found = TypeVar("Found")


@dataclass(frozen=True)
class JudgedChoices:
    """The choices of one judge (a panel or a model) under one prompt."""

    # judge, prompt, kind: ``prompt`` is empty for people; ``kind`` is "human" or "model"
    judge: str
    prompt: str
    kind: str
    # columns of independent observations, those of the study's clusters; the first numbers clusters
    unit: tuple[str, ...]
    outcome: str  # column of the choices
    # attributes, stimuli: columns of randomised attributes and of stimuli in the choices
    attributes: tuple[str, ...]
    stimuli: tuple[str, ...]
    rows: pd.DataFrame  # tasks that are no repeats: by respondent and task, position A before B
    repeats: pd.DataFrame  # repeated tasks, in the same order

    @property
    def name(self) -> Note:
        """Judge and prompt, as a part of a note."""
        return Note("", judge=self.judge, prompt=self.prompt)

    @property
    def formula(self) -> str:
        """The outcome on every attribute that varies."""
        varied = [name for name in self.attributes if self.rows[name].nunique() > 1]
        if not varied:
            raise InputError("No attribute varies, so no effects can be estimated.")
        return f"{self.outcome} ~ {' + '.join(varied)}"

    @cached_property
    def answered(self) -> pd.DataFrame:
        """Rows with a choice."""
        return self.rows[self.rows[self.outcome].notna()]

    @cached_property
    def shown(self) -> pd.DataFrame:
        """Rows of the design: each pair once, however often a model was asked."""
        if "sample" not in self.rows:
            return self.rows
        return self.rows.drop_duplicates(["judge_id", "pair_id", "position"])

    @cached_property
    def effects(self) -> Estimates:
        """AMCEs of all attributes, clustered by the unit."""
        return amce(self.answered, self.formula, id=list(self.unit))

    @cached_property
    def first_chosen(self) -> np.ndarray:
        """Whether each pair's choice is position A, shape (pairs,): 1, 0, or NaN without one choice."""
        return first_chosen(self.rows[self.outcome].to_numpy(dtype=float, na_value=np.nan))

    def by_pair(self, column: str) -> np.ndarray:
        """Codes of a column in positions A and B, shape (pairs, 2), -1 where missing."""
        return codes(self.rows[column]).reshape(-1, 2)

    def respondents(self) -> np.ndarray:
        """Code of each pair's unit, shape (pairs,)."""
        return self.by_pair(self.unit[0])[:, 0]


def first_chosen(chosen: np.ndarray) -> np.ndarray:
    """Whether A was chosen, shape (pairs,), from outcomes in the order A, B, A, B ... of shape (2 pairs,)."""
    first, second = chosen.reshape(-1, 2).T
    return np.where(np.abs(first + second - 1) <= SUM_TOLERANCE, first, np.nan)


def codes(column: pd.Series) -> np.ndarray:
    """Integer codes, shape (n,): of categories in their order, else of values as they appear."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy().astype(np.int64)
    return pd.factorize(column)[0].astype(np.int64)


def split(study: Study, choices: pd.DataFrame) -> list[JudgedChoices]:
    """Split choices by judge and prompt, in order of appearance."""
    missing = [a.id for a in study.attributes if a.id not in choices]
    if missing:
        raise InputError(f"The choices have no column {missing[0]!r}, an attribute of the study; add it.")
    if choices.empty:
        raise InputError("The choices contain no rows; give at least one answered task.")
    if "profile_id" not in choices:
        choices = choices.assign(profile_id=None)
    stimuli = [s.id for s in study.stimuli if s.id in choices and choices[s.id].notna().any()]
    keys = [judge_of(choices), choices["prompt_id"].astype("string").fillna("").rename("prompt")]
    groups = []
    for (judge, prompt), rows in choices.groupby(keys, sort=False, observed=True):
        kind = str(rows["judge_kind"].iloc[0])
        named = study.clusters.human if kind == "human" else study.clusters.model
        unit = (named,) if isinstance(named, str) else tuple(named)
        absent = next((name for name in unit if name not in rows), None)
        if absent is not None:
            raise InputError(f"The choices have no column {absent!r}, a cluster of the study; add it.")
        ordered = _in_order(rows)
        repeat = ordered["repeat"].to_numpy(dtype=bool)
        if repeat.all():
            continue
        groups.append(
            JudgedChoices(
                judge=str(judge),
                prompt=str(prompt),
                kind=kind,
                unit=unit,
                outcome=study.outcome,
                attributes=tuple(a.id for a in study.attributes),
                stimuli=tuple(stimuli),
                rows=ordered[~repeat],
                repeats=ordered[repeat],
            )
        )
    if not groups:
        raise InputError("The choices contain only repeated tasks, so no checks can be run.")
    return groups


def designs(judged: Iterable[JudgedChoices]) -> list[list[JudgedChoices]]:
    """Put judges who saw the same pairs together, in order of appearance."""
    shared: dict[tuple[int, int], list[JudgedChoices]] = {}
    for group in judged:
        columns = ["pair_id", "position", *group.attributes, *group.stimuli]
        profiles = group.shown[[*columns, "judge_id"] if group.kind == "human" else columns]
        key = (len(profiles), int(pd.util.hash_pandas_object(profiles, index=False).to_numpy().sum()))
        shared.setdefault(key, []).append(group)
    return list(shared.values())


class NotApplicableError(Exception):
    """A check does not apply, for the reason in the message."""


def people_of(judged: Sequence[JudgedChoices], otherwise: str) -> list[JudgedChoices]:
    """The panels of people; where there are none the check does not apply, for the reason given."""
    people = [group for group in judged if group.kind == "human"]
    if not people:
        raise NotApplicableError(otherwise)
    return people


def attempt(
    judged: Sequence[JudgedChoices], compute: Callable[[JudgedChoices], Found], otherwise: str = ""
) -> tuple[list[tuple[JudgedChoices, Found]], list[Note]]:
    """Compute something for each judge; where the data cannot carry it a note states why."""
    # Where this is so for all judges, the check does not apply.
    done: list[tuple[JudgedChoices, Found]] = []
    notes: list[Note] = []
    for group in judged:
        try:
            done.append((group, compute(group)))
        except InputError as error:
            notes.append(Note.of("{who} excluded: {error}", who=group.name, error=error.args[0]))
    if not done:
        raise NotApplicableError(join_notes([otherwise, *notes]))
    return done, notes


def tidy(frames: Iterable[tuple[JudgedChoices, pd.DataFrame]]) -> pd.DataFrame:
    """Stack frames with the judge and prompt of each in front."""
    return pd.concat(list(_named(frames)), ignore_index=True)


def _named(frames: Iterable[tuple[JudgedChoices, pd.DataFrame]]) -> Iterator[pd.DataFrame]:
    for group, frame in frames:
        named = frame.reset_index(drop=True)
        named.insert(0, "prompt", pd.Series(group.prompt, index=named.index, dtype="string"))
        named.insert(0, "judge", pd.Series(group.judge, index=named.index, dtype="string"))
        yield named


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    task = rows["task"].to_numpy(dtype=float, na_value=0.0) if "task" in rows else np.zeros(len(rows))
    position = (rows["position"].astype("string") == "B").to_numpy(dtype=bool)
    repeat = rows["repeat"].to_numpy(dtype=bool)
    sample = codes(rows["sample"]) if "sample" in rows else np.zeros(len(rows))
    order = np.lexsort((position, sample, codes(rows["pair_id"]), repeat, task, codes(rows["judge_id"])))
    return rows if np.all(order[1:] > order[:-1]) else rows.iloc[order]
