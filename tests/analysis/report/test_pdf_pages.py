"""PDF reports, page by page: nothing overlaps, no row is lost, no figure is cropped."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up import label_results as made
from made_up.results import amce_frame, write_results
from typst_pages import corners, mark_corners, missing_cells, outside, overlapping, typeset, words

from conjury.analysis.figures.labels import ColumnNames, LevelLabels
from conjury.analysis.figures.theme import LIGHT, new_figure, styled
from conjury.analysis.pipeline.manifest import entry_of
from conjury.analysis.pipeline.runner import NamedResult, tables_of
from conjury.analysis.raters import Result
from conjury.analysis.report.blocks import captioned, table_blocks
from conjury.analysis.report.document import assemble, execute, read_source, set_parameter
from conjury.analysis.report.exhibits.labels.cards_exhibit import cards_markdown
from conjury.analysis.report.page_drawings import picture, put_on_page
from conjury.analysis.report.table_format import NO_BREAK, estimates_table, interval, number, styled_table
from conjury.inference.tables import write_table
from conjury.inference.tables.files import QUARTO

pytestmark = pytest.mark.pdf
pytest.importorskip("pypandoc", reason="pandoc's wheel is missing (make test-pdf)")
pytest.importorskip("typst", reason="typst's wheel is missing (make test-pdf)")
pytest.importorskip("pypdfium2", reason="pypdfium2 is missing (make test-pdf)")


JUDGES = [
    "Gemini 2.5 Pro", "GPT-4.1", "Claude Sonnet 4", "Qwen3-235B-A22B-Thinking", "Mistral Medium 3",
    "SmolLM2 135M, Same rule for all", "DeepSeek-Reasoner", "Aya-Vision",
]  # fmt: skip
LONG_CAPTION = "A caption of several lines that says what points, lines and colours stand for. " * 6


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
    _, cells = read_source(folder / f"{report}.qmd")
    text = assemble(execute(set_parameter(cells, "results", str(results)), folder))
    return Source(folder, text, mark_corners(folder / ".quarto" / "conjury-figures"))


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


def test_without_the_header_of_the_project_file_pages_are_not_sound(strained: Source) -> None:
    pdf = typeset(strained.folder, strained.markdown, header=False)
    assert len(overlapping(words(pdf))) > 100


@pytest.mark.parametrize("report", ["moderation", "benchmark"])
def test_the_pages_of_a_report_are_sound(report: str, tmp_path: Path) -> None:
    make = {"moderation": many_judges, "benchmark": benchmark_folder}[report]
    assert_sound(executed(report, make(tmp_path / "results"), tmp_path / "quarto"))


def cell(random: np.random.Generator) -> str:
    estimate = random.normal(0, 0.4)
    return f"{number(estimate)}***{NO_BREAK}{interval(estimate - 0.1, estimate + 0.1)}"


def long_table(n_rows: int = 100) -> pd.DataFrame:
    random = np.random.default_rng(1)
    rows = [
        {
            "group": f"Language {k // 25}",
            "Judge": JUDGES[k % len(JUDGES)],
            "Label": f"Row {k}: establishing context",
            "Precision": cell(random),
            "Ratio": cell(random),
        }
        for k in range(n_rows)
    ]
    return pd.DataFrame(rows)


def wide_table(n_rows: int = 12) -> pd.DataFrame:
    random = np.random.default_rng(2)
    rows = [
        {"Coefficient": f"Krippendorff's alpha, interval, {k}"} | {judge: cell(random) for judge in JUDGES}
        for k in range(n_rows)
    ]
    return pd.DataFrame(rows)


def long_words() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "File": ["choices: " + "very_long_name_of_a_file_without_a_place_to_break" * 2, "b.parquet"],
            "SHA-256": ["0f" * 32, "a1" * 32],
            "What was found": ["Levels vary between respondents by more than chance allows. " * 8, "None"],
        }
    )


def strain() -> str:
    """Tables and figures beyond the page, as Markdown; figures are written below the working directory."""
    parts = ["## Tables {#sec-tables}\n\nSee @tbl-long, @tbl-wide, @fig-tall and @sec-cards."]
    parts.append(table_blocks("long", [styled_table(long_table(), groups="group", n_left=2)], "Long."))
    parts.append(table_blocks("wide", [styled_table(wide_table(), note="A note.")], "Wide."))
    parts.append(table_blocks("words", [styled_table(long_words(), n_left=3)], "Long words."))
    judges = {judge: [""] for judge in JUDGES[:6]}
    estimates = estimates_table(amce_frame(judges), LevelLabels({}))
    parts.append(table_blocks("estimates", [estimates], "Six judges."))
    for name, width, height in (("tall", 7.2, 9.6), ("taller", 5.0, 14.0), ("small", 3.0, 2.0)):
        with styled(LIGHT):
            figure = new_figure(width, height)
            figure.subplots().plot([0, 1])
        parts.append(
            captioned(f"fig-{name}", picture(*put_on_page(figure, f"strain-{name}"), "A line."), LONG_CAPTION)
        )
    parts.append("## Cards {#sec-cards}\n\n" + cards())
    return "\n\n".join(parts)


def cards() -> str:
    line = {"card": 0, "task": "line", "reason": "hard", "item_id": "m01", "media": None}
    texts = {"text": "A man walks in.\nHe sits down.\n\nNobody laughs.", "gold": "1 setup\n2 setup\n3 timing"}
    rows = [
        line | texts | {"judge": judge, "prompt": "", "status": "ok"}
        | {"answer": "1 setup\n2 timing\n3 timing", "raw": "Line 1: setup\n  Line 2: timing"}
        for judge in made.FEW
    ]  # fmt: skip
    return cards_markdown(Result(pd.DataFrame(rows), "cards"), ColumnNames(made.WORDS))


def benchmark_folder(folder: Path) -> Path:
    """A results folder of a benchmark of seven judges and thirteen labels."""
    results = {
        "readings": made.readings(),
        "scores": made.scores(by=(), judges=made.JUDGES),
        "scores_language": made.scores(judges=made.JUDGES),
        "differences": made.differences(made.JUDGES),
        "passes": made.passes(),
        "robustness": made.robustness(),
        "confusion": made.confusion(),
        "by_label": made.by_label(),
    }
    records = []
    for name, result in results.items():
        for table, frame in tables_of(NamedResult(name, name, result)).items():
            write_table(frame, folder / "tables" / f"{table}.parquet")
        records.append(entry_of(NamedResult(name, f"Title of {name}", result, 0.1)))
    judges = {
        name: str(text) for (_, name), text in ((k, v) for k, v in made.WORDS.items() if k[0] == "judges")
    }
    manifest = {"format": 2, "conjury": "0", "study": "multiturn", "title": "Jokes",
                "created": "2026-01-01T00:00:00+00:00",
                "labels": {"judges": judges, "levels": {}, "features": {}}, "results": records,
                "data": [], "notes": [], "files": []}  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def many_judges(folder: Path) -> Path:
    """A results folder of a conjoint whose effects are those of eight judges."""
    write_results(folder)
    amce_frame({judge: [""] for judge in JUDGES}).to_parquet(folder / "tables" / "amce.parquet")
    return folder


def test_lines_of_cards_stay_lines(strained: Source) -> None:
    found = words(typeset(strained.folder, strained.markdown))
    at = {word.text: word.box[1] for word in found if word.text in ("walks", "sits", "Nobody")}
    assert at["walks"] > at["sits"] + 5 > at["Nobody"] + 10
