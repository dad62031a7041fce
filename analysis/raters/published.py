"""Numbers that the Oogiri paper printed, beside those recomputed from judgments, and what they say of it.

References
----------
Sakabe, R., Kim, H., Hirasawa, T., Komachi, M. (2026). Assessing the Capabilities of LLMs in Humor: A
Multi-dimensional Analysis of Oogiri Generation and Evaluation. AAAI.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from conjury.inference.columns import as_text
from conjury.inference.errors import InputError
from conjury.inference.paths import PUBLISHED

from .descriptive.strata import OVERALL
from .ratings import HUMAN
from .result import RaterResult

STUDY = "oogiri"
MEANS, CORRELATIONS = "oogiri_means.csv", "oogiri_correlations.csv"
IDS = {
    "GPT-4.1": "gpt_4_1",
    "Gemini 2.5 Pro": "gemini_2_5_pro",
    "Claude Sonnet 4": "claude_sonnet_4",
    "GPT-4.1 (serious)": "serious",
    "Overall Funniness": "funniness",
    "all": OVERALL,
}
ROUNDING = 0.0005


def printed(name: str) -> pd.DataFrame:
    """A printed table with the ids of the study, from ``data/published``.

    Examples
    --------
    >>> printed("oogiri_means.csv").loc[0, ["rater", "response_type", "dimension"]].tolist()
    ['human', 'high', 'novelty']
    """
    table = pd.read_csv(PUBLISHED / name)
    for column in ("rater", "modality", "response_type", "dimension"):
        if column in table:
            table[column] = [IDS.get(text, text.lower()) for text in as_text(table[column])]
    return table


def beside_printed(
    study: str, results: Mapping[str, RaterResult], real: Collection[str] | None = None
) -> dict[str, pd.DataFrame]:
    """Printed tables beside recomputed ones, for a study that has any; keys are names of tables.

    Parameters
    ----------
    study : str
        Name of the study.
    results : mapping of str to RaterResult
        ``means, means_crossed, correlations`` as far as they were computed.
    real : collection of str, optional
        Groups of raters whose judgments are not simulated; others are left out. All by default.
    """
    if study != STUDY:
        return {}
    made = [published_means(results[name]) for name in ("means", "means_crossed") if name in results]
    tables = {"published_means": pd.concat(made, ignore_index=True)} if made else {}
    if "correlations" in results:
        tables["published_correlations"] = published_correlations(results["correlations"])
    if real is None:
        return tables
    if HUMAN not in real:  # correlations are with people
        tables.pop("published_correlations", None)
    kept = {
        name: table[table["judge" if "judge" in table else "group"].isin(real)].reset_index(drop=True)
        for name, table in tables.items()
    }
    return {name: table for name, table in kept.items() if len(table)}


def published_means(result: RaterResult) -> pd.DataFrame:
    """Means and standard deviations as printed, beside those of `means` by response type (and modality).

    Returns
    -------
    DataFrame
        ``table, dimension, group, modality, response_type, estimate, lower, upper, printed, difference, sd,
        sd_printed, inside``; ``inside`` says whether the printed mean, as rounded, lies in our interval.
    """
    ours = _keyed(result, "means", ["dimension", "group", "response_type"], optional=["modality"])
    theirs = printed(MEANS).rename(columns={"rater": "group", "mean": "printed", "sd": "sd_printed"})
    joined = _joined(ours, theirs, ["dimension", "group", "modality", "response_type"])
    return joined[
        ["table", "dimension", "group", "modality", "response_type", "estimate", "lower", "upper", "printed",
         "difference", "sd", "sd_printed", "inside"]
    ]  # fmt: skip


def published_correlations(result: RaterResult) -> pd.DataFrame:
    """Correlations as printed, beside those of `correlations` by response type.

    Returns
    -------
    DataFrame
        ``table, dimension, judge, response_type, coefficient, estimate, lower, upper, printed, difference,
        p_t, p_holm, star, inside``; ``star`` is the printed mark of significance.
    """
    keys = ["dimension", "judge", "response_type", "coefficient"]
    ours = _keyed(result, "correlations", keys)
    theirs = printed(CORRELATIONS).rename(
        columns={"rater": "judge", "value": "printed", "significant_05": "star"}
    )
    joined = _joined(ours, theirs, keys)
    return joined[
        ["table", *keys, "estimate", "lower", "upper", "printed", "difference", "p_t", "p_holm", "star",
         "inside"]
    ]  # fmt: skip


def _keyed(result: RaterResult, kind: str, keys: Sequence[str], optional: Sequence[str] = ()) -> pd.DataFrame:
    """The frame of a result with its keys as text; optional keys that it lacks stand for all items."""
    lacking = [name for name in keys if name not in result.frame]
    if result.kind != kind or lacking:
        what = f"has no column '{lacking[0]}'" if result.kind == kind else f"is of the kind {result.kind}"
        raise InputError(f"This result {what}; give {kind} by response_type to put beside the paper's.")
    frame = result.frame.assign(**{name: OVERALL for name in optional if name not in result.frame})
    return frame.assign(**{name: as_text(frame[name]).astype(object) for name in [*keys, *optional]})


def _joined(ours: pd.DataFrame, theirs: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    joined = theirs.merge(ours, on=keys, how="inner")
    if joined.empty:
        raise InputError(
            "No row of this result has a printed number; the paper's are of the study oogiri, its "
            "dimensions, response types and judges."
        )
    near = (joined["lower"] - ROUNDING <= joined["printed"]) & (
        joined["printed"] <= joined["upper"] + ROUNDING
    )
    return joined.assign(
        difference=joined["estimate"] - joined["printed"],
        inside=near.where(joined[["lower", "upper"]].notna().all(axis=1)),
    )


def whole_counts(mean: np.ndarray, n: int) -> np.ndarray:
    """Whether means, rounded to three digits, can be those of n whole numbers, shape of ``mean``.

    References
    ----------
    Brown, N. J. L., Heathers, J. A. J. (2017). The GRIM test. Social Psychological and Personality Science
    8(4), 363-369. doi:10.1177/1948550616673876

    Examples
    --------
    >>> whole_counts(np.array([2.0, 2.5, 2.1]), 2).tolist()
    [True, True, False]
    """
    return np.asarray(np.abs(np.round(mean * n) / n - mean) <= ROUNDING + 1e-9)
