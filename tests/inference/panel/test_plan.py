"""Who sees what: slots, the order of tasks, files that people may see, and the section of study files."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from made_up.panels import ADULT, picture_panel, plan_of, write_jokes, write_towns

from conjury.inference.errors import InputError
from conjury.inference.panel.pages.steps import StepPages, TaskStep
from conjury.inference.panel.plan import PlannedTask, balanced_items, begun_plan, make_plan, order_tasks
from conjury.inference.study import load_any_study

RATINGS = {"form": "ratings", "scales": [{"id": "funny", "label": "Funny", "minimum": 0, "maximum": 4}]}


def test_the_same_study_folder_and_seed_give_the_same_plan(tmp_path):
    study = write_towns(tmp_path / "study")
    first, again = (make_plan(study, out=tmp_path / "run") for _ in range(2))
    elsewhere = make_plan(study, out=tmp_path / "other")
    assert first.slots == again.slots == elsewhere.slots
    assert first.sha256() == again.sha256() == elsewhere.sha256()


def test_texts_of_pages_may_change_while_people_take_part_and_tasks_may_not(tmp_path):
    study = write_towns(tmp_path / "study", {"minutes": 10})
    before = make_plan(study, out=tmp_path / "run").sha256()
    (tmp_path / "study" / "consent.md").write_text("# Corrected\n")
    write_towns(tmp_path / "study", {"minutes": 20, "completion": {"code": "X"}}, title="Another title")
    (tmp_path / "study" / "consent.md").write_text("# Corrected\n")
    assert make_plan(study, out=tmp_path / "run").sha256() == before
    write_towns(tmp_path / "study", {"questions": [ADULT]})
    assert make_plan(study, out=tmp_path / "run").sha256() != before


def test_a_picture_that_is_replaced_makes_another_plan(tmp_path):
    study = picture_panel(tmp_path / "study")
    before = make_plan(study, out=tmp_path / "run").sha256()
    assert make_plan(study, out=tmp_path / "run").sha256() == before
    shutil.copy(tmp_path / "study" / "picture_2.png", tmp_path / "study" / "picture_0.png")
    assert make_plan(study, out=tmp_path / "run").sha256() != before


@pytest.mark.parametrize("kind", ["items", "conjoint"])
@pytest.mark.parametrize("people", [4, None])
def test_a_run_keeps_its_number_of_people_whatever_the_study_file_says(tmp_path, kind, people):
    def study(number: int) -> Path:
        if kind == "items":
            return write_jokes(tmp_path / "study", RATINGS, {"people": number})
        return write_towns(tmp_path / "study", {"people": number})

    drawn = make_plan(study(6), out=tmp_path / "run", people=people)
    assert len(drawn.slots) == (people or 6)
    known = load_any_study(study(9))
    assert begun_plan(known, tmp_path / "run").sha256() == drawn.sha256()
    assert len(make_plan(known, out=tmp_path / "other").slots) == 9
    assert "--out" in refused(lambda: make_plan(known, out=tmp_path / "run", people=5))


def test_people_see_the_pairs_of_the_design_in_its_positions(tmp_path):
    plan = plan_of(tmp_path, 5)
    tasks = plan.design.panel.tasks
    for slot in plan.slots:
        own = tasks[(tasks["judge_id"] == slot.name).to_numpy(bool)]
        designed = {
            name: tuple(pair.sort_values("position")["profile_id"].astype(str))
            for name, pair in own.groupby("task_id")
        }
        assert {task.name: task.subjects for task in slot.tasks} == designed


def test_order_of_tasks_is_random_but_for_the_repeated_one_which_is_first_and_its_repeat_last():
    tasks = [PlannedTask(f"t{n}", ("1", "2")) for n in range(5)] + [
        PlannedTask("t0_swapped", ("2", "1"), "t0")
    ]
    orders = [order_tasks(tasks, np.random.default_rng(seed)) for seed in range(200)]
    assert {order[0].name for order in orders} == {"t0"}
    assert {order[-1].name for order in orders} == {"t0_swapped"}
    assert len(set(orders)) == 24  # 4! orders of the others
    assert {len(set(order)) for order in orders} == {6}


def test_items_are_shared_equally_where_no_assignment_is_stated():
    drawn = balanced_items(7, 10, 3, np.random.default_rng(1))
    assert {len(set(row)) for row in drawn.tolist()} == {3}
    counts = Counter(drawn.reshape(-1).tolist())
    assert sum(counts.values()) == 30
    assert set(counts.values()) <= {4, 5}
    assert balanced_items(4, 2, 4, np.random.default_rng(1)).shape == (2, 4)


def test_an_item_for_practice_is_not_judged(tmp_path):
    study = write_jokes(tmp_path / "study", RATINGS, {"people": 3, "practice_item": "j1"})
    plan = make_plan(study, out=tmp_path / "run")
    assert {slot.practice.subjects for slot in plan.slots} == {("j1",)}
    assert {task.name for slot in plan.slots for task in slot.tasks} == {"j0", "j2", "j3"}


def test_people_give_gold_labels_where_these_are_not_the_labels_of_models(tmp_path):
    plan = make_plan("harm_or_humor", out=tmp_path)
    assert [label.id for label in plan.study.response.labels] == ["safe", "implicit", "explicit"]
    assert [label.id for label in load_any_study("harm_or_humor").response.labels] == ["harmful", "safe"]
    assert plan.study.folder == load_any_study("harm_or_humor").folder


def test_the_latin_square_of_a_study_is_kept(tmp_path):
    plan = make_plan("oogiri", out=tmp_path)
    assert len(plan.slots) == 32
    raters = Counter(task.name for slot in plan.slots for task in slot.tasks)
    assert set(raters.values()) == {4}
    assert make_plan("oogiri", out=tmp_path).slots == plan.slots
    assert all(shown.kind in ("", "image") for shown in plan.shown.shown.values())
    for path, kind in plan.shown.files.values():
        assert path.is_file()
        assert kind.startswith("image/")


def test_the_files_of_the_next_task_are_named_with_each_task(tmp_path):
    plan = make_plan("oogiri", out=tmp_path)
    slot = next(
        slot for slot in plan.slots if any(plan.shown.of(task.name).media_name for task in slot.tasks)
    )
    tasks = [step for step in StepPages(plan).steps(slot.number, "en") if isinstance(step, TaskStep)]
    for step, following in pairwise(tasks):
        media = following.shown[0].media_name
        assert step.next_media == ((media,) if media else ())
    assert tasks[-1].next_media == ()


# ---- what is refused ----


def refused(action: Any) -> str:
    with pytest.raises(InputError) as error:
        action()
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(("panel", "reason"), cases(__file__, "sections"))
def test_a_section_that_contradicts_itself_is_refused_with_its_place(tmp_path, panel, reason):
    study = write_towns(tmp_path / "study", panel)
    text = refused(lambda: load_any_study(study))
    assert reason in text
    assert "study.yaml:" in text


def test_studies_that_people_cannot_answer_on_a_page_are_refused(tmp_path):
    rated = {"form": "ratings", "scales": [{"id": "nice", "label": "Nice", "maximum": 4}]}
    alone = write_towns(tmp_path / "alone", collect={"form": "single"}, response=rated, analyses=[])
    assert "choice between two profiles" in refused(lambda: make_plan(alone, out=tmp_path / "a"))
    jokes = write_jokes(tmp_path / "jokes", RATINGS, {})
    assert "does not say how many people" in refused(lambda: make_plan(jokes, out=tmp_path / "b"))
    many = write_jokes(tmp_path / "many", RATINGS, {"people": 2, "items": 9})
    assert "there are 4 items" in refused(lambda: make_plan(many, out=tmp_path / "c"))
    practice = write_jokes(tmp_path / "practice", RATINGS, {"people": 2, "practice_item": "j9"})
    assert "there is no item 'j9'" in refused(lambda: make_plan(practice, out=tmp_path / "d"))


def test_a_file_outside_the_folder_of_the_study_is_refused(tmp_path):
    study = write_jokes(tmp_path / "study", RATINGS, {"people": 2})
    (tmp_path / "secret.png").write_bytes(b"x")
    items = tmp_path / "study" / "items.csv"
    for place in ("../secret.png", str(tmp_path / "secret.png"), "http://other/secret.png", "study.yaml"):
        items.write_text(f"item_id,text,modality,media\nj0,x,image,{place}\n")
        text = refused(lambda: make_plan(study, out=tmp_path / "run"))
        assert "no file" in text
    (tmp_path / "study" / "link.png").symlink_to(tmp_path / "secret.png")
    items.write_text("item_id,text,modality,media\nj0,x,image,link.png\n")
    assert "is no file inside" in refused(lambda: make_plan(study, out=tmp_path / "run"))


def test_a_run_without_a_panel_is_refused_with_the_folder_of_a_demonstration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs/towns_demo").mkdir(parents=True)
    study = load_any_study(write_towns(tmp_path / "study"))
    assert "--out runs/towns_demo" in refused(lambda: begun_plan(study, None))


def test_a_run_keeps_whether_people_see_pictures(tmp_path):
    study = write_towns(tmp_path / "study")
    make_plan(study, out=tmp_path / "run")
    kept = tmp_path / "run" / "design" / "panel.json"
    assert json.loads(kept.read_text()) == {"study": str(study), "images": False}
    kept.write_text(json.dumps({"study": str(study), "images": True}))
    with pytest.raises(InputError):  # pictures of the run, which nobody has drawn
        make_plan(study, out=tmp_path / "run")
