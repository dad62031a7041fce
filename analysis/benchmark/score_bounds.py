"""What unanswered units may do to the scores of judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.frames import any_frame

from ..correction.bounds import (
    Direction,
    Ends,
    bound_columns,
    check_direction,
    critical_value,
    only_missing,
    pick_bounds,
    picked,
    result_of_bounds,
)
from ..frames.notes import Note, excluding
from ..numerics.metrics.label_metrics import (
    METRIC_NAMES,
    contributions,
    metric_of,
    random_expectation,
    rests_on,
)
from ..numerics.metrics.margins import LabelledAnswers
from ..numerics.types import Codes, Floats
from ..results import AnalysisStep, Result, analysis
from .data.scoring import Scored, TaskCell
from .intervals import IntervalPlan, bounds_by_plan, cluster_codes
from .parse_status import MISSING, STUDY, check_policies, outcome
from .scores import default_metrics

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers


@dataclass(frozen=True)
class _BoundedScore:
    """A score from the answers given and in its two worst completions."""

    name: str
    sides: tuple[LabelledAnswers, LabelledAnswers, LabelledAnswers]  # given, least, largest


@any_frame
def bounds(
    scored: Scored,
    *,
    by: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    missing: str = STUDY,
    direction: Direction | None = None,
    null: float | None = None,
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
) -> Result:
    """Bound the scores of every judge over everything that the missing answers could have been.

    Accuracy, balanced accuracy, recall, specificity and the share of units that get a label are sums of what
    each unit contributes, so their least and largest value over all completions are exact. Precision, F1 and
    Matthews correlation have denominators that depend on the answers; they are not bounded.

    Parameters
    ----------
    scored : Scored
        Answers and gold labels, from `score`.
    by
        As in `scores`.
    metrics : sequence of str, optional
        ``accuracy, balanced_accuracy, specificity`` (mean of the classes), ``recall_X, specificity_X`` and
        ``share_X`` (of units answered with class X); by default those of `scores` among them.
    missing : {"study", "missing"}
        Which answers are missing: those that `Scored.policy` leaves out (the others count as it says), or all
        without a label.
    direction : {"for", "against"}, optional
        Assume that missing answers, taken together, move no score down ("for") or none up ("against"). One of
        the bounds is then the score of the answers given.
    null : float, optional
        The value that scores are compared with, by default that of random answers; shares have none.
    draws, seed, alpha, cluster
        As in `scores`.

    Returns
    -------
    Result
        Kind "bounds": ``judge, judge_kind, prompt, task, [by], metric, n_answered, n_asked`` (answers that
        the score rests on), ``null``, and the numbers of `conjury.analysis.conjoint.bounds`. Limits are
        those of `scores`, at the level of Imbens and Manski.
        ``extra["answered"]`` counts answers by judge, prompt and task. A judge without any answer to a task
        has no rows, and a note.

    Raises
    ------
    InputError
        For a metric that is not linear in the answers, or that does not exist.

    References
    ----------
    Manski, C. F. (2003). Partial Identification of Probability Distributions. Springer. doi:10.1007/b97478

    Imbens, G. W., Manski, C. F. (2004). Confidence intervals for partially identified parameters.
    Econometrica 72(6), 1845-1857. doi:10.1111/j.1468-0262.2004.00555.x

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": list("abcd"),
    ...     "dimension": "harm", "value": ["yes", "yes", "no", None]})
    >>> gold = pd.DataFrame({"item_id": list("abcd"), "label_set": "harm", "label": ["yes", "no"] * 2})
    >>> found = bounds(score(judged, gold), metrics=["accuracy"], draws=0).frame
    >>> found[["n_answered", "n_asked", "bound_lower", "bound_upper"]].values.tolist()
    [[3.0, 4.0, 0.25, 0.5]]
    """
    check_direction(direction)
    if missing not in (STUDY, MISSING):
        raise InputError(
            f"missing is '{missing}'; use {STUDY} or {MISSING}, since answers counted as "
            f"wrong have no bounds."
        )
    check_policies(missing)
    plan = IntervalPlan(draws, seed, alpha, cluster)
    rows: list[dict[str, Any]] = []
    scores: list[_BoundedScore] = []
    for cell in scored.cells(by):
        for row, score in _judge_scores(cell, metrics, scored, missing, cluster):
            rows.append(row)
            scores.append(score)
    frame = pd.DataFrame(rows)
    usual = frame.pop("null").to_numpy(float)
    nulls = usual if null is None else np.full(len(frame), float(null))
    frame = frame.assign(null=nulls, **_table_columns(scores, direction, nulls, plan))
    settings = {"by": list(by), "missing": missing, **vars(plan), "null": null}
    counts = _answer_counts(scored, missing)
    return result_of_bounds(frame, counts, "labels", settings, direction, _note_on_silence)


def _judge_scores(
    cell: TaskCell, metrics: Sequence[str] | None, scored: Scored, missing: str, cluster: str
) -> Iterator[tuple[dict[str, Any], _BoundedScore]]:
    """The scores of a cell, with what names them."""
    codes, n_clusters = cluster_codes(cell.frame, cluster)
    level = cell.codes("level")
    answers, mask = outcome(cell.frame, cell.classes, missing, scored.policy)
    labels = (cell.classes, cell.levels)

    def labelled(predicted: Codes, rows: NDArray[np.bool_]) -> LabelledAnswers:
        return LabelledAnswers(level[rows], predicted[rows], codes[rows], n_clusters, cell.class_of, *labels)

    gold = np.bincount(cell.class_of[level], minlength=len(cell.classes)).astype(float)
    everything = np.ones(len(level), dtype=bool)
    for name in _bounded_metrics(cell, metrics):
        of = rests_on(name, labelled(answers, everything))
        observed = labelled(answers, mask)
        least = largest = observed
        if not mask[of].all():
            worst = _worst_answers(name, level, answers, mask, cell)
            least, largest = (labelled(predicted, everything) for predicted in worst)
        null = (
            np.nan if name.startswith("share_") else random_expectation(name, gold, cell.levels, cell.classes)
        )
        counted = {"n_answered": int((mask & of).sum()), "n_asked": int(of.sum())}
        row = {**cell.keys, "metric": name, **counted, "null": null}
        yield row, _BoundedScore(name, (observed, least, largest))


def _bounded_metrics(cell: TaskCell, metrics: Sequence[str] | None) -> list[str]:
    """The metrics that are asked for, or the linear ones among those of `scores`."""
    if metrics is None:
        return [name for name in default_metrics(cell) if metric_of(name).is_linear]
    names = [name for name in metrics if not metric_of(name).is_linear]
    if names:
        linear = [name for name, metric in METRIC_NAMES.items() if metric.is_linear]
        raise InputError(
            f"{listed(names)}: the answers to other units decide what an answer contributes, so worst cases "
            f"of single answers do not bound it; use {', '.join(linear[:-1])} or {linear[-1]}."
        )
    return list(metrics)


def _worst_answers(
    name: str, level: Codes, answers: Codes, mask: NDArray[np.bool_], cell: TaskCell
) -> tuple[Codes, Codes]:
    """Answers with every missing one as it makes a metric least, and largest."""
    adds = contributions(name, level, cell.class_of, cell.classes, cell.levels)
    least, largest = adds.argmin(axis=1)[level], adds.argmax(axis=1)[level]
    return np.where(mask, answers, least), np.where(mask, answers, largest)


def _table_columns(
    scores: Sequence[_BoundedScore], direction: Direction | None, null: Floats, plan: IntervalPlan
) -> dict[str, Floats | NDArray[Any]]:
    """Columns of the table, each (m,)."""
    usual = np.full(len(scores), plan.alpha)
    three = [_intervals(scores, np.full(len(scores), side), plan, usual) for side in range(3)]
    low, high = pick_bounds([side.estimate for side in three], direction)
    least, largest = (picked(pick, three) for pick in (low, high))
    # Scores of 0 and 1 have no standard error, but an interval.
    errors = np.nan_to_num(least.std_error), np.nan_to_num(largest.std_error)
    level = 2 * ndtr(-critical_value(least.estimate, largest.estimate, *errors, plan.alpha))
    lower = _intervals(scores, low, plan, level).lower
    upper = _intervals(scores, high, plan, level).upper
    none = np.isnan(lower) | np.isnan(upper)
    covering = np.where(none, np.nan, lower), np.where(none, np.nan, upper)
    return vars(three[0]) | bound_columns(three[0], least, largest, covering, null)


def _intervals(scores: Sequence[_BoundedScore], side: Codes, plan: IntervalPlan, alpha: Floats) -> Ends:
    """Intervals as in `scores`, (m,), of the side of each score and at a level of its own."""
    ends = [
        bounds_by_plan([score.name], score.sides[k], replace(plan, alpha=float(level)))[score.name]
        for score, k, level in zip(scores, side, alpha, strict=True)
    ]
    columns = ("estimate", "std_error", "lower", "upper")
    return Ends(*(np.array([getattr(end, name) for end in ends], dtype=float) for name in columns))


def _answer_counts(scored: Scored, missing: str) -> pd.DataFrame:
    """Answers that count and those asked for, by judge, prompt and task."""
    rows = []
    for cell in scored.cells():
        _, mask = outcome(cell.frame, cell.classes, missing, scored.policy)
        rows.append({**cell.keys, "n_answered": int(mask.sum()), "n_asked": len(mask)})
    return pd.DataFrame(rows)


def _note_on_silence(row: Mapping[Any, Any]) -> str:
    return excluding(
        "{group}: none of {n:,} labels of '{name}' was given, so its scores cannot be estimated. It was "
        "excluded.",
        group=Note("", judge=row["judge"], prompt=row["prompt"]),
        n=row["n_asked"],
        name=row["task"],
    )


@analysis("benchmark", order=25, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    scored = answered.plain_scores
    counts = _answer_counts(scored, STUDY)
    if (counts["n_answered"] < counts["n_asked"]).any():
        _, _, by = answered.splits[0]
        yield AnalysisStep(
            "scores_bounds",
            "Scores of judges: bounds",
            lambda: only_missing(bounds(scored, by=by, **options)),
        )
