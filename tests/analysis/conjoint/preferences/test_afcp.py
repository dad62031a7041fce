"""AFCPs and tests of cycles against R's afcp, and judges with and without cycles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.choices import tasks
from reference_tables import preference_choices, preference_reference
from scipy.special import ndtr

from conjury.analysis.conjoint import afcp, preference_cycles
from conjury.inference.errors import InputError

HANDS = {"hand": ["rock", "paper", "scissors", "well"], "other": ["yes", "no"]}
pytestmark = pytest.mark.filterwarnings("ignore:Few clusters", "ignore:No standard error")


def circular(one: Any, other: Any) -> np.ndarray:
    """Paper over rock, scissors over paper, rock over scissors; a well is no hand."""
    ahead = np.zeros((4, 4))
    ahead[1, 0] = ahead[2, 1] = ahead[0, 2] = 0.2
    return 0.5 + (ahead - ahead.T)[one["hand"], other["hand"]]


def probit(one: Any, other: Any) -> np.ndarray:
    return ndtr(0.3 * (one["hand"] - other["hand"]))


def test_afcps_equal_those_of_afcp_in_both_directions() -> None:
    found = afcp(preference_choices(), "chosen ~ tone", id="judge_id", vcov="CR2").frame
    both = {}
    for row in found.itertuples():
        both[row.level, row.reference] = row.estimate, row.std_error
        both[row.reference, row.level] = 1 - row.estimate, row.std_error
    expected = preference_reference("afcp")
    assert len(expected) == 12
    for row in expected.itertuples():
        np.testing.assert_allclose(both[row.level, row.baseline], (row.afcp, row.se), rtol=1e-9)


def test_direct_and_indirect_preferences_and_their_tests_equal_those_of_afcp() -> None:
    found = preference_cycles(preference_choices(), "chosen ~ tone", id="judge_id", vcov="CR2")
    triples = {frozenset(row[:3]): row for row in found.frame.itertuples(index=False)}
    expected = preference_reference("afcp_cycles")
    assert len(expected) == 24
    for row in expected.itertuples():
        own = triples[frozenset([row.level_a, row.level_b, row.level_c])]
        assert own.z**2 == pytest.approx(row.wald_stat, rel=1e-8)
        if (own.level_a, own.level_b, own.level_c) == (row.level_a, row.level_b, row.level_c):
            assert (own.direct, own.indirect) == pytest.approx((row.direct, row.indirect))
            assert (own.afcp_ab, own.afcp_bc, 1 - own.afcp_ca) == pytest.approx(
                (row.afcp_ab, row.afcp_bc, row.afcp_ac)
            )
    tests = found.extra["tests"]
    by_pair = {frozenset([row.level, row.reference]): row for row in tests.itertuples()}
    for row in preference_reference("afcp_wald").itertuples():
        own = by_pair[frozenset([row.level, row.baseline])]
        assert (own.chi2, own.df) == pytest.approx((row.wald_stat_all, row.L_other), rel=1e-8)


def test_a_cycle_is_found_in_its_direction_and_no_other() -> None:
    found = preference_cycles(tasks(HANDS, circular, 6_000, seed=2), "chosen ~ hand", id="judge_id")
    one = found.frame[found.frame["p_cycle_holm"] < 0.05]
    assert one["cycle"].tolist() == ["rock over scissors over paper over rock"]
    assert one["p"].iloc[0] < 1e-10
    row = one.iloc[0]
    assert row["estimate"] == pytest.approx(row["direct"] - row["indirect"])
    assert row["lower"] < -0.6 < row["upper"]
    together = found.extra["tests"].iloc[-1]
    assert together["df"] == 3
    assert together["p"] < 1e-10


def test_pairs_that_never_meet_are_named() -> None:
    data = tasks(HANDS, probit, 800, seed=5)
    extremes = data["hand"].isin(["rock", "well"]).to_numpy().reshape(-1, 2).all(axis=1)
    alike = (data["hand"].cat.codes.to_numpy().reshape(-1, 2) == [[0]]).all(axis=1)
    shown = np.repeat(extremes & ~alike, 2)
    found = afcp(data[~shown], "chosen ~ hand")
    assert len(found.frame) == 5
    assert found.notes == ("1 of 6 pairs of levels never meet: well against rock.",)
    triples = preference_cycles(data[~shown], "chosen ~ hand").frame
    assert triples[["level_a", "level_b", "level_c"]].values.tolist() == [
        ["rock", "paper", "scissors"],
        ["paper", "scissors", "well"],
    ]


def test_two_levels_have_no_cycles() -> None:
    with pytest.raises(InputError, match="No three levels"):
        preference_cycles(tasks(HANDS, probit, 100, seed=1), "chosen ~ other")


def test_a_judge_who_never_errs_has_a_cycle_without_standard_errors() -> None:
    hands = ["rock", "scissors", "scissors", "paper", "paper", "rock"] * 5
    data = pd.DataFrame({"hand": hands, "chosen": [1, 0] * 15, "pair_id": np.repeat(np.arange(15), 2)})
    row = preference_cycles(data, "chosen ~ hand").frame.iloc[0]
    assert row["cycle"] == "paper over rock over scissors over paper"
    assert np.isnan(row["std_error"])


def test_a_pair_without_variation_leaves_the_other_tests() -> None:
    data = tasks(HANDS, circular, 3_000, seed=2)
    hand = data["hand"].astype(str).to_numpy().reshape(-1, 2)
    sure = np.repeat([set(pair) == {"rock", "well"} for pair in hand], 2)
    data = data.assign(chosen=np.where(sure, data["hand"] == "well", data["chosen"]))
    found = preference_cycles(data, "chosen ~ hand", id="judge_id")
    triples = found.frame.set_index(["level_a", "level_b", "level_c"])
    assert triples.loc[("rock", "paper", "scissors"), "p_cycle_holm"] < 0.01
    assert np.isnan(triples.loc[("rock", "paper", "well"), "std_error"])
