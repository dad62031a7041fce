"""Writes truth.csv: parameters under which simulated ratings come close to what the paper prints.

Means by response type, shifts of pictures, spreads and thresholds are fitted to the printed means and
standard deviations; the correlation of each model with the consensus is fitted to the mean of the printed
correlations within response types. What the paper does not print (how people differ, how dimensions go
together, how reliable one rating is) is assumed below. Run it as: python make_truth.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq, least_squares

from conjury.inference.paths import PUBLISHED
from conjury.inference.ratings.expected import expected_curve, raw_correlation
from conjury.inference.ratings.truth_table import COLUMNS, Rater

Floats = NDArray[np.float64]

DIMENSIONS = ["novelty", "clarity", "relevance", "intelligence", "empathy", "funniness"]
TYPES = ["high", "mid", "low", "unrelated", "serious", "gpt_4_1", "gemini_2_5_pro", "claude_sonnet_4"]
PRINTED_TYPES = [
    *("High", "Mid", "Low", "Unrelated", "GPT-4.1 (serious)"),
    *("GPT-4.1", "Gemini 2.5 Pro", "Claude Sonnet 4"),
]
PRINTED_DIMENSIONS = ["Novelty", "Clarity", "Relevance", "Intelligence", "Empathy", "Overall Funniness"]
JUDGES = {
    "human": "human",
    "gpt_4_1": "GPT-4.1",
    "gemini_2_5_pro": "Gemini 2.5 Pro",
    "claude_sonnet_4": "Claude Sonnet 4",
}
SIZES = {"text": 200, "image": 199}
PEOPLE = 104
RATERS = 4

# Correlations between dimensions within a response type, in the order of DIMENSIONS: of what people agree on,
# and of what each model does not share with them.
CORRELATIONS = {
    "human": [
        [1.00, 0.10, 0.05, 0.40, 0.15, 0.35],
        [0.10, 1.00, 0.65, 0.30, 0.65, 0.50],
        [0.05, 0.65, 1.00, 0.35, 0.60, 0.45],
        [0.40, 0.30, 0.35, 1.00, 0.35, 0.45],
        [0.15, 0.65, 0.60, 0.35, 1.00, 0.75],
        [0.35, 0.50, 0.45, 0.45, 0.75, 1.00],
    ],
    "gpt_4_1": [
        [1.00, 0.05, 0.10, 0.45, 0.15, 0.80],
        [0.05, 1.00, 0.50, 0.10, 0.35, 0.15],
        [0.10, 0.50, 1.00, 0.20, 0.40, 0.25],
        [0.45, 0.10, 0.20, 1.00, 0.25, 0.40],
        [0.15, 0.35, 0.40, 0.25, 1.00, 0.35],
        [0.80, 0.15, 0.25, 0.40, 0.35, 1.00],
    ],
    "gemini_2_5_pro": [
        [1.00, 0.05, 0.05, 0.35, 0.00, 0.80],
        [0.05, 1.00, 0.50, 0.05, 0.40, 0.20],
        [0.05, 0.50, 1.00, 0.10, 0.40, 0.25],
        [0.35, 0.05, 0.10, 1.00, 0.15, 0.30],
        [0.00, 0.40, 0.40, 0.15, 1.00, 0.25],
        [0.80, 0.20, 0.25, 0.30, 0.25, 1.00],
    ],
    "claude_sonnet_4": [
        [1.00, 0.10, 0.15, 0.60, 0.25, 0.80],
        [0.10, 1.00, 0.55, 0.20, 0.45, 0.20],
        [0.15, 0.55, 1.00, 0.25, 0.50, 0.30],
        [0.60, 0.20, 0.25, 1.00, 0.35, 0.65],
        [0.25, 0.45, 0.50, 0.35, 1.00, 0.40],
        [0.80, 0.20, 0.30, 0.65, 0.40, 1.00],
    ],
}
SINGLE = {"topic_share": 0.15, "severity_correlation": 0.6, "discrimination_sd": 0.2, "halo_sd": 0.5}
SEVERITY_SD = 0.6
MODEL_ITEM_SD = 2.5
STEP = {"human": 2.4, "model": 3.0}  # between thresholds, where nothing is known of them


def printed(judge: str) -> Floats:
    """Printed means and standard deviations, shape (2, D, M, T)."""
    table = pd.read_csv(PUBLISHED / "oogiri_means.csv")
    table = table[(table["rater"] == JUDGES[judge]) & table["modality"].isin(SIZES)]
    keys = [table[name] for name in ("dimension", "modality", "response_type")]
    index = pd.MultiIndex.from_product([PRINTED_DIMENSIONS, SIZES, PRINTED_TYPES])
    found = table.set_index(keys)[["mean", "sd"]].reindex(index).to_numpy(dtype=float)
    assert not np.isnan(found).any()
    return found.T.reshape(2, len(DIMENSIONS), len(SIZES), len(TYPES))


def start(judge: str) -> Rater:
    """A rater before fitting."""
    kind = "human" if judge == "human" else "model"
    d, t = len(DIMENSIONS), len(TYPES)
    people = kind == "human"
    return Rater(
        judge,
        kind,
        mean=np.zeros((d, t)),
        shift=np.zeros((d, len(SIZES))),
        item_sd=np.full((d, t), 1.0 if people else MODEL_ITEM_SD),
        threshold=np.tile(STEP[kind] * np.array([-1.5, -0.5, 0.5, 1.5]), (d, 1)),
        correlation=np.array(CORRELATIONS[judge]),
        topic_share=SINGLE["topic_share"],
        severity_sd=np.full(d, SEVERITY_SD if people else 0.0),
        severity_correlation=SINGLE["severity_correlation"] if people else 0.0,
        discrimination_sd=SINGLE["discrimination_sd"] if people else 0.0,
        halo_sd=SINGLE["halo_sd"] if people else 0.0,
        consensus_correlation=np.full(d, 1.0 if people else 0.5),
    )


def with_row(rater: Rater, d: int, mean: Floats, image: float, sd: Floats, threshold: Floats) -> Rater:
    """Put the parameters of one dimension in place."""
    new = {name: getattr(rater, name).copy() for name in ("mean", "shift", "item_sd", "threshold")}
    new["mean"][d], new["shift"][d, 1], new["item_sd"][d], new["threshold"][d] = mean, image, sd, threshold
    return replace(rater, **new)


def fit(rater: Rater, panel: Rater, d: int, target: Floats) -> Rater:
    """Fit means, the shift of pictures, and spreads (people) or thresholds (models) of one dimension."""
    people = rater.kind == "human"
    n = len(TYPES)
    usual = rater.threshold[d]

    def unpack(values: Floats) -> tuple[Floats, float, Floats, Floats]:
        mean, image = values[:n], float(values[n])
        if people:
            return mean, image, np.exp(values[n + 1 :]), usual
        steps = np.exp(values[n + 1 :])
        cuts = np.concatenate([[0.0], np.cumsum(steps)])
        return mean, image, rater.item_sd[d], cuts - cuts.mean()

    def misfit(values: Floats) -> Floats:
        tried = with_row(rater, d, *unpack(values))
        mean, variance = expected_curve(tried, panel, d).overall(RATERS if people else 1)
        wrong = np.concatenate(
            [mean - target[0].reshape(-1), 0.7 * (np.sqrt(variance) - target[1].reshape(-1))]
        )
        expected = np.zeros(n) if people else np.full(3, np.log(STEP["model"]))
        return np.concatenate([wrong, 0.02 * (values[n + 1 :] - expected)])

    step = STEP[rater.kind]
    middle = (target[0].mean(axis=0) - 2) * step
    guess = np.concatenate([middle, [0.0], np.zeros(n) if people else np.full(3, np.log(step))])
    return with_row(rater, d, *unpack(least_squares(misfit, guess).x))


def fit_correlation(model: Rater, panel: Rater, d: int, target: float) -> float:
    """Correlation with the consensus under which raw correlations within types have the printed mean."""
    people = expected_curve(panel, panel, d)
    cells = len(SIZES) * len(TYPES)

    def mean_within(correlation: float) -> float:
        values = model.consensus_correlation.copy()
        values[d] = correlation
        curve = expected_curve(replace(model, consensus_correlation=values), panel, d)
        return float(np.mean([raw_correlation(people, curve, only, RATERS) for only in np.eye(cells)]))

    return float(brentq(lambda value: mean_within(value) - target, -0.9, 0.95, xtol=1e-3))


def printed_correlation(judge: str, d: int) -> float:
    """Mean of the printed correlations (Pearson) within response types."""
    table = pd.read_csv(PUBLISHED / "oogiri_correlations.csv")
    kept = (
        (table["rater"] == JUDGES[judge])
        & (table["dimension"] == PRINTED_DIMENSIONS[d])
        & (table["coefficient"] == "pearson")
        & table["response_type"].isin(PRINTED_TYPES)
    )
    assert kept.sum() == len(TYPES)
    return float(table.loc[kept, "value"].mean())


def rows(rater: Rater) -> list[tuple[str, str, str, str, str, str]]:
    """Rows of the truth table."""
    made: list[tuple[str, str, str, float]] = []
    people = rater.kind == "human"
    if people:
        made += [("topics", "", modality, n) for modality, n in SIZES.items()]
        made += [("people", "", "", PEOPLE), ("severity_sd", "", "", SEVERITY_SD)]
        made += [(name, "", "", value) for name, value in SINGLE.items()]
    else:
        made += [("topic_share", "", "", SINGLE["topic_share"])]
    for d, dimension in enumerate(DIMENSIONS):
        if not people:
            made.append(("consensus_correlation", dimension, "", rater.consensus_correlation[d]))
            made.append(("item_sd", dimension, "", rater.item_sd[d, 0]))
        made += [("threshold", dimension, str(k + 1), cut) for k, cut in enumerate(rater.threshold[d])]
        made += [("modality", dimension, "image", rater.shift[d, 1])]
        made += [("mean", dimension, kind, rater.mean[d, t]) for t, kind in enumerate(TYPES)]
        if people:
            made += [("item_sd", dimension, kind, rater.item_sd[d, t]) for t, kind in enumerate(TYPES)]
        made += [
            ("correlation", dimension, other, rater.correlation[d, d + 1 + e])
            for e, other in enumerate(DIMENSIONS[d + 1 :])
        ]
    return [(rater.judge, rater.kind, *key, f"{round(value, 2):g}") for *key, value in made]


def main() -> None:
    """Fit all raters and write the table."""
    panel = start("human")
    for d in range(len(DIMENSIONS)):
        panel = fit(panel, panel, d, printed("human")[:, d])
    table = rows(panel)
    for judge in list(JUDGES)[1:]:
        model = start(judge)
        for d in range(len(DIMENSIONS)):
            model = fit(model, panel, d, printed(judge)[:, d])
            values = model.consensus_correlation.copy()
            values[d] = fit_correlation(model, panel, d, printed_correlation(judge, d))
            model = replace(model, consensus_correlation=values)
        table += rows(model)
    made = pd.DataFrame(table, columns=COLUMNS)
    made.to_csv(Path(__file__).with_name("truth.csv"), index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
