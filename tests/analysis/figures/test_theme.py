"""Colours, saving, and text that fits its room."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from drawn import row_labels
from made_up.figures import example
from matplotlib import rcParams
from matplotlib.figure import Figure

from conjury.analysis.figures import alt as describe
from conjury.analysis.figures import draw, save, save_variants
from conjury.analysis.figures.figure_layout import inches, wrap
from conjury.analysis.figures.figure_registry import FigureStyle
from conjury.analysis.figures.inline import drawing_styles, inline_figure
from conjury.analysis.figures.interval_dots import levels
from conjury.analysis.figures.journal import fit_to_width
from conjury.analysis.figures.labels import (
    ColumnNames,
    LevelLabels,
    resolve_labels,
    rows_of_one_prompt,
    series_labels,
)
from conjury.analysis.figures.theme import DARK, LIGHT, MARKERS, add_mark, colors_of, new_figure, styled
from conjury.analysis.results import Result
from conjury.inference.errors import InputError
from conjury.inference.study import load_any_study, load_study


def figure_of(name: str = "engines", **options: object) -> Figure:
    return draw(example(name).result, **options)  # type: ignore[arg-type]


def luminance(color: str) -> float:
    channels = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_colours_contrast_with_the_background_and_none_are_alike(theme) -> None:
    assert contrast(theme.foreground, theme.background) > 12
    assert contrast(theme.muted, theme.background) > 4.5
    assert min(contrast(color, theme.background) for color in theme.palette) > 2.8
    assert len(set(colors_of(theme))) == len(colors_of(theme))
    n_series = len(MARKERS) * len(theme.palette)
    assert len({(theme.color(k), theme.marker(k)) for k in range(n_series)}) == n_series


def test_drawing_changes_no_global_settings_and_unknown_themes_and_formats_are_refused(tmp_path) -> None:
    before = dict(rcParams)
    figure = figure_of(theme="dark")
    assert dict(rcParams) == before
    with pytest.raises(InputError, match="no figure theme 'sepia'"):
        figure_of(theme="sepia")
    with pytest.raises(InputError, match="saved as 'bmp'"):
        save(figure, tmp_path / "plot", formats=("bmp",))


def test_saved_figures_can_be_printed(tmp_path: Path) -> None:
    from PIL import Image

    with styled(LIGHT):
        figure = new_figure(3.0, 2.0)
        figure.subplots().set_title("A title")
    png, pdf = save(figure, tmp_path / "figure", formats=("png", "pdf"))
    assert Image.open(png).size == (900, 600)
    assert b"/Type3" not in pdf.read_bytes()
    assert b"/CIDFontType2" in pdf.read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "engines",
        "agreement, pairs",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("position_share", "plan")),
    ],
)
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, name: str) -> None:
    for run in ("one", "two"):
        save(figure_of(name, **example(name).options), tmp_path / run, formats=("svg",))
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_a_failed_save_keeps_the_old_file_and_leaves_no_other(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "plot.svg").write_text("old")
    figure = figure_of()
    monkeypatch.setattr(figure, "savefig", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(figure, tmp_path / "plot", formats=("svg",))
    assert [path.name for path in tmp_path.iterdir()] == ["plot.svg"]
    assert (tmp_path / "plot.svg").read_text() == "old"


def test_dollar_signs_in_labels_are_text_and_not_mathematics(tmp_path: Path) -> None:
    labels = {"human": "costs $5 or $\\frac$"}
    figure = figure_of("position_share", labels=labels)
    assert save(figure, tmp_path / "plot", formats=("svg",))[0].stat().st_size > 1000


@pytest.mark.long
def test_the_dark_variant_is_what_drawing_in_the_dark_gives(tmp_path: Path) -> None:
    (drawn,) = save(figure_of(theme="dark"), tmp_path / "drawn", formats=("svg",))
    exchanged = save_variants(figure_of(), tmp_path / "variants")["dark"]
    without_ids = [re.sub(r"m[0-9a-f]{10}", "", path.read_text()) for path in (drawn, exchanged)]
    assert without_ids[0] == without_ids[1]


@pytest.mark.long
def test_drawings_inside_a_page_take_its_colours_and_share_no_names() -> None:
    names: list[str] = []
    drawn = []
    for name in ("design_shares", "engines"):
        svg = inline_figure(figure_of(name), name, 'It says "more" & <less>.')
        root = ElementTree.fromstring(svg)
        assert root.attrib["aria-label"] == 'It says "more" & <less>.'
        assert "width" not in root.attrib
        own = [part.attrib["id"] for part in root.iter() if "id" in part.attrib]
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg)) <= set(own)
        assert not [color for color in colors_of(LIGHT) if color in svg]
        assert "<metadata>" not in svg
        assert "<style" not in svg
        names += own
        drawn.append(svg)
    assert len(names) == len(set(names))
    known = set(re.findall(r"--figure-\d+", drawing_styles()))
    assert set(re.findall(r"--figure-\d+", "".join(drawn))) <= known
    assert drawing_styles().count(DARK.background) == 1
    assert drawing_styles().count("@font-face") == 2


@pytest.mark.parametrize(
    "text",
    [
        "w" * 60,
        "word " * 12,
        "one/two/three/four/five/six/seven/eight/nine",
        "City \u2013 downtown, with offices/apartments and shops (n = 1,047)",
        "",
    ],
)
@pytest.mark.parametrize("width", [0.8, 2.6])
def test_lines_fit_their_width_and_keep_every_word(text: str, width: float) -> None:
    broken = wrap(text, width)
    assert inches(broken) <= width
    assert broken.replace("\n", "").replace(" ", "") == text.replace(" ", "")
    assert "(n = 1,047)" in wrap("City \u2013 downtown, with offices/apartments and shops (n = 1,047)", 1.6)


def test_series_are_named_by_the_columns_that_distinguish_them_and_judges_have_one_prompt() -> None:
    frame = pd.DataFrame({"judge": ["human", "x"], "prompt": ["", "baseline"], "engine": "native"})
    assert set(series_labels(frame)) == {"human", "x"}
    rows = [("human", ""), ("a", "context"), ("a", "baseline"), ("b", "context"), ("b", "other")]
    kept = rows_of_one_prompt(pd.DataFrame(rows, columns=["judge", "prompt"]))
    assert kept.to_numpy().tolist() == [["human", ""], ["a", "baseline"], ["b", "context"]]


def test_a_judge_has_one_colour_and_one_name_in_all_figures() -> None:
    place = ColumnNames(None).place
    assert place("human", ["gpt", "human"]) == 0
    assert [place(name, ["human", "gpt", "gemini"]) for name in ("gpt", "gemini")] == [1, 2]
    assert place("one person", ["human", "one person", "gpt"]) == 2
    place = ColumnNames({("judges", name): name for name in ("gpt", "gemini", "claude", "human")}).place
    for shown in (["claude"], ["claude", "gpt"], ["human", "gemini", "claude"]):
        assert place("claude", shown) == 3
    assert place("new", ["new", "gpt"]) == 4
    names = ColumnNames({("judges", "m"): "Model M", ("judges", "human"): "Readers"})
    labelled = ["Model M", "Readers"]
    assert [names.place(name, labelled) for name in ("m", "Model M", "human", "Readers")] == [1, 1, 0, 0]
    names = ColumnNames({("judges", "m"): "Model M"})
    assert {names.of(column, "m") for column in ("judge", "group", "judges")} == {"Model M"}
    assert names.of("judge", "human") == "People"
    assert ColumnNames({("judges", "human"): "Readers"}).of("group", "human") == "Readers"


def test_labels_of_a_study_are_used_where_the_study_is_given() -> None:
    study = load_study("moderation")
    frame = pd.DataFrame({"feature": "slur", "level": ["generic", "racism"], "estimate": [0.0, 0.3],
                          "lower": [np.nan, 0.2], "upper": [np.nan, 0.4], "judge": "gpt4o"})  # fmt: skip
    (axes,) = draw(Result(frame, "amce"), labels=study).axes
    assert axes.get_title(loc="left") == "Insult"
    assert row_labels(axes) == ["Racist slur"]
    assert [text.get_text() for text in axes.texts] == ["vs Generic insult"]
    assert "Racist slur 0.300" in describe(Result(frame, "amce"), study)
    for labels in (study, "moderation"):
        assert "Racist slur" in Result(frame, "amce").to_markdown(labels=labels)
    names, words = ColumnNames(resolve_labels(study)), LevelLabels(resolve_labels(study))
    assert [names.of("judge", "human"), words.level("judge_id", "gpt4o")] == ["Human panel", "GPT-4o"]
    shared = LevelLabels({("tone", "a"): "Rude", ("tone", "b"): "Rude", ("tone", "c"): "Kind"})
    assert [shared.level("tone", name) for name in "abc"] == ["Rude (a)", "Rude (b)", "Kind"]
    labels = LevelLabels({("tone", "c"): "Kind"})
    inside = [labels.level_inside("tone", level) for level in ("c", "very_rude", "CDU/CSU")]
    assert inside == ["Kind", "very rude", "CDU/CSU"]
    jokes = resolve_labels(load_any_study("multiturn"))
    assert (jokes["task", "line"], jokes["language", "en"]) == ("Purpose of lines", "English")
    assert resolve_labels(load_any_study("oogiri"))["dimension", "funniness"] == "Overall Funniness"


SHOWN = '\u2212 A & <b id="b" d="1.23456"> url(#c) &#35; #0072b2 \N{HEAVY BLACK HEART}'


def test_texts_of_drawings_inside_a_page_are_text_of_the_width_of_the_layout() -> None:
    with styled(LIGHT):
        figure = new_figure(4, 2)
        label = figure.text(0.5, 0.5, SHOWN, size=9, weight="bold")
    drawn = label.get_window_extent().width * 72 / figure.dpi
    root = ElementTree.fromstring(inline_figure(figure, "one", SHOWN))
    (text,) = [part for part in root.iter() if part.tag.endswith("text")]
    assert text.text == root.attrib["aria-label"] == SHOWN
    assert float(text.attrib["textLength"]) == pytest.approx(drawn, rel=0.005)
    assert text.attrib["style"].count("sans-serif") == 1


@pytest.mark.parametrize("name", ["afcp", "agreement, pairs", "cj_props"])
def test_heat_maps_consist_of_theme_colours_alone_and_can_change_their_theme(name, tmp_path) -> None:
    shown = example(name)
    drawn = save_variants(draw(shown.result, **shown.options), tmp_path / "map")
    for theme in (LIGHT, DARK):
        text = drawn[theme.name].read_text(encoding="utf-8")
        assert "<image" not in text
        assert set(re.findall(r"#[0-9a-f]{6}(?![0-9a-f])", text)) <= set(colors_of(theme))


def test_the_only_series_of_a_panel_stands_in_the_middle_of_its_rows() -> None:
    frame = pd.DataFrame({"panel": ["both", "both", "one"], "row": "row", "series": ["a", "b", "b"],
                          "estimate": 0.5, "lower": 0.4, "upper": 0.6, "reference": False})  # fmt: skip
    made = levels(frame, xlabel="Estimate", what="Estimates", baseline=None)
    both, one = made.draw(FigureStyle(LIGHT, {})).axes
    at = [
        [float(line.get_ydata()[0]) for line in axes.lines if len(line.get_ydata()) == 1]
        for axes in (both, one)
    ]
    middle = [axes.get_yticks()[0] for axes in (both, one)]
    assert at[1] == pytest.approx([middle[1]])
    assert at[0][0] < middle[0] < at[0][1]


def test_texts_that_touch_in_a_line_or_a_figure_higher_than_a_page_do_not_fit_a_journal() -> None:
    def written(*places: float, high: float = 2.0) -> Figure:
        with styled(LIGHT):
            figure = new_figure(3.3, high)
            axes = figure.add_subplot()
            for place in places:
                axes.text(place, 0.5, "0.46", clip_on=True, ha="center")
        return figure

    assert fit_to_width(written(0.2, 0.5, 3.0))  # the last is cut off with its axes
    with pytest.raises(InputError, match="does not fit a width of 84 mm"):
        fit_to_width(written(0.4, 0.45))
    with pytest.raises(InputError, match=r"is 246 mm high at a width of 84 mm, .* room for 244 mm"):
        fit_to_width(written(0.2, high=9.7))
    marked = written(0.2)
    marked.supxlabel("Effect (lines: 95% intervals)")
    add_mark(marked, "Simulated data", LIGHT)
    assert fit_to_width(marked)


@pytest.mark.slow
def test_a_notebook_shows_a_figure_without_further_settings() -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    code = "from conjury.analysis.figures.theme import new_figure\nfigure = new_figure(2, 1)\nfigure"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(book, timeout=120).execute()
    (output,) = book.cells[0].outputs
    assert b64decode(output["data"]["image/png"]).startswith(b"\x89PNG")
