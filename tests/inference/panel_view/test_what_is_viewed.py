"""Runs are read into one table, filters select what they say, and transcripts show what was sent and read."""

from __future__ import annotations

import re
import shutil
from unittest.mock import Mock
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest
from made_up.runs import TEXTS, collection_of

from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.panel.view import transcripts
from conjury.inference.panel.view.filters import CheckAlarm, Collection, Query, evidence_mask, read_filters
from conjury.inference.panel.view.run_sources import FolderTables, RunSource, open_sources
from conjury.inference.panel.view.transcript_pages import filter_choices
from conjury.inference.panel.view.transcripts import Transcripts
from conjury.inference.panel.view.viewed_answers import gather


def selected(collection, *filters: str, order: str = "asked", descending: bool = False) -> pd.DataFrame:
    numbers = collection.numbers(Query(read_filters(filters, collection), order, descending))
    return collection.answers.frame.iloc[numbers]


@pytest.mark.long
def test_every_answer_of_models_and_people_is_there_once(town_files, town_collection):
    _, run = town_files
    tables = [pd.read_parquet(folder / "responses.parquet") for folder in (run, run / "people")]
    frame = town_collection.answers.frame
    assert len(frame) == sum(map(len, tables))
    assert frame["key"].is_unique
    assert (frame["task"] == frame["subject"]).all()  # without the name of the run, which is the only one
    judged = pd.concat([pd.read_parquet(f / "judgments.parquet") for f in (run, run / "people")])
    assert len(town_collection.answers.judged) == len(judged)
    for number in range(0, len(frame), 7):
        own = judged[judged["request_key"] == frame["key"].iat[number]]
        assert town_collection.answers.judgments(number)["status"].tolist() == own["status"].tolist()


def test_filters_select_what_a_loop_over_the_tables_selects(town_files, town_collection):
    _, run = town_files
    frame = town_collection.answers.frame
    assert set(selected(town_collection, "judge=other")["judge_id"]) == {"other"}
    assert set(selected(town_collection, "judge=people")["judge_kind"]) == {"human"}
    assert set(selected(town_collection, "prompt=strict")["prompt_id"]) == {"strict"}
    for status in ("refused", "empty", "unparsed"):
        rows = [n for n in range(len(frame)) if status in set(town_collection.answers.judgments(n)["status"])]
        assert selected(town_collection, status).index.tolist() == rows != []
    choices = pd.read_parquet(run / "choices.parquet")
    pairs = set(choices["pair_id"][choices["size"] == "large"])
    models = frame["judge_kind"] == "model"
    wanted = frame.index[models & frame["subject"].isin(pairs)]
    assert selected(town_collection, "size=large", "judge=models").index.tolist() == wanted.tolist() != []
    assert 0 < len(selected(town_collection, "flips")) < len(frame)
    assert len(selected(town_collection, "judges")) > 0


def test_a_search_finds_texts_of_answers_tasks_and_contents_whatever_their_case(town_collection):
    assert set(selected(town_collection, "text=NEITHER OF")["text"]) == {TEXTS[5]}
    task = town_collection.answers.frame["subject"].iat[0]
    assert set(selected(town_collection, f"text={task.upper()}")["subject"]) >= {task}
    judged = town_collection.answers.judged
    value = judged["value"].dropna().iat[0]
    given = judged.loc[judged["value"] == value, "answer"]
    assert set(selected(town_collection, f"value={value}").index) == set(given)
    shown = selected(town_collection, "text=small <b>")
    by_level = selected(town_collection, "size=small")
    assert set(shown["subject"]) == set(by_level["subject"]) != set()


def test_orders_sort_and_reversal_reverses_them(town_collection):
    lengths = selected(town_collection, "judge=models", order="length", descending=True)["text"]
    lengths = lengths.str.len().fillna(0)
    assert lengths.is_monotonic_decreasing
    assert selected(town_collection, order="judge")["judge_id"].is_monotonic_increasing
    forward, back = selected(town_collection), selected(town_collection, descending=True)
    assert forward.index.tolist() == back.index[::-1].tolist()


def test_lists_have_pages_of_50_and_neighbours_are_those_that_the_filters_select(
    town_collection, town_client
):
    total = len(town_collection.answers.frame)
    assert 50 < total <= 100
    assert town_client.get("/?page=2").text.count("data-row") == total - 50
    query = Query(read_filters(["judge=other"], town_collection))
    first, second, third = town_collection.numbers(query)[:3]
    html = town_client.get(f"/answer/{second}?judge=other").text
    assert [f'href="/answer/{number}?judge=other' in html for number in (first, third)] == [True, True]
    outside = int(np.flatnonzero(town_collection.answers.frame["judge_id"] != "other")[1])
    html = town_client.get(f"/answer/{outside}?judge=other").text
    assert re.search(rf'href="/answer/{outside + 1}"', html)


def test_missing_values_come_last_in_both_directions(town_collection):
    for descending in (False, True):
        frame = selected(town_collection, order="value", descending=descending)
        numbers = frame.index.to_numpy()
        missing = np.array([town_collection.answers.judgments(n)["value"].isna().all() for n in numbers])
        assert missing.any()
        assert (np.diff(missing.astype(int)) >= 0).all()


def test_a_filter_that_no_answer_can_pass_is_refused_with_those_that_can(town_collection):
    for text, reason in (
        ("judge=nobody", "no answer has this judge; use judge, other, human_0001"),
        ("sise=large", "there is no such filter \\(did you mean 'size'\\?\\)"),
        ("size=gigantic", "no answer has this level"),
        ("check=CJ101", "there are none in what was read"),
        ("mark=odd", "use judges, people, flips"),
        ("judge=", "there is no such filter"),
    ):
        with pytest.raises(InputError, match=reason):
            read_filters([text], town_collection)


def test_evidence_of_a_check_is_found_by_the_columns_that_it_has(town_files):
    study, run = town_files
    judgments = pd.read_parquet(run / "judgments.parquet").query("status == 'refused'").head(3)
    rows = judgments[["judge_id", "prompt_id", "task_id", "sample"]]
    fired = CheckAlarm("CJ999", "Made up", "Three answers.", rows.rename(columns={"task_id": "pair_id"}))
    nothing = CheckAlarm("CJ998", "Of judges", "No row.", pd.DataFrame({"judge": ["judge"]}))
    collection = collection_of(study, run, fired=[fired, nothing])
    assert set(selected(collection, "check=CJ999")["key"]) == set(judgments["request_key"])
    assert "CJ998" not in collection.checks
    number = int(np.flatnonzero(collection.checks["CJ999"])[0])
    assert Transcripts(collection).of(number).checks == (("CJ999", "Made up", "Three answers."),)
    assert not evidence_mask(collection.answers, rows.assign(task_id="another")).any()


def test_results_of_one_check_are_put_together_and_each_transcript_has_its_own(town_files):
    keys = collection_of(*town_files).answers.frame["key"].iloc[[0, 3]].tolist()
    fired = [
        CheckAlarm("CJ999", "Made up", finding, pd.DataFrame({"request_key": [key]}))
        for finding, key in zip(("First.", "Second."), keys, strict=True)
    ]
    collection = collection_of(*town_files, fired=fired)
    assert selected(collection, "check=CJ999")["key"].tolist() == keys
    transcripts = Transcripts(collection)
    assert [one[2] for number in (0, 3) for one in transcripts.of(number).checks] == ["First.", "Second."]
    checks = next(one for one in filter_choices(collection) if one.name == "check")
    assert checks.options[0][1] == [("CJ999", "CJ999 Made up")]


@pytest.mark.long
def test_evidence_of_one_run_marks_no_task_of_the_same_name_in_another(town_files, other_files):
    runs = (*town_files, other_files[1])
    frame = collection_of(*runs).answers.frame
    name = (set(frame["subject"][frame["run"] == 0]) & set(frame["subject"][frame["run"] == 1])).pop()
    rows = pd.DataFrame({"task_id": [name]})
    for run in (0, 1):
        collection = collection_of(*runs, fired=[CheckAlarm("CJ999", "Made up", "One task.", rows, run)])
        found = selected(collection, "check=CJ999")
        assert (
            found["key"].tolist() == frame["key"][(frame["subject"] == name) & (frame["run"] == run)].tolist()
        )
    assert set(frame["run"][evidence_mask(collection.answers, rows)]) == {0, 1}


def test_a_row_of_evidence_names_answers_by_the_values_that_it_has(town_collection):
    answers = town_collection.answers
    frame = answers.frame
    human = frame[frame["judge_kind"] == "human"].iloc[0]
    model = frame[(frame["judge_kind"] == "model") & (frame["subject"] != human["subject"])].iloc[0]
    rows = pd.DataFrame(
        {
            "judge_id": [model["judge_id"], human["judge_id"], "other"],
            "prompt_id": [model["prompt_id"], None, "plain"],
            "item_id": [None, human["subject"], None],
            "task_id": [model["subject"], None, None],
        }
    )
    wanted = np.zeros(len(answers), dtype=bool)
    for one in (model, human):
        names = ["judge_id", "prompt_id", "subject"]
        wanted |= (frame[names] == one[names]).all(axis=1).to_numpy(dtype=bool)
    assert evidence_mask(answers, rows).tolist() == wanted.tolist()
    assert not evidence_mask(answers, rows.iloc[2:]).any()
    assert not evidence_mask(answers, rows.iloc[:0]).any()
    assert not evidence_mask(answers, rows[["judge_id"]]).any()


def test_a_transcript_has_the_messages_that_the_ledger_has_and_the_answer_as_received(
    town_files, town_collection
):
    transcripts = Transcripts(town_collection)
    with Ledger.open(town_files[1] / "ledger.sqlite", write=False) as ledger:
        for number in range(0, 40, 5):
            key = str(town_collection.answers.frame["key"].iat[number])
            one = transcripts.of(number)
            sent = [message["content"] for message in ledger.request_body(key)["messages"]]
            assert ["".join(part.text for part in message.parts) for message in one.messages] == sent
            assert one.text in TEXTS
            assert dict(one.settings)["model"] == ledger.request_body(key)["model"]


@pytest.mark.long
def test_every_rule_reads_each_answer_and_one_of_them_is_that_of_the_tables(town_collection):
    transcripts = Transcripts(town_collection)
    by_text = {}
    for number in range(30):
        one = transcripts.of(number)
        by_text[one.text] = {reading.rule: (reading.value, reading.status) for reading in one.readings}
        stored = [reading for reading in one.readings if reading.stored]
        judgment = one.judgments[0]
        assert [(r.value, r.status) for r in stored] == [(judgment["value"], judgment["status"])]
    assert by_text['{"choice": "A"}']["choice/lenient@2"] == ("A", "ok")
    assert by_text['{"choice": "A"}']["choice/token@2"] == ("", "unparsed")
    assert by_text[TEXTS[3]]["choice/strict@1"] == ("", "refused")
    assert by_text[""]["choice/strict@1"] == ("", "empty")


def test_people_are_counted_beside_the_answers_of_models_to_the_same_task(town_collection):
    frame = town_collection.answers.frame
    people = frame[frame["judge_kind"] == "human"]["subject"]
    number = int(np.flatnonzero((frame["judge_kind"] == "model") & frame["subject"].isin(people))[0])
    one = Transcripts(town_collection).of(number)
    assert [(tally.value, tally.n, tally.of) for tally in one.people] == [("A", 2, 3), ("B", 1, 3)]
    assert {other.judge for other in one.others} >= {"human_0001", "Other"}
    assert number not in [other.number for other in one.others]


def test_people_beyond_those_listed_are_counted_without_the_one_that_is_read(town_collection, monkeypatch):
    monkeypatch.setattr(transcripts, "MOST_PEOPLE", 1)
    frame = town_collection.answers.frame
    people = np.flatnonzero(frame["judge_kind"] == "human")
    same = people[(frame["subject"].iloc[people] == frame["subject"].iat[people[0]]).to_numpy()]
    assert len(same) == 3
    for number in same:
        one = Transcripts(town_collection).of(int(number))
        listed = [other.number for other in one.others if other.kind == "human"]
        assert listed == [next(other for other in same if other != number)]
        assert one.unlisted == 1


def test_profiles_are_shown_as_people_see_them_with_their_levels_beside(town_files, town_collection):
    one = Transcripts(town_collection).of(0)
    names = [name for name, _ in one.content.shown[0].fields]
    assert names == ["Size", "Place", "Age", "River", "Trains"]
    levels = dict(one.content.unseen)
    assert levels["Size"] == tuple(shown.fields[0][1] for shown in one.content.shown)


def test_what_all_tasks_share_is_looked_up_once(town_collection, monkeypatch):
    fields, beginning = Mock(return_value=Mock(names=(), layout=None)), Mock(return_value="")
    monkeypatch.setattr("conjury.inference.panel.view.task_contents.post_fields", fields)
    monkeypatch.setattr(transcripts, "_beginning", beginning)  # once for each row of a list
    several = [Transcripts(town_collection)] * 8
    rows = {row.number for n, of in enumerate(several) for row in (of.of(n).row, *of.of(n).others)}
    assert (fields.call_count, beginning.call_count) == (1, len(rows))


@pytest.mark.long
def test_a_picture_is_that_of_the_study_and_the_request_names_that_of_the_ledger(picture_collection):
    one = Transcripts(picture_collection).of(0)
    shown = one.content.shown[0]
    assert shown.kind == "image"
    assert one.content.files[shown.media_name][0].name.startswith("picture_")
    kinds = [part.kind for message in one.messages for part in message.parts]
    assert "image" in kinds
    assert dict(one.content.unseen)["genre"][0] in ("joke", "news")


def test_a_picture_that_is_missing_is_named_and_the_rest_is_shown(picture_files, tmp_path):
    study = tmp_path / "posts"
    shutil.copytree(picture_files[0], study)
    (study / "picture_0.png").unlink()
    collection = collection_of(study, picture_files[1])
    transcripts = Transcripts(collection)
    number = int(np.flatnonzero(collection.answers.frame["subject"] == "post_0")[0])
    one = transcripts.of(number)
    assert "picture_0.png" in one.content.note
    assert one.judgments


@pytest.mark.long
def test_runs_with_different_designs_keep_their_tasks_apart(town_files, other_files):
    study, run = town_files
    _, other = other_files
    both = collection_of(study, run, other)
    twice = collection_of(study, run, run)
    assert len(twice.answers) == len(collection_of(study, run).answers)
    assert len(both.answers) == len(twice.answers) + len(collection_of(study, other).answers)
    for task, numbers in both.answers.by_task.items():
        assert both.answers.frame["run"].iloc[numbers].nunique() == 1, task


def test_tasks_of_one_design_are_shared_by_its_runs_and_those_of_two_are_named_by_run(tmp_path):
    answers = {"judge_id": "gpt", "judge_kind": "model", "prompt_id": "", "sample": 1}
    judgments = pd.DataFrame(
        {"task_id": ["t1", "t2"], "dimension": "", "value": "A", "status": "ok", **answers}
    )
    for designs, tasks in (("xx", {"t1", "t2"}), ("xy", {"t1 (a)", "t1 (b)", "t2 (a)", "t2 (b)"})):
        runs = []
        for name, design in zip("ab", designs, strict=True):
            root = tmp_path / designs / name
            (root / "design").mkdir(parents=True)
            (root / "design" / "tasks.parquet").write_text(design)
            runs.append(RunSource(name, root, (FolderTables(None, judgments),), None))
        gathered = gather(runs)
        assert set(gathered.by_task) == tasks
        assert gathered.frame["subject"].tolist() == ["t1", "t2"] * 2


def test_a_run_without_its_study_file_shows_its_design_and_requests(town_files, tmp_path, monkeypatch):
    run = tmp_path / "deep" / "down" / "run"
    shutil.copytree(town_files[1], run)
    monkeypatch.chdir(tmp_path)
    sources = open_sources([str(run)])
    assert sources.study is None
    assert "name it with --study" in sources.notes[0]
    one = Transcripts(Collection(sources, gather(sources.runs))).of(0)
    assert len(one.content.shown) == 2
    assert one.messages
    assert one.readings == ()


def test_a_list_has_the_values_of_all_dimensions_and_the_first_status_that_is_not_ok(picture_collection):
    listed, judgments = Transcripts(picture_collection).listed, picture_collection.answers.judgments
    numbers = range(len(picture_collection.answers.frame))
    for number in numbers:
        rows = judgments(number)
        read = rows.dropna(subset="value")
        row = listed(number)
        assert row.value == "; ".join(read["dimension"] + " " + read["value"].astype(str))
        assert row.status == next(iter(rows.loc[rows["status"] != "ok", "status"]), "ok")


def test_the_study_file_is_found_above_the_run(town_files, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "work"
    shutil.copytree(town_files[1], root / "runs" / "towns")
    shutil.copy(town_files[0] / "study.yaml", root)
    for name in ("plain.j2", "strict.j2", "rules.j2"):
        shutil.copy(town_files[0] / name, root)
    sources = open_sources([str(root / "runs" / "towns")])
    assert sources.study.name == "towns"


def test_a_study_of_a_folder_comes_before_one_of_its_name_that_ships(town_files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "runs" / "moderation"
    run.mkdir(parents=True)
    responses = pd.read_parquet(town_files[1] / "responses.parquet")
    responses.assign(study="moderation").to_parquet(run / "responses.parquet")
    for path in town_files[0].iterdir():
        shutil.copy(path, tmp_path)
    own = (tmp_path / "study.yaml").read_text(encoding="utf-8").replace("name: towns", "name: moderation")
    (tmp_path / "study.yaml").write_text(own, encoding="utf-8")
    assert open_sources(["runs/moderation"]).study.title == "Which town to visit?"
    assert open_sources(["moderation"]).study.title == "Which town to visit?"
    assert open_sources(["moderation"], "moderation").study.title != "Which town to visit?"
    (tmp_path / "study.yaml").unlink()
    assert open_sources(["moderation"]).study.title != "Which town to visit?"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda run: (run / "judgments.parquet").write_bytes(b"PAR1 no"), "judgments.parquet"),
        (lambda run: [f.unlink() for f in run.glob("*.parquet")], "contains no answers"),
    ],
)
def test_damaged_or_missing_tables_are_refused_in_one_sentence(run, damage, reason):
    study, folder = run
    shutil.rmtree(folder / "people")
    damage(folder)
    with pytest.raises(InputError, match=reason):
        open_sources([str(folder)], str(study / "study.yaml"))


def test_answers_without_judgments_are_listed_as_they_were_received(run):
    study, folder = run
    shutil.rmtree(folder / "people")
    (folder / "judgments.parquet").unlink()
    answers = collection_of(study, folder).answers
    assert answers.frame["text"].tolist() == pd.read_parquet(folder / "responses.parquet")["text"].tolist()
    assert len(answers.judged) == 0


def test_a_name_that_is_nothing_and_two_studies_are_refused(town_files, picture_files):
    with pytest.raises(InputError, match="there is no such folder or study"):
        open_sources(["nowhere"])
    with pytest.raises(InputError, match="belongs to the study posts, not to towns"):
        open_sources([str(picture_files[1])], str(town_files[0] / "study.yaml"))


def test_filters_of_an_address_combine_also_where_a_name_is_repeated(town_collection, town_client):
    for filters, address in (
        (("size=large", "place=coast"), "level=size%3Dlarge&level=place%3Dcoast"),
        (("judges", "flips"), "mark=judges&mark=flips"),
        (("judge=models", "judge=human_0001"), "judge=models&judge=human_0001"),
    ):
        wanted = len(selected(town_collection, *filters))
        assert wanted < min(len(selected(town_collection, one)) for one in filters)
        html = town_client.get(f"/?{address}").text
        assert f">{wanted} answers of" in html
        again = [value for value in re.findall(r'value="([^"]*)" selected', html) if value != "asked"]
        assert again == [value for _, value in parse_qsl(address)]
        if wanted:
            assert f"/?{address}".replace("&", "&amp;").removeprefix("/") in html
