"""Scores of simulated labels beside the true values that the simulation knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from conjury.inference.tables.columns import UNPERTURBED, as_text

from ..results import Result
from ..vocabulary import HUMAN
from .compare import compare_with_truth, with_text

KNOWN = ("quantity", "judge", "prompt", "task", "condition", "gold", "k")
BOUNDS = ("estimate", "lower", "upper")
RECALL = "recall_"
PASSES = ("pass_at_k", "pass_all_k")
AGREEMENT = {"percent": "percent_agreement", "fleiss": "fleiss_kappa"}


def label_recovery(results: Mapping[str, Result], truth: pd.DataFrame) -> pd.DataFrame:
    """Set estimates beside the true values of simulated labels, where both are the same quantity.

    These are accuracy with missing answers wrong, overall, by all strata and by gold label (recalls);
    accuracy of the answers given; the share of missing answers; `passes` of k answers; the change of
    accuracy under perturbations; percent agreement and Fleiss' kappa of people. Truth is about what items
    are; where gold labels are votes, they err now and then, and so do estimates against them.
    """
    strata = [name for name in truth.columns if name not in (*KNOWN, "value")]
    keys = [*KNOWN[:4], *strata, *KNOWN[4:]]
    known = with_text(truth, keys).assign(truth=truth["value"].astype(float))
    parts = []
    for name, result in results.items():
        for each in _estimates(result, known):
            if _comparable(each, strata, result):
                split = set(strata) <= _split(result) or result.kind == "annotators"
                shown = each if split else each.drop(columns=strata, errors="ignore")
                shown = shown.astype(dict.fromkeys(BOUNDS, float))
                parts.append(compare_with_truth(shown, known, keys).assign(analysis=name))
    names = ["analysis", *keys, "truth", *BOUNDS, "inside"]
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)


def _split(result: Result) -> set[str]:
    return {str(name) for name in result.settings.get("by") or ()}


def _comparable(frame: pd.DataFrame, strata: Sequence[str], result: Result) -> bool:
    """Whether rows are of all items or of cells of all strata: the truth has no others, save of people."""
    # Rows by strata of which each prompt has one level only are of all items of that prompt.
    by = [name for name in strata if name in _split(result)]
    if result.kind == "annotators" or not by or len(by) == len(strata):
        return True
    levels = frame.groupby("prompt", observed=True)[by].nunique()
    return len(levels) > 1 and bool((levels <= 1).all(axis=None))


def _estimates(result: Result, known: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Estimates of a result that have true values, named as the truth names them."""
    frame = result.frame
    if result.kind == "scores":
        plain = frame.assign(condition=UNPERTURBED)
        metric, missing = as_text(plain["metric"]), as_text(plain["missing"])
        wrong = missing == "wrong"
        yield plain[wrong & (metric == "accuracy")].assign(quantity="accuracy")
        yield plain[(missing == "missing") & (metric == "accuracy")].assign(quantity="accuracy_answered")
        yield plain[wrong & (metric == "missing_rate")].assign(quantity="missing")
        recalls = plain[wrong & metric.str.startswith(RECALL)]
        yield recalls.assign(quantity="accuracy", gold=as_text(recalls["metric"]).str.removeprefix(RECALL))
    elif result.kind == "passes":
        kept = frame[as_text(frame["metric"]).isin(PASSES)]
        kept = kept[as_text(kept["missing"]) == "wrong"] if "missing" in kept else kept
        yield kept.assign(quantity=kept["metric"], condition=UNPERTURBED)
    elif result.kind == "robustness":
        yield frame[as_text(frame["metric"]) == "accuracy"].assign(quantity="difference")
    elif result.kind == "annotators" and "dimension" in frame:
        kept = frame[as_text(frame["coefficient"]).isin(list(AGREEMENT))]
        quantity = as_text(kept["coefficient"]).map(AGREEMENT)
        for task in known.loc[known["judge"] == HUMAN, "task"].unique():
            yield kept.assign(quantity=quantity, judge=HUMAN, gold=kept["dimension"], task=task)
