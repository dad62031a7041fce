"""Rows of kinds of results fit what code registers; what results say and do not say."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce, amce_diffs, mm_diffs
from conjury.analysis.figures import figure_registry
from conjury.analysis.frames.kinds import kinds
from conjury.analysis.report.exhibits import EXHIBITS
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

# Checks, descriptions of data, comparisons with print and tables beside results.
DESCRIPTIONS = {
    *("answers", "battery", "battery_checks", "both_answers", "cards", "checks", "cj_table", "coverage"),
    *(
        "diagnosis",
        "distributions",
        "participants",
        "people_flow",
        "registration",
        "rating_lines",
        "readings",
        "recovery",
    ),
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
    claiming = {name for name, kind in kinds().items() if kind.claims is not None}
    assert set(EXHIBITS) <= claiming | DESCRIPTIONS
    assert not DESCRIPTIONS & claiming


def test_every_exhibit_has_a_row_and_one_text_of_its_method_at_most() -> None:
    assert set(EXHIBITS) <= set(kinds())
    assert not [name for name, builder in EXHIBITS.items() if builder.method and kinds()[name].method]
    assert all(EXHIBITS[name].of is None for name, kind in kinds().items() if kind.lead)


def test_figures_that_rows_have_texts_of_are_drawn() -> None:
    drawn = figure_registry.FIGURES
    for name, kind in kinds().items():
        assert not kind.figure or "" in drawn[name], name
        assert set(kind.further) <= set(drawn.get(name, {})), name


FILLED = {"figure", "table", "title", "name", "level", "drawn", "clustered", "adjusted"}
BY_CODE = {"notes", "rule", "numeric", "judge", "of_whom", "analysed", "against"}


def test_placeholders_of_texts_are_filled() -> None:
    for name, kind in kinds().items():
        further = [text for part in kind.further.values() for text in (part.lead, part.figure)]
        texts = " ".join([kind.lead, kind.figure, kind.table, *further])
        assert set(re.findall(r"\{(\w+)", texts)) <= FILLED | BY_CODE, name
        assert texts.count("{") == texts.count("}"), name
        assert not re.findall(r"[{}]", kind.method + kind.quantity), name


def test_claims_of_groups_warn_of_differences_between_references() -> None:
    effects = amce_diffs(CHOICES, "chosen ~ tone", by="group", id="pair_id").claims()
    assert "larger AMCE in one group is not a larger preference" in str(effects)
    means = mm_diffs(CHOICES, "chosen ~ tone", by="group", id="pair_id").claims()
    assert "larger AMCE" not in str(means)


@pytest.mark.parametrize(
    ("unit", "about"),
    [("judge_id", "other people"), ("pair_id", "further pairs"), ("text", "other values of `text`")],
)
def test_claims_say_what_intervals_are_about(unit: str, about: str) -> None:
    assert about in amce(CHOICES, "chosen ~ tone", id=unit).claims().does_not_say
    assert "Intervals" not in amce(CHOICES, "chosen ~ tone").claims().does_not_say


def test_checks_claim_nothing() -> None:
    with pytest.raises(InputError, match="Results of the kind answers describe data"):
        Result(pd.DataFrame(), "answers").claims()
