"""The likelihood with true classes summed out, against sums over every assignment of classes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from conjury.analysis.raters.models.labels.data import (
    accuracy,
    agreement,
    best_order,
    centring,
    class_posterior,
    confusion_of,
    find_patterns,
    log_likelihood,
    mean_class_posterior,
)

Floats = NDArray[np.float64]


def _answers(
    rng: np.random.Generator, items: int, judges: int, labels: int, answers: int
) -> tuple[Floats, Floats, tuple[NDArray[np.int64], ...]]:
    prevalence = rng.dirichlet(np.ones(labels))
    confusion = rng.dirichlet(np.ones(labels), size=(judges, labels))
    told = tuple(rng.integers(0, size, answers) for size in (items, judges, labels))
    return prevalence, confusion, told


def _by_enumeration(
    prevalence: Floats, confusion: Floats, told: tuple[NDArray[np.int64], ...], items: int
) -> tuple[float, Floats]:
    """Likelihood and class posteriors of each item, by summing over all assignments of classes to items."""
    classes = len(prevalence)
    whole, by_item = 0.0, np.zeros((items, classes))
    for truth in product(range(classes), repeat=items):
        weight = float(np.prod(prevalence[list(truth)]))
        for item, judge, label in zip(*told, strict=True):
            weight *= confusion[judge, truth[item], label]
        whole += weight
        for item, own in enumerate(truth):
            by_item[item, own] += weight
    return np.log(whole), by_item / whole


@pytest.mark.parametrize(("labels", "judges", "answers"), [(2, 3, 9), (3, 2, 8), (3, 4, 14), (4, 1, 5)])
def test_likelihood_is_the_sum_over_all_true_classes(labels: int, judges: int, answers: int) -> None:
    rng = np.random.default_rng(labels * 100 + judges)
    prevalence, confusion, told = _answers(rng, 4, judges, labels, answers)
    patterns = find_patterns(*told, n_items=4, n_judges=judges, n_labels=labels)
    likelihood, posterior = _by_enumeration(prevalence, confusion, told, 4)
    assert log_likelihood(prevalence, confusion, patterns) == pytest.approx(likelihood, rel=1e-12)
    found = class_posterior(prevalence, confusion, patterns)[patterns.pattern]
    np.testing.assert_allclose(found, posterior, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 4), st.integers(1, 40))
def test_patterns_hold_every_answer_once(seed: int, labels: int, judges: int, answers: int) -> None:
    rng = np.random.default_rng(seed)
    _, _, (item, judge, label) = _answers(rng, 7, judges, labels, answers)
    made = find_patterns(item, judge, label, 7, judges, labels)
    for one in range(7):
        given_to = sorted((judge * labels + label)[item == one].tolist())
        stored = [code for code in made.answer[made.pattern[one]].tolist() if code < judges * labels]
        assert sorted(stored) == given_to
    np.testing.assert_array_equal(np.bincount(made.pattern, minlength=len(made.count)), made.count)
    assert len(np.unique(made.answer, axis=0)) == len(made.answer)


def test_several_answers_of_one_judge_to_one_item_all_count() -> None:
    item, judge, label = np.array([0, 0, 0]), np.array([0, 0, 0]), np.array([1, 1, 0])
    prevalence, confusion = np.array([0.3, 0.7]), np.array([[[0.9, 0.1], [0.2, 0.8]]])
    patterns = find_patterns(item, judge, label, 1, 1, 2)
    expected = np.array([0.3 * 0.1 * 0.1 * 0.9, 0.7 * 0.8 * 0.8 * 0.2])
    np.testing.assert_allclose(
        class_posterior(prevalence, confusion, patterns)[0], expected / expected.sum(), rtol=1e-12
    )


def test_an_item_without_answers_keeps_the_prevalence() -> None:
    patterns = find_patterns(np.array([0]), np.array([0]), np.array([1]), 2, 1, 2)
    prevalence = np.array([0.3, 0.7])
    found = class_posterior(prevalence, np.array([[[0.9, 0.1], [0.2, 0.8]]]), patterns)
    np.testing.assert_allclose(found[patterns.pattern[1]], prevalence)


def test_logits_become_rows_that_sum_to_one_with_the_right_label_as_reference() -> None:
    logits = np.random.default_rng(1).normal(size=(5, 6))
    made = confusion_of(logits, 3)
    np.testing.assert_allclose(made.sum(axis=-1), 1.0)
    np.testing.assert_allclose(np.log(made[:, 1, 0] / made[:, 1, 1]), logits[:, 2])
    np.testing.assert_allclose(np.log(made[:, 2, 1] / made[:, 2, 2]), logits[:, 5])


def test_accuracy_and_agreement_are_those_of_simulated_labels() -> None:
    rng = np.random.default_rng(3)
    prevalence, confusion, _ = _answers(rng, 1, 2, 3, 1)
    truth = rng.choice(3, size=200_000, p=prevalence)
    one, other = (
        (rng.random(len(truth))[:, None] > matrix[truth].cumsum(axis=1)).sum(axis=1) for matrix in confusion
    )
    assert accuracy(prevalence, confusion[0]) == pytest.approx((one == truth).mean(), abs=0.005)
    assert agreement(prevalence, confusion[0], confusion[1]) == pytest.approx(
        (one == other).mean(), abs=0.005
    )


def test_class_posteriors_are_averaged_over_draws_not_computed_at_their_mean() -> None:
    patterns = find_patterns(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]), 1, 2, 2)
    prevalence = np.array([[0.5, 0.5], [0.5, 0.5]])
    sure, unsure = np.array([[0.99, 0.01], [0.01, 0.99]]), np.array([[0.6, 0.4], [0.4, 0.6]])
    confusion = np.array([[sure, sure], [unsure, unsure]])
    found = mean_class_posterior(prevalence, confusion, patterns)[0, 1]
    each = [0.99**2 / (0.99**2 + 0.01**2), 0.6**2 / (0.6**2 + 0.4**2)]
    assert found == pytest.approx(np.mean(each))


def test_switched_labels_are_seen_whatever_a_single_contrary_judge_does() -> None:
    good, contrary = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.1, 0.9], [0.9, 0.1]])
    confusion = np.array([good, good, contrary])
    assert best_order(confusion, np.array([100.0, 100.0, 50.0])) == (0, 1)
    assert best_order(confusion[:, ::-1], np.array([100.0, 100.0, 50.0])) == (1, 0)


def test_matrices_of_people_with_many_answers_are_sampled_as_themselves() -> None:
    weights = centring([0, 10, 1000, 100_000], 3, 0.5)
    assert weights[0] == 0
    assert (np.diff(weights) > 0).all()
    assert weights[-1] > 0.99


@pytest.mark.parametrize(("labels", "judges"), [(2, 3), (4, 2)])
def test_compiled_likelihood_and_its_gradient_are_those_of_the_plain_one(labels: int, judges: int) -> None:
    pytest.importorskip("numba")
    from conjury.analysis.raters.models.labels.kernel import log_likelihood as compiled

    rng = np.random.default_rng(labels)
    _, _, told = _answers(rng, 6, judges, labels, 20)
    patterns = find_patterns(*told, n_items=7, n_judges=judges, n_labels=labels)
    shares, logits = rng.normal(size=labels), rng.normal(size=(judges + 1, labels * (labels - 1)))
    row = np.append(np.arange(1, judges), 1) if judges > 2 else np.arange(judges)

    def plain(shares: Floats, logits: Floats) -> float:
        constant = np.log(np.exp(shares).sum())  # the kernel takes shares as they are
        found = log_likelihood(np.exp(shares - constant), confusion_of(logits, labels)[row], patterns)
        return found + constant * patterns.count.sum()

    value, by_shares, by_logits = compiled(shares, logits, row, patterns.answer, patterns.count)
    assert value == pytest.approx(plain(shares, logits), rel=1e-12)
    step = 1e-6
    for k in range(labels):
        e = step * np.eye(labels)[k]
        moved = (plain(shares + e, logits) - plain(shares - e, logits)) / (2 * step)
        assert by_shares[k] == pytest.approx(moved, rel=1e-5, abs=1e-6)
    for at in np.ndindex(logits.shape):
        change = np.zeros_like(logits)
        change[at] = step
        moved = (plain(shares, logits + change) - plain(shares, logits - change)) / (2 * step)
        assert by_logits[at] == pytest.approx(moved, rel=1e-5, abs=1e-6)
