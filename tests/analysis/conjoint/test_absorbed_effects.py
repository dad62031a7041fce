"""Absorbed effects of linearmodels in a forced choice: a check for respondents, twice the AMCE for tasks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "analysing" / "packages.md"
pytest.importorskip("linearmodels")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def block() -> dict[str, Any]:
    """What the block of the page computes."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def test_absorbed_respondents_are_regressions_on_deviations_from_their_means(block) -> None:
    person = block["choices"]["judge_id"].astype(str)
    outcome, levels = (
        part - part.groupby(person).transform("mean") for part in (block["chosen"], block["levels"])
    )
    by_hand = np.linalg.lstsq(levels.to_numpy(), outcome.to_numpy(), rcond=None)[0]
    table: pd.DataFrame = block["table"]
    np.testing.assert_allclose(table["absorbed judge_id"], by_hand, atol=1e-8)
    np.testing.assert_allclose(table["absorbed judge_id"], table["estimate"], atol=0.005)


def test_absorbed_tasks_are_regressions_of_differences_within_pairs_and_about_twice_the_amce(block) -> None:
    choices = block["choices"].assign(place=range(len(block["choices"])))
    places = choices.pivot(index="pair_id", columns="position", values="place")
    levels, chosen = block["levels"].to_numpy(), block["chosen"].to_numpy()
    difference = levels[places["A"]] - levels[places["B"]]
    by_hand = np.linalg.lstsq(difference, chosen[places["A"]] - chosen[places["B"]], rcond=None)[0]
    table: pd.DataFrame = block["table"]
    np.testing.assert_allclose(table["absorbed pair_id"], by_hand, atol=1e-8)
    assert (table["absorbed pair_id"] / table["estimate"]).between(1.8, 2.3).all()
