"""DataFrames of polars, pyarrow and DuckDB give the numbers of pandas; wrong calls get a sentence."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from public_names import public_functions

import conjury
from conjury.analysis.conjoint import amce, mm
from conjury.analysis.raters import agreement
from conjury.analysis.raters.validation import judge
from conjury.inference.errors import OF_COMMAND, InputError
from conjury.inference.tables.frames import in_python, to_pandas, wrong_call

# Functions of tables that our own steps make, or that the package writes itself.
OWN = ("audit", "prediction_powered.estimate", "prediction_powered.tasks", "vignettes", "require_columns")
OWN = (*OWN, "read_label_truth", "read_rating_truth")

CHOICES = pd.DataFrame(
    {
        "colour": pd.Categorical(["red", "blue", "green", "red", "blue"] * 24, ["red", "blue", "green"]),
        "size": ["small", "large", "small", "large"] * 30,
        "pair_id": [f"pair_{number // 2}" for number in range(120)],
        "chosen": [1, 0, 0, 1, 0, 1] * 20,
    }
)
MAKERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "polars": pl.from_pandas,
    "polars, lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": pa.Table.from_pandas,
    "DuckDB": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)).project(
        "colour::ENUM('red', 'blue', 'green') AS colour, size, pair_id, chosen"
    ),
}


@pytest.mark.parametrize("library", MAKERS)
def test_estimates_are_those_of_the_same_pandas_dataframe(library):
    given = MAKERS[library](CHOICES)
    for verb in (amce, mm):
        expected = verb(CHOICES, "chosen ~ colour + size", id="pair_id").frame
        found = verb(given, "chosen ~ colour + size", id="pair_id").frame
        pd.testing.assert_frame_equal(found, expected, check_categorical=False)
    assert list(to_pandas(given)["colour"].cat.categories) == ["red", "blue", "green"]


def asks_for_dataframe(hint: Any) -> bool:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return any(asks_for_dataframe(part) for part in typing.get_args(hint))
    return hint is pd.DataFrame


class Names(dict[str, Any]):
    """Names of a module; those that are imported for types alone stand for any type that has parts."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, list)


def test_every_public_function_of_a_dataframe_takes_them():
    missing, taking = set(), set()
    for name, function in public_functions():
        if any(part in name for part in OWN):
            continue
        module = importlib.import_module(inspect.unwrap(function).__module__)
        annotations = inspect.unwrap(function).__annotations__
        hints = {
            parameter: eval(str(annotation), {}, Names(vars(module)))
            for parameter, annotation in annotations.items()
            if parameter != "return" and "pd.Series[" not in str(annotation)
        }
        if any(map(asks_for_dataframe, hints.values())):
            (taking if function.__code__.co_name == "accepting" else missing).add(name)
    assert missing == set()
    assert len(taking) > 60


@pytest.mark.parametrize(
    ("verb", "options", "sentence"),
    [
        (amce, {"idd": "pair_id"}, "amce has no option 'idd' (did you mean 'id'?)."),
        (amce, {}, "amce needs formula; call it as amce(data, formula)."),
        (
            agreement,
            {"seeds": 1},
            "agreement has no option 'seeds' (did you mean 'seed'?); it takes judgments,",
        ),
        (agreement, {"by": 5}, "by is 5; give text or a list of texts."),
        (judge, {"human": 5, "judge": "size"}, "human is 5; give text or a list of texts."),
        (judge, {"humans": "a", "judge": "size"}, "judge needs human (did you mean it by 'humans'?);"),
    ],
)
def test_calls_that_cannot_be_right_are_answered_by_a_sentence(verb, options, sentence):
    formula = {"formula": "chosen ~ colour"} if "idd" in options else {}
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}"):
        verb(CHOICES, **formula, **options)
    assert wrong_call(agreement, ["file.csv"], {"draws": "many"}) == "draws is 'many'; give a whole number."


def test_every_function_at_the_top_answers_an_unknown_option_by_a_sentence():
    functions = [f for name in conjury.__all__ if inspect.isfunction(f := getattr(conjury, name))]
    for function in functions:
        with pytest.raises(InputError, match=f"^{function.__name__} (has no option|needs) "):
            function(unknown=1)
    assert len(functions) > 20


def test_options_are_named_as_python_writes_them_but_those_of_commands_and_of_other_functions():
    for words, python in (
        ("state --missing 'n/a', or --levels 'a,b'", "state missing='n/a', or levels=['a', 'b']"),
        ("--relabel 'X=tie' or --scale nominal.", "relabel={'X': 'tie'} or scale='nominal'."),
        ("name it with --human; --header-row 2", "name it with human=; header_row=2"),
        ("--relabel LABEL=LABEL, --id ID", "relabel={LABEL: LABEL}, id=ID"),
        ("`conjury judge --human COLUMN` --json", "`conjury judge --human COLUMN` --json"),
    ):
        assert in_python(words, judge) == python
    token = OF_COMMAND.set(False)
    try:
        with pytest.raises(InputError, match="state missing='n/a', else"):
            judge(pd.DataFrame({"a": ["1", "2", "n/a"] * 9, "b": ["1", "2", "2"] * 9}), "a", "b")
    finally:
        OF_COMMAND.reset(token)
