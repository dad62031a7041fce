"""Captions of figures of ratings and labels, and the methods behind their numbers, by kind of result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .cells import resampled

CAPTIONS = {
    "means": "Points: means of item means; lines: {level} intervals with bootstrap standard errors, {drawn}.",
    "radar": "Lines: the same means of item means, a spoke for each dimension.",
    "distributions": "Bars: shares of single ratings.",
    "correlations": (
        "Points: correlations between the people's mean and the model; lines: {level} intervals with "
        "bootstrap standard errors on Fisher's scale, {drawn}."
    ),
    "rating_lines": "Points: items; lines: least squares, with {level} bootstrap bands, {drawn}.",
    "dimension_correlations": "Cells: correlations over items, people below the diagonal, a model above it.",
    "tier_accuracy": "Points: shares; lines: Wilson's {level} intervals at the bootstrap error, {drawn}; "
    "upright strokes: chance.",
    "biases": "Points: differences between a model and people; lines: {level} intervals with bootstrap "
    "standard errors, {drawn}.",
    "rater_model": "Points: posterior means; lines: {level} posterior intervals.",
    "judges": "Points: posterior means of single raters; lines: {level} posterior intervals.",
    "dimension_model": "Cells: posterior means of latent correlations.",
    "label_model": "Cells: posterior means of the shares in which a true class gets each label.",
    "certainty": "Bars: items by the posterior probability of their most probable class.",
    "agreement": (
        "Points: coefficients; lines: {level} percentile bootstrap intervals, {drawn}, else analytical ones."
    ),
    "pairs": "Cells: agreement of two raters.",
    "alt_test": (
        "Points: rates, filled where the model passes; lines: {level} percentile bootstrap intervals, "
        "{drawn}; upright lines: 0.5."
    ),
    "epsilon": "Lines: winning rates.",
    "alt_power": "Lines: shares of simulated studies that a model passes; bands: {level} intervals of the "
    "simulation.",
    "recovery": "Points: estimates, hollow where the interval misses the true value; lines: intervals.",
    "readings": "Bars: percent of the answers.",
    "compared": "Bars: percent of the answers.",
    "scores": "Points: scores; lines: {level} percentile bootstrap intervals, {drawn}; dashed: baselines.",
    "policies": "Points: scores under each rule; lines: {level} percentile bootstrap intervals, {drawn}.",
    "recalls": "Points: shares of a kind of gold label that is found; lines: {level} percentile bootstrap "
    "intervals, {drawn}.",
    "probabilities": "Points: scores of probabilities; lines: {level} percentile bootstrap intervals, "
    "{drawn}.",
    "passes": "Lines: scores of k answers; bands: {level} percentile bootstrap intervals, {drawn}.",
    "confusion": "Cells: percent of the units of a gold label that got each answer; framed: the right one.",
    "by_label": "Points: how often a label is given for every time it is gold; lines: {level} percentile "
    "bootstrap intervals, {drawn}.",
    "errors": "Lines: scores by the length of items; bands: {level} percentile bootstrap intervals, {drawn}.",
    "differences": "Paired differences on the same items, with {level} percentile bootstrap intervals, "
    "{drawn}, or as colours where judges are many.",
    "mixed": "Points: odds ratios of a right answer; lines: {level} Wald intervals.",
    "robustness": "Points: score of perturbed items less that of the originals; lines: {level} percentile "
    "bootstrap intervals, {drawn}.",
    "annotators": "Points: coefficients; lines: {level} intervals.",
}
METHODS = {
    "coverage": "Judges, items and ratings are counted.",
    "means": (
        "Ratings of an item are averaged over samples and people, then over items. Intervals are normal, "
        "with bootstrap standard errors."
    ),
    "distributions": "Single ratings are counted.",
    "correlations": (
        "Correlations over items between the people's mean and the model. Intervals and p values are normal "
        "on Fisher's scale, with bootstrap standard errors; p values are adjusted by Holm's procedure."
    ),
    "rating_lines": "Least squares of a model's ratings on the people's mean; bands from bootstrap draws.",
    "dimension_correlations": (
        "Correlations over items between dimensions; intervals are normal on Fisher's scale, with bootstrap "
        "standard errors; p values are adjusted by Holm's procedure."
    ),
    "tier_accuracy": (
        "Shares of topics in which ratings put the tiers in order, with Wilson's intervals at the bootstrap "
        "error; p values by shuffling tiers within topics, adjusted by Holm's procedure."
    ),
    "biases": (
        "Differences between a model and people on the same items; intervals are normal with bootstrap "
        "standard errors; p values are adjusted by Holm's procedure."
    ),
    "agreement": (
        "Agreement coefficients with percentile bootstrap intervals; analytical standard errors are "
        "clustered, with Student's t."
    ),
    "alt_test": (
        "The alternative annotator test: a one-sided paired t test for each annotator, "
        "adjusted over annotators; intervals are percentiles of bootstrap draws."
    ),
    "alt_power": "The test is run on simulated panels; intervals are Wilson's.",
    "rater_model": "A Bayesian model of ordinal ratings; estimates are posterior means.",
    "dimension_model": "A Bayesian model of several ordinal ratings; estimates are posterior means.",
    "label_model": "A Bayesian model of labels with unknown true classes; estimates are posterior means.",
    "readings": "Answers are counted by what was read in them.",
    "scores": (
        "Scores against gold labels. Intervals are percentiles of bootstrap draws; shares of 0 and 1 have "
        "Wilson's interval."
    ),
    "probabilities": "Scores of probabilities against gold labels, with percentile bootstrap intervals.",
    "passes": ("Means over all subsets of k answers to an item, with percentile bootstrap intervals."),
    "confusion": "Answers are counted by gold label.",
    "by_label": (
        "How often a label is given for every time it is gold, with percentile bootstrap intervals; p values "
        "are adjusted over labels and judges."
    ),
    "errors": "Scores in groups of items of similar length, with percentile bootstrap intervals.",
    "differences": (
        "Paired differences on the same items: percentile bootstrap intervals of both sides drawn together, "
        "and McNemar's test where the score is a share of right answers, else the bootstrap's."
    ),
    "mixed": (
        "Logistic regression of right answers on judges, with a normal intercept for each item; intervals "
        "are Wald's."
    ),
    "robustness": "Paired differences between perturbed items and their originals, as between judges.",
    "annotators": "Agreement coefficients of the people whose votes are the gold labels.",
    "cards": "Items are chosen by how many judges are right.",
}


def caption(title: str, kind: str, settings: Mapping[str, Any]) -> str:
    """Say under a figure what its points, lines and bands are."""
    text = CAPTIONS.get(kind, "")
    if settings.get("draws") == 0 and "{drawn}" in text:
        text = text.partition("; ")[0].rstrip(".") + "."
        text = text if "{" not in text else ""
    level = f"{100 * (1 - float(settings.get('alpha', 0.05))):g}%"
    return f"{title} {text.format(level=level, drawn=f'{resampled(settings)} resampled')}".rstrip()
