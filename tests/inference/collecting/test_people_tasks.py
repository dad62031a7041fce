"""Models asked about tasks of people: drawn apart, sampled from the models' pairs, or those of a survey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from fakes.studies import PAIRS, RATINGS, change_study, collect, items, table, write_study

from conjury.inference.collecting import (
    Asking,
    PeoplePlan,
    Running,
    add_people,
    add_raters,
    add_survey,
    parse,
    preview,
)
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.design.run_design import DrawnDesign, load_design
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import validate

PEOPLE, TASKS, PROMPTS = 4, 3, 2
RATERS = pd.DataFrame(
    [("human", "human", "", "part_worth", "size", "large", 2.0)],
    columns=["judge", "judge_kind", "prompt_id", "parameter", "feature", "level", "value"],
)


def with_people(study: Path, run: Path, **plan: Any) -> DrawnDesign:
    return add_people(study, PeoplePlan(**{"people": PEOPLE} | plan), out=run)


def planned(study: Path, run: Path, tasks: str, pairs: int | None = None) -> tuple[int, int]:
    """Requests in all, and those still to send."""
    running = Running(tasks=tasks, pairs=pairs)
    made = preview(str(study), "judge", out=run, asking=Asking(backend="simulated"), running=running)
    return made.plan.total, made.plan.remaining


def asked(run: Path) -> set[str]:
    return set(table(run, "choices")["pair_id"])


def people_answer(study: Path, run: Path) -> pd.DataFrame:
    design = load_design(run / "design")
    return simulate(load_study(study), 5, raters=RATERS, truth=False, design=design).choices


SHOWN = ["profile_id", "size", "place", "age", "river", "trains"]


def joined(people: pd.DataFrame, run: Path) -> pd.DataFrame:
    """Rows of people and of the model under the first prompt, one to one by pair and position."""
    models = table(run, "choices").query("prompt_id == 'plain'").astype({"position": "string"})
    both = people.astype({"position": "string"}).merge(models, on=["pair_id", "position"], validate="1:1")
    assert len(both) == len(people) == len(models)
    return both


@pytest.mark.slow
def test_a_judge_answers_exactly_the_tasks_of_people_and_then_the_rest(study, run):
    design = with_people(study, run)
    assert design.panel is not None
    names = set(design.panel.tasks["task_id"])
    assert len(names) == PEOPLE * TASKS
    total = (PAIRS + 4 + len(names)) * PROMPTS
    assert planned(study, run, "panel") == (len(names) * PROMPTS,) * 2
    assert planned(study, run, "panel", pairs=2) == (4, 4)
    with pytest.raises(InputError, match="has 12 pairs, so the first 13 cannot be used"):
        planned(study, run, "panel", pairs=13)
    collect(study, run, backend="simulated", tasks="panel", pairs=2)
    assert planned(study, run, "panel") == (24, 20)
    assert collect(study, run, backend="simulated", tasks="panel") == 0
    assert asked(run) == names
    both = joined(people_answer(study, run), run)
    for name in SHOWN:
        assert (both[f"{name}_x"].astype(str) == both[f"{name}_y"].astype(str)).all()
    assert planned(study, run, "panel") == (len(names) * PROMPTS, 0)
    assert planned(study, run, "models") == ((PAIRS + 4) * PROMPTS,) * 2
    assert planned(study, run, "all") == (total, total - len(names) * PROMPTS)
    first = table(run, "responses").set_index("request_key")["created"]
    assert collect(study, run, backend="simulated", tasks="all") == 0
    assert len(table(run, "responses")) == total
    kept = table(run, "responses").set_index("request_key")["created"].loc[first.index]
    pd.testing.assert_series_equal(kept, first)
    assert planned(study, run, "all") == (total, 0)


@pytest.mark.slow
def test_people_may_be_added_to_a_run_that_has_begun(study, run, server):
    assert collect(study, run, base_url=server.url, pairs=3) == 0
    before = server.counts()["arrivals"]
    with_people(study, run)
    assert collect(study, run, base_url=server.url, pairs=3) == 0
    assert server.counts()["arrivals"] == before
    assert collect(study, run, base_url=server.url, tasks="panel") == 0
    assert len(server.counts()["arrivals"]) == len(before) + PEOPLE * TASKS * PROMPTS
    path = run / "design" / "posts.parquet"
    posts = pd.read_parquet(path)
    posts.assign(media=["town.png"] * len(posts)).to_parquet(path)
    with pytest.raises(InputError, match=r"have changed since it began .*subjects\.panel"):
        planned(study, run, "models")
    posts.iloc[-1, posts.columns.get_loc("Size")] = "Vast"
    posts.to_parquet(path)
    with pytest.raises(InputError, match=r"its posts differ from those .*in Size"):
        planned(study, run, "models")


def test_the_same_people_again_change_nothing_and_others_are_refused(study, run):
    with_people(study, run)
    before = {path.name: path.read_bytes() for path in (run / "design").iterdir()}
    with_people(study, run)
    assert {path.name: path.read_bytes() for path in (run / "design").iterdir()} == before
    with pytest.raises(
        InputError, match=r"other tasks of people already \(4 people with 3 tasks; 12 different"
    ):
        with_people(study, run, people=5)
    with pytest.raises(InputError, match="into another folder with --out"):
        with_people(study, run, sample="uniform")


def test_designs_without_people_still_load(study, run):
    plain = RunFolder(run).draw(load_study(study), None, None, None)
    hashed = plain.sha256()
    read = load_design(run / "design")
    assert read is not None
    assert read.panel is None
    assert read.sha256() == hashed
    assert "panel" not in json.loads((run / "design" / "design.json").read_text())
    assert with_people(study, run).sha256() == hashed
    again = load_design(run / "design")
    assert again is not None
    assert again.panel is not None
    assert again.sha256() == hashed
    pd.testing.assert_frame_equal(again.panel.tasks, validate(again.panel.tasks, "panel_tasks"))
    with pytest.raises(InputError, match=r"--tasks panel: the design has no tasks of people; draw them"):
        read.asked("panel")
    with pytest.raises(InputError, match="--tasks people: write models, panel or all"):
        read.asked("people")


@pytest.mark.long
def test_tasks_can_be_sampled_from_the_first_pairs_with_their_probability(study, run):
    collect(study, run, backend="simulated", pairs=20)
    design = with_people(study, run, sample="uniform", pairs=20)
    assert design.panel is not None
    tasks, first = design.panel.tasks, set(design.first_pairs(20)["task_id"])
    assert set(tasks["task_id"]) < first
    known = design.tasks["sampling_probability"].notna()
    assert set(design.tasks.loc[known, "task_id"]) == first
    for drawn in (design.tasks[known], tasks):
        assert (drawn["sampling_probability"] == PEOPLE * TASKS / 20).all()
    both = tasks.merge(design.tasks, on=["task_id", "position"], suffixes=("", "_model"))
    assert (both["profile_id"] == both["profile_id_model"]).all()
    assert planned(study, run, "panel") == (24, 0)
    parse(str(study), out=run)
    for choices in (validate(table(run, "choices"), "choices"), people_answer(study, run)):
        sampled = choices[choices["pair_id"].isin(tasks["task_id"])]
        assert (sampled["sampling_probability"] == PEOPLE * TASKS / 20).all()


@pytest.mark.long
def test_several_people_can_judge_each_sampled_task(study, run):
    design = with_people(study, run, sample="uniform", each=2)
    assert design.panel is not None
    tasks = design.panel.tasks
    assert tasks.groupby("task_id")["judge_id"].nunique().eq(2).all()
    assert tasks.groupby("judge_id")["task_id"].nunique().eq(TASKS).all()
    assert planned(study, run, "panel")[0] == PEOPLE * TASKS // 2 * PROMPTS
    people = people_answer(study, run)
    assert len(people) == 2 * PEOPLE * TASKS
    validate(people, "choices")


@pytest.mark.long
def test_tasks_are_sampled_by_the_models_uncertainty_with_a_floor(study, run, server):
    collect(study, run, base_url=server.url)
    choices = table(run, "choices").query("position == 'A' and not repeat")
    spread = np.sqrt(choices["probability"] * (1 - choices["probability"]))
    expected = spread.groupby(choices["pair_id"]).mean()
    design = with_people(study, run, sample="uncertainty", judge="judge", floor=0.25)
    known = design.tasks[~design.tasks["repeat"].to_numpy(bool)]
    known = known.drop_duplicates("task_id").set_index("task_id")["sampling_probability"]
    size = 0.75 * expected / expected.sum() + 0.25 / PAIRS
    np.testing.assert_allclose(known, (12 * size).reindex(known.index))
    assert known.nunique() > 1
    assert known.sum() == pytest.approx(12)
    assert known.min() >= 0.25 * 12 / PAIRS
    with pytest.raises(InputError, match=r"--judge juge: .* \(did you mean 'judge'\?\)"):
        with_people(
            study, run.with_name("other"), sample="uncertainty", judge="juge", answers=run / "choices.parquet"
        )


@pytest.mark.long
def test_without_probabilities_swapped_repeats_show_uncertainty_by_stratum(study, run):
    collect(study, run, backend="simulated")
    by = {"sample": "uncertainty", "judge": "judge"}
    with pytest.raises(
        InputError, match="have no probabilities, so uncertainty can be estimated per stratum only"
    ):
        with_people(study, run, **by)
    design = with_people(study, run, strata="size", **by)
    assert design.tasks["sampling_probability"].nunique() > 1


@pytest.mark.parametrize(("plan", "told"), cases(__file__, "refused_samples"))
def test_a_sample_that_cannot_be_drawn_is_refused(study, run, plan, told):
    with pytest.raises(InputError, match=told):
        with_people(study, run, **plan)
    assert not (run / "design" / "panel_tasks.parquet").exists()


@pytest.fixture
def survey(study: Path, tmp_path: Path) -> Path:
    """Choices of a survey, with its own numbers of profiles."""
    people = simulate(load_study(study), 8, raters=RATERS, respondents=5, truth=False).choices
    path = tmp_path / "survey.parquet"
    people.assign(profile_id=np.arange(len(people)) + 1, origin=pd.NA).to_parquet(path)
    return path


@pytest.mark.long
def test_models_are_asked_about_the_pairs_of_an_imported_survey(study, run, survey):
    add_survey(study, survey, out=run)
    add_survey(study, survey, out=run)
    assert collect(study, run, backend="simulated", tasks="panel") == 0
    both = joined(pd.read_parquet(survey), run)
    for name in SHOWN[1:]:
        assert (both[f"{name}_x"].astype(str) == both[f"{name}_y"].astype(str)).all()


@pytest.mark.long
def test_a_survey_under_another_name_is_the_same_and_other_answers_are_not(study, run, survey):
    before = add_survey(study, survey, out=run)
    copy = survey.with_name("copy.parquet")
    copy.write_bytes(survey.read_bytes())
    assert add_survey(study, copy, out=run).drawn == before.drawn
    fewer = pd.read_parquet(survey)
    fewer[fewer["judge_id"] != "human_0001"].to_parquet(survey)
    with pytest.raises(InputError, match="other tasks of people already"):
        add_survey(study, survey, out=run)


@pytest.mark.long
def test_people_whose_design_was_not_finished_leave_the_run_as_it_was(study, run):
    plain = RunFolder(run).draw(load_study(study), None, None, None)
    facts = (run / "design" / "design.json").read_bytes()
    with_people(study, run)
    (run / "design" / "design.json").write_bytes(facts)
    left = load_design(run / "design")
    assert left.panel is None
    assert left.sha256() == plain.sha256()
    with_people(study, run)
    assert load_design(run / "design").sha256() == plain.sha256()


def test_a_sample_that_needs_more_pairs_is_refused_before_a_design_is_drawn(study, run):
    with pytest.raises(InputError, match="more pairs"):
        with_people(study, run, people=5_000, sample="uniform")
    assert not (run / "design").exists()


def broken(survey: Path, **changes: Any) -> Path:
    choices = pd.read_parquet(survey)
    choices.assign(**{name: change(choices) for name, change in changes.items()}).to_parquet(survey)
    return survey


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"judge_kind": lambda table: "model"}, "no choices of people"),
        ({"pair_id": lambda table: table["task"].astype("string")}, "pair '1' shows different profiles"),
        (
            {"pair_id": lambda table: table["pair_id"].replace("human_0001_task_01", "pair_000001")},
            "pair_000001 name other profiles than the pairs of models do",
        ),
    ],
)
def test_a_survey_that_names_no_pairs_of_people_is_refused(study, run, survey, changes, told):
    with pytest.raises(InputError, match=told):
        add_survey(study, broken(survey, **changes), out=run)


def test_items_that_people_rated_are_asked_about_alone(tmp_path, run):
    folder = write_study(tmp_path / "posts", items(RATINGS))
    with pytest.raises(InputError, match="contains no assignment of items to people"):
        planned(folder, run, "panel")
    rated = pd.DataFrame(
        {
            "judge_id": ["ann", "ann", "bob"],
            "judge_kind": "human",
            "item_id": ["post_0", "post_2", "post_2"],
            "dimension": "threat",
            "value": [1, 2, 3],
        }
    )
    file = tmp_path / "rated.csv"
    rated.to_csv(file, index=False)
    assert add_raters(folder, file, out=run)["rater"].tolist() == ["ann", "ann", "bob"]
    assert planned(folder, run, "panel") == (2, 2)
    assert planned(folder, run, "all") == planned(folder, run, "models") == (4, 4)
    rated.replace("post_2", "post_9").to_csv(file, index=False)
    with pytest.raises(InputError, match=r"1 item is not in items\.csv of the study, such as post_9"):
        add_raters(folder, file, out=run)
    with pytest.raises(InputError, match="Study posts has no pairs"):
        add_people(folder, PeoplePlan(people=2), out=run)


@pytest.mark.long
@pytest.mark.parametrize("form", ["pair", "single"])
def test_designs_with_restrictions_and_of_single_profiles_have_tasks_of_people(study, run, form):
    def change(content: dict[str, Any]) -> None:
        content["design"]["restrictions"] = [{"levels": {"place": ["coast"], "river": ["dry"]}}]
        if form == "single":
            content["collect"]["form"] = "single"
            content["response"] = RATINGS

    change_study(study, change)
    design = with_people(study, run)
    shown = design.asked("panel")["profile_id"].nunique()
    places = design.profiles[["place", "river"]].astype(str).agg(" ".join, axis=1)
    assert "coast dry" not in set(places)
    if form == "single":
        assert planned(study, run, "panel") == (shown * PROMPTS,) * 2
        return
    assert collect(study, run, backend="simulated", tasks="all") == 0
    assert planned(study, run, "all")[1] == 0
    assert table(run, "choices")["status"].eq("ok").all()
