"""Shares of answers that change: counts, intervals, conditions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis.instrument import determinism
from conjury.inference.errors import InputError


def pairs(n: int = 40, **columns: object) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    made = {
        "judge_id": "m",
        "prompt_id": np.where(np.arange(n) < n / 4, "first", "second"),
        "parsed_changed": rng.random(n) < 0.2,
        "text_changed": rng.random(n) < 0.5,
    }
    return pd.DataFrame({**made, **columns})


def test_counts_and_intervals_are_those_of_each_prompt_and_of_all():
    data = pairs()
    frame = determinism(data, alpha=0.1).frame.set_index(["level", "quantity"])
    assert len(frame) == 6
    for quantity, column in (("parsed answer", "parsed_changed"), ("text", "text_changed")):
        parts = {"": data, **dict(list(data.groupby("prompt_id")))}
        for prompt, part in parts.items():
            row, changed = frame.loc[(prompt, quantity)], int(part[column].sum())
            limits = proportion_confint(changed, len(part), alpha=0.1, method="wilson")
            assert (row["n_changed"], row["n"]) == (changed, len(part))
            found = row[["estimate", "lower", "upper"]].tolist()
            np.testing.assert_allclose(found, [changed / len(part), *limits])


def test_answers_that_never_change_have_an_upper_limit():
    frame = determinism(pairs(parsed_changed=False, text_changed=True)).frame
    never = frame[(frame["quantity"] == "parsed answer") & (frame["condition"] == "")].iloc[0]
    assert (never["estimate"], never["lower"]) == (0, 0)
    assert 0 < never["upper"] < 0.1
    always = frame[frame["quantity"] == "text"]
    assert always["upper"].eq(1).all()
    assert always["lower"].between(0.5, 1, inclusive="neither").all()


def test_facets_that_vary_are_conditions_and_judges_stay_apart():
    order = np.tile(["given", "reversed"], 20)
    both = pd.concat([pairs(option_order=order), pairs(judge_id="other", option_order="given")])
    frame = determinism(both).frame
    assert list(dict.fromkeys(frame["judge"])) == ["m", "other"]
    assert set(frame.loc[frame["judge"] == "other", "condition"]) == {"", "prompt"}
    of_m = frame[(frame["judge"] == "m") & (frame["quantity"] == "text")]
    assert of_m[["condition", "level"]].values.tolist() == [
        ["", ""],
        ["prompt", "first"],
        ["prompt", "second"],
        ["option_order", "given"],
        ["option_order", "reversed"],
    ]
    changed = of_m.groupby("condition")["n_changed"].sum()
    assert changed.nunique() == 1
    assert "option_order" not in set(determinism(pairs(option_order="given")).frame["condition"])
    some = pairs(option_order=["given", None] * 20)
    assert "option_order" in set(determinism(some).frame["condition"])


@pytest.mark.parametrize(
    "columns",
    [
        {"judge_id": ["m", "k"] * 20, "prompt_id": ["p", "q"] * 20},
        {"prompt_id": "p", "option_order": ["", None] * 20},
    ],
    ids=["a prompt of its own for each judge", "an empty level and a missing one"],
)
def test_conditions_that_vary_for_no_judge_have_no_rows(columns: dict[str, object]) -> None:
    """Such rows stated that no answer changed."""
    assert set(determinism(pairs(**columns)).frame["condition"]) == {""}


def test_impossible_levels_are_refused():
    with pytest.raises(InputError, match="alpha"):
        determinism(pairs(), alpha=1.5)
