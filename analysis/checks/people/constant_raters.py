"""People who give one answer throughout, one answer on all dimensions, or answers in a pattern."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import gammaln

from conjury.inference.errors import counted

from ...frames.notes import Note
from ...frames.rounding import percentage
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, adjusted, check, show_p
from .answers_by_task import answers_of_people, tail_beyond_others

CONSTANT_RATERS = Question(
    code="CJ205",
    name="constant_raters",
    title="Constant answers and patterns",
    text="Do some people give the same answer throughout, the same answer on all dimensions, or answers in a "
    "pattern?",
    consequence="Answers that do not depend on the item lower the reliability of people's means and labels, "
    "and attenuate the agreement of models with people.",
    remedy="Report results with and without these people; choose the main analysis by a plan made "
    "beforehand. Examine the order and the times of their answers.",
    alarms="test",
)
FEWEST = 10  # answers of a person that are tested
FEWEST_DIMENSIONS = 3
SHORTEST = 8  # answers of a stretch that are tested
PERIODS = (1, 2, 3)  # the same answer, two in turn, three in turn
UNREMARKABLE = 0.2  # expected number of such stretches, above which the p value is taken as 1
MANY_VALUES = 12  # with more values the pattern of a longer period is not tested
SERIOUS = 0.05  # share of people's answers by those who stand out, from which conclusions can change


@check(CONSTANT_RATERS)
def constant_raters(judgments: pd.DataFrame, alpha: float) -> Check:
    """Test each person's answers against the others' and against their own in another order."""
    answers = answers_of_people(judgments)
    rows = [*_constant_answers(answers), *_constant_items(answers), *_patterns(answers)]
    if not rows:
        raise NotApplicableError(Note.of("No person gave at least {fewest} answers.", fewest=FEWEST))
    table = pd.DataFrame(rows)
    table["p_adjusted"] = adjusted(table["p"].to_numpy(dtype=float))
    table = table.assign(judge=table["person"], prompt="", label=table["person"], panel=table["what"])
    columns = [
        "judge",
        "prompt",
        "what",
        "dimension",
        "n",
        "x",
        "p",
        "p_adjusted",
        "label",
        "panel",
        "estimate",
    ]
    table = table[columns].sort_values("p", kind="stable", ignore_index=True)
    p, n_people = float(table["p_adjusted"].min()), table["judge"].nunique()
    people = counted(n_people, "person", "people")
    if n_people < answers["judge"].nunique():
        people += " with enough answers"
    flagged = table[table["p_adjusted"] < alpha]
    if flagged.empty:
        finding = Note.of(
            "None of {people} answers in a constant way or in a pattern more than expected from "
            "the others' answers and a random order (smallest adjusted {p}).",
            people=people,
            p=show_p(p),
        )
        return CONSTANT_RATERS.answer(table, "pass", finding, p=p)
    who = flagged["judge"].unique()
    share = float(answers["judge"].isin(who).mean())
    first = flagged.iloc[0]
    finding = Note.of(
        "{n:,} of {people}, who gave {share} of all answers, {verb} in a constant way or in "
        "a pattern. The clearest is {judge}: {reason} (adjusted {p}).",
        n=len(who),
        people=people,
        share=percentage(share, 1),
        verb="answers" if len(who) == 1 else "answer",
        judge=first["judge"],
        reason=_describe_rater(first),
        p=show_p(float(first["p_adjusted"])),
    )
    evidence = flagged.rename(columns={"judge": "judge_id"})[
        ["judge_id", "what", "dimension", "n", "x", "p_adjusted"]
    ]
    verdict: Verdict = "error" if share > SERIOUS else "warning"
    return CONSTANT_RATERS.answer(table, verdict, finding, p=p, rows=evidence.reset_index(drop=True))


def _describe_rater(row: pd.Series) -> str:
    x, n = int(row["x"]), int(row["n"])
    if row["what"] == "all answers":
        return Note.of("all {n:,} answers on {dimension} are the same", n=n, dimension=row["dimension"])
    if row["what"] == "all dimensions":
        return Note.of("the same value on all dimensions in {n:,} of {items}", n=x, items=counted(n, "item"))
    return Note.of(
        "{length:,} successive answers of {n:,} on {dimension} repeat with a period of 1 to 3",
        length=x,
        n=n,
        dimension=row["dimension"],
    )


def _row(person: str, what: str, dimension: str, n: int, x: int, p: float) -> dict[str, object]:
    return {"person": person, "what": what, "dimension": dimension, "n": n, "x": x, "p": p, "estimate": x / n}


def _constant_answers(answers: pd.DataFrame) -> Iterator[dict[str, object]]:
    """People whose answers on a dimension are all the same, given how often the others give that answer."""
    for dimension, mine in answers.groupby("dimension", sort=False):
        counts = mine.groupby(["judge", "value"]).size().unstack(fill_value=0)
        by_item = mine.groupby(["item", "value"]).size().unstack(fill_value=0)
        totals, item_totals = counts.sum(axis=1), by_item.sum(axis=1)
        for person in counts.index[(totals >= FEWEST).to_numpy()]:
            n = int(totals[person])
            value = counts.loc[person].idxmax()
            x = int(counts.loc[person, value])
            p = 1.0
            if x == n and len(counts) > 2:
                item_counts = mine.loc[mine["judge"] == person, "item"].value_counts()
                other_totals = item_totals[item_counts.index] - item_counts
                other_hits = by_item.loc[item_counts.index, value] - item_counts
                other_counts = counts.drop(index=person)
                other_sizes = other_counts.sum(axis=1).to_numpy(dtype=float)
                share = (
                    float(other_hits.sum() / other_totals.sum())
                    if other_totals.sum()
                    else float(other_counts[value].sum() / other_sizes.sum())
                )
                p = tail_beyond_others(n, n, other_counts[value].to_numpy(dtype=float), other_sizes, share)
            yield _row(str(person), "all answers", str(dimension), n, x, p)


def _constant_items(answers: pd.DataFrame) -> Iterator[dict[str, object]]:
    """People who give one value on all dimensions of an item more often than the others do."""
    items = answers.groupby(["judge", "item", "sample"], sort=False)["value"].agg(["nunique", "size"])
    items = items[items["size"] >= FEWEST_DIMENSIONS].reset_index()
    if items.empty:
        return
    items["same"] = items["nunique"] == 1
    counts = items.groupby("judge", sort=False)["same"].agg(["sum", "size"])
    by_item = items.groupby("item")["same"].agg(["sum", "size"])
    for person in counts.index[(counts["size"] >= FEWEST).to_numpy()]:
        x, n = (int(value) for value in counts.loc[person])
        item_counts = items[items["judge"] == person].groupby("item")["same"].agg(["sum", "size"])
        other_totals = by_item.loc[item_counts.index] - item_counts
        other_counts = counts.drop(index=person)
        pooled = other_totals if other_totals["size"].sum() else other_counts
        share = float(pooled["sum"].sum() / max(pooled["size"].sum(), 1))
        xs, ns = other_counts["sum"].to_numpy(dtype=float), other_counts["size"].to_numpy(dtype=float)
        yield _row(str(person), "all dimensions", "", n, x, tail_beyond_others(x, n, xs, ns, share))


def _patterns(answers: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Longest stretches of successive answers that are constant or repeat with a short period."""
    for dimension, mine in answers.groupby("dimension", sort=False):
        values, _ = pd.factorize(mine["value"])
        usual = _modal_answers(mine.assign(code=values))
        for person, places in mine.reset_index(drop=True).groupby("judge", sort=False).indices.items():
            if len(places) >= FEWEST:
                length, p = pattern_p(values[places], usual[places])
                yield _row(str(person), "pattern", str(dimension), len(places), length, p)


def _modal_answers(mine: pd.DataFrame) -> np.ndarray:
    """The other people's most frequent answer to each row's item, shape (rows,), -1 where there is none."""
    counts = mine.groupby(["item", "code"]).size().unstack(fill_value=0)
    other_counts = counts.loc[mine["item"]].to_numpy().astype(float)
    other_counts[np.arange(len(mine)), pd.Index(counts.columns).get_indexer(pd.Index(mine["code"]))] -= 1
    return np.where(other_counts.max(axis=1) > 0, other_counts.argmax(axis=1), -1)


def pattern_p(values: np.ndarray, usual: np.ndarray) -> tuple[int, float]:
    """Length of the longest stretch that repeats with a period of 1 to 3, and a bound of its p value."""
    # Under the null, answers come in random order among items with the same usual answer. The bound sums the
    # exact probabilities of all stretches of this length (Boole), adjusted over periods by Bonferroni.
    best = (0, 1.0)
    for period in PERIODS:
        length = longest_stretch(values, period)
        if length < max(SHORTEST, 3 * period) or (period > 1 and len(np.unique(values)) > MANY_VALUES):
            length, p = min(length, len(values)), 1.0
        elif expected_stretches(values, length, period) > UNREMARKABLE:
            p = 1.0
        else:
            p = min(1.0, len(PERIODS) * stretch_bound(values, usual, length, period))
        if p < best[1] or period == 1:
            best = (length, p)
    return best


def expected_stretches(values: np.ndarray, length: int, period: int) -> float:
    """How many stretches of a length would repeat with a period if answers, shape (n,), were independent."""
    shares = np.unique(values, return_counts=True)[1] / len(values)
    per_place = [float((shares ** len(range(place, length, period))).sum()) for place in range(period)]
    return (len(values) - length + 1) * float(np.prod(per_place))


def longest_stretch(values: np.ndarray, period: int) -> int:
    """Length of the longest stretch of values, shape (n,), that repeats with a period and no shorter one."""
    same = values[period:] == values[:-period]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], same.astype(int), [0]])))
    runs = zip(edges[::2], edges[1::2], strict=True)
    lengths = [
        int(end - start) + period
        for start, end in runs
        if period == 1 or len(set(values[start : start + period])) > 1
    ]
    return max(lengths, default=min(len(values), 1))


def stretch_bound(values: np.ndarray, usual: np.ndarray, length: int, period: int) -> float:
    """Sum over stretches of a length of the probability that each repeats with the period."""
    # Within the n_s items of stratum s, of which n_sv have value v, m given places all have v with
    # probability n_sv (n_sv - 1) ... / n_s (n_s - 1) ..., with m factors above and below.
    _, v = np.unique(values, return_inverse=True)
    _, s = np.unique(usual, return_inverse=True)
    have = np.zeros((s.max() + 1, v.max() + 1), dtype=int)
    np.add.at(have, (s, v), 1)
    size = have.sum(axis=1)
    kinds, times = np.unique(_items_at_places(s, length, period), axis=0, return_counts=True)
    log_factorial = gammaln(np.arange(len(values) + 2) + 1.0)

    def log_falling(n: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Logarithm of n (n - 1) ... with m factors, over strata, shape (kinds,); of more than n, -inf."""
        logs = log_factorial[n] - log_factorial[np.maximum(n - m, 0)]
        summed: np.ndarray = np.where(m > n, -np.inf, logs).sum(axis=1)
        return summed

    bottom = log_falling(size, kinds.sum(axis=1))
    total = 0.0
    for choice in product(range(have.shape[1]), repeat=period):
        if period > 1 and len(set(choice)) == 1:
            continue
        top = np.zeros(len(kinds))
        for value in set(choice):
            top += log_falling(have[:, value], kinds[:, np.equal(choice, value)].sum(axis=1))
        total += float((times * np.exp(top - bottom)).sum())
    return min(total, 1.0)


def _items_at_places(strata: np.ndarray, length: int, period: int) -> np.ndarray:
    """Items by stratum at each place of the period, of all stretches; shape (stretches, period, strata)."""
    of_stratum = np.eye(strata.max() + 1, dtype=int)[strata]
    up_to = np.zeros((len(strata) + period, of_stratum.shape[1]), dtype=int)  # counts in steps of the period
    for start in range(period):
        up_to[period + start :: period] = of_stratum[start::period].cumsum(axis=0)
    starts = np.arange(len(strata) - length + 1)
    places = [
        up_to[starts + place + period * len(range(place, length, period))] - up_to[starts + place]
        for place in range(period)
    ]
    return np.stack(places, axis=1)
