"""Ratings in exports of Qualtrics and Label Studio (made up) and in logs that Inspect itself writes."""

from __future__ import annotations

import builtins
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest
from cases import cases

import conjury
from conjury.analysis.raters import read_ratings
from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.humans import (
    Imported,
    Layout,
    Rules,
    anonymise,
    read_checks,
    read_crowd,
    read_inspect,
    read_label_studio,
    read_qualtrics_ratings,
    read_scale,
)
from conjury.inference.humans.annotation_records import read_argilla
from conjury.inference.tables.reading import ReadingRules

HUMANS = Path(__file__).resolve().parents[2] / "fixtures" / "humans"

# --- Qualtrics ------------------------------------------------------------------------------------

EXPORT = HUMANS / "qualtrics.csv"
SURVEY = EXPORT.read_text(encoding="utf-8-sig")
WORDS = "Not funny at all=0,A little funny=1,Moderately funny=2,Very funny=4"
PATTERNS = ["j{item}_{dimension}"]
IDS = SURVEY.index('"{""ImportId')  # the row of import ids
ANSWERS = SURVEY.index("2026-03-01 10:00:00", IDS)


def survey(folder: Path, text: str = SURVEY, layout: Layout | None = None, **rules: Any) -> Imported:
    path = folder / "export.csv"
    path.write_text(text, encoding="utf-8-sig")
    layout = layout or Layout(ratings=PATTERNS)
    return read_qualtrics_ratings(path, layout, Rules(scale=read_scale(WORDS), **rules))


def test_responses_are_marked_on_either_side_of_every_threshold_and_by_every_code(tmp_path):
    rows = [
        {"reason": reason, column: value}
        for reason, column, values in cases(__file__, "marked")
        for value in values
    ]
    table = pd.DataFrame(rows)
    table = table.assign(ResponseId=[f"R_{k}" for k in range(len(rows))])
    text = table.drop(columns="reason").assign(j1_funny="Very funny").to_csv(index=False)
    marks = survey(tmp_path, text).judgments.set_index("judge_id")["excluded"].fillna("")
    assert marks[table["ResponseId"]].tolist() == table["reason"].tolist()


def test_failed_checks_and_speeders_are_marked_with_other_reasons(tmp_path):
    made = survey(tmp_path, checks=read_checks(["Q9=4|5"]), min_seconds=30)
    marks = made.judgments.groupby("judge_id")["excluded"].first()
    assert marks[["R_2", "R_3"]].tolist() == ["failed check Q9", "unfinished; failed check Q9"]
    assert marks["R_5"] == "likely a bot; too fast"
    usable = read_ratings(made.judgments, dimension="funny")
    assert usable.judges == ("R_1",)
    assert usable.exclusions["n_rows"].sum() == 8


@pytest.mark.long
def test_times_are_in_the_zone_of_the_import_ids_else_in_utc(tmp_path):
    made = survey(tmp_path).judgments.drop_duplicates("judge_id").set_index("judge_id")
    assert str(made.loc["R_1", "started"]) == "2026-03-01 17:00:00+00:00"
    assert made.loc["R_5", "duration"] == 20
    layout = Layout(ratings=PATTERNS, judge="PROLIFIC_PID")
    without = survey(tmp_path, SURVEY[:IDS] + SURVEY[ANSWERS:], layout)
    assert len(without.judgments) == 20
    assert any("does not state its time zone" in note for note in without.notes)


@pytest.mark.long
def test_the_same_person_twice_is_refused_numbered_or_marked(tmp_path):
    text = SURVEY.replace("R_5", "R_1")
    with pytest.raises(InputError, match=r"row 5 of column 'j1_funny' \(and 3 more\) rates '1' by"):
        survey(tmp_path, text)
    numbered = survey(tmp_path, text, again="sample").judgments
    assert set(numbered.loc[numbered["judge_id"] == "R_1", "sample"]) == {1, 2}
    assert set(numbered.loc[numbered["judge_id"] == "R_2", "sample"]) == {1}
    assert set(survey(tmp_path).judgments["sample"]) == {1}
    marked = survey(tmp_path, text, again="exclude").judgments
    assert marked.loc[marked["sample"] == 2, "excluded"].unique().tolist() == ["likely a bot; rated again"]
    assert len(marked) == len(numbered) == 20


@pytest.mark.parametrize(("n", "refusal"), [(5, None), (6, "Column 'who' contains the ids of people")])
def test_a_column_may_have_the_ids_of_up_to_half_of_the_people(n, refusal):
    ids = [f"p{k}" for k in range(10)]
    frame = pd.DataFrame({"judge_id": ids, "judge_kind": "human", "who": [*ids[:n], *["x"] * (10 - n)]})
    with pytest.raises(InputError, match=refusal) if refusal else nullcontext():
        assert anonymise(Imported(frame, ())).judgments["judge_id"].iloc[-1] == "r010"


@pytest.mark.long
def test_anonymised_judgments_contain_no_id(tmp_path):
    made = anonymise(survey(tmp_path)).judgments
    assert made["judge_id"].unique().tolist() == ["r001", "r002", "r003", "r004", "r005"]
    assert not made.astype("string").apply(lambda column: column.str.startswith("R_")).any(axis=None)
    with pytest.raises(InputError, match="Column 'ResponseId' contains the ids of people"):
        anonymise(survey(tmp_path, layout=Layout(ratings=PATTERNS, covariates=["ResponseId"])))


NEXT_ITEM = Layout(ratings=["wit={place}_Q3"], item="joke_{place}")


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        (SURVEY.replace('Very funny,4,"It', 'Hilarious,4,"It'), {}, "row 1 of column 'j1_funny' contains"),
        (
            SURVEY.replace("ResponseId,Dist", "Respondent,Dist"),
            {},
            "missing .did you mean 'Respondent'.*--id",
        ),
        (SURVEY, {"layout": Layout(ratings=PATTERNS, judge="PROLIFIC")}, "'PROLIFIC' is missing.*--judge"),
        (SURVEY[SURVEY.index("Start Date") :], {}, "the first line contains question texts"),
        (SURVEY[IDS:], {}, "the first line contains import ids"),
        ("ResponseId,joke_1,1_Q3\nR_1,,4\n", {"layout": NEXT_ITEM}, "row 1 rates in column '1_Q3', but"),
        (SURVEY, {"checks": read_checks(["Q9=7"])}, "no person answered 'Q9' with '7'.*there are: 4, 2"),
        (SURVEY, {"ignore": ["unfinishd"]}, "is not a reason in this export"),
    ],
)
def test_bad_cells_header_rows_checks_and_reasons_are_named(tmp_path, text, options, problem):
    with pytest.raises(InputError, match=problem):
        survey(tmp_path, text, **options)


# --- Label Studio ---------------------------------------------------------------------------------

WHOLE, MINIMAL = (
    json.loads((HUMANS / f"{name}.json").read_text()) for name in ("label_studio", "label_studio_min")
)
TEXT = {"from_name": "why", "type": "textarea", "value": {"text": ["it is"]}}


def studio(folder: Path, content: object, layout: Layout | None = None) -> Imported:
    path = folder / "export.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_label_studio(path, layout or Layout())


def with_result(*more: object) -> list[Any]:
    """The whole export with further results of its first annotation."""
    first, *tasks = WHOLE
    annotation, *others = first["annotations"]
    annotation = annotation | {"result": [*annotation["result"], *more]}
    return [first | {"annotations": [annotation, *others]}, *tasks]


REGION = WHOLE[0]["annotations"][0]["result"][0]
ONLY_WORDS = [
    {key: cell for key, cell in task.items() if key != "wit"} | {"harm": "safe"} for task in MINIMAL
]
HARM, WIT = Layout(dimensions={"harm": "harm"}), Layout(dimensions={"wit": "wit"})


def test_minimal_exports_contain_ratings_words_are_named_and_one_control_may_be_chosen(tmp_path):
    made = studio(tmp_path, MINIMAL, WIT).judgments
    assert made["judge_id"].tolist() == ["1", "2", "2"]
    assert made["value"].fillna(-1).tolist() == [4, 2, -1]
    assert made["status"].tolist() == ["ok", "ok", "missing"]
    assert studio(tmp_path, ONLY_WORDS, HARM).judgments["value"].tolist() == ["safe"] * 3
    assert len(studio(tmp_path, with_result(TEXT), WIT).judgments) == 4


@pytest.mark.parametrize(
    ("content", "layout", "problem"),
    [
        (ONLY_WORDS, None, r"name them with --dimensions \(there are: joke_id, text, harm\)"),
        (with_result(REGION), None, "'harm' has several results"),
        (with_result(TEXT), None, "annotation 101: 'why' contains free text"),
        (WHOLE, Layout(item="joke"), r"task 1 has no 'joke' among its data \(did you mean 'joke_id'\?\)"),
        (MINIMAL, Layout(judge="email"), "has only the id of its annotator"),
        ("{", None, "the file is not valid JSON"),
        ({}, None, "this is not a list of tasks"),
        ([{"id": 1, "text": "a"}], None, "task 1 has neither 'annotations' nor 'annotator'"),
        ([{"id": 1, "annotations": []}], None, "no task has an annotation"),
        ([{"id": 1, "annotations": [{"id": 2, "result": []}]}], None, "does not state its annotator"),
        ([{"id": 1, "annotations": [{"completed_by": 1, "result": []}]}], None, "no annotation contains"),
    ],
)
def test_exports_that_contain_no_ratings_are_refused(tmp_path, content, layout, problem):
    with pytest.raises(InputError, match=problem):
        studio(tmp_path, content, layout)


def choosing(*choices: tuple[str, ...]) -> list[dict[str, Any]]:
    """One task for each pair of people, who choose several of the choices, or none."""

    def result(chosen: tuple[str, ...]) -> list[dict[str, Any]]:
        return (
            [{"from_name": "flags", "type": "choices", "value": {"choices": list(chosen)}}] if chosen else []
        )

    return [
        {
            "id": number,
            "data": {},
            "annotations": [
                {"id": 10 * number + person, "completed_by": person, "result": result(chosen)}
                for person in (1, 2)
            ],
        }
        for number, chosen in enumerate(choices, start=1)
    ]


def test_a_control_with_several_choices_becomes_one_indicator_for_each(tmp_path):
    content = choosing(("spam",), ("spam", "rude"), (), ("fine",))
    content[3]["annotations"][1]["was_cancelled"] = True
    made = studio(tmp_path, content, None)
    table = made.judgments.pivot(index=["item_id", "judge_id"], columns="dimension", values="value")
    assert table.columns.tolist() == ["flags: fine", "flags: rude", "flags: spam"]
    assert table.to_numpy(dtype=float, na_value=-1).tolist() == [
        *([[0, 0, 1]] * 2),
        *([[0, 1, 1]] * 2),
        *([[0, 0, 0]] * 2),
        [1, 0, 0],
        [-1, -1, -1],
    ]
    assert "Annotations without any of these choices, with 0 for each: 2." in made.notes
    named = studio(tmp_path, content, Layout(dimensions={"flags": "marks"})).judgments
    assert named["dimension"].unique().tolist() == ["marks: spam", "marks: rude", "marks: fine"]
    single = studio(tmp_path, choosing(("spam",), ("rude",)), None).judgments
    assert single["value"].tolist() == ["spam", "spam", "rude", "rude"]


def test_a_csv_of_label_studio_gives_the_numbers_of_its_json(tmp_path):
    path = tmp_path / "export.csv"
    header = "annotation_id,annotator,created_at,id,lead_time,tone,topic,stars,flags,updated_at"
    rows = [
        '11,1,,1,3.2,kind,work,"[{""rating"":3}]","{""choices"":[""spam"",""rude""]}",',
        '12,2,,1,4,rude,work,"[{""rating"":4}]",spam,',
        '21,1,,2,5,kind,sport,"[{""rating"":1}]",rude,',
        '22,2,,2,5,kind,sport,"[{""rating"":2}]",,',
        '31,1,,3,5,kind,sport,"[{""rating"":5}]",spam,',
    ]
    path.write_text("\n".join([header, *rows]))
    made = read_label_studio(path)
    table = made.judgments.pivot(index=["item_id", "judge_id"], columns="dimension", values="value")
    assert table["stars"].tolist() == ["3", "4", "1", "2", "5"]
    assert table["tone"].tolist() == ["kind", "rude", "kind", "kind", "kind"]
    assert table["flags: spam"].tolist() == ["1", "1", "0", "0", "1"]
    assert table["flags: rude"].tolist() == ["1", "0", "1", "0", "0"]
    assert any("may be choices: topic" in note for note in made.notes)


def test_each_response_of_argilla_is_a_judgment_and_discarded_ones_are_excluded(tmp_path):
    flat = [
        {
            "id": name,
            "text": "x",
            "label.suggestion": "ok",
            "label.responses": [first, second],
            "label.responses.users": ["ann", "bob"],
            "label.responses.status": ["submitted", status],
        }
        for name, first, second, status in (
            ("r1", "ok", "toxic", "submitted"),
            ("r2", "ok", "ok", "discarded"),
        )
    ]
    nested = [
        {
            "id": record["id"],
            "fields": {"text": "x"},
            "responses": {
                "label": [
                    {"value": value, "user_id": person, "status": status}
                    for value, person, status in zip(
                        *(record[f"label.responses{end}"] for end in ("", ".users", ".status")), strict=True
                    )
                ]
            },
            "suggestions": {"label": {"value": "ok", "agent": None}},
        }
        for record in flat
    ]
    path = tmp_path / "records.json"
    tables = []
    for content in (flat, nested):
        path.write_text(json.dumps(content))
        tables.append(read_argilla(path).judgments)
    pd.testing.assert_frame_equal(tables[0], tables[1])
    rows = (
        tables[0][["judge_id", "judge_kind", "item_id", "value", "excluded"]].fillna("").to_numpy().tolist()
    )
    assert rows == [
        ["ann", "human", "r1", "ok", ""],
        ["bob", "human", "r1", "toxic", ""],
        ["suggestion", "model", "r1", "ok", ""],
        ["ann", "human", "r2", "ok", ""],
        ["bob", "human", "r2", "ok", "discarded"],
        ["suggestion", "model", "r2", "ok", ""],
    ]
    kept = read_argilla(path, rules=Rules(ignore=["discarded"])).judgments
    assert kept["excluded"].isna().all()
    path.write_text(json.dumps([{"id": 1, "label.responses": ["ok"]}]))
    with pytest.raises(InputError, match="does not say who gave each response"):
        read_argilla(path)


@pytest.mark.parametrize("name", [float("nan"), [1], True, " ", {"id": [1]}, {"id": float("inf")}])
def test_what_is_no_name_becomes_no_person_no_item_and_no_model(tmp_path, name):
    first, *tasks = WHOLE
    person = first["annotations"][0] | {"completed_by": name}
    for place in ({"annotations": [person]}, {"id": name}, {"predictions": [{"model_version": name}]}):
        with pytest.raises(InputError, match="a name or a whole number belongs there"):
            studio(tmp_path, [first | place, *tasks], WIT)


def test_whole_numbers_of_annotators_are_the_same_people_with_and_without_a_point(tmp_path):
    first, *tasks = json.loads(json.dumps(MINIMAL))
    first["annotator"] = float(first["annotator"])
    assert studio(tmp_path, [first, *tasks], WIT).judgments["judge_id"].tolist() == ["1", "2", "2"]


# --- Inspect --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One log in each of the two formats: two scorers with epochs, and a grader by its role."""
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, Scorer, Target, mean, model_graded_qa, scorer
    from inspect_ai.solver import TaskState, generate

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
            return Score(value={"wit": float("nan") if state.sample_id == "odd" else 3, "clarity": 1.5})

        return score

    @scorer(metrics=[mean()])
    def referee(model_role: str) -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            return Score(value=1)

        return score

    def run(task: Any, folder: str, form: str, **options: Any) -> None:
        log = {"log_dir": str(logs / folder), "log_format": form, "display": "none"}
        inspect_ai.eval(task, model=canned("writer", "ha"), **log, **options)

    logs = tmp_path_factory.mktemp("logs")
    samples = [Sample(id=name, input="Say something.", target="x") for name in ("fine", "odd", "broken")]
    scorers = [panel(), model_graded_qa(model=canned("judge", "GRADE: C"))]
    jokes = inspect_ai.Task(name="jokes", dataset=samples, solver=generate(), scorer=scorers)
    run(jokes, "a", "eval", epochs=2, fail_on_error=False)
    short = inspect_ai.Task(name="short", dataset=samples[:1], solver=generate(), scorer=model_graded_qa())
    run(short, "b", "json", model_roles={"grader": canned("arbiter", "GRADE: I")})
    refereed = inspect_ai.Task(
        name="refereed", dataset=samples[:1], solver=generate(), scorer=referee(model_role="umpire")
    )
    run(refereed, "c", "json", model_roles={"grader": canned("judge", ""), "umpire": canned("arbiter", "")})
    return logs


@pytest.mark.long  # the program writes its logs
def test_the_role_that_a_scorer_names_is_its_judge(logs):
    made = read_inspect(logs / "c").judgments
    assert made[["judge_id", "dimension"]].to_numpy().tolist() == [["mockllm/arbiter", "referee"]]


@pytest.mark.long
def test_scores_are_judgments_by_scorer_or_grader_sample_and_epoch(logs):
    made = read_inspect(logs / "a").judgments
    assert len(made) == 3 * 2 * 3
    fine = made[(made["item_id"] == "fine") & (made["sample"] == 2)]
    assert fine[["judge_id", "judge_kind", "dimension", "value"]].to_numpy().tolist() == [
        ["panel", "model", "wit", "3"],
        ["panel", "model", "clarity", "1.5"],
        ["mockllm/judge", "model", "model_graded_qa", "C"],
    ]
    assert made["generator"].unique().tolist() == ["mockllm/writer"]
    made = read_inspect(logs / "a", WIT).judgments
    status = made.groupby("item_id")["status"].unique().map(list).to_dict()
    assert status == {"broken": ["error"], "fine": ["ok"], "odd": ["unparsed"]}
    assert made[made["item_id"] != "fine"]["value"].isna().all()
    every = read_inspect(logs)
    assert {"jokes/fine", "short/fine"} <= set(every.judgments["item_id"])
    assert "There are several tasks, so items are named TASK/SAMPLE." in every.notes


@pytest.mark.parametrize(
    ("by", "judge"),
    [("grader", "mockllm/arbiter"), ("scorer", "model_graded_qa"), ("model", "mockllm/writer")],
)
def test_judges_are_graders_scorers_or_the_model_evaluated_and_grades_become_numbers(logs, by, judge):
    rules = Rules(scale=read_scale("C=1,P=0.5,I=0"))
    made = read_inspect(logs / "b", Layout(judge=by), rules).judgments
    assert made[["judge_id", "item_id", "value"]].to_numpy().tolist() == [[judge, "fine", 0]]


def test_other_files_judges_and_missing_packages_are_refused(tmp_path, logs, monkeypatch):
    for name, content in (("a.json", "[1, 2]"), ("a.eval", "nothing"), ("b.json", '{"a": 1}')):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=r"\.eval or"):
            read_inspect(tmp_path / name)
    with pytest.raises(InputError, match="there is no such log or folder"):
        read_inspect(tmp_path / "c.eval")
    with pytest.raises(InputError, match="use one of these"):
        read_inspect(logs / "b", Layout(judge="someone"))
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("inspect_ai"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependency, match=r"pip install 'conjury\[inspect\]'"):
        read_inspect(tmp_path / "a.eval")


@pytest.mark.long
@pytest.mark.parametrize("ending", ["sav", "parquet"])
def test_the_order_of_labels_that_a_file_declares_is_kept(ending, tmp_path):
    labels, file = ["never", "rarely", "often"], tmp_path / f"ratings.{ending}"
    frame = pd.DataFrame(
        {"who": ["a", "b"] * 3, "what": ["i", "i", "j", "j", "k", "k"], "score": [1.0, 2, 3, 3, 2, 1]}
    )
    if ending == "sav":
        named = {"score": dict(enumerate(labels, 1))}
        pyreadstat.write_sav(
            frame, str(file), variable_value_labels=named, variable_measure={"score": "ordinal"}
        )
    else:
        codes = (frame["score"] - 1).astype(int)
        frame.assign(score=pd.Categorical.from_codes(codes, labels, ordered=True)).to_parquet(file)
    layout = Layout(value={"score": "score"}, judge="who", item="what", people=True)
    judgments = read_crowd(file, platform="csv", layout=layout).judgments
    assert judgments["value"].cat.categories.tolist() == labels
    assert judgments["value"].cat.ordered


def test_python_reads_what_a_program_wrote_as_commands_do(tmp_path):
    tasks = [
        {"id": place, "text": "x", "annotations": [{"label": label, "user": user} for user, label in pair]}
        for place, pair in enumerate([((1, "rude"), (2, "rude")), ((1, "kind"), (2, "rude"))] * 6)
    ]
    path = tmp_path / "all.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    table = conjury.read(path)
    assert {"judge_id", "item_id", "value"} <= set(table.frame)
    assert len(table.frame) == 24
    frame = conjury.judge(path, "1", "2").frame.set_index("name")
    assert frame["estimate"]["accuracy"] == 0.5
    rows = conjury.read(path, ReadingRules(form="json")).frame
    assert list(rows) == ["id", "text", "annotations"]
