"""Answers of systems to prompts: a judge's scores of all, people's labels of some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.reading.cell_rules import number_of

from ...numerics.intervals.bounded import Flags
from ...numerics.types import Codes, Floats
from ..validation.coding import CodedRows, Groups
from ..validation.error_rates import classes_first


@dataclass(frozen=True)
class SystemRows:
    """R answers of K systems, scored by J judges."""

    score: Floats  # (J, R): missing scores have the mean of their system
    answered: Flags  # (J, R): whether a judge scored an answer
    label: Floats  # (R,): mean over people, NaN without a label
    system: Codes  # (R,)
    prompt: Codes  # (R,)
    # (R,): how much an answer counts; all answers of a system to a prompt count as one
    weight: Floats
    # (R,): how many answers each stands for if it is labelled; None where labels are a simple random sample
    represented: Floats | None
    systems: tuple[str, ...]
    judges: tuple[str, ...]
    measure: str  # "rate" of a class, or "mean" of ratings

    @property
    def labelled(self) -> Flags:
        """The answers with a label, (R,)."""
        return np.asarray(np.isfinite(self.label))

    @property
    def label_weight(self) -> Floats:
        """How much an answer counts among labelled ones, (R,)."""
        return self.weight if self.represented is None else self.weight * self.represented


def system_rows(
    data: CodedRows, judges: Sequence[str], represented: Floats | None, mix: Floats, source: str
) -> SystemRows:
    """Bring coded answers to numbers: ratings as they are, of labels the share of one class."""
    # The first group of `data` are the systems; `mix` (n,) is the weight of each row's segment.
    systems = data.groups[0]
    score, label, measure = _numbers(data, source)
    answered = np.isfinite(score)
    cell = systems.code * (int(data.cluster.max()) + 1) + data.cluster
    _, place, size = np.unique(cell, return_inverse=True, return_counts=True)
    return SystemRows(
        np.stack([_filled(values, systems) for values in score]),
        np.asarray(answered),
        label,
        systems.code,
        data.cluster,
        mix / size[place.reshape(-1)],
        represented,
        systems.levels,
        tuple(judges),
        measure,
    )


def positive_class(data: CodedRows, source: str) -> int | None:
    """The class whose share is compared; None where answers are numbers, whose mean is."""
    if data.scale == "interval" or (_are_numbers(data) and data.positive is None and data.q > 2):
        return None
    if data.positive is None and data.q > 2:
        raise InputError(
            f"{source}: answers have {data.q} classes ({listed(data.classes, 8)}); name the one whose share "
            "is "
            "compared with --positive, or combine them with --relabel."
        )
    return classes_first(data)[0]


def mix_weights(groups: Sequence[Groups], mix: Mapping[str, float], n: int) -> Floats:
    """Weights (n,) that give the levels of the first column of segments the shares of ``mix``."""
    if not mix:
        return np.ones(n)
    if not groups:
        raise InputError("mix gives shares of segments; name their column with --by.")
    segments = groups[0]
    for level in mix:
        if level not in segments.levels:
            raise InputError(
                f"mix names '{level}', which does not occur in '{segments.name}'"
                f"{did_you_mean(level, segments.levels)}; there are {listed(segments.levels)}."
            )
    lacking = [level for level in segments.levels if level not in mix]
    if lacking:
        raise InputError(f"mix has no share of {listed(lacking)} of '{segments.name}'; give all of them.")
    shares = np.array([mix[level] for level in segments.levels], dtype=float)
    if not (np.isfinite(shares).all() and (shares >= 0).all() and abs(shares.sum() - 1) < 1e-6):
        raise InputError(f"mix has shares that sum to {shares.sum():g}; give shares that sum to 1.")
    counts = np.bincount(segments.code, minlength=len(shares))
    return np.asarray((shares / counts * n)[segments.code])


def _numbers(data: CodedRows, source: str) -> tuple[Floats, Floats, str]:
    """Scores (J, n), mean labels (n,), and whether these are a rate or a mean."""
    place = positive_class(data, source)
    if place is None:
        return data.judged, _mean_over_people(data.rated), "mean"
    score = np.where(data.judges >= 0, data.judges == place, np.nan)
    people = np.where(data.people >= 0, data.people == place, np.nan)
    return score, _mean_over_people(people), "rate"


def _mean_over_people(values: Floats) -> Floats:
    has_label = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(has_label, values, 0.0).sum(axis=0) / has_label.sum(axis=0))


def _are_numbers(data: CodedRows) -> bool:
    return data.scale == "ordinal" and all(number_of(name) is not None for name in data.classes)


def _filled(values: Floats, systems: Groups) -> Floats:
    filled = values.copy()
    for place in range(len(systems.levels)):
        inside = systems.code == place
        scored = inside & np.isfinite(values)
        if scored.any():
            filled[inside & ~np.isfinite(values)] = values[scored].mean()
    return filled
