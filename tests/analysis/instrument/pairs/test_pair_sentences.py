"""Sentences on pairs, both branches of each rule: the numbers of a table are those that are read."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

from conjury import compare_pairs
from conjury.analysis.instrument.pairs.pair_sentences import verdict_of_pairs

NUMBERS = ("estimate", "lower", "upper", "p")


@cache
def compared(systems: str) -> Any:
    """Verdicts in both orders on all pairs of systems, with people's on some and lengths of all."""
    rng = np.random.default_rng(2)
    rows = []
    for prompt in range(40):
        a, b = sorted(rng.permutation(len(systems))[:2])
        lengths, label = rng.integers(50, 300, 2), rng.choice([systems[a], systems[b]])
        for first, second, sizes in ((a, b, lengths), (b, a, lengths[::-1])):
            winner = first if rng.random() < 0.6 else second
            rows.append(
                (
                    prompt,
                    systems[first],
                    systems[second],
                    systems[winner],
                    *sizes,
                    label if prompt < 15 else None,
                )
            )
    columns = ["question_id", "model_a", "model_b", "winner", "length_a", "length_b", "human"]
    return compare_pairs(pd.DataFrame(rows, columns=columns))


def sentences(systems: str, changes: dict[str, dict[str, Any]], **settings: Any) -> str:
    """What is said of a table in which rows have other numbers; true minus signs as hyphens."""
    result = compared(systems)
    frame = result.frame.set_index("name", drop=False)
    for name, numbers in changes.items():
        frame.loc[name, list(numbers)] = list(numbers.values())
    said = verdict_of_pairs(frame.reset_index(drop=True), {**result.settings, **settings})
    return "\n".join(said).replace("\N{MINUS SIGN}", "-")


def numbers(values: list[float], **more: float) -> dict[str, float]:
    return dict(zip(NUMBERS, values, strict=False)) | more


@pytest.mark.parametrize(("rate", "ties", "sentence"), cases(__file__, "winners"))
def test_who_wins_is_said_by_the_side_of_one_half_on_which_the_interval_lies(
    rate: list[float], ties: str, sentence: str
) -> None:
    said = sentences("xy", {"win_rate": numbers(rate)}, ties=ties, averaged=True, corrected=True)
    assert said.split("\n")[0] == sentence


@pytest.mark.parametrize(("systems", "null"), [("xy", 0.5), ("xyzw", 0.0)])
def test_an_unclear_difference_has_the_prompts_that_would_show_it(systems: str, null: float) -> None:
    frame = compared(systems).frame
    first, second = "xy"
    name = "win_rate"
    if systems != "xy":
        first, second = frame.loc[frame["measure"] == "rank", "class"].astype(str).head(2)
        name = f"strength_difference[{first} against {second}]"
    for lower, is_said in ((-0.05, True), (0.05, False)):
        row = numbers([null + 0.1, null + lower, null + 0.25], std_error=0.08, clusters=40)
        text = f"If {first} is ahead of {second} as estimated, verdicts on about 201 prompts instead of 40 "
        assert (text in sentences(systems, {name: row})) == is_said


def test_rates_of_the_judge_of_people_and_at_peoples_length_are_named_with_their_limits() -> None:
    rates = {
        "judge_win_rate": numbers([0.61, 0.52, 0.7]),
        "people_win_rate": numbers([0.42, 0.2, 0.64], n=15),
        "length_adjusted_win_rate": numbers([0.55, 0.41, 0.69]),
    }
    said = sentences("xy", rates).split("\n")
    assert said[1] == (
        "By the judge alone x wins 61.0% (52.0% to 70.0%), by people alone, on their 15 pairs, 42.0% (20.0% "
        "to 64.0%)."
    )
    assert said[2].endswith("than people have, the judge would let x win 55.0% (41.0% to 69.0%).")


@pytest.mark.parametrize(("share", "sentence"), cases(__file__, "positions"))
def test_a_position_is_preferred_where_the_interval_excludes_one_half(
    share: list[float], sentence: str
) -> None:
    assert sentence in sentences("xy", {"first_share": numbers(share)}).split("\n")


@pytest.mark.parametrize(("n", "what"), [(40, "pairs"), (41, "verdicts")])
def test_changes_with_the_order_are_counted_in_pairs_or_verdicts(n: int, what: str) -> None:
    changes = {"order_flips": numbers([0.25, 0.1, 0.4], n=n), "net_first": numbers([-0.125, -0.3, 0.05])}
    assert (
        f"Of {n} {what} decided in both orders, 25.0% change with the order (10.0% to 40.0%); always first "
        "minus always second is -12.5 points (-30.0 to 5.0)."
    ) in sentences("xy", changes).split("\n")


@pytest.mark.parametrize(("slope", "of_people", "sentence"), cases(__file__, "lengths"))
def test_a_taste_for_length_is_stated_for_twice_the_length(
    slope: list[float], of_people: bool, sentence: str
) -> None:
    without = {"length_beyond_people": {"name": "-"}, "length_slope": numbers(slope)}
    said = sentences("xy", {"length_beyond_people": numbers(slope)} if of_people else without).split("\n")
    assert sentence in said
    assert said[-1].startswith("Without people's verdicts on the same pairs it is unknown") is not of_people


@pytest.mark.parametrize(("groups", "first", "second"), cases(__file__, "groups"))
def test_systems_that_cannot_be_told_from_the_first_are_named_and_groups_are_listed(
    groups: list[str], first: str, second: str
) -> None:
    frame = compared("xyzw").frame
    names = dict(zip("abcd", frame.loc[frame["measure"] == "rank", "class"].astype(str), strict=True))
    best = {f"win_rate[{names['a']}]": numbers([0.8, 0.7, 0.9])}
    lists = [[names[place] for place in group] for group in groups]
    said = sentences("xyzw", best, groups=lists, ranking_corrected=False).split("\n")
    assert said[:2] == [first.format(**names), second.format(**names)]
