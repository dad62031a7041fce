"""Alternative texts of figures count what is in their tables: one's own counts of drawn tables."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.figures import example
from sentence_cases import check_grammar
from sentence_cases.drawing import Draws, is_missing

from conjury.analysis import figures
from conjury.analysis.results import Result

SEEDS = range(15)


def counts_in(text: str, what: str) -> tuple[int, int]:
    """The numbers in "N of M WHAT"."""
    text = re.sub(r"\bno (?=estimate|interval)", "0 of 0 ", re.sub("none of", "0 of", text.lower()))
    for verb, n in (("contains", 0), ("excludes", 1)):
        text = text.replace(f"the interval {verb}", f"{n} of 1 interval {verb}")
    match = re.search(rf"(\d+) of (\d+) {what}", text)
    assert match is not None, text
    return int(match[1]), int(match[2])


def effects(draws: Draws, **more: Any) -> pd.DataFrame:
    n = draws.size(1, 8)
    estimate = draws.numbers(n, missing=False)
    lower, upper = draws.limits(estimate)
    lower, upper = np.minimum(lower, estimate), np.maximum(upper, estimate)
    return pd.DataFrame(
        {"feature": "tone", "level": draws.names(n, "level"), "estimate": estimate, "std_error": 0.1}
        | {"lower": lower, "upper": upper, "judge": "gpt", "prompt": "", "statistic": "amce"}
        | more
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_text_of_effects_counts_intervals_that_exclude_zero(seed: int) -> None:
    frame = effects(Draws(seed))
    bounded = frame[frame["lower"].notna()]
    text = figures.alt(Result(frame, "amce"))
    check_grammar(text)
    if len(bounded):
        excluding = sum(row.lower > 0 or row.upper < 0 for row in bounded.itertuples())
        assert counts_in(text, "interval") == (excluding, len(bounded))
    for lower, upper in re.findall("\\[([\N{MINUS SIGN}\\d.-]+), ([\N{MINUS SIGN}\\d.-]+)\\]", text):
        ends = [float(one.replace("\N{MINUS SIGN}", "-")) for one in (lower, upper)]
        assert any(
            (ends[0] > 0, ends[1] < 0) == (row.lower > 0, row.upper < 0)
            for row in bounded.itertuples()
            if abs(row.lower - ends[0]) < 0.005 and abs(row.upper - ends[1]) < 0.005
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_text_of_true_values_counts_intervals_that_contain_them(seed: int) -> None:
    draws = Draws(seed)
    frame = effects(draws)
    frame["true"] = frame["estimate"] + draws.numbers(len(frame), 0.1)
    text = figures.alt(Result(frame, "truth"))
    if "No estimate has a true value" in text:
        assert frame["true"].isna().all()
        return
    rows = [row for row in frame.itertuples() if not is_missing(row.lower) and not is_missing(row.true)]
    inside = sum(row.lower <= row.true <= row.upper for row in rows)
    assert counts_in(text, "interval") == (inside, len(rows))
    error = frame["estimate"] - frame["true"]
    assert f"Largest error: {error.loc[error.abs().idxmax()]:.3f}".replace("-0.000", "0.000") in text.replace(
        "\N{MINUS SIGN}", "-"
    ).replace("-0.000", "0.000")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_text_of_detectable_effects_counts_small_estimates(seed: int) -> None:
    draws = Draws(seed)
    frame = effects(draws)
    frame["effect_found"], frame["effect_design"] = np.abs(draws.numbers(len(frame))), 0.1
    text = figures.alt(Result(frame, "detectable"))
    has_effect = frame["effect_found"].notna()
    small = sum(abs(row.estimate) < row.effect_found for row in frame[has_effect].itertuples())
    assert counts_in(text, "estimate") == (small, int(has_effect.sum()))
    check_grammar(text)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_text_of_adjusted_effects_counts_those_that_stay_significant(seed: int) -> None:
    draws = Draws(seed)
    frame = effects(draws)
    frame["p"] = draws.p(len(frame))
    frame["p_adjusted"] = np.minimum(frame["p"] * len(frame), 1)
    text = figures.alt(Result(frame, "significance", settings={"alpha": 0.05}))
    tested = [row for row in frame.itertuples() if not is_missing(row.p)]
    before, after = (sum(getattr(row, name) < 0.05 for row in tested) for name in ("p", "p_adjusted"))
    assert (
        text
        == f"Grid of {len(tested)} effects: {before} with p below 0.05, {after} of them after adjustment."
    )


def test_lines_of_forests_are_named_with_their_range() -> None:
    made = example("scores").result
    moved = (made.frame["judge"] == "random") & (made.frame["language"] == "es")
    frame = made.frame.assign(estimate=made.frame["estimate"].mask(moved, 0.13))
    text = figures.alt(replace(made, frame=frame))
    assert text.endswith("Lines: Always the most frequent label: 0.40; Random label: 0.08 to 0.13.")
