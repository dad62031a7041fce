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

from ..frames.vocabulary import HUMAN, OVERALL
from ..numerics.types import Floats
from ..results import Result
from .compare import ROUNDING, compare, refuse_empty, whole_counts

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
    """Published tables with recomputed numbers, by name of the table; empty for a study without any."""
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
    kept = {
        name: table[table["judge" if "judge" in table else "group"].isin(real)].reset_index(drop=True)
        for name, table in tables.items()
    }
    return {name: table for name, table in kept.items() if len(table)}


def published_means(result: Result) -> pd.DataFrame:
    """Compare printed means and standard deviations with those of `means` by response type (and modality).

    Returns
    -------
    DataFrame
        ``table, dimension, group, modality, response_type, estimate, lower, upper, printed, difference, sd,
        sd_printed, inside``; ``inside`` states whether the printed mean, as rounded, lies in our interval.
    """
    ours = _keyed(result, "means", ["dimension", "group", "response_type"], optional=["modality"])
    theirs = printed(MEANS).rename(columns={"rater": "group", "mean": "printed", "sd": "sd_printed"})
    columns = ["estimate", "lower", "upper", "printed", "difference", "sd", "sd_printed", "inside"]
    return _compared(ours, theirs, ["dimension", "group", "modality", "response_type"], columns)


def published_correlations(result: Result) -> pd.DataFrame:
    """Compare printed correlations with those of `correlations` by response type.

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
    columns = ["estimate", "lower", "upper", "printed", "difference", "p_t", "p_holm", "star", "inside"]
    return _compared(ours, theirs, keys, columns)


def _keyed(result: Result, kind: str, keys: Sequence[str], optional: Sequence[str] = ()) -> pd.DataFrame:
    """The frame of a result with its keys as text; optional keys that it lacks stand for all items."""
    lacking = [name for name in keys if name not in result.frame]
    if result.kind != kind or lacking:
        what = f"has no column '{lacking[0]}'" if result.kind == kind else f"is of the kind {result.kind}"
        raise InputError(f"This result {what}; give {kind} by response_type to compare with the paper's.")
    frame = result.frame.assign(**{name: OVERALL for name in optional if name not in result.frame})
    return frame.assign(**{name: as_text(frame[name]).astype(object) for name in [*keys, *optional]})


def _compared(
    ours: pd.DataFrame, theirs: pd.DataFrame, keys: list[str], columns: Sequence[str]
) -> pd.DataFrame:
    both = compare(ours, theirs, keys, rounding=ROUNDING)
    refuse_empty(both, STUDY, "dimensions, response types and judges")
    return both[["table", *keys, *columns]]


N = {
    OVERALL: 399,
    "text": 200,
    "image": 199,
}  # items, by modality, that printed means of models agree with; no other n does
STATED = 200  # topics, according to the text of the paper
TYPES = 8
ACCURACY = {"gpt_4_1": 0.509, "gemini_2_5_pro": 0.519, "claude_sonnet_4": 0.541}
MAIN = "funniness"


def published_checks() -> pd.DataFrame:
    """Check the printed means, standard deviations, correlations and accuracies against each other.

    Returns
    -------
    DataFrame
        ``check, n_numbers, n_off, finding``: how many printed numbers a check looked at, how many do not fit,
        and the conclusion, in a sentence.

    Examples
    --------
    >>> print(*published_checks().loc[0, ["check", "n_off"]], sep=": ")
    whole ratings of 399 topics: 0
    """
    means, correlations = printed(MEANS), printed(CORRELATIONS)
    models = means[means["rater"] != HUMAN]
    rows = [_topics(models), _stated(models), _deviations(models), _parts(means), _stars(correlations)]
    return pd.DataFrame(
        [*rows, *_accuracies(means), *_own_responses(means), _text_preferred(means)],
        columns=["check", "n_numbers", "n_off", "finding"],
    )


def most_in_order(gap: float, spread: float, step: float = 1.0) -> float:
    """Largest share of topics in which one rating can exceed another by ``step``, for any distribution."""
    # Cantelli's inequality, for a difference whose standard deviation is at most the sum of the two.
    return 1.0 if gap >= step else spread**2 / (spread**2 + (step - gap) ** 2)


def fits_deviation(mean: Floats, sd: Floats, n: int, denominator: int) -> np.ndarray:
    """Whether n whole numbers can have a mean and a standard deviation, both printed with three digits."""
    # With the sum known, the sum of squares must be a whole number of the same parity.
    total = np.round(mean * n)
    low, high = (denominator * np.maximum(sd + d, 0) ** 2 + total**2 / n for d in (-ROUNDING, ROUNDING))
    first = np.ceil(low - 1e-6)
    first = first + (first - total) % 2
    return np.asarray(first <= high + 1e-6)


def _topics(models: pd.DataFrame) -> tuple[str, int, int, str]:
    off = _off(models, N)
    return (
        "whole ratings of 399 topics",
        len(models),
        off,
        f"{len(models) - off} of {len(models)} means of models are means of 200 (text), 199 (image) and 399 "
        "whole ratings.",
    )


def _stated(models: pd.DataFrame) -> tuple[str, int, int, str]:
    stated = {OVERALL: STATED, "text": STATED // 2, "image": STATED // 2}
    off = _off(models, stated)
    return (
        "whole ratings of 200 topics",
        len(models),
        off,
        f"{off} of {len(models)} means of models cannot be means of 200 topics (100 text, 100 image), as the "
        "text states: the tables are of 399.",
    )


def _off(models: pd.DataFrame, n: dict[str, int]) -> int:
    return sum(
        int((~whole_counts(part["mean"].to_numpy(dtype=float), n[str(modality)])).sum())
        for modality, part in models.groupby("modality")
    )


def _deviations(models: pd.DataFrame) -> tuple[str, int, int, str]:
    off = {
        less: sum(
            int((~fits_deviation(part["mean"].to_numpy(), part["sd"].to_numpy(), n, n - less)).sum())
            for modality, n in N.items()
            for part in [models[models["modality"] == modality]]
        )
        for less in (0, 1)
    }
    return (
        "standard deviations of whole ratings",
        len(models),
        off[1],
        f"With n - 1, {off[1]} of {len(models)} standard deviations of models cannot be those of whole "
        f"ratings with the printed mean; with n, {off[0]}.",
    )


def _parts(means: pd.DataFrame) -> tuple[str, int, int, str]:
    wide = means.pivot(
        index=["rater", "response_type", "dimension"], columns="modality", values=["mean", "sd"]
    )
    n, m = N["text"], N["image"]
    pooled = (n * wide["mean", "text"] + m * wide["mean", "image"]) / (n + m)
    squares = sum(
        (k - 1) * wide["sd", part] ** 2 + k * (wide["mean", part] - pooled) ** 2
        for k, part in ((n, "text"), (m, "image"))
    )
    apart = (
        (wide["mean", OVERALL] - pooled).abs(),
        (wide["sd", OVERALL] - (squares / (n + m - 1)) ** 0.5).abs(),
    )
    off = int(sum((gap > 2 * ROUNDING).sum() for gap in apart))
    return (
        "tables 1, 4-6 from text and image parts",
        2 * len(wide),
        off,
        f"Means and standard deviations of all topics follow from those of text and image topics (tables "
        f"10-17): the largest gap is {max(gap.max() for gap in apart):.4f}.",
    )


def _stars(table: pd.DataFrame) -> tuple[str, int, int, str]:
    n = np.where(table["response_type"] == OVERALL, TYPES * N[OVERALL], N[OVERALL])
    size, star = table["value"].abs().to_numpy(), table["significant_05"].to_numpy(dtype=bool)
    least, most = (_p(np.maximum(size + d, 0), n) for d in (ROUNDING, -ROUNDING))
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


def _p(r: Floats, n: Floats) -> Floats:
    t = r * np.sqrt((n - 2) / (1 - r**2))
    return np.asarray(2 * stdtr(n - 2, -np.abs(t)))


def _accuracies(means: pd.DataFrame) -> list[tuple[str, int, int, str]]:
    """Whether the accuracies of the order high > mid > low can be shares of topics in strict order."""
    rows = []
    for judge, share in ACCURACY.items():
        mean, sd = _cells(means, judge), _cells(means, judge, column="sd")
        bound = most_in_order(mean["high"] - mean["low"], sd["high"] + sd["low"], step=2)
        at = round(share * N[OVERALL])
        whole = "is" if abs(at / N[OVERALL] - share) <= ROUNDING else "is not"
        rows.append(
            (
                f"accuracy of tiers, {NAMES[judge]}",
                1,
                int(share > bound),
                f"{share:.1%} cannot be complete orders without ties: whole ratings with the printed means "
                f"and standard deviations give at most {bound:.1%}. It {whole} a whole number of 399 topics "
                f"({at}), so ties seem to count as in order, or pairs are counted, where chance is 50%.",
            )
        )
    return rows


def _own_responses(means: pd.DataFrame) -> list[tuple[str, int, int, str]]:
    """How much higher a model rates its own responses than those of other models."""
    people = _cells(means, HUMAN)
    rows = []
    for judge in ACCURACY:
        others = [name for name in ACCURACY if name != judge]
        rated = _cells(means, judge)
        raw, human = (
            ratings[judge] - sum(ratings[name] for name in others) / len(others)
            for ratings in (rated, people)
        )
        rows.append(
            (
                f"own responses, {NAMES[judge]}",
                1,
                int(raw <= 0),
                f"It rates its own responses {raw:+.3f} against those of the other two models; in ratings by "
                f"people, this difference is {human:+.3f}.",
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
