"""Answers that belong to another item than the one they are stored with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binom

from conjury.inference.study.models import ItemStudy

from ...frames.notes import Note
from ...frames.rounding import percentage
from ..judged import NotApplicableError
from ..labelled import answers_of, labelled, mean_of_others, numeric
from ..registry import Check, Question, adjusted, check, highest, lowest, show_p, who

SHIFTED_ANSWERS = Question(
    code="CJ307",
    name="shifted_answers",
    title="Answers shifted against their items",
    text="Do answers agree better with the previous or next item than with their own?",
    consequence="Every score and every correlation compares answers with the wrong items.",
    remedy="Join the answers to the items by an id rather than by order, or shift them by the lag in the "
    "table; check for an empty first answer and for lost lines.",
    alarms="test",
)
LAGS = tuple(lag for lag in range(-5, 6) if lag)
FEWEST = 20  # items without which a shift cannot be seen


@dataclass(frozen=True)
class Lag:
    """Agreement at one lag, compared with that at lag 0 on the same answers."""

    lag: int
    share: float  # of answers that agree at this lag
    own: float  # of the same answers at lag 0
    n: int
    p: float  # one-sided exact sign test of the answers that agree at one of the two


@check(SHIFTED_ANSWERS)
def shifted_answers(
    judgments: pd.DataFrame,
    alpha: float,
    labels: pd.DataFrame | None = None,
    item_study: ItemStudy | None = None,
) -> Check:
    """Compare agreement at lags -5 to 5 with that at lag 0, for every judge, prompt and task."""
    groups = list(
        _by_gold(labelled(judgments, labels, item_study)) if labels is not None else _by_others(judgments)
    )
    rows = [
        {"judge": judge, "prompt": prompt, "panel": task, "label": f"lag {lag.lag:+d}", **vars(lag)}
        for (judge, prompt, task), better in groups
        for lag in compare_lags(better)
    ]
    if not rows:
        raise NotApplicableError(
            Note.of(
                "No judge answered {fewest} items of one task that others, or gold labels, cover.",
                fewest=FEWEST,
            )
        )
    table = pd.DataFrame(rows).rename(columns={"share": "estimate"})
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    worst = lowest(table, table["p"])
    p = float(table["p_adjusted"].min())
    shifted = table[table["p_adjusted"] < alpha]
    best = highest(shifted, shifted["estimate"]) if len(shifted) else worst
    finding = Note.of(
        "{shifted} of {n_series} series of answers agree better at another lag. At {lag}, {share} of {n} "
        "answers of {who} agree ({dimension}), at lag 0 {share_at_0} (smallest adjusted {p}).",
        shifted=shifted[["judge", "prompt", "panel"]].drop_duplicates().shape[0],
        n_series=len(groups),
        lag=best["label"],
        who=who(best),
        share=percentage(best["estimate"], 1),
        n=int(best["n"]),
        dimension=best["panel"],
        share_at_0=percentage(best["own"], 1),
        p=show_p(p),
    )
    return SHIFTED_ANSWERS.answer(table, "error" if len(shifted) else "pass", finding, p=p)


def compare_lags(better: np.ndarray) -> list[Lag]:
    """Compare every lag with lag 0."""
    # `better` has shape (11, n): whether answer i agrees with the reference of item i + lag, lags -5 to 5;
    # NaN where there is no such item or no reference.
    lags = []
    centre = better[len(LAGS) // 2]
    for lag in LAGS:
        row = better[lag + len(LAGS) // 2]
        mask = ~np.isnan(row) & ~np.isnan(centre)
        n = int(mask.sum())
        if n < FEWEST:
            continue
        n_gained = int(((row > centre) & mask).sum())
        n_lost = int(((row < centre) & mask).sum())
        p = float(binom.sf(n_gained - 1, n_gained + n_lost, 0.5)) if n_gained + n_lost else 1.0
        lags.append(Lag(lag, float(row[mask].mean()), float(centre[mask].mean()), n, p))
    return lags


def at_lags(reference: np.ndarray) -> np.ndarray:
    """The reference of item i + lag in row lag, shape (11, n); missing beyond the ends."""
    n = len(reference)
    missing = np.full(5, np.nan)
    padded = np.concatenate([missing, reference, missing])
    return np.stack([padded[5 + lag : 5 + lag + n] for lag in range(-5, 6)])


Group = tuple[tuple[str, str, str], np.ndarray]


def _first_samples(answers: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Answers of the first sample to unperturbed items in the order of asking, by judge, prompt and task."""
    subset = answers[answers["condition"].eq("none") & ~answers["task"].str.fullmatch(r"line_\d+")]
    for (judge, prompt, task), rows in subset.groupby(["judge", "prompt", "task"], sort=False):
        first = rows[rows["sample"] == rows["sample"].min()].sort_values("place", kind="stable")
        yield (str(judge), str(prompt), str(task)), first.drop_duplicates("item_id")


def _by_gold(answers: pd.DataFrame) -> Iterator[Group]:
    for key, rows in _first_samples(answers):
        codes, _ = pd.factorize(pd.concat([rows["gold"], rows["value"]]))  # missing ones are -1
        coded = np.where(codes < 0, np.nan, codes.astype(float))
        gold, value = at_lags(coded[: len(rows)]), coded[len(rows) :]
        mask = ~np.isnan(gold) & ~np.isnan(value)
        if len(rows) >= FEWEST:
            yield key, np.where(mask, (gold == value).astype(float), np.nan)


def _by_others(judgments: pd.DataFrame) -> Iterator[Group]:
    """Closeness to the mean of the other judges, by which lag 0 and another are compared answer by answer."""
    answers = numeric(answers_of(judgments))
    answers = answers.assign(others=mean_of_others(answers))
    for key, rows in _first_samples(answers):
        if rows["others"].notna().sum() < FEWEST or rows["number"].nunique() < 2:
            continue
        distance = np.abs(at_lags(rows["others"].to_numpy(dtype=float)) - rows["number"].to_numpy())
        # Closeness itself would be no share: an answer agrees where it is within half a standard deviation.
        yield key, np.where(np.isnan(distance), np.nan, distance <= 0.5 * rows["number"].std()).astype(float)
