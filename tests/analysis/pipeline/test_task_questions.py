"""Several questions about one task: effects and reliability of each, and who answered, in one fit."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import statsmodels.formula.api as smf
from made_up.panels import YES_NO, write_towns

from conjury.analysis.pipeline.fitting import work_of
from conjury.analysis.pipeline.loading import read_choices_of
from conjury.analysis.pipeline.runner import FitOptions
from conjury.analysis.pipeline.steps.participants import participants_table
from conjury.inference.errors import InputError
from conjury.inference.panel.demo import fill
from conjury.inference.panel.plan import make_plan
from conjury.inference.panel.visits import Visits
from conjury.inference.study import load_study
from conjury.inference.study.panel_section import PanelSection

PANEL = {
    "task_questions": [{"id": "bigger", "label": "Larger", "text": "Which is larger?"}],
    "questions": [
        {"id": "sort", "label": "Sort", "form": "several", "options": YES_NO},
        {"id": "age", "label": "Age", "form": "number", "minimum": 18, "maximum": 65, "groups": [18, 40]},
    ],
    "pay": {"amount": 4, "currency": "USD"},
}


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("towns")
    plan = make_plan(write_towns(folder, PANEL), out=folder / "run", people=40)
    fill(plan)
    visits = Visits.open(plan, simulated=True)
    visits.tables().write(folder / "run" / "people")
    visits.close()
    return folder / "study.yaml", folder / "run" / "people" / "choices.parquet"


@pytest.mark.long
def test_a_fit_has_effects_on_each_question_and_the_reliability_of_both(answered) -> None:
    study, path = answered
    fitted, _ = work_of(read_choices_of(load_study(study), [path]), FitOptions(draws=0)).run()
    choices = pd.read_parquet(path)
    first = choices[~choices["repeat"].astype(bool)]
    table = fitted.by_name["amce_bigger"].frame
    feature = str(table["feature"].iloc[0])
    data = first.assign(bigger=first["bigger"].astype(float)).astype({feature: str})
    levels = table.loc[table["feature"] == feature, "level"].astype(str).tolist()
    others = [name for name in table["feature"].astype(str).unique() if name != feature]
    terms = " + ".join([f"C({feature}, Treatment('{levels[0]}'))", *(f"C({name})" for name in others)])
    ols = smf.ols(f"bigger ~ {terms}", data.astype(dict.fromkeys(others, str))).fit()
    ours = table.loc[(table["feature"] == feature) & (table["level"] == levels[1]), "estimate"].iloc[0]
    assert ours == pytest.approx(ols.params[f"C({feature}, Treatment('{levels[0]}'))[T.{levels[1]}]"])
    reliability = fitted.by_name["question_reliability"].frame.set_index("question")
    again = choices[choices["repeat"].astype(bool)]
    for outcome, label in (("chosen", "Which town?"), ("bigger", "Larger")):
        picked = again[again[outcome] == 1].set_index("judge_id")
        before = first[first[outcome] == 1].set_index(["judge_id", "pair_id"])["profile_id"]
        same = [
            before[judge, pair] == profile
            for judge, pair, profile in picked[["repeat_of", "profile_id"]].itertuples()
        ]
        assert reliability.loc[label, "agreement"] == pytest.approx(sum(same) / len(same))
        assert reliability.loc[label, "n_units"] == 40
    people = fitted.by_name["participants"].frame
    assert people["variable"].unique().tolist() == ["Sort", "Age", "Minutes", "Pay"]


@pytest.mark.long
def test_another_question_can_be_the_outcome_of_all_analyses(answered) -> None:
    study, path = answered
    loaded = read_choices_of(load_study(study), [path])
    about = work_of(loaded.about("bigger"), FitOptions(draws=0)).run()[0]
    both = work_of(loaded, FitOptions(draws=0)).run()[0]
    pd.testing.assert_frame_equal(about.by_name["amce"].frame, both.by_name["amce_bigger"].frame)
    with pytest.raises(InputError, match="write chosen or bigger or probability"):
        loaded.about("biggest")


def test_participants_are_counted_by_answer_group_and_missing_answer() -> None:
    section = PanelSection.model_validate(PANEL | {"task_questions": []})
    people = pd.DataFrame(
        {
            "state": ["finished", "finished", "finished", "left"],
            "seconds": [600.0, 1200.0, 900.0, 5.0],
            "sort_yes": pd.array([True, True, None, True], dtype="boolean"),
            "sort_no": pd.array([True, False, None, True], dtype="boolean"),
            "age": pd.array([18, 50, None, 30], dtype="Int64"),
        }
    )
    table = participants_table(people, section)
    assert table is not None
    rows = [
        (a, b, None if pd.isna(n) else int(n)) for a, b, n in table[["variable", "level", "n"]].to_numpy()
    ]
    assert rows == [
        *[("Sort", "Yes", 2), ("Sort", "No", 1), ("Sort", "No answer", 1)],
        *[("Age", "18 to 39", 1), ("Age", "40 to 65", 1), ("Age", "mean 34.0, SD 22.6, range 18 to 50", 2)],
        *[("Age", "No answer", 1), ("Minutes", "median 15.0, middle half 12.5 to 17.5", 3)],
        ("Pay", "4.00 USD; 16.00 USD per hour at the median time", None),
    ]
    assert table["share"].iloc[0] == pytest.approx(2 / 3)
    assert participants_table(people.assign(state="left"), section) is None
    questions = [question.model_copy(update={"groups": []}) for question in section.questions]
    ungrouped = participants_table(people, section.model_copy(update={"questions": questions}))
    assert ungrouped is not None
    assert next(level for level in ungrouped["level"] if " to " in level).startswith("mean 34.0")
