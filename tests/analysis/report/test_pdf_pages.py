"""PDF reports, page by page: nothing overlaps, no row is lost, no figure is cropped."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from made_up_pages import benchmark_folder, many_judges, strain
from typst_pages import corners, mark_corners, missing_cells, outside, overlapping, typeset, words

from conjury.analysis.report.render import assemble, execute, read_source, set_parameter
from conjury.inference.tables.files import QUARTO

pytestmark = pytest.mark.pdf
pytest.importorskip("pypandoc", reason="pandoc's wheel is missing (make test-pdf)")
pytest.importorskip("typst", reason="typst's wheel is missing (make test-pdf)")
pytest.importorskip("pypdfium2", reason="pypdfium2 is missing (make test-pdf)")


@dataclass(frozen=True)
class Source:
    folder: Path
    markdown: str
    n_corners: int


@pytest.fixture(scope="module")
def strained(tmp_path_factory: pytest.TempPathFactory) -> Source:
    folder = tmp_path_factory.mktemp("strained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("QUARTO_PROJECT_ROOT", str(folder))
        markdown = strain()
    return Source(folder, markdown, mark_corners(folder / ".quarto" / "conjury-figures"))


def executed(report: str, results: Path, folder: Path) -> Source:
    """The Markdown of a report whose cells have run, with its figures."""
    shutil.copytree(QUARTO, folder)
    _, notebook = read_source(folder / f"{report}.qmd")
    set_parameter(notebook, "results", str(results))
    execute(notebook, folder)
    return Source(folder, assemble(notebook), mark_corners(folder / ".quarto" / "conjury-figures"))


def assert_sound(source: Source) -> None:
    pdf = typeset(source.folder, source.markdown)
    found = words(pdf)
    assert overlapping(found) == []
    assert outside(pdf, found) == []
    assert not missing_cells(source.markdown, found)
    assert corners(pdf) == source.n_corners


def test_long_and_wide_tables_and_tall_figures_keep_to_their_pages(strained: Source) -> None:
    assert_sound(strained)


def test_heads_of_tables_are_repeated_on_every_page(strained: Source) -> None:
    found = words(typeset(strained.folder, strained.markdown))
    rows = {word.page for word in found if word.text == "establishing"}
    assert len(rows) > 1
    assert {word.page for word in found if word.text == "Precision"} == rows


def test_lines_of_cards_stay_lines(strained: Source) -> None:
    found = words(typeset(strained.folder, strained.markdown))
    at = {word.text: word.box[1] for word in found if word.text in ("walks", "sits", "Nobody")}
    assert at["walks"] > at["sits"] + 5 > at["Nobody"] + 10


def test_without_the_header_of_the_project_file_pages_are_not_sound(strained: Source) -> None:
    pdf = typeset(strained.folder, strained.markdown, header=False)
    assert len(overlapping(words(pdf))) > 100


@pytest.mark.parametrize("report", ["moderation", "benchmark"])
def test_the_pages_of_a_report_are_sound(report: str, tmp_path: Path) -> None:
    make = {"moderation": many_judges, "benchmark": benchmark_folder}[report]
    assert_sound(executed(report, make(tmp_path / "results"), tmp_path / "quarto"))
