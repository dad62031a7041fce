"""Published numbers of the harm paper, compared with ours."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ..results import Result
from .paper_comparison import HARM, KIND, compare, published_numbers, refuse_empty

ALL_LANGUAGES = "all"


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
        Kind "published_scores": ``table, set`` (modality and language), ``task, condition, judge, metric, k,
        printed, recomputed, difference``.

    Raises
    ------
    InputError
        Where no result has a number that was published.

    Examples
    --------
    >>> row = {"modality": "text", "language": "en", "judge": "gpt", "metric": "accuracy", "missing": "wrong"}
    >>> ours = Result(pd.DataFrame([row]).assign(estimate=0.91), "scores")
    >>> found = compare_harm({"scores_modality_language": ours}, {"gpt": "GPT-5.2"}).frame
    >>> found[["printed", "recomputed", "difference"]].round(3).values.tolist()
    [[0.903, 0.91, 0.007]]
    """
    printed = published_numbers("harm_or_humor_metrics").rename(columns={"judge": "label"})
    ids = {label: judge for judge, label in judge_labels.items()}
    rows = printed[printed["label"].isin(list(ids))]
    rows = rows.assign(judge=rows["label"].map(ids).astype(str), printed=rows["percent"] / 100)
    comparisons = [_harm_scores(results, rows), _harm_agreement(results)]
    parts = [part for part in comparisons if part is not None and len(part)]
    table = pd.concat(parts, ignore_index=True) if parts else rows.iloc[:0]
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
    table = compare(ours[[*keys, "recomputed"]], printed, keys, estimate="recomputed")
    return table.assign(set=table["modality"] + " " + table["language"])


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
    table = compare(ours[[*keys, "recomputed"]], printed, keys, estimate="recomputed")
    return table.assign(
        set=table["modality"], judge="human", metric=table["distinction"] + " " + table["coefficient"]
    )
