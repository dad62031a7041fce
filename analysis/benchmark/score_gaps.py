"""Gaps of scores between groups of items: English minus Arabic, text minus image, explicit minus implicit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.tables.columns import as_text
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.schema import require_columns

from ..frames.passport import Situation, coverage_notes, quantities_of_metrics
from ..numerics.metrics.label_metrics import metric_values, rests_on
from ..numerics.metrics.margins import LabelledAnswers, cluster_margins
from ..raters.descriptive.group_gaps import GapsBetweenGroups, GroupStatistic, check_levels
from ..results import AnalysisStep, Result, analysis
from .data.scoring import Scored, TaskCell
from .differences import check_one
from .intervals import IntervalPlan, bounds_by_plan, cluster_codes
from .parse_status import WRONG, outcome
from .scores import ACCURACY, default_metrics

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers

GOLD = "gold label"
RECALL, BALANCED = "recall", "balanced_accuracy"


@any_frame
def score_gaps(
    scored: Scored,
    *,
    between: str = GOLD,
    by: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    missing: str = WRONG,
    adjust: str = "holm",
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
) -> Result:
    """Test how far scores of one judge on different groups of items lie apart.

    The estimand is a metric of the units of one level minus that of another level. Clusters are drawn for
    both together: where clusters have units of both levels, the gap is paired within them.

    Parameters
    ----------
    scored : Scored
        Answers and gold labels, from `score`.
    between : str
        Column of items whose levels are compared, every two of them, such as language; or "gold label" (the
        default): the recall of one gold label minus that of another that counts as the same class, as of
        explicit and implicit harm. A column each of whose levels has a prompt of its own is compared over
        the prompts of a judge.
    by : sequence of str
        Columns to compare within.
    metrics : sequence of str, optional
        See `scores`; by default balanced accuracy, which shares of classes do not move (over those classes
        that gold has at each of the levels, if any), accuracy and, where a class covers several gold
        labels, the recall of each and the specificity of the class. Gold labels are compared by recall.
    missing : "wrong", "missing" or "study"
        What missing answers count as.
    adjust : "holm", "bh" or "none"
        Adjustment of p values over all gaps of one task and metric.
    draws, seed, alpha, cluster
        As in `scores`.

    Returns
    -------
    Result
        Kind "gaps": ``judge, prompt, task, [by], metric, left, right, estimate`` (left minus right),
        ``std_error, lower, upper, p, p_adjusted, left_estimate, right_estimate, n_left, n_right, n_shared``
        (clusters of either level and of both). Limits combine those of both scores (see `scores`) with their
        correlation over the bootstrap (Zou 2007); ``p`` is that of the limit towards 0.

    Raises
    ------
    InputError
        For columns and metrics that there are not, or where no judge answered units of two levels.

    References
    ----------
    Zou, G. Y. (2007). Toward using confidence intervals to compare correlations. Psychological Methods
    12(4). doi:10.1037/1082-989X.12.4.399

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": list("abcd"),
    ...     "dimension": "harm", "value": ["yes", "no", "yes", "yes"]})
    >>> gold = pd.DataFrame({"item_id": list("abcd"), "label_set": "harm",
    ...     "label": ["yes", "yes", "no", "yes"]})
    >>> items = pd.DataFrame({"item_id": list("abcd"), "language": ["en", "en", "ar", "ar"]})
    >>> scored = score(judged, gold, items=items)
    >>> found = score_gaps(scored, between="language", metrics=["accuracy", "balanced_accuracy"], draws=0)
    >>> found.frame[["metric", "left", "right", "estimate"]].values.tolist()
    [['accuracy', 'en', 'ar', 0.0], ['balanced_accuracy', 'en', 'ar', -0.5]]
    """
    plan, policy = IntervalPlan(draws, seed, alpha, cluster), check_one(missing, metrics or ())
    by = [name for name in by if name != between]
    if between != GOLD:
        require_columns(scored.frame, [between], "scored judgments")
        scored = _over_prompts(scored, between)
    gaps, quantities = GapsBetweenGroups([], []), list[tuple[str, str, Situation]]()
    for cell in scored.cells(by):
        answers, rows = _answers(cell, scored, policy, plan)
        keys = {name: value for name, value in cell.keys.items() if name != "judge_kind"}
        if between == GOLD:
            for labels in _labels_of_one_class(cell):
                masks = {name: answers.level == cell.levels.index(name) for name in labels}
                groups = [
                    replace(groups[0], level=name)
                    for name, mask in masks.items()
                    if (groups := _groups([f"{RECALL}_{name}"], answers, mask, plan))
                ]
                gaps.add({**keys, "metric": RECALL}, groups)
            continue
        column, levels = as_text(rows[between]), _levels(rows[between])
        check_levels(between, len(levels))
        names = _default_metrics(cell) if metrics is None else list(metrics)
        gold = np.bincount(answers.class_of[answers.level], minlength=len(answers.classes)).astype(float)
        quantities += quantities_of_metrics(names, "gap of ", answers.classes, gold, answers.cluster)
        masks = {level: (column == level).fillna(False).to_numpy(dtype=bool) for level in levels}
        by_level = {level: _groups(names, answers, mask, plan) for level, mask in masks.items()}
        if BALANCED in names:
            classes = answers.class_of[answers.level]
            common = np.all(
                [np.isin(classes, classes[mask]) for mask in masks.values() if mask.any()], axis=0
            )
            for level, groups in by_level.items() if common.any() else ():
                if groups:
                    groups[names.index(BALANCED)] = _groups([BALANCED], answers, masks[level] & common, plan)[
                        0
                    ]
        for place, name in enumerate(names):
            groups = [replace(groups[place], level=level) for level, groups in by_level.items()]
            gaps.add({**keys, "metric": name}, [group for group in groups if np.isfinite(group.values[0])])
    settings = {"between": between, "by": by, "missing": policy, **scored.cover_settings, **vars(plan)}
    notes = coverage_notes("gaps of scores", quantities, alpha) if draws else ()
    return gaps.result(["task", "metric"], adjust, settings, [*scored.notes, *notes])


def _answers(
    cell: TaskCell, scored: Scored, policy: str, plan: IntervalPlan
) -> tuple[LabelledAnswers, pd.DataFrame]:
    """Answers of a cell that a policy keeps, and their rows."""
    codes, n_clusters = cluster_codes(cell.frame, plan.cluster)
    predicted, mask = outcome(cell.frame, cell.classes, policy, scored.policy)
    level = cell.codes("level")[mask]
    labels = (cell.class_of, cell.classes, cell.levels)
    return LabelledAnswers(level, predicted[mask], codes[mask], n_clusters, *labels), cell.frame[mask]


def _groups(
    names: Sequence[str], answers: LabelledAnswers, mask: NDArray[np.bool_], plan: IntervalPlan
) -> list[GroupStatistic]:
    """Metrics of the answers where ``mask``, shape (n,), is true; none where there are no answers."""
    if not mask.any():
        return []
    parts = (answers.level[mask], answers.predicted[mask], answers.cluster[mask])
    here = replace(answers, level=parts[0], predicted=parts[1], cluster=parts[2])
    sums = cluster_margins(*parts[:2], here.class_of, len(here.classes), here.cluster, here.n_clusters)
    margins = plan.margins(sums, here.class_of)
    bounds = bounds_by_plan(names, here, plan)
    return [
        GroupStatistic(
            "",
            metric_values(name, margins, here.classes, here.levels),
            np.unique(here.cluster[rests_on(name, here)]),
            (bounds[name].lower, bounds[name].upper),
        )
        for name in names
    ]


def _default_metrics(cell: TaskCell) -> list[str]:
    """Balanced accuracy, accuracy, and recalls and specificity where a class covers several gold labels."""
    return [
        BALANCED,
        ACCURACY,
        *(name for name in default_metrics(cell) if "_" in name and _is_of_one(name)),
    ]


def _is_of_one(metric: str) -> bool:
    """Whether a metric is of one label or class."""
    return metric.startswith((f"{RECALL}_", "specificity_"))


def _labels_of_one_class(cell: TaskCell) -> Iterator[list[str]]:
    """Gold labels of each class that covers several, the last first: explicit minus implicit."""
    for code in range(len(cell.classes)):
        names = [name for name, owner in zip(cell.levels, cell.class_of, strict=True) if owner == code]
        if len(names) > 1:
            yield names[::-1]


def _levels(column: pd.Series[Any]) -> list[str]:
    """Levels that occur, in display order."""
    present = as_text(column).dropna().unique().tolist()
    if isinstance(column.dtype, pd.CategoricalDtype):
        return [str(name) for name in column.cat.categories if str(name) in present]
    return [str(name) for name in present]


def _over_prompts(scored: Scored, between: str) -> Scored:
    """The answers under one prompt, where each prompt is of one level only."""
    levels = scored.frame.groupby("prompt", observed=True)[between].nunique()
    if len(levels) < 2 or (levels > 1).any():
        return scored
    return replace(scored, frame=scored.frame.assign(prompt=""))


@analysis("benchmark", order=45, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    scored, labels = answered.plain_scores, answered.study.feature_labels
    _, _, bound = next(iter(answered.splits))
    for name in answered.strata:
        call = partial(score_gaps, scored, between=name, by=bound, **options)
        yield AnalysisStep(f"gaps_{name}", f"Gaps of scores by {labels[name].lower()}", call)
    if any(len(names) > 1 for names in scored.covers.values()):
        _, _, by = answered.splits[-1]
        call = partial(score_gaps, scored, by=by, **options)
        yield AnalysisStep("gaps_label", "Gaps of recall between gold labels of one class", call)
