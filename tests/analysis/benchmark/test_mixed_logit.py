"""Mixed logits: against lme4's glmer, against numerical integration, and where nothing can be fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.labels import answers_of_judges, noted, scored_answers
from scipy.special import expit

from conjury.analysis.benchmark import differences, mixed_logit
from conjury.analysis.benchmark.answer_odds import tally
from conjury.analysis.numerics.mixed import fit_mixed_logit

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "benchmark"


def counted(name: str) -> tuple[np.ndarray, np.ndarray]:
    answers = pd.read_csv(FIXTURES / "mixed_answers.csv").query("data == @name")
    sides, side = np.unique(answers["judge"], return_inverse=True)
    made = tally(answers["correct"].to_numpy() == 1, pd.factorize(answers["item"])[0], side, tuple(sides))
    return made.right, made.asked


def of_glmer(name: str, nagq: int) -> pd.DataFrame:
    table = pd.read_csv(FIXTURES / "mixed_glmer.csv")
    return table[(table["data"] == name) & (table["nagq"] == nagq)].set_index("term")


def first_row(right: dict[str, Any], samples: int = 1, **options: Any) -> pd.Series:
    return mixed_logit(scored_answers(right, samples=samples), **options).frame.iloc[0]


def test_answers_are_counted_by_item_and_side() -> None:
    right, item, side = np.array([True, False, True, True]), np.array([0, 0, 0, 2]), np.array([0, 1, 1, 0])
    counts = tally(right, item, side, ("a", "b"))
    assert counts.asked.tolist() == [[1, 2], [0, 0], [1, 0]]
    assert counts.right.tolist() == [[1, 1], [0, 0], [1, 0]]


@pytest.mark.parametrize("name", ["items", "lines", "pair"])
def test_fit_is_that_of_glmer_with_25_nodes(name: str) -> None:
    fitted, theirs = fit_mixed_logit(*counted(name)), of_glmer(name, 25)
    n_sides = len(fitted.log_odds)
    np.testing.assert_allclose(fitted.log_odds, theirs["estimate"].iloc[:n_sides], atol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(fitted.vcov)), theirs["std_error"].iloc[:n_sides], rtol=1e-5)
    assert fitted.sd == pytest.approx(theirs.loc["sd", "estimate"], abs=1e-6)
    between = np.sqrt(fitted.vcov[1, 1] + fitted.vcov[0, 0] - 2 * fitted.vcov[0, 1])
    assert between == pytest.approx(theirs.loc["b-a", "std_error"], rel=1e-5)


def test_likelihood_is_the_integral_over_intercepts_and_laplaces_approximation_differs() -> None:
    right, asked = counted("pair")
    fitted = fit_mixed_logit(right, asked)
    z = np.linspace(-9, 9, 4001)
    p = expit(fitted.log_odds[:, None] + fitted.sd * z)  # (K, nodes)
    answers = np.prod(p ** right[..., None] * (1 - p) ** (asked - right)[..., None], axis=1)
    by_force = np.log((answers * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)).sum(axis=1) * (z[1] - z[0])).sum()
    assert fitted.log_likelihood == pytest.approx(by_force, abs=1e-6)
    laplace, adaptive = of_glmer("pair", 1), of_glmer("pair", 25)
    assert abs(laplace.loc["sd", "estimate"] - adaptive.loc["sd", "estimate"]) > 0.1


@pytest.mark.long
def test_answers_given_twice_contain_no_more_information() -> None:
    answers = answers_of_judges(8, 2, 80)
    twice = {judge: np.repeat(own, 2).tolist() for judge, own in answers.items()}
    once, copied = first_row(answers), first_row(twice, samples=2)
    relative = once["std_error"] / abs(once["estimate"])
    assert copied["std_error"] / abs(copied["estimate"]) == pytest.approx(relative, rel=0.1)
    assert copied["std_error_model"] < 0.8 * copied["std_error"]
    assert first_row(twice, samples=2, errors="model")["std_error"] == copied["std_error_model"]


def test_without_variance_of_items_it_is_plain_logistic_regression() -> None:
    right = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 1], [1, 0]], dtype=float)
    fitted = fit_mixed_logit(right, np.ones_like(right))
    share = right.mean(axis=0)
    assert fitted.sd == 0
    np.testing.assert_allclose(fitted.log_odds, np.log(share / (1 - share)))
    np.testing.assert_allclose(np.diag(fitted.vcov), 1 / (6 * share * (1 - share)))


def test_a_table_contains_differences_from_the_reference_only() -> None:
    scored = scored_answers(answers_of_judges(1, 3, 80))
    found = mixed_logit(scored, reference="b")
    table = found.frame
    assert found.kind == "mixed"
    assert table[["left", "right"]].to_numpy().tolist() == [["a", "b"], ["c", "b"]]
    sides = found.extra["sides"].set_index("side")["log_odds"]
    np.testing.assert_allclose(table["estimate"], [sides["a"] - sides["b"], sides["c"] - sides["b"]])
    np.testing.assert_allclose(table["odds_ratio"], np.exp(table["estimate"]))
    assert (table["odds_ratio_lower"] < table["odds_ratio"]).all()
    assert (table["p_adjusted"] >= table["p"]).all()
    of_c = scored.frame["judge"].to_numpy() == "c"
    part = np.where(of_c | (np.arange(len(of_c)) % 2 == 0), "first", "second")
    split = replace(scored, frame=scored.frame.assign(part=part))
    found = mixed_logit(split, reference="c", by=["part"])
    assert set(found.frame["part"]) == {"first"}
    assert "joke, second: no answer of c, so comparisons are not possible." in found.notes


def test_a_pair_in_the_table_of_differences_is_the_fit_of_two() -> None:
    answers = answers_of_judges(2, 2, 60)
    alone = first_row(answers, reference="b")
    row = differences(scored_answers(answers), tests=["mixed logit"], draws=0).frame.iloc[0]
    assert row["metric"] == "log_odds"
    assert row["estimate"] == pytest.approx(alone["estimate"], abs=1e-8)
    assert row["std_error"] == pytest.approx(alone["std_error"], rel=1e-6)


def test_unbalanced_answers_are_all_used_and_missing_ones_are_wrong_or_excluded() -> None:
    answers = answers_of_judges(3, 2, 60)
    row = first_row({"a": answers["a"], "b": [None] * 20 + answers["b"][20:]})
    assert (row["n_answers"], row["n_items"]) == (100, 60)
    answers = answers_of_judges(4, 2, 60)
    holes = [float("nan") if place % 3 == 0 else value for place, value in enumerate(answers["b"])]
    wrong = first_row({"a": answers["a"], "b": holes})
    excluded = first_row({"a": answers["a"], "b": holes}, missing="missing")
    assert (wrong["n_answers"], excluded["n_answers"]) == (120, 100)
    assert excluded["estimate"] > wrong["estimate"]


def test_judges_that_are_always_right_have_no_finite_log_odds() -> None:
    found = mixed_logit(scored_answers({**answers_of_judges(5, 2, 40), "sure": [1] * 40}))
    rows = found.frame.set_index("left")["estimate"]
    assert np.isnan(rows["sure"])
    assert np.isfinite(rows["b"])
    assert noted(found, "always or never correct, so log-odds are not finite: sure")


NESTED = {"a": [1] * 20 + [0] * 10, "b": [1] * 12 + [0] * 18, "c": [1] * 3 + [0] * 27}
LINES = {"a": [1, 0, 1, 1], "b": [0, 1, 0, 1]}


@pytest.mark.parametrize(
    ("answers", "lines", "note"),
    [
        ({"a": [1, 0, 1], "b": [1, 0, 1]}, 0, "always correct or always wrong"),
        ({"a": [1], "b": [0]}, 0, "so log-odds are not finite: a, b"),
        ({"a": [1, 1], "b": [1, 1]}, 0, "log-odds are not finite"),
        (LINES, 4, "a single item"),
        (NESTED, 0, "also correct under all better ones"),
        ({name: NESTED[name] for name in "cab"}, 0, "also correct under all better ones"),
    ],
)
def test_where_nothing_can_be_fitted_a_note_gives_the_reason(answers: dict, lines: int, note: str) -> None:
    found = mixed_logit(scored_answers(answers, lines=lines))
    assert found.frame["estimate"].isna().all()
    assert noted(found, note)


def test_crossed_answers_and_lines_as_groups_can_be_fitted() -> None:
    crossed = mixed_logit(scored_answers({**NESTED, "b": [1] * 11 + [0] * 9 + [1] + [0] * 9}))
    assert not noted(crossed, "also correct under all better ones")
    each = mixed_logit(scored_answers(LINES, lines=4), group="unit")
    assert each.frame["n_items"].tolist() == [4]
