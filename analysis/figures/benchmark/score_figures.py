"""Scores and what depends on them: rules for missing answers, gold labels, perturbations, odds, agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.vocabulary import BASELINE, FEWEST_GOLD, MAJORITY, MAJORITY_BY_STRATUM
from ..figure_layout import Drawable, require_estimates
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..labels import COEFFICIENTS, ColumnNames, display_order, level_of, select_identifiers, usual_identifiers
from .benchmark_labels import (
    MISSING,
    baseline_in_words,
    judges_in_words,
    label_in_words,
    label_pairs,
    label_rows,
    metric_in_words,
    names_of_judges,
    pairs_in_words,
    policy_in_words,
    rows_of_judges,
    rows_of_task,
    strata_of,
)

USUAL = ("accuracy", "balanced_accuracy")
OTHERS = ("auc",)
MOST_ACROSS = 6
PREFIX = "recall_"
VERSUS = "_vs_"
FARTHEST = 4.0  # in powers of two; ratios beyond are drawn there
RATIOS = {-4: "1/16", -2: "1/4", 0: "1", 2: "4", 4: "16"}
ODDS = (1 / 256, 1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64, 256)
FEWER_ODDS = (1 / 256, 1 / 16, 1, 16, 256)


@figure("scores", "probabilities")
def scores(
    result: Drawable, style: FigureStyle, *, metrics: Sequence[str] | None = None, missing: str | None = None
) -> Forest:
    """Scores: a panel for each metric, task and stratum, a row for each judge; lines are baselines.

    Where baselines differ between prompts, each prompt has panels of its own. Where the most frequent label
    of each stratum is a baseline, that of all is not drawn.
    """
    frame, kinds = select_scores(result, metrics)
    policy = policy_of(frame, missing)
    frame = rows_of_policy(frame, policy)
    if _baselines_differ(frame, strata_of(result.settings, frame)):
        frame, places = label_pairs(frame, result.settings, style.names)
        frame["_who"] = names_of_judges(frame["judge"], style.names)
    else:
        frame, places = label_rows(frame, result.settings, style.names)
    metric = [metric_in_words(name) for name in frame["metric"]]
    panel = pd.Series(
        [_panel_title(*pair) for pair in zip(metric, frame["_where"], strict=True)], index=frame.index
    )
    is_baseline = frame["judge_kind"] == BASELINE
    judge_rows, baseline_rows = frame[~is_baseline], frame[is_baseline].dropna(subset="estimate")
    if (baseline_rows["judge"] == MAJORITY_BY_STRATUM).any():
        baseline_rows = baseline_rows[baseline_rows["judge"] != MAJORITY]
    lines: dict[str, dict[str, float]] = {}
    for name, row in zip(panel[baseline_rows.index], baseline_rows.to_dict("records"), strict=True):
        baseline = baseline_in_words(str(row["judge"]), result.settings, style.names)
        lines.setdefault(name, {})[baseline] = float(row["estimate"])
    panels = [_panel_title(metric_in_words(kind), place) for kind in kinds for place in places]
    nonempty_panels = set(panel[judge_rows.index])
    rows = -(-max(len(places), 1) // MOST_ACROSS)
    subject = metric_in_words(kinds[0]) if len(kinds) == 1 else "Score"
    missing_as = MISSING.get(policy, policy)
    return forest(
        judge_rows,
        panel=panel[judge_rows.index],
        row=judge_rows["_who"],
        lines=lines,
        across=-(-len(places) // rows) or 1,
        panels=[name for name in panels if name in nonempty_panels],
        what=f"{subject}, {missing_as}",
        xlabel=f"{subject} ({level_of(result.settings)} intervals; {missing_as})",
    )


def _baselines_differ(frame: pd.DataFrame, strata: Sequence[str]) -> bool:
    """Whether a baseline has several values in one panel, as where prompts are put to other items."""
    values = frame[frame["judge_kind"] == BASELINE].groupby(
        ["judge", "metric", "task", *strata], observed=True
    )["estimate"]
    return bool((values.max() - values.min() > 1e-9).any())


def select_scores(result: Drawable, metrics: Sequence[str] | None) -> tuple[pd.DataFrame, list[str]]:
    """Rows of the metrics that are drawn, and their names."""
    metric_names = select_identifiers(result.frame["metric"], metrics, "metric")
    default_names = [kind for kind in USUAL if kind in metric_names] or [
        kind for kind in OTHERS if kind in metric_names
    ]
    kinds = metric_names if metrics else default_names or metric_names[:1]
    frame = result.frame[result.frame["metric"].isin(kinds)]
    if frame["estimate"].notna().sum() == 0:
        raise InputError("There is nothing to draw: no score has a value.")
    return frame, kinds


def policy_of(frame: pd.DataFrame, policy: str | None) -> str:
    """What missing answers count as in a figure: what is asked for, else as wrong."""
    return usual_identifiers(frame["missing"], policy, ("wrong", "study"), "rule for missing answers")[0]


def rows_of_policy(frame: pd.DataFrame, policy: str | None = None) -> pd.DataFrame:
    """Rows under a rule for missing answers, by default that of figures; all of a table without rules."""
    if "missing" not in frame:
        return frame
    return frame[frame["missing"].astype(str) == (policy or policy_of(frame, None))]


def _panel_title(metric: str, place: str) -> str:
    return f"{metric}: {place}" if place else metric


def _rules_differ(result: Drawable) -> bool:
    """Whether rules for missing answers differ in any score."""
    frame = result.frame[result.frame["judge_kind"] != BASELINE]
    keys = ["judge", "prompt", "task", "metric", *strata_of(result.settings, frame)]
    values = frame.groupby([name for name in keys if name in frame], observed=True)["estimate"]
    return bool((values.max() - values.min() > 1e-9).any())


@figure("scores", part="policies", when=_rules_differ)
def policies(result: Drawable, style: FigureStyle) -> Forest:
    """The first score under every rule for answers without a label: a colour for each rule."""
    frame, kinds = select_scores(result, None)
    frame = frame[(frame["judge_kind"] != BASELINE) & (frame["metric"] == kinds[0])]
    frame, panels = label_rows(frame, result.settings, style.names)
    rules = distinct_policies(frame)
    frame = frame[frame["missing"].astype(str).isin(rules)]
    metric = metric_in_words(kinds[0])
    return forest(
        frame,
        panel=frame["_where"],
        row=frame["_who"],
        panels=panels,
        series=[policy_in_words(name) for name in frame["missing"].astype(str)],
        order=[policy_in_words(name) for name in rules],
        xlabel=f"{metric} ({level_of(result.settings)} intervals)",
        what=f"{metric} under every rule for answers without a label",
    )


def distinct_policies(frame: pd.DataFrame) -> list[str]:
    """Rules for missing answers, without those that give the same scores as an earlier one."""
    scores_by_policy: dict[str, list[float]] = {}
    for name in display_order(frame["missing"]):
        values = frame.loc[frame["missing"].astype(str) == name, "estimate"].fillna(-1).round(9).tolist()
        if values not in scores_by_policy.values():
            scores_by_policy[name] = values
    return list(scores_by_policy)


def _has_recalls(result: Drawable) -> bool:
    metric = result.frame["metric"].astype(str)
    return metric[metric.str.startswith(PREFIX)].nunique() > 1


@figure("scores", part="recalls", when=_has_recalls)
def recalls(result: Drawable, style: FigureStyle, *, missing: str | None = None) -> Forest:
    """The share of each kind of gold label that judges detect: a colour for each kind."""
    names, metric = style.names, result.frame["metric"].astype(str)
    frame = result.frame[metric.str.startswith(PREFIX) & (result.frame["judge_kind"] != BASELINE)]
    require_estimates(frame)
    policy = policy_of(frame, missing)
    frame = rows_of_policy(frame, policy).dropna(subset="estimate")
    frame, panels = label_rows(frame, result.settings, names)
    level = frame["metric"].astype(str).str.removeprefix(PREFIX)
    what = "Share of units that are detected, by kind of gold label"
    return forest(
        frame,
        panel=frame["_where"],
        row=frame["_who"],
        series=names.all("gold", level),
        panels=panels,
        xlabel=f"{what} ({level_of(result.settings)} intervals; {MISSING.get(policy, policy)})",
        what=what,
        across=4,
    )


@figure("robustness")
def robustness(result: Drawable, style: FigureStyle, *, metric: str | None = None) -> Forest:
    """What perturbations of the items change: paired differences in a score, a colour for each kind."""
    names = style.names
    frame, kind = rows_of_metric(result, metric)
    frame, panels = label_rows(frame, result.settings, names)
    what = f"{metric_in_words(kind)} of perturbed items minus that of the same items unperturbed"
    return forest(
        frame,
        panel=frame["_where"],
        row=frame["_who"],
        series=names.all("condition", frame["condition"]),
        panels=panels,
        order=names.all("condition", display_order(frame["condition"])),
        xlabel=f"{what} ({level_of(result.settings)} intervals)",
        what=what,
        baseline=0.0,
    )


def rows_of_metric(result: Drawable, metric: str | None) -> tuple[pd.DataFrame, str]:
    """Rows of one metric, by default the first, and its name."""
    kind = select_identifiers(result.frame["metric"], [metric] if metric else None, "metric")[0]
    kind = metric or kind
    return result.frame[(result.frame["metric"] == kind) & result.frame["estimate"].notna()], kind


@figure("by_label")
def by_label(
    result: Drawable, style: FigureStyle, *, judges: Sequence[str] | None = None, task: str | None = None
) -> Forest:
    """How often each label is given relative to gold, in one task: a panel for each judge."""
    names = style.names
    frame, name = select_label_rows(result, task)
    often = frame[frame["n_gold"] >= FEWEST_GOLD]
    frame = rows_of_judges(often if len(often) else frame, judges)
    with np.errstate(divide="ignore"):
        powers = frame[["ratio", "ratio_lower", "ratio_upper"]].astype(float).apply(np.log2)
    powers = powers.clip(-FARTHEST, FARTHEST).set_axis(["estimate", "lower", "upper"], axis=1)

    def ticks(axes: Any) -> None:
        axes.set_xlim(-FARTHEST - 0.4, FARTHEST + 0.4)
        axes.set_xticks(list(RATIOS), list(RATIOS.values()))

    return forest(
        powers,
        panel=judges_in_words(frame, names),
        baseline=0.0,
        across=4,
        ticks=ticks,
        row=[label_in_words(name, str(label), names) for label in frame["label"]],
        xlabel=f"Times a label is given per time it is gold ({level_of(result.settings)} intervals, "
        "not adjusted; 1/16 includes smaller, 16 larger values); labels that are gold in at least "
        f"{FEWEST_GOLD} units",
        what="Times a label is given per time it is gold, in powers of two",
    )


def select_label_rows(result: Drawable, task: str | None) -> tuple[pd.DataFrame, str]:
    """Rows of one task, by default the first, and its name."""
    frame, name = rows_of_task(result.frame, task)
    return frame[frame["ratio"].notna()], name


@figure("mixed", when=lambda result: "left" in result.frame)
def mixed(result: Drawable, style: FigureStyle) -> Forest:
    """Odds of a right answer by pair of judges, where every item has an intercept of its own."""
    names = style.names
    frame = result.frame[result.frame["estimate"].notna()]
    if frame.empty:
        raise InputError("There is nothing to draw: no odds are finite.")
    frame, panels = label_pairs(frame, result.settings, names)

    def ticks(axes: Any) -> None:
        low, high = axes.get_xlim()
        inside = [tick for tick in ODDS if low <= np.log(tick) <= high]
        inside = inside if len(inside) < 5 else [tick for tick in inside if tick in FEWER_ODDS]
        axes.set_xticks(np.log(inside), [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in inside])

    return forest(
        frame,
        panel=frame["_where"],
        row=pairs_in_words(frame, result.settings, names, " by "),
        panels=panels,
        xlabel=f"Odds of a correct answer, first by second ({level_of(result.settings)} intervals)",
        what="Logarithm of the odds of a correct answer, first by second",
        baseline=0.0,
        ticks=ticks,
    )


@figure("annotators")
def annotators(result: Drawable, style: FigureStyle) -> Forest:
    """Agreement of the people behind the gold labels: a panel for each distinction that gold makes."""
    frame, names = agreement_rows(result), style.names
    what = "Agreement of people among themselves"
    return forest(
        frame,
        panel=[distinction_in_words(name, names) for name in frame["dimension"]],
        row=names.joined(frame, strata_of(result.settings, frame), "All items"),
        series=[COEFFICIENTS.get(kind, kind) for kind in frame["coefficient"].astype(str)],
        order=[COEFFICIENTS.get(kind, kind) for kind in display_order(frame["coefficient"])],
        xlabel=f"{what} ({level_of(result.settings)} intervals)",
        what=what,
        across=3,
    )


def agreement_rows(result: Drawable) -> pd.DataFrame:
    """Rows with a value."""
    frame = result.frame[result.frame["estimate"].notna()]
    if frame.empty:
        raise InputError("There is nothing to draw: no coefficient has a value.")
    return frame


def distinction_in_words(name: object, names: ColumnNames) -> str:
    """The levels of gold that a dimension distinguishes."""
    text = str(name)
    if VERSUS not in text:
        return names.of("dimension", text)
    first, *alternatives = (names.of("gold", level) for level in text.split(VERSUS))
    return " or ".join([first, *(level[:1].lower() + level[1:] for level in alternatives)])
