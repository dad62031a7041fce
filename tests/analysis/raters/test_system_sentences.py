"""Sentences on systems, both branches of each rule: the numbers of a table are those that are read."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

import conjury
from conjury.analysis.raters.systems.system_sentences import verdict_of_systems
from conjury.analysis.raters.validation import Validation

CLEAR = {"estimate": -0.4, "lower": -0.5, "upper": -0.3, "p": 0.001, "p_adjusted": 0.02}
UNCLEAR = {"estimate": -0.04, "lower": -0.125, "upper": 0.045, "p": 0.3, "p_adjusted": 0.3}


def answers(*names: str) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    parts = []
    for place, name in enumerate(names):
        quality = rng.normal(place, 1, 60)
        score, rating = quality + rng.normal(0, 0.5, 60), np.where(np.arange(60) < 20, quality, np.nan)
        parts.append(pd.DataFrame({"prompt": range(60), "system": name, "score": score, "ann": rating}))
    return pd.concat(parts, ignore_index=True).assign(tongue=lambda rows: rows["prompt"] % 2)


@cache
def compared(*names: str, rate: bool = False, by: tuple[str, ...] = ()) -> Validation:
    table = answers(*names)
    if rate:
        words = {name: np.where(table[name] > 0.5, "good", "bad") for name in ("score", "ann")}
        table = table.assign(**words).assign(ann=lambda rows: rows["ann"].mask(table["ann"].isna()))
    options: dict[str, Any] = {"positive": "good"} if rate else {}
    return conjury.compare_systems(table, "score", "ann", by=by, margin=0.05, **options)


def sentences(result: Validation, changes: dict[str, dict[str, float]]) -> list[str]:
    """What is said of a table in which rows have other numbers; true minus signs as hyphens."""
    frame = result.frame.set_index("name", drop=False)
    for name, numbers in changes.items():
        frame.loc[name, list(numbers)] = list(numbers.values())
    said = verdict_of_systems(frame.reset_index(drop=True), result.extra, result.settings)
    return [sentence.replace("\N{MINUS SIGN}", "-") for sentence in said]


@pytest.mark.parametrize(("values", "sentence"), cases(__file__, "differences"))
def test_a_difference_is_higher_lower_equivalent_or_neither(values: list[float], sentence: str) -> None:
    names = ("estimate", "lower", "upper", "p_adjusted", "p_equivalence", "gain")
    numbers = dict(zip(names, values, strict=True))
    assert sentences(compared("old", "new"), {"difference": numbers})[0] == sentence


@pytest.mark.parametrize(("of_rate", "alone", "sentence"), cases(__file__, "alone"))
def test_the_judge_alone_leaves_out_the_corrected_difference_where_its_interval_does(
    of_rate: bool, alone: list[float], sentence: str
) -> None:
    numbers = dict(zip(("estimate", "lower", "upper"), alone, strict=True))
    changes = {"difference": UNCLEAR, "judge_difference": numbers}
    assert sentences(compared("old", "new", rate=of_rate), changes)[1] == sentence


@pytest.mark.parametrize(("prompts", "is_clear", "sentence"), cases(__file__, "to_decide"))
def test_labels_that_would_decide_are_named_where_nothing_is_decided(
    prompts: float, is_clear: bool, sentence: str
) -> None:
    numbers = (CLEAR if is_clear else UNCLEAR) | {"prompts_to_decide": prompts}
    beginning = "If the difference is as estimated, "
    said = sentences(compared("old", "new"), {"difference": numbers})
    found = [text.removeprefix(beginning) for text in said if text.startswith(beginning)]
    assert found == ([sentence] if sentence else [])


@pytest.mark.parametrize(("gain", "sentence"), cases(__file__, "gains"))
def test_what_the_judge_adds_is_said_by_its_gain(gain: float, sentence: str) -> None:
    assert sentences(compared("old", "new"), {"difference": {"gain": gain}})[-1] == sentence


@pytest.mark.long
def test_the_best_of_three_is_clear_or_tied_and_its_clear_differences_follow_from_the_nearest_on() -> None:
    result = compared("a", "b", "c")
    pairs = [f"difference[{pair}]" for pair in ("b minus a", "c minus a", "c minus b")]
    levels = {
        f"corrected_mean[{name}]": {"estimate": value, "lower": value - 1, "upper": value + 1}
        for name, value in zip("abc", (0.5, 2.0, 1.0), strict=True)
    }
    clear = {"lower": 0.1, "upper": 2.5, "p": 0.01, "p_adjusted": 0.03}
    numbers = {
        pairs[0]: clear | {"estimate": 1.5},
        pairs[1]: UNCLEAR,
        pairs[2]: clear | {"estimate": -2.0, "lower": -2.5, "upper": -0.1},
    }
    said = sentences(result, levels | numbers)
    assert said[0] == "b has the highest mean rating (2.00), clearly above every other system."
    first, second = (text for text in said if " has a " in text)
    assert first.startswith("c has a lower mean rating than b: -2 (95% interval -2.5 to -0.1, p = 0.030)")
    assert second.startswith("b has a higher mean rating than a: +1.5 (95% interval 0.1 to 2.5, p = 0.030)")
    assert "a 0.50 (-0.50 to 1.50), b 2.00 (1.00 to 3.00), c 1.00 (0.00 to 2.00)" in " ".join(said)
    more = sentences(result, levels | numbers | {pairs[1]: UNCLEAR | {"prompts_to_decide": 90.0}})
    assert "If c minus a (-0.04) is as estimated, labels of about 90 prompts instead of 20" in " ".join(more)
    tied = sentences(result, levels | numbers | {pairs[2]: UNCLEAR})[0]
    assert tied == ("No reliable winner: b has the highest mean rating (2.00), but it cannot be told from c.")
    none = sentences(result, levels | dict.fromkeys(pairs, UNCLEAR))
    assert "None of 3 differences is clear after Holm's adjustment." in none


def test_by_the_judge_alone_an_unclear_difference_has_the_prompts_that_would_show_it() -> None:
    table = answers("x", "y").assign(score=lambda rows: rows["score"] % 1)
    gap = np.subtract(*(table.loc[table["system"] == name, "score"].to_numpy() for name in "yx"))
    needed = np.ceil(60 * (gap.std(ddof=1) / 60**0.5 * (1.959964 + 0.841621) / gap.mean()) ** 2)
    first, said, *_ = conjury.compare_systems(table, "score", "none").verdict
    assert "By 'score' alone, y has the highest" in first
    assert f"; if that is so, answers to about {needed:,.0f} prompts would show it (power 80%)." in said


def test_clear_segments_are_named_with_their_numbers_and_others_are_not() -> None:
    result = compared("old", "new", by=("tongue",))
    names = [f"difference[tongue={level}]" for level in "01"]
    said = sentences(result, {names[0]: UNCLEAR, names[1]: CLEAR})
    assert "In tongue '1', new minus old is -0.4 (-0.5 to -0.3, p = 0.020)." in said
    assert not any("tongue '0'" in text for text in said)
    assert "No segment of tongue has a clear difference after Holm's adjustment." in sentences(
        result, dict.fromkeys(names, UNCLEAR)
    )
