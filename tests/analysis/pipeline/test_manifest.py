"""Steps register themselves and are run in order; every shape of manifest is read as one list of results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import pytest
from cases import cases

from conjury.analysis.benchmark.data.label_answers import LabelAnswers
from conjury.analysis.pipeline.item_steps import plan_labels
from conjury.analysis.pipeline.manifest import RecordedResult, describe_study, entry_of, results_of, runs_of
from conjury.analysis.pipeline.runner import FitOptions, NamedResult, run
from conjury.analysis.results import ANALYSES, AnalysisStep, Result, analysis, steps_of
from conjury.inference.errors import InputError
from conjury.inference.study import ItemStudy, Study, load_any_study

ANALYSIS = {"name": "amce", "verb": "amce", "title": "All", "groups": [{"judge": "human"}], "seconds": 0.5}
RESULT = {
    "name": "means", "kind": "means", "title": "Means", "settings": {"draws": 9}, "notes": ["A note."],
    "further": ["main"], "seconds": 1.5, "verdict": ["Fine."], "passed": True,
}  # fmt: skip
EMPTY = Result(pd.DataFrame({"estimate": [1.0]}), "made_up")


def test_every_shape_of_results_is_one_list() -> None:
    [effects] = results_of({"analyses": [ANALYSIS]})
    assert (effects.kind, effects.groups, effects.part) == ("amce", ({"judge": "human"},), "fit")
    [means] = results_of({"results": [RESULT]})
    known = {"settings": {"draws": 9, "verdict": ["Fine."], "passed": True}, "notes": ("A note.",)}
    assert means == RecordedResult("means", "means", "Means", **known, extra=("main",), seconds=1.5)
    [people] = results_of({"analyses": [{**ANALYSIS, "verb": "amce_diffs", "figure": "people"}]})
    [scores] = results_of({"results": [RESULT | {"kind": "beside_print"}]})
    assert (people.kind, scores.kind) == ("people", "published_scores")
    diagnosed = {"robustness": ["errors", "power"], "alpha": 0.1, "seed": 3}
    found = results_of({"analyses": [ANALYSIS], "compared": {"title": "Effects"}, "diagnosed": diagnosed})
    assert [f"{made.part}: {made.name}, {made.kind}" for made in found] == [
        *("fit: amce, amce", "compared: engines, engines", "diagnosed: diagnosis, diagnosis"),
        *("diagnosed: errors, standard_errors", "diagnosed: power, detectable"),
    ]
    with pytest.raises(InputError, match=r"format 3.*update conjury, or run `conjury fit` again"):
        results_of({"format": 3, "results": []})


def test_later_runs_follow_in_order_of_time_and_replace_results_of_the_same_name() -> None:
    def run(hour: int, **given: Any) -> dict[str, Any]:
        return {"created": f"2026-01-01T0{hour}:00:00", "results": [{**RESULT, **given}]}

    manifest = {**run(1), "late": run(3, title="Last"), "early": run(2, name="alt_test", kind="alt_test")}
    assert list(runs_of(manifest)) == ["fit", "early", "late"]
    found = {made.name: (made.title, made.part) for made in results_of(manifest)}
    assert found == {"means": ("Last", "late"), "alt_test": ("Means", "early")}


def test_a_result_is_listed_and_read_as_it_was() -> None:
    groups = [{"judge": "human", "n_rows": 4}]
    result = Result(pd.DataFrame({"estimate": [1.0]}), "amce", ("A note.",), {"alpha": 0.1, "groups": groups})
    entry = json.loads(json.dumps(entry_of(NamedResult("main", "Effects", result, 0.5))))
    (read,) = results_of({"format": 2, "results": [entry]})
    assert (read.name, read.kind, read.title, read.seconds) == ("main", "amce", "Effects", 0.5)
    assert (read.settings, read.groups) == (result.settings, tuple(groups))
    assert (read.notes, read.part) == (("A note.",), "fit")


@pytest.mark.parametrize(("name", "text"), cases(__file__, "designs"))
def test_what_a_study_asks_is_described_by_its_fields(name: str, text: str) -> None:
    study = load_any_study(name)
    assert isinstance(study, ItemStudy | Study)
    assert text in describe_study(study)["design"]
    assert "prompts" not in describe_study(study, ["baseline"])["design"]


@pytest.fixture
def answered() -> LabelAnswers:
    """One answer of one model to one joke."""
    study = load_any_study("multiturn")
    assert isinstance(study, ItemStudy)
    asked = {"judge_id": "m", "judge_kind": "model", "item_id": "a", "prompt_id": "joke", "sample": 1}
    row = {**asked, "dimension": "joke_type", "value": "dark", "status": "ok"}
    labels = pd.DataFrame({"item_id": ["a"], "label_set": ["joke_type"], "label": ["dark"]})
    return LabelAnswers(study, pd.DataFrame([row]), labels)


def test_an_analysis_runs_where_its_module_says_so_and_nothing_else_changes(
    answered: LabelAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [step.name for step in plan_labels(answered, FitOptions(draws=0)).steps]
    monkeypatch.setattr(ANALYSES["benchmark"], "registered", dict(ANALYSES["benchmark"]))

    @analysis("benchmark", order=15, when=lambda data: data.is_scored)
    def added(data: LabelAnswers, drawn: Mapping[str, object]) -> Iterator[AnalysisStep]:
        yield AnalysisStep("vocabulary", f"Vocabulary, {drawn['draws']} draws", lambda: EMPTY)

    plan = plan_labels(answered, FitOptions(draws=0))
    assert [step.name for step in plan.steps] == [before[0], "vocabulary", *before[1:]]
    assert run([plan.steps[1]]).by_name["vocabulary"].kind == "made_up"
    names = {
        step.name.partition("_")[0] for step in steps_of("benchmark", answered, {"alpha": 0.05, "draws": 0})
    }
    assert {"readings", "scores", "confusion", "by"} <= names


def test_a_step_that_the_data_do_not_allow_is_a_note_and_a_required_one_an_error() -> None:
    def refuse() -> Result:
        raise InputError("There is one judge; give two.")

    seen: list[str] = []
    fitted = run(
        [AnalysisStep("one", "First", refuse), AnalysisStep("two", "Second", lambda: EMPTY)], seen.append
    )
    assert (seen, list(fitted.by_name)) == (["First", "Second"], ["two"])
    assert fitted.notes == ["First: not computed. There is one judge; give two."]
    with pytest.raises(InputError, match="give two"):
        run([AnalysisStep("one", "First", refuse, required=True)])
