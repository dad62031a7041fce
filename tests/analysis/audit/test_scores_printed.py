"""Published scores: tables of counts are never called inconsistent, and what no table gives is."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from published_numbers import findings, verdict
from sklearn import metrics

from conjury.analysis.audit.arithmetic import confusion_matrices
from conjury.analysis.audit.arithmetic.scores import SCORES, exact_score
from conjury.inference.errors import InputError

pytestmark = pytest.mark.long

COUNTS = {"safe": 400, "implicit": 350, "explicit": 250}
SETTINGS = {"counts": COUNTS, "classes": {"harmful": ["implicit", "explicit"]}, "positive": "harmful"}

REFERENCE = Path(__file__).parents[2] / "fixtures" / "audit" / "mlscorecheck.csv"


def scores_of(tp: int, tn: int, p: int, n: int) -> dict[str, float]:
    gold = np.repeat([1, 0], [p, n])
    given = np.concatenate([np.repeat([1, 0], [tp, p - tp]), np.repeat([1, 0], [n - tn, tn])])
    return {
        "accuracy": metrics.accuracy_score(gold, given),
        "balanced_accuracy": metrics.balanced_accuracy_score(gold, given),
        "recall": metrics.recall_score(gold, given, zero_division=0),
        "specificity": metrics.recall_score(gold, given, pos_label=0, zero_division=0),
        "precision": metrics.precision_score(gold, given, zero_division=0),
        "f1": metrics.f1_score(gold, given, zero_division=0),
        "macro_f1": metrics.f1_score(gold, given, average="macro", zero_division=0),
        "weighted_f1": metrics.f1_score(gold, given, average="weighted", zero_division=0),
        "kappa": metrics.cohen_kappa_score(gold, given),
        "mcc": metrics.matthews_corrcoef(gold, given),
    }


def test_exact_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    for p, n in ((5, 7), (1, 9), (30, 20)):
        for _ in range(15):
            tp, tn = int(rng.integers(0, p + 1)), int(rng.integers(0, n + 1))
            for name, value in scores_of(tp, tn, p, n).items():
                exact = float(exact_score(name, tp, tn, p, n))
                exact = np.sign(exact) * abs(exact) ** 0.5 if name == "mcc" else exact
                assert exact == pytest.approx(0.0 if np.isnan(value) else value, abs=1e-12), name


@pytest.mark.parametrize("digits", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_scores_of_real_tables_are_never_inconsistent(digits):
    rng = np.random.default_rng(digits)
    for _ in range(60):
        p, n = int(rng.integers(1, 300)), int(rng.integers(1, 300))
        tp, tn = int(rng.integers(0, p + 1)), int(rng.integers(0, n + 1))
        found = scores_of(tp, tn, p, n)
        names = rng.choice(list(found), 4, replace=False)
        numbers = {
            str(name): f"{found[str(name)]:.{digits}f}" for name in names if not np.isnan(found[str(name)])
        }
        [found_one] = findings("scores", numbers, counts={"negative": n, "positive": p})
        assert found_one.verdict == "consistent", (numbers, p, n)


def test_verdicts_equal_enumeration_of_all_tables():
    p, n = 6, 8
    possible = {
        tuple(f"{exact_score(name, tp, tn, p, n):.2f}" for name in ("accuracy", "f1"))
        for tp, tn in product(range(p + 1), range(n + 1))
    }
    grid = [f"{k / 100:.2f}" for k in range(0, 101, 2)]
    for accuracy, f1 in product(grid, grid):
        exists = bool(confusion_matrices({"accuracy": accuracy, "f1": f1}, p, n, limit=1))
        if (accuracy, f1) in possible:
            assert exists
        elif exists:  # a tie of rounding, which may go either way
            near = [(tp, tn) for tp, tn in product(range(p + 1), range(n + 1))]
            assert any(
                abs(float(exact_score("accuracy", *t, p, n)) - float(accuracy)) <= 0.005 + 1e-12
                and abs(float(exact_score("f1", *t, p, n)) - float(f1)) <= 0.005 + 1e-12
                for t in near
            )


def printed_table(tp_parts: dict[str, int], tn: int) -> dict[str, str]:
    p, n = 600, 400
    tp = sum(tp_parts.values())
    found = scores_of(tp, tn, p, n)
    numbers = {name: f"{100 * found[name]:.1f}" for name in ("accuracy", "macro_f1")}
    return numbers | {f"recall:{label}": f"{100 * k / COUNTS[label]:.1f}" for label, k in tp_parts.items()}


def test_subclasses_share_one_table_and_another_f1_is_named():
    numbers = printed_table({"implicit": 200, "explicit": 230}, 310)
    [found] = findings("scores", numbers, percent=True, **SETTINGS)
    assert found.verdict == "consistent"
    assert found.chance is not None
    assert found.chance < 0.05
    f1 = scores_of(430, 310, 600, 400)["f1"]
    [other] = findings("scores", numbers | {"macro_f1": f"{100 * f1:.1f}"}, percent=True, **SETTINGS)
    assert other.verdict == "conditional"
    assert other.under == ("macro_f1: F1 of the positive class",)
    [wrong] = findings("scores", numbers | {"accuracy": "99.0"}, percent=True, **SETTINGS)
    assert wrong.verdict == "inconsistent"
    nearest = "431 of 600 and 400 of 400 right, 159.0 units of the last digit away"
    assert wrong.nearest == nearest


def test_a_mean_over_runs_is_no_confusion_matrix():
    rng = np.random.default_rng(4)
    tables = [(int(rng.integers(20, 41)), int(rng.integers(30, 61))) for _ in range(5)]
    means = {
        name: np.mean([scores_of(tp, tn, 40, 60)[name] for tp, tn in tables])
        for name in ("accuracy", "macro_f1", "recall")
    }
    numbers = {name: f"{value:.4f}" for name, value in means.items()}
    counts = {"negative": 60, "positive": 40}
    assert verdict("scores", numbers, counts=counts, runs=5) == "consistent"
    pooled = scores_of(sum(tp for tp, _ in tables), sum(tn for _, tn in tables), 200, 300)
    numbers = {name: f"{pooled[name]:.4f}" for name in means}
    assert verdict("scores", numbers, counts=counts, runs=5, pooled=True) == "consistent"


def test_contradictory_counts_are_refused():
    with pytest.raises(InputError, match="n is 999, and the counts sum to 1000"):
        findings("scores", {"accuracy": "0.5"}, counts=COUNTS, n=999)
    with pytest.raises(InputError, match="has no label 'harmful'"):
        findings("scores", {"accuracy": "0.5"}, counts=COUNTS, positive="harmful")
    with pytest.raises(InputError, match="is no score"):
        confusion_matrices({"acc": "0.5"}, 1, 1)
    assert "accuracy" in SCORES


def farthest(stated: dict[str, str], p: int, n: int) -> float:
    """Half units of the last digit by which the best of all tables misses the score that it misses most."""
    tp, tn = (counts.astype(float) for counts in np.meshgrid(np.arange(p + 1), np.arange(n + 1)))
    misses = np.zeros(tp.shape)
    for name, text in stated.items():
        value = SCORES[name](tp, tn, p, n)
        value = np.sign(value) * np.sqrt(np.abs(value)) if name == "mcc" else value
        half = 0.5 / 10 ** len(text.partition(".")[2])
        misses = np.maximum(misses, np.abs(value - float(text)) / half)
    return float(misses.min())


def test_mlscorecheck_gives_the_same_answers_but_for_rows_that_enumeration_refutes():
    reference = pd.read_csv(REFERENCE)
    assert len(reference) == 300
    assert reference["consistent"].sum() == 117
    refuted = 0
    for row in reference.itertuples():
        stated = dict(score.split("=") for score in row.scores.split(";"))
        ours = bool(confusion_matrices(stated, row.positive, row.negative, limit=1))
        if ours != bool(row.consistent):
            assert not ours
            assert "mcc" in stated
            assert farthest(stated, row.positive, row.negative) > 1.2
            refuted += 1
    assert refuted == 4
