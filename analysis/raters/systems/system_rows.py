"""Answers of systems to prompts: a judge's scores of all, people's labels of some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, did_you_mean, listed, no_column, quoted
from conjury.inference.tables.reading.cell_rules import number_of
from conjury.inference.tables.row_numbers import row_words

from ...numerics.intervals import SAME
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
    data: CodedRows, judges: Sequence[str], represented: Floats | None, weight: Floats, source: str
) -> SystemRows:
    """Bring coded answers to numbers: ratings as they are, of labels the share of one class."""
    # The first group of `data` are the systems; `weight` is that of `mix_weights`.
    systems = data.groups[0]
    score, label, measure = _numbers(data, source)
    answered = np.isfinite(score)
    return SystemRows(
        np.stack([_filled(values, systems) for values in score]),
        np.asarray(answered),
        label,
        systems.code,
        data.cluster,
        weight,
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
            "is compared with --positive, or combine them with --relabel."
        )
    return classes_first(data)[0]


def mix_weights(data: CodedRows, mix: Mapping[str, float]) -> Floats:
    """Weights (n,) by which each system has the shares of ``mix`` in the first column of segments."""
    systems, *groups = data.groups
    count = _answers_to_prompt(data)
    if not mix:
        return 1 / count
    if not groups:
        raise InputError("mix gives shares of segments; name their column with --by.")
    segments, mix = groups[0], {str(level): share for level, share in mix.items()}
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
    if not (np.isfinite(shares).all() and (shares >= 0).all()):
        level = segments.levels[int((~(shares >= 0)).argmax())]
        raise InputError(f"mix has a share of {mix[level]:g} of '{level}'; give shares between 0 and 1.")
    if not abs(shares.sum() - 1) < 1e-6:
        raise InputError(f"mix has shares that sum to {shares.sum():g}; give shares that sum to 1.")
    for level, share in zip(segments.levels, shares.tolist(), strict=True):
        if share == 0:
            raise InputError(
                f"mix has a share of 0 of '{level}'; leave its rows out with --exclude "
                f"{segments.name}={level}."
            )
    # Prompts by system and segment; systems with gaps have other segments than all of them together.
    prompts = np.zeros((len(systems.levels), len(shares)))
    np.add.at(prompts, (systems.code, segments.code), 1 / count)
    if (prompts == 0).any():
        system, place = (int(at[0]) for at in np.nonzero(prompts == 0))
        raise InputError(
            f"mix has a share of '{segments.levels[place]}', and '{systems.levels[system]}' has no answer "
            f"with it in '{segments.name}'; leave the system or the segment out with --exclude."
        )
    factor = shares * prompts.sum(axis=1, keepdims=True) / prompts
    return np.asarray(factor[systems.code, segments.code] / count)


def covariate_columns(
    table: pd.DataFrame, names: Sequence[str], roles: Sequence[str], source: str
) -> tuple[Floats | None, list[str]]:
    """Columns of numbers with mean 0 and standard deviation 1, (R, C), 0 where there is none; notes on it."""
    if not names:
        return None, []
    columns, notes = [], list[str]()
    for name in names:
        if name not in table:
            raise no_column(source, name, table)
        if name in roles:
            raise InputError(
                f"{source}: '{name}' is named as a covariate and for something else; name another column "
                "with --covariates."
            )
        values = pd.to_numeric(table[name].astype(object), errors="coerce").to_numpy(dtype=float)
        bad = ~np.isfinite(values) & table[name].notna().to_numpy(dtype=bool)
        if bad.any():
            row = int(bad.argmax())
            raise InputError(
                f"{source}: '{name}' in row {row_words(source, row)} is no number "
                f"({quoted(str(table[name].iloc[row]))}); "
                "give numbers, such as lengths of texts, or state it with --missing."
            )
        missing = np.isnan(values)
        spread = np.nanstd(values) if not missing.all() else 0.0
        if not spread > SAME:
            raise InputError(
                f"{source}: '{name}' has one value in all rows, so it moves no map; leave it out of "
                "--covariates."
            )
        if missing.any():
            notes.append(
                f"{counted(int(missing.sum()), 'answer')} without '{name}': they count with its mean."
            )
        columns.append(np.where(missing, 0.0, (values - np.nanmean(values)) / spread))
    return np.column_stack(columns), notes


def _answers_to_prompt(data: CodedRows) -> Floats:
    """How many answers a system has to the prompt of each row, (n,)."""
    cell = data.groups[0].code * (int(data.cluster.max()) + 1) + data.cluster
    _, place, size = np.unique(cell, return_inverse=True, return_counts=True)
    return np.asarray(size[place.reshape(-1)], dtype=float)


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
        # Where a judge scored no answer of a system, one number for all of them moves nothing.
        mean = values[scored if scored.any() else np.isfinite(values)].mean()
        filled[inside & ~np.isfinite(values)] = mean
    return filled
