"""Labels brought into codes for the label model, and what it cannot be put to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from conjury.inference.errors import InputError, did_you_mean, listed

from ....frames.notes import excluding
from ....frames.vocabulary import HUMAN
from ....numerics.types import Codes, Floats
from ...ratings import Ratings
from ...reading import read_ratings

MOST_NUMBERS = 10  # more numbers are a scale, and its order is lost among classes
MOST_LABELS = 20  # every judge has a confusion matrix of all labels by all labels
FEW = 5
LEAST_COUNT, RARE_SHARE = 10, 0.005  # judgments with a label under which, taken together, it is set aside
PEOPLE_SD = 0.5  # between people, on the logit scale: the median of the default prior
ATTENTIVE = 9.0  # first number of the beta distribution (its second is 1) of the attention of most people
CARELESS_SD = 1.5  # of the logits of people without attention about those of a guess
_INFORMATION = 4 / 27  # of an answer about a logit, at an accuracy of about 0.82


@dataclass(frozen=True)
class PanelLabels:
    """Labels of I items by J judges in U units: panels of people, and models."""

    ratings: Ratings
    labels: tuple[str, ...]  # length K
    label: Codes  # (n,); position of each answer in ``labels``
    patterns: Patterns
    units: tuple[str, ...]  # Panels first, then models
    n_panels: int
    unit: Codes  # (J,); unit of each judge
    person: Codes  # (people,); judges who are people
    # (people,); how far each person's logits are sampled as themselves; see `centring`
    centring: Floats
    answers: Codes  # (J,); answers of each judge
    notes: tuple[str, ...]


def read_labels(
    judgments: pd.DataFrame,
    dimension: str | None = None,
    labels: Sequence[object] | None = None,
    min_count: int | None = None,
) -> PanelLabels:
    """Check judgments and bring their labels into codes; InputError where the model would mean nothing."""
    ratings = read_ratings(judgments, dimension=dimension, numeric=False)
    is_repeat = ratings.is_human & ~ratings.first_samples
    if is_repeat.any():
        ratings = ratings.where(~is_repeat)
    texts = ratings.frame["value"].astype(str)
    numbers = pd.to_numeric(texts, errors="coerce")
    are_numbers = bool(numbers.notna().all())
    if are_numbers:
        texts = numbers.map("{:g}".format)
    least = min_count if min_count is not None else LEAST_COUNT if labels is None else 0
    rare = rare_labels(texts, least)
    of_rare = texts.isin(list(rare)).to_numpy(dtype=bool)
    if rare:
        ratings, texts = ratings.where(~of_rare), texts[~of_rare].reset_index(drop=True)
    categories = sorted(set(texts), key=float if are_numbers else str)
    _check_number(categories, are_numbers)
    chosen = tuple(categories) if labels is None else _requested_labels(labels, categories)
    if len(chosen) < 2:
        raise InputError(f"Every judgment is '{categories[0]}'; labels need at least two kinds.")
    label = pd.Index(chosen).get_indexer(pd.Index(texts)).astype(np.int64)
    patterns = find_patterns(
        ratings.item, ratings.judge, label, len(ratings.items), len(ratings.judges), len(chosen)
    )
    shared = pd.Series(ratings.judge).groupby(ratings.item).nunique()
    if int(shared.max()) < 2:
        why = "there is one judge" if len(ratings.judges) == 1 else "no item has labels by two judges"
        raise InputError(
            f"True labels are not identified: {why}; the label model needs items with labels by several "
            "judges."
        )
    answers = np.bincount(ratings.judge, minlength=len(ratings.judges)).astype(np.int64)
    people = np.array([kind == HUMAN for kind in ratings.kinds])
    groups = np.array(ratings.groups)
    panels, models = (list(dict.fromkeys(groups[part])) for part in (people, ~people))
    units = tuple(str(name) for name in [*panels, *models])
    counts = np.bincount(label, minlength=len(chosen))
    notes = list(ratings.notes)
    if is_repeat.any():
        notes.append(
            excluding(
                "{n:,} repeated judgments by people are not used, only the first of each.", n=is_repeat.sum()
            )
        )
    for name, times in rare.items():
        notes.append(
            excluding(
                "Label '{name}' is used in {times:,} of {n:,} judgments, fewer than {least:,}: they are "
                "excluded, since chains do not converge for such a rare class. Keep them with `--min-count "
                "0` (in Python `min_count=0`).",
                name=name,
                times=times,
                n=len(of_rare),
                least=least,
            )
        )
    for name, times in zip(chosen, counts, strict=True):
        if times < FEW:
            often = "by nobody" if not times else f"in {times:,} of {len(label):,} judgments"
            notes.append(f"Label '{name}' is used {often}: its estimates depend on the prior.")
    if int(shared.max()) == 2:
        notes.append(
            "No item has labels by more than two judges: which judge is correct depends on the priors."
        )
    return PanelLabels(
        ratings,
        chosen,
        label,
        patterns,
        units,
        len(panels),
        np.array([units.index(str(group)) for group in groups], dtype=np.int64),
        np.flatnonzero(people).astype(np.int64),
        centring(answers[people], len(chosen), PEOPLE_SD),
        answers,
        tuple(notes),
    )


def rare_labels(texts: pd.Series[str], least: int) -> dict[str, int]:
    """Count labels that occur less than ``least`` times and in less than ``RARE_SHARE`` of judgments."""
    counts = texts.value_counts()
    rare = counts[(counts < least) & (counts < RARE_SHARE * len(texts))].sort_index()
    return {str(name): int(count) for name, count in rare.items()}


def _check_number(categories: list[str], are_numbers: bool) -> None:
    if are_numbers and len(categories) > MOST_NUMBERS:
        raise InputError(
            f"Column 'value' contains {len(categories):,} different numbers; the label model is for labels "
            "without order, so use rater_model, or group the numbers into a few classes."
        )
    if len(categories) > MOST_LABELS:
        raise InputError(
            f"There are {len(categories):,} different labels, more than {MOST_LABELS}; merge the rare ones."
        )


def _requested_labels(labels: Sequence[object], categories: list[str]) -> tuple[str, ...]:
    names = tuple(f"{name:g}" if isinstance(name, (int, float)) else str(name) for name in labels)
    if len(set(names)) < len(names):
        raise InputError(f"labels names a label twice: {listed(names)}; name each once.")
    stray = next((name for name in categories if name not in names), None)
    if stray is not None:
        raise InputError(
            f"Column 'value' contains '{stray}', which is not among the labels ({listed(names)})"
            f"{did_you_mean(stray, list(names))}; correct it, exclude those rows, or add it to the labels."
        )
    return names


@dataclass(frozen=True)
class Patterns:
    """The different sets of answers that items got: all that the likelihood needs to know of them."""

    # (P, R); ``judge * K + label`` of each of at most R answers, ``J * K`` where there are fewer
    answer: Codes
    count: Codes  # (P,); items with this pattern
    pattern: Codes  # (I,); pattern of each item
    n_judges: int  # J
    n_labels: int  # K


def find_patterns(
    item: Codes, judge: Codes, label: Codes, n_items: int, n_judges: int, n_labels: int
) -> Patterns:
    """Group items whose judges gave the same labels; each argument but the sizes has shape (n,)."""
    none = n_judges * n_labels
    answer = judge * n_labels + label
    order = np.lexsort([answer, item])
    item, answer = item[order], answer[order]
    counts = np.bincount(item, minlength=n_items)
    place = np.arange(len(item)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((n_items, int(counts.max(initial=0))), none, dtype=np.int64)
    table[item, place] = answer
    unique_rows, pattern, count = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    return Patterns(unique_rows, count.astype(np.int64), pattern.ravel().astype(np.int64), n_judges, n_labels)


def spread_logits(n_labels: int) -> Floats:
    """Matrix (K (K - 1), K K) that puts logits of wrong labels in rows of classes, 0 for the right one."""
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
        log_confusion = np.log(confusion).transpose(0, 2, 1).reshape(judges * labels, classes)
        prior = np.log(prevalence)
    log_confusion = np.vstack([log_confusion, np.zeros((1, classes))])
    return np.asarray(prior + log_confusion[patterns.answer].sum(axis=1))


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


def by_attention(mean: Any, spread: Any, attention: Any) -> tuple[Any, Any]:
    """Mean and SD of people's logits by their attention; arguments broadcast, as arrays or as tensors."""
    # a smooth step, so that people are either much like their panel or much like one who guesses
    step = attention**3 / (attention**3 + (1 - attention) ** 3)
    return step * mean, step * spread + (1 - step) * CARELESS_SD


def agreement(prevalence: Floats, first: Floats, second: Floats) -> Floats:
    """Probability that two judges give a random item the same label, if they err independently."""
    return np.asarray(np.einsum("...k,...kl,...kl->...", prevalence, first, second))


def best_order(confusion: Floats, weight: Floats) -> tuple[int, ...]:
    """Find the order of classes in which judges are right most often."""
    mean = np.tensordot(weight / weight.sum(), confusion, axes=1)
    _, order = linear_sum_assignment(-mean)
    return tuple(int(place) for place in order)


def centring(answers: Sequence[int] | Codes, n_labels: int, spread: float) -> Floats:
    """How far each matrix is sampled as itself (1) or as a deviation from the mean (0), shape (J,)."""
    # The more answers a person gave in a class, about answers / K, the better the matrix is known alone.
    information = np.asarray(answers, dtype=float) / n_labels * _INFORMATION * spread**2
    return np.asarray(information / (1.0 + information))
