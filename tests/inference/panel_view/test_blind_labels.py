"""Blind labelling: order, history, tables as a panel's, processes that are killed, and what stays hidden."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from interrupts import killed_often
from made_up.panels import HERE, hidden
from made_up.runs import client_of, collection_of, send_label, town_run
from starlette.testclient import TestClient

from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.errors import InputError
from conjury.inference.panel.view.blind_labelling import (
    JOURNAL,
    Event,
    Labelling,
    active_labels,
    in_seeded_order,
    next_task,
    read_journal,
)
from conjury.inference.readers.judgments import load_judgments, stack_judgments
from conjury.inference.study import load_any_study
from conjury.inference.tables import read_table

pytestmark = pytest.mark.long

NO_TIMES: dict[str, float | None] = {"response_ms": 1200.0, "focus_lost": 0}


def opened(study, folder, name: str = "anna", seed: int = 1, tasks: int = 10, **options) -> Labelling:
    design = RunFolder(folder).design
    names = sorted(design.tasks["task_id"][~design.tasks["repeat"].astype(bool)].unique())[:tasks]
    return Labelling.open(folder, name, load_any_study(study), names, seed, design, **options)


def label(labelling: Labelling, position: str = "A") -> str:
    progress = labelling.progress
    assert progress.task is not None
    assert labelling.label(progress.step, {"choice": position}, NO_TIMES)
    return progress.task


def test_the_order_is_that_of_the_seed_whatever_was_labelled_before(run):
    first = opened(*run, tasks=5)
    order, seen = list(first.order), [label(first) for _ in range(2)]
    first.close()
    again = opened(*run, tasks=5)
    seen += [label(again) for _ in range(3)]
    assert seen == order
    assert again.progress.task is None
    again.close()
    assert in_seeded_order(order, 2) != order
    assert sorted(in_seeded_order(order, 2)) == sorted(order)


def test_labels_are_rows_of_judgments_and_choices_of_a_person_at_once(run):
    study, folder = run
    labelling = opened(study, folder)
    given = {}
    for position in "ABA":
        given[label(labelling, position)] = position
        own = folder / "labels" / "anna"
        judgments = read_table(own / "judgments.parquet", "judgments")
        assert dict(zip(judgments["task_id"], judgments["value"], strict=True)) == given
    labelling.close()
    people = pd.read_parquet(folder / "people" / "judgments.parquet")
    assert list(judgments.columns) == list(people.columns)
    assert set(judgments["judge_kind"]) == {"human"}
    assert set(judgments["judge_id"]) == {"anna"}
    assert judgments["seconds"].tolist() == [1.2] * 3
    choices = read_table(own / "choices.parquet", "choices")
    design = RunFolder(folder).design.tasks.set_index(["task_id", "position"])["profile_id"]
    for row in choices.to_dict("records"):
        assert row["profile_id"] == design[row["pair_id"], row["position"]]
        assert row["chosen"] == (given[row["pair_id"]] == row["position"])
    assert set(read_table(own / "responses.parquet", "responses")["text"]) == {"A", "B"}


def test_an_undo_takes_a_label_out_of_the_tables_and_both_stay_in_the_journal(run):
    _, folder = run
    labelling = opened(*run)
    first, second = label(labelling, "A"), label(labelling, "B")
    assert labelling.undo(labelling.progress.step)
    assert labelling.progress.task == second
    assert labelling.labelled == {first}
    label(labelling, "A")
    labelling.close()
    lines = (folder / "labels" / "anna" / JOURNAL).read_text().splitlines()
    kinds = [(e["kind"], e["task"], e["fields"].get("choice")) for e in map(json.loads, lines)]
    assert kinds == [
        ("label", first, "A"),
        ("label", second, "B"),
        ("undo", second, None),
        ("label", second, "A"),
    ]
    assert json.loads(lines[2])["of"] == 2
    judgments = read_table(folder / "labels" / "anna" / "judgments.parquet", "judgments")
    assert judgments.set_index("task_id")["value"].to_dict() == {first: "A", second: "A"}


def test_undoing_the_only_label_leaves_no_table_and_nothing_to_undo(run):
    labelling = opened(*run)
    label(labelling)
    labelling.undo(labelling.progress.step)
    assert not labelling.undo(labelling.progress.step)
    assert not list((run[1] / "labels" / "anna").glob("*.parquet"))
    labelling.close()


def test_skipped_tasks_come_last_in_the_order_of_skipping():
    events = [Event(1, "skip", "b", 0.0, 1), Event(2, "skip", "a", 0.0, 1)]
    assert next_task(["b", "a", "c"], events) == "c"
    assert next_task(["b", "a"], events) == "b"
    assert next_task([], events) is None
    assert active_labels(events) == {}


def test_a_step_that_has_passed_changes_nothing(run):
    labelling = opened(*run)
    step = labelling.progress.step
    assert labelling.label(step, {"choice": "A"}, {})
    assert not labelling.label(step, {"choice": "B"}, {})
    assert not labelling.undo(step)
    assert len(labelling.events) == 1
    labelling.close()


def test_names_that_are_none_or_taken_and_a_second_process_are_refused(run):
    for name in ("", "../x", "a b", "1st", "x" * 41, "ännä"):
        with pytest.raises(InputError, match="a name begins with a letter"):
            opened(*run, name=name)
    with pytest.raises(InputError, match="the run has a judge of this name"):
        opened(*run, name="judge", judge_names={"judge"})
    labelling = opened(*run)
    with pytest.raises(InputError, match="is labelling under this name"):
        opened(*run)
    labelling.close()
    opened(*run).close()


def test_a_line_cut_off_by_a_loss_of_power_is_dropped_and_any_other_damage_refused(run):
    labelling = opened(*run)
    first, second = label(labelling), label(labelling, "B")
    labelling.close()
    journal = run[1] / "labels" / "anna" / JOURNAL
    whole = journal.read_bytes()
    for cut in range(whole.index(b"\n") + 1, len(whole), 9):
        journal.write_bytes(whole[:cut])
        assert list(active_labels(read_journal(journal))) == [first]
        assert journal.read_bytes().endswith(b"\n")
    again = opened(*run)
    assert label(again, "A") == second
    again.close()
    lines = whole.splitlines(keepends=True)
    for damaged, reason in (
        (lines[1], "line 1 is event 2"),
        (b"[]\n" + lines[1], "line 1 is no event"),
        (b'{"number": 1}\n', "line 1 is no event"),
        (b"\xff\xfe\n", "line 1 is no event"),
    ):
        journal.write_bytes(damaged)
        with pytest.raises(InputError, match=reason):
            read_journal(journal)


def label_until_killed(study, folder, accepted) -> None:
    labelling = opened(study, folder, tasks=6)
    while (progress := labelling.progress).task is not None:
        position = "AB"[len(progress.task) % 2]
        labelling.label(progress.step, {"choice": position}, NO_TIMES)
        accepted.send((progress.step, progress.task, position))
    accepted.send(None)
    os._exit(0)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # its threads hold no lock of ours
def test_kills_lose_no_accepted_label_and_count_none_twice(run):
    study, folder = run
    reported, done = killed_often(label_until_killed, study, folder, kills=3, most=3, pause=0.01, seed=7)
    assert done > 0
    labelling = opened(study, folder, tasks=6)
    assert labelling.progress.task is None
    events = {(event.number, event.task, event.fields["choice"]) for event in labelling.events}
    assert set(reported) <= events
    judgments = read_table(folder / "labels" / "anna" / "judgments.parquet", "judgments")
    assert judgments["task_id"].is_unique
    assert set(judgments["task_id"]) == set(labelling.order)
    assert len(labelling.events) == 6
    labelling.close()


# ---- on pages ----


def test_a_session_on_pages_shows_no_answer_before_its_task_is_labelled(run):
    study, folder = run
    collection = collection_of(study, folder)
    client = client_of(collection, label="anna")
    page = client.get("/")
    assert page.url.path == "/label"
    for _ in range(3):
        html = client.get("/label").text
        for word in ("chosen", "GPT", "Neither of them", "human_000", "Judge"):
            assert word not in html.replace("Answers of judges", "")
        assert send_label(client, {"choice": "A"}).status_code == 200
    labelling = client.app.state.pages.labelling("anna")
    frame = collection.answers.frame
    for number in range(0, len(frame), 5):
        seen = client.get(f"/answer/{number}").status_code == 200
        assert seen == (frame["task"].iat[number] in labelling.labelled)
    number = int(np.flatnonzero(frame["task"].isin(labelling.labelled))[0])
    assert "Your label: choice A" in client.get(f"/answer/{number}").text
    listed = client.get("/?order=judge").text
    assert listed.count("data-row") == frame["task"].isin(labelling.labelled).sum()
    client.app.state.pages.close()


def test_a_new_session_that_opens_an_address_sees_no_more_than_who_labels(run):
    collection = collection_of(*run)
    first = client_of(collection, label="anna")
    first.get("/")
    send_label(first, {"choice": "A"})
    done = first.app.state.pages.labelling("anna").labelled
    of_done = collection.answers.frame["task"].isin(done).tolist()
    for address in (f"/answer/{of_done.index(False)}", "/?order=judge", "/?judge=models"):
        new = TestClient(first.app, raise_server_exceptions=False, **HERE)
        page = new.get(address)
        assert page.url.path == "/label" or page.status_code == 404
        assert "GPT" not in page.text
        assert new.get(f"/answer/{of_done.index(True)}").status_code == 200
        assert new.get("/label").status_code == 200
    first.app.state.pages.close()


def test_answers_to_a_labelled_task_are_seen_beside_a_run_of_another_design(run, other_files):
    study, folder = run
    collection = collection_of(study, folder, other_files[1])
    client = client_of(collection, label="anna")
    client.get("/")
    order = client.app.state.pages.labelling("anna").order
    frame = collection.answers.frame
    both = set(frame["subject"][frame["run"] == 1])
    while (task := client.app.state.pages.labelling("anna").progress.task) not in both:
        send_label(client, {}, do="skip")
    assert task in order
    send_label(client, {"choice": "B"})
    of_task = (frame["subject"] == task).to_numpy()
    first = (frame["run"] == 0).to_numpy()
    assert client.get("/?order=judge").text.count("data-row") == (of_task & first).sum() > 0
    assert "Your label: choice B" in client.get(f"/answer/{np.flatnonzero(of_task & first)[0]}").text
    assert client.get(f"/answer/{np.flatnonzero(of_task & ~first)[0]}").status_code == 404
    client.app.state.pages.close()


def test_an_undo_takes_back_no_label_outside_the_order(run):
    labelling = opened(*run)
    outside, inside = label(labelling), label(labelling)
    order = [*labelling.order]
    labelling.close()
    design = RunFolder(run[1]).design
    again = Labelling.open(run[1], "anna", load_any_study(run[0]), order[1:], 1, design)
    assert again.progress.last == inside
    assert again.undo(again.progress.step)
    assert again.progress.task == inside
    assert again.progress.last is None
    assert not again.undo(again.progress.step)
    assert again.labelled == {outside}
    again.close()


def test_a_conjoint_of_single_profiles_is_refused_by_what_it_asks(run):
    study = load_any_study(run[0])
    single = study.model_copy(update={"collect": study.collect.model_copy(update={"form": "single"})})
    with pytest.raises(InputError, match="does not ask for a choice between two profiles"):
        Labelling.open(run[1], "anna", single, [], 1)


def test_undo_later_stop_and_refused_answers_on_pages(run):
    client = client_of(collection_of(*run), label="anna")
    client.get("/")
    assert send_label(client, {"choice": "C"}).status_code == 422
    assert send_label(client, {}).status_code == 422
    send_label(client, {"choice": "B"})
    assert "Undo the last label" in client.get("/label").text
    send_label(client, {}, do="undo")
    assert hidden(client.get("/label").text, "step") == "3"
    send_label(client, {}, do="skip")
    kinds = [event.kind for event in client.app.state.pages.labelling("anna").events]
    assert kinds == ["label", "undo", "skip"]
    token = hidden(client.get("/?order=judge").text, "token")
    stopped = client.post("/labelling", data={"token": token, "stop": "yes"})
    assert "has not labelled are hidden" not in stopped.text
    assert stopped.text.count("data-row") > 40
    assert client.get("/label").url.path == "/"
    client.app.state.pages.close()


def test_labelling_begins_from_a_button_under_a_name_that_is_free(run):
    client = client_of(collection_of(*run))
    token = hidden(client.get("/").text, "token")
    for name in ("judge", "human_0001"):
        refused = client.post("/labelling", data={"token": token, "name": name})
        assert refused.status_code == 422
        assert "has a judge of this name" in refused.text
    begun = client.post("/labelling", data={"token": token, "name": "bea"})
    assert begun.url.path == "/label"
    assert "as bea" in begun.text
    send_label(client, {"choice": "A"})
    client.app.state.pages.close()
    again = client_of(collection_of(*run), label="bea")
    assert again.app.state.pages.labelling("bea").progress.labelled == 1
    again.app.state.pages.close()
    assert collection_of(study := run[0], run[1] / "labels" / "bea").sources.judges_besides("bea") == set()
    assert "bea" in collection_of(study, run[1]).sources.judges_besides("anna")


def test_filters_of_the_command_choose_the_tasks_and_repeats_are_not_among_them(run):
    study, folder = run
    collection = collection_of(study, folder)
    client = client_of(collection, label="anna", filters=(("level", "size=large"),))
    order = set(client.app.state.pages.labelling("anna").order)
    design = RunFolder(folder).design
    large = set(design.profiles["profile_id"][design.profiles["size"] == "large"])
    first = design.tasks[~design.tasks["repeat"].astype(bool)]
    assert order == set(first["task_id"][first["profile_id"].isin(large)])
    client.app.state.pages.close()


def test_all_tasks_of_a_run_are_labelled_and_another_run_of_the_pages_knows_it(tmp_path):
    study, folder = town_run(tmp_path, pairs=3)
    client = client_of(collection_of(study, folder), label="anna")
    client.get("/")
    while "step" in (html := client.get("/label").text) and "a.choice" in html:
        send_label(client, {"choice": "B"})
    assert "All tasks are labelled" in html
    client.app.state.pages.close()
    again = collection_of(study, folder)
    assert "anna" in set(again.answers.frame["judge_id"])
    client = client_of(again, label="anna")
    assert "All tasks are labelled" in client.get("/").text
    client.app.state.pages.close()


def test_ratings_of_items_are_judgments_on_every_scale_beside_those_of_the_model(picture_files, tmp_path):
    study, folder = picture_files[0], tmp_path / "run"
    shutil.copytree(picture_files[1], folder)
    client = client_of(collection_of(study, folder), label="anna")
    client.get("/")
    assert send_label(client, {"threat": "9", "hate": "3"}).status_code == 422
    for threat in "012":
        assert 'src="/media/' in client.get("/label").text
        send_label(client, {"threat": threat, "hate": "7"})
    client.app.state.pages.close()
    known = load_any_study(study)
    files = (folder / "judgments.parquet", folder / "labels" / "anna" / "judgments.parquet")
    judgments = stack_judgments({str(file): load_judgments(file, study=known) for file in files})
    own = judgments[judgments["judge_id"] == "anna"]
    assert set(own["judge_kind"]) == {"human"}
    assert sorted(own.loc[own["dimension"] == "threat", "value"].astype(int)) == [0, 1, 2]
    assert set(own.loc[own["dimension"] == "hate", "value"].astype(int)) == {7}
    assert not (folder / "labels" / "anna" / "choices.parquet").exists()
