"""Reports show the drawings that are kept with results, while these are the same."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pandas as pd
import pytest
from cases import cases
from made_up.results import write_simulated_results

from conjury.analysis.figures.theme import LIGHT, new_figure, save, styled
from conjury.analysis.report import Report, exhibited_results
from conjury.analysis.report.page_drawings import has_shapes_only
from conjury.cli.printing import draw_figures


@pytest.fixture
def drawn(copy: Path) -> Path:
    """Results with a drawing of two inches in place of one figure."""
    report = Report(copy)
    assert "mm" in dict(report.figures())
    with styled(LIGHT):
        figure = new_figure(2, 1)
        save(figure, copy / "figures" / "mm", formats=("svg",))
        report.keep_drawing("mm", figure)
    return copy


def shown(results: Path, *kinds: str) -> str:
    """What a report on results prints, with its drawings."""
    with redirect_stdout(printed := io.StringIO()):
        Report(results).show(*kinds)
    return printed.getvalue()


def refuse_to_draw(*_: object, **__: object) -> None:
    raise AssertionError("a figure was drawn again")


@pytest.mark.long
def test_a_report_shows_the_drawing_that_was_kept_and_draws_none(drawn: Path, monkeypatch) -> None:
    monkeypatch.setattr(exhibited_results, "draw", refuse_to_draw)
    text = shown(drawn, "mm")
    assert '<div class="drawing" style="width: 192px">' in text
    assert "aria-label" in text
    assert 'aria-label=""' not in text
    copied = Path(text.partition("![](")[2].partition(")")[0])
    assert copied.read_bytes() == (drawn / "figures" / "mm.svg").read_bytes()


@pytest.mark.parametrize(
    "changed",
    ["table", "script", *(pytest.param(c, marks=pytest.mark.long) for c in ("labels", "figure", "broken"))],
)
def test_what_was_drawn_of_other_results_or_acts_on_a_page_is_drawn_again(
    drawn: Path, monkeypatch, changed: str
) -> None:
    kept, manifest = drawn / "figures" / "mm.drawing.json", drawn / "manifest.json"
    if changed == "table":
        file = drawn / "tables" / "mm.parquet"
        table = pd.read_parquet(file)
        table.assign(estimate=table["estimate"] + 0.001).to_parquet(file)
    elif changed == "labels":
        record = json.loads(manifest.read_text(encoding="utf-8"))
        record["labels"]["judges"] = {"human": "Somebody"}
        manifest.write_text(json.dumps(record), encoding="utf-8")
    elif changed == "figure":
        (drawn / "figures" / "mm.svg").write_text("<svg/>", encoding="utf-8")
    elif changed == "script":
        content = json.loads(kept.read_text(encoding="utf-8"))
        content["svg"] = content["svg"].replace("</svg>", "<script>alert(1)</script></svg>")
        kept.write_text(json.dumps(content), encoding="utf-8")
    else:
        kept.write_text("{", encoding="utf-8")
    monkeypatch.setattr(exhibited_results, "draw", refuse_to_draw)
    with pytest.raises(AssertionError, match="drawn again"):
        shown(drawn, "mm")


@pytest.mark.parametrize("content", cases(__file__, "no drawing"))
def test_drawings_have_shapes_and_text_alone(content: str) -> None:
    assert has_shapes_only('<svg><g clip-path="url(#a)" style="fill: var(--figure-0)"/></svg>')
    assert not has_shapes_only(f"<svg>{content}</svg>")


@pytest.mark.long
def test_figures_of_a_command_are_those_of_its_report(copy: Path, monkeypatch) -> None:
    assert not draw_figures(copy, "fit", quiet=True)
    before = {path.name.partition(".")[0] for path in copy.glob("figures/*.svg")}
    assert before == {path.name.partition(".")[0] for path in copy.glob("figures/*.drawing.json")}
    monkeypatch.setattr(exhibited_results, "draw", refuse_to_draw)
    for kind in ("amce", "mm", "cj_freqs"):
        assert "<svg" in shown(copy, kind)


def test_drawings_of_simulated_data_say_so_and_others_do_not(tmp_path: Path, results: Path) -> None:
    for folder, words in (
        (write_simulated_results(tmp_path / "simulated"), {"Simulated data"}),
        (results, set()),
    ):
        _, function = next(iter(Report(folder).figures()))
        texts = {text.get_text() for text in function().texts}
        assert {text for text in texts if "imulated" in text} == words
