"""Published numbers of the harm paper, checked against each other and compared with ours."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..results import Result
from .compare import HARM, KIND, compare, published_numbers, refuse_empty

HALF_DIGIT = 0.0005  # of shares that were printed in percent with one digit
ALL_LANGUAGES = "all"
LABELS = ["safe", "implicit", "explicit"]


def implied(metrics: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """Specificity and F1 that follow from printed accuracy, recalls and counts of items."""
    keys = ["table", "modality", "judge", "language"]
    wide = metrics.assign(share=metrics["percent"] / 100).pivot_table(
        index=keys, columns="metric", values="share", aggfunc="first", sort=False
    )
    of_label = counts[counts["label"].isin(LABELS)].pivot_table(
        index=["modality", "language"], columns="label", values="count", aggfunc="first"
    )
    both = wide.reset_index().merge(of_label.reset_index(), on=["modality", "language"])
    both = both.dropna(subset=["accuracy", "macro_f1", "recall_implicit", "recall_explicit"])
    hits = both["recall_implicit"] * both["implicit"] + both["recall_explicit"] * both["explicit"]
    harmful = both["implicit"] + both["explicit"]
    true_safe = both["accuracy"] * (harmful + both["safe"]) - hits
    wrong = harmful - hits + both["safe"] - true_safe
    return both.assign(
        specificity=true_safe / both["safe"],
        f1_harmful=2 * hits / (2 * hits + wrong),
        f1_safe=2 * true_safe / (2 * true_safe + wrong),
        implied_macro_f1=hits / (2 * hits + wrong) + true_safe / (2 * true_safe + wrong),
    ).rename_axis(columns=None)


def harm_checks() -> pd.DataFrame:
    """Check printed scores, agreement and counts against each other.

    Returns
    -------
    DataFrame
        ``check, finding``, a sentence each.

    Examples
    --------
    >>> len(harm_checks())
    5
    """
    metrics = published_numbers("harm_or_humor_metrics")
    counts, agreed = published_numbers("harm_or_humor_counts"), published_numbers("harm_or_humor_agreement")
    found = implied(metrics, counts)
    rows = [
        ("scores of texts and pictures", _tables_4_and_5(found[found["table"] < 6])),
        ("macro-F1 of clips", _table_6(metrics[metrics["table"] == 6])),
        ("recalls of clips", _recalls_of_clips(found[found["table"] == 6])),
        ("agreement above chance", _agreement(agreed)),
        ("Krippendorff's alpha and Fleiss' kappa", _alpha(agreed)),
    ]
    return pd.DataFrame(rows, columns=["check", "finding"])


def _tables_4_and_5(found: pd.DataFrame) -> str:
    apart = (found["implied_macro_f1"] - found["macro_f1"]).abs()
    close = int((apart < 2 * HALF_DIGIT).sum())
    worst = found.iloc[int(apart.to_numpy().argmax())]
    return (
        f"Macro-F1 follows from accuracy, both recalls and the counts of items. In {close} of {len(found)} "
        "rows of tables 4 and 5 the printed value is within 0.001 of this; the largest difference is "
        f"{apart.max():.4f} ({worst['judge']}, table {worst['table']})."
    )


def _table_6(table: pd.DataFrame) -> str:
    wide = table[table["language"] == "all"].pivot_table(index="judge", columns="metric", values="percent")
    apart = wide["macro_f1"] - wide["accuracy"]
    above = wide[apart > 0]
    return (
        "Macro-F1 over two labels cannot be larger than accuracy where every answer is one of the two. In "
        f"table 6 it is, for {len(above)} of {len(wide)} models, by {apart.min():.1f} to {apart.max():.1f} "
        "percentage points, so it must be another F1."
    )


def _recalls_of_clips(found: pd.DataFrame) -> str:
    harmful = (found["f1_harmful"] - found["macro_f1"]).abs()
    beyond = found[found["specificity"] > 1]
    sentences = [
        f"{row['judge']} would have to label {row['specificity']:.0%} of the safe clips safe"
        for row in beyond.to_dict("records")
    ]
    text = (
        "With the recalls and counts of table 6, F1 of the harmful label alone differs from what is printed "
        f"by {harmful.min():.3f} to {harmful.max():.3f}."
    )
    return (
        f"{text} Its accuracy and recalls are inconsistent, too: {'; '.join(sentences)}."
        if sentences
        else text
    )


def _agreement(agreed: pd.DataFrame) -> str:
    wide = _by_coefficient(agreed)
    most = (wide["percent"] / 100 - 0.5) / 0.5
    above = wide["fleiss"] - most
    larger = int((above > 0.005).sum())
    return (
        "Of two labels, chance agreement is at least one half, so Fleiss' kappa is at most twice the "
        f"observed agreement of pairs minus one. The printed kappa is larger in {larger} of {len(wide)} "
        f"cells of table 3, by up to {above.max():.2f}: the printed percent agreement is not that of pairs."
    )


def _by_coefficient(agreed: pd.DataFrame) -> pd.DataFrame:
    keys = ["modality", "distinction"]
    return agreed.pivot_table(index=keys, columns="coefficient", values="value", sort=False)


def _alpha(agreed: pd.DataFrame) -> str:
    wide = _by_coefficient(agreed)
    gap = (wide["krippendorff"] - wide["fleiss"]).to_numpy()
    share = "all" if np.allclose(gap, gap[0]) else "most of the"
    return (
        "Where seven people label every item, alpha exceeds kappa by (1 - kappa) / (7 n), less than 0.0001 "
        f"for 1,000 items. The printed gap is {gap.min():.2f} in {share} {len(gap)} cells of table 3, "
        "which rounding does not explain in each of them."
    )


def compare_harm(results: Mapping[str, Result], judge_labels: Mapping[str, str]) -> Result:
    """Compare scores of judges, and agreement of people, with those printed in the harm paper.

    Parameters
    ----------
    results : mapping
        By name; ``scores_modality_language``, ``scores_modality`` and ``annotators`` are compared.
    judge_labels : mapping
        Labels of judges by id; judges with a label that the paper prints are compared.

    Returns
    -------
    Result
        Kind "published_scores": ``table, set`` (modality and language)``, task, condition, judge, metric, k,
        printed, recomputed, difference``.
    """
    printed = published_numbers("harm_or_humor_metrics").rename(columns={"judge": "label"})
    ids = {label: judge for judge, label in judge_labels.items()}
    known = printed[printed["label"].isin(list(ids))]
    known = known.assign(judge=known["label"].map(ids).astype(str), printed=known["percent"] / 100)
    found = [_harm_scores(results, known), _harm_agreement(results)]
    parts = [part for part in found if part is not None and len(part)]
    table = pd.concat(parts, ignore_index=True) if parts else known.iloc[:0]
    refuse_empty(table, HARM, "judges, modalities and languages")
    names = ["table", "set", "task", "condition", "judge", "metric", "k", "printed", "recomputed"]
    table = table.assign(task="harm", condition="none", k=1)[[*names, "difference"]]
    return Result(table.reset_index(drop=True), KIND, (), {"digits": 3})


def _harm_scores(results: Mapping[str, Result], printed: pd.DataFrame) -> pd.DataFrame | None:
    frames = []
    for name in ("scores_modality_language", "scores_modality"):
        if name in results:
            frame = results[name].frame
            frame = frame[frame["missing"].astype(str) == "wrong"]
            language = frame["language"].astype(str) if "language" in frame else ALL_LANGUAGES
            frames.append(frame.assign(language=language, modality=frame["modality"].astype(str)))
    if not frames or printed.empty:
        return None
    ours = pd.concat(frames, ignore_index=True)
    ours = ours.assign(**{key: ours[key].astype(str) for key in ("judge", "metric")})
    ours = ours.rename(columns={"estimate": "recomputed"})
    keys = ["modality", "language", "judge", "metric"]
    found = compare(ours[[*keys, "recomputed"]], printed, keys, estimate="recomputed")
    return found.assign(set=found["modality"] + " " + found["language"])


def _harm_agreement(results: Mapping[str, Result]) -> pd.DataFrame | None:
    if "annotators" not in results or "modality" not in results["annotators"].frame:
        return None
    ours = results["annotators"].frame
    ours = ours.assign(modality=ours["modality"].astype(str)).rename(
        columns={"dimension": "distinction", "estimate": "recomputed"}
    )
    printed = published_numbers("harm_or_humor_agreement")
    percent = printed["coefficient"] == "percent"
    printed = printed.assign(printed=printed["value"].where(~percent, printed["value"] / 100))
    keys = ["modality", "distinction", "coefficient"]
    found = compare(ours[[*keys, "recomputed"]], printed, keys, estimate="recomputed")
    return found.assign(
        set=found["modality"], judge="human", metric=found["distinction"] + " " + found["coefficient"]
    )
