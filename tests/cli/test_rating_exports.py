"""What annotation and evaluation programs write, through every door: the numbers are those of its answers."""

from __future__ import annotations

import io
import json
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from conjury import agreement
from conjury.inference.errors import InputError
from conjury.inference.readers.judged import read_judged
from conjury.inference.readers.judgments import load_judgments
from conjury.inference.tables.reading import ReadingRules
from tests.inference.tables.reading.test_damaged_files import damaged
from tests.support.messes.clean_tables import CleanTable, cohen, right_number
from tests.support.rating_exports import (
    EXPORTS,
    LABELS,
    MODEL,
    PEOPLE,
    SCORES,
    VOTES,
    RatingExport,
    alpaca_eval,
    answers,
    arena,
    argilla,
    lines,
    mt_bench_votes,
    promptfoo,
    reward_bench,
)

Run = Callable[..., Any]
IDS = [export.name for export in EXPORTS]


def written(export: RatingExport, rows: pd.DataFrame, folder: Path) -> str:
    """The files of an export in a folder; what a command names."""
    files = export.files(rows)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return export.path or next(iter(files))


@pytest.mark.parametrize("export", EXPORTS, ids=IDS)
def test_an_export_gives_the_kappa_of_its_answers(export: RatingExport, tmp_path: Path) -> None:
    rows = answers(export.classes)
    notes: list[str] = []
    judgments = load_judgments(tmp_path / written(export, rows, tmp_path), notes=notes)
    result = agreement(judgments, ["cohen"], draws=0).frame.query("weights == 'nominal'")
    values = {(row.among, row.against or ""): row.estimate for row in result.fillna("").itertuples()}
    if len(export.people) > 1 and not export.is_named:
        assert values["human", ""] == pytest.approx(cohen(rows, *PEOPLE))
    if len(export.people) == 1 and export.model is not None:
        answered = rows.dropna()
        assert values["human", export.model] == pytest.approx(cohen(answered, PEOPLE[0], MODEL))
    assert "and is read as such" in " ".join(notes)


@pytest.mark.parametrize(
    "export",
    [
        pytest.param(
            export,
            id=export.name,
            marks=() if n % 5 == 0 else pytest.mark.long if n % 5 == 1 else pytest.mark.slow,
        )
        for n, export in enumerate(EXPORTS)
    ],
)
def test_judge_compares_the_columns_of_an_export(export: RatingExport, tmp_path: Path, conjury: Run) -> None:
    rows = answers(export.classes)
    name = written(export, rows, tmp_path)
    if export.model is None:
        ended = conjury(f"judge {name}", cwd=tmp_path)
        assert ended.code == 2
        assert "all judges are people; name one of them with --judge" in ended.err
        options = ["--judge", export.people[1], "--human", export.people[0]]
        answered, sides = rows, (PEOPLE[1], PEOPLE[0])
    else:
        options = ["--human", export.people[0], *(["--judge", export.model] if export.is_named else [])]
        answered, sides = rows.dropna(), (MODEL, PEOPLE[0])
    ended = conjury("judge", name, *options, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    estimates = {row["name"]: row for row in json.loads(ended.out)["estimates"]}
    frame = answered[list(sides)].set_axis(["judge", "human"], axis=1)
    scale = "interval" if export.classes == SCORES else "nominal"
    expected = right_number(CleanTable("x", frame, ("human",), scale), frame)
    estimate = estimates["icc" if scale == "interval" else "kappa"]
    assert estimate["estimate"] == pytest.approx(expected)
    assert estimate["n"] == len(answered)


NEEDED = {
    "qualtrics.csv": ("ResponseId,Finished,Q1_wit\nR_1,True,3\n", "--ratings 'Q{item}_{dimension}'"),
    "surveycto.csv": ("SubmissionDate,KEY,q1_wit\n2026-01-01,uuid:1,3\n", "--ratings 'Q{item}_{dimension}'"),
    "jspsych.json": (
        '[{"trial_type": "html", "trial_index": 0, "response": 1}]',
        "--ratings 'response.{dimension}' --item item_id",
    ),
    "prolific.csv": ("Submission id,Participant id,Status\ns1,p1,APPROVED\n", "--judgments FILE"),
}


@pytest.mark.parametrize("command", ["agreement", "alt-test", "judge"])
@pytest.mark.parametrize("name", NEEDED)
def test_an_export_whose_columns_must_be_named_is_refused_with_the_command(
    name: str, command: str, tmp_path: Path, conjury: Run
) -> None:
    content, options = NEEDED[name]
    (tmp_path / name).write_text(content, encoding="utf-8")
    ended = conjury(f"{command} {name}", cwd=tmp_path)
    assert ended.code == 2
    program = name.partition(".")[0]
    expected = f"`conjury import {name} --format {program} {options} --out judgments.parquet`"
    assert expected in " ".join(ended.err.split())
    if program != "qualtrics":
        following = f"Next: conjury import {name} --format {program} {options}"
        assert following in " ".join(conjury(f"read {name}", cwd=tmp_path).out.split())


def test_submissions_of_surveycto_are_imported_and_rejected_ones_excluded(
    tmp_path: Path, conjury: Run
) -> None:
    (tmp_path / "form.csv").write_text(
        "SubmissionDate,starttime,endtime,duration,Q1_wit,Q2_wit,review_status,KEY\n"
        "2026-01-02 10:00:00,2026-01-02 9:50:00,2026-01-02 10:00:00,600,3,4,APPROVED,uuid:1\n"
        "2026-01-02 11:00:00,2026-01-02 10:50:00,2026-01-02 11:00:00,600,2,4,REJECTED,uuid:2\n"
    )
    ended = conjury("import form.csv --ratings Q{item}_{dimension} --out j.parquet", cwd=tmp_path)
    assert ended.code == 0, ended.err
    frame = pd.read_parquet(tmp_path / "j.parquet")
    assert frame["excluded"].notna().tolist() == [False, False, True, True]
    assert frame["value"].tolist() == [3, 4, 2, 4]


def saved(folder: Path, name: str, content: Any) -> str:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return name


@pytest.mark.parametrize(
    ("winners", "tie"), [(("a", "b"), "draw"), (("A", "B"), "Tie"), (("alpha", "beta"), "both bad")]
)
def test_winners_may_be_letters_or_names_of_models(
    winners: tuple[str, str], tie: str, tmp_path: Path
) -> None:
    rows = answers(VOTES)
    names = dict(zip(VOTES, (*winners, tie), strict=True))
    votes = [{**vote, "winner": names.get(vote["winner"], "error")} for vote in mt_bench_votes(rows)]
    if winners == ("alpha", "beta"):  # the name of a model wins in whatever order the pair was shown
        for vote in votes:
            if vote["model_a"] == "beta" and vote["winner"] in winners:
                vote["winner"] = "beta" if vote["winner"] == "alpha" else "alpha"
    votes = [{"prompt_id": vote.pop("question_id"), **vote} for vote in votes]
    again = [{**vote, "model_a": vote["model_b"], "model_b": vote["model_a"]} for vote in votes]
    swap = {} if winners == ("alpha", "beta") else dict(zip(winners, winners[::-1], strict=True))
    swapped = [{**vote, "winner": swap.get(vote["winner"], vote["winner"])} for vote in again]
    judgments = load_judgments(tmp_path / saved(tmp_path, "votes.json", votes + swapped))
    if swap:  # the first answer that is shown wins in both orders
        of_first = load_judgments(tmp_path / saved(tmp_path, "of_first.json", votes + again))
        assert not {"model_a", "model_b"} & set(of_first["value"].dropna())
    result = agreement(judgments, ["cohen"], draws=0).frame.query("weights == 'nominal'")
    assert result["estimate"].iloc[0] == pytest.approx(cohen(rows, *PEOPLE))
    battles = [{**row, "winner": names[row["winner"]]} for row in arena(rows)]
    frame = read_judged(tmp_path / saved(tmp_path, "battles.json", battles)).frame
    expected = [tie if vote == "tie" else vote for vote in rows[PEOPLE[0]]]
    assert frame["winner"].tolist() == expected


def test_results_of_reward_bench_count_what_was_chosen_and_failed_calls_do_not(
    tmp_path: Path, conjury: Run
) -> None:
    rows = answers(("a", "b"))
    name = saved(tmp_path, "scores.json", reward_bench(rows))
    ended = conjury(f"judge {name} --json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    estimates = {row["name"]: row for row in json.loads(ended.out)["estimates"]}
    answered = rows.dropna()
    right = float((answered[MODEL] == answered[PEOPLE[0]]).mean())
    assert estimates["accuracy"]["estimate"] == pytest.approx(right)
    assert estimates["accuracy"]["n"] == len(answered)


def test_battles_without_a_verdict_are_refused_with_the_remedy(tmp_path: Path, conjury: Run) -> None:
    battles = [
        {name: cell for name, cell in row.items() if name != "judge_verdict"} for row in arena(answers(VOTES))
    ]
    ended = conjury("judge", saved(tmp_path, "battles.json", battles), cwd=tmp_path)
    assert ended.code == 2
    assert "each battle has the vote of one person" in " ".join(ended.err.split())
    saved(tmp_path, "votes.json", [{**row, "who": name} for row in battles for name in PEOPLE])
    options = "--rater-column who --rating-column winner --id question_id --draws 0"
    ended = conjury(f"agreement votes.json {options}", cwd=tmp_path)
    assert ended.code == 0, ended.err


def test_two_annotators_of_alpaca_eval_are_compared_by_their_outputs(tmp_path: Path, conjury: Run) -> None:
    rows = answers(VOTES, gaps=0)
    records = alpaca_eval(rows)
    for name, count in (("a", 0), ("b", 1)):
        runs = [{**row, "annotator": f"bot_{name}"} for row in records if row.get("annotator_index") == count]
        for row in runs:
            del row["annotator_index"]
        saved(tmp_path, f"{name}.json", runs[::-1] if count else runs)
    ended = conjury("compare-runs a.json b.json --json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    estimates = {row["name"]: row["estimate"] for row in json.loads(ended.out)["estimates"]}
    assert estimates["flips"] == pytest.approx(float((rows[PEOPLE[0]] != rows[PEOPLE[1]]).mean()))
    ended = conjury("judge a.json", cwd=tmp_path)
    assert ended.code == 2
    assert "all answers are those of bot_a" in ended.err


def graded(reason: str, **further: Any) -> dict[str, Any]:
    """A result of promptfoo whose grader failed with a reason."""
    part = {"pass": False, "score": 0, "reason": reason, "assertion": {"type": "llm-rubric"}, **further}
    return {"testIdx": 1, "promptIdx": 0, "success": False, "gradingResult": {"componentResults": [part]}}


METRIC = {"name": "Tone", "success": False, "score": 0.0}
VOTE = {"question_id": 1, "turn": 1, "model_1": "a", "model_2": "b", "judge": ["gpt-4", "pair-v2"]}
FAILED: dict[str, tuple[Any, str]] = {
    "promptfoo: no JSON": ([graded("Could not extract JSON from llm-rubric response")], "llm-rubric"),
    "promptfoo: API": ([graded("API error: 429 Too Many Requests")], "llm-rubric"),
    "promptfoo: timeout": ([graded("Request timed out after 300000 ms")], "llm-rubric"),
    "promptfoo: no output": ([graded("No output")], "llm-rubric"),
    "promptfoo: marked": ([graded("?", metadata={"graderError": True})], "llm-rubric"),
    "promptfoo: all": ([graded("API error: 500")], "passed"),
    "deepeval: error": (
        {"testCases": [{"name": "t", "metricsData": [METRIC | {"error": "Timeout"}]}]},
        "Tone",
    ),
    "deepeval: skipped": (
        {"testCases": [{"name": "t", "metricsData": [METRIC | {"skipped": True}]}]},
        "Tone",
    ),
    "deepeval: no score": ({"testCases": [{"name": "t", "metricsData": [METRIC | {"score": None}]}]}, "Tone"),
    "lm-eval: empty": ([{"doc_id": 1, "target": "a", "resps": [[""]], "filtered_resps": [""]}], "answer"),
    "lm-eval: none": ([{"doc_id": 1, "target": "a", "resps": [], "filtered_resps": []}], "answer"),
    "RewardBench": ({"subset": ["x", "x"], "results": [None, ""], "id": [1, 2]}, "choice"),
    "MT-Bench: call": (
        [VOTE | {"g1_winner": "error", "g2_winner": "tie", "g1_judgment": "$ERROR$"}],
        "gpt-4",
    ),
    "MT-Bench: unread": ([VOTE | {"g1_winner": "error", "g2_winner": "error"}], "gpt-4"),
    "MT-Bench: score": ([{"question_id": 1, "model": "a", "judge": ["gpt-4", "x"], "score": -1}], "gpt-4"),
    "AlpacaEval": (
        [{"instruction": "x", "output_1": "a", "output_2": "b", "annotator": "gpt4", "preference": None}],
        "gpt4",
    ),
}


@pytest.mark.parametrize("case", FAILED)
def test_a_failed_call_has_no_grade(case: str, tmp_path: Path) -> None:
    content, column = FAILED[case]
    frame = read_judged(tmp_path / saved(tmp_path, "log.json", content)).frame
    assert frame[column].isna().all()


def test_results_of_rewardbench_are_read_also_in_lists_and_as_any_table(tmp_path: Path) -> None:
    log = {"subset": ["x"] * 4, "results": [1, [0], [[0.5]], [""]], "id": [1, 2, 3, 4]}
    judged = read_judged(tmp_path / saved(tmp_path, "log.json", log))
    assert judged.frame["choice"].fillna("").tolist() == ["chosen", "rejected", "tie", ""]
    assert judged.notes[0].startswith("Results of 0.5 count as ties: 1;")
    one = tmp_path / saved(tmp_path, "one.json", [{"subset": "x", "results": 1, "id": 1}])
    assert list(read_judged(one, ReadingRules(form="json")).frame) == ["subset", "results", "id"]


def test_each_order_of_a_pair_of_llmbar_has_its_winner(tmp_path: Path) -> None:
    pair = {"input": "q", "output_1": "x", "output_2": "y", "label": 1}
    games = {"swap = False": {"winner": "1"}, "swap = True": {"winner": "2"}}
    frame = read_judged(tmp_path / saved(tmp_path, "log.json", [pair | {"results": [{}, games]}])).frame
    assert frame[["label", "winner", "winner_swapped"]].to_numpy().tolist() == [["1", "1", "2"]]


def test_a_grade_that_says_no_is_a_grade(tmp_path: Path) -> None:
    reasons = [
        "The answer is an error: it names the wrong city.",
        "No, the output is rude.",
        "Timeouts are not named",
    ]
    log = saved(tmp_path, "log.json", [graded(reason) for reason in reasons])
    assert read_judged(tmp_path / log).frame["llm-rubric"].tolist() == ["fail"] * 3


def test_the_score_of_an_output_that_a_person_rated_is_not_that_of_the_judge(tmp_path: Path) -> None:
    rows = answers(("pass", "fail"), gaps=0)
    log = promptfoo(rows)
    for result in log["results"]["results"]:
        result["score"] = float(result["success"])
    frame = read_judged(tmp_path / saved(tmp_path, "log.json", log)).frame
    assert frame["score"].isna().all()
    assert frame["passed"].tolist() == rows[MODEL].tolist()


def test_the_format_that_is_stated_decides(tmp_path: Path, conjury: Run) -> None:
    records = [
        {"id": row["item"], "text": "x", "label": [row[PEOPLE[0]]]}
        for row in answers(LABELS).to_dict("records")
    ]
    name = saved(tmp_path, "ann.json", records)
    assert "examples of Doccano" in conjury(f"read {name}", cwd=tmp_path).out
    assert "Doccano" not in conjury(f"read {name} --format json", cwd=tmp_path).out
    ended = conjury(f"read {name} --format argilla", cwd=tmp_path)
    assert ended.code == 2
    assert "no record has responses or suggestions of Argilla" in ended.err
    assert conjury(f"read {name} --strict --format doccano", cwd=tmp_path).code == 0


@pytest.mark.long
def test_one_of_several_dimensions_is_compared_at_a_time(tmp_path: Path, conjury: Run) -> None:
    rows = answers(LABELS, gaps=0)
    records = argilla(rows)
    for record in records:
        record |= {
            f"tone{name.removeprefix('label')}": cell for name, cell in record.items() if "label" in name
        }
    name = saved(tmp_path, "records.json", records)
    ended = conjury(f"judge {name}", cwd=tmp_path)
    assert ended.code == 2
    assert "as --where dimension=label" in " ".join(ended.err.split())
    assert conjury(f"judge {name} --where dimension=label", cwd=tmp_path).code == 0


def test_a_refusal_of_an_importer_names_the_command_that_has_its_options(
    tmp_path: Path, conjury: Run
) -> None:
    result = {"from_name": "why", "type": "textarea", "value": {"text": ["x"]}}
    task = {"id": 1, "data": {}, "annotations": [{"id": 1, "completed_by": 1, "result": [result]}]}
    ended = conjury("agreement", saved(tmp_path, "tasks.json", [task]), cwd=tmp_path)
    assert ended.code == 2
    text = " ".join(ended.err.split())
    assert text.endswith("these options are those of `conjury import tasks.json --format label-studio`.")


RESULT = {"from_name": "wit", "type": "rating", "value": {"rating": 4}}
TASK = {"id": 1, "completed_by": 1, "result": [RESULT]}
STREAMS = {
    "jspsych": (
        '{"subject": "p1", "item_id": "j1", "wit": 4, "trial_type": "x", "trial_index": 0}',
        "--value wit",
    ),
    "csv": ("rater,item,wit\nann,j1,4\nbob,j1,3\n", "--format csv --value wit --all-people"),
    "mturk": ("HITId,WorkerId,Input.id,Answer.wit\nH,ann,j1,4\nH,bob,j1,3\n", ""),
    "qualtrics": ("ResponseId,Finished,Q1_wit\nR_1,True,4\n", "--ratings Q{item}_{dimension}"),
    "label-studio": (json.dumps([{"id": 1, "data": {}, "annotations": [TASK]}]), ""),
    "argilla": ('[{"id": 1, "wit.responses": [4], "wit.responses.users": ["ann"]}]', ""),
    "doccano": ('{"id": 1, "text": "a", "annotations": [{"label": 4, "user": 7}]}', ""),
    "alpaca-eval": (
        '[{"instruction": "x", "output_1": "a", "output_2": "b", "annotator": "gpt4", "preference": 1.0}]',
        "",
    ),
}


@pytest.mark.parametrize("program", STREAMS)
def test_standard_input_is_recognised_and_imported(
    program: str, tmp_path: Path, conjury: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, options = STREAMS[program]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    ended = conjury(f"import - {options} --out j.parquet", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert len(pd.read_parquet(tmp_path / "j.parquet")) == (2 if program in ("csv", "mturk") else 1)


JUNK = (None, "", [], {}, [None], [[1]], {"a": 1}, 0, -1, 1.5, True, "x", [{}], '{"a": 1}')


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values within JSON."""
    yield path
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield from places(value, (*path, key))


def changed(records: Any, draws: random.Random) -> Any:
    """JSON with values replaced, left out or repeated."""
    for _ in range(draws.choice([1, 1, 2, 4])):
        *outer, key = draws.choice([path for path in places(records) if path])
        node = records
        for part in outer:
            node = node[part]
        kind = draws.random()
        if kind < 0.6:
            node[key] = draws.choice(JUNK)
        elif kind < 0.85 and len(node) > 1:
            del node[key]
        elif isinstance(node, list):
            node.append(node[0])
    return records


def run_damaged(seeds: range, folder: Path) -> None:
    contents = {export.name: export.files(answers(export.classes)) for export in EXPORTS}
    refusals = []
    for seed in seeds:
        draws = random.Random(seed)
        export = draws.choice(EXPORTS)
        files = dict(contents[export.name])
        name = draws.choice(list(files))
        if name.endswith(".json"):
            files[name] = json.dumps(changed(json.loads(files[name]), draws)).encode()
        elif name.endswith(".jsonl"):
            records = [json.loads(line) for line in files[name].decode().splitlines()]
            files[name] = lines(changed(records, draws))
        else:
            files[name] = damaged(files[name], draws)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        for read in (load_judgments, read_judged):
            try:
                with warnings.catch_warnings(action="ignore"):
                    read(folder / (export.path or name))
            except InputError as refusal:
                refusals.append(str(refusal))
            except Exception as error:  # names the seed
                raise AssertionError(f"seed {seed}, {export.name}") from error
    assert refusals
    assert not [sentence for sentence in refusals if "\n" in sentence]


@pytest.mark.long
def test_damaged_exports_are_read_or_refused(tmp_path: Path) -> None:
    run_damaged(range(8), tmp_path)


@pytest.mark.slow
def test_three_hundred_damaged_exports_are_read_or_refused(tmp_path: Path) -> None:
    run_damaged(range(300), tmp_path)
