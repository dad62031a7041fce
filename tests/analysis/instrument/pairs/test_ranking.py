"""Rankings of systems: equal to R, groups, simultaneous ranks, and comparisons that cannot be ranked."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from conjury import compare_pairs
from conjury.analysis.instrument.pairs.system_ranking import groups_of
from conjury.inference.errors import InputError

PAIRED = Path(__file__).parents[3] / "fixtures" / "paired"
REFERENCE = pd.read_csv(PAIRED / "reference.csv")
VERDICTS = pd.read_csv(PAIRED / "verdicts.csv")


@pytest.mark.parametrize("ties", ["out", "half", "modelled"])
def test_strengths_order_and_ties_are_those_of_r(ties: str) -> None:
    frame = compare_pairs(VERDICTS, ties=ties).frame.set_index("name")
    for (what, quantity), row in (
        REFERENCE[REFERENCE["method"] == ties].set_index(["what", "quantity"]).iterrows()
    ):
        further = {"order": "order_effect", "ties": "tie_parameter"}
        row_of_ours = frame.loc[further.get(str(quantity), f"strength[{quantity}]")]
        assert_allclose(row_of_ours["estimate"], row["estimate"], rtol=1e-6)
        if "clustered" in str(what):
            assert_allclose(row_of_ours["std_error"], row["std_error"], rtol=1e-5)


def test_two_systems_have_the_same_difference_in_both_recipes() -> None:
    two = VERDICTS[VERDICTS["model_a"].isin(["ant", "bee"]) & VERDICTS["model_b"].isin(["ant", "bee"])]
    frame = compare_pairs(two, ties="modelled", rank=True).frame.set_index("name")
    gap = frame.loc["strength[ant]", "estimate"] - frame.loc["strength[bee]", "estimate"]
    first = "ant" if two["model_a"].iloc[0] == "ant" else "bee"
    assert_allclose(frame.loc["win_rate", "estimate"], 1 / (1 + np.exp(-gap if first == "ant" else gap)))
    alone = compare_pairs(two).frame.set_index("name").loc["win_rate", "estimate"]
    of_five = compare_pairs(VERDICTS).frame.set_index("name").loc["win_rate[ant against bee]", "estimate"]
    assert_allclose(of_five, alone if first == "ant" else 1 - alone)


def test_a_pair_without_a_win_rate_of_its_own_says_why() -> None:
    verdicts = [("a", "b", "a"), ("a", "b", "b"), ("a", "b", "tie"), ("b", "a", "tie")] * 3
    verdicts += [("a", "c", "a"), ("a", "c", "c"), ("b", "c", "b"), ("b", "c", "b"), ("b", "c", "tie")]
    table = pd.DataFrame(verdicts, columns=["system_a", "system_b", "verdict"])
    result = compare_pairs(table, ties="modelled")
    named = result.frame.loc[result.frame["measure"] == "win_rate", "name"]
    assert not named.str.contains("b against c").any()
    assert any(str(note).startswith("No win rate of b against c: ") for note in result.notes)


def test_ranks_and_groups_follow_from_the_same_tests() -> None:
    result = compare_pairs(VERDICTS)
    frame = result.frame.set_index("name")
    systems, groups = result.settings["systems"], result.settings["groups"]
    better = dict.fromkeys(systems, 0)
    worse = dict(better)
    for first, second in combinations(systems, 2):
        for one, two in ((first, second), (second, first)):
            name = f"strength_difference[{one} against {two}]"
            if name in frame.index and frame.loc[name, "p_adjusted"] < 0.05:
                better[two], worse[one] = better[two] + 1, worse[one] + 1
                assert not any({one, two} <= set(group) for group in groups)
            elif name in frame.index:
                assert any({one, two} <= set(group) for group in groups)
    for name in systems:
        row = frame.loc[f"rank[{name}]"]
        assert (row["lower"], row["upper"]) == (1 + better[name], len(systems) - worse[name])
    assert result.verdict[0].startswith("ant is the best of 5 systems in 246 pairs")


def test_groups_are_the_largest_ones_that_no_test_tells_apart() -> None:
    better = np.zeros((4, 4), dtype=bool)
    better[0, 2] = better[0, 3] = better[1, 3] = True
    assert groups_of(better, [0, 1, 2, 3]) == ((0, 1), (1, 2), (2, 3))
    assert groups_of(np.zeros((3, 3), dtype=bool), [2, 0, 1]) == ((2, 0, 1),)


def test_people_who_compared_every_pair_have_the_ranking() -> None:
    random = np.random.default_rng(4)
    judged = VERDICTS.assign(winner=np.where(random.random(len(VERDICTS)) < 0.5, "model_a", "model_b"))
    result = compare_pairs(judged.assign(human=VERDICTS["winner"]))
    assert "People compared every pair, so the ranking is theirs." in result.notes
    # People's verdicts are in no order, and one counts for each pair, so only the ranking is compared.
    assert result.verdict[0].startswith("ant is the best of 5 systems")


@pytest.mark.long
def test_people_correct_a_ranking() -> None:
    random = np.random.default_rng(2)
    strength = {"x": 0.9, "y": 0.0, "z": -0.9}
    rows = []
    for prompt in range(400):
        first, second = random.choice(list(strength), 2, replace=False)
        gap = strength[first] - strength[second]
        latent = random.logistic() * 0.7
        lean = 2.0 * ((first == "z") - (second == "z"))  # the judge favours z
        rows.append(
            (prompt, first, second, gap + latent + random.logistic() * 0.3 > 0, gap + lean + latent > 0)
        )
    table = pd.DataFrame(rows, columns=["prompt_id", "model_a", "model_b", "people", "judge"])
    table["winner"] = np.where(table["judge"], table["model_a"], table["model_b"])
    table["human"] = np.where(table["people"], table["model_a"], table["model_b"])
    table["human"] = table["human"].where(table["prompt_id"] % 2 == 0)
    table = table[["prompt_id", "model_a", "model_b", "winner", "human"]]
    result = compare_pairs(table)
    alone = compare_pairs(table.drop(columns="human"))
    assert alone.verdict[0].startswith("No reliable winner") or alone.verdict[0].startswith("z is")
    assert result.verdict[0].startswith(
        "x is the best of 3 systems in 400 pairs, corrected by people's verdicts on 200"
    )


def test_few_people_leave_the_ranking_of_the_judge_and_a_note() -> None:
    least = VERDICTS[["model_a", "model_b"]].min(axis=1)  # by people, the ant never loses
    few = VERDICTS.assign(human=least.where(VERDICTS["question_id"] < "q10"))
    result = compare_pairs(few)
    assert any(note.startswith("People's verdicts do not correct the ranking:") for note in result.notes)


def _beaten(pairs: list[tuple[str, str, str]]) -> pd.DataFrame:
    return pd.DataFrame(pairs, columns=["model_a", "model_b", "winner"]).assign(
        question_id=lambda table: range(len(table))
    )


ROUND = [("a", "b", "a"), ("b", "a", "b"), ("b", "a", "a"), ("a", "b", "b"), ("b", "c", "b"), ("c", "b", "c")]
UNRANKED = {
    "disconnected": (
        [*ROUND, ("d", "e", "d"), ("d", "e", "e")],
        r"No comparison connects 'd', 'e' with 'a', 'b', 'c'.*--systems 'a,b,c'",
    ),
    "never loses": (
        [*ROUND, ("d", "a", "d"), ("c", "d", "d")],
        "'d' never loses to or ties with any other system.*--systems 'a,b,c'",
    ),
    "never wins": (
        [*ROUND, ("d", "a", "a"), ("c", "d", "c")],
        "'d' never wins against or ties with any other system.*--systems 'a,b,c'",
    ),
    "two never lose": (
        [*ROUND, ("d", "e", "d"), ("e", "d", "e"), ("d", "a", "d"), ("e", "c", "e")],
        "'d', 'e' never lose to or tie with any other system.*--systems 'a,b,c'",
    ),
    "position decides": (
        [(a, b, a) for a in "abc" for b in "abc" if a != b],
        "verdicts follow the order in which answers were shown",
    ),
}


@pytest.mark.parametrize("name", UNRANKED)
def test_systems_without_a_common_ranking_are_named_with_a_remedy(name: str) -> None:
    pairs, sentence = UNRANKED[name]
    with pytest.raises(InputError, match=sentence):
        compare_pairs(_beaten(pairs))


def test_the_remedy_ranks_the_rest() -> None:
    result = compare_pairs(_beaten([*ROUND, ("d", "a", "d"), ("c", "d", "d")]), systems=["a", "b", "c"])
    assert result.settings["systems"] == ["a", "b", "c"]
    assert any("cannot be told apart" in sentence for sentence in result.verdict)


@pytest.mark.long
def test_a_dominating_prompt_and_few_prompts_are_noted() -> None:
    table = VERDICTS.assign(
        question_id=np.where(np.arange(len(VERDICTS)) < 200, "q00", VERDICTS["question_id"])
    )
    assert any("the largest has" in note for note in compare_pairs(table).notes)
    frame = compare_pairs(VERDICTS.assign(question_id="q00"), id="question_id").frame
    ranks = frame[frame["measure"] == "rank"]
    assert frame.loc[frame["measure"] == "strength", "lower"].isna().all()
    assert (ranks["lower"] == 1).all()
    assert (ranks["upper"] == 5).all()
