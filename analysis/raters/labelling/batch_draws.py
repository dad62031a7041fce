"""Batches of units to label, drawn one after another with known probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conjury.inference.design.sampling import with_floor
from conjury.inference.errors import InputError
from conjury.inference.tables.columns import stream

from ...numerics.intervals.bounded import Flags
from ...numerics.types import Codes, Floats
from .label_population import LabelPopulation
from .label_predictions import LabelPrediction

BATCH = 20
FLOOR = 0.5  # share of the draws that is uniform, so that no row is drawn too rarely


@dataclass(frozen=True)
class UnitDraw:
    """One drawn unit, with what was known when it was drawn."""

    rows: tuple[int, ...]
    probability: float  # with which this draw took the unit
    # By quantity: sum of the predictions of rows that had no label; prediction of the unit; the least and the
    # greatest that the weighted error of the prediction could have been; its predicted standard deviation.
    predicted: Mapping[str, tuple[float, float, float, float, float]]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> UnitDraw:
        """The draw that a journal recorded."""
        predicted = {name: tuple(values) for name, values in record["predicted"].items()}
        return cls(tuple(record["rows"]), float(record["probability"]), predicted)


@dataclass(frozen=True)
class LabelBatch:
    """Units that are labelled before the next ones are drawn."""

    draws: tuple[UnitDraw, ...]
    order: tuple[int, ...]  # rows in the order in which they are shown, which says nothing of their draws


def draw_batch(
    population: LabelPopulation,
    labelled: Flags,
    prediction: LabelPrediction,
    size: int,
    number: int,
    seed: int,
) -> LabelBatch:
    """Draw units with about ``size`` rows without a label, (R,); fewer where no more are left."""
    if isinstance(size, bool) or size < 1:
        raise InputError(f"batch is {size}; give a number of rows above 0, such as {BATCH}.")
    rng = stream(seed, f"batch {number}")
    units = _UnitSums.of(population, prediction)
    labelled_units = units.labelled(labelled)
    draws, rows = list[UnitDraw](), 0
    while rows < size and not labelled_units.all():
        probability = units.probabilities(labelled_units)
        unit = int(rng.choice(len(labelled_units), p=probability))
        draw = units.draw_of(unit, labelled_units, probability)
        draws.append(draw)
        labelled_units[unit] = True
        rows += len(draw.rows)
    open_rows = [row for draw in draws for row in draw.rows if not labelled[row]]
    return LabelBatch(tuple(draws), tuple(rng.permutation(open_rows).tolist()))


def draw_shares(n: int, n_units: int) -> Floats:
    """Weights of n draws from N units in the mean of their estimates, (n,)."""
    # In inverse proportion to the variances that equal probabilities would give. They depend on no label, so
    # that the mean stays unbiased; with equal probabilities it is that of a simple random sample. Once all
    # units are drawn, the last draw is exact.
    if n >= n_units:
        return np.asarray(np.eye(n)[-1])
    n_remaining = n_units - np.arange(n, dtype=float)
    share = 1 / (n_remaining * (n_remaining - 1))
    return np.asarray(share / share.sum())


def label_weights(probabilities: Sequence[float], n_units: int) -> Floats:
    """How many units each drawn one stands for, after n draws: the inverse of its sampling probability."""
    # After each draw the total is estimated by the labels before it and the drawn one over its probability;
    # the mean of these estimates by `draw_shares` has these weights. With equal probabilities they are N / n.
    share = draw_shares(len(probabilities), n_units)
    later = 1 - np.cumsum(share)
    return np.asarray(np.maximum(share / np.asarray(probabilities, dtype=float) + later, 1.0))


@dataclass(frozen=True)
class _UnitSums:
    """Sums over the rows of U units, for each of C quantities."""

    rows: Sequence[Codes]
    names: tuple[str, ...]
    predicted: Floats  # (C, U)
    # low, high: (C, U): least and greatest error of the prediction
    low: Floats
    high: Floats
    variance: Floats  # (C, U)
    size: Floats  # (U,): in proportion to which units are best drawn
    share: Floats  # (U,): largest contribution of a unit to a quantity

    @classmethod
    def of(cls, population: LabelPopulation, prediction: LabelPrediction) -> _UnitSums:
        code = population.unit
        count = int(code.max()) + 1
        order = np.argsort(code, kind="stable")
        rows = np.split(order, np.cumsum(np.bincount(code, minlength=count))[:-1])

        def total(values: Floats) -> Floats:
            return np.stack([np.bincount(code, part, count) for part in np.atleast_2d(values)])

        contrasts = np.stack(list(population.contrasts.values()))
        has_label = np.isfinite(population.table_label)
        # A label that the table has is no matter of prediction.
        label = np.where(has_label, population.table_label, prediction.label)
        spread = np.where(has_label, 0.0, prediction.spread)
        ends = [
            np.where(has_label, 0.0, contrasts * (end - label))
            for end in (population.least, population.greatest)
        ]
        return cls(
            rows,
            tuple(population.contrasts),
            total(contrasts * label),
            total(np.minimum(*ends)),
            total(np.maximum(*ends)),
            total((contrasts * spread) ** 2),
            np.sqrt(total((population.share * spread) ** 2)[0]),
            total(population.share * ~has_label)[0],
        )  # fmt: skip

    def labelled(self, labelled: Flags) -> Flags:
        """Units all of whose rows have a label, (U,)."""
        return np.array([labelled[rows].all() for rows in self.rows], dtype=bool)

    def probabilities(self, labelled_units: Flags) -> Floats:
        """Probabilities of the next draw, (U,): by size, mixed with those by share."""
        size, share = self.size[~labelled_units], self.share[~labelled_units]
        probability = np.zeros(len(labelled_units))
        probability[~labelled_units] = (1 - FLOOR) * with_floor(size, 0.0) + FLOOR * share / share.sum()
        return np.asarray(probability / probability.sum())

    def draw_of(self, unit: int, labelled_units: Flags, probability: Floats) -> UnitDraw:
        """What is known of a draw before its label."""
        free = ~labelled_units
        chance = probability[free]
        values: dict[str, tuple[float, float, float, float, float]] = {}
        for place, name in enumerate(self.names):
            values[name] = (
                float(self.predicted[place][free].sum()),
                float(self.predicted[place][unit]),
                float((self.low[place][free] / chance).min()),
                float((self.high[place][free] / chance).max()),
                float(np.sqrt((self.variance[place][free] / chance).sum())),
            )
        return UnitDraw(tuple(self.rows[unit].tolist()), float(probability[unit]), values)
