"""Sentences on published numbers: checked against each other, and compared with ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import counted

from ...frames.sentences import agreeing, out_of, sentence
from ..table_format import number, whole
from .diagnostic_sentences import VerdictCounts

CLOSE = 0.00051  # half a unit of the last published digit
LIKELY = 0.5  # chance to pass from which consistency says little
OTHERWISE = "another definition, rounding or sample size"
COUNTED = {
    "consistent": ("is consistent as published", "are consistent as published"),
    "conditional": (f"is consistent only under {OTHERWISE}", f"are consistent only under {OTHERWISE}"),
    "inconsistent": ("is inconsistent as published", "are inconsistent as published"),
    "untested": ("cannot be tested", "cannot be tested"),
}


@sentence
def consistent_in_words(values: VerdictCounts) -> str:
    """How many numbers have each verdict."""
    texts = [f"{whole(n)} {agreeing(n, *COUNTED[name])}" for name, n in values.counts if n]
    if not texts:
        return "There are no published numbers."
    joined = f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else texts[0]
    return f"Of {counted(sum(n for _, n in values.counts), 'published number')}, {joined}."


@sentence
def misfits_in_words(values: VerdictCounts) -> str:
    """How many numbers are inconsistent; empty where none is."""
    n = dict(values.counts).get("inconsistent", 0)
    if not n:
        return ""
    part = out_of(n, sum(count for _, count in values.counts), "number")
    describes = agreeing(n, "fits no data that it", "fit no data that they")
    rests = "No result of this report rests on the numbers of the paper."
    return f"{part} that the paper of this study prints {describes} could describe (@sec-published). {rests}"


@dataclass(frozen=True)
class Chances:
    """How likely random numbers were to pass, of the numbers that are consistent as published."""

    known: int
    median: float
    likely: int


def chances(numbers: pd.DataFrame) -> Chances:
    """Look at the chances of consistent numbers."""
    probabilities = numbers.loc[numbers["verdict"] == "consistent", "chance"].dropna()
    median = float(probabilities.median()) if len(probabilities) else np.nan
    return Chances(len(probabilities), median, int((probabilities > LIKELY).sum()))


@sentence
def chances_in_words(values: Chances) -> str:
    """How informative consistency is; empty where no chance is known."""
    if not values.known:
        return ""
    n, weak = values.known, ""
    if values.likely:
        above = "above one half" if n == 1 else f"and for {whole(values.likely)} it is above one half"
        weak = f", {above}, so {agreeing(values.likely, 'its', 'their')} consistency is uninformative"
    numbers = "the one number" if n == 1 else f"{whole(n)} of the numbers"
    middle = "it is" if n == 1 else "its median is"
    return (
        "Consistency is more informative the less likely random numbers with as many digits are to pass. For "
        f"{numbers} consistent as published this probability is known; {middle} "
        f"{number(values.median, 2)}{weak}."
    )


@dataclass(frozen=True)
class PublishedDistance:
    """How far published numbers are from ours, among those with both."""

    n: int
    largest: float
    median: float
    exact: int  # that agree to the last published digit


def difference_sizes(difference: pd.Series[float]) -> PublishedDistance:
    """Sizes of the differences that are known."""
    size = difference.abs().dropna().to_numpy(float)
    if not len(size):
        return PublishedDistance(0, np.nan, np.nan, 0)
    return PublishedDistance(len(size), float(size.max()), float(np.median(size)), int((size < CLOSE).sum()))


@sentence
def apart_in_words(values: PublishedDistance) -> str:
    """How many published numbers can be compared, and how far they are apart."""
    if not values.n:
        return "No published number can be compared with ours."
    if values.n == 1:
        return f"1 published number can be compared with ours; the difference is {number(values.largest)}."
    return (
        f"{whole(values.n)} published numbers can be compared with ours; the largest difference is "
        f"{number(values.largest)}, the median {number(values.median)}."
    )


@sentence
def exact_in_words(values: PublishedDistance) -> str:
    """How many published numbers agree with ours to the last digit."""
    if not values.n:
        return "No published number can be compared with ours."
    total = counted(values.n, "published number")
    if values.exact == values.n:
        every = "it agrees" if values.n == 1 else "all agree"
        return f"{total} can be compared with ours, and {every} to the last published digit."
    return (
        f"{total} can be compared with ours; {whole(values.exact)} "
        f"{agreeing(values.exact, 'agrees', 'agree')} "
        f"to the last published digit, and the largest difference is {number(values.largest, 4)}."
    )


@dataclass(frozen=True)
class Rerun:
    """Numbers that the published rules give, compared with those that were published."""

    exact: int
    n: int


@sentence
def rerun_in_words(values: Rerun) -> str:
    """Whether the published rules, applied to the same completions, give the published numbers."""
    start = "These rules, applied to the same completions, give"
    if not values.n:
        return "No published number can be compared."
    if values.exact == values.n:
        return f"{start} the published numbers."
    return f"{start} {out_of(values.exact, values.n, 'published number')} to the last digit."
