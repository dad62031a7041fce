from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.tables import validate
from conjury.inference.tables.schema import KEYS, STATUSES, TABLES, schema


def choices(**columns: Any) -> pd.DataFrame:
    """Two judges with two pairs each, some columns replaced."""
    frame = pd.DataFrame(
        {
            "judge_id": ["m1"] * 4 + ["m2"] * 4,
            "judge_kind": "model",
            "prompt_id": "base",
            "pair_id": [1, 1, 2, 2] * 2,
            "position": ["A", "B"] * 4,
            "chosen": [1, 0, 0, 1] * 2,
            "status": "ok",
            "repeat": False,
            "slur": pd.Categorical(["none", "racism"] * 4, categories=["racism", "none"]),
        }
    )
    return frame.assign(**columns)


def judgments(**columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "judge_id": ["m1", "m1"],
            "judge_kind": "model",
            "item_id": ["j1", "j2"],
            "dimension": "funny",
            "sample": 0,
            "value": [3, 1],
            "status": "ok",
        }
    )
    return frame.assign(**columns)


def responses(**columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "study": "moderation",
            "judge_id": ["m1", "m1"],
            "judge_kind": "model",
            "task_id": [1, 2],
            "sample": 0,
            "text": ["A", None],
            "request_key": ["k1", "k2"],
            "created": ["2026-01-31T12:00:00+01:00", "2026-01-31T12:00:00"],
        }
    )
    return frame.assign(**columns)


def refusal(frame: pd.DataFrame, table: str = "choices") -> str:
    with pytest.raises(InputError) as caught:
        validate(frame, table, source="input.csv")
    message = str(caught.value)
    assert message.startswith("input.csv: ")
    assert message.endswith(".")
    assert ";" in message, "the remedy follows a semicolon"
    assert "\n" not in message
    return message


def test_declared_columns_get_their_types():
    valid = validate(
        choices(chosen=["1", "0", "", None] * 2, status=["ok", "ok", "empty", "empty"] * 2).replace(
            {"chosen": {"": None}}
        ),
        "choices",
    )
    assert {name: str(valid[name].dtype) for name in ("judge_id", "prompt_id", "chosen", "repeat")} == {
        "judge_id": "string",
        "prompt_id": "string",
        "chosen": "Int8",
        "repeat": "boolean",
    }
    assert valid["status"].cat.categories.tolist() == list(STATUSES)
    assert valid["position"].cat.categories.tolist() == ["A", "B"]
    assert valid["chosen"].isna().tolist() == [False, False, True, True] * 2


def test_free_columns_are_left_alone_and_the_input_is_not_changed():
    frame = choices()
    before = frame.copy(deep=True)
    valid = validate(frame, "choices")
    assert valid["slur"].cat.categories.tolist() == ["racism", "none"]
    pd.testing.assert_frame_equal(frame, before)


def test_validation_is_idempotent():
    once = validate(choices(), "choices")
    pd.testing.assert_frame_equal(validate(once, "choices"), once)


def test_times_are_converted_to_utc_and_bare_ones_taken_as_utc():
    created = validate(responses(), "responses")["created"]
    assert str(created.dtype) == "datetime64[us, UTC]"
    assert created.dt.hour.tolist() == [11, 12]


def test_whole_numbers_stay_whole_as_identifiers():
    valid = validate(choices(judge_id=[7.0] * 4 + [8.0] * 4), "choices")
    assert valid["judge_id"].unique().tolist() == ["7", "8"]


def test_every_table_has_a_schema_and_a_key_of_declared_columns():
    for table, key in KEYS.items():
        assert set(key) <= set(TABLES[table])
        assert set(schema(table).columns) == set(TABLES[table])
    assert set(KEYS) == set(TABLES)


def test_repeated_draws_of_a_model_at_one_pair_are_no_duplicates():
    drawn = pd.concat([choices(sample=0), choices(sample=1)], ignore_index=True)
    valid = validate(drawn, "choices")
    assert str(valid["sample"].dtype) == "Int64"
    assert valid["sample"].tolist() == [0] * 8 + [1] * 8


def test_samples_may_be_missing():
    assert validate(choices(sample=None), "choices")["sample"].isna().all()


def test_unknown_table_is_refused_with_the_closest_name():
    with pytest.raises(InputError, match=r"no table 'choice' \(did you mean 'choices'\?\)"):
        validate(choices(), "choice")


def twice(**columns: Any) -> pd.DataFrame:
    return pd.concat([choices(**columns)] * 2, ignore_index=True)


SAMPLES = pd.concat([choices(sample=0), choices(sample=1).drop(index=3)], ignore_index=True)
ITEMS = pd.DataFrame({"item_id": ["j1", "j1"], "modality": "text"})


@pytest.mark.parametrize(
    ("table", "frame", "expected"),
    [
        (
            "choices",
            choices(chosen=[1, 0, "yes", "no"] * 2),
            "row 3 of column 'chosen' (and 3 more rows) contains 'yes'",
        ),
        ("choices", choices(chosen=[1, 0, 0, 2] * 2), "row 4 of column 'chosen' (and 1 more row) contains 2"),
        (
            "choices",
            choices(chosen=[1, 0, 0.5, 0.5] * 2),
            "row 3 of column 'chosen' (and 3 more rows) contains 0.5",
        ),
        (
            "choices",
            choices(status=["ok"] * 7 + ["OK"]),
            "row 8 of column 'status' contains 'OK', which is not one of its",
        ),
        ("choices", choices(status=["ok"] * 7 + ["OK"]).set_axis([5] * 8), "row 8 of column 'status'"),
        ("choices", choices(status="refusd"), "(did you mean 'refused'?); use one of: ok, refused"),
        (
            "choices",
            choices(position=["A", "left"] * 4),
            "row 2 of column 'position' (and 3 more rows) contains 'left'",
        ),
        (
            "choices",
            choices(judge_kind=["robot"] + ["model"] * 7),
            "row 1 of column 'judge_kind' contains 'robot'",
        ),
        ("choices", choices(judge_id=["m1", None] + ["m1"] * 6), "row 2 of column 'judge_id' is empty"),
        (
            "choices",
            choices(pair_id=[1, 1, None, 2] * 2),
            "row 3 of column 'pair_id' (and 1 more row) is empty",
        ),
        ("choices", choices(repeat=[False] * 7 + ["perhaps"]), "row 8 of column 'repeat' contains 'perhaps'"),
        (
            "choices",
            choices(profile_id=[3.0] * 7 + [3.5]),
            "row 8 of column 'profile_id' contains 3.5, which is not a whole",
        ),
        (
            "choices",
            choices(profile_id=[1.0, np.inf] * 4),
            "row 2 of column 'profile_id' (and 3 more rows) contains inf",
        ),
        (
            "choices",
            choices(task=[1] * 6 + [0, 0]),
            "row 7 of column 'task' (and 1 more row) contains 0; write a value of at",
        ),
        ("choices", choices(sample=-1), "column 'sample'"),
        ("choices", choices(sample=0.5), "column 'sample'"),
        (
            "choices",
            choices().rename(columns={"position": "Position"}),
            "'position' is missing (did you mean 'Position'?)",
        ),
        ("choices", pd.concat([choices(), choices()[["slur"]]], axis=1), "column 'slur' occurs twice"),
        ("choices", twice(sample=1), "(judge_id m1, prompt_id base, pair_id 1, repeat False, sample 1"),
        ("choices", twice(sample=None), "repeats an earlier row"),
        (
            "choices",
            twice(prompt_id=None),
            "row 9 of column 'position' (and 7 more rows) repeats an earlier row",
        ),
        (
            "choices",
            choices(position=["A", "A"] + ["A", "B"] * 3),
            "row 2 of column 'position' repeats an earlier row",
        ),
        ("choices", SAMPLES, "belongs to pair 2, which has one row"),
        (
            "choices",
            choices().drop(index=2),
            "row 3 of column 'pair_id' belongs to pair 2, which has one row",
        ),
        (
            "choices",
            choices(chosen=[1, 0, 1, 1, 1, 0, 0, 1]),
            "belongs to pair 2, where both profiles are chosen",
        ),
        ("choices", choices(chosen=[0, 0, 0, 1] * 2), "belongs to pair 1, where neither profile is chosen"),
        (
            "choices",
            choices(chosen=[None, None, 0, 1] * 2),
            "row 1 of column 'chosen' (and 3 more rows) is empty although",
        ),
        *(
            ("choices", choices(probability=[0.5] * 7 + [value]), "row 8 of column 'probability' contains ")
            for value in (-0.1, 1.1, np.inf)
        ),
        (
            "choices",
            choices(probability=[0.25, 0.75, 0.4, 0.5, 0.5, 0.5, 1.0, 0.0]),
            "row 3 of column 'probability' (and 1 more row) belongs to pair 2, whose probabilities sum to",
        ),
        ("items", ITEMS, "row 2 of column 'item_id' repeats an earlier row (item_id j1)"),
        ("judgments", judgments(item_id="j1"), "repeats an earlier row"),
        ("responses", responses(request_key="k1"), "request_key k1"),
        (
            "responses",
            responses(created=["2026-01-31", "yesterday"]),
            "row 2 of column 'created' contains 'yesterday'",
        ),
        ("responses", responses(cost=[0.1, -0.5]), "row 2 of column 'cost' contains -0.5"),
    ],
)
def test_what_breaks_the_contract_is_named_by_column_row_and_value(table, frame, expected):
    assert expected in refusal(frame, table)


def test_probabilities_may_be_missing_and_off_by_rounding():
    given = [0.25, 0.75 + 9e-7, np.nan, 0.5, np.nan, np.nan, 1.0, 0.0]
    np.testing.assert_array_equal(validate(choices(probability=given), "choices")["probability"], given)


def test_pair_with_a_refusal_need_not_have_a_chosen_profile():
    frame = choices(chosen=[0, 0, 0, 1] * 2, status=["refused", "refused", "ok", "ok"] * 2)
    assert len(validate(frame, "choices")) == 8


def test_pairs_are_told_apart_by_judge_prompt_and_repeat():
    frame = pd.concat([choices(), choices(prompt_id=None), choices(prompt_id=None, repeat=True)])
    assert len(validate(frame, "choices")) == 24


def test_judgment_needs_an_item_or_a_task():
    assert "column 'item_id' is missing" in refusal(judgments().drop(columns="item_id"), "judgments")
    assert "row 2 of column 'item_id' is empty" in refusal(judgments(item_id=["j1", None]), "judgments")
    assert len(validate(judgments(item_id=["j1", None], task_id=[None, 4]), "judgments")) == 2


def test_values_of_judgments_keep_their_type():
    assert validate(judgments(value=["safe", "implicit"]), "judgments")["value"].tolist() == [
        "safe",
        "implicit",
    ]
    assert str(validate(judgments(), "judgments")["value"].dtype) == "int64"


def test_six_hundred_thousand_rows_are_checked_within_two_seconds():
    pairs = 30_000
    block = pd.DataFrame(
        {
            "judge_kind": "model",
            "pair_id": np.repeat(np.arange(pairs), 2),
            "position": ["A", "B"] * pairs,
            "chosen": [1, 0] * pairs,
            "status": "ok",
            "repeat": False,
        }
    )
    asked = [(judge, prompt) for judge in ("m1", "m2") for prompt in "abcde"]
    frame = pd.concat([block.assign(judge_id=judge, prompt_id=prompt) for judge, prompt in asked])
    schema("choices")
    start = time.process_time()
    validate(frame, "choices")
    assert time.process_time() - start < 2


def test_import_leaves_pandera_out():
    code = "import sys, conjury.inference.tables; sys.exit('pandera' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
