"""Published numbers of the Oogiri paper, compared with recomputed ones and checked against each other.

References
----------
Sakabe, R., Kim, H., Hirasawa, T., Komachi, M. (2026). Assessing the Capabilities of LLMs in Humor: A
Multi-dimensional Analysis of Oogiri Generation and Evaluation. AAAI.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtr

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.files import PUBLISHED

from ..frames.rounding import percentage
from ..frames.vocabulary import HUMAN, OVERALL
from ..numerics.types import Floats
from ..results import Result
from .paper_comparison import ROUNDING, compare, refuse_empty

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
NAMES = {judge: name for name, judge in IDS.items()}


def printed(name: str) -> pd.DataFrame:
    """A printed table with the ids of the study, from ``data/published``."""
    table = pd.read_csv(PUBLISHED / name)
    for column in ("rater", "modality", "response_type", "dimension"):
        if column in table:
            table[column] = [IDS.get(text, text.lower()) for text in as_text(table[column])]
    return table


def compare_oogiri(
    study: str, results: Mapping[str, Result], real: Collection[str] | None = None
) -> dict[str, pd.DataFrame]:
    """Compare means and correlations of ratings with those published in the Oogiri paper.

    Parameters
    ----------
    study : str
        Name of the study; only "oogiri" has published tables.
    results : mapping of str to Result
        Results by name; ``means``, ``means_crossed`` and ``correlations`` are compared.
    real : collection of str, optional
        Judges and groups whose answers are not simulated; the others are excluded. By default all are kept.

    Returns
    -------
    dict of str to DataFrame
        Published tables with recomputed numbers, by name of the table; empty for any other study.

    Examples
    --------
    >>> compare_oogiri("my_study", {})
    {}
    """
    if study != STUDY:
        return {}
    result = [published_means(results[name]) for name in ("means", "means_crossed") if name in results]
    tables = {"published_means": pd.concat(result, ignore_index=True)} if result else {}
    if "correlations" in results:
        tables["published_correlations"] = published_correlations(results["correlations"])
    if real is None:
        return tables
    if HUMAN not in real:  # correlations are with people
        tables.pop("published_correlations", None)
    real_tables = {
        name: table[table["judge" if "judge" in table else "group"].isin(real)].reset_index(drop=True)
        for name, table in tables.items()
    }
    return {name: table for name, table in real_tables.items() if len(table)}


def published_means(result: Result) -> pd.DataFrame:
    """Compare printed means and standard deviations with those of `means` by response type (and modality)."""
    # Returns: `table, dimension, group, modality, response_type, estimate, lower, upper, printed, difference,
    # sd, sd_printed, inside`; `inside` states whether the printed mean, as rounded, lies in our interval.
    ours = _keyed(result, "means", ["dimension", "group", "response_type"], optional=["modality"])
    theirs = printed(MEANS).rename(columns={"rater": "group", "mean": "printed", "sd": "sd_printed"})
    columns = ["estimate", "lower", "upper", "printed", "difference", "sd", "sd_printed", "inside"]
    return _compare_columns(ours, theirs, ["dimension", "group", "modality", "response_type"], columns)


def published_correlations(result: Result) -> pd.DataFrame:
    """Compare printed correlations with those of `correlations` by response type."""
    # Returns: `table, dimension, judge, response_type, coefficient, estimate, lower, upper, printed,
    # difference, p_t, p_holm, star, inside`; `star` is the printed mark of significance.
    keys = ["dimension", "judge", "response_type", "coefficient"]
    ours = _keyed(result, "correlations", keys)
    theirs = printed(CORRELATIONS).rename(
        columns={"rater": "judge", "value": "printed", "significant_05": "star"}
    )
    columns = ["estimate", "lower", "upper", "printed", "difference", "p_t", "p_holm", "star", "inside"]
    return _compare_columns(ours, theirs, keys, columns)


def _keyed(result: Result, kind: str, keys: Sequence[str], optional: Sequence[str] = ()) -> pd.DataFrame:
    """The frame of a result with its keys as text; optional keys that it lacks stand for all items."""
    if result.kind != kind or "response_type" not in result.frame:
        what = "has no column 'response_type'" if result.kind == kind else f"is of the kind {result.kind}"
        raise InputError(f"This result {what}; give {kind} by response_type to compare with the paper's.")
    frame = result.frame.assign(**{name: OVERALL for name in optional if name not in result.frame})
    return frame.assign(**{name: as_text(frame[name]).astype(object) for name in [*keys, *optional]})


def _compare_columns(
    ours: pd.DataFrame, theirs: pd.DataFrame, keys: list[str], columns: Sequence[str]
) -> pd.DataFrame:
    table = compare(ours, theirs, keys, rounding=ROUNDING)
    refuse_empty(table, STUDY, "dimensions, response types and judges")
    return table[["table", *keys, *columns]]


N = 399  # topics that the printed means of models agree with, by `check_table`; the text states 200
TYPES = 8
ACCURACY = {"gpt_4_1": 0.509, "gemini_2_5_pro": 0.519, "claude_sonnet_4": 0.541}
MAIN = "funniness"


def published_checks() -> pd.DataFrame:
    """Check what the text says about the printed tables against them; `check_table` checks the tables.

    Returns
    -------
    DataFrame
        ``check, n_numbers, n_off, finding``: how many printed numbers a check looked at, how many do not fit,
        and the conclusion, in a sentence.

    Examples
    --------
    >>> print(*published_checks().iloc[-1][["check", "n_off"]], sep=": ")
    text preferred by Claude Sonnet 4: 1
    """
    means, correlations = printed(MEANS), printed(CORRELATIONS)
    return pd.DataFrame(
        [_stars(correlations), *_accuracies(means), *_own_responses(means), _text_preferred(means)],
        columns=["check", "n_numbers", "n_off", "finding"],
    )


def most_in_order(gap: float, spread: float, step: float = 1.0) -> float:
    """Largest share of topics in which one rating can exceed another by ``step``, for any distribution."""
    # Cantelli's inequality, for a difference whose standard deviation is at most the sum of the two.
    return 1.0 if gap >= step else spread**2 / (spread**2 + (step - gap) ** 2)


def _stars(table: pd.DataFrame) -> tuple[str, int, int, str]:
    n = np.where(table["response_type"] == OVERALL, TYPES * N, N)
    size, star = table["value"].abs().to_numpy(), table["significant_05"].to_numpy(dtype=bool)
    least, most = (_p_values(np.maximum(size + d, 0), n) for d in (ROUNDING, -ROUNDING))
    off = (star & (least > 0.05)) | (~star & (most < 0.05))
    odd = [
        f"table {row['table']}, {row['rater']} on {row['response_type']}, {row['dimension']}, "
        f"{row['coefficient']} {row['value']}"
        for row in table[off].replace({"rater": NAMES, "response_type": NAMES}).to_dict("records")
    ]
    within = table["response_type"] != OVERALL
    bare = int((within & star).to_numpy().sum())
    return (
        "stars of correlations",
        len(table),
        int(off.sum()),
        f"With 399 items a stratum, all stars but {int(off.sum())} fit ({'; '.join(odd) or 'none'}, which "
        f"was printed with two digits); {bare} of {int(within.sum())} correlations within strata have one, "
        "unadjusted for multiple tests and for shared topics.",
    )


def _p_values(r: Floats, n: Floats) -> Floats:
    t = r * np.sqrt((n - 2) / (1 - r**2))
    return np.asarray(2 * stdtr(n - 2, -np.abs(t)))


def _accuracies(means: pd.DataFrame) -> list[tuple[str, int, int, str]]:
    """Whether the accuracies of the order high > mid > low can be shares of topics in strict order."""
    rows = []
    for judge, share in ACCURACY.items():
        mean, sd = _cells(means, judge), _cells(means, judge, column="sd")
        bound = most_in_order(mean["high"] - mean["low"], sd["high"] + sd["low"], step=2)
        at = round(share * N)
        verb = "is" if abs(at / N - share) <= ROUNDING else "is not"
        rows.append(
            (
                f"accuracy of tiers, {NAMES[judge]}",
                1,
                int(share > bound),
                f"{percentage(share, 1)} cannot be complete orders without ties: whole ratings with the "
                f"printed means and standard deviations give at most {percentage(bound, 1)}. It {verb} a "
                f"whole number of 399 topics ({at}), so ties seem to count as in order, or pairs are "
                "counted, where chance is 50%.",
            )
        )
    return rows


def _own_responses(means: pd.DataFrame) -> list[tuple[str, int, int, str]]:
    """How much higher a model rates its own responses than those of other models."""
    people = _cells(means, HUMAN)
    rows = []
    for judge in ACCURACY:
        other_models = [name for name in ACCURACY if name != judge]
        rated = _cells(means, judge)
        raw, human = (
            ratings[judge] - sum(ratings[name] for name in other_models) / len(other_models)
            for ratings in (rated, people)
        )
        rows.append(
            (
                f"own responses, {NAMES[judge]}",
                1,
                int(raw <= 0),
                f"It rates its own responses {raw:+.3f} compared with those of the other two models; in "
                f"ratings by people, this difference is {human:+.3f}.",
            )
        )
    return rows


def _text_preferred(means: pd.DataFrame) -> tuple[str, int, int, str]:
    judge = "claude_sonnet_4"
    text, image = (_cells(means, judge, modality=part) for part in ("text", "image"))
    off = [name for name, mean in text.items() if mean <= image[name]]
    return (
        f"text preferred by {NAMES[judge]}",
        len(text),
        len(off),
        "The text says that it consistently rates text topics higher; in tables 16 and 17 this holds for "
        f"{len(text) - len(off)} of {len(text)} response types (not: {', '.join(off) or 'none'}).",
    )


def _cells(
    means: pd.DataFrame, rater: str, modality: str = OVERALL, column: str = "mean"
) -> dict[str, float]:
    """Printed numbers of funniness by response type."""
    here = (means["rater"] == rater) & (means["modality"] == modality) & (means["dimension"] == MAIN)
    part = means[here]
    return dict(zip(part["response_type"], part[column].astype(float), strict=True))
