"""What results say and do not say: every kind that claims something, and what its intervals are about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce, amce_diffs, mm_diffs
from conjury.analysis.frames.claims import claims_by_kind
from conjury.analysis.report.exhibits import KINDS
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

# Checks, descriptions of data, comparisons with print and tables beside results.
DESCRIPTIONS = {
    *("answers", "battery", "battery_checks", "both_answers", "cards", "checks", "cj_table", "coverage"),
    *("diagnosis", "distributions", "people_flow", "registration", "rating_lines", "readings", "recovery"),
    *("engines", "errors", "estimates_by_engine", "prompts"),
    *("published", "published_checks", "published_correlations", "published_means", "published_scores"),
    *("published_numbers", "standard_errors"),
}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # few clusters
CHOICES = pd.DataFrame(
    {
        "chosen": [1, 0, 1, 0, 0, 1, 1, 0] * 30,
        "pair_id": np.repeat(range(120), 2),
        "judge_id": np.repeat(range(12), 20),
        "text": np.tile(range(20), 12),
        "tone": ["rude", "kind"] * 120,
        "group": pd.Categorical(np.repeat(["men", "women"], 120)),
    }
)


def test_every_kind_of_a_report_claims_something_or_describes() -> None:
    claiming = set(KINDS) - set(claims_by_kind())
    assert claiming <= DESCRIPTIONS, claiming - DESCRIPTIONS
    assert not DESCRIPTIONS & set(claims_by_kind())


def test_claims_of_groups_warn_of_differences_between_references() -> None:
    effects = amce_diffs(CHOICES, "chosen ~ tone", by="group", id="pair_id").claims()
    assert "larger AMCE in one group is not a larger preference" in str(effects)
    means = mm_diffs(CHOICES, "chosen ~ tone", by="group", id="pair_id").claims()
    assert "larger AMCE" not in str(means)


@pytest.mark.parametrize(
    ("unit", "about"),
    [("judge_id", "other people"), ("pair_id", "other pairs"), ("text", "other values of `text`")],
)
def test_claims_say_what_intervals_are_about(unit: str, about: str) -> None:
    assert about in amce(CHOICES, "chosen ~ tone", id=unit).claims().says
    assert "Intervals" not in amce(CHOICES, "chosen ~ tone").claims().says


def test_checks_claim_nothing() -> None:
    with pytest.raises(InputError, match="Results of the kind answers describe data"):
        Result(pd.DataFrame(), "answers").claims()
