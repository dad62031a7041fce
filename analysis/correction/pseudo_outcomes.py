"""Outcomes of every task from labels that were sampled with known probabilities.

References
----------
Egami, N., Hinck, M., Stewart, B. M., Wei, H. (2023). Using imperfect surrogates for downstream inference:
Design-based supervised learning for social science applications of large language models. NeurIPS 36.
doi:10.48550/arXiv.2306.04746

Zrnic, T., Candes, E. J. (2024). Active statistical inference. ICML. doi:10.48550/arXiv.2403.03208
"""

from __future__ import annotations

import numpy as np

from ..numerics.linear import least_squares


def pseudo_outcomes(predicted: np.ndarray, label: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Predictions plus the labelled rows' errors over their sampling probabilities, shape (n,)."""
    # `label` is NaN where a row was not labelled; `probability` is read where it was.
    labelled = ~np.isnan(label)
    made = predicted.astype(float)
    made[labelled] += (label - predicted)[labelled] / probability[labelled]
    return made


def cross_fitted(design: np.ndarray, label: np.ndarray, weight: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Predict labels by least squares on a design (n, k), each fold from the labels of the others, (n,)."""
    labelled = ~np.isnan(label)
    predicted = np.empty(len(label))
    for number in np.unique(fold):
        own = fold == number
        kept = labelled & ~own
        if not kept.any():
            kept = labelled
        used = np.where(kept, weight, 0.0)
        fit = least_squares(design, used, used * np.where(kept, label, 0.0))
        predicted[own] = design[own] @ fit.coef
    return predicted
