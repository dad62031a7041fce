"""Scores of K classes: the search equals enumeration, and tables of real counts are never inconsistent."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from cases import cases
from published_numbers import findings
from sklearn import metrics

from conjury.analysis.audit.arithmetic import Finding, Printed
from conjury.analysis.audit.arithmetic.scores.averages import mean_over_folds, possible_sums
from conjury.analysis.audit.arithmetic.scores.classes import items_of
from conjury.analysis.audit.arithmetic.scores.definitions import ScoreDefinition, squared
from conjury.analysis.audit.arithmetic.scores.gold_layout import ConfusionMatrix, GoldLayout, layout_of
from conjury.analysis.audit.arithmetic.scores.matrix_boxes import Boxes
from conjury.analysis.audit.arithmetic.scores.measures import OVERALL, RATIOS, Measure, exact, values
from conjury.analysis.audit.arithmetic.scores.search import MatrixSearch, _walk, candidates, moves, search
from conjury.analysis.audit.published.checked_tables import under_alternative
from conjury.inference.errors import InputError


def compositions(n: int, cells: int):
    if cells == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, cells - 1):
            yield (first, *rest)


@cache
def enumerated(layout: GoldLayout) -> frozenset[ConfusionMatrix]:
    """Diagonals and margins of all confusion matrices; the last column are missing answers."""
    k = len(layout.classes)
    found = set()
    for gold in product(*(range(low, high + 1) for low, high in layout.gold)):
        if not layout.n[0] <= sum(gold) <= layout.n[1]:
            continue
        for rows in product(*(list(compositions(n, k + 1)) for n in gold)):
            table = np.array(rows)
            if layout.missing[0] <= table[:, k].sum() <= layout.missing[1]:
                given = tuple(int(g) for g in table[:, :k].sum(axis=0))
                found.add(ConfusionMatrix(gold, tuple(int(t) for t in np.diag(table)), given))
    return frozenset(found)


def layout(*gold: int, missing: tuple[int, int] = (0, 0)) -> GoldLayout:
    known = layout_of({f"c{k}": n for k, n in enumerate(gold)}, {})
    return GoldLayout(known.classes, known.labels, known.of, known.gold, known.n, missing)


def unknown(n: int, k: int, answered: tuple[int, int] | None = None) -> GoldLayout:
    names = tuple(f"c{i}" for i in range(k))
    return GoldLayout(names, names, tuple(range(k)), ((0, n),) * k, answered or (n, n))


SMALL = [
    layout(4, 3),
    layout(3, 2, missing=(0, 2)),
    layout(2, 2, 3),
    layout(3, 3, 1),
    layout(2, 1, 2, missing=(1, 1)),
    unknown(4, 2),
    unknown(4, 3),
    layout(3, 2).answered(2, 4),
]


@pytest.mark.parametrize("known", SMALL, ids=str)
def test_a_diagonal_with_margins_exists_as_enumeration_says(known: GoldLayout) -> None:
    k, most = len(known.classes), known.n[1]
    listed = {
        ConfusionMatrix(gold, hits, given)
        for gold in product(*(range(low, high + 1) for low, high in known.gold))
        for hits in product(*(range(n + 1) for n in gold))
        for given in product(range(most + 1), repeat=k)
        if sum(given) <= most and ConfusionMatrix(gold, hits, given).exists(known)
    }
    assert listed == enumerated(known)


def measures(k: int) -> list[Measure]:
    return [Measure(name) for name in OVERALL] + [Measure(name, of) for name in RATIOS for of in range(k)]


@pytest.mark.long
@pytest.mark.parametrize("known", SMALL, ids=str)
def test_search_equals_enumeration_for_scores_and_pairs_of_scores(known: GoldLayout) -> None:
    matrices = sorted(enumerated(known), key=str)
    scores = measures(len(known.classes))
    value = {m: [exact(m, one, known) for one in matrices] for m in scores}
    generator = np.random.default_rng(5)
    pairs = list(combinations(scores, 2))
    chosen = [(one,) for one in scores] + [pairs[i] for i in generator.choice(len(pairs), 60)]
    answers = []
    for needed in chosen:
        origin = int(generator.integers(len(matrices)))
        needs = []
        moved = generator.choice([0, 0, 0.02, 0.1]) * generator.choice([-1, 1])
        for measure in needed:
            at = float(value[measure][origin]) + moved * generator.choice([0, 1])
            at = np.sign(at) * abs(at) ** 0.5 if measure.name == "mcc" else at
            interval = Printed.read(f"{at:.2f}").interval()
            needs.append((measure, squared(interval) if measure.name == "mcc" else interval))
        exists = any(all(value[m][i] in at for m, at in needs) for i in range(len(matrices)))
        found = search(MatrixSearch(known, tuple(needs)))
        assert (found.matrix is not None) == exists, needs
        assert found.exhausted != exists
        answers.append(exists)
    assert 0.2 < np.mean(answers) < 0.95


def test_scores_of_arrays_are_the_exact_ones() -> None:
    for known in SMALL:
        matrices = sorted(enumerated(known), key=str)[::7]
        columns = [
            np.array([getattr(m, part) for m in matrices], float) for part in ("gold", "hits", "given")
        ]
        for measure in measures(len(known.classes)):
            exactly = [float(exact(measure, one, known)) for one in matrices]
            assert values(measure, *columns, known) == pytest.approx(exactly, abs=1e-12)


def sample(generator: np.random.Generator, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    gold = generator.choice(k, n, p=generator.dirichlet(np.full(k, 3.0)))
    gold[:k] = range(k)
    given = np.where(generator.random(n) < generator.random(), gold, generator.integers(0, k, n))
    return gold, given


def scores_of(gold: np.ndarray, given: np.ndarray) -> dict[str, float]:
    found = {
        "accuracy": metrics.accuracy_score(gold, given),
        "balanced_accuracy": metrics.recall_score(gold, given, average="macro", zero_division=0),
        "kappa": metrics.cohen_kappa_score(gold, given),
        "mcc": metrics.matthews_corrcoef(gold, given),
    }
    for average in ("macro", "weighted"):
        found[f"{average}_f1"] = metrics.f1_score(gold, given, average=average, zero_division=0)
        found[f"{average}_precision"] = metrics.precision_score(gold, given, average=average, zero_division=0)
    found["recall:1"] = metrics.recall_score(gold, given, average=None, zero_division=0)[1]
    found["precision:0"] = metrics.precision_score(gold, given, average=None, zero_division=0)[0]
    found["f1:2"] = metrics.f1_score(gold, given, average=None, zero_division=0)[2]
    return found


def counts_of(gold: np.ndarray) -> dict[str, int]:
    return {str(k): int(n) for k, n in enumerate(np.bincount(gold))}


@pytest.mark.slow
def test_scores_of_real_tables_of_three_and_four_classes_are_never_inconsistent() -> None:
    generator, n_tables = np.random.default_rng(2), 60
    decided = 0
    for _ in range(n_tables):
        gold, given = sample(generator, int(generator.integers(3, 5)), int(generator.integers(10, 400)))
        scores, digits = scores_of(gold, given), int(generator.integers(2, 5))
        names = [str(name) for name in generator.choice(list(scores), 3, replace=False)]
        known = layout_of(counts_of(gold), {})
        roles = {name: _measure(name) for name in names}
        numbers = {name: Printed.read(f"{scores[name]:.{digits}f}") for name in names}
        found = search(ScoreDefinition("as stated", known, roles).problem(numbers))
        assert not found.exhausted, (numbers, known)
        decided += found.matrix is not None
    assert decided / n_tables >= 0.85


def _measure(role: str) -> Measure:
    name, _, of = role.partition(":")
    return Measure({"balanced_accuracy": "macro_recall"}.get(name, name), int(of or 0))


@pytest.fixture(scope="module")
def published() -> tuple[dict[str, float], dict[str, int]]:
    gold, given = sample(np.random.default_rng(8), 3, 200)
    return scores_of(gold, given), counts_of(gold)


@pytest.mark.long
def test_a_finding_names_a_matrix_or_the_definition_under_which_there_is_one(published) -> None:
    scores, counts = published
    numbers = {name: f"{scores[name]:.4f}" for name in ("recall:1", "accuracy", "macro_f1")}
    [found] = findings("scores", numbers, counts=counts)
    assert found.verdict == "consistent"
    assert "right; given: " in found.reason
    assert 17 / 101 < found.chance < 0.25  # with two digits 17 of 101 values fit, tried one by one
    numbers["accuracy"] = f"{scores['balanced_accuracy']:.4f}"
    [other] = findings("scores", numbers, counts=counts)
    assert other.verdict == "conditional"
    assert "accuracy: balanced accuracy" in other.under
    assert "units of the last digit" in other.nearest
    numbers["accuracy"] = "0.9990"
    [wrong] = findings("scores", numbers, counts=counts)
    assert wrong.verdict == "inconsistent"
    assert wrong.n_definitions > 3


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (unknown(20, 3), "20 items with 3 classes"),
        (unknown(1200, 3, (1000, 1200)), "1,000 to 1,200 items with 3 classes"),
        (layout(4, 3, missing=(1, 1)), "4 c0, 3 c1 items, 1 of them missing"),
        (layout(4, 3, missing=(0, 7)), "4 c0, 3 c1 items, any number of them missing"),
    ],
)
def test_items_are_stated_as_their_number_or_their_least_and_most(known: GoldLayout, words: str) -> None:
    assert items_of(ScoreDefinition("as stated", known, {})) == words


@pytest.mark.parametrize("known", [unknown(20, 3), unknown(7, 4), unknown(20, 2, (12, 15))], ids=str)
def test_a_search_begins_at_a_matrix_of_as_many_items_as_there_are(known: GoldLayout) -> None:
    [counts] = candidates(Boxes.whole(known), known)
    k = len(known.classes)
    gold, hits, given = counts[:k], counts[k : 2 * k], counts[2 * k :]
    assert known.n[0] <= gold.sum() <= known.n[1]
    assert given.sum() == gold.sum()
    assert (hits <= np.minimum(gold, given)).all()


@pytest.mark.parametrize("known", [layout(40, 30, 30), unknown(100, 3)])
def test_moves_change_the_counts_of_each_label_equally_often(known: GoldLayout) -> None:
    changed = (moves(known, np.random.default_rng(2), 6000) != 0).mean(axis=0).reshape(3, 3)
    assert (changed[0] == 0).all() == known.fixed
    for shares in changed:
        assert shares == pytest.approx(shares.mean(), abs=0.03)


def test_scores_of_classes_with_several_labels_are_possible_if_a_table_has_them() -> None:
    # Of 6, 5 and 9 items with labels a, b and c, of which a and b are one class, 4, 2 and 7 are right.
    known = layout_of({"a": 6, "b": 5, "c": 9}, {"ab": ["a", "b"]})
    texts = {"accuracy": "0.650", "recall:0": "0.545", "recall:1": "0.778", "precision:0": "0.750"}
    needs = tuple((_measure(role), Printed.read(text).interval()) for role, text in texts.items())
    matrix = search(MatrixSearch(known, needs)).matrix
    assert matrix is not None
    assert matrix.gold == (6, 5, 9)
    assert (matrix.hits[0] + matrix.hits[1], matrix.hits[2], matrix.given) == (6, 7, (8, 12))


def test_kappa_of_one_is_possible_where_a_class_has_no_items() -> None:
    known = layout(4, 3, 0)
    matrix = search(MatrixSearch(known, ((Measure("kappa"), Printed.read("1.000").interval()),))).matrix
    assert matrix == ConfusionMatrix((4, 3, 0), (4, 3, 0), (4, 3, 0))


def test_a_walk_returns_the_matrix_that_its_last_step_reaches() -> None:
    known = layout(40, 30, 30)
    needs = ((Measure("accuracy"), "0.910"), (Measure("recall", 0), "0.900"))
    problem = MatrixSearch(known, tuple((m, Printed.read(text).interval()) for m, text in needs))
    start = candidates(Boxes.whole(known), known)[0]
    walks = [_walk(problem, Boxes.whole(known), start, np.random.default_rng(1), n) for n in range(30)]
    first = next(n for n, matrix in enumerate(walks) if matrix is not None)
    assert first > 0
    assert {matrix is not None and problem.fits(matrix) for matrix in walks[first:]} == {True}
    assert sum(walks[first].hits) == 91
    assert walks[first].hits[0] == 36


def test_nothing_is_called_inconsistent_without_proof() -> None:
    known = layout(400, 300, 300)
    needs = (
        (Measure("macro_f1"), "0.6123"),
        (Measure("weighted_f1"), "0.6204"),
        (Measure("kappa"), "0.4101"),
    )
    problem = MatrixSearch(known, tuple((m, Printed.read(text).interval()) for m, text in needs))
    cut_off = search(problem, 0, walks=False)
    assert cut_off.matrix is None
    assert not cut_off.exhausted
    undecided = Finding("scores", ("kappa",), "untested", "", undecided=True)
    proven = Finding("scores", ("kappa",), "inconsistent", "No matrix has it.")
    [found] = under_alternative([proven], "another sample", [undecided])
    assert found.verdict == "untested"
    assert found.reason.endswith("The search did not decide under another sample.")


@pytest.mark.long
def test_missing_answers_are_wrong_excluded_or_a_class() -> None:
    generator = np.random.default_rng(11)
    gold, given = sample(generator, 3, 150)
    missing = generator.random(150) < 0.2
    counts, n_missing = counts_of(gold), int(missing.sum())
    wrong = f"{np.mean((gold == given) & ~missing):.4f}"
    excluded = f"{np.mean((gold == given)[~missing]):.4f}"
    as_class = np.where(missing, 3, given)
    f1 = f"{metrics.f1_score(gold, as_class, average='macro', labels=[0, 1, 2], zero_division=0):.4f}"
    f1_4 = f"{metrics.f1_score(gold, as_class, average='macro', zero_division=0):.4f}"
    assert (
        findings("scores", {"accuracy": wrong, "macro_f1": f1}, counts=counts, missing=n_missing)[0].verdict
        == "consistent"
    )
    [found] = findings(
        "scores", {"accuracy": excluded}, counts=counts, missing=n_missing, missing_as="excluded"
    )
    assert found.verdict == "consistent"
    assert (
        "missing answers excluded"
        in findings("scores", {"accuracy": excluded}, counts=counts, missing=n_missing)[0].under
    )
    [found] = findings(
        "scores", {"accuracy": wrong, "macro_f1": f1_4}, counts=counts, answered=150 - n_missing
    )
    assert found.verdict in ("consistent", "conditional")
    assert found.verdict == "consistent" or "missing answers as one more class" in found.under
    [found] = findings(
        "scores", {"accuracy": excluded}, counts=counts, missing="unknown", missing_as="excluded"
    )
    assert found.verdict in ("consistent", "untested")


@pytest.mark.long
def test_few_right_items_need_a_macro_f1_above_zero_of_unknown_labels() -> None:
    [found] = findings("scores", {"accuracy": "0.200", "macro_f1": "0.000"}, n=499, labels=10)
    assert "no confusion matrix of 499 items with 10 classes has them" in found.reason
    assert found.verdict == "inconsistent"
    [found] = findings("scores", {"accuracy": "0.200", "macro_f1": "0.113"}, n=499, labels=10)
    assert found.verdict in ("consistent", "untested")


@pytest.mark.slow
def test_means_over_runs_of_real_tables_are_never_inconsistent() -> None:
    generator = np.random.default_rng(3)
    for _ in range(15):
        gold, _ = sample(generator, 3, 60)
        runs = [np.where(generator.random(60) < 0.7, gold, generator.integers(0, 3, 60)) for _ in range(5)]
        scores = [scores_of(gold, given) for given in runs]
        numbers = {
            name: f"{np.mean([one[name] for one in scores]):.4f}"
            for name in ("accuracy", "macro_f1", "recall:1")
        }
        [found] = findings("scores", numbers, counts=counts_of(gold), runs=5)
        assert found.verdict in ("consistent", "untested"), numbers
    numbers = {"accuracy": "0.7001", "macro_f1": "0.7000"}
    [found] = findings("scores", numbers, counts=counts_of(gold), runs=5)
    assert found.verdict in ("inconsistent", "untested", "conditional")
    assert found.verdict != "consistent"


def test_sums_of_rounded_runs_are_those_of_enumeration() -> None:
    number = Printed.read("0.12")
    shares = [round(100 * k / 7) for k in range(8)]
    assert possible_sums(7, 3, number) == {sum(one) for one in product(shares, repeat=3)}


@pytest.mark.parametrize(("n", "folds"), [(7, 3), (6, 3), (5, 2), (9, 4)])
def test_means_over_folds_are_those_of_enumeration(n: int, folds: int) -> None:
    sizes = [n // folds + (i < n % folds) for i in range(folds)]
    means = {
        sum(t / s for t, s in zip(right, sizes, strict=True)) / folds
        for right in product(*(range(s + 1) for s in sizes))
    }
    for k in range(101):
        at = Printed.read(f"{k / 100:.2f}").interval()
        possible = any(float(at.lower) - 1e-12 <= mean <= float(at.upper) + 1e-12 for mean in means)
        assert mean_over_folds(at, n, folds) == possible


def test_scores_over_folds_are_shares_or_untested() -> None:
    counts = {"a": 20, "b": 15, "c": 10}
    found = {
        one.numbers: one.verdict
        for one in findings("scores", {"accuracy": "0.733", "macro_f1": "0.700"}, counts=counts, folds=5)
    }
    assert found[("accuracy",)] == "consistent"
    assert found[("macro_f1",)] == "untested"
    [off] = findings("scores", {"recall:c": "0.55"}, counts=counts, folds=2)
    assert off.verdict != "consistent"


@pytest.mark.parametrize(("role", "settings", "sentence"), cases(__file__, "contradictory_settings"))
def test_contradictory_settings_are_refused_with_one_sentence(role, settings, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        findings("scores", {role: "0.5"}, counts={"a": 20, "b": 15, "c": 10}, **settings)
