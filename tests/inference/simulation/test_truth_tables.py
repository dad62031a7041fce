"""Truth tables: the most specific row counts, and a mistake is refused with its place and a remedy."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from fakes.studies import RATINGS, items, write_study

from conjury.inference.errors import InputError
from conjury.inference.simulation import read_label_truth, read_rating_truth, simulate, simulate_ratings
from conjury.inference.simulation.conjoint.judges import COLUMNS, read_truth_table
from conjury.inference.simulation.labels.items import columns_of
from conjury.inference.study import ItemStudy, load_any_study, load_study

# --- choices --------------------------------------------------------------------------------------

ROW = ("m", "model", "baseline", "part_worth", "slur", "racism", "1.0")


@pytest.fixture(scope="module")
def moderation():
    return load_study("moderation")


def choices(*rows: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"judge_kind": "robot"}, "write human or model"),
        ({"prompt_id": "base_line"}, "did you mean 'baseline'"),
        ({"parameter": "part_wort"}, "did you mean 'part_worth'"),
        ({"parameter": "inattention", "feature": "", "level": "", "value": "0.1"}, "belongs to a human"),
        ({"feature": "slurs"}, "did you mean 'slur'"),
        ({"level": "racisms"}, "did you mean 'racism'"),
        ({"feature": "slur:identity"}, "one level for each feature"),
        ({"value": "much"}, "finite number"),
        ({"value": "inf"}, "finite number"),
        ({"parameter": "position_bias"}, "leave it empty"),
        ({"parameter": "stimulus_sd", "feature": "txt", "level": ""}, "did you mean 'text'"),
        ({"parameter": "stimulus_sd", "feature": "text"}, "the intercept of 'text' has no level"),
        ({"parameter": "stimulus_sd", "feature": "text:slurs"}, "did you mean 'slur'"),
        ({"parameter": "stimulus_sd", "feature": "text:slur", "level": "racis"}, "did you mean 'racism'"),
    ],
)
def test_a_bad_truth_table_of_choices_is_refused_with_its_row(moderation, change, remedy):
    bad = choices(ROW, ROW)
    bad.loc[1, list(change)] = list(change.values())
    with pytest.raises(InputError, match=rf"truth table, row 2: .*{remedy}"):
        read_truth_table(bad, moderation)


def test_a_bad_truth_file_is_refused_with_its_line(moderation, tmp_path):
    path = tmp_path / "truth.csv"
    choices(ROW, ROW).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"truth.csv:3: .*given twice for .*; keep one row"):
        read_truth_table(path, moderation)
    choices(ROW).drop(columns="value").to_csv(path, index=False)
    with pytest.raises(InputError, match="column 'value' is missing; add it"):
        read_truth_table(path, moderation)
    path.write_text("")
    with pytest.raises(InputError, match="the file is empty"):
        read_truth_table(path, moderation)
    panel = choices(
        *(
            ("human", "human", "", name, "", "", value)
            for name, value in (("inattention", "0.5"), ("reliability", "0.9"))
        )
    )
    with pytest.raises(InputError, match=r"reliability of 0.9 cannot be reached with 50.0% inattentive"):
        read_truth_table(panel, moderation)


# --- ratings --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def oogiri():
    return load_any_study("oogiri")


def change(start: str, new: str | None) -> Callable[[list[str]], list[str]]:
    """Put a line in place of the first one that starts so, or take it away."""

    def changed(table: list[str]) -> list[str]:
        at = next(n for n, line in enumerate(table) if line.startswith(start))
        return [*table[:at], *([] if new is None else [start + new]), *table[at + 1 :]]

    return changed


def add(line: str) -> Callable[[list[str]], list[str]]:
    return lambda table: [table[0], line, *table[1:]]


def test_the_table_of_ratings_that_ships_is_read_from_a_file_or_a_frame(oogiri):
    truth = read_rating_truth(oogiri.folder / "truth.csv", oogiri)
    assert truth.judges == ["human", "gpt_4_1", "gemini_2_5_pro", "claude_sonnet_4"]
    assert dict(truth.topics) == {"text": 200, "image": 199}
    assert truth.people == 104
    assert (truth.panel.mean.shape, truth.panel.threshold.shape) == ((6, 8), (6, 4))
    assert (np.diff(truth.models[0].threshold, axis=1) > 0).all()
    again = read_rating_truth(pd.read_csv(oogiri.folder / "truth.csv"), oogiri)
    assert np.array_equal(again.panel.mean, truth.panel.mean)
    frame = pd.read_csv(oogiri.folder / "truth.csv", dtype=str)
    frame.loc[7, "value"] = "x"
    with pytest.raises(InputError, match="truth table, row 8: column 'value' of halo_sd contains 'x'"):
        read_rating_truth(frame, oogiri)


THRESHOLD, AGREEMENT = "gpt_4_1,model,threshold,empathy,2", "gpt_4_1,model,consensus_correlation,empathy"
CORRELATION, HALO = "human,human,correlation,empathy,funniness", "human,human,halo_sd"


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (add("human,person,people,,,3"), r"truth\.csv:2: column 'judge_kind' contains 'person'; write human"),
        (add("humans,human,people,,,3"), "csv:2: column 'judge': 'humans' is unknown here; did you mean"),
        (add("gpt_4_1,human,people,,,3"), "truth.csv:.*: gpt_4_1 is a human in an earlier row"),
        (add("human,human,peeple,,,3"), "'parameter': 'peeple' is unknown here; did you mean 'people'"),
        (add("human,human,consensus_correlation,clarity,,1"), "consensus_correlation belongs to a model"),
        (add("gpt_4_1,model,halo_sd,,,1"), "halo_sd belongs to a human, not to a model; remove the row"),
        (add("human,human,mean,,high,1"), "mean needs a dimension; write one of novelty, clarity"),
        (add("human,human,mean,wit,high,1"), "column 'dimension': 'wit' is unknown here"),
        (add("human,human,mean,clarity,top,1"), "'level': 'top' is unknown here; use one of high, mid"),
        (add("human,human,mean,clarity,,1"), "mean needs a level; write one of high, mid"),
        (add("human,human,halo_sd,clarity,,1"), "halo_sd has no dimension; leave it empty"),
        (add("human,human,halo_sd,,high,1"), "halo_sd has no level; leave it empty"),
        (add("human,human,threshold,clarity,5,1"), "'level': '5' is unknown here; use one of 1, 2, 3, 4"),
        (add("human,human,modality,clarity,video,1"), "column 'level': 'video' is unknown here"),
        (add("human,human,people,,,12"), r"truth\.csv:5: people is given twice for human human; keep one"),
        (change(HALO, ",,,much"), "csv:9: .* of halo_sd contains 'much'; give a number from 0 to 100"),
        (change(HALO, ",,,nan"), "contains 'nan'; give a number"),
        (change(HALO, ",,,-1"), "contains '-1'; give a number from 0"),
        (change("human,human,people", None), "the number of people is missing"),
        (change("human,human,mean,clarity,mid", None), "mean of human for clarity mid is missing; add a row"),
        (change(THRESHOLD, None), "threshold of gpt_4_1 for empathy 2 is missing"),
        (change(AGREEMENT, None), "consensus_correlation of gpt_4_1 for"),
        (change(THRESHOLD, ",99"), "the thresholds of gpt_4_1 for empathy do not rise"),
        (add("gpt_4_1,model,item_sd,empathy,low,1"), "item_sd of gpt_4_1 differs between types"),
        (change(CORRELATION, ",-1"), "the correlations of human contradict each other"),
        (add("human,human,correlation,funniness,empathy,0.1"), "human for .* is given twice"),
        (lambda table: [line for line in table if not line.startswith("human")], "topics is missing"),
        (lambda table: [line for line in table if ",topics," not in line], "the number of topics is missing"),
        (lambda table: [table[0].replace("level", "stage"), *table[1:]], "column 'level' is missing; add it"),
        (change("claude_sonnet_4,model,model_shared", ",,,0.9"), "cannot share so much of its errors"),
        (add("gpt_4_1,model,model_shared,clarity,,1.0"), "'1.0'; give a number from 0 to 0.99"),
        (add("human,model,model_shared,,,0.2"), "human is a model in an earlier row"),
    ],
)
def test_a_bad_table_of_ratings_is_refused_with_its_line(oogiri, tmp_path, edit, problem):
    path = tmp_path / "truth.csv"
    lines = (oogiri.folder / "truth.csv").read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(edit(lines)) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=problem) as refused:
        read_rating_truth(path, oogiri)
    assert "\n" not in str(refused.value)


def test_studies_that_cannot_be_simulated_say_why(moderation, oogiri, tmp_path):
    folder = shutil.copytree(moderation.folder, tmp_path / "moderation")
    (folder / "truth.csv").unlink()
    missing = "'moderation' has no truth table, so its choices cannot be simulated; write .* judge, "
    with pytest.raises(InputError, match=missing):
        simulate(load_study(folder), seed=1)
    bare = load_any_study(write_study(tmp_path / "posts", items(RATINGS)))
    with pytest.raises(InputError, match="Study 'posts' has no truth table"):
        simulate_ratings(bare, 1)
    with pytest.raises(InputError, match="Study posts has no rating scales or no assignment"):
        simulate_ratings(bare, 1, raters=oogiri.folder / "truth.csv")
    with pytest.raises(InputError, match="there is no such file"):
        simulate_ratings(oogiri, 1, raters=tmp_path / "none.csv")


# --- labels ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def multiturn():
    return load_any_study("multiturn")


def labels(study: ItemStudy, *rows: dict[str, str]) -> pd.DataFrame:
    first = [
        {"parameter": "items", "language": "en", "value": "10"},
        {"parameter": "gold", "gold": "dark", "value": "1"},
        of_model(),
    ]
    return pd.DataFrame([*first, *rows], columns=columns_of(study), dtype="string").fillna("")


def of_model(parameter: str = "accuracy", **cells: str) -> dict[str, str]:
    row = {"judge": "qwen3_8b", "judge_kind": "model", "parameter": parameter, "value": "0.3"}
    return {**row, **cells}


def test_the_row_with_most_cells_filled_in_counts(multiturn):
    more = (
        {"parameter": "accuracy", "judge_kind": "model", "value": "0.1"},
        of_model(gold="dark", value="0.9"),
    )
    truth = read_label_truth(labels(multiturn, *more), multiturn)
    keys = {"judge_kind": "model", "task": "joke_type", "language": "en", "judge": "qwen3_8b"}
    assert truth.value("accuracy", {**keys, "judge": "olmo3_7b"}) == 0.1
    assert truth.value("accuracy", {**keys, "gold": "dry"}) == 0.3
    assert truth.value("accuracy", {**keys, "gold": "dark"}) == 0.9
    assert truth.value("consistency", keys, 0.5) == 0.5
    with pytest.raises(InputError, match=r"consistency is not given for .*judge qwen3_8b"):
        truth.value("consistency", keys)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (of_model("acuracy"), "row 4: column 'parameter': 'acuracy' is unknown"),
        (of_model(gold="dusk"), "row 4: column 'gold': 'dusk' is unknown here"),
        (of_model(gold="dry", value="1.3"), "of accuracy contains '1.3'; give a number from 0 to 1"),
        (of_model(), "accuracy is given twice"),
        (of_model("missing"), "missing needs a label"),
        (of_model("missing", label="lost"), "column 'label': 'lost' is unknown here"),
        (of_model("lines", language="en", value="5"), "lines has no judge"),
        ({"judge": "qwen3_32b", "parameter": "accuracy", "value": "0.3"}, "human or model"),
        (of_model("pull", label="dry", judge_kind="human"), "is a model in an earlier row"),
        ({"parameter": "items", "value": "5"}, "rows of items need language"),
    ],
)
def test_a_bad_table_of_labels_is_refused_with_its_row(multiturn, row, problem):
    with pytest.raises(InputError, match=problem):
        read_label_truth(labels(multiturn, row), multiturn)


def test_the_tables_of_labels_that_ship_name_judges_of_their_studies(multiturn):
    for study in (multiturn, load_any_study("harm_or_humor")):
        truth = read_label_truth(study.folder / "label_truth.csv", study)
        assert set(truth.judges) == {judge.id for judge in study.judges}
