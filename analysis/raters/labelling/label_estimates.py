"""Levels and differences after each batch of labels, with limits that hold at all batches together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...numerics.intervals.betting_limits import DrawnValues, lower_limits
from ...numerics.intervals.bounded import Flags
from ...numerics.types import Floats
from .batch_draws import LabelBatch, UnitDraw, draw_shares
from .label_population import LabelPopulation

COLUMNS = ("batch", "n_labels", "quantity", "estimate", "lower", "upper", "half_width")
SMALLEST = 1e-9  # of the range: the least standard deviation by which draws are weighted


@dataclass(frozen=True)
class BoundedLabels:
    """Labels as numbers, each (R,): the least and the greatest that they may be; NaN where there is none."""

    # They differ for rows that nobody could label.
    least: Floats
    greatest: Floats

    @property
    def labelled(self) -> Flags:
        """Rows with a label, or that cannot have one."""
        return np.isfinite(self.least)

    @property
    def middle(self) -> Floats:
        """The labels, and the middle of the range where nobody could say."""
        return (self.least + self.greatest) / 2


def label_estimates(
    population: LabelPopulation,
    labels: BoundedLabels,
    batches: Sequence[LabelBatch],
    alpha: float,
    earlier: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """One row per batch whose rows all have labels, and quantity; those of ``earlier`` batches are kept."""
    done = 0 if earlier is None or earlier.empty else int(earlier["batch"].max())
    draws = [draw for batch in batches for draw in batch.draws]
    looks = np.cumsum([len(batch.draws) for batch in batches]).astype(int)[done:]
    counts = np.cumsum([len(batch.order) for batch in batches]).astype(int)[done:]
    tables = [] if earlier is None else [earlier]
    for name in population.contrasts if len(looks) else ():
        limits = _limits(population, labels, draws, looks, name, alpha)
        if done:
            last = earlier[earlier["quantity"] == name].iloc[-1]  # type: ignore[index]
            limits = limits.within(float(last["lower"]), float(last["upper"]))
        columns = {"batch": np.arange(done + 1, done + len(looks) + 1), "n_labels": counts, "quantity": name}
        tables.append(pd.DataFrame(columns | limits.columns()))
    if not tables:
        return pd.DataFrame(columns=list(COLUMNS))
    return pd.concat(tables).sort_values("batch", kind="stable").reset_index(drop=True)


@dataclass(frozen=True)
class LookLimits:
    """Estimates with limits at each look, (looks,)."""

    estimate: Floats
    lower: Floats
    upper: Floats

    def within(self, lower: float, upper: float) -> LookLimits:
        """The same where earlier limits count, too: all hold together."""
        lowers = np.maximum.accumulate(np.maximum(self.lower, lower))
        uppers = np.minimum.accumulate(np.minimum(self.upper, upper))
        middle = (lowers + uppers) / 2
        crossed = lowers > uppers  # of which the probability is at most alpha
        return LookLimits(self.estimate, np.where(crossed, middle, lowers), np.where(crossed, middle, uppers))

    def columns(self) -> dict[str, Floats]:
        """Columns of a table."""
        estimate = np.clip(self.estimate, self.lower, self.upper)
        half = (self.upper - self.lower) / 2
        return {"estimate": estimate, "lower": self.lower, "upper": self.upper, "half_width": half}


def _limits(
    population: LabelPopulation,
    labels: BoundedLabels,
    draws: Sequence[UnitDraw],
    looks: np.ndarray,
    name: str,
    alpha: float,
) -> LookLimits:
    """Estimates and limits of one quantity at each look."""
    contrast = population.contrasts[name]
    # Where a label may be more than one number, the limits are those of the worst population.
    least = np.where(contrast >= 0, labels.least, labels.greatest)
    greatest = np.where(contrast >= 0, labels.greatest, labels.least)
    values = [drawn_values(population, label, draws, name) for label in (least, labels.middle, greatest)]
    worst = [_worst(population, label, draws, looks, contrast) for label in (least, greatest)]
    lower = np.maximum(lower_limits(values[0], looks.tolist(), alpha / 2), worst[0][0])
    upper = np.minimum(-lower_limits(values[2].mirrored, looks.tolist(), alpha / 2), worst[1][1])
    n_units = len(np.unique(population.unit[~np.isfinite(population.table_label)]))
    estimate = np.array([draw_shares(count, n_units) @ values[1].value[:count] for count in looks])
    return LookLimits(estimate, lower, upper).within(-np.inf, np.inf)


def drawn_values(
    population: LabelPopulation, label: Floats, draws: Sequence[UnitDraw], name: str
) -> DrawnValues:
    """What each draw says of a quantity: all labels before it, predictions of the others, and its error."""
    contrast, span = population.contrasts[name], population.greatest - population.least
    contribution = contrast * np.where(np.isfinite(label), label, 0.0)
    total = _known_before(population, contribution)
    columns = np.empty((4, len(draws)))
    for place, draw in enumerate(draws):
        predicted, of_unit, low, high, spread = draw.predicted[name]
        of_labels = float(contribution[list(draw.rows)].sum())
        base = total + predicted
        value = base + (of_labels - of_unit) / draw.probability
        # A draw that no other could have been is exact.
        columns[:, place] = (
            value,
            min(base + low, value),
            max(base + high, value),
            max(spread, SMALLEST * span),
        )
        total += of_labels
    return DrawnValues(*columns)


def _known_before(population: LabelPopulation, contribution: Floats) -> float:
    """What units contribute all of whose rows had a label in the table."""
    is_open = np.zeros(int(population.unit.max()) + 1, dtype=bool)
    is_open[population.unit[~np.isfinite(population.table_label)]] = True
    return float(contribution[~is_open[population.unit]].sum())


def _worst(
    population: LabelPopulation,
    label: Floats,
    draws: Sequence[UnitDraw],
    looks: np.ndarray,
    contrast: Floats,
) -> tuple[Floats, Floats]:
    """The least and the greatest that a quantity can be, whatever rows without a label are, (looks,)."""
    low = np.minimum(contrast * population.least, contrast * population.greatest)
    high = np.maximum(contrast * population.least, contrast * population.greatest)
    is_known = np.isfinite(population.table_label)
    sums = []
    for count, start in zip(looks, [0, *looks[:-1]], strict=True):
        is_known[[row for draw in draws[start:count] for row in draw.rows]] = True
        total = float((contrast * label)[is_known].sum())
        sums.append((total + low[~is_known].sum(), total + high[~is_known].sum()))
    return np.array([part[0] for part in sums]), np.array([part[1] for part in sums])
