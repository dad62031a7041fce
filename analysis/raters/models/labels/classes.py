"""True classes behind labels: patterns of answers, likelihood and posterior with the classes summed out.

Numbers only: arrays in, arrays out. K is the number of classes, which are also the labels; J of judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from ....numerics.types import Codes, Floats


@dataclass(frozen=True)
class Patterns:
    """The different sets of answers that items got: all that the likelihood needs to know of them.

    Attributes
    ----------
    answer : ndarray of int, shape (P, R)
        ``judge * K + label`` of each of at most R answers, ``J * K`` where there are fewer.
    count : ndarray of int, shape (P,)
        Items with this pattern.
    pattern : ndarray of int, shape (I,)
        Pattern of each item.
    n_judges, n_labels : int
        J and K.
    """

    answer: Codes
    count: Codes
    pattern: Codes
    n_judges: int
    n_labels: int


def find_patterns(
    item: Codes, judge: Codes, label: Codes, n_items: int, n_judges: int, n_labels: int
) -> Patterns:
    """Group items whose judges gave the same labels; each argument but the sizes has shape (n,).

    A judge may label an item several times; each answer counts.
    """
    none = n_judges * n_labels
    answer = judge * n_labels + label
    order = np.lexsort([answer, item])
    item, answer = item[order], answer[order]
    counts = np.bincount(item, minlength=n_items)
    place = np.arange(len(item)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((n_items, int(counts.max(initial=0))), none, dtype=np.int64)
    table[item, place] = answer
    found, pattern, count = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    return Patterns(found, count.astype(np.int64), pattern.ravel().astype(np.int64), n_judges, n_labels)


def spread_logits(n_labels: int) -> Floats:
    """Matrix (K (K - 1), K K) that puts logits of wrong labels into rows of classes, 0 for the right one."""
    wrong = np.flatnonzero(~np.eye(n_labels, dtype=bool).ravel())
    spread = np.zeros((len(wrong), n_labels**2))
    spread[np.arange(len(wrong)), wrong] = 1.0
    return spread


def confusion_of(logits: Floats, n_labels: int) -> Floats:
    """Confusion matrices (..., K, K), true class by label, from logits (..., K (K - 1)) of wrong labels."""
    full = (logits @ spread_logits(n_labels)).reshape(*logits.shape[:-1], n_labels, n_labels)
    return np.asarray(np.exp(full - logsumexp(full, axis=-1, keepdims=True)))


def log_joint(prevalence: Floats, confusion: Floats, patterns: Patterns) -> Floats:
    """Log probability of each class together with each pattern of answers, shape (P, K)."""
    judges, classes, labels = confusion.shape
    with np.errstate(divide="ignore"):
        told = np.log(confusion).transpose(0, 2, 1).reshape(judges * labels, classes)
        prior = np.log(prevalence)
    told = np.vstack([told, np.zeros((1, classes))])
    return np.asarray(prior + told[patterns.answer].sum(axis=1))


def log_likelihood(prevalence: Floats, confusion: Floats, patterns: Patterns) -> float:
    """Log likelihood of all answers, classes summed out."""
    return float(patterns.count @ logsumexp(log_joint(prevalence, confusion, patterns), axis=1))


def class_posterior(prevalence: Floats, confusion: Floats, patterns: Patterns) -> Floats:
    """Posterior of each pattern's true class, shape (P, K), at one point of the parameters."""
    joint = log_joint(prevalence, confusion, patterns)
    return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))


def mean_class_posterior(prevalence: Floats, confusion: Floats, patterns: Patterns) -> Floats:
    """Posterior of each pattern's true class, shape (P, K), averaged over S draws of the parameters."""
    total = np.zeros((len(patterns.count), patterns.n_labels))
    for shares, matrices in zip(prevalence, confusion, strict=True):
        total += class_posterior(shares, matrices, patterns)
    return total / len(prevalence)


def accuracy(prevalence: Floats, confusion: Floats) -> Floats:
    """Probability of the right label for a random item, shape (...,), from (..., K) and (..., K, K)."""
    return np.asarray(np.einsum("...k,...kk->...", prevalence, confusion))


def agreement(prevalence: Floats, one: Floats, other: Floats) -> Floats:
    """Probability that two judges give a random item the same label, if they err independently."""
    return np.asarray(np.einsum("...k,...kl,...kl->...", prevalence, one, other))


def best_order(confusion: Floats, weight: Floats) -> tuple[int, ...]:
    """Find the order of classes in which judges are right most often."""
    mean = np.tensordot(weight / weight.sum(), confusion, axes=1)
    _, order = linear_sum_assignment(-mean)
    return tuple(int(place) for place in order)


def centring(answers: Sequence[int] | Codes, n_labels: int, spread: float) -> Floats:
    """How far each person's matrix is sampled as itself (1) or as a deviation from the mean (0), shape (J,).

    The more answers a person gave in a class, about ``answers / K`` of them, the better the matrix is known
    on its own, against a spread between people of ``spread`` on the logit scale.
    """
    information = np.asarray(answers, dtype=float) / n_labels * _INFORMATION * spread**2
    return np.asarray(information / (1.0 + information))


_INFORMATION = 4 / 27  # of an answer about a logit, at an accuracy of about 0.82
