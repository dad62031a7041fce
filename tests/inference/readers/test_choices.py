"""Choices of a study from any file: names, prompts, stimuli, derived attributes, refusals, several files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.readers.choices import choices_from_tidy, cj_tidy
from conjury.inference.readers.prepare import (
    judge_of,
    judges_by_origin,
    load_choices,
    name_or_select,
    select_rows,
    stack_choices,
    stacking_notes,
)
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import read_table
from conjury.inference.tables.frames import is_simulated
from conjury.inference.tables.reading import ReadingRules

WIDE = Path(__file__).resolve().parents[2] / "fixtures" / "tables" / "wide.csv"
PLAIN = {"identity": "anonymous", "reply": "no_reply", "curse": "no_curse", "engagement": "low"}


@pytest.fixture(scope="module")
def study():
    return load_study("moderation")


@pytest.fixture
def load(study, tmp_path):
    """Read a table of choices from a CSV file."""

    def read(frame: pd.DataFrame, policy: str = "missing", **options: Any) -> pd.DataFrame:
        frame.to_csv(tmp_path / "choices.csv", index=False)
        return load_choices(study.model_copy(update={"refusal": policy}), tmp_path / "choices.csv", **options)

    return read


def pairs(n: int = 2, **columns: Any) -> pd.DataFrame:
    """Wide enough for the study: n pairs, A chosen, with the attributes in the file's own order."""
    frame = pd.DataFrame({"pair_id": [pair for pair in range(n) for _ in "AB"], "position": ["A", "B"] * n})
    frame = frame.assign(chosen=[1, 0] * n, slur=["racism", "none"] * n, topic=["politics", "work"] * n)
    return frame.assign(**PLAIN).assign(**columns)


def respondents(n: int) -> pd.DataFrame:
    return pd.concat([pairs(judge_id=f"r{number}") for number in range(n)])


def test_names_prompts_stimuli_and_levels_become_those_of_the_study(study, load):
    prompts = ["debiasing"] * 2 + ["uniform"] * 2 + ["own_words"] * 2
    frame = pairs(3, model="gpt4o", prompt=prompts, image=[5, 6, 7, 8, 9, 10], country="France")
    frame = frame.assign(scenario_id=[7, 0, None, 10, 1, 2], user_id=[3, 3, 0, 0, 0, 0])
    notes: list[str] = []
    choices = load(frame.rename(columns={"position": "profile"}), notes=notes)
    assert choices["judge_id"].tolist() == ["gpt4o"] * 6
    assert choices["prompt_id"].tolist()[::2] == ["context_aware", "context_free", "own_words"]
    assert choices["profile_id"].tolist() == [5, 6, 7, 8, 9, 10]
    assert choices["position"].tolist() == ["A", "B"] * 3
    assert choices["text"].fillna("none").tolist()[:4] == ["politics_07", "work_00", "none", "work_10"]
    assert choices["user"].tolist()[1:3] == ["anonymous_03", "anonymous_00"]
    assert choices["topic"].cat.categories.tolist() == study.levels("topic")
    assert not choices["topic"].cat.ordered
    assert choices["speech"].tolist() == ["slur", "benign"] * 3
    assert choices["speech"].cat.categories.tolist() == ["benign", "slur"]
    assert any(note.startswith("choices.csv: no level order is given for country") for note in notes)
    named = load(pairs(scenario_id=[7, 0, 1, 2], text="my_text"))
    assert set(named["text"]) == {"my_text"}


def test_renames_and_levels_of_the_user_come_before_those_of_the_study(load):
    frame = pairs(model="m", country=["France", "Norway"] * 2)
    frame = frame.rename(columns={"chosen": "picked", "pair_id": "task_number"})
    rules = ReadingRules(levels={"country": ["Norway", "France"]})
    choices = load(frame, renames={"picked": "chosen", "task_number": "pair_id"}, rules=rules)
    assert choices["chosen"].tolist() == [1, 0, 1, 0]
    assert choices["country"].cat.categories.tolist() == ["Norway", "France"]
    with pytest.raises(InputError, match=r"choices\.csv: column 'piked', to be used as 'chosen'.*'picked'"):
        load(frame, renames={"piked": "chosen", "task_number": "pair_id"})


def test_derived_columns_are_filled_kept_and_checked_against_their_source(load):
    notes: list[str] = []
    full = pairs(speech=["slur", "benign"] * 2, judge_id="m", judge_kind="model")
    assert load(full, notes=notes)["speech"].tolist() == ["slur", "benign"] * 2
    assert notes == []
    gaps = pairs(speech=["slur", None, "slur", "benign"], slur=["racism", "none", None, "none"])
    assert load(gaps)["speech"].tolist() == ["slur", "benign"] * 2
    with pytest.raises(InputError, match=r"row 4 of column 'speech' contains 'slur', while 'slur' is 'none'"):
        load(pairs(speech=["slur", "benign", "slur", "slur"]))


@pytest.mark.parametrize(("policy", "chosen"), [("missing", [None, None]), ("not_chosen", [0, 0])])
def test_answers_without_a_choice_become_what_the_policy_states(load, policy, chosen):
    notes: list[str] = []
    choices = load(pairs(status=["refused", "refused", "ok", "ok"]), policy, notes=notes)
    assert choices["chosen"].astype(object).replace({pd.NA: None}).tolist() == [*chosen, 1, 0]
    assert choices["status"].tolist() == ["refused", "refused", "ok", "ok"]
    assert notes[-1].startswith("2 rows")
    assert f"refusal: {policy}" in notes[-1]
    pd.testing.assert_frame_equal(load(pairs(), policy), load(pairs()))


def test_cells_that_do_not_fit_are_refused_by_row(load):
    for columns, problem in (
        ({"scenario_id": ["7", "seven", "1", "2"]}, r"csv: row 2 of column 'scenario_id' .*'seven'"),
        ({"judge_id": list("abcd")}, "row 1 of column 'pair_id' .*belongs to pair 0, which has one row"),
    ):
        with pytest.raises(InputError, match=problem):
            load(pairs(**columns))


# --- judges ---------------------------------------------------------------------------------------


def test_people_are_one_judge_or_one_of_their_panel_and_models_are_their_ids():
    frame = pd.DataFrame({"judge_id": ["r1", "r2", "m"], "judge_kind": ["human", "human", "model"]})
    assert judge_of(frame).tolist() == ["human", "human", "m"]
    assert judge_of(frame.assign(panel=["students", None, "x"])).tolist() == ["students", "human", "m"]


def test_a_named_judge_is_selected_or_names_choices_without_judge(load):
    both = pd.concat([pairs(model="a", prompt="x"), pairs(model="b", prompt="y")])
    two = load(both)
    for column, name in (("model", "model"), ("model", "judge_id"), ("judge_id", "judge_id")):
        table = both.rename(columns={"model": column})
        assert set(load(table, rules=ReadingRules(where={name: "b"}))["judge_id"]) == {"b"}
    assert name_or_select(two, "b")["judge_id"].unique().tolist() == ["b"]
    assert len(name_or_select(two, "b", "y")) == 4
    with pytest.raises(InputError, match=r"no judge 'c'.*'a', 'b'"):
        name_or_select(two, "c")
    with pytest.raises(InputError, match=r"no prompt 'x'.*'y'"):
        select_rows(two, "b", "x")
    notes: list[str] = []
    named = name_or_select(load(pairs(), notes=notes), "gpt4o", "baseline")
    assert any("no judge_id" in note for note in notes)
    assert set(named["judge_id"]) | set(named["prompt_id"]) == {"gpt4o", "baseline"}
    with pytest.raises(InputError, match=r"'gpt4o' have judge_kind 'human'.*write model into judge_kind"):
        select_rows(load(pairs(judge_id="gpt4o", judge_kind="human")), judge="gpt4o")


def test_judges_that_the_study_names_are_of_its_kind_though_the_file_numbers_tasks(load):
    frame = pairs(4, judge_id=["gpt4o"] * 4 + ["r1"] * 4, task=[1, 1, 2, 2] * 2)
    rest = "judges that the study names are of its kinds, and all others are taken as 'human'."
    for changed, kinds, told in (
        (frame, ["model"] * 4 + ["human"] * 4, rest),
        (frame.assign(judge_id="gpt4o"), ["model"] * 8, "the kinds of all judges are those of the study."),
    ):
        notes: list[str] = []
        assert load(changed, notes=notes)["judge_kind"].tolist() == kinds
        assert notes == [f"choices.csv: there is no judge_kind, so {told}"]


@pytest.mark.long
def test_many_judges_with_few_pairs_are_not_taken_as_models(load):
    with pytest.raises(InputError, match=r"'judge_kind' is missing, and 11 judges with about 2 pairs each"):
        load(respondents(11))
    numbered = respondents(11).assign(task=[1, 1, 2, 2] * 11)
    numbered["pair_id"] = numbered["judge_id"] + numbered["pair_id"].astype(str)
    for frame, kind in (
        (respondents(11).assign(judge_kind="model"), "model"),
        (respondents(10), "model"),
        (numbered, "human"),
    ):
        assert set(load(frame)["judge_kind"]) == {kind}


# --- several files --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn(study):
    """Forty pairs that a model judged."""
    return simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=40, truth=False).choices


@pytest.fixture
def files(drawn):
    """The choices of that model, and answers of another one to the first ten pairs."""
    second = drawn.head(20).drop(columns=["origin", "panel"])
    own = pd.array(["own"] * 20, dtype="string")
    return {"a/choices.parquet": drawn, "b/choices.parquet": second.assign(judge_id=own, probability=0.5)}


def test_only_choices_marked_by_the_simulator_count_as_simulated(study, drawn, load, tmp_path):
    drawn.to_csv(tmp_path / "saved.csv", index=False)
    assert is_simulated(load_choices(study, tmp_path / "saved.csv")).all()
    marked = load(pairs(origin=["simulated"] * 2 + ["France"] * 2))
    assert is_simulated(marked).tolist() == [True, True, False, False]
    assert not is_simulated(pairs()).any()


def test_tables_are_stacked_with_the_types_and_levels_of_the_study(study, drawn, files):
    first, second = files.values()
    both = stack_choices(study, files)
    assert both.index.equals(pd.RangeIndex(100))
    names = ["slur", "identity", "status", "position", "judge_kind", "pair_id"]
    assert both[names].dtypes.equals(first[names].dtypes)
    pd.testing.assert_series_equal(both["chosen"].tail(20), second["chosen"], check_index=False)
    assert both["probability"].notna().sum() == 20
    assert is_simulated(both).sum() == 80
    assert judges_by_origin(both) == (["gpt4o"], ["own"])
    assert stack_choices(study, {"a.parquet": drawn}) is drawn
    other = drawn.assign(prompt_id=pd.array(["context_free"] * 80, dtype="string"))
    assert len(stack_choices(study, {"a.parquet": drawn, "b.parquet": other})) == 160


def test_notes_name_the_rows_and_assumptions_of_each_file(files):
    assumed = {"a/choices.parquet": [], "b/choices.parquet": ["choices.parquet: a column was read as text."]}
    assert list(stacking_notes(files, assumed)) == [
        "a/choices.parquet: 80 rows, of gpt4o.",
        "b/choices.parquet: 20 rows, of own.",
        "b/choices.parquet: a column was read as text.",
    ]


def test_one_judge_with_one_pair_in_two_files_is_refused(study, files):
    files["b/choices.parquet"] = files["a/choices.parquet"].tail(6)
    told = (
        "a/choices.parquet and b/choices.parquet both contain the choice of judge 'gpt4o' under prompt "
        r"'baseline' in pair 'pair_000038' \(and 2 more\); leave one of the files out"
    )
    with pytest.raises(InputError, match=told):
        stack_choices(study, files)


@pytest.mark.parametrize("column", ["profile_id", "topic", "text"])
def test_a_pair_with_other_profiles_in_another_file_is_refused(study, files, column):
    changed = files["b/choices.parquet"].copy()
    other = changed[column][changed[column] != changed[column].iloc[4]].iloc[0]
    changed.loc[4, column] = other
    told = (
        rf"Position A of pair 'pair_000003' has {column} .+ in a/choices.parquet and {other} in "
        "b/choices.parquet; a name must refer to one pair"
    )
    with pytest.raises(InputError, match=told):
        stack_choices(study, files | {"b/choices.parquet": changed})


@pytest.mark.parametrize(("first", "second", "value", "outcome"), cases(__file__, "levels"))
def test_levels_of_several_files_are_joined_or_refused(study, files, first, second, value, outcome):
    one, other = files.values()
    one = one.assign(party=pd.Categorical(["left"] * 80, categories=first))
    party = value if second is None else pd.Categorical([value] * 20, categories=second)
    tables = {"a.parquet": one, "b.parquet": other.assign(party=party)}
    if isinstance(outcome, str):
        with pytest.raises(InputError, match=outcome):
            stack_choices(study, tables)
    else:
        assert stack_choices(study, tables)["party"].cat.categories.tolist() == outcome
        assert stack_choices(study, tables | {"b.parquet": other})["party"].isna().sum() == 20


# --- wide tables ----------------------------------------------------------------------------------

CITY = (["city_1_left", "city_2_left"], ["city_1_right", "city_2_right"])
PROFILES = {"city": CITY, "rent": (["rent_1_left", "rent_2_left"], ["rent_1_right", "rent_2_right"])}
PICK = {"pick": ["pick_1", "pick_2"]}


@pytest.fixture
def wide():
    return read_table(WIDE).astype({"who": "string", "pick_1": "str", "pick_2": "str"})


def test_wide_tables_become_long_in_profile_then_task_then_respondent_order(wide):
    long = cj_tidy(wide, PROFILES, PICK, id="who")
    expected = read_table(WIDE.with_name("wide_long.csv")).astype({"who": "string", "pick": "str"})
    pd.testing.assert_frame_equal(long, expected, check_exact=True)
    pd.testing.assert_frame_equal(cj_tidy(wide.set_axis([9, 9, 4]), PROFILES, PICK, id="who"), long)
    twice = pd.concat([wide, wide], ignore_index=True)
    with pytest.raises(InputError, match=r"row 4 of column 'who' .*repeats 'r3'"):
        cj_tidy(twice, PROFILES, PICK, id="who")
    wide["city_1_left"] = wide["city_1_left"].cat.set_categories(["None", "Lyon"])
    joined = cj_tidy(wide, PROFILES, PICK, id="who")["city"]
    assert joined.cat.categories.tolist() == ["None", "Lyon", "Turin"]
    assert not joined.cat.ordered


def test_the_chosen_position_becomes_chosen_of_a_profile(wide):
    long = cj_tidy(wide, PROFILES, PICK, id="who")
    choices = choices_from_tidy(long, id="who", choice="pick", codes=("left", "right"))
    rows = choices.sort_values(["pair_id", "position"])
    assert rows["chosen"].fillna(-1).tolist() == [1, 0, 0, 1, 1, 0, 0, 1, 0, 1, -1, -1]
    assert rows["status"].tolist() == ["ok"] * 10 + ["missing"] * 2
    assert choices["judge_id"].tolist()[:3] == ["r3", "r1", "r2"]
    assert set(choices["judge_kind"]) == {"human"}
    assert choices["city"].cat.categories.tolist() == ["Turin", "None", "Lyon"]
    with pytest.raises(InputError, match=r"row 2 of column 'pick' \(and 5 more rows\) contains 'right'"):
        choices_from_tidy(long, id="who", choice="pick", codes=("left", "Right"))


@pytest.mark.parametrize(("change", "profiles", "tasks", "problem"), cases(__file__, "wide_tables"))
def test_wide_tables_that_do_not_fit_are_refused(wide, change, profiles, tasks, problem):
    changed = wide.assign(who=change) if isinstance(change, list) else wide.rename(columns=change)
    with pytest.raises(InputError, match=problem):
        cj_tidy(changed, profiles or PROFILES, PICK if tasks is None else tasks, id="who")


@pytest.mark.shared
def test_long_table_equals_the_one_of_cregg(shared):
    wide = read_table(shared / "cregg" / "data" / "wide_conjoint.csv.gz")
    features = {
        f"feature{k}": ([f"feature{k}{t}1" for t in "abcd"], [f"feature{k}{t}2" for t in "abcd"])
        for k in (1, 2, 3)
    }
    rating = ([f"rating_{t}1" for t in "abcd"], [f"rating_{t}2" for t in "abcd"])
    by_task = {name: [f"{name}_{t}" for t in "abcd"] for name in ("choice", "timing")}
    long = cj_tidy(wide, {**features, "rating": rating}, by_task, id="respondent")

    reference = json.loads((shared / "cregg" / "golden" / "wide_cj_tidy.json").read_text())
    golden = read_table(shared / "cregg" / "golden" / "wide_cj_tidy.csv", levels=reference["factor_levels"])
    assert long.columns.tolist() == reference["columns"]
    assert len(long) == reference["nrow"]
    pd.testing.assert_frame_equal(long, golden, check_exact=True)
