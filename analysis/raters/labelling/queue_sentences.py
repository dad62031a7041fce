"""What labels say so far, and what may be claimed of it, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import counted

from ...figures.labels import true_minus
from ...frames.sequences import DIFFERENCE, systems_of
from .label_journal import GivenLabel
from .label_population import LabelPopulation


def sentences_of(
    population: LabelPopulation, frame: pd.DataFrame, alpha: float, stop: str | None
) -> list[str]:
    """The main quantity after the last batch, the other ones, and why labelling has stopped."""
    if frame.empty:
        return ["No batch is complete, so there is no estimate."]
    last = frame[frame["batch"] == frame["batch"].max()].set_index("quantity")
    row = last.loc[population.main]
    lines = [
        f"{_what(population, population.main)} is {_value(population, row)} after "
        f"{counted(int(row['n_labels']), 'label')} ({100 * (1 - alpha):g}% interval, valid at every batch; "
        f"half width {_number(population, row['half_width'])})."
    ]
    parts = [
        f"{_what(population, name)} is {_value(population, last.loc[name])}"
        for name in last.index
        if name != population.main
    ]
    if parts:
        lines.append(f"{'; '.join(parts)}.")
    if stop is not None:
        lines.append(f"Labelling stops: {stop}.")
    return lines


def claim_of(population: LabelPopulation, labels: Mapping[int, GivenLabel]) -> str:
    """What may be claimed, and what may not."""
    text = (
        f"The intervals are about what people would say of the {len(population.unit):,} rows of the table, "
        "and hold however often they were looked at."
    )
    if len(population.contrasts) > 1:
        text += f" Each of the {len(population.contrasts)} holds by itself, and all together less often."
    n_earlier = int(np.isfinite(population.table_label).sum())
    if n_earlier and not population.is_sampled:
        text += (
            f" {counted(n_earlier, 'label')} {'was' if n_earlier == 1 else 'were'} hand-picked: they count "
            "for their own rows alone, and say nothing of how often the judge agrees with people."
        )
    elif n_earlier:
        text += f" {counted(n_earlier, 'label')} of an earlier sample count for their own rows alone."
    n_open = sum(answer.label is None for answer in labels.values())
    if n_open:
        text += f" {counted(n_open, 'row')} that nobody could label count with the worst that they may be."
    return text


def measure_of(population: LabelPopulation) -> str:
    """What is estimated of rows."""
    return "mean rating" if population.positive is None else f"share of '{population.positive}'"


def _what(population: LabelPopulation, name: str) -> str:
    measure, systems = measure_of(population), systems_of(name, population.rows.systems)
    if name.startswith(DIFFERENCE):
        return f"The difference {systems} in the {measure}"
    return f"The {measure} of {systems}" if systems else f"The {measure}"


def _value(population: LabelPopulation, row: pd.Series[Any]) -> str:
    sign = "+" if str(row.name).startswith(DIFFERENCE) else ""
    low, high = (_number(population, row[name]) for name in ("lower", "upper"))
    return f"{_number(population, row['estimate'], sign)} ({low} to {high})"


def _number(population: LabelPopulation, value: float, sign: str = "") -> str:
    digits = 3 if population.greatest - population.least <= 1 else 2
    return true_minus(f"{value:{sign}.{digits}f}")
