"""Data of jsPsych that no study of ours wrote: trials of any experiment, and what is refused."""

from __future__ import annotations

import json

import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.humans import Layout, read_jspsych
from conjury.inference.humans.jspsych import read_trials

TRIALS = cases(__file__, "trials")


def test_lines_of_several_results_are_the_same_as_one_list(tmp_path):
    one, lines, arrays = (tmp_path / name for name in ("one.json", "lines.txt", "arrays.txt"))
    one.write_text(json.dumps(TRIALS, indent=2))
    lines.write_text("".join(f"{json.dumps(trial)}\n" for trial in TRIALS) + "\n")
    arrays.write_text(json.dumps(TRIALS[:2]) + "\n" + json.dumps(TRIALS[2:]) + "\n")
    tables = [read_trials(path).table.fillna("").to_dict("records") for path in (one, lines, arrays)]
    assert tables[0] == tables[1] == tables[2]
    assert tables[0][1]["response.wit"] == "3"
    assert tables[0][2]["rt"] == ""


def test_answers_of_a_form_are_dimensions_and_rows_without_an_item_are_none(tmp_path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps(TRIALS))
    read = read_jspsych(path, Layout(ratings=["response.{dimension}"])).judgments
    rows = read[["judge_id", "item_id", "dimension", "value"]].to_numpy().tolist()
    assert rows == [
        ["p1", "j1", "wit", 3],
        ["p1", "j1", "harm", 0],
        ["p2", "j1", "wit", 1],
        ["p2", "j1", "harm", 2],
    ]


@pytest.mark.parametrize(("content", "sentence"), cases(__file__, "refused"))
def test_what_is_no_data_of_jspsych_is_refused(tmp_path, content, sentence):
    path = tmp_path / "data.json"
    with pytest.raises(InputError, match="there is no file with"):
        read_trials(tmp_path)
    path.write_text(content)
    with pytest.raises(InputError, match=sentence):
        read_trials(path)


def test_columns_of_ratings_have_to_be_named(tmp_path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps(TRIALS))
    with pytest.raises(InputError, match="no option names the columns of ratings"):
        read_jspsych(path, Layout())
    with pytest.raises(InputError, match="--judge"):
        read_jspsych(path, Layout(value={"wit": "response.wit"}, judge="worker"))
