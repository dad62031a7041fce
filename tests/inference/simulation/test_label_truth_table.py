"""Truth tables of studies of labels: the most specific row counts, mistakes are named with their place."""

from __future__ import annotations

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.simulation import read_label_truth
from conjury.inference.simulation.labels.items import columns_of
from conjury.inference.study import ItemStudy, load_any_study


@pytest.fixture(scope="module")
def study():
    return load_any_study("multiturn")


def table(study: ItemStudy, *rows: dict[str, str]) -> pd.DataFrame:
    first = [
        {"parameter": "items", "language": "en", "value": "10"},
        {"parameter": "gold", "gold": "dark", "value": "1"},
        {"judge": "qwen3_8b", "judge_kind": "model", "parameter": "accuracy", "value": "0.3"},
    ]
    return pd.DataFrame([*first, *rows], columns=columns_of(study), dtype="string").fillna("")


def of_model(**cells: str) -> dict[str, str]:
    return {"judge": "qwen3_8b", "judge_kind": "model", **cells}


def test_the_row_with_most_cells_filled_in_counts(study):
    truth = read_label_truth(
        table(
            study,
            {"parameter": "accuracy", "judge_kind": "model", "value": "0.1"},
            of_model(parameter="accuracy", gold="dark", value="0.9"),
        ),
        study,
    )
    keys = {"judge_kind": "model", "task": "joke_type", "language": "en"}
    assert truth.value("accuracy", {**keys, "judge": "olmo3_7b"}) == 0.1
    assert truth.value("accuracy", {**keys, "judge": "qwen3_8b", "gold": "dry"}) == 0.3
    assert truth.value("accuracy", {**keys, "judge": "qwen3_8b", "gold": "dark"}) == 0.9
    assert truth.value("consistency", {**keys, "judge": "qwen3_8b"}, 0.5) == 0.5
    with pytest.raises(InputError, match=r"consistency is not given for .*judge qwen3_8b"):
        truth.value("consistency", {**keys, "judge": "qwen3_8b"})


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            of_model(parameter="acuracy", value="0.3"),
            "row 4: column 'parameter': 'acuracy' is unknown",
        ),
        (
            of_model(parameter="accuracy", gold="dusk", value="0.3"),
            "row 4: column 'gold': 'dusk' is unknown here",
        ),
        (
            of_model(parameter="accuracy", gold="dry", value="1.3"),
            "column 'value' of accuracy contains '1.3'; give a number from 0 to 1",
        ),
        (of_model(parameter="accuracy", value="0.3"), "accuracy is given twice"),
        (of_model(parameter="missing", value="0.3"), "missing needs a label"),
        (of_model(parameter="missing", label="lost", value="0.3"), "column 'label': 'lost' is unknown here"),
        (of_model(parameter="lines", language="en", value="5"), "lines has no judge"),
        ({"judge": "qwen3_32b", "parameter": "accuracy", "value": "0.3"}, "human or model"),
        (
            {**of_model(parameter="pull", label="dry", value="1"), "judge_kind": "human"},
            "is a model in an earlier row",
        ),
        ({"parameter": "items", "value": "5"}, "rows of items need language"),
    ],
)
def test_mistakes_in_a_truth_table_are_named(study, row, said):
    with pytest.raises(InputError, match=said):
        read_label_truth(table(study, row), study)


def test_the_tables_that_ship_name_judges_of_their_studies():
    for name in ("multiturn", "harm_or_humor"):
        study = load_any_study(name)
        truth = read_label_truth(study.folder / "label_truth.csv", study)
        assert set(truth.judges) == {judge.id for judge in study.judges}
