"""What the manifest says of each analysis."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint.engines import cregg
from conjury.analysis.conjoint.engines.cregg import estimate_with_cregg
from conjury.analysis.conjoint.request import make_request
from conjury.analysis.pipeline.conjoint import Options, fit_study
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, Any]]:
    study = load_study("moderation")
    test = study.analysis("amce_by_identity").model_copy(update={"name": "tested", "verb": "cj_anova"})
    study = study.model_copy(update={"analyses": [*study.analyses, test]})
    made = simulate(
        study, 4, pairs=300, respondents=30, judges=["human", "gpt4o"], prompts=["baseline"], truth=False
    )
    fitted = fit_study(study, {"": made.choices}, Options(draws=0))
    assert json.loads(json.dumps(fitted.analyses)) == fitted.analyses
    return {entry["name"]: entry for entry in fitted.analyses}


def test_rules_of_an_analysis_are_recorded(recorded: dict[str, dict[str, Any]]) -> None:
    assert recorded["amce_slur"]["exclude"] == {"slur": ["none"]}
    assert recorded["amce"]["exclude"] == {}
    assert (recorded["mm"]["h0"], recorded["amce"]["h0"]) == (0.5, 0.0)
    assert (recorded["amce"]["family"], recorded["amce"]["weights"]) == ("gaussian", None)
    assert (recorded["amce_by_identity"]["feature"], recorded["amce_by_identity"]["by"]) == (
        "slur",
        ["identity"],
    )


def test_the_kind_of_figure_follows_from_the_verb(recorded: dict[str, dict[str, Any]]) -> None:
    assert {name: entry["figure"] for name, entry in recorded.items()} == {
        "amce": "coefficients",
        "mm": "marginal_means",
        "amce_speech": "coefficients",
        "amce_slur": "coefficients",
        "amce_by_identity": "interaction",
        "frequencies": "frequencies",
        "tested": None,
        "amce_people": "people",
        "mm_people": "people",
    }


def test_repeats_that_were_left_out_are_counted_in_rows(recorded: dict[str, dict[str, Any]]) -> None:
    assert recorded["amce"]["repeats_left_out"] == 2 * 30
    assert {g["judge"]: g["repeats_left_out"] for g in recorded["amce"]["groups"]} == {
        "gpt4o": 0,
        "human": 60,
    }


def test_counts_have_no_clusters(recorded: dict[str, dict[str, Any]]) -> None:
    counts = recorded["frequencies"]
    assert (counts["id"], counts["n_clusters"]) == (None, None)
    assert {(group["id"], group["n_clusters"]) for group in counts["groups"]} == {(None, None)}


@pytest.mark.parametrize(("verb", "used"), [("amce", 3), ("mm", 5)])
def test_rows_and_clusters_of_cregg_are_counted_here(
    verb: str, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pd.DataFrame(
        {
            "y": [1, 0, 1, 0, 1, np.nan],
            "a": pd.Categorical(["p", None, "q", "p", "q", "p"]),
            "b": pd.Categorical(["u", "v", "u", None, "v", "u"]),
            "unit": [1, 1, 2, 2, 3, 3],
        }
    )
    monkeypatch.setattr(cregg, "run", lambda *given, **options: pd.DataFrame())
    made = estimate_with_cregg(make_request(verb, "y ~ a + b", id="unit", engine="cregg"), data).provenance
    assert (made.n_rows, made.n_used, made.n_clusters) == (6, used, 3)
    alone = estimate_with_cregg(make_request(verb, "y ~ a + b", engine="cregg"), data).provenance
    assert alone.n_clusters is None
