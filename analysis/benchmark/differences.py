"""Paired differences between judges, prompts or conditions: bootstrap, McNemar's tests, mixed logit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed, unknown_name
from conjury.inference.tables.frames import any_frame

from ..frames.notes import Note, excluding
from ..frames.passport import coverage_notes, quantities_of_metrics
from ..numerics.bootstrap import few_clusters, unequal_clusters
from ..numerics.intervals import inference
from ..numerics.metrics.label_metrics import metric_values
from ..numerics.metrics.margins import Margins, cluster_margins
from ..numerics.significance import (
    Discordance,
    bonett_price,
    check_adjust,
    clustered_p,
    discordance,
    exact_p,
    insert_adjusted_p_values,
    mid_p,
)
from ..numerics.types import Floats
from ..results import AnalysisStep, Result, analysis
from .answer_odds import pair_of
from .data.pairing import ACCURACY, JUDGE, LOG_ODDS, MatchedAnswers, comparable, matched_pairs
from .data.scoring import Scored
from .intervals import (
    BOOTSTRAP,
    IntervalPlan,
    Multiplicity,
    StatisticInterval,
    bounds_of,
    describe_draws,
)
from .parse_status import WRONG, check_policies

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers

EXACT, MID_P, CLUSTERED = "mcnemar exact", "mcnemar mid-p", "mcnemar clustered"
MIXED = "mixed logit"
MISSING_RATE = "missing_rate"
BY_UNIT = (
    "Conditions are compared unit by unit: if a unit has several answers under a condition, each has "
    "the weight 1 / number of answers. The pairs are units."
)
TESTS = (BOOTSTRAP, EXACT, MID_P, CLUSTERED, MIXED)
_COUNTED = {
    "n_left_only": "answers of {left} have no counterpart and are excluded",
    "n_right_only": "answers of {right} have no counterpart and are excluded",
    "n_missing": "pairs are excluded because an answer is missing",
}


@any_frame
def differences(
    scored: Scored,
    *,
    between: str = JUDGE,
    against: str | None = None,
    by: Sequence[str] = (),
    metrics: Sequence[str] = (ACCURACY, "macro_f1"),
    tests: Sequence[str] = (BOOTSTRAP, MID_P),
    missing: str = WRONG,
    adjust: Multiplicity = "holm",
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
) -> Result:
    """Compare judges, or what they were shown, on the same units.

    Parameters
    ----------
    scored : Scored
        Answers and gold labels, from `score`.
    between : str
        What is compared: "judge", "prompt", "condition" (copies of an item are that item) or another column
        that differs between answers to one unit. Answers pair by unit and sample; those of conditions by
        unit, each side with the mean of its samples (see `robustness`), and ``n_pairs`` are units.
    against : str, optional
        Compare all with this one; by default, every two.
    by : sequence of str
        Columns to compare within, such as language.
    metrics : sequence of str
        See `scores`.
    tests : sequence of str
        "bootstrap" (of clusters, both sides drawn together; for every metric; its p is that of the estimate
        over its bootstrap error, by Student's t, and no smaller than twice the share of draws at or beyond
        zero); of accuracy "mcnemar exact" and "mcnemar mid-p" (pairs as
        independent) and "mcnemar clustered"; "mixed logit" (log-odds with a random intercept an item and
        robust errors, see `mixed_logit`). McNemar's exact and mid-p take the first sample of a unit that both
        sides have; between conditions with several samples McNemar's tests are excluded.
    missing : "wrong", "missing" or "study"
        What missing answers count as; "missing" leaves out pairs that lack either.
    adjust : "holm", "bh" or "none"
        Over all p values of one test and metric.
    draws, seed, alpha, cluster
        As in `scores`; ``cluster`` is a column of the left side.

    Returns
    -------
    Result
        Kind "differences": ``judge, prompt, task, [by]`` without what is compared, ``left, right, metric,
        test, estimate`` (left minus right), ``std_error, lower, upper, p, p_adjusted, n_pairs, n_units,
        n_items, n_clusters, n_left_only, n_right_only`` (answers without a partner), ``n_missing,
        only_left, only_right`` (pairs in which only that side is right, or is so more often). Intervals
        beside McNemar's exact and mid-p tests are Bonett and Price's. Where a metric is always 0, or always
        1, on both sides, as of judges who never answer, there is no p, and none to adjust for.

    Raises
    ------
    InputError
        For columns, metrics or tests that there are not, or where no two sides share a unit.

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": ["a"] * 3 + ["b"] * 3, "judge_kind": "model",
    ...     "item_id": ["j1", "j2", "j3"] * 2, "dimension": "harm",
    ...     "value": ["yes", "no", "no", "yes", "yes", "no"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2", "j3"], "label_set": "harm",
    ...     "label": ["yes", "no", "no"]})
    >>> found = differences(score(judged, gold), metrics=["accuracy"], tests=["mcnemar exact"], draws=0)
    >>> found.frame[["left", "right", "estimate", "p"]].round(3).values.tolist()
    [['a', 'b', 0.333, 1.0]]
    """
    plan = IntervalPlan(draws, seed, alpha, cluster)
    policy = check_one(missing, metrics)
    check_tests(tests, adjust)
    strata = [name for name in by if name != between]
    prepared, left_out = comparable(scored, between, strata)
    rows: list[dict[str, Any]] = []
    empty_pairs: list[Note] = []
    notes: list[str] = []
    for pair in matched_pairs(prepared, between, strata, against, policy):
        if not pair.counts["n_pairs"]:
            empty_pairs.append(_name_pair(pair.left, pair.right))
            continue
        rows += rows_of(pair, metrics, tests, plan, notes)
        unequal = unequal_clusters(pair.clusters(plan.cluster)[0])
        notes += [Note.of("{pair}: {note}", pair=_name_pair(pair.left, pair.right), note=n) for n in unequal]
        notes += coverage_of(pair, metrics, plan, "difference of ") if BOOTSTRAP in tests else []
        notes += [] if pair.single else [BY_UNIT]
    if not rows and notes:
        raise InputError(
            "scored judgments: McNemar's tests need one answer per unit and condition, and there are several "
            "samples; use the bootstrap."
        )
    if not rows:
        raise InputError(
            f"scored judgments: no two values of column '{between}' have an answer to the same unit, "
            "so no paired comparison is possible."
        )
    frame = _fill_certain_p(insert_adjusted_p_values(pd.DataFrame(rows), ["test", "metric"], adjust))
    if empty_pairs:
        template = "No answers to the same units, so not compared: {pairs}."
        notes.append(Note.of(template, pairs=list(dict.fromkeys(empty_pairs))))
    notes += [*notes_on_unpaired(frame), *notes_of_tests(frame, plan)]
    return Result(
        frame,
        "differences",
        (*scored.notes, *left_out, *dict.fromkeys(notes)),
        {
            "between": between, "against": against, "by": strata, "missing": policy, "tests": list(tests),
            "adjust": adjust, **vars(plan),
        },
    )  # fmt: skip


def check_one(missing: str, metrics: Sequence[str]) -> str:
    """Return the one policy for missing answers; it must leave those that a metric counts."""
    policy = check_policies(missing)[0]
    if policy != WRONG and MISSING_RATE in metrics:
        raise InputError(f"{MISSING_RATE} counts missing answers; omit it, or take missing='{WRONG}'.")
    return policy


def check_tests(tests: Sequence[str], adjust: str) -> None:
    """Refuse tests and adjustments that there are not."""
    if isinstance(tests, str) or not tests:
        raise InputError(f"tests is {tests!r}; give a list of some of: {listed(TESTS)}.")
    for name in tests:
        if name not in TESTS:
            raise unknown_name("test", name, TESTS)
    check_adjust(adjust)


def coverage_of(pair: MatchedAnswers, metrics: Sequence[str], plan: IntervalPlan, prefix: str) -> list[str]:
    """State of which differences intervals were measured to cover too rarely on items like these."""
    cell = pair.cell
    level = pair.left_frame["level"].to_numpy(dtype=np.int64)
    gold = np.bincount(cell.class_of[level], minlength=len(cell.classes)).astype(float)
    cluster = pair.clusters(plan.cluster)[0]
    queries = quantities_of_metrics(metrics, prefix, cell.classes, gold, cluster)
    method = "differences" if prefix.startswith("difference") else "robustness"
    return coverage_notes(method, queries, plan.alpha) if plan.draws else []


def rows_of(
    pair: MatchedAnswers, metrics: Sequence[str], tests: Sequence[str], plan: IntervalPlan, notes: list[str]
) -> Iterator[dict[str, Any]]:
    """Rows of one pair: every metric by the bootstrap, then the tests of right and wrong answers."""
    _, n_clusters = pair.clusters(plan.cluster)

    def row(name: str, test: str, numbers: Mapping[str, float], of: MatchedAnswers = pair) -> dict[str, Any]:
        keys = {**pair.keys, "left": pair.left, "right": pair.right, "metric": name, "test": test}
        parted = discordance(*of.correct)  # of the pairs of this test, of which `n_pairs` is the number
        sides = {"only_left": parted.only_left, "only_right": parted.only_right}
        return {**keys, **numbers, **of.counts, "n_clusters": n_clusters, **sides}

    if BOOTSTRAP in tests:
        margins = margins_of_sides(pair, plan)
        for name in metrics:
            yield row(name, BOOTSTRAP, difference_in(pair, name, margins, plan).numbers)
    for test in (EXACT, MID_P, CLUSTERED):
        if test in tests and not pair.single:
            notes.append(
                Note.of(
                    "{pair}: McNemar's tests are not computed, since units have several samples.",
                    pair=_name_pair(pair.left, pair.right),
                )
            )
        elif test in tests:
            single = pair if test == CLUSTERED else pair.first_samples()
            yield row(ACCURACY, test, _mcnemar(single, test, plan), single)
    if MIXED in tests:
        yield row(LOG_ODDS, MIXED, pair_of(pair, plan.alpha, notes))


@dataclass(frozen=True)
class MetricDifference:
    """A metric on both sides, and the numbers of the difference: estimate, error, interval, p."""

    left: Floats  # shape (1 + B,): in the sample, then in each draw
    right: Floats
    numbers: dict[str, float]


def margins_of_sides(pair: MatchedAnswers, plan: IntervalPlan) -> tuple[Margins, Margins]:
    """Margins of both sides in the sample and every draw, with the same clusters drawn for both."""
    codes, n_clusters = pair.clusters(plan.cluster)
    cell = pair.cell

    def margins(side: int, frame: pd.DataFrame) -> Margins:
        cluster = codes[pair.pair[side]]
        weight = None if pair.single else pair.weights[side]
        level, predicted = frame["level"].to_numpy(dtype=np.int64), pair.predicted[side]
        n_classes = len(cell.classes)
        sums = cluster_margins(level, predicted, cell.class_of, n_classes, cluster, n_clusters, weight)
        return plan.margins(sums, cell.class_of)

    return margins(0, pair.left_frame), margins(1, pair.right_frame)


def difference_in(
    pair: MatchedAnswers, name: str, margins: tuple[Margins, Margins], plan: IntervalPlan
) -> MetricDifference:
    """Difference in one metric, left minus right."""
    first, second = (metric_values(name, side, pair.cell.classes, pair.cell.levels) for side in margins)
    replicates = first - second
    _, n_clusters = pair.clusters(plan.cluster)
    bounds = bounds_of(replicates, plan.alpha, is_share=False, n_clusters=n_clusters)
    is_tested = plan.draws and not (constant(first) and constant(second))
    p = p_of(bounds, n_clusters, replicates[1:]) if is_tested else np.nan
    return MetricDifference(first, second, numbers_of(bounds, p))


def constant(values: Floats) -> bool:
    """Whether a metric is 0 in the sample and every draw, or 1: a judge who never answers, or never errs."""
    return bool(values[0] in (0, 1) and (values == values[0]).all())


def p_of(bounds: StatisticInterval, n_clusters: int, draws: Floats) -> float:
    """Two-sided p of an estimate over its bootstrap error, by Student's t with a cluster less one."""
    # Shares of draws beyond zero never come below 2 / (B + 1), which no adjustment for many tests survives.
    # But where many draws are at zero or beyond, as where one item of a rare class differs, t would call
    # clear what the interval does not: p is no smaller than twice their share.
    if n_clusters > 1 and bounds.std_error > 0:
        estimate, std_error = np.array([bounds.estimate]), np.array([bounds.std_error])
        p = float(inference(estimate, std_error, df=np.array([n_clusters - 1.0])).p[0])
        values = draws[np.isfinite(draws)]
        return max(p, min(2 * float(min((values <= 0).mean(), (values >= 0).mean())), 1.0))
    return 1.0 if n_clusters > 1 and bounds.estimate == 0 else np.nan


def numbers_of(bounds: StatisticInterval, p: float) -> dict[str, float]:
    """Estimate, error, interval and p as columns."""
    return {name: getattr(bounds, name) for name in ("estimate", "std_error", "lower", "upper")} | {"p": p}


def _fill_certain_p(frame: pd.DataFrame) -> pd.DataFrame:
    """Give McNemar's tests of sides that are both never or both always right their p of one."""
    # They cannot be rejected, so they do not count among the tests that others are adjusted for.
    paired = frame["test"].isin([EXACT, MID_P]) | ((frame["test"] == CLUSTERED) & (frame["n_clusters"] > 1))
    certain = paired & frame["p"].isna() & (frame["n_pairs"] > 0) & (frame["estimate"] == 0)
    return frame.assign(**{name: frame[name].mask(certain, 1.0) for name in ("p", "p_adjusted")})


def _mcnemar(pair: MatchedAnswers, test: str, plan: IntervalPlan) -> dict[str, float]:
    counts = discordance(*pair.correct)
    idle = all(constant(side) for side in pair.correct) and counts.difference == 0
    if test == CLUSTERED:
        codes, n_clusters = pair.clusters(plan.cluster)
        p = clustered_p(*pair.correct, codes) if n_clusters > 1 and not idle else np.nan
        return numbers_of(StatisticInterval.none(counts.difference), p)
    exact: Callable[[Discordance], float] = exact_p if test == EXACT else mid_p
    return numbers_of(
        StatisticInterval(counts.difference, *bonett_price(counts, plan.alpha), test),
        np.nan if idle else exact(counts),
    )


def notes_on_unpaired(
    frame: pd.DataFrame, left_name: str = "the left condition", right_name: str = "the right condition"
) -> list[str]:
    """State what could not be paired; ``left_name`` and ``right_name`` are what the sides are called."""
    names = [name for name in ("judge", "prompt", "task", "left", "right") if name in frame]
    pairs = frame.drop_duplicates(names)
    notes: list[str] = []
    for name, words in _COUNTED.items():
        n, where = int(pairs[name].sum()), int((pairs[name] > 0).sum())
        if n:
            what = Note.of(words, left=left_name, right=right_name)
            text = "{n:,} {what} ({where} of {comparisons} comparisons)."
            notes.append(excluding(text, n=n, what=what, where=where, comparisons=len(pairs)))
    return notes


def _name_pair(first: str, second: str) -> Note:
    return Note.of("{side} and {side2}", side=first, side2=second)


def notes_of_tests(frame: pd.DataFrame, plan: IntervalPlan) -> list[str]:
    """State what the tests rest on, and where they can say little."""
    notes = []
    independent = frame[frame["test"].isin([EXACT, MID_P])]
    if (independent["n_pairs"] > independent["n_items"]).any():
        notes.append(
            "McNemar's exact and mid-p tests treat the lines of an item as independent; the bootstrap and "
            "the clustered test do not."
        )
    elif (independent["n_pairs"] > independent["n_clusters"]).any():
        notes.append(
            Note.of(
                "McNemar's exact and mid-p tests, and their intervals, treat the items of a cluster "
                "({column}) as independent; the bootstrap and the clustered test do not.",
                column=plan.cluster,
            )
        )
    of_right = frame[frame["metric"] == ACCURACY]
    same = of_right[(of_right["only_left"] == 0) & (of_right["only_right"] == 0)]
    if len(same):
        pairs = same[["left", "right"]].drop_duplicates().itertuples(index=False, name=None)
        notes.append(
            Note.of(
                "No pair of answers is discordant, so no difference can be tested: {pairs}.",
                pairs=[_name_pair(*pair) for pair in pairs],
            )
        )
    bootstrap_rows = frame[frame["test"] == BOOTSTRAP]
    tested = (frame["test"] != BOOTSTRAP) | (plan.draws > 0)
    idle = frame["p"].isna() & (frame["estimate"] == 0) & (frame["n_clusters"] > 1) & tested
    if idle.any():
        notes.append(
            f"{int(idle.sum())} of {len(frame)} comparisons have no p and are excluded from the "
            "adjustment: the metric is always 0, or always 1, in both conditions."
        )
    notes += few_clusters(bootstrap_rows["n_clusters"], plan.draws)
    if plan.draws and len(bootstrap_rows):
        notes.append(
            Note.of(
                "Intervals are percentile bootstrap intervals: {draws}, the same for both conditions.",
                draws=describe_draws(plan.draws, plan.cluster),
            )
        )
    return notes


@analysis("benchmark", order=40, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    scored = answered.plain_scores
    if scored.frame["judge"].nunique() > 1:
        yield AnalysisStep(
            "differences", "Differences between judges", lambda: differences(scored, **options)
        )
