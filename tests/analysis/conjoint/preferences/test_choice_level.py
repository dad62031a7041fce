"""Choice-level estimates against projoint, closed forms, and counts done by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases, refusals
from made_up.choices import tasks
from reference_tables import preference_choices, preference_reference
from scipy.special import ndtr

from conjury.analysis.conjoint import adjust, choice_level, contrast, mm, wald
from conjury.inference.errors import InputError

LEVELS = {"author": ["white", "Black", "Asian"], "topic": ["work", "sport"]}
NUMBERS = ["estimate", "std_error", "lower", "upper"]
pytestmark = pytest.mark.filterwarnings("ignore:Few clusters", "ignore:No standard error")


def probit(one: Any, other: Any) -> np.ndarray:
    worth = [0.5 * side["author"] - 0.4 * side["topic"] for side in (one, other)]
    return ndtr(worth[0] - worth[1])


def by_hand(ties: int = 0) -> pd.DataFrame:
    """Six wins of Black and two of white authors, then ties."""
    chosen = [1, 0] * 6 + [0, 1] * 2 + [0, 0] * ties
    n_tasks = len(chosen) // 2
    return pd.DataFrame(
        {
            "chosen": chosen,
            "pair_id": np.repeat(np.arange(n_tasks), 2),
            "author": ["Black", "white"] * n_tasks,
        }
    )


@pytest.mark.parametrize(("case", "sides", "same"), cases(__file__, "means_of_projoint"))
def test_means_equal_those_of_projoint(case: str, sides: Any, same: Any) -> None:
    found = choice_level(preference_choices(), "chosen ~ tone", [sides], id="judge_id", same=same, vcov="CR2")
    expected = preference_reference("projoint").set_index("case").loc[case, NUMBERS]
    np.testing.assert_allclose(found.frame.iloc[0][NUMBERS].astype(float), expected, rtol=1e-9)


def test_differences_of_comparisons_equal_the_choice_level_amce_of_projoint() -> None:
    pairs = [("sharp", "calm"), ("rude", "calm")]
    found = choice_level(
        preference_choices(), "chosen ~ tone", pairs, id="judge_id", vcov="CR2", estimand="amce"
    )
    expected = preference_reference("projoint").set_index("case").loc["amce", NUMBERS]
    np.testing.assert_allclose(found.frame.iloc[0][NUMBERS].astype(float), expected, rtol=1e-9)
    assert found.frame["reference"].tolist() == ["sharp against calm"]


def test_probabilities_of_probit_judges_are_those_of_the_closed_form() -> None:
    data = tasks(LEVELS, probit, 60_000, seed=1)
    same = choice_level(data, "chosen ~ author", [("Black", "white"), ("Asian", "white")], same="topic").frame
    error = np.abs(same["estimate"] - ndtr([0.5, 1.0])) / same["std_error"]
    assert (error < 3).all()
    across = choice_level(
        data,
        "chosen ~ author",
        [({"author": "Black", "topic": "sport"}, {"author": "white", "topic": "work"})],
    ).frame.iloc[0]
    assert across["level"] == "Black, sport against white, work"
    assert abs(across["estimate"] - ndtr(0.1)) < 3 * across["std_error"]
    given = choice_level(data, "chosen ~ author", [("Black", "white")], given={"topic": "work"})
    held = np.repeat((data["topic"] == "work").to_numpy().reshape(-1, 2).all(axis=1), 2)
    alone = choice_level(data[held], "chosen ~ author", [("Black", "white")])
    assert given.frame["estimate"].iloc[0] == alone.frame["estimate"].iloc[0]


def test_a_mean_is_the_share_of_wins_with_the_error_of_a_share() -> None:
    row = choice_level(by_hand(), "chosen ~ author", [("Black", "white")], vcov="HC1").frame.iloc[0]
    assert row["estimate"] == 0.75
    assert row["std_error"] == pytest.approx(np.sqrt(0.75 * 0.25 / 7))
    turned = choice_level(by_hand(), "chosen ~ author", [("white", "Black")], vcov="HC1").frame.iloc[0]
    assert turned["estimate"] == 0.25
    assert turned["p"] == pytest.approx(row["p"])


@pytest.mark.parametrize(
    ("ties", "estimate", "tested"), [("outcome", 0.6, False), ("half", 0.7, True), ("exclude", 0.75, True)]
)
def test_ties_are_counted_and_treated_as_asked(ties: Any, estimate: float, tested: bool) -> None:
    found = choice_level(by_hand(ties=2), "chosen ~ author", [("Black", "white")], ties=ties)
    row, counts = found.frame.iloc[0], found.extra["tasks"].iloc[0]
    assert row["estimate"] == pytest.approx(estimate)
    assert np.isnan(row["p"]) != tested
    assert counts[["n_tasks", "n_answered", "n_ties"]].tolist() == [10, 10, 2]
    assert counts["ties"] == pytest.approx(0.2)
    assert 0 <= counts["lower"] < 0.2 < counts["upper"]
    assert found.notes[0].startswith("2 of 10 answers compared are ties")


@pytest.mark.parametrize(
    ("ties", "columns", "options", "estimate", "counts"),
    [
        pytest.param(2, {"status": ["ok"] * 16 + ["refused"] * 4}, {}, 0.75, [10, 8, 0], id="refusals"),
        pytest.param(0, {"chosen": [0.5, 0.5] * 4 + [0.7, 0.3] * 4}, {}, 0.6, [8, 8, 0], id="probabilities"),
        pytest.param(0, {"weight": [1] * 12 + [3] * 4}, {"weights": "weight"}, 0.5, [8, 8, 0], id="weights"),
    ],
)
def test_refusals_and_even_probabilities_are_no_ties_and_weights_count_tasks(
    ties: int, columns: dict[str, Any], options: dict[str, Any], estimate: float, counts: list[int]
) -> None:
    data = by_hand(ties).assign(**columns)
    found = choice_level(data, "chosen ~ author", [("Black", "white")], **options)
    assert found.frame["estimate"].iloc[0] == pytest.approx(estimate)
    assert found.extra["tasks"].iloc[0][["n_tasks", "n_answered", "n_ties"]].tolist() == counts


def test_comparisons_that_share_tasks_have_a_covariance() -> None:
    data = tasks(LEVELS, probit, 2_000, seed=3)
    pairs = [("Black", "white"), (["Black", "Asian"], "white")]
    found = choice_level(data, "chosen ~ author", pairs, id="judge_id", vcov="CR1")
    assert found.vcov.iloc[0, 1] > 0
    difference = contrast(found, "author").frame.iloc[0]
    variance = found.vcov.to_numpy()
    assert difference["std_error"] == pytest.approx(
        np.sqrt(variance[0, 0] + variance[1, 1] - 2 * variance[0, 1])
    )
    assert wald(found).frame["df"].tolist() == [1]
    assert "p_adjusted" in adjust(found, "holm").frame


def test_position_does_not_matter() -> None:
    data = tasks(LEVELS, probit, 300, seed=4)
    turned = data.assign(position=data["position"].map({"A": "B", "B": "A"}))
    found = [choice_level(one, "chosen ~ author").frame for one in (data, turned, data.iloc[::-1])]
    for one in found[1:]:
        np.testing.assert_allclose(one[NUMBERS], found[0][NUMBERS])


def test_tasks_of_a_judge_are_told_apart_without_pair_id() -> None:
    data = tasks(LEVELS, probit, 300, seed=4)
    numbered = data.assign(task=data["pair_id"] % 10).drop(columns="pair_id")
    found = [choice_level(one, "chosen ~ author", id="judge_id").frame for one in (data, numbered)]
    np.testing.assert_allclose(found[0][NUMBERS], found[1][NUMBERS])


def test_tasks_in_which_both_profiles_are_of_both_kinds_are_excluded() -> None:
    data = tasks(LEVELS, probit, 400, seed=5)
    found = choice_level(data, "chosen ~ author", [({"author": "Black"}, {"topic": "work"})])
    assert "tasks in which each profile is of both kinds are excluded" in found.notes[0]


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "choice_level"))
def test_what_is_not_defined_is_refused_in_a_sentence(match, columns, options) -> None:
    with pytest.raises(InputError, match=match):
        choice_level(by_hand().assign(**columns), "chosen ~ author", **options)


@pytest.mark.parametrize(
    ("data", "formula", "options", "words"),
    [
        (by_hand().drop(columns="pair_id"), "chosen ~ author", {}, "add pair_id"),
        (by_hand(), "chosen ~ author + topic", {}, "one attribute"),
        (by_hand().assign(judge_id=1), "chosen ~ author", {"id": "judge_id"}, "single cluster"),
        (
            tasks(LEVELS, probit, 400, seed=5),
            "chosen ~ author",
            {"comparisons": [("Black", "white"), (["Black", "Asian"], "white")], "vcov": "HC1"},
            "HC1 treats as independent",
        ),
    ],
)
def test_data_without_tasks_or_independent_rows_are_refused(
    data: pd.DataFrame, formula: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        choice_level(data, formula, **options)


def test_limits_of_differences_of_means_are_not_cut_at_zero() -> None:
    data = tasks(LEVELS, probit, 400, seed=6)
    row = contrast(mm(data, "chosen ~ author"), "author", "white", "Asian").frame.iloc[0]
    assert row["estimate"] - row["lower"] == pytest.approx(row["upper"] - row["estimate"])
    assert row["lower"] < row["estimate"] < 0


def test_a_judge_who_always_chooses_the_same_has_a_share_without_an_error() -> None:
    data = by_hand().assign(chosen=[1, 0] * 8)
    row = choice_level(data, "chosen ~ author", [("Black", "white")]).frame.iloc[0]
    assert row["estimate"] == 1
    assert np.isnan(row["std_error"])


def test_repeats_are_excluded() -> None:
    data = by_hand()
    again = data.assign(pair_id=data["pair_id"] + 100, repeat=True, chosen=[0, 1] * 8)
    both = pd.concat([data.assign(repeat=False), again], ignore_index=True)
    with pytest.warns(UserWarning, match="repeated pairs"):
        found = choice_level(both, "chosen ~ author", [("Black", "white")])
    assert found.frame["estimate"].iloc[0] == 0.75
