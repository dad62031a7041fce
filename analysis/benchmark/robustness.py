"""What perturbing the items changes: scores of the same items as they were and perturbed, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import FEW_PAIRS, UNPERTURBED, as_text
from conjury.inference.tables.frames import any_frame

from ..frames.notes import Note
from ..numerics.significance import check_adjust, discordance, insert_adjusted_p_values
from ..results import AnalysisStep, Result, analysis
from .data.label_answers import score_study
from .data.pairing import ACCURACY, CONDITION, MatchedAnswers, comparable, matched_pairs
from .data.scoring import Scored
from .data.units import BASE
from .differences import (
    BY_UNIT,
    MISSING_RATE,
    MetricDifference,
    check_one,
    coverage_of,
    difference_in,
    margins_of_sides,
    notes_of_tests,
    notes_on_unpaired,
    numbers_of,
    p_of,
)
from .intervals import (
    BOOTSTRAP,
    ITEM,
    IntervalPlan,
    Multiplicity,
    bounds_of,
)
from .parse_status import WRONG

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers

# by task, prompt, stratum, condition and metric: the change of each judge, and the names of its clusters
Changes = dict[tuple[tuple[str, str], ...], list[tuple[MetricDifference, frozenset[str]]]]


@any_frame
def robustness(
    scored: Scored,
    *,
    baseline: str = UNPERTURBED,
    by: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    missing: str = WRONG,
    adjust: Multiplicity = "holm",
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
) -> Result:
    """Compare every judge on perturbed items with the same judge on the same items as they were.

    Only units that have an answer in both conditions count: the baseline of a condition is of the items of
    that condition, and so differs between conditions that leave out different items. Samples of an item
    and of its copy have nothing in common, so that units are paired, not samples: either side counts all of
    its answers to a unit, each with one over their number as weight. Accuracy is then the mean over units of
    the share of right answers; other metrics pool the weighted answers.

    Parameters
    ----------
    scored : Scored
        With a column ``condition``, and ``base_item_id`` for copies under names of their own.
    baseline : str
        Condition of items as they were; items without a condition have "none".
    by : sequence of str
        As in `differences`.
    metrics : sequence of str, optional
        By default accuracy, macro F1 and, where missing answers are wrong, how often answers are missing.
    missing, adjust, draws, seed, alpha, cluster
        As in `differences`; the family of tests is a metric over all judges, tasks and conditions.

    Returns
    -------
    Result
        Kind "robustness": ``judge, prompt, task, [by], condition, metric, baseline, perturbed, estimate``
        (perturbed minus baseline), ``std_error, lower, upper, p, p_adjusted, n_pairs, n_units, n_items,
        n_clusters, n_left_only, n_right_only`` (answers to perturbed items, and to items as they were,
        without a partner), ``n_missing, only_left, only_right`` (units right only, or more often, when
        perturbed, and as they were), ``changed`` (share of answers that differ, of each perturbed with each
        other answer to a unit, mean of the units), ``relative, relative_lower, relative_upper`` (``estimate``
        over ``baseline``, with the percentiles of the draws). ``n_pairs`` are units.
        ``extra["mean"]`` has the mean change over the judges, which are fixed, of each task, condition and
        metric, with ``n_judges``; its interval needs the same clusters of all of them.

    Raises
    ------
    InputError
        There is no column ``condition``, one condition only, or no item under two conditions.

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "a", "judge_kind": "model", "dimension": "harm",
    ...     "item_id": ["j1", "j2", "j1x", "j2x"], "base_item_id": ["j1", "j2"] * 2,
    ...     "condition": ["none"] * 2 + ["typos"] * 2, "value": ["yes", "no", "no", "no"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "harm", "label": ["yes", "no"]})
    >>> found = robustness(score(judged, gold), metrics=["accuracy"], draws=0).frame
    >>> found[["condition", "baseline", "perturbed", "estimate", "changed"]].values.tolist()
    [['typos', 1.0, 0.5, -0.5, 0.5]]
    """
    rate = [MISSING_RATE] if missing == WRONG else []
    metric_names = [ACCURACY, "macro_f1", *rate] if metrics is None else metrics
    plan, policy = IntervalPlan(draws, seed, alpha, cluster), check_one(missing, metric_names)
    check_adjust(adjust)
    strata = [name for name in by if name != CONDITION]
    prepared, _ = comparable(scored, CONDITION, strata)
    rows: list[dict[str, Any]] = []
    conditions: list[str] = []
    covered: list[str] = []
    several = False
    changes: Changes = {}
    for pair in matched_pairs(prepared, CONDITION, strata, baseline, policy):
        several |= not pair.single
        if not pair.counts["n_pairs"]:
            conditions.append(pair.left)
            continue
        parted = discordance(*pair.correct)
        _, n_clusters = pair.clusters(plan.cluster)
        margins = margins_of_sides(pair, plan)
        covered += coverage_of(pair, metric_names, plan, "change of ")
        for name in metric_names:
            difference = difference_in(pair, name, margins, plan)
            place = {key: value for key, value in pair.keys.items() if key not in ("judge", "judge_kind")}
            place |= {"condition": pair.left, "metric": name}
            changes.setdefault(tuple(place.items()), []).append((difference, _clusters(pair, plan.cluster)))
            rows.append(
                {
                    **pair.keys,
                    "condition": pair.left,
                    "metric": name,
                    "baseline": float(difference.right[0]),
                    "perturbed": float(difference.left[0]),
                    **difference.numbers,
                    **pair.counts,
                    "n_clusters": n_clusters,
                    "only_left": parted.only_left,
                    "only_right": parted.only_right,
                    "changed": pair.changed,
                    **_relative(difference, n_clusters, plan.alpha),
                }
            )
    if not rows:
        raise InputError(
            f"scored judgments: no item has answers both under '{baseline}' and under another condition; "
            "judge items and their perturbed copies, and keep base_item_id."
        )
    frame = insert_adjusted_p_values(pd.DataFrame(rows), ["metric"], adjust)
    paired = frame.assign(left=frame["condition"], right=baseline, test=BOOTSTRAP)
    notes = [*notes_on_unpaired(paired, "perturbed items", "original items"), *notes_of_tests(paired, plan)]
    notes += [*_note_on_few_items(frame), *([BY_UNIT] if several else []), *dict.fromkeys(covered)]
    if conditions:
        template = "No item in common with '{name}': {conditions}."
        notes.append(Note.of(template, name=baseline, conditions=list(dict.fromkeys(conditions))))
    return Result(
        frame,
        "robustness",
        (*scored.notes, *notes),
        {"baseline": baseline, "by": strata, "missing": policy, "adjust": adjust, **vars(plan)},
        {"mean": pd.DataFrame(_mean_rows(changes, plan))},
    )


def _clusters(pair: MatchedAnswers, cluster: str) -> frozenset[str]:
    """Names of the clusters of a comparison."""
    frame = pair.left_frame
    names = frame[BASE if cluster == ITEM and BASE in frame else cluster].drop_duplicates()
    return frozenset(as_text(names).fillna(""))


def _relative(difference: MetricDifference, n_clusters: int, alpha: float) -> dict[str, float]:
    """The change as a share of the baseline; missing where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = difference.left / difference.right - 1
    if not np.isfinite(ratios[0]):
        return dict.fromkeys(("relative", "relative_lower", "relative_upper"), np.nan)
    bounds = bounds_of(
        np.where(np.isinf(ratios), np.nan, ratios), alpha, is_share=False, n_clusters=n_clusters
    )
    return {"relative": bounds.estimate, "relative_lower": bounds.lower, "relative_upper": bounds.upper}


def _mean_rows(changes: Changes, plan: IntervalPlan) -> Iterator[dict[str, Any]]:
    """Mean change over the judges of each place; without an interval where they rest on other clusters."""
    # The same clusters are drawn for every judge, so that a draw has a mean over judges, too.
    for place, of_judges in changes.items():
        clusters = {names for _, names in of_judges}
        sides = [
            np.mean([getattr(each, side) for each, _ in of_judges], axis=0) for side in ("left", "right")
        ]
        change = MetricDifference(sides[0], sides[1], {})
        n_clusters = len(next(iter(clusters))) if len(clusters) == 1 else 1
        changes_of_draws = sides[0] - sides[1]
        bounds = bounds_of(changes_of_draws, plan.alpha, is_share=False, n_clusters=n_clusters)
        yield {
            **dict(place),
            "baseline": float(sides[1][0]),
            "perturbed": float(sides[0][0]),
            **numbers_of(bounds, p_of(bounds, n_clusters, changes_of_draws[1:])),
            **_relative(change, n_clusters, plan.alpha),
            "n_judges": len(of_judges),
        }


def _note_on_few_items(frame: pd.DataFrame) -> list[str]:
    """State which conditions rest on few perturbed items, with the fewest of a judge, task and stratum."""
    fewest = frame.groupby("condition", sort=False, observed=True)["n_items"].min()
    counts = fewest[fewest < FEW_PAIRS]
    if counts.empty:
        return []
    text = (
        "Fewer than {few} pairs of original and perturbed items are too few for precise estimates: {counts}."
    )
    named = [Note.of("{condition} ({n:,})", condition=str(name), n=int(n)) for name, n in counts.items()]
    return [Note.of(text, few=FEW_PAIRS, counts=named)]


@analysis("benchmark", order=60, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    if len(answered.of_models) == len(answered.unperturbed):
        return
    scored = score_study(answered, answered.of_models)
    of_copies = tuple(note for note in scored.notes if note not in answered.scored.notes)
    scored = replace(scored, notes=of_copies)
    yield AnalysisStep("robustness", "Effects of perturbations", lambda: robustness(scored, **options))
    for name, title, by in answered.further_splits():
        call = partial(robustness, scored, by=by, **options)
        yield AnalysisStep(f"robustness_{name}", f"Effects of perturbations, by {title}", call)
