"""Sources of reports, and reports rendered with a stand-in for Quarto and without Quarto."""

from __future__ import annotations

import json
import re
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
import yaml
from hostile import chromium
from made_up.results import COMPARED, LEVEL_WITH_MARKUP, write_manifest
from typer.testing import CliRunner

from conjury.analysis.figures.theme import DARK, LIGHT, THEMES, colors_of, new_figure, styled
from conjury.analysis.report.document import read_text
from conjury.analysis.report.markup import read_bibliography, to_html
from conjury.analysis.report.page_drawings import picture, put_on_page
from conjury.analysis.report.render import render, reports
from conjury.analysis.report.table_format import styled_table
from conjury.cli.main import app
from conjury.inference.errors import ConjuryError, InputError, MissingDependency
from conjury.inference.tables.files import QUARTO

pytestmark = pytest.mark.long

SOURCES = pytest.mark.parametrize("source", sorted(QUARTO.glob("[!_]*.qmd")), ids=lambda path: path.stem)
ORDER = ["moderation", "conjoint", "correction", "estimators", "trials", "diagnostics", "checks", "oogiri"]
ORDER += ["raters", "multiturn", "harm_or_humor", "benchmark", "published"]
SVG = "return [...document.querySelectorAll('.drawing svg')].filter(i => i.checkVisibility())"


@pytest.fixture(scope="module")
def page(results, tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
        return render("moderation", results, tmp_path_factory.mktemp("reports"), full=True).path


@pytest.fixture
def no_quarto(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def quarto(tmp_path, no_quarto) -> Callable[[str], None]:
    """Put a program in the place of Quarto that runs the given lines of Python."""

    def stand_in(body: str) -> None:
        program = tmp_path / "quarto"
        program.write_text(f"#!{sys.executable}\nimport json, os, pathlib, sys\n{body}\n")
        program.chmod(0o755)

    return stand_in


@pytest.fixture
def other_study(results, tmp_path) -> Path:
    copy: Path = shutil.copytree(results, tmp_path / "other study")
    (copy / "tables" / "published.parquet").unlink()
    write_manifest(copy, study="towns", title='Towns: <b>"where"</b>', study_argument="towns.yaml")
    return copy


@SOURCES
def test_every_reference_and_citation_has_its_target_and_blocks_are_closed(source: Path) -> None:
    text = read_text(source)
    assert "{{<" not in text
    labels = re.findall(r"(?:#\| label: |\{#)((?:fig|tbl|sec)-[\w-]+)", text)
    assert len(labels) == len(set(labels))
    assert set(re.findall(r"@((?:fig|tbl|sec)-[\w-]*\w)", text)) <= set(labels)
    assert {label for label in labels if label.startswith("fig")} <= set(re.findall(r"@(fig-[\w-]*\w)", text))
    entries = set(re.findall(r"^@\w+\{([\w-]+),", (QUARTO / "references.bib").read_text(), re.MULTILINE))
    cited = "".join(re.findall(r"\[@[^\]]+\]", text))
    assert set(re.findall(r"@([\w-]+)", cited)) <= entries
    assert not re.search(r"\[@[^\]]+\] *\[@", text)
    fences = re.findall(r"^:::+.*$", text, re.MULTILINE)
    assert sum(1 if "{" in fence else -1 for fence in fences) == 0


def test_references_are_complete_and_several_are_cited_in_one_pair_of_brackets() -> None:
    entries = read_bibliography(QUARTO / "references.bib")
    assert len(entries) > 10
    assert [key for key, entry in entries.items() if not {"author", "title", "year"} <= set(entry)] == []
    text = "By chance [@krippendorff2004; @gwet2008].\n\n::: {#refs}\n:::"
    page = to_html(text, QUARTO, "references.bib")
    assert re.sub(r"<[^>]+>", "", page).startswith("By chance (Krippendorff 2004; Gwet 2008).")
    assert re.findall(r'<li id="ref-(\w+)">', page) == ["gwet2008", "krippendorff2004"]


def luminance(color: str) -> float:
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("style", ["theme.scss", "theme-dark.scss"])
def test_colours_of_pages_are_those_of_figures_and_texts_have_contrast(style: str) -> None:
    text = (QUARTO / style).read_text()
    stated = dict(re.findall(r"^  (--figure-\d+): (#\w{6});$", text, re.MULTILINE))
    expected = colors_of(DARK if "dark" in style else LIGHT)
    assert stated == {f"--figure-{place}": color for place, color in enumerate(expected)}
    colors = dict(re.findall(r"^\$([\w-]+): (#\w{6});$", text, re.MULTILINE))
    for front, back in (("code-color", "code-bg"), ("body-color", "body-bg"), ("link-color", "body-bg")):
        low, high = sorted(luminance(colors[name]) for name in (front, back))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (front, back)


def test_pages_load_nothing_from_elsewhere_and_every_document_is_listed() -> None:
    project = yaml.safe_load((QUARTO / "_quarto.yml").read_text())
    assert project["format"]["html"]["embed-resources"] is True
    assert project["project"]["render"] == [f"{name}.qmd" for name in ORDER]
    assert reports() == sorted(ORDER)
    assert not [one for one in QUARTO.glob("*.*css") if re.search(r"@import|url\(", one.read_text())]


@pytest.mark.slow
def test_the_page_contains_figures_captions_and_tables_but_nothing_external_and_no_script(page) -> None:
    markup = page.read_text(encoding="utf-8")
    assert "Rendered without Quarto" in markup
    names = ["amce", "amce-slur", "amce-by-identity", "mm", "prompts-1", "published", "frequencies"]
    assert re.findall(r'<figure id="fig-([\w-]+)">', markup) == names
    numbers = re.findall(r"<figcaption><b>(Figure|Table) (\d+)\.</b>", markup)
    assert [int(n) for kind, n in numbers if kind == "Figure"] == list(range(1, 8))
    assert markup.count('<svg role="img" aria-label=') == 7
    for unfinished in ("conjurytoken", ":::", "{=html}", "<script", LEVEL_WITH_MARKUP):
        assert unfinished not in markup
    assert not re.search(r"(?<![\w.])@(fig|tbl|sec)-|@import|url\((?!#|\"data:font)", markup)
    assert "Hainmueller et al. 2014" in markup
    sources = re.findall(r'(?:src|href)="([^"]+)"', markup)
    assert all(source.startswith(("data:", "#")) for source in sources)
    targets = {source[1:] for source in sources if source.startswith("#")}
    assert targets <= set(re.findall(r'id="([^"]+)"', markup))
    assert not (QUARTO / "conjury-figures").exists()
    assert not list(QUARTO.glob("*.html"))
    assert [path.name for path in page.parent.iterdir()] == ["moderation.html"]
    assert stat.S_IMODE(page.stat().st_mode) == 0o644


@pytest.mark.slow
def test_a_failing_cell_is_one_error_and_keeps_the_old_page(results, tmp_path, no_quarto) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    write_manifest(copy, compared=COMPARED | {"data": 3})
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "estimators.html").write_text("old")
    message = (
        r"^The cell `print\(report.opening\(\)\)` of estimators.qmd failed. TypeError: .*again with this"
    )
    with pytest.raises(ConjuryError, match=message):
        render("estimators", copy, tmp_path / "reports")
    assert (tmp_path / "reports" / "estimators.html").read_text() == "old"


def test_unfit_results_and_unknown_reports_are_refused_before_rendering(
    results, other_study, tmp_path, no_quarto, quarto, monkeypatch
) -> None:
    out = tmp_path / "reports"
    monkeypatch.setitem(sys.modules, "pypandoc", None)
    run = re.escape(f"run `conjury report conjoint --results '{other_study}'`.")
    for report, folder, to, error, message in (
        ("novel", results, "html", InputError, "no report 'novel'; there are benchmark, checks, conjoint"),
        ("moderation", results, "docx", InputError, "html, pdf or html,pdf"),
        ("moderation", results, "pdf", MissingDependency, r"PDF reports need Quarto, .* `pip install"),
        ("moderation", tmp_path, "html", InputError, r"manifest.json is missing"),
        ("moderation", other_study, "html", InputError, rf"results are of the study 'towns'; {run}$"),
    ):
        with pytest.raises(error, match=message):
            render(report, folder, out, to=to)  # type: ignore[arg-type]
    quarto("sys.exit(1)")
    for report, message in (
        ("raters", "has no results on ratings; run "),
        ("diagnostics", "has no diagnosis; run `conjury check"),
        ("checks", "has no checks; run `conjury check WHAT --out FOLDER`"),
        (
            "correction",
            "has no estimates that models make more precise; run `conjury fit` with --correct ppi",
        ),
    ):
        with pytest.raises(InputError, match=message):
            render(report, results, out)
    assert not out.exists()


def test_quarto_gets_the_title_of_the_study_as_plain_text(other_study, tmp_path, quarto) -> None:
    quarto(
        "out, source = pathlib.Path('../reports'), pathlib.Path(sys.argv[2]); out.mkdir(exist_ok=True)\n"
        "(out / source.with_suffix('.html').name).write_text(source.read_text())"
    )
    made = render("conjoint", other_study, tmp_path / "reports").path
    front = yaml.safe_load(made.read_text(encoding="utf-8").split("---\n")[1])
    assert front["title"] == r"Towns: &lt;b&gt;\"where\"&lt;/b&gt;"
    assert front["subtitle"] == "What each attribute does to the choice"


def test_quarto_gets_both_parts_computed_with_links_between_them(results, tmp_path, quarto) -> None:
    quarto(
        "out = pathlib.Path('../reports'); out.mkdir(exist_ok=True); source = pathlib.Path(sys.argv[2])\n"
        "kind = sys.argv[sys.argv.index('--to') + 1]; assert os.path.exists('_quarto.yml')\n"
        "page = out / source.with_suffix('.pdf' if kind == 'typst' else '.html').name\n"
        "page.write_text(source.read_text())"
    )
    rendered = render("moderation", results, tmp_path / "reports", to="html,pdf")
    names = [f"moderation{part}.{ending}" for ending in ("html", "pdf") for part in ("", "-supplement")]
    assert (rendered.renderer, [path.name for path in rendered.files]) == ("quarto", names)
    page, supplement, paper, _ = (path.read_text(encoding="utf-8") for path in rendered.files)
    fronts = [yaml.safe_load(text.split("---\n")[1]) for text in (page, supplement, paper)]
    assert [front["engine"] for front in fronts] == ["markdown"] * 3
    assert fronts[1]["crossref"]["tbl-title"] == "Supplementary Table"
    assert fronts[2]["format"] == {"typst": {"toc": False}}
    assert "{python}" not in page + supplement
    shown = [re.findall(r"^::: \{#((?:fig|tbl)-[\w-]+)\}", text, re.M) for text in (page, supplement)]
    assert shown[0] == ["fig-amce", "tbl-amce"]
    assert not set(shown[0]) & set(shown[1])
    assert "[Figure\N{NO-BREAK SPACE}1](moderation.html#fig-amce)" in supplement
    assert "](moderation-supplement.html#sec-methods)" in page
    for text, labels in ((page, shown[0]), (supplement, shown[1])):
        assert set(re.findall(r"(?<![\w`])@((?:fig|tbl)-[\w-]*\w)", text)) <= set(labels)
        assert_trees_equal(text.split("---\n", 2)[2], "Supplementary" if text is supplement else "")


def assert_trees_equal(text: str, prefix: str) -> None:
    """What Quarto gets and our own page of it have the same headings, captions, numbers and table cells."""
    page, kinds = (
        to_html(text, QUARTO, "references.bib", prefix),
        re.findall(r"^::: \{#(fig|tbl)-", text, re.M),
    )
    headings = re.findall(r"^##+ (.*?) *(?:\{.*)?$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    assert re.findall(r"<h\d[^>]*>(?:[\d.]+ )?(.*?)</h\d>", page) == headings
    names = {"fig": "Figure", "tbl": "Table"}
    numbers = [f"{prefix} {names[x]} {kinds[: k + 1].count(x)}" for k, x in enumerate(kinds)]
    assert re.findall(r"<figcaption><b>(.*?)\.</b>", page) == [number.strip() for number in numbers]
    assert re.findall(r"<td.*?</td>", text, re.S) == re.findall(r"<td.*?</td>", page, re.S)


def test_an_error_of_quarto_is_one_line_without_colours(results, tmp_path, quarto) -> None:
    quarto("print('\\x1b[31mERROR: no such theme\\x1b[39m', file=sys.stderr); sys.exit(1)")
    with pytest.raises(ConjuryError, match=r"could not render estimators.qmd: .*no such theme$"):
        render("estimators", results, tmp_path / "reports")


def test_warnings_of_quarto_are_reported(results, tmp_path, quarto) -> None:
    quarto(
        "out = pathlib.Path('../reports'); out.mkdir(); (out / 'estimators.html').write_text('page')\n"
        "print('warning: unknown font family: sans-serif\\n' * 29, 'pandoc \\n', file=sys.stderr)\n"
        "print('\\x1b[33mWARN: Unable to resolve crossref @sec-none\\x1b[39m', 'estimators.qmd', sep='\\n')\n"
        "assert os.environ['NO_COLOR']"
    )
    made = render("estimators", results, tmp_path / "reports")
    warning = "WARN: Unable to resolve crossref @sec-none"
    assert set(made.warnings) == {"warning: unknown font family: sans-serif (29 times)", warning}
    run = CliRunner().invoke(app, ["report", "estimators", "--results", str(results), "--out", str(tmp_path)])
    assert run.exit_code == 0
    assert f"Quarto warned: {warning}" in run.stderr


@pytest.mark.slow
@pytest.mark.browser
def test_a_browser_shows_the_page_without_error_or_request(page, tmp_path) -> None:
    widths = "[...i.querySelectorAll('text')].map(t => t.getBBox().width - t.getAttribute('textLength'))"
    phone = {"width": 375, "height": 700, "deviceScaleFactor": 2, "mobile": True}
    with chromium(tmp_path) as browser:
        for scheme in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            browser.get(page.as_uri())
            assert browser.get_log("browser") == []
            messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
            asked = [m for m in messages if m["method"] == "Network.requestWillBeSent"]
            urls = {m["params"]["request"]["url"] for m in asked}
            assert {url for url in urls if not url.startswith(("data:", "chrome:"))} == {page.as_uri()}
            fills = browser.execute_script(f"{SVG}.map(i => getComputedStyle(i.querySelector('text')).fill)")
            red = int(THEMES[scheme].foreground[1:3], 16)
            assert [fill.startswith(f"rgb({red}, ") for fill in fills] == [True] * 7
            differences = browser.execute_script(f"{SVG}.flatMap(i => {widths})")
            assert len(differences) > 50
            assert max(map(abs, differences)) < 1
            for device in (None, phone):
                if device:
                    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
                root = "document.documentElement.scrollWidth"
                assert browser.execute_script(f"return {root} - window.innerWidth") <= 0
                own = "parseFloat(i.parentElement.style.width)"
                shown = browser.execute_script(f"{SVG}.map(i => [{own}, i.clientWidth])")
                assert all(min(stated, 560) <= wide <= stated for stated, wide in shown)


@pytest.mark.slow
@pytest.mark.browser
def test_tables_are_cut_nowhere_and_scroll_beside_their_first_column(tmp_path) -> None:
    labels, scores = ["Q" * 80, "a word " * 11, "\u0646\u0645", ""], ["0.12\xa0[0.10,\xa00.14]", "", "1", ""]
    text = f"<meta charset=utf-8><style>{(QUARTO / 'fallback.css').read_text('utf-8')}</style><main>"
    for rows, columns in ((1, 1), (4, 1), (4, 30)):
        table = pd.DataFrame({"Judge": labels, **dict.fromkeys(map(str, range(columns)), scores)})[:rows]
        text += f"<figure>{styled_table(table, note='words ' * 60).as_raw_html()}</figure>"
    (page := tmp_path / "page.html").write_text(text, encoding="utf-8")
    boxes = "[...document.querySelectorAll('figure > div')]"
    sides = "(b => [b.left, b.right])(%s.getBoundingClientRect())"
    with chromium(tmp_path / "profile") as browser:
        for width in (390, 799, 1200):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            browser.get(page.as_uri())
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            browser.execute_script(f"{boxes}.forEach(box => {{ box.scrollLeft = 1e6 }})")
            for part in ("td.gt_row", "th", "td span"):
                pairs = f"{boxes}.map(i => [{sides % 'i'}, {sides % f'i.querySelector({part!r})'}])"
                for (left, right), (start, end) in browser.execute_script(f"return {pairs}"):
                    assert start == pytest.approx(left, abs=6)  # a note has the padding of its cell
                    assert end - left <= (right - left) * (1 if part == "td span" else 0.75)
            cut = "filter(cell => cell.scrollWidth > cell.clientWidth + 1).length"
            assert browser.execute_script(f"return [...document.querySelectorAll('td, th')].{cut}") == 0


@pytest.mark.pdf
def test_a_pdf_without_quarto_has_title_contents_numbers_and_references(results, no_quarto, tmp_path) -> None:
    import pypdfium2

    rendered = render("moderation", results, tmp_path / "reports", to="pdf")
    assert rendered.renderer == "pandoc and typst"
    pages = []
    for path in rendered.files:
        with pypdfium2.PdfDocument(path) as document:
            pages.append([page.get_textpage().get_text_range() for page in document])
    assert len(pages[0]) <= 8
    text = " ".join(" ".join(text for part in pages for text in part).split())
    for part in (
        "What limits this",
        "Methods in brief",
        "Contents",
        "Supplementary Table 1",
        "Hainmueller et al. 2014",
        "Political Analysis",
        "Table 1",
    ):
        assert part in text
    assert "@fig-" not in text
    assert "@tbl-" not in text


@pytest.mark.pdf
def test_pandoc_keeps_drawings_and_their_names_when_it_embeds_files_as_quarto_has_it_do() -> None:
    import pypandoc

    with styled(LIGHT):
        figure = new_figure(4, 2)
        figure.add_subplot().plot([0, 1], "o-", label="A & <b>")
    drawn = picture(*put_on_page(figure, "one"), "A line.")
    options = ["--embed-resources", "--standalone", "--metadata=title:x"]
    page = pypandoc.convert_text(drawn, "html", "markdown", extra_args=options)
    before, after = (re.findall(r"<svg role.*?</svg>", text, re.DOTALL) for text in (drawn, page))
    assert [ElementTree.canonicalize(one) for one in after] == [ElementTree.canonicalize(*before)]
