"""Metrics of every judge with intervals, beside the baselines, under each policy for missing answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.schema import require_columns

from ..correction.correction_methods import MethodOptions, PredictThenDebias, correction_of
from ..correction.sources import refuse_unused
from ..frames.passport import Situation, coverage_notes, quantities_of_metrics
from ..frames.vocabulary import BASELINE, MAJORITY, MAJORITY_BY_STRATUM, RANDOM
from ..numerics.metrics.label_metrics import METRIC_NAMES, OVERALL, metric_of, random_expectation
from ..numerics.metrics.margins import LabelledAnswers
from ..numerics.types import Codes
from ..results import AnalysisStep, Result, analysis
from .data.scoring import Scored, TaskCell
from .data.stored_answers import StoredScored
from .data.stored_scores import scores_of_stored
from .intervals import (
    BOOTSTRAP,
    IntervalPlan,
    StatisticInterval,
    bounds_by_plan,
    cluster_codes,
    counts_of,
    gain_bounds,
    interval_notes,
    metric_row,
    pooled_notes,
)
from .parse_status import POLICIES, WRONG, check_policies, outcome
from .score_corrections import corrected_scores

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers

ACCURACY, MISSING_RATE = "accuracy", "missing_rate"
BY_COUNTS = "counts of labels by cluster"


@any_frame
def scores(
    scored: Scored,
    *,
    by: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    missing: Sequence[str] = POLICIES,
    draws: int | None = None,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
    strata: Sequence[str] = (),
    interval: Literal["bootstrap"] | None = None,
    correct: PredictThenDebias | Literal["ppi"] | None = None,
    **options: Unpack[MethodOptions],
) -> Result:
    """Score every judge with every prompt on every task.

    Answers of several samples are pooled: each is a row of the same unit, and the bootstrap draws them
    together.

    Parameters
    ----------
    scored : Scored
        From `score`. Of judgments that stay in their engine, counts of labels by cluster are queried there,
        and the bootstrap weighs each cluster by a Poisson number with mean one, from a hash of its name and
        the seed; rows are in alphabetical order, and ``strata`` and ``correct`` are refused.
    by : sequence of str
        Columns of ``scored.frame`` to score by, such as language or modality.
    metrics : sequence of str, optional
        METRIC_NAMES, where X is a class or, of recall, a gold label. By default all without X, and, where a
        class covers several gold labels, the recall of each of them and the specificity of the class.
    missing : sequence of "wrong", "missing", "study"
        What missing answers count as: wrong, left out, or `Scored.policy`.
    draws, seed, alpha : int, int, float
        ``alpha`` is one minus the level of intervals; ``draws=0`` for no intervals. Draws (by default 2,000)
        and seed are those of the percentile bootstrap.
    cluster : str
        Column whose values are drawn again; all units of a value come together. Copies of an item are drawn
        with the item that they come from.
    strata : sequence of str
        Columns whose values may have different most frequent labels, such as language where ``by`` does not
        name it: a further baseline gives the most frequent label of each.
    interval : {"bootstrap"}, optional
        By default each metric has the interval that covers at its rate where little was seen: shares
        Wilson's, with as many trials as give their standard error by ``cluster``; F1 of a class that of a
        share; other metrics that of a Bayesian bootstrap (see `conjury.analysis.raters.validation.judge`).
        "bootstrap" gives percentiles for all, which judgments that stay in their engine always have.
    correct : PredictThenDebias or "ppi", optional
        Scores against people's labels on all units that models labelled, from few human labels, which are
        those of ``scored``. There are no baselines; ``draws`` and ``strata`` are refused.
    **options
        With "ppi": ``model, tuning, folds`` of `conjury.analysis.correction.PredictThenDebias`.

    Returns
    -------
    Result
        Kind "scores": ``judge, judge_kind, prompt, task, [by], missing, metric, estimate, std_error, lower,
        upper, interval`` ("wilson", "bayesian bootstrap", "bootstrap" or "none"), ``n_answers, n_units,
        n_items, n_clusters``. The baselines are judges of kind "baseline"; they always answer, and stand
        under the policy "wrong" only, since the others leave each judge with units of its own.
        ``extra["over_baseline"]`` has the accuracy of each judge minus that of always giving the most
        frequent label (of each stratum) to the same units, in the same draws.
        With correct="ppi" of kind "prediction_powered_items": for each metric the rows "human only",
        "corrected" and "MODEL only" (column ``source``), with ``df, n_labelled, n_other, rho, weight, gain,
        n_effective`` as in `conjury.analysis.raters.prediction_powered`.

    Raises
    ------
    InputError
        For metrics, policies or columns that there are not.

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2", "j3"],
    ...     "dimension": "harm", "value": ["safe", "safe", "harmful"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2", "j3"], "label_set": "harm",
    ...     "label": ["safe", "harmful", "harmful"]})
    >>> table = scores(score(judged, gold), metrics=["accuracy"], missing=["wrong"], draws=0).frame
    >>> table.set_index("judge")["estimate"].round(3).to_dict()
    {'gpt': 0.667, 'majority class': 0.667, 'random': 0.5}
    """
    plan = IntervalPlan(IntervalPlan.draws if draws is None else draws, seed, alpha, cluster, interval)
    policies = check_policies(missing)

    def asked_of(cell: TaskCell) -> Sequence[str]:
        return default_metrics(cell) if metrics is None else metrics

    method = correction_of(correct, options, option_names=("model", "tuning", "folds"))
    if isinstance(method, PredictThenDebias):
        refuse_unused({"draws": draws, "strata": tuple(strata)})
        method = replace(method, seed=seed) if isinstance(correct, str) else method
        return corrected_scores(scored, by, asked_of, policies, plan, method)
    if not isinstance(scored, StoredScored):
        require_columns(scored.frame, list(strata), "scored judgments")
    elif strata:
        raise InputError(
            "strata: baselines by stratum need rows in memory; name strata in by, or read the rows."
        )
    rows: list[dict[str, Any]] = []
    over: list[dict[str, Any]] = []
    covered: list[tuple[str, str, Situation]] = []
    computed_from = {"computed_from": BY_COUNTS} if isinstance(scored, StoredScored) else {}
    if isinstance(scored, StoredScored):
        plan = replace(plan, interval=BOOTSTRAP)  # from the counts of clusters
        rows, over = scores_of_stored(scored, by, asked_of, policies, plan)
    for cell in () if isinstance(scored, StoredScored) else _cells(scored, by):
        metric_names = asked_of(cell)
        if not cell.keys["judge"]:
            rows += _baseline_rows(cell, metric_names, plan, strata) if WRONG in policies else []
            continue
        rows += _judge_rows(cell, scored, metric_names, policies, plan)
        covered += _queries(cell, metric_names, plan)
        over += _gain_rows(cell, scored, policies, plan, strata) if ACCURACY in metric_names else []
    if not rows:
        raise InputError("metrics: none is named; name some, or omit metrics for all of them.")
    frame = pd.DataFrame(rows)
    return Result(
        frame,
        "scores",
        (
            *scored.notes,
            *pooled_notes(scored, by),
            *interval_notes(frame, plan, scored),
            *(coverage_notes("scores", covered, alpha) if plan.draws or plan.interval is None else ()),
        ),
        {"by": list(by), "missing": list(policies), "strata": list(strata)}
        | {**scored.cover_settings, **vars(plan), **computed_from},
        {"over_baseline": pd.DataFrame(over)} if over else {},
    )


scores.__doc__ = str(scores.__doc__).replace("METRIC_NAMES", f"``{', '.join(METRIC_NAMES)}``")


def _cells(scored: Scored, by: Sequence[str]) -> Iterator[TaskCell]:
    """Cells of judges, then those of their units, for baselines."""
    yield from scored.cells(by)
    yield from scored.cells(by, judges=False)


def default_metrics(cell: TaskCell) -> list[str]:
    """Metrics that fit the classes of a task: see `scores`."""
    sizes = np.bincount(cell.class_of, minlength=len(cell.classes))
    several = [code for code, size in enumerate(sizes) if size > 1]
    recalls = [
        f"recall_{level}" for level, owner in zip(cell.levels, cell.class_of, strict=True) if owner in several
    ]
    return [*OVERALL, *recalls, *(f"specificity_{cell.classes[code]}" for code in several)]


def _judge_rows(
    cell: TaskCell, scored: Scored, metric_names: Sequence[str], policies: Sequence[str], plan: IntervalPlan
) -> Iterator[dict[str, Any]]:
    codes, n_clusters = cluster_codes(cell.frame, plan.cluster)
    level, predicted = cell.codes("level"), cell.codes("predicted")
    everything = LabelledAnswers(
        level, predicted, codes, n_clusters, cell.class_of, cell.classes, cell.levels
    )
    names = [name for name in metric_names if name != MISSING_RATE]
    rate = bounds_by_plan([MISSING_RATE], everything, plan) if MISSING_RATE in metric_names else {}
    bounds_of_answers: dict[bytes, dict[str, StatisticInterval]] = {}  # policies may leave the same answers
    for policy in policies:
        answers, mask = outcome(cell.frame, cell.classes, policy, scored.policy)
        subset = replace(everything, level=level[mask], predicted=answers[mask], cluster=codes[mask])
        counts = counts_of(cell.frame, mask, codes)
        content = mask.tobytes() + subset.predicted.tobytes()
        if content not in bounds_of_answers:
            bounds_of_answers[content] = bounds_by_plan(names, subset, plan)
        bounds = bounds_of_answers[content] | rate
        for name in metric_names:
            yield metric_row(cell.keys, policy, name, bounds[name], counts)


def _queries(
    cell: TaskCell, metric_names: Sequence[str], plan: IntervalPlan
) -> list[tuple[str, str, Situation]]:
    """Metrics of a cell as the passport of intervals names them, and what they rest on."""
    gold = np.bincount(cell.class_of[cell.codes("level")], minlength=len(cell.classes)).astype(float)
    return quantities_of_metrics(
        metric_names, "", cell.classes, gold, cluster_codes(cell.frame, plan.cluster)[0]
    )


def _gain_rows(
    cell: TaskCell, scored: Scored, policies: Sequence[str], plan: IntervalPlan, strata: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Accuracy of a judge minus that of the most frequent label of each stratum, on the same units."""
    codes, n_clusters = cluster_codes(cell.frame, plan.cluster)
    level = cell.codes("level")
    stratum = _stratum(cell.frame, strata)
    for policy in policies:
        answers, mask = outcome(cell.frame, cell.classes, policy, scored.policy)
        gold, clusters = cell.class_of[level[mask]], codes[mask]
        always = majority_answers(level[mask], cell.class_of, len(cell.classes), stratum[mask])
        sides = ((always == gold).astype(float), (answers[mask] == gold).astype(float))
        bounds = gain_bounds(*sides, clusters, n_clusters, plan)
        yield metric_row(cell.keys, policy, ACCURACY, bounds, counts_of(cell.frame, mask, codes))


def _baseline_rows(
    cell: TaskCell, metric_names: Sequence[str], plan: IntervalPlan, strata: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Scores of the baselines on the units of a cell; they always answer."""
    units = cell.frame.drop_duplicates("unit")
    level = units["level"].to_numpy(dtype=np.int64)
    codes, n_clusters = cluster_codes(units, plan.cluster)
    splits = {MAJORITY: (), MAJORITY_BY_STRATUM: strata} if strata else {MAJORITY: ()}
    gold = np.bincount(cell.class_of[level], minlength=len(cell.classes)).astype(float)
    counts = counts_of(units, np.ones(len(units), dtype=bool), codes)
    bounds_by_judge = {}
    for judge, split in splits.items():
        always = majority_answers(level, cell.class_of, len(cell.classes), _stratum(units, split))
        of = LabelledAnswers(level, always, codes, n_clusters, cell.class_of, cell.classes, cell.levels)
        bounds_by_judge[judge] = bounds_by_plan(metric_names, of, plan)
    for name in metric_names:
        expected = random_expectation(name, gold, cell.levels, cell.classes)
        rows = {judge: bounds[name] for judge, bounds in bounds_by_judge.items()}
        if metric_of(name).is_fixed:
            rows[MAJORITY] = StatisticInterval.none(rows[MAJORITY].estimate)
        for judge, bounds in (rows | {RANDOM: StatisticInterval.none(expected)}).items():
            yield metric_row(
                {**cell.keys, "judge": judge, "judge_kind": BASELINE}, WRONG, name, bounds, counts
            )


def majority_answers(level: Codes, class_of: Codes, n_classes: int, stratum: Codes) -> Codes:
    """Most frequent class of the stratum of each unit, shape (n,); of several classes the first."""
    counts = np.zeros((int(stratum.max(initial=-1)) + 1, n_classes), dtype=np.int64)
    np.add.at(counts, (stratum, class_of[level]), 1)
    answers: Codes = counts.argmax(axis=1)[stratum].astype(np.int64)
    return answers


def _stratum(frame: pd.DataFrame, strata: Sequence[str]) -> Codes:
    """Number of the stratum of each row, shape (n,)."""
    if not strata:
        return np.zeros(len(frame), dtype=np.int64)
    of_row = frame.groupby(list(strata), sort=False, observed=True, dropna=False).ngroup()
    codes: Codes = of_row.to_numpy(dtype=np.int64).astype(np.int64)
    return codes


@analysis("benchmark", order=20, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    scored, strata = answered.plain_scores, answered.strata
    for name, title, by in answered.splits:
        further_strata = [stratum for stratum in strata if stratum not in by]
        call = partial(scores, scored, by=by, strata=further_strata, **options)
        if by:
            yield AnalysisStep(f"scores_{name}", f"Scores of judges by {title}", call)
        else:
            yield AnalysisStep("scores", "Scores of judges", call)
