"""Files of judged items: what other programs write, columns that are guessed, hostile content."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.readers.judged import Judged, read_judged
from conjury.inference.readers.judged.judged_columns import columns_of
from conjury.inference.tables.items import item_column
from conjury.inference.tables.reading import ReadingRules, read

SAMPLE, RESULT = cases(__file__, "examples")


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def test_samples_of_lm_eval_have_answers_and_targets(tmp_path):
    samples = [SAMPLE, {**SAMPLE, "doc_id": 1, "filtered_resps": [], "target": "ok"}]
    found = read_judged(lines(tmp_path / "samples_spam_2026.jsonl", samples))
    roles = (found.judge, found.human, found.id, found.program)
    assert roles == ("answer", "target", "doc_id", "samples of lm-eval")
    assert found.frame["answer"].fillna("none").tolist() == ["spam", "none"]
    assert found.frame["target"].tolist() == ["spam", "ok"]
    assert found.frame["doc.meta.lang"].tolist() == ["en", "en"]
    assert found.frame["exact_match"].tolist() == [1.0, 1.0]
    assert columns_of(found, "answer", ()).human == ("target",)
    with pytest.raises(InputError, match="name one or more with --human"):
        columns_of(found, *found.scores, ())


def test_choices_of_lm_eval_are_answered_by_the_most_likely(tmp_path):
    likely = [[-3.5, False], [-0.5, True], [-9.0, False]]
    as_text = [[["-0.1", "True"]], [["-0.5", "False"]]]
    answered = [([[["a b"], ["c"]]], "a b"), ([], None), ("  x  y ", "x y"), ([["-0.1", "perhaps"]], "-0.1")]
    for given, answer in answered:
        (sample,) = [{**SAMPLE, "filtered_resps": None, "resps": given}]
        found = read_judged(lines(tmp_path / "one.jsonl", [sample])).frame["answer"].iloc[0]
        assert (None if pd.isna(found) else found) == answer
    samples = [
        {**SAMPLE, "filtered_resps": likely, "target": "1"},
        {**SAMPLE, "filtered_resps": as_text, "target": "0"},
    ]
    assert read_judged(lines(tmp_path / "s.jsonl", samples)).frame["answer"].tolist() == ["1", "0"]


def test_of_several_filters_of_lm_eval_the_last_is_read(tmp_path):
    samples = [
        {**SAMPLE, "filter": name, "filtered_resps": [[text, "ok"]]}
        for name, text in (("strict-match", "[invalid]"), ("flexible-extract", "spam"))
    ]
    found = read_judged(lines(tmp_path / "s.jsonl", samples))
    assert found.frame["answer"].tolist() == ["spam"]
    assert "strict-match, flexible-extract" in found.notes[0]
    assert found.notes[1].startswith("1 sample with several responses to a request: 'answer' is the first;")


@pytest.mark.parametrize("form", ["json", "older", "jsonl"])
def test_output_of_promptfoo_has_grades_by_models_and_people(tmp_path, form):
    if form == "jsonl":
        path = lines(tmp_path / "output.jsonl", [RESULT])
    else:
        inner = {"version": 3, "prompts": [], "results": [RESULT], "stats": {}}
        content = {"evalId": "x", "results": inner, "config": {}} if form == "json" else inner
        path = tmp_path / "output.json"
        path.write_text(json.dumps(content), encoding="utf-8")
    found = read_judged(path)
    row = found.frame.iloc[0]
    assert (found.judge, found.human, found.id) == ("llm-rubric", "human", "test")
    # A person's rating replaces the grade of the row in promptfoo, so it is no part of `passed` here.
    verdicts = [row[name] for name in ("llm-rubric", "human", "contains", "passed")]
    assert verdicts == ["pass", "fail", "pass", "pass"]
    assert (row["vars.text"], row["metadata.lang"], row["named.tone"]) == ("hi", "en", 0.7)
    assert (row["provider"], row["prompt"], row["test"]) == ("openai:gpt-5-mini", "short", 3)


def test_a_failed_call_of_promptfoo_is_no_failing_grade(tmp_path):
    failed = RESULT | {"failureReason": 2, "error": "429", "success": False, "gradingResult": None}
    graded = RESULT | {"gradingResult": {"pass": False, "componentResults": []}, "success": False}
    frame = read_judged(lines(tmp_path / "output.jsonl", [failed, graded])).frame
    assert frame["passed"].isna().tolist() == [True, False]
    assert frame["passed"].iloc[1] == "fail"


@pytest.mark.parametrize("column", ["excluded", "status", "note"])
def test_judgments_that_are_excluded_or_refused_are_no_answers(tmp_path, column):
    rows = [("gpt", "model", "i1", "yes"), ("ann", "human", "i1", "no"), ("gpt", "model", "i2", "no")]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    table[column] = {"excluded": [None, None, "preview"], "status": ["ok", "ok", "refused"]}.get(
        column, "short"
    )
    table.to_csv(tmp_path / "judgments.csv", index=False)
    found = read_judged(tmp_path / "judgments.csv")
    columns = columns_of(found, None, ())
    assert (columns.judge, columns.human) == ("gpt", ("ann",))
    assert found.frame["gpt"].fillna("none").tolist() == ["yes", "no" if column == "note" else "none"]


@pytest.mark.long
def test_logs_of_inspect_have_a_row_per_sample(tmp_path):
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, match, model_graded_qa

    def canned(name: str, text: str) -> Any:
        answer = ModelOutput.from_content(f"mockllm/{name}", text)
        answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return get_model(f"mockllm/{name}", custom_outputs=[answer] * 9)

    samples = [Sample(id=k, input="Say x.", target="x", metadata={"human": "C"}) for k in range(3)]
    scorers = [match(), model_graded_qa(model=canned("judge", "GRADE: C"))]
    task = inspect_ai.Task(dataset=samples, scorer=scorers)
    inspect_ai.eval(task, model=canned("writer", "x"), log_dir=str(tmp_path), display="none")
    found = read_judged(tmp_path)
    assert len(found.frame) == 3
    assert (found.judge, found.id) == ("score_model_graded_qa", "id")
    assert columns_of(found, None, ()).human == ("metadata_human",)
    assert found.frame["score_match"].tolist() == ["C"] * 3
    log = read_eval_log(next(tmp_path.glob("*.eval")).as_posix())
    assert log.samples is not None
    for sample in log.samples:  # as earlier versions stored a grader that gave no grade
        assert sample.scores is not None
        sample.scores["model_graded_qa"] = Score(value="I", explanation="Grade not found in model output: no")
    (tmp_path / "further").mkdir()
    write_eval_log(log, str(tmp_path / "further" / "log.json"))
    frame = read_judged(tmp_path / "further" / "log.json").frame
    assert frame["score_model_graded_qa"].isna().tolist() == [True] * 3
    assert frame["score_match"].tolist() == ["C"] * 3


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [*cases(__file__, "damaged"), ("a.jsonl", "[" * 500 + "]" * 500, "nested more than 100")],
)
def test_damaged_files_are_refused_in_one_sentence(tmp_path, name, content, problem):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_judged(tmp_path / name)


def guessed(*names: str, **given: Any) -> Any:
    frame = pd.DataFrame({name: ["a", "b", "a"] for name in names})
    return columns_of(Judged(frame, "t.csv"), given.get("judge"), given.get("human", ()))


@pytest.mark.parametrize(("names", "judge", "human"), cases(__file__, "guessed"))
def test_columns_are_guessed_by_their_names(names, judge, human):
    found = guessed(*names)
    assert (found.judge, list(found.human)) == (judge, human)
    assert len(found.guessed) == 2


@pytest.mark.parametrize(("names", "given", "problem"), cases(__file__, "ambiguous"))
def test_columns_that_could_be_several_are_refused_with_the_candidates(names, given, problem):
    with pytest.raises(InputError, match=problem):
        guessed(*names, **given)


def test_people_are_suggested_by_their_labels_and_nothing_is_guessed_strictly():
    labels = pd.Series(["a", "b", "a"])
    frame = pd.DataFrame({"lang": ["en", "de", "en"], "verdict": labels, "kim": labels, "lee": labels})
    with pytest.raises(InputError, match=r": kim, lee could be .* --judge verdict --human kim,lee\."):
        columns_of(Judged(frame, "t.csv"), None, ())
    strict = Judged(frame, "t.csv", table=read(frame, ReadingRules(strict=True)))
    assert columns_of(strict, "verdict", ["kim"]).guessed == ()
    with pytest.raises(
        InputError, match=r"'verdict' .* a guess, and --strict allows none; state it with --judge"
    ):
        columns_of(strict, None, ["kim"])


@pytest.mark.parametrize(("n", "refusal"), [(50, None), (51, "label might be that of the judge")])
def test_more_than_fifty_texts_are_no_labels_and_items_are_named_by_id(n, refusal):
    texts = [f"a long text {k}" for k in range(n)] * 2
    frame = pd.DataFrame({"item_id": range(2 * n), "judge": texts, "label": "a"})
    assert item_column(frame) == "item_id"
    with pytest.raises(InputError, match=refusal) if refusal else nullcontext():
        assert columns_of(Judged(frame, "t.csv"), None, ()).judge == "judge"


@pytest.mark.parametrize("as_list", [False, True])
def test_choices_of_lm_eval_are_texts_where_the_targets_are(tmp_path, as_list):
    requests = [["Question", f" {text}"] for text in ("yes", "no", "maybe")]
    arguments = requests if as_list else {f"gen_args_{k}": dict(enumerate(r)) for k, r in enumerate(requests)}
    likelihoods = [[["-5.0", "False"], ["-3.0", "False"], ["-4.0", "False"]]] * 2
    rows = [
        {"doc_id": k, "target": target, "arguments": arguments, "filtered_resps": likelihoods[k]}
        for k, target in enumerate(["no", "maybe"])
    ]
    file = tmp_path / "samples.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    assert read_judged(file).frame["answer"].tolist() == ["no", "no"]
    file.write_text("\n".join(json.dumps({**row, "target": 1}) for row in rows))
    assert read_judged(file).frame["answer"].astype(str).tolist() == ["1", "1"]


def test_a_suggested_command_says_that_refusals_are_missing():
    frame = pd.DataFrame({"gpt": ["ok", "bad", "I cannot assist."] * 5, "ann": ["ok", "bad", "ok"] * 5})
    with pytest.raises(InputError, match=r"--judge gpt --human ann --missing 'I cannot assist\.'\."):
        columns_of(Judged(frame, "t.csv"), "gpt", ())
