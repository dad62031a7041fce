"""What comes out: the answers that people gave, in the tables that models' answers are in."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from made_up.panels import ADULT, CHECK, arrive, plan_of, take_part, write_jokes

from conjury.analysis.conjoint import amce
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.panel.demo import fill, simulated_answers, simulated_choices
from conjury.inference.panel.pages.steps import TaskStep
from conjury.inference.panel.panel_tables import straight_lines
from conjury.inference.panel.plan import make_plan
from conjury.inference.panel.status import pairwise_agreement
from conjury.inference.panel.visits import Timing, Visits
from conjury.inference.readers.collected import read_collected
from conjury.inference.readers.prepare import load_choices
from conjury.inference.study import load_study
from conjury.inference.tables.schema import validate

pytestmark = pytest.mark.long

LABEL = {
    "form": "label",
    "id": "harm",
    "labels": [{"id": "bad", "label": "Bad"}, {"id": "good", "label": "Good"}],
}
LINES = {**LABEL, "form": "line_labels"}
LINES.pop("id")
SCALES = [{"id": name, "label": name, "minimum": 1, "maximum": 5} for name in ("funny", "clear")]
PEOPLE = 16
KEYS = ["judge_id", "pair_id", "position"]


@pytest.fixture(scope="module")
def moderation(tmp_path_factory: pytest.TempPathFactory):
    """A simulated panel of the moderation study: the plan, its tables and figures."""
    run = tmp_path_factory.mktemp("run")
    RunFolder(run).draw(load_study("moderation"), pairs=20, swapped_share=0.0, seed=1)
    plan = make_plan("moderation", people=PEOPLE, out=run)
    fill(plan)
    visits = Visits.begun(plan)
    tables, figures = visits.tables(), visits.figures()
    visits.close()
    return plan, tables, figures


def test_choices_of_a_simulated_panel_are_those_from_which_its_people_answered(moderation):
    plan, tables, _ = moderation
    simulated = simulated_choices(plan, 1)
    ours, theirs = (frame.sort_values(KEYS).reset_index(drop=True) for frame in (tables.choices, simulated))
    assert len(ours) == len(theirs) == PEOPLE * 16 * 2
    for name in (*KEYS, "profile_id", "chosen", "repeat", "repeat_of", *plan.study.features, "text", "user"):
        if name in theirs:
            pd.testing.assert_series_equal(
                ours[name].astype("string"), theirs[name].astype("string"), check_index=False
            )


@pytest.mark.filterwarnings("ignore:Few clusters")  # both sides are computed from as few
def test_amces_of_a_simulated_panel_are_those_of_the_simulated_choices(moderation):
    plan, tables, _ = moderation
    formula = plan.study.analyses[0].formula
    tables_of_choices = (tables.choices, simulated_choices(plan, 1))
    first = [frame[~frame["repeat"].to_numpy(bool)] for frame in tables_of_choices]
    both = [amce(frame, formula, id="judge_id").frame for frame in first]
    names = ["feature", "level", "estimate", "std_error"]
    pd.testing.assert_frame_equal(both[0][names], both[1][names], rtol=1e-12, atol=1e-12)


def test_written_tables_are_read_as_those_of_the_study(moderation, tmp_path):
    plan, tables, _ = moderation
    files = tables.write(tmp_path)
    assert [file.name for file in files] == [
        *("responses.parquet", "judgments.parquet", "respondents.parquet", "choices.parquet")
    ]
    choices = load_choices(plan.study, tmp_path / "choices.parquet")
    assert (choices["judge_kind"] == "human").all()
    assert choices["chosen"].sum() == PEOPLE * 16
    collected = read_collected(tmp_path)
    assert collected.study is None
    assert len(collected.respondents) == len(tables.respondents)
    for name in ("responses", "judgments", "choices"):
        validate(getattr(tables, name), name)
    assert read_collected(tmp_path, plan.study).study.name == "moderation"
    assert set(collected.files) == {"choices", "judgments", "responses", "respondents"}


def test_order_position_times_and_focus_of_every_task_are_recorded(moderation):
    plan, tables, _ = moderation
    orders = {
        (slot.name, task.name): index for slot in plan.slots for index, task in enumerate(slot.tasks, start=1)
    }
    choices = tables.choices
    recorded = list(zip(choices["judge_id"], choices["pair_id"], choices["task"], strict=True))
    assert all(orders[judge, pair] == task for judge, pair, task in recorded)
    assert (choices["seconds"] > 0).all()
    assert choices["focus_lost"].notna().all()
    assert 0 < choices["focus_lost"].sum() < len(choices)
    assert (choices.loc[choices["repeat"].to_numpy(bool), "task"] == 16).all()


def test_all_answers_of_simulated_people_are_marked_and_written_for_their_owner_alone(moderation, tmp_path):
    for table in vars(moderation[1]).values():
        assert (table["origin"] == "simulated").all()
    files = moderation[1].write(tmp_path / "people")
    assert files
    for path in (tmp_path / "people", *files):
        assert path.stat().st_mode & 0o077 == 0


def test_people_who_did_not_finish_are_in_responses_and_respondents_alone(moderation):
    _, tables, figures = moderation
    left = tables.respondents[(tables.respondents["state"] != "finished").to_numpy(bool)]
    assert len(left) > 0
    assert left[["seconds", "finished"]].isna().all(axis=None)
    assert figures.started == len(tables.respondents) == PEOPLE + len(left)
    names = set(left["judge_id"])
    assert not names & set(tables.choices["judge_id"])
    assert not names & set(tables.judgments["judge_id"])
    assert tables.respondents["judge_id"].is_unique
    partly = tables.responses[(tables.responses["state"] != "finished").to_numpy(bool)]
    assert set(partly["judge_id"]) <= names
    assert len(tables.responses) == PEOPLE * 16 + len(partly)


def test_background_devices_checks_and_times_are_columns_of_respondents(moderation):
    _, tables, figures = moderation
    people = tables.respondents[(tables.respondents["state"] == "finished").to_numpy(bool)]
    assert people["adult"].cat.categories.tolist() == ["yes", "no"]
    assert (people["adult"] == "yes").all()
    assert people["age"].between(18, 120).all()
    assert people["age"].nunique() > 5
    assert set(people["device"]) <= {"phone", "computer", "tablet"}
    assert ((people["attention_passed"] + people["attention_failed"]) == 2).all()
    assert (people["seconds"] >= people["task_seconds"]).all()
    spent = tables.responses.groupby("judge_id")[["seconds", "focus_lost_seconds"]].sum()
    for name, column in (("task_seconds", "seconds"), ("focus_lost_seconds", "focus_lost_seconds")):
        assert people[name].tolist() == pytest.approx(spent[column][people["judge_id"]].tolist())
    assert (
        (people["finished"] - people["started"]).dt.total_seconds() - people["seconds"]
    ).abs().max() < 1e-3
    assert figures.median_minutes == pytest.approx(people["seconds"].median() / 60)
    assert figures.cost == PEOPLE * 4
    failed = set(people.loc[(people["attention_failed"] > 0).to_numpy(bool), "judge_id"])
    passed = tables.choices.groupby("judge_id")["attention_passed"].all()
    assert set(passed.index[~passed.to_numpy(bool)]) == failed


def test_consistency_is_that_of_the_repeated_task(moderation):
    _, tables, figures = moderation
    same = []
    for judge, own in tables.choices[(tables.choices["chosen"] == 1).to_numpy(bool)].groupby("judge_id"):
        again = own[own["repeat"].to_numpy(bool)].iloc[0]
        first = own[(own["pair_id"] == again["repeat_of"]).to_numpy(bool)].iloc[0]
        same.append((judge, float(again["profile_id"] == first["profile_id"])))
    people = tables.respondents.set_index("judge_id")["consistent"]
    assert {judge: people[judge] for judge, _ in same} == dict(same)
    row = figures.agreement.set_index("measure").loc["repeat"]
    assert row["estimate"] == pytest.approx(np.mean([one for _, one in same]))
    assert row["units"] == PEOPLE


def test_balance_counts_the_levels_that_answered_tasks_showed(moderation):
    _, tables, figures = moderation
    shown = figures.balance.set_index(["attribute", "level", "position"])["shown"]
    tasks = tables.responses["task_id"].value_counts()
    profiles = tables.choices.drop_duplicates(["pair_id", "position"])
    expected = (
        profiles["pair_id"].map(tasks).groupby([profiles["slur"], profiles["position"]], observed=True).sum()
    )
    for (level, position), n in expected.items():
        assert shown["slur", level, position] == n
    shares = figures.balance.groupby(["attribute", "position"])["share"].sum()
    assert shares.to_numpy() == pytest.approx(np.ones(len(shares)))


# ---- items ----


@pytest.mark.parametrize(
    ("name", "people"), [pytest.param("oogiri", None, marks=pytest.mark.long), ("harm_or_humor", 3)]
)
def test_ratings_and_labels_come_out_as_they_were_given(tmp_path, name, people):
    plan = make_plan(name, people=people, out=tmp_path)
    fill(plan)
    visits = Visits.begun(plan)
    judgments, answers = visits.tables().judgments, simulated_answers(plan, 1)
    visits.close()
    given = {
        (slot.name, task.name, "harm" if dimension == "label" else dimension): str(value)
        for slot in plan.slots
        for index, task in enumerate(slot.tasks, start=1)
        for dimension, value in answers[slot.number, index].items()
    }
    keys = zip(judgments["judge_id"], judgments["item_id"], judgments["dimension"], strict=True)
    assert dict(zip(keys, judgments["value"].astype(str), strict=True)) == given
    if name == "oogiri":
        assert len(judgments) == len(given) == 32 * 12 * 6
    else:
        gold = pd.read_csv(plan.study.folder / "labels.csv").set_index("item_id")["label"]
        assert (judgments["item_id"].map(gold) == judgments["value"]).mean() > 0.8


def test_labels_of_lines_have_a_dimension_each(tmp_path, clock):
    plan = make_plan(
        write_jokes(tmp_path / "study", LINES, {"people": 1, "practice": False}), out=tmp_path / "run"
    )
    visits = Visits.open(plan, now=clock)
    visit = arrive(visits)
    step = visits.step(visit)
    while isinstance(step, TaskStep):
        step = visits.submit(visit, step.number, {"line_0001": "bad", "line_0002": "good"}, Timing(1000.0))
    judgments = visits.tables().judgments
    assert judgments.groupby("dimension")["value"].unique().map(list).to_dict() == {
        "line_1": ["bad"],
        "line_2": ["good"],
    }
    assert len(judgments) == 8
    visits.close()


def test_texts_of_responses_are_in_the_form_that_models_answer_in(tmp_path, clock):
    ratings = write_jokes(tmp_path / "study", {"form": "ratings", "scales": SCALES}, {"people": 1})
    visits = Visits.open(make_plan(ratings, out=tmp_path / "run"), now=clock)
    visit = arrive(visits)
    visits.submit(visit, 1, {"funny": "5", "clear": "1"})
    assert json.loads(visits.tables().responses["text"].iloc[0]) == {"funny": 5, "clear": 1}
    assert visits.tables().judgments.empty  # the person has not finished
    visits.close()


# ---- degenerate states and numbers ----


@pytest.mark.parametrize("questions", [[], [ADULT]])
def test_tables_and_figures_of_an_empty_panel_have_their_columns(tmp_path, clock, questions):
    visits = Visits.open(plan_of(tmp_path, panel={"questions": questions, "attention": [CHECK]}), now=clock)
    tables, figures = visits.tables(), visits.figures()
    assert [len(table) for table in vars(tables).values()] == [0, 0, 0, 0]
    assert figures.median_minutes is None
    assert (figures.started, figures.checks_answered, figures.agreement.empty) == (0, 0, True)
    assert (figures.balance["shown"] == 0).all()
    assert set(figures.balance["level"]) == {"small", "big", "none", "near", "far"}
    assert set(figures.balance["position"]) == {"A", "B"}
    visits.close()
    visits = Visits.open(make_plan("harm_or_humor", out=tmp_path / "items"), now=clock)
    assert len(visits.tables().judgments) == 0
    assert visits.figures().agreement.empty
    visits.close()


def test_pairwise_agreement_is_the_share_of_pairs_of_people_who_agree():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"item_id": np.repeat(list("abcdef"), 4), "value": rng.integers(0, 3, 24), "sample": 1}
    )
    frame = frame.drop(index=[0, 1, 2, 5])  # one item with a single answer, one with three
    pairs = same = 0
    for _, values in frame.groupby("item_id")["value"]:
        own = values.tolist()
        for i in range(len(own)):
            for j in range(i):
                pairs, same = pairs + 1, same + (own[i] == own[j])
    assert pairwise_agreement(frame) == (pytest.approx(same / pairs), pairs)
    assert np.isnan(pairwise_agreement(frame.iloc[:1])[0])


def test_straight_lines_are_the_longest_series_of_equal_answers_in_the_order_of_tasks():
    tasks = pd.DataFrame(
        {
            "visit": [1, 1, 1, 1, 2, 2, 1],
            "task": [4, 2, 5, 1, 1, 2, 3],
            "fields": [{"choice": one} for one in ["B", "B", "B", "A", "B", "A", "A"]],
        }
    )
    lines = straight_lines(tasks)
    assert lines.loc[1].tolist() == [2, 5, 0.4]
    assert lines.loc[2].tolist() == [1, 2, 0.5]


def test_a_demonstration_that_was_interrupted_goes_on(tmp_path):
    plan = plan_of(tmp_path, 4)
    visits = Visits.open(plan, simulated=True)
    take_part(visits, arrive(visits, "by hand"))
    visits.close()
    fill(plan)
    fill(plan)
    visits = Visits.begun(plan)
    assert visits.figures().finished == 4
    assert visits.unfilled() == 0
    visits.close()


def test_a_demonstration_begins_a_day_and_four_time_limits_ago_and_nobody_answers_later_than_now(tmp_path):
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    plan = plan_of(tmp_path, 1, {"minutes": 30})
    fill(plan, now=now)
    visits = Visits.begun(plan)
    people = visits.tables().respondents
    visits.close()
    assert people["started"].min() == pd.Timestamp(now) - pd.Timedelta(days=1, hours=2)
    last = people["started"] + pd.to_timedelta(people["seconds"], unit="s")
    assert last.max() < pd.Timestamp(now)
