"""Answers to the same units brought side by side: of two judges, or of one under two conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.columns import as_text, did_you_mean, listed
from conjury.inference.conditions import KINDS, UNPERTURBED
from conjury.inference.errors import InputError
from conjury.inference.tables import require_columns

from .metrics import Codes
from .missing import outcome
from .resampling import cluster_codes
from .scoring import Cell, Scored

JUDGE, CONDITION = "judge", "condition"
ACCURACY, LOG_ODDS = "accuracy", "log_odds"
UNIT = ("item_id", "line", "unit", "task")


@dataclass(frozen=True)
class Matched:
    """Answers of two sides to the same units; every array has shape (n,).

    Attributes
    ----------
    keys : dict
        Judge, prompt, task and strata, as far as they are not what is compared.
    left, right : str
        What is compared.
    cell : Cell
        Classes and levels of the task.
    left_frame, right_frame : DataFrame of n rows
        The rows of `Scored.frame`, one unit and sample a row, in the same order.
    predicted : pair of ndarray
        Answers under the policy for missing ones.
    n_left_only, n_right_only : int
        Answers without a partner, which are left out.
    n_missing : int
        Pairs that the policy for missing answers leaves out.
    """

    keys: Mapping[str, str]
    left: str
    right: str
    cell: Cell
    left_frame: pd.DataFrame
    right_frame: pd.DataFrame
    predicted: tuple[Codes, Codes]
    n_left_only: int
    n_right_only: int
    n_missing: int

    @cached_property
    def correct(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which answers are right, left and right."""
        gold = (self.left_frame["gold"], self.right_frame["gold"])
        left, right = (
            np.equal(own.to_numpy(dtype=np.int64), given)
            for own, given in zip(gold, self.predicted, strict=True)
        )
        return left, right

    def clusters(self, column: str) -> tuple[Codes, int]:
        """Cluster of each pair and how many there are, by a column of the left side."""
        return cluster_codes(self.left_frame, column)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How much a row of a table rests on."""
        units = self.left_frame.drop_duplicates(["item_id", "line"])
        return {
            "n_pairs": len(self.left_frame),
            "n_units": len(units),
            "n_items": int(units["item_id"].nunique()),
            "n_left_only": self.n_left_only,
            "n_right_only": self.n_right_only,
            "n_missing": self.n_missing,
        }

    def first_samples(self) -> Matched:
        """The same with one pair a unit: the first sample that both have."""
        kept = (~self.left_frame.duplicated(["item_id", "line"])).to_numpy()
        return replace(
            self,
            left_frame=self.left_frame[kept],
            right_frame=self.right_frame[kept],
            predicted=(self.predicted[0][kept], self.predicted[1][kept]),
        )


def comparable(scored: Scored, between: str, by: Sequence[str]) -> tuple[Scored, list[str]]:
    """Answers that may be compared, and what was left out of them.

    Items have the condition "none" unless they say otherwise. Where conditions are compared, copies are the
    item that they come from; where others are, items that were perturbed are left out, unless the table is
    by condition.

    Raises
    ------
    InputError
        ``between`` or a stratum is no column.
    """
    require_columns(scored.frame, [between, *by], "scored judgments")
    if between in UNIT:
        raise InputError(
            f"between is '{between}', which is what pairs answers; name what differs within a unit."
        )
    frame = scored.frame
    if CONDITION not in frame:
        return scored, []
    condition = as_text(frame[CONDITION]).fillna(UNPERTURBED).replace("", UNPERTURBED)
    frame = frame.assign(**{CONDITION: condition})
    if between == CONDITION:
        if "base_item_id" in frame:
            base = as_text(frame["base_item_id"]).fillna(as_text(frame["item_id"]))
            frame = frame.assign(item_id=base)
        return replace(scored, frame=frame), []
    perturbed = (condition != UNPERTURBED).to_numpy()
    if CONDITION in by or not perturbed.any() or perturbed.all():
        return replace(scored, frame=frame), []
    note = (
        f"{int(perturbed.sum()):,} answers to perturbed items are left out: items are compared as they were."
    )
    return replace(scored, frame=frame[~perturbed].reset_index(drop=True)), [note]


def groups(scored: Scored, between: str, by: Sequence[str]) -> Iterator[tuple[dict[str, str], Cell]]:
    """Answers to compare with each other: the keys that they share, and the answers of all sides.

    People answer without a prompt; where judges are compared, they are beside the models under each.
    """
    names = [name for name in (JUDGE, "prompt", "task", *by) if name != between]
    classes = {cell.keys["task"]: cell for cell in scored.cells(judges=False)}
    frame = scored.frame.dropna(subset=[between, *by])
    others = [name for name in names if name != "prompt"]
    of_people = frame[(frame["prompt"] == "").to_numpy(dtype=bool) & (between == JUDGE)]
    for values, rows in frame.groupby(names, sort=False, observed=True):
        keys = {name: str(value) for name, value in zip(names, values, strict=True)}
        if keys.get("prompt") and len(of_people):
            beside = of_people.merge(rows[others].drop_duplicates(), on=others)
            rows = pd.concat([beside, rows], ignore_index=True)
        yield keys, replace(classes[str(rows["task"].iloc[0])], keys=keys, frame=rows)


def sides_of(frame: pd.DataFrame, between: str) -> list[str]:
    """What is compared, in the order of its levels, else of appearance; conditions in that of `KINDS`."""
    column = frame[between]
    if between == CONDITION:
        known = [UNPERTURBED, *KINDS]
        there = column.drop_duplicates().astype(str)
        return sorted(there, key=lambda name: known.index(name) if name in known else len(known))
    if isinstance(column.dtype, pd.CategoricalDtype):
        held = set(column.dropna())
        return [str(level) for level in column.cat.categories if level in held]
    return [str(value) for value in column.drop_duplicates()]


def matched_pairs(
    scored: Scored, between: str, by: Sequence[str], against: str | None, missing: str
) -> Iterator[Matched]:
    """Bring every two sides together, or each with ``against``, in order of appearance."""
    check_against(scored.frame, between, against)
    for keys, cell in groups(scored, between, by):
        sides = sides_of(cell.frame, between)
        asked = (
            list(combinations(sides, 2))
            if against is None
            else [(side, against) for side in sides if side != against]
        )
        text = as_text(cell.frame[between])
        for left, right in asked:
            yield _matched(scored, keys, cell, (left, right), text, between, missing)


def check_against(frame: pd.DataFrame, between: str, against: str | None) -> None:
    """Refuse a side to compare with that no answer has."""
    known = [str(name) for name in frame[between].dropna().unique()]
    if against is not None and against not in known:
        raise InputError(
            f"scored judgments: column '{between}' never holds '{against}'{did_you_mean(against, known)}; "
            f"it holds {listed(known)}."
        )


def _matched(
    scored: Scored,
    keys: dict[str, str],
    cell: Cell,
    sides: tuple[str, str],
    text: pd.Series[str],
    between: str,
    missing: str,
) -> Matched:
    unit = [name for name in ("item_id", "line", "sample") if name != between]
    own = [cell.frame[(text == side).to_numpy(dtype=bool)] for side in sides]
    for side, frame in zip(sides, own, strict=True):
        if frame.duplicated(unit).any():
            raise InputError(
                f"scored judgments: '{side}' of column '{between}' has several answers to one unit; name "
                "what tells them apart with by."
            )
    left, right = (frame.set_index(unit, drop=False) for frame in own)
    common = left.index.intersection(right.index, sort=False)
    left, right = left.loc[common].reset_index(drop=True), right.loc[common].reset_index(drop=True)
    answers, kept = [], np.ones(len(common), dtype=bool)
    for frame in (left, right):
        status = frame["status"].astype(object).to_numpy()
        predicted = frame["predicted"].to_numpy(dtype=np.int64)
        given, there = outcome(predicted, status, cell.classes, missing, scored.policy)
        answers.append(given)
        kept &= there
    return Matched(
        keys,
        *sides,
        cell,
        left[kept].reset_index(drop=True),
        right[kept].reset_index(drop=True),
        (answers[0][kept], answers[1][kept]),
        len(own[0]) - len(common),
        len(own[1]) - len(common),
        int((~kept).sum()),
    )
