"""What a valid table is: types, keys, pairs and probabilities; what breaks it is named by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.tables import validate
from conjury.inference.tables.schema import KEYS, STATUSES, TABLES


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
    frame = pd.DataFrame({"judge_id": "m1", "item_id": ["j1", "j2"], "value": [3, 1]})
    return frame.assign(judge_kind="model", dimension="funny", sample=0, status="ok").assign(**columns)


def responses(**columns: Any) -> pd.DataFrame:
    frame = judgments().drop(columns=["item_id", "dimension", "value", "status"])
    created = ["2026-01-31T12:00:00+01:00", "2026-01-31T12:00:00"]
    frame = frame.assign(study="s", task_id=[1, 2], text=["A", None], request_key=["k1", "k2"])
    return frame.assign(created=created).assign(**columns)


def twice(**columns: Any) -> pd.DataFrame:
    return pd.concat([choices(**columns)] * 2, ignore_index=True)


def test_declared_columns_get_their_types_and_others_stay():
    status = ["ok", "ok", "empty", "empty"] * 2
    frame = choices(chosen=["1", "0", None, None] * 2, status=status, judge_id=[7.0] * 4 + [8.0] * 4)
    before = frame.copy(deep=True)
    valid = validate(frame, "choices")
    pd.testing.assert_frame_equal(frame, before)
    names = ("judge_id", "prompt_id", "chosen", "repeat")
    assert [str(valid[name].dtype) for name in names] == ["string", "string", "Int8", "boolean"]
    assert valid["judge_id"].unique().tolist() == ["7", "8"]
    assert valid["status"].cat.categories.tolist() == list(STATUSES)
    assert valid["position"].cat.categories.tolist() == ["A", "B"]
    assert valid["chosen"].isna().tolist() == [False, False, True, True] * 2
    assert valid["slur"].cat.categories.tolist() == ["racism", "none"]
    pd.testing.assert_frame_equal(validate(valid, "choices"), valid)
    created = validate(responses(), "responses")["created"]  # times without a zone are in UTC
    assert str(created.dtype) == "datetime64[us, UTC]"
    assert created.dt.hour.tolist() == [11, 12]
    values = validate(judgments(value=["safe", "implicit"]), "judgments")["value"]
    assert values.tolist() == ["safe", "implicit"]
    assert str(validate(judgments(), "judgments")["value"].dtype) == "int64"


def test_every_table_has_a_key_of_declared_columns():
    assert set(KEYS) == set(TABLES)
    for table, key in KEYS.items():
        assert set(key) <= set(TABLES[table])


SAMPLES = pd.concat([choices(sample=0), choices(sample=1)], ignore_index=True)
OTHER_PROMPTS = pd.concat([choices(), choices(prompt_id=None), choices(prompt_id=None, repeat=True)])
ROUNDED = choices(probability=[0.25, 0.75 + 9e-7, np.nan, 0.5, np.nan, np.nan, 1.0, 0.0])
SAMPLED = choices(sampling_probability=[0.01, 0.01, 1.0, 1.0] + [np.nan] * 4)
REFUSED = choices(chosen=[0, 0, 0, 1] * 2, status=["refused", "refused", "ok", "ok"] * 2)


@pytest.mark.parametrize(
    ("table", "frame", "column"),
    [
        pytest.param("choices", SAMPLES, "sample", id="repeated draws of a pair are no duplicates"),
        pytest.param("choices", choices(sample=None), "sample", id="samples may be missing"),
        pytest.param("choices", OTHER_PROMPTS, "repeat", id="judge, prompt and repeat distinguish pairs"),
        pytest.param("choices", ROUNDED, "probability", id="probabilities: missing, off by rounding"),
        pytest.param("choices", SAMPLED, "slur", id="sampling probabilities up to 1, or missing"),
        pytest.param("choices", REFUSED, "chosen", id="refused pairs need no chosen profile"),
        pytest.param("judgments", judgments(item_id=["j1", None], task_id=[None, 4]), "value", id="a task"),
    ],
)
def test_valid_tables_keep_their_values(table, frame, column):
    values = (rows[column].astype(object).fillna("missing") for rows in (validate(frame, table), frame))
    assert next(values).tolist() == next(values).tolist()


def test_unknown_table_is_refused_with_the_closest_name():
    with pytest.raises(InputError, match=r"no table 'choice' \(did you mean 'choices'\?\)"):
        validate(choices(), "choice")


@pytest.mark.parametrize(("table", "columns", "expected"), cases(__file__, "broken_tables"))
def test_values_that_break_the_contract_are_named_by_column_row_and_value(table, columns, expected):
    frame = {"choices": choices, "judgments": judgments, "responses": responses}[table](**columns)
    refuse(table, frame, expected)


@pytest.mark.parametrize(
    ("table", "frame", "expected"),
    [
        ("choices", choices(status=["ok"] * 7 + ["OK"]).set_axis([5] * 8), "row 8 of column 'status'"),
        ("choices", choices().rename(columns={"position": "Position"}), "missing (did you mean 'Position'?)"),
        ("choices", pd.concat([choices(), choices()[["slur"]]], axis=1), "column 'slur' occurs twice"),
        ("choices", twice(sample=1), "(judge_id m1, prompt_id base, pair_id 1, repeat False, sample 1"),
        ("choices", twice(sample=None), "; keep one row for each."),
        ("choices", twice(prompt_id=None), "row 9 of column 'position' (and 7 more rows) repeats an earlier"),
        ("choices", SAMPLES.drop(index=11), "belongs to pair 2, which has one row"),
        ("choices", choices().drop(index=2), "row 3 of column 'pair_id' belongs to pair 2, which has one"),
        ("items", pd.DataFrame({"item_id": ["j1", "j1"]}), "row 2 of column 'item_id' repeats"),
        (
            "judgments",
            pd.concat(
                [judgments().assign(scale=scale, seen=[[1], [2]]) for scale in ("wit", "tone")]
            ).reset_index(),
            "for each; if column 'scale', in which they differ, names what was rated, call it 'dimension'",
        ),
        (
            "judgments",
            pd.concat([judgments().assign(note=[f"{k}a", f"{k}b"]) for k in range(2)], ignore_index=True),
            "keep one row for each.",
        ),
        ("judgments", judgments().drop(columns="item_id"), "column 'item_id' is missing"),
    ],
)
def test_tables_that_break_the_contract_are_named_by_column_and_row(table, frame, expected):
    refuse(table, frame, expected)


def refuse(table: str, frame: pd.DataFrame, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        validate(frame, table, source="input.csv")
    message = str(caught.value)
    assert expected in message
    assert message.startswith("input.csv: ")
    assert message.endswith(".")
    assert ";" in message, "the remedy follows a semicolon"
    assert "\n" not in message
