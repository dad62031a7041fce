"""Analyses of labels register themselves; the runner times, orders and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
import pytest

from conjury.analysis import benchmark
from conjury.analysis import results as steps
from conjury.analysis.benchmark.data.answered import Answered
from conjury.analysis.pipeline.labels import plan_labels
from conjury.analysis.pipeline.run import FitOptions, run
from conjury.analysis.results import Result, Step, analysis, steps_of
from conjury.inference.errors import InputError
from conjury.inference.study import ItemStudy, load_any_study

EMPTY = Result(pd.DataFrame({"estimate": [1.0]}), "made_up")


@pytest.fixture
def answered() -> Answered:
    """One answer of one model to one joke."""
    study = load_any_study("multiturn")
    assert isinstance(study, ItemStudy)
    asked = {
        "judge_id": ["m"],
        "judge_kind": ["model"],
        "item_id": ["a"],
        "prompt_id": ["joke"],
        "sample": [1],
    }
    judgments = pd.DataFrame({**asked, "dimension": ["joke_type"], "value": ["dark"], "status": ["ok"]})
    labels = pd.DataFrame({"item_id": ["a"], "label_set": ["joke_type"], "label": ["dark"]})
    return Answered(study, judgments, labels)


def test_an_analysis_runs_where_its_module_says_so_and_nothing_else_changes(
    answered: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [step.name for step in plan_labels(answered, FitOptions(draws=0)).steps]
    monkeypatch.setitem(steps._REGISTERED, "benchmark", list(steps._REGISTERED["benchmark"]))

    @analysis("benchmark", order=15, when=lambda data: data.is_scored)
    def added(data: Answered, drawn: Mapping[str, object]) -> Iterator[Step]:
        yield Step("vocabulary", f"Vocabulary, {drawn['draws']} draws", lambda: EMPTY)

    plan = plan_labels(answered, FitOptions(draws=0))
    assert [step.name for step in plan.steps] == [before[0], "vocabulary", *before[1:]]
    assert run([plan.steps[1]]).by_name["vocabulary"].kind == "made_up"


def test_every_module_of_benchmarks_is_searched_for_analyses(answered: Answered) -> None:
    names = {step.name.partition("_")[0] for step in steps_of(benchmark, answered, {"alpha": 0.05})}
    assert {"readings", "scores", "confusion", "by"} <= names


def test_a_step_that_the_data_do_not_allow_is_a_note_and_a_required_one_an_error() -> None:
    def refuse() -> Result:
        raise InputError("There is one judge; give two.")

    steps_in_order = [Step("one", "First", refuse), Step("two", "Second", lambda: EMPTY)]
    seen: list[str] = []
    fitted = run(steps_in_order, seen.append)
    assert (seen, list(fitted.by_name)) == (["First", "Second"], ["two"])
    assert fitted.notes == ["First: not computed. There is one judge; give two."]
    with pytest.raises(InputError, match="give two"):
        run([Step("one", "First", refuse, required=True)])
