"""Mixed logits: against lme4's glmer, against integration by brute force, and where nothing can be fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_answers import draws_of, scored_of
from scipy.special import expit

from conjury.analysis.benchmark import differences, mixed_logit
from conjury.analysis.benchmark.mixed import tally
from conjury.analysis.numerics.mixed import fit_mixed_logit
from conjury.inference.errors import InputError

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "benchmark"


def counted(name: str) -> tuple[np.ndarray, np.ndarray]:
    answers = pd.read_csv(FIXTURES / "mixed_answers.csv")
    own = answers[answers["data"] == name]
    sides, side = np.unique(own["judge"], return_inverse=True)
    made = tally(own["correct"].to_numpy() == 1, pd.factorize(own["item"])[0], side, tuple(sides))
    return made.right, made.asked


def of_glmer(name: str, nagq: int) -> pd.DataFrame:
    table = pd.read_csv(FIXTURES / "mixed_glmer.csv")
    return table[(table["data"] == name) & (table["nagq"] == nagq)].set_index("term")


@pytest.mark.parametrize("name", ["items", "lines", "pair"])
def test_fit_is_that_of_glmer_with_25_nodes(name: str) -> None:
    fitted, theirs = fit_mixed_logit(*counted(name)), of_glmer(name, 25)
    n_sides = len(fitted.log_odds)
    np.testing.assert_allclose(fitted.log_odds, theirs["estimate"].iloc[:n_sides], atol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(fitted.vcov)), theirs["std_error"].iloc[:n_sides], rtol=1e-5)
    assert fitted.sd == pytest.approx(theirs.loc["sd", "estimate"], abs=1e-6)
    between = np.sqrt(fitted.vcov[1, 1] + fitted.vcov[0, 0] - 2 * fitted.vcov[0, 1])
    assert between == pytest.approx(theirs.loc["b-a", "std_error"], rel=1e-5)


def test_one_node_as_in_laplaces_approximation_would_be_off() -> None:
    laplace, adaptive = of_glmer("pair", 1), of_glmer("pair", 25)
    assert abs(laplace.loc["sd", "estimate"] - adaptive.loc["sd", "estimate"]) > 0.1


def test_likelihood_is_the_integral_over_intercepts() -> None:
    right, asked = counted("pair")
    fitted = fit_mixed_logit(right, asked)

    z = np.linspace(-9, 9, 4001)
    p = expit(fitted.log_odds[:, None] + fitted.sd * z)  # (K, nodes)
    answers = np.prod(p ** right[..., None] * (1 - p) ** (asked - right)[..., None], axis=1)
    by_force = np.log((answers * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)).sum(axis=1) * (z[1] - z[0])).sum()
    assert fitted.log_likelihood == pytest.approx(by_force, abs=1e-6)


@pytest.mark.slow
def test_robust_errors_are_those_of_the_bootstrap_of_items() -> None:
    right, asked = counted("lines")
    fitted = fit_mixed_logit(right, asked)
    rng = np.random.default_rng(3)
    drawn = [rng.integers(0, len(right), len(right)) for _ in range(60)]
    again = np.array([fit_mixed_logit(right[own], asked[own]).log_odds for own in drawn])
    theirs = (again[:, 3] - again[:, 0]).std(ddof=1)
    contrast = np.array([-1.0, 0, 0, 1])
    assert np.sqrt(contrast @ fitted.robust @ contrast) == pytest.approx(theirs, rel=0.25)


def test_answers_given_twice_tell_no_more_than_once() -> None:
    answers = draws_of(8, 2, 80)
    twice = {judge: np.repeat(own, 2).tolist() for judge, own in answers.items()}
    once = mixed_logit(scored_of(answers)).frame.iloc[0]
    copied = mixed_logit(scored_of(twice, samples=2)).frame.iloc[0]
    assert copied["std_error"] / abs(copied["estimate"]) == pytest.approx(
        once["std_error"] / abs(once["estimate"]), rel=0.1
    )
    assert copied["std_error_model"] < 0.8 * copied["std_error"]
    by_model = mixed_logit(scored_of(twice, samples=2), errors="model").frame.iloc[0]
    assert by_model["std_error"] == copied["std_error_model"]


def test_more_nodes_change_nothing_and_order_of_items_neither() -> None:
    right, asked = counted("lines")
    first, finer = fit_mixed_logit(right, asked), fit_mixed_logit(right, asked, 51)
    np.testing.assert_allclose(first.log_odds, finer.log_odds, atol=1e-5)
    turned = fit_mixed_logit(right[::-1], asked[::-1])
    np.testing.assert_array_equal(first.log_odds, turned.log_odds)


def test_without_variance_of_items_it_is_plain_logistic_regression() -> None:
    right = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 1], [1, 0]], dtype=float)
    fitted = fit_mixed_logit(right, np.ones_like(right))
    share = right.mean(axis=0)
    assert fitted.sd == 0
    np.testing.assert_allclose(fitted.log_odds, np.log(share / (1 - share)))
    np.testing.assert_allclose(np.diag(fitted.vcov), 1 / (6 * share * (1 - share)))


def test_table_holds_differences_from_the_reference() -> None:
    scored = scored_of(draws_of(1, 3, 80))
    found = mixed_logit(scored, reference="b")
    assert found.kind == "mixed"
    assert found.frame[["left", "right"]].to_numpy().tolist() == [["a", "b"], ["c", "b"]]
    sides = found.extra["sides"].set_index("side")["log_odds"]
    np.testing.assert_allclose(found.frame["estimate"], [sides["a"] - sides["b"], sides["c"] - sides["b"]])
    np.testing.assert_allclose(found.frame["odds_ratio"], np.exp(found.frame["estimate"]))
    assert (found.frame["odds_ratio_lower"] < found.frame["odds_ratio"]).all()
    assert (found.frame["p_adjusted"] >= found.frame["p"]).all()


def test_another_side_never_stands_in_for_the_reference() -> None:
    scored = scored_of(draws_of(1, 3, 80))
    of_c = scored.frame["judge"].to_numpy() == "c"
    part = np.where(of_c | (np.arange(len(of_c)) % 2 == 0), "first", "second")
    split = replace(scored, frame=scored.frame.assign(part=part))
    found = mixed_logit(split, reference="c", by=["part"])
    assert set(found.frame["part"]) == {"first"}
    assert "joke, second: no answer of c, so nothing to compare with." in found.notes


def test_a_pair_in_the_table_of_differences_is_the_fit_of_two() -> None:
    scored = scored_of(draws_of(2, 2, 60))
    alone = mixed_logit(scored, reference="b").frame.iloc[0]
    row = differences(scored, tests=["mixed logit"], draws=0).frame.iloc[0]
    assert row["metric"] == "log_odds"
    assert row["estimate"] == pytest.approx(alone["estimate"], abs=1e-8)
    assert row["std_error"] == pytest.approx(alone["std_error"], rel=1e-6)


def test_unbalanced_answers_are_all_used() -> None:
    answers = draws_of(3, 2, 60)
    scored = scored_of({"a": answers["a"], "b": [None] * 20 + answers["b"][20:]})
    row = mixed_logit(scored).frame.iloc[0]
    assert (row["n_answers"], row["n_items"]) == (100, 60)


def test_missing_answers_are_wrong_or_left_out() -> None:
    answers = draws_of(4, 2, 60)
    holes = [float("nan") if place % 3 == 0 else value for place, value in enumerate(answers["b"])]
    scored = scored_of({"a": answers["a"], "b": holes})
    assert mixed_logit(scored).frame["n_answers"].tolist() == [120]
    left_out = mixed_logit(scored, missing="missing").frame.iloc[0]
    assert left_out["n_answers"] == 100
    assert left_out["estimate"] > mixed_logit(scored).frame["estimate"].iloc[0]


def test_judges_that_are_always_right_have_no_finite_log_odds() -> None:
    answers = draws_of(5, 2, 40)
    found = mixed_logit(scored_of({**answers, "sure": [1] * 40}))
    rows = found.frame.set_index("left")
    assert np.isnan(rows.loc["sure", "estimate"])
    assert np.isfinite(rows.loc["b", "estimate"])
    assert any("always or never right, so without finite log-odds: sure" in note for note in found.notes)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"a": [1, 0, 1], "b": [1, 0, 1]}, "always right or always wrong"),
        ({"a": [1], "b": [0]}, "without finite log-odds: a, b"),
        ({"a": [1, 1], "b": [1, 1]}, "without finite log-odds"),
    ],
)
def test_where_nothing_can_be_fitted_a_note_says_why(answers: dict, told: str) -> None:
    found = mixed_logit(scored_of(answers))
    assert found.frame["estimate"].isna().all()
    assert any(told in note for note in found.notes)


def test_sides_that_are_right_on_nested_items_have_no_finite_variance_and_counts_say_so() -> None:
    nested = {"a": [1] * 20 + [0] * 10, "b": [1] * 12 + [0] * 18, "c": [1] * 3 + [0] * 27}
    for order in ("abc", "cab"):
        found = mixed_logit(scored_of({name: nested[name] for name in order}))
        assert found.frame["estimate"].isna().all()
        assert any("also correct under all better ones" in note for note in found.notes)
    crossed = {**nested, "b": [1] * 11 + [0] * 9 + [1] + [0] * 9}
    found = mixed_logit(scored_of(crossed))
    assert not any("also correct under all better ones" in note for note in found.notes)


def test_a_single_item_with_many_lines_has_no_variance() -> None:
    found = mixed_logit(scored_of({"a": [1, 0, 1, 1], "b": [0, 1, 0, 1]}, lines=4))
    assert found.frame["estimate"].isna().all()
    assert any("a single item" in note for note in found.notes)
    each = mixed_logit(scored_of({"a": [1, 0, 1, 1], "b": [0, 1, 0, 1]}, lines=4), group="unit")
    assert each.frame["n_items"].tolist() == [4]


@pytest.mark.slow
def test_intervals_cover_the_true_difference() -> None:
    rng = np.random.default_rng(6)
    covered = []
    for _ in range(200):
        eta = 1.2 * rng.normal(size=(80, 1)) + np.array([0.0, 0.7])
        right = (rng.random((80, 2)) < expit(eta)).astype(float)
        fitted = fit_mixed_logit(right, np.ones_like(right))
        error = np.sqrt(fitted.vcov[0, 0] + fitted.vcov[1, 1] - 2 * fitted.vcov[0, 1])
        covered.append(abs(fitted.log_odds[1] - fitted.log_odds[0] - 0.7) < 1.96 * error)
    assert 0.91 <= np.mean(covered) <= 0.99


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"reference": "z"}, "does not contain 'z'"),
        ({"between": "model"}, "'model' is missing"),
        ({"between": "prompt"}, "no two values of column 'prompt'"),
        ({"adjust": "sidak"}, "use holm, bh or none"),
        ({"missing": "skip"}, "missing is 'skip'"),
        ({"alpha": 0}, "alpha is 0"),
        ({"errors": "HC3"}, "use robust or model"),
        ({"group": "topic"}, "'topic' is missing"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_refused(options: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        mixed_logit(scored_of(draws_of(7, 2, 10)), **options)
