"""Tables and figures of results as papers print them."""

from __future__ import annotations

import re
import sys

import numpy as np
import pandas as pd
import pytest
from made_up.figures import example
from made_up.results import LEVEL_WITH_MARKUP, amce_frame
from matplotlib.text import Text

from conjury.analysis import figures
from conjury.analysis.figures.labels import words
from conjury.analysis.figures.theme import SMALLEST, sized
from conjury.analysis.report.paper import PaperTable, tables_of_folder, tables_of_result
from conjury.analysis.report.paper.document_writing import (
    grid_of,
    latex_escaped,
    to_latex,
    to_markdown,
    write_tables,
)
from conjury.analysis.report.table_format import interval, stars
from conjury.analysis.results import Result
from conjury.inference.errors import InputError, MissingDependency

ONE = amce_frame({"human": [""]}).drop(columns=["judge", "prompt", "variant"])
SHORT = ONE[[name for name in ONE if not name.startswith("boot_")]]

PANDOC = """#!{python}
import sys
said = dict(word.split("=") for word in sys.argv if "=" in word)
open(said["--output"], "w").write(sys.stdin.read()) if "--output" in said else print('{"t": "Image"}')
"""


@pytest.fixture(scope="module")
def laid(results) -> list[PaperTable]:
    return tables_of_folder(results)


def test_cells_of_a_table_are_the_numbers_of_its_result() -> None:
    (table,) = tables_of_result(Result(SHORT, "amce"))
    rows = {row[0]: row[1:] for row in grid_of(table.html).rows if len(row) > 1}
    tested = SHORT.dropna(subset="std_error")
    assert len(tested) == 6
    for one in tested.itertuples():
        label = (
            str(one.level).replace("_", " ").capitalize().replace("black", "Black").replace("white", "White")
        )
        assert rows[label][:3] == [
            f"{100 * one.estimate:+.1f}".replace("-", "\N{MINUS SIGN}"), f"{100 * one.std_error:.2f}",
            interval(100 * one.lower, 100 * one.upper, 1),
        ]  # fmt: skip


def test_a_row_is_stated_as_a_sentence_and_named_by_its_number_or_its_columns() -> None:
    keys = {"outcome": "chosen", "statistic": "amce", "feature": "size", "level": ["small", "very_large"]}
    numbers = {"estimate": [0.0, 0.123], "p": [None, 0.0004], "lower": [None, 0.066], "upper": [None, 0.18]}
    frame = pd.DataFrame({**keys, **numbers, "std_error": [None, 0.03]})
    result = Result(frame, "amce", settings={"n_used": 80})
    effect = "Average marginal component effect, Size: "
    stated = "+12.3 percentage points (95% CI 6.6 to 18.0, p < 0.001, N = 80 profiles)."
    assert result.sentence(level="very_large") == f"{effect}Very large rather than Small: {stated}"
    assert result.sentence(0) == f"{effect}Small: this is the reference."
    for columns, problem in (
        ({"level": "smal"}, "mean 'small'"),
        ({"leve": 1}, "mean 'level'"),
        ({}, "2 rows"),
    ):
        with pytest.raises(InputError, match=problem):
            result.sentence(**columns)


def test_stars_are_off_unless_asked_for_and_then_explained() -> None:
    result = Result(SHORT, "amce")
    assert "*" not in "".join(cell for row in grid_of(tables_of_result(result)[0].html).rows for cell in row)
    grid = grid_of(tables_of_result(result, stars=True)[0].html)
    marked = [row[1] for row in grid.rows if len(row) > 1 and row[1].endswith("***")]
    assert len(marked) == int((SHORT["p"].where(SHORT["std_error"].notna()) < 0.001).sum())
    assert any("* p < 0.05" in note for note in grid.notes)
    assert stars(0.0001) == ""


@pytest.mark.long
def test_without_stars_every_series_has_an_interval() -> None:
    frame = amce_frame({f"judge_{k}": [""] for k in range(5)})
    plain = tables_of_result(Result(frame, "amce"))
    assert [table.name for table in plain] == ["amce_1", "amce_2"]
    cells = [cell for table in plain for row in grid_of(table.html).rows for cell in row[1:]]
    assert all("[" in cell or cell == "reference" for cell in cells)
    assert len(tables_of_result(Result(frame, "amce"), stars=True)) == 1


def test_latex_has_caption_label_and_no_letters_that_it_cannot_set() -> None:
    text = Result(SHORT, "amce").to_latex(title="Effects of 50% & more")
    for part in (r"\caption{Effects of 50\% \& more", r"\label{tab:amce}", r"\toprule", r"\bottomrule"):
        assert part in text
    assert not [letter for letter in text if ord(letter) > 127]
    assert text.count("{") == text.count("}")
    assert re.search(r"& \$-\$\d\.\d &", text)


@pytest.mark.long
def test_text_of_studies_cannot_act_in_any_format(laid: list[PaperTable]) -> None:
    tables = [table for table in laid if table.name == "amce"]
    assert LEVEL_WITH_MARKUP in latex_back(to_latex(tables))
    assert "<script>" not in to_markdown(tables)
    assert all("<script>" not in table.html for table in tables)


def latex_back(text: str) -> str:
    return text.replace(r"\textless{}", "<").replace(r"\textgreater{}", ">").replace(r"\_", "_")


def test_letters_that_act_in_latex_are_escaped() -> None:
    assert latex_escaped("\\a{b}_$&#%^~<>") == (
        r"\textbackslash{}a\{b\}\_\$\&\#\%\textasciicircum{}\textasciitilde{}\textless{}\textgreater{}"
    )


def test_word_is_written_by_any_pandoc_and_says_how_to_get_one(laid, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pypandoc", None)
    program = tmp_path / "pandoc"
    program.write_text(PANDOC.replace("{python}", sys.executable), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert write_tables(laid[:1], "word", tmp_path)[0].read_text(encoding="utf-8") == '{"t": "Link"}'
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingDependency, match=r"pip install 'conjury\[pdf\]'"):
        write_tables(laid[:1], "word", tmp_path)


def test_a_result_without_exhibit_is_shown_as_it_is() -> None:
    frame = pd.DataFrame({"judge": ["gpt_4"], "score": [0.5], "n": [1200]})
    result = Result(frame, "of_my_own", ("One judge was excluded.",))
    text = result.to_markdown()
    assert "| Judge | Score | N |" in text
    assert "0.500 | 1,200" in text
    assert text.rstrip().endswith("One judge was excluded.")
    assert "1,200" in result._repr_html_()


def test_a_printed_result_is_a_table_for_people() -> None:
    lines = str(Result(SHORT, "amce")).splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("Level "))
    ends = {len(line) for line in lines[head:] if line.count("  ") > 3 and "reference" not in line}
    assert len(ends) == 1
    estimated = SHORT[SHORT["std_error"].notna()]
    for level, value in zip(estimated["level"], estimated["estimate"], strict=True):
        printed = next(line for line in lines if line.startswith(f"  {words(level)} "))
        assert f"{100 * value:+.1f}".replace("-", "\N{MINUS SIGN}") in printed.split()
    assert "NaN" not in "".join(lines)
    assert "NaN" in repr(Result(SHORT, "amce"))
    sized_lines = str(Result(SHORT, "amce", settings={"n_rows": 1_800, "n_used": 1_762})).splitlines()
    assert "N = 1,762 profiles, without 38 of 1,800 rows that lack an outcome" in sized_lines[-1]
    sizes = {
        "n_rows": 90,
        "n_used": 80,
        "n_respondents": 30,
        "n_clusters": 40,
        "id": "judge_id",
        "by": ["party"],
    }
    sentence = str(Result(SHORT, "amce", settings=sizes)).splitlines()[-1]
    assert "a level, a group or a weight" in sentence
    assert "(40 clusters, 10 of them without any of these choices)" in sentence


def test_of_a_long_result_the_first_rows_are_printed() -> None:
    long = Result(pd.DataFrame({"score": np.arange(500) / 1000}), "of_my_own")
    printed = str(long)
    assert "0.059" in printed
    assert "0.060" not in printed
    assert "440 more rows; all are in `.frame`." in printed


def test_a_result_is_printed_also_where_tables_cannot_be_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bs4", None)
    result = Result(SHORT, "amce")
    assert str(result) == repr(result)


def test_degenerate_tables_are_laid_out() -> None:
    one = SHORT.head(1)
    assert "reference" in Result(one, "amce").to_markdown()
    missing = SHORT.assign(estimate=np.nan, std_error=np.nan, lower=np.nan, upper=np.nan, p=np.nan)
    assert Result(missing, "amce").to_latex().count(r"\\") > 5
    with pytest.raises(InputError, match="There is no table 2; the result has 1"):
        Result(SHORT, "amce").table(part=2)


@pytest.mark.parametrize("size", ["single", pytest.param("double", marks=pytest.mark.long)])
def test_figures_have_the_width_of_a_column_and_readable_type(size: str) -> None:
    figure = example("amce").result.plot(size=size)
    assert figure.get_size_inches()[0] * 25.4 == pytest.approx({"single": 85, "double": 180}[size])
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(sizes) >= SMALLEST


def test_a_figure_that_does_not_fit_is_refused_with_the_remedy() -> None:
    shown = example("plan")
    with pytest.raises(InputError, match=r"does not fit a width of 85 mm .* two columns"):
        figures.draw(shown.result, size="single", **shown.options)
    with pytest.raises(InputError, match="no figure size 'triple'"), sized("triple"):
        pass
