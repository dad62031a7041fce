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
    outcomes = predicted.astype(float)
    outcomes[labelled] += (label - predicted)[labelled] / probability[labelled]
    return outcomes


def cross_fitted(design: np.ndarray, label: np.ndarray, weight: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Predict labels by least squares on a design (n, k), each fold from the labels of the others, (n,)."""
    labelled = ~np.isnan(label)
    predicted = np.empty(len(label))
    for number in np.unique(fold):
        in_fold = fold == number
        is_training = labelled & ~in_fold
        if not is_training.any():
            is_training = labelled
        training_weight = np.where(is_training, weight, 0.0)
        fit = least_squares(design, training_weight, training_weight * np.where(is_training, label, 0.0))
        predicted[in_fold] = design[in_fold] @ fit.coef
    return predicted
