"""A correlation that rests on a few items has no interval."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.analysis.raters import correlations


def table(off: int) -> pd.DataFrame:
    """120 items that a person rates at random and a model rates 4, but for ``off`` of them."""
    rng = np.random.default_rng(1)
    items = [f"item_{k}" for k in range(120)]
    model = np.where(np.arange(120) < off, 3, 4)
    return pd.DataFrame(
        {
            "judge_id": ["ann"] * 120 + ["gpt"] * 120,
            "judge_kind": ["human"] * 120 + ["model"] * 120,
            "item_id": items * 2,
            "value": np.concatenate([rng.integers(0, 5, 120), model]),
        }
    )


def test_a_model_that_hardly_varies_has_a_correlation_without_an_error() -> None:
    found = correlations(table(5), draws=50)
    assert found.frame["estimate"].notna().all()
    assert found.frame[["std_error", "lower", "upper", "p", "p_holm"]].isna().all().all()
    assert set(found.frame["rests_on"]) == {5}
    assert any("have no interval: fewer than 10 items" in note for note in found.notes)


def test_a_model_that_varies_enough_has_one() -> None:
    assert correlations(table(40), draws=50).frame["lower"].notna().all()
