"""What the manifest says of each analysis."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint.engines import cregg
from conjury.analysis.conjoint.engines.cregg import estimate_with_cregg
from conjury.analysis.conjoint.request import make_request
from conjury.analysis.pipeline.conjoint import fit_study
from conjury.analysis.pipeline.manifest import Recorded, entries_of, results_of
from conjury.analysis.pipeline.run import FitOptions
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study


@pytest.fixture(scope="module")
def recorded() -> dict[str, Recorded]:
    study = load_study("moderation")
    test = study.analysis("amce_by_identity").model_copy(update={"name": "tested", "verb": "cj_anova"})
    study = study.model_copy(update={"analyses": [*study.analyses, test]})
    made = simulate(
        study, 4, pairs=300, respondents=30, judges=["human", "gpt4o"], prompts=["baseline"], truth=False
    )
    fitted = fit_study(study, {"": made.choices}, FitOptions(draws=0))
    listed = json.loads(json.dumps({"format": 2, "results": entries_of(fitted.results)}))
    return {one.name: one for one in results_of(listed)}


def test_rules_of_an_analysis_are_recorded(recorded: dict[str, Recorded]) -> None:
    settings = {name: one.settings for name, one in recorded.items()}
    assert settings["amce_slur"]["exclude"] == {"slur": ["none"]}
    assert settings["amce"]["exclude"] == {}
    assert (settings["mm"]["h0"], settings["amce"]["h0"]) == (0.5, 0.0)
    assert (settings["amce"]["family"], settings["amce"]["weights"]) == ("gaussian", None)
    split = settings["amce_by_identity"]
    assert (split["feature"], split["by"]) == ("slur", ["identity"])


def test_the_kind_of_a_result_is_the_verb_or_a_comparison_with_people(recorded: dict[str, Recorded]) -> None:
    assert {name: one.kind for name, one in recorded.items()} == {
        "amce": "amce",
        "mm": "mm",
        "amce_speech": "amce",
        "amce_slur": "amce",
        "amce_by_identity": "amce_diffs",
        "frequencies": "cj_freqs",
        "tested": "cj_anova",
        "amce_people": "people",
        "mm_people": "people",
    }


def test_repeats_that_were_left_out_are_counted_in_rows(recorded: dict[str, Recorded]) -> None:
    assert recorded["amce"].settings["repeats_left_out"] == 2 * 30
    excluded = {group["judge"]: group["repeats_left_out"] for group in recorded["amce"].groups}
    assert excluded == {"gpt4o": 0, "human": 60}


def test_counts_have_no_clusters(recorded: dict[str, Recorded]) -> None:
    counts = recorded["frequencies"]
    assert (counts.settings["id"], counts.settings["n_clusters"]) == (None, None)
    assert {(group["id"], group["n_clusters"]) for group in counts.groups} == {(None, None)}


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
