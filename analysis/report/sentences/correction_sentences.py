"""Sentences on estimates among people that models make more precise, and on corrected rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...frames.rounding import percentage, rounded
from ...frames.sentences import EQUAL, out_of, sentence, ties, together
from ..method_sentences import plain
from ..table_format import IN_PERCENT, whole

FEW_ROWS = 3  # rows that are named where models do not help
NO_GAIN = 1.0


@dataclass(frozen=True)
class Gains:
    """What models add to estimates among people: medians over the estimates that have a gain."""

    who: str
    n: int
    median: float
    least: float
    most: float
    clusters: float  # people or labelled items
    effective: float
    ratio: float  # of lengths of intervals
    unit: str
    task: str = ""


def gains_of(gains: pd.DataFrame, lengths: np.ndarray, who: str, unit: str, task: str = "") -> Gains:
    """Median gain, and as many people as the models make of those there are."""
    values = gains["gain"].dropna().to_numpy(float)
    if not len(values):
        return Gains(who, 0, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, unit, task)
    count = float((gains["n_effective"] / gains["gain"]).median())
    middle = float(np.median(values))
    ratio = float(np.nanmedian(lengths)) if np.isfinite(lengths).any() else np.nan
    return Gains(
        who,
        len(values),
        middle,
        float(values.min()),
        float(values.max()),
        count,
        count * middle,
        ratio,
        unit,
        task,
    )


@sentence
def gains_in_words(values: Gains) -> str:
    """What the models add, in one sentence: the median gain and how much shorter intervals are."""
    if not values.n:
        return f"With {values.who} no estimate among people could be made more precise."
    singular = values.n == 1
    gain = "the gain is" if singular else f"the median gain of {values.n} estimates is"
    spread = "" if singular else f" (from {gain_text(values.least)} to {gain_text(values.most)})"
    of_task = f" ({values.task})" if values.task else ""
    clusters, effective = round(values.clusters), round(values.effective)
    precise = f"{whole(clusters)} {values.unit} are as precise as {whole(effective)}{of_task}"
    ratio = "" if np.isnan(values.ratio) else rounded(values.ratio, 2, 1.0)
    shorter = (
        f", and {'the interval is' if singular else 'intervals are'} {ratio} times as long" if ratio else ""
    )
    shorter += " (median)" if shorter and not singular else ""
    return f"With the answers of {values.who}, {precise}: {gain} {gain_text(values.median)}{spread}{shorter}."


def gain_text(value: float) -> str:
    """A gain that is not rounded to 1, where models neither help nor harm."""
    return "" if pd.isna(value) else rounded(value, 2, NO_GAIN)


@dataclass(frozen=True)
class UselessCorrections:
    """Estimates that models do not make more precise, the least gain first."""

    rows: tuple[str, ...]
    known: int


def find_useless_gains(gains: pd.DataFrame, rows: Sequence[str]) -> UselessCorrections:
    """Find gains of 1 or less; ``rows`` has a name for each gain."""
    estimated = gains.assign(_row=list(rows)).dropna(subset="gain")
    none = estimated[estimated["gain"] <= NO_GAIN].sort_values("gain", kind="stable")
    return UselessCorrections(tuple(none["_row"].astype(str)), len(estimated))


@sentence
def useless_in_words(values: UselessCorrections) -> str:
    """Name the estimates that models do not make more precise; empty where there are none."""
    n = len(values.rows)
    if not n:
        return ""
    named = [f"*{plain(row)}*" for row in values.rows[:FEW_ROWS]]
    return (
        f"In {out_of(n, values.known, 'row')} models do not help (gain of 1 or less): {'; '.join(named)}"
        f"{' and so on' if n > FEW_ROWS else ''}."
    )


@dataclass(frozen=True)
class MovedRates:
    """The rates that the correction moves furthest: one, or several that move alike."""

    names: tuple[str, ...]
    reported: float  # of the first
    corrected: float
    lower: float
    upper: float


def find_largest_shift(wide: pd.DataFrame, names: Sequence[str]) -> MovedRates | None:
    """Find the rate that moves furthest, in columns ``reported, corrected, lower, upper``."""
    distance = (wide["corrected"] - wide["reported"]).abs().to_numpy(float)
    if np.isnan(distance).all():
        return None
    equal = ties(distance, int(np.nanargmax(distance)))
    row = wide.iloc[equal[0]]
    reported, corrected, lower, upper = (
        float(row[name]) for name in ("reported", "corrected", "lower", "upper")
    )
    return MovedRates(tuple(str(names[k]) for k in equal), reported, corrected, lower, upper)


@sentence
def moved_in_words(values: MovedRates) -> str:
    """How far the correction moves the rate that the judge reports, where it moves most."""
    if abs(values.corrected - values.reported) <= EQUAL:
        return "The correction moves no rate."
    named = [f"*{plain(name)}*" for name in values.names]
    start, of = f"The correction moves the rate of {named[0]} most", ""
    if len(named) > 1:
        start, of = (
            f"The correction moves the rates of {together(named)} most, and equally",
            f"of {named[0]} ",
        )
    limits = IN_PERCENT.limits(values.lower, values.upper)
    estimate = f"{percentage(values.corrected, 1)} {limits}".rstrip()
    reported = percentage(values.reported, 1)
    return f"{start}: {of}the judge reports {reported}, and the Rogan-Gladen estimate is {estimate}."
