"""Tables and figures of papers: shapes, published numbers to the digit, verdicts, layouts that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import FIXTURES, cases
from shared_folder import SHARED

from conjury.analysis.report.paper.document_writing import grid_of, to_latex, to_markdown
from conjury.analysis.report.replication import Replication, read_layout, replicate
from conjury.analysis.report.replication.joined_numbers import CellNumber
from conjury.inference.errors import InputError
from conjury.inference.tables.files import REPLICATIONS, shipped_names

STUDIES = ("harm_or_humor", "moderation", "multiturn", "oogiri")
SMALL = (FIXTURES / "pages/layout.yaml").read_text(encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    rows = "judge,dimension,mean,sd\nann,fun,1.25,0.5\nbob,fun,1.5,1\nann,wit,2.00,0.25\n"
    (tmp_path / "scores.csv").write_text(rows, encoding="utf-8")
    return tmp_path


def cells(replication: Replication, table: int = 0) -> list[list[str]]:
    tables = [made for exhibit in replication.exhibits for made in exhibit.tables]
    return grid_of(tables[table].html).rows


@pytest.mark.long
def test_every_study_with_published_numbers_has_a_layout() -> None:
    assert tuple(shipped_names(REPLICATIONS)) == STUDIES
    for name in STUDIES:
        layout = read_layout(name)
        assert layout.study == name
        names = [exhibit.name for exhibit in layout.exhibits]
        assert len(set(names)) == len(names)
    (figure,) = replicate("harm_or_humor", only=["Figure 2"]).exhibits[0].figures
    assert len(figure.draw().axes) == 6 * 4  # clips and frames


@pytest.mark.long
@pytest.mark.parametrize(("study", "n"), [("harm_or_humor", 268), ("oogiri", 1152 + 324 + 30 + 18)])
def test_all_published_numbers_stand_in_a_table(study: str, n: int) -> None:
    numbers = replicate(study).numbers
    assert numbers["printed"].notna().sum() == n


def test_a_table_has_the_shape_digits_and_marks_of_its_layout(small: Path) -> None:
    made = replicate("oogiri", layout=small / "small.yaml", published=small)
    bold = "\ue0001.5\ue001 (1)"  # as many digits as were published
    assert [row[1] for row in cells(made)] == ["1.25 (0.5)", bold, "\N{EN DASH}"]
    assert [row[2] for row in cells(made)] == ["2.00 (0.2)", "\N{EN DASH}", "\N{EN DASH}"]


@pytest.mark.long
def test_columns_are_grouped_the_best_of_each_is_bold_and_stars_are_those_published() -> None:
    made = replicate("harm_or_humor", only=["Table 4"])
    rows = cells(made)
    assert [row[0] for row in rows if len(row) == 1] == [
        "Closed-source models",
        "Open-source models",
        "Arabic-specific models",
    ]
    best = {row[0]: sum("\ue000" in cell for cell in row) for row in rows if len(row) > 1}
    assert best["GPT-5.2"] == 4
    assert best["ALLaM-7B-Instruct"] == 4
    table = made.exhibits[0].tables[0]
    assert r"\textbf{90.3}" in to_latex([table])
    assert "**90.3**" in to_markdown([table])
    rows = cells(replicate("oogiri", only=["Table 8"]))
    assert rows[0][1] == "0.474*"
    assert rows[-1][-2:] == ["\N{MINUS SIGN}0.10", "\N{MINUS SIGN}0.027"]  # two digits, as printed


@pytest.mark.parametrize(
    ("printed", "ours", "step", "verdict"),
    [
        (0.5, 0.5004, 0.001, "equal"),
        (0.5, 0.5009, 0.001, "within rounding"),
        (0.5, 0.502, 0.001, "different"),
        (0.5, 0.4995, 0.001, "equal"),
        (np.nan, 0.5, 0.001, "not compared"),
        (0.5, np.nan, 0.001, "not compared"),
    ],
)
def test_numbers_are_equal_if_they_round_to_the_published_one(
    printed: float, ours: float, step: float, verdict: str
) -> None:
    assert CellNumber(printed, ours, step=step).verdict == verdict


@pytest.mark.parametrize(("before", "after", "message"), cases(__file__, "layouts_that_do_not_fit"))
def test_a_layout_that_does_not_fit_is_refused_with_its_line(
    small: Path, before: str, after: str, message: str
) -> None:
    (small / "small.yaml").write_text(SMALL.replace(before, after), encoding="utf-8")
    with pytest.raises(InputError, match=message) as refused:
        replicate("oogiri", layout=small / "small.yaml", published=small)
    assert "small.yaml:" in str(refused.value)


def test_a_cell_that_is_no_number_and_a_folder_without_any_are_named(small: Path) -> None:
    (small / "scores.csv").write_text("judge,dimension,mean,sd\nann,fun,high,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"scores\.csv: 'high' of ann, fun, mean"):
        replicate("oogiri", layout=small / "small.yaml", published=small)
    with pytest.raises(InputError, match="has no published numbers of oogiri"):
        replicate("oogiri", published=small)


@pytest.mark.shared
@pytest.mark.long
@pytest.mark.parametrize("study", STUDIES)
def test_numbers_of_the_shared_folder_give_the_same_tables(study: str) -> None:
    """Its files have other names of columns and values than those that ship."""
    ours, theirs = replicate(study), replicate(study, published=SHARED / "published")
    keys = ["exhibit", "row", "column", "quantity"]
    both = ours.numbers.merge(theirs.numbers, on=keys, suffixes=("", "_theirs"), how="outer")
    both = both[~both["exhibit"].isin(["Table A1", "Appendix A.3"])]  # not in the shared folder
    pd.testing.assert_series_equal(both["printed"], both["printed_theirs"], check_names=False)
    assert len(both) > 200
