"""Logs that Inspect itself writes, with its own model of canned answers."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.humans import Layout, Rules, read_inspect, read_scale

inspect_ai = pytest.importorskip("inspect_ai")

from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import Score, Scorer, Target, mean, model_graded_qa, scorer  # noqa: E402
from inspect_ai.solver import TaskState, generate  # noqa: E402


def canned(name: str, text: str) -> Any:
    """A model that says the same every time; stated usage spares it the counting of tokens."""
    answer = ModelOutput.from_content(f"mockllm/{name}", text)
    answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return get_model(f"mockllm/{name}", custom_outputs=[answer] * 50)


@scorer(metrics={"wit": [mean()], "clarity": [mean()]})
def panel() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        if state.sample_id == "broken":
            raise ValueError("no answer")
        wit = float("nan") if state.sample_id == "odd" else 3
        return Score(value={"wit": wit, "clarity": 1.5})

    return score


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One log in each of the two formats: two scorers with epochs, and a grader by its role."""
    folder = tmp_path_factory.mktemp("logs")
    samples = [Sample(id=name, input="Say something.", target="x") for name in ("fine", "odd", "broken")]
    graded = model_graded_qa(model=canned("judge", "GRADE: C"))
    jokes = inspect_ai.Task(name="jokes", dataset=samples, solver=generate(), scorer=[panel(), graded])
    inspect_ai.eval(
        jokes,
        model=canned("writer", "ha"),
        epochs=2,
        log_dir=str(folder / "a"),
        log_format="eval",
        display="none",
        fail_on_error=False,
    )
    short = inspect_ai.Task(name="short", dataset=samples[:1], solver=generate(), scorer=model_graded_qa())
    inspect_ai.eval(
        short,
        model=canned("writer", "ha"),
        model_roles={"grader": canned("arbiter", "GRADE: I")},
        log_dir=str(folder / "b"),
        log_format="json",
        display="none",
    )
    return folder


def test_scores_are_judgments_by_scorer_or_grader_sample_and_epoch(logs: Path) -> None:
    made = read_inspect(logs / "a").judgments
    assert len(made) == 3 * 2 * 3
    fine = made[(made["item_id"] == "fine") & (made["sample"] == 2)]
    assert fine[["judge_id", "judge_kind", "dimension", "value"]].to_numpy().tolist() == [
        ["panel", "model", "wit", "3"],
        ["panel", "model", "clarity", "1.5"],
        ["mockllm/judge", "model", "model_graded_qa", "C"],
    ]
    assert made["generator"].unique().tolist() == ["mockllm/writer"]


def test_errors_and_values_that_are_nan_have_a_status(logs: Path) -> None:
    made = read_inspect(logs / "a", Layout(dimensions={"wit": "wit"})).judgments
    status = made.groupby("item_id")["status"].unique().map(list).to_dict()
    assert status == {"broken": ["error"], "fine": ["ok"], "odd": ["unparsed"]}
    assert made[made["item_id"] != "fine"]["value"].isna().all()


def test_grades_become_numbers_by_anchors(logs: Path) -> None:
    rules = Rules(scale=read_scale("C=1,P=0.5,I=0"))
    made = read_inspect(logs / "b", rules=rules).judgments
    assert made[["judge_id", "item_id", "value"]].to_numpy().tolist() == [["mockllm/arbiter", "fine", 0]]


@pytest.mark.parametrize(
    ("by", "judge"),
    [("grader", "mockllm/arbiter"), ("scorer", "model_graded_qa"), ("model", "mockllm/writer")],
)
def test_judges_are_graders_scorers_or_the_model_evaluated(logs: Path, by: str, judge: str) -> None:
    assert read_inspect(logs / "b", Layout(judge=by)).judgments["judge_id"].tolist() == [judge]


def test_folders_with_several_tasks_keep_their_items_apart(logs: Path) -> None:
    made = read_inspect(logs)
    assert {"jokes/fine", "short/fine"} <= set(made.judgments["item_id"])
    assert "There are several tasks, so items begin with the task, as TASK/SAMPLE." in made.notes


def test_other_files_and_judges_are_refused(tmp_path: Path, logs: Path) -> None:
    for name, content in (("a.json", "[1, 2]"), ("a.eval", "nothing"), ("b.json", '{"a": 1}')):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=r"name an \.eval or"):
            read_inspect(tmp_path / name)
    with pytest.raises(InputError, match="there is no such log or folder"):
        read_inspect(tmp_path / "c.eval")
    with pytest.raises(InputError, match="write one of them"):
        read_inspect(logs / "b", Layout(judge="someone"))


def test_a_missing_package_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("inspect_ai"):
            raise ImportError(name)
        return real(name, *rest)

    (tmp_path / "a.eval").write_text("x")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependency, match=r"pip install 'conjury\[inspect\]'"):
        read_inspect(tmp_path / "a.eval")
