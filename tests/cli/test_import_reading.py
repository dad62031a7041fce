"""Exports of any kind of file and any spelling give the same judgments; what may be wrong is asked about."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.humans import Layout, read_crowd, read_qualtrics_ratings
from conjury.inference.readers.judgments import load_judgments
from conjury.inference.tables import read_table

pyreadstat = pytest.importorskip("pyreadstat", reason="extra `files`")

TABLE = pd.DataFrame(
    {
        "rater": ["ann", "bob"] * 4,
        "item": ["a", "a", "b", "b", "c", "c", "d", "d"],
        "wit": [1, 2, 3, 3, 5, 4, 2, 1],
        "tone": ["kind", "Kind ", "rude", "RUDE", "kind", "rude", "kind", "kind"],
    }
)
LAYOUT = Layout(value={"wit": "wit", "tone": "tone"}, item="item", judge="rater", people=True)
WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "bars.txt": lambda frame, path: frame.to_csv(path, index=False, sep="|"),
    "t.xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "t.sav": lambda frame, path: pyreadstat.write_sav(frame, str(path)),
}


@pytest.mark.parametrize("name", list(WRITERS))
def test_equal_content_gives_equal_judgments_in_other_kinds_of_files(tmp_path, name):
    WRITERS[name](TABLE, tmp_path / name)
    made = read_crowd(tmp_path / name, "csv", LAYOUT)
    of_wit = made.judgments[made.judgments["dimension"] == "wit"]
    assert [float(value) for value in of_wit["value"]] == TABLE["wit"].tolist()
    assert made.judgments.loc[made.judgments["dimension"] == "tone", "value"].tolist() == [
        *("kind", "kind", "rude", "rude", "kind", "rude", "kind", "kind")
    ]
    assert any("Spellings treated as one label" in note for note in made.notes)


def test_a_cell_of_a_wide_export_is_named_by_its_row_and_column(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("ResponseId,Q1_wit,Q2_wit\nR_1,4,2\nR_2,3,7/10\nR_3,1,5\n")
    with pytest.raises(InputError, match="'7/10' in row 2 of column 'Q2_wit'"):
        read_qualtrics_ratings(path, Layout(ratings=["Q{item}_{dimension}"]))


IMPORT = "--value label --judge who --item item --all-people --format"
LABELS = "who,item,label\nann,a,None\nbob,a,None\nann,b,NA\nbob,b,None\nann,c,Hate\nbob,c,NA\n"


@pytest.mark.long
@pytest.mark.parametrize("out", ["labels.csv", "labels.parquet"])
def test_classes_that_look_like_nothing_come_back_in_both_formats(ran, refused, out):
    Path("people.csv").write_text(LABELS)
    problem = refused(f"import people.csv {IMPORT} csv --out {out}")
    assert "--missing" in problem
    assert "--levels" in problem
    ran(f"import people.csv {IMPORT} csv --levels None,Hate,NA --out {out}")
    expected = ["None", "None", "NA", "None", "Hate", "NA"]
    assert read_table(out, "judgments")["value"].astype(str).tolist() == expected
    assert load_judgments(out)["value"].astype(str).tolist() == expected
    printed = ran(f"import people.csv {IMPORT} csv --levels None,Hate --missing NA --out {out}")
    assert "2 cells 'NA' of column 'label' count as missing." in printed


@pytest.mark.long
def test_the_command_reads_workbooks_and_standard_input_selects_rows_and_allows_no_guess(
    ran, refused, monkeypatch
):
    TABLE.to_excel("t.xlsx", index=False)
    columns = "--value wit --judge rater --item item --all-people"
    ran(f"import t.xlsx --format excel {columns} --where rater=ann --exclude item=d --out t.parquet")
    assert read_table("t.parquet", "judgments")["value"].tolist() == [1, 3, 5]
    text = TABLE.to_csv(index=False, sep=";").encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    ran(f"import - --format csv {columns} --out s.parquet")
    assert read_table("s.parquet", "judgments")["value"].tolist() == TABLE["wit"].tolist()
    TABLE.to_csv("t.csv", index=False, sep=";")
    assert "--strict allows none" in refused(f"import t.csv --format csv {columns} --strict --out x.parquet")
    named = f"import t.csv --format csv {columns} --strict --delimiter ; --out t.parquet"
    ran(named)
    ran(f"import t.csv --format csv {columns} --value tone --relabel RUDE=kind --out t.parquet")
    tones = read_table("t.parquet", "judgments")
    assert set(tones.loc[tones["dimension"] == "tone", "value"]) == {"kind"}
    Path("t.json").write_text(json.dumps(TABLE.to_dict("records")))
    ran(f"import t.json --format json {columns} --out t.parquet")


@pytest.mark.parametrize("name", ["ResponseID", "responseId", "_recordId", "response_id"])
def test_ids_of_responses_have_several_names(ran, name):
    rows = "".join(f"2026-01-0{n + 1} 10:00:00,1,R_{n},{1 + n % 5},{1 + 2 * n % 5}\n" for n in range(5))
    Path("old.csv").write_text(f"StartDate,Finished,{name},Q1_wit,Q2_wit\n{rows}")
    command = "import old.csv --ratings 'Q{item}_{dimension}' --out judgments.parquet"
    assert f"Next: conjury {command}" in ran("read old.csv")
    ran(command)
    judgments = read_table("judgments.parquet", "judgments")
    assert set(judgments["judge_id"]) == {f"R_{n}" for n in range(5)}
    assert set(judgments["dimension"]) == {"wit"}
    assert len(judgments) == 10


@pytest.mark.slow
@pytest.mark.parametrize(("name", "measure"), [("t.dta", None), ("t.sav", "nominal"), ("t.sav", "ordinal")])
def test_labels_of_values_keep_the_order_of_the_values(ran, conjury, name, measure, tmp_path):
    draw = np.random.default_rng(1)
    first = draw.integers(1, 5, 60)
    second = np.clip(first + draw.integers(-1, 2, 60), 1, 4)
    frame = pd.DataFrame({"item": [f"t{n}" for n in range(60)], "r_ann": first * 1.0, "r_bob": second * 1.0})
    labels = dict(enumerate(("never", "rarely", "often", "always"), 1))
    of_columns = {"r_ann": labels, "r_bob": labels}
    if measure is None:
        pyreadstat.write_dta(frame, name, variable_value_labels=of_columns)
    else:
        measures = dict.fromkeys(of_columns, measure)
        pyreadstat.write_sav(frame, name, variable_value_labels=of_columns, variable_measure=measures)
    columns = "--format csv --ratings 'tone=r_{judge}' --item item --all-people"
    printed = " ".join(ran(f"import {name} {columns} --out j.parquet").split())
    assert "tone contains labels (never, rarely, often, always)" in printed
    assert ("--scale ordinal keeps that order" in printed) == (measure != "ordinal")
    ran(f"import {name} {columns} --scale ordinal --out k.parquet")
    dtype = pd.read_parquet("k.parquet")["value"].dtype
    assert dtype.ordered
    assert dtype.categories.tolist() == list(labels.values())
    weighted = quadratic_kappa(first, second)
    for command in ("agreement k.parquet", f"agreement {name} --raters r_ann,r_bob --scale ordinal"):
        ended = conjury(f"{command} --coefficient cohen --draws 0 --results r --json", cwd=tmp_path)
        out = json.loads(ended.out)
        (row,) = [row for rows in out["estimates"].values() for row in rows if row["weights"] == "quadratic"]
        assert row["estimate"] == pytest.approx(weighted)
        shutil.rmtree("r")


def quadratic_kappa(first: np.ndarray, second: np.ndarray) -> float:
    """Cohen's kappa with quadratic weights, from its definition."""
    expected = ((first[:, None] - second[None, :]) ** 2).mean()
    return float(1 - ((first - second) ** 2).mean() / expected)


def test_columns_of_judges_are_those_of_any_table(tmp_path: Path, conjury: Callable[..., Any]):
    (tmp_path / "wide.csv").write_text("item,wit_ann,wit_gpt\na,1,2\nb,3,3\n")
    command = "import wide.csv --ratings {dimension}_{judge} --item item --models gpt --out out.csv"
    assert conjury(command, cwd=tmp_path).code == 0
    kinds = pd.read_csv(tmp_path / "out.csv").groupby("judge_id")["judge_kind"].first()
    assert kinds.to_dict() == {"ann": "human", "gpt": "model"}
