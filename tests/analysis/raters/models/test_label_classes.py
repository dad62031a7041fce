"""The likelihood with true classes summed out, against sums over every assignment of classes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from conjury.analysis.raters.models.labels import panel_labels

Floats = NDArray[np.float64]


TWO = np.array([0.3, 0.7])
ONE_JUDGE = np.array([[[0.9, 0.1], [0.2, 0.8]]])


def _answers(
    rng: np.random.Generator, items: int, judges: int, labels: int, answers: int
) -> tuple[Floats, Floats, tuple[NDArray[np.int64], ...]]:
    confusion = rng.dirichlet(np.ones(labels), size=(judges, labels))
    given = tuple(rng.integers(0, size, answers) for size in (items, judges, labels))
    return rng.dirichlet(np.ones(labels)), confusion, given


def _by_enumeration(
    prevalence: Floats, confusion: Floats, given: tuple[NDArray[np.int64], ...], items: int
) -> tuple[float, Floats]:
    """Likelihood and class posteriors of each item, by summing over all assignments of classes to items."""
    by_item, whole = np.zeros((items, len(prevalence))), 0.0
    for truth in product(range(len(prevalence)), repeat=items):
        weight = float(np.prod(prevalence[list(truth)]))
        for item, judge, label in zip(*given, strict=True):
            weight *= confusion[judge, truth[item], label]
        whole += weight
        by_item[range(items), truth] += weight
    return np.log(whole), by_item / whole


@pytest.mark.parametrize(("labels", "judges", "answers"), [(2, 3, 9), (3, 2, 8), (3, 4, 14), (4, 1, 5)])
def test_likelihood_is_the_sum_over_all_true_classes(labels: int, judges: int, answers: int) -> None:
    rng = np.random.default_rng(labels * 100 + judges)
    prevalence, confusion, told = _answers(rng, 4, judges, labels, answers)
    patterns = panel_labels.find_patterns(*told, n_items=4, n_judges=judges, n_labels=labels)
    likelihood, posterior = _by_enumeration(prevalence, confusion, told, 4)
    assert panel_labels.log_likelihood(prevalence, confusion, patterns) == pytest.approx(
        likelihood, rel=1e-12
    )
    found = panel_labels.class_posterior(prevalence, confusion, patterns)[patterns.pattern]
    np.testing.assert_allclose(found, posterior, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 4), st.integers(1, 40))
def test_patterns_hold_every_answer_once(seed: int, labels: int, judges: int, answers: int) -> None:
    _, _, (item, judge, label) = _answers(np.random.default_rng(seed), 7, judges, labels, answers)
    made = panel_labels.find_patterns(item, judge, label, 7, judges, labels)
    for one in range(7):
        stored = [code for code in made.answer[made.pattern[one]].tolist() if code < judges * labels]
        assert sorted(stored) == sorted((judge * labels + label)[item == one].tolist())
    np.testing.assert_array_equal(np.bincount(made.pattern, minlength=len(made.count)), made.count)
    assert len(np.unique(made.answer, axis=0)) == len(made.answer)


def test_several_answers_of_one_judge_all_count_and_items_without_keep_the_prevalence() -> None:
    patterns = panel_labels.find_patterns(np.zeros(3, int), np.zeros(3, int), np.array([1, 1, 0]), 2, 1, 2)
    found = panel_labels.class_posterior(TWO, ONE_JUDGE, patterns)[patterns.pattern]
    expected = np.array([0.3 * 0.1 * 0.1 * 0.9, 0.7 * 0.8 * 0.8 * 0.2])
    np.testing.assert_allclose(found, [expected / expected.sum(), TWO], rtol=1e-12)


def test_logits_become_rows_that_sum_to_one_with_the_right_label_as_reference() -> None:
    logits = np.random.default_rng(1).normal(size=(5, 6))
    made = panel_labels.confusion_of(logits, 3)
    np.testing.assert_allclose(made.sum(axis=-1), 1.0)
    np.testing.assert_allclose(np.log(made[:, 1, 0] / made[:, 1, 1]), logits[:, 2])
    np.testing.assert_allclose(np.log(made[:, 2, 1] / made[:, 2, 2]), logits[:, 5])


def test_accuracy_and_agreement_are_those_of_simulated_labels() -> None:
    rng = np.random.default_rng(3)
    prevalence, confusion, _ = _answers(rng, 1, 2, 3, 1)
    truth = rng.choice(3, size=200_000, p=prevalence)
    drawn = [(rng.random((len(truth), 1)) > rows[truth].cumsum(axis=1)).sum(axis=1) for rows in confusion]
    assert panel_labels.accuracy(prevalence, confusion[0]) == pytest.approx(
        (drawn[0] == truth).mean(), abs=0.005
    )
    same = (drawn[0] == drawn[1]).mean()
    assert panel_labels.agreement(prevalence, confusion[0], confusion[1]) == pytest.approx(same, abs=0.005)


def test_class_posteriors_are_averaged_over_draws_not_computed_at_their_mean() -> None:
    patterns = panel_labels.find_patterns(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]), 1, 2, 2)
    right = np.array([0.99, 0.6])
    matrices = np.array([[[p, 1 - p], [1 - p, p]] for p in right])
    found = panel_labels.mean_class_posterior(
        np.full((2, 2), 0.5), np.stack([matrices, matrices], axis=1), patterns
    )
    assert found[0, 1] == pytest.approx(np.mean(right**2 / (right**2 + (1 - right) ** 2)))


def test_switched_labels_are_seen_whatever_a_single_contrary_judge_does() -> None:
    good, contrary = [[0.8, 0.2], [0.3, 0.7]], [[0.1, 0.9], [0.9, 0.1]]
    confusion, answers = np.array([good, good, contrary]), np.array([100.0, 100.0, 50.0])
    assert panel_labels.best_order(confusion, answers) == (0, 1)
    assert panel_labels.best_order(confusion[:, ::-1], answers) == (1, 0)


def test_matrices_of_people_with_many_answers_are_sampled_as_themselves() -> None:
    weights = panel_labels.centring([0, 10, 1000, 100_000], 3, 0.5)
    assert (weights[0], weights[-1] > 0.99) == (0, True)
    assert (np.diff(weights) > 0).all()


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=pytest.mark.bayes), False])
@pytest.mark.parametrize(("labels", "judges"), [(2, 3), (4, 2)])
def test_likelihood_of_the_kernel_and_its_gradient_are_those_of_the_plain_one(
    labels: int, judges: int, compiled: bool
) -> None:
    pytest.importorskip("numba")
    from conjury.analysis.raters.models.labels import label_kernel

    of_kernel = label_kernel.log_likelihood if compiled else label_kernel.log_likelihood.py_func
    rng = np.random.default_rng(labels)
    _, _, told = _answers(rng, 6, judges, labels, 20)
    patterns = panel_labels.find_patterns(*told, n_items=7, n_judges=judges, n_labels=labels)
    shares, logits = rng.normal(size=labels), rng.normal(size=(judges + 1, labels * (labels - 1)))
    row = np.append(np.arange(1, judges), 1) if judges > 2 else np.arange(judges)

    def plain(shares: Floats, logits: Floats) -> float:
        constant = np.log(np.exp(shares).sum())  # the kernel takes shares as they are
        found = panel_labels.log_likelihood(
            np.exp(shares - constant), panel_labels.confusion_of(logits, labels)[row], patterns
        )
        return found + constant * patterns.count.sum()

    value, by_shares, by_logits = of_kernel(shares, logits, row, patterns.answer, patterns.count)
    assert value == pytest.approx(plain(shares, logits), rel=1e-12)
    slopes = [(by_shares[k], np.eye(labels)[k], 0.0) for k in range(labels)]
    for at in np.ndindex(logits.shape):
        change = np.zeros_like(logits)
        change[at] = 1.0
        slopes.append((by_logits[at], np.zeros(labels), change))
    for slope, of_shares, of_logits in slopes:
        up, down = (plain(shares + h * of_shares, logits + h * of_logits) for h in (1e-6, -1e-6))
        assert slope == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-6)
