"""Answers of two sides to the same units, paired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.columns import KINDS, UNPERTURBED, as_text
from conjury.inference.tables.schema import require_columns

from ...numerics.types import Codes, Floats
from ..intervals import cluster_codes
from ..parse_status import outcome
from .scoring import Scored, TaskCell

JUDGE, CONDITION = "judge", "condition"
ACCURACY, LOG_ODDS = "accuracy", "log_odds"
UNIT = ("item_id", "line", "unit", "task")


@dataclass(frozen=True)
class MatchedAnswers:
    """Answers of two sides to the same n units, or n units and samples."""

    keys: Mapping[str, str]  # Judge, prompt, task and strata, as far as they are not what is compared
    left: str  # what is compared
    right: str
    cell: TaskCell  # classes and levels of the task
    left_frame: pd.DataFrame  # the rows of `Scored.frame`, one answer a row, in the order of the pairs
    right_frame: pd.DataFrame
    predicted: tuple[Codes, Codes]  # answers under the policy for missing ones, a row of either frame each
    # which pair an answer of the left, and of the right belongs to: 0, 1, ..., n - 1, ascending
    pair: tuple[Codes, Codes]
    n_left_only: int  # answers without a partner, which are excluded
    n_right_only: int
    n_missing: int  # pairs that the policy for missing answers leaves out

    @cached_property
    def n(self) -> int:
        """How many pairs there are."""
        return int(self.pair[0][-1]) + 1 if len(self.pair[0]) else 0

    @cached_property
    def single(self) -> bool:
        """Whether every pair is of two answers."""
        return all(len(pair) == self.n for pair in self.pair)

    @cached_property
    def weights(self) -> tuple[Floats, Floats]:
        """Weight of each answer, left and right: one over how many that side has in the pair."""
        left_weight, right_weight = (1 / np.bincount(pair, minlength=self.n)[pair] for pair in self.pair)
        return left_weight, right_weight

    @cached_property
    def right_answers(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which answers are right, left and right."""
        gold = (self.left_frame["gold"], self.right_frame["gold"])
        left_mask, right_mask = (
            np.equal(labels.to_numpy(dtype=np.int64), answers)
            for labels, answers in zip(gold, self.predicted, strict=True)
        )
        return left_mask, right_mask

    @cached_property
    def correct(self) -> tuple[Floats, Floats]:
        """Share of right answers in each pair, left and right, shape (n,): 0 or 1 where there is one each."""
        left_share, right_share = (
            np.bincount(pair, weights=is_right, minlength=self.n) / np.bincount(pair, minlength=self.n)
            for pair, is_right in zip(self.pair, self.right_answers, strict=True)
        )
        return left_share, right_share

    @cached_property
    def changed(self) -> float:
        """Share of answers that differ, of each left with each right one in a pair, mean of the pairs."""
        codes = np.unique(np.concatenate(self.predicted), return_inverse=True)[1]
        side_codes = np.split(codes, [len(self.predicted[0])])
        shape = (self.n, int(codes.max(initial=0)) + 1)
        shares = [np.zeros(shape), np.zeros(shape)]
        for share, pair, code, weight in zip(shares, self.pair, side_codes, self.weights, strict=True):
            np.add.at(share, (pair, code), weight)
        return float(1 - (shares[0] * shares[1]).sum(axis=1).mean())

    def clusters(self, column: str) -> tuple[Codes, int]:
        """Cluster of each pair and how many there are, by a column of the first left answer."""
        if column not in self._clusters:
            first = np.unique(self.pair[0], return_index=True)[1]
            self._clusters[column] = cluster_codes(self.left_frame.iloc[first], column)
        return self._clusters[column]

    @cached_property
    def _clusters(self) -> dict[str, tuple[Codes, int]]:
        return {}

    @cached_property
    def counts(self) -> dict[str, int]:
        """How much a row of a table rests on."""
        units = self.left_frame.drop_duplicates(["item_id", "line"])
        return {
            "n_pairs": self.n,
            "n_units": len(units),
            "n_items": int(units["item_id"].nunique()),
            "n_left_only": self.n_left_only,
            "n_right_only": self.n_right_only,
            "n_missing": self.n_missing,
        }

    def first_samples(self) -> MatchedAnswers:
        """The same with one pair a unit: the first sample that both have; pairs are of two answers."""
        mask = (~self.left_frame.duplicated(["item_id", "line"])).to_numpy()
        pair = np.arange(int(mask.sum()))
        return replace(
            self,
            left_frame=self.left_frame[mask],
            right_frame=self.right_frame[mask],
            predicted=(self.predicted[0][mask], self.predicted[1][mask]),
            pair=(pair, pair),
        )


def comparable(scored: Scored, between: str, by: Sequence[str]) -> tuple[Scored, list[str]]:
    """Answers that may be compared, and what was excluded of them."""
    # Copies are compared with the item that they come from; in comparisons of anything else, perturbed
    # items are excluded, unless the table is by condition.
    require_columns(scored.frame, [between, *by], "scored judgments")
    if between in UNIT:
        raise InputError(
            f"between is '{between}', by which answers are paired; give a column that differs within a unit."
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
    perturbed = scored.is_perturbed
    if CONDITION in by or not perturbed.any() or perturbed.all():
        return replace(scored, frame=frame), []
    note = (
        f"{int(perturbed.sum()):,} answers to perturbed items are excluded: only original items are compared."
    )
    return replace(scored, frame=frame[~perturbed].reset_index(drop=True)), [note]


def groups(scored: Scored, between: str, by: Sequence[str]) -> Iterator[tuple[dict[str, str], TaskCell]]:
    """Answers to compare with each other: the keys that they share, and the answers of all sides."""
    names = [name for name in (JUDGE, "prompt", "task", *by) if name != between]
    classes = {cell.keys["task"]: cell for cell in scored.cells(judges=False)}
    frame = scored.frame.dropna(subset=[between, *by])
    match_keys = [name for name in names if name != "prompt"]
    of_people = frame[(frame["prompt"] == "").to_numpy(dtype=bool) & (between == JUDGE)]
    for values, rows in frame.groupby(names, sort=False, observed=True):
        keys = {name: str(value) for name, value in zip(names, values, strict=True)}
        if keys.get("prompt") and len(of_people):
            beside = of_people.merge(rows[match_keys].drop_duplicates(), on=match_keys)
            rows = pd.concat([beside, rows], ignore_index=True)
        yield keys, replace(classes[str(rows["task"].iloc[0])], keys=keys, frame=rows)


def sides_of(frame: pd.DataFrame, between: str) -> list[str]:
    """What is compared, in the order of its levels, else of appearance; conditions in that of `KINDS`."""
    column = frame[between]
    if between == CONDITION:
        order = [UNPERTURBED, *KINDS]
        sides = column.drop_duplicates().astype(str)
        return sorted(sides, key=lambda name: order.index(name) if name in order else len(order))
    if isinstance(column.dtype, pd.CategoricalDtype):
        observed = set(column.dropna())
        return [str(level) for level in column.cat.categories if level in observed]
    return [str(value) for value in column.drop_duplicates()]


def matched_pairs(
    scored: Scored, between: str, by: Sequence[str], against: str | None, missing: str
) -> Iterator[MatchedAnswers]:
    """Bring every two sides together, or each with ``against``, in order of appearance."""
    # Samples of two conditions have nothing in common, so conditions pair by unit, with all answers of it.
    check_against(scored.frame, between, against)
    for keys, cell in groups(scored, between, by):
        sides = sides_of(cell.frame, between)
        side_pairs = (
            list(combinations(sides, 2))
            if against is None
            else [(side, against) for side in sides if side != against]
        )
        text = as_text(cell.frame[between])
        paired = [name for name in ("item_id", "line") if name != between]
        paired += ["sample"] if between not in (CONDITION, "sample") else []
        grouped = cell.frame.groupby(paired, sort=False, observed=True, dropna=False)
        pair = np.asarray(grouped.ngroup(), dtype=np.int64)
        for left_side, right_side in side_pairs:
            yield _match_sides(scored, keys, cell, (left_side, right_side), text, between, pair, missing)


def check_against(frame: pd.DataFrame, between: str, against: str | None) -> None:
    """Refuse a side to compare with that no answer has."""
    sides = [str(name) for name in frame[between].dropna().unique()]
    if against is not None and against not in sides:
        raise InputError(
            f"scored judgments: column '{between}' does not contain "
            f"'{against}'{did_you_mean(against, sides)}; it contains {listed(sides)}."
        )


def _match_sides(
    scored: Scored,
    keys: dict[str, str],
    cell: TaskCell,
    sides: tuple[str, str],
    text: pd.Series[str],
    between: str,
    pair: Codes,
    missing: str,
) -> MatchedAnswers:
    unit = [name for name in ("item_id", "line", "sample") if name != between]
    side_masks = [(text == side).to_numpy(dtype=bool) for side in sides]
    frames = [cell.frame[side_mask] for side_mask in side_masks]
    pairs = [pair[side_mask] for side_mask in side_masks]
    answers, masks = [], []
    for side, frame in zip(sides, frames, strict=True):
        if frame.duplicated(unit).any():
            raise InputError(
                f"scored judgments: '{side}' of column '{between}' has several answers per unit; name the "
                "column that distinguishes them with by."
            )
        predicted, mask = outcome(frame, cell.classes, missing, scored.policy)
        answers.append(predicted)
        masks.append(mask)
    common = np.intersect1d(pairs[0], pairs[1])
    shared_pairs = np.intersect1d(pairs[0][masks[0]], pairs[1][masks[1]])
    rows = []
    for own_pair, mask in zip(pairs, masks, strict=True):
        positions = np.flatnonzero(mask & np.isin(own_pair, shared_pairs))
        rows.append(positions[np.argsort(own_pair[positions], kind="stable")])
    first, second = (frame.iloc[row].reset_index(drop=True) for frame, row in zip(frames, rows, strict=True))
    return MatchedAnswers(
        keys,
        *sides,
        cell,
        first,
        second,
        (answers[0][rows[0]], answers[1][rows[1]]),
        (np.searchsorted(shared_pairs, pairs[0][rows[0]]), np.searchsorted(shared_pairs, pairs[1][rows[1]])),
        int((~np.isin(pairs[0], common)).sum()),
        int((~np.isin(pairs[1], common)).sum()),
        len(common) - len(shared_pairs),
    )
