from __future__ import annotations

import json
import re
import shutil
import stat
import sys
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
import yaml
from made_up_results import LEVEL_WITH_MARKUP, amce_frame, write_results, write_simulated_results

from conjury.analysis.display import interval, number, p_value, stars
from conjury.analysis.fallback import cell_options, read_source
from conjury.analysis.methods import describe_analysis, plain
from conjury.analysis.render import render, reports
from conjury.analysis.report import Results
from conjury.analysis.store import describe_run
from conjury.inference.errors import ConjuryError, InputError, MissingDependency
from conjury.inference.paths import QUARTO

KNOWN_CELL_OPTIONS = {"tags", "label", "tbl-cap", "output"}
PRINTING = {"gt", "figure", "prompt_figures", "data_and_versions", "interval_note", "truth", "published"}
SOURCES = sorted(QUARTO.glob("*.qmd"))


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    return write_results(tmp_path_factory.mktemp("made_up") / "results")


@pytest.fixture
def away_from_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def page(results, tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
        return render("moderation", results, tmp_path_factory.mktemp("reports")).path


def cells_of(markup: str) -> list[str]:
    texts: list[str] = []

    class Reader(HTMLParser):
        inside = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag in ("td", "th"):
                self.inside = True
                texts.append("")

        def handle_endtag(self, tag: str) -> None:
            self.inside = self.inside and tag not in ("td", "th")

        def handle_data(self, data: str) -> None:
            if self.inside:
                texts[-1] += data

    Reader().feed(markup)
    return texts


def markup_of(results: Path, name: str, **options: str) -> str:
    return "".join(table.as_raw_html() for table in Results(results).great_tables(name, **options))


def test_a_folder_without_results_is_refused_with_a_remedy(tmp_path) -> None:
    with pytest.raises(InputError, match="write a results folder with `conjury fit`"):
        Results(tmp_path)


def test_a_broken_manifest_is_named(tmp_path) -> None:
    (tmp_path / "manifest.json").write_text("{oops")
    with pytest.raises(InputError, match=r"manifest.json is not readable as JSON"):
        Results(tmp_path)


def test_a_missing_table_names_those_that_are_there(results) -> None:
    with pytest.raises(InputError, match=r"no table 'anova'; it has: amce, amce_by_identity"):
        Results(results).table("anova")


def test_a_truncated_table_is_named(results, tmp_path) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    (copy / "tables" / "mm.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"table 'mm' .* cannot be read"):
        Results(copy).table("mm")


def test_missing_tables_and_figures_become_sentences(results, away_from_home, capsys) -> None:
    report = Results(results)
    report.gt("amce_speech")
    report.figure("amce_speech")
    printed = capsys.readouterr().out
    assert printed.count("Not shown:") == 2
    assert "amce\\_speech" in printed
    assert str(results) not in printed


def test_table_cells_equal_the_numbers_in_the_file(results) -> None:
    frame = pd.read_parquet(results / "tables" / "amce.parquet")
    cells = cells_of(markup_of(results, "amce"))
    shown = frame[(frame["variant"] == "") & (frame["prompt"] != "context") & frame["std_error"].notna()]
    assert len(shown) == 12
    for row in shown.itertuples():
        text = f"{number(row.estimate)}{stars(row.p)}\N{NO-BREAK SPACE}{interval(row.lower, row.upper)}"
        assert cells.count(text) == 1


def test_bootstrap_intervals_are_shown_when_asked_for(results) -> None:
    row = pd.read_parquet(results / "tables" / "amce.parquet").iloc[1]
    markup = markup_of(results, "amce", interval="bootstrap")
    assert interval(row["boot_lower"], row["boot_upper"]) in markup


def test_the_table_of_one_judge_names_and_shows_both_intervals(results, tmp_path) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    frame = pd.read_parquet(copy / "tables" / "amce.parquet").query("judge == 'human'")
    frame.to_parquet(copy / "tables" / "amce.parquet")
    cells = cells_of(markup_of(copy, "amce"))
    assert {"95% normal interval", "95% percentile bootstrap interval"} <= set(cells)
    row = frame.iloc[1]
    assert interval(row["lower"], row["upper"]) in cells
    assert interval(row["boot_lower"], row["boot_upper"]) in cells


def test_a_note_names_the_intervals_and_their_largest_difference(results, tmp_path, capsys) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    frame = pd.read_parquet(copy / "tables" / "amce.parquet")
    frame.loc[5, "boot_upper"] = frame.loc[5, "upper"] + 0.0123
    frame.to_parquet(copy / "tables" / "amce.parquet")
    Results(copy).interval_note("amce")
    told = capsys.readouterr().out
    assert "95% normal intervals: estimates plus and minus 1.96 standard errors clustered by" in told
    assert "percentile bootstrap (500 draws of whole groups" in told
    assert "at most 0.0123 (human, Identity: Black male)" in told


def test_more_than_six_judges_are_shared_between_tables_and_all_are_shown(results, tmp_path) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    judges = {f"judge_{k}": [""] for k in range(8)}
    amce_frame(judges).to_parquet(copy / "tables" / "amce.parquet")
    tables = [cells_of(table.as_raw_html()) for table in Results(copy).great_tables("amce")]
    named = [[name for name in judges if name in cells] for cells in tables]
    assert named == [list(judges)[:4], list(judges)[4:]]
    markup = markup_of(copy, "amce")
    assert {'id="gt-amce"', 'id="gt-amce-2"'} <= set(re.findall(r'id="gt-[\w-]+"', markup))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory) -> Path:
    return write_simulated_results(tmp_path_factory.mktemp("simulated") / "results")


def test_the_opening_says_whether_choices_are_simulated(results, simulated) -> None:
    assert "simulated" not in Results(results).opening()
    assert "**The choices are simulated:**" in Results(simulated).opening()


def test_simulated_choices_stand_beside_the_truth_and_not_beside_print(
    simulated, away_from_home, capsys
) -> None:
    report = Results(simulated)
    report.truth()
    told = capsys.readouterr().out
    assert "Of 18 estimates with a standard error, 100.0% have their true value inside" in told
    assert "the largest error is 0.030" in told
    assert "::: {#fig-truth}" in told
    assert "::: {#tbl-recovery}" in told
    report.published()
    told = capsys.readouterr().out
    assert "judges of these results are simulated" in told
    assert "fig-published" not in told


def test_intervals_that_miss_the_truth_are_counted(tmp_path, away_from_home, capsys) -> None:
    report = Results(write_simulated_results(tmp_path / "results", error=0.05))
    report.truth()
    told = capsys.readouterr().out
    assert "0.0% have their true value inside the 95% normal interval and 0.0% inside the bootstrap" in told
    assert "0 of 12 intervals hold the true value" in told


def test_real_choices_have_no_truth_to_show(results, capsys) -> None:
    Results(results).truth()
    assert capsys.readouterr().out.strip() == (
        "The choices are real: nobody knows their true effects, and this section has nothing to show."
    )


def test_commands_in_the_manifest_name_files_without_their_folder() -> None:
    told = describe_run(["conjury", "fit", "moderation", "--data", "/a/b c/d.csv", "--variant", "x=/a/e.csv"])
    assert told["command"] == "conjury fit moderation --data d.csv --variant x=e.csv"


def test_markup_in_labels_is_escaped_everywhere(results, away_from_home, capsys) -> None:
    report = Results(results)
    report.gt("amce")
    report.gt("published")
    printed = capsys.readouterr().out
    assert "<script" not in printed
    assert printed.count("&lt;script&gt;") == 2
    assert "<b>" not in report.opening()
    assert "&lt;refused&gt;" in report.notes()


def test_tables_are_printed_as_raw_html_blocks(results, capsys) -> None:
    Results(results).gt("answers")
    printed = capsys.readouterr().out
    assert re.fullmatch(r"\n```\{=html\}\n<div id=\"gt-answers\".*</div>\n\n?```\n\n", printed, re.DOTALL)
    assert "99.50%" in printed


@pytest.mark.parametrize(
    "name", ["engines", "engines_summary", "published", "amce_by_identity", "mm", "frequencies"]
)
def test_every_table_of_the_reports_can_be_laid_out(results, name: str) -> None:
    cells = cells_of(markup_of(results, name))
    assert len(cells) > 8
    assert not {"nan", "<NA>"} & set(cells)
    assert cells.count("None") == (name in ("amce_by_identity", "mm", "engines", "frequencies"))


def test_figures_are_printed_in_both_colours_with_alt_text_from_the_data(
    results, away_from_home, capsys
) -> None:
    Results(results).figure("amce")
    printed = capsys.readouterr().out
    frame = pd.read_parquet(results / "tables" / "amce.parquet")
    main = frame[(frame["variant"] == "") & (frame["prompt"] != "context")]
    assert f"{main['estimate'].max():.3f} (" in printed
    for theme in ("light", "dark"):
        assert f"![](conjury-figures/amce-{theme}.svg)" in printed
        assert (away_from_home / "conjury-figures" / f"amce-{theme}.svg").is_file()


def test_only_judges_with_several_prompts_get_a_figure_of_prompts(results, away_from_home, capsys) -> None:
    Results(results).prompt_figures()
    printed = capsys.readouterr().out
    assert re.findall(r"#fig-prompts-\d", printed) == ["#fig-prompts-1"]
    assert "under each prompt: Model X." in printed


def test_methods_tell_what_was_run(results) -> None:
    told = Results(results).methods()
    for part in (
        "`chosen ~ slur + identity + curse`", "native engine", "`judge_id` or `pair_id` (1,990 clusters)",
        "95%", "percentile bootstrap", "500 times (seed 7)", "Of 4,000 rows 3,980 were used and 20 left out",
    ):  # fmt: skip
        assert part in told


def test_methods_do_not_tell_what_was_not_run() -> None:
    told = describe_analysis({"verb": "mm", "formula": "y ~ a", "alpha": 0.1, "draws": None, "id": None})
    assert "bootstrap" not in told
    assert "treat every row as independent" in told
    assert "Intervals cover 90%" in told


def test_text_from_outside_cannot_become_markdown_or_html() -> None:
    assert plain("<i>*a* [b](c) `d` @fig-x</i>") == "&lt;i&gt;\\*a\\* \\[b\\](c) \\`d\\` \\@fig-x&lt;/i&gt;"


@pytest.mark.parametrize(
    ("p", "shown", "mark"),
    [(0.0004, "<0.001", "***"), (0.001, "0.001", "**"), (0.04, "0.040", "*"), (0.5, "0.500", "")],
)
def test_p_values_and_stars_follow_one_rule(p: float, shown: str, mark: str) -> None:
    assert (p_value(p), stars(p)) == (shown, mark)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_report_sources_use_known_cell_options_and_show_no_last_expression(source: Path) -> None:
    _, notebook = read_source(source)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert any("parameters" in cell_options(cell).get("tags", []) for cell in code)
    for cell in code:
        options = cell_options(cell)
        assert set(options) <= KNOWN_CELL_OPTIONS
        assert options.get("output") in (None, "asis")
        assert ("label" in options) == ("tbl-cap" in options)
        last = cell.strip().splitlines()[-1]
        asked = re.match(r"(results|report) = |report\.(\w+)\(|print\(", last)
        assert asked
        assert asked[2] in PRINTING | {None}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_reference_and_citation_has_its_target_and_blocks_are_closed(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    labels = re.findall(r"(?:#\| label: |\{#)((?:fig|tbl|sec)-[\w-]+)", text)
    assert len(labels) == len(set(labels))
    assert set(re.findall(r"@((?:fig|tbl|sec)-[\w-]*\w)", text)) <= set(labels)
    assert {label for label in labels if label.startswith("fig")} <= set(re.findall(r"@(fig-[\w-]*\w)", text))
    entries = set(re.findall(r"^@\w+\{([\w-]+),", (QUARTO / "references.bib").read_text(), re.MULTILINE))
    assert set(re.findall(r"\[@([\w-]+)\]", text)) <= entries
    fences = re.findall(r"^:::+.*$", text, re.MULTILINE)
    assert sum(1 if "{" in fence else -1 for fence in fences) == 0


def test_the_project_file_asks_for_self_contained_pages_without_web_fonts() -> None:
    project = yaml.safe_load((QUARTO / "_quarto.yml").read_text())
    page = project["format"]["html"]
    assert page["embed-resources"] is True
    assert page["html-math-method"] == "mathml"
    assert page["theme"]["light"][0] == page["theme"]["dark"][0] == "default"
    assert project["number-sections"] is True
    assert project["project"]["render"] == [f"{name}.qmd" for name in ("moderation", "estimators")]
    assert sorted(reports()) == ["estimators", "moderation"]
    for style in QUARTO.glob("*.*css"):
        assert "@import" not in style.read_text()
        assert "url(" not in style.read_text()


def test_the_page_holds_figures_captions_tables_and_says_what_it_is(page) -> None:
    markup = page.read_text(encoding="utf-8")
    assert "rendered without Quarto" in markup
    assert re.findall(r'<figure id="(fig-[\w-]+)">', markup) == [
        "fig-amce", "fig-speech", "fig-slur", "fig-identity", "fig-mm", "fig-prompts-1", "fig-published",
        "fig-frequencies",
    ]  # fmt: skip
    numbers = re.findall(r"<figcaption><b>(Figure|Table) (\d+)\.</b>", markup)
    assert [int(n) for kind, n in numbers if kind == "Figure"] == list(range(1, 9))
    assert markup.count('src="data:image/svg+xml;base64,') == 14
    assert "conjurytoken" not in markup
    assert ":::" not in markup
    assert "{=html}" not in markup
    assert not re.search(r"(?<![\w.])@(fig|tbl|sec)-", markup)
    assert "Hainmueller et al. 2014" in markup


def test_the_page_holds_nothing_external_and_no_script(page) -> None:
    markup = page.read_text(encoding="utf-8")
    assert "<script" not in markup
    assert LEVEL_WITH_MARKUP not in markup
    sources = re.findall(r'(?:src|href)="([^"]+)"', markup)
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert not re.search(r"@import|url\(", markup)
    targets = {source[1:] for source in sources if source.startswith("#")}
    assert targets <= set(re.findall(r'id="([^"]+)"', markup))


def test_rendering_writes_nothing_beside_the_sources(page) -> None:
    assert not (QUARTO / "conjury-figures").exists()
    assert not list(QUARTO.glob("*.html"))
    assert [path.name for path in page.parent.iterdir()] == ["moderation.html"]
    assert stat.S_IMODE(page.stat().st_mode) == 0o644


def test_the_report_on_engines_is_rendered_too(results, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    made = render("estimators", results, tmp_path / "reports")
    assert made.renderer == "nbconvert"
    assert "Quarto is not on the PATH" in made.message
    assert "R is missing" in made.path.read_text(encoding="utf-8")


def test_a_failing_cell_is_one_error_and_keeps_the_old_page(results, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    copy = shutil.copytree(results, tmp_path / "copy")
    (copy / "manifest.json").write_text("[]")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "estimators.html").write_text("old")
    with pytest.raises(ConjuryError, match=r"A cell of the report failed: InputError: .* holds no mapping"):
        render("estimators", copy, tmp_path / "reports")
    assert (tmp_path / "reports" / "estimators.html").read_text() == "old"


def test_unknown_reports_and_formats_and_pdf_without_quarto_are_refused(
    results, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="no report 'novel'; use one of: estimators, moderation"):
        render("novel", results, tmp_path)
    with pytest.raises(InputError, match="html or pdf"):
        render("moderation", results, tmp_path, to="docx")  # type: ignore[arg-type]
    with pytest.raises(MissingDependency, match="PDF reports need Quarto"):
        render("moderation", results, tmp_path, to="pdf")
    with pytest.raises(InputError, match=r"manifest.json is missing"):
        render("moderation", tmp_path, tmp_path)


def stand_in_for_quarto(folder: Path, body: str) -> None:
    program = folder / "quarto"
    program.write_text(f"#!{sys.executable}\nimport json, os, pathlib, sys\n{body}\n")
    program.chmod(0o755)


def test_quarto_gets_the_parameter_the_python_and_the_format(results, tmp_path, monkeypatch) -> None:
    stand_in_for_quarto(
        tmp_path,
        "out = pathlib.Path('../reports'); out.mkdir()\n"
        "kind = sys.argv[sys.argv.index('--to') + 1]\n"
        "told = json.dumps([sys.argv[1:], os.environ['QUARTO_PYTHON'], os.path.exists('_quarto.yml')])\n"
        "(out / ('estimators.pdf' if kind == 'typst' else 'estimators.html')).write_text(told)",
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    made = render("estimators", results, tmp_path / "reports", to="pdf")
    arguments, python, has_project = json.loads(made.path.read_text())
    assert arguments == ["render", "estimators.qmd", "--to", "typst", "-P", f"results:{results}"]
    assert python == sys.executable
    assert has_project
    assert (made.renderer, made.path.name) == ("quarto", "estimators.pdf")


def test_an_error_of_quarto_ends_with_its_own_words(results, tmp_path, monkeypatch) -> None:
    stand_in_for_quarto(tmp_path, "print('ERROR: no such theme', file=sys.stderr); sys.exit(1)")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConjuryError, match=r"could not render estimators.qmd: .*no such theme$"):
        render("estimators", results, tmp_path / "reports")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_the_page_without_error_or_request(page, tmp_path, scheme: str) -> None:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--window-size=1000,1200",
        f"--user-data-dir={tmp_path}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        browser.get(page.as_uri())
        assert browser.get_log("browser") == []
        asked = [
            message["params"]["request"]["url"]
            for entry in browser.get_log("performance")
            if (message := json.loads(entry["message"])["message"])["method"] == "Network.requestWillBeSent"
        ]
        assert {url for url in asked if not url.startswith(("data:", "chrome:"))} == {page.as_uri()}
        sizes = browser.execute_script(
            "return [...document.images].filter(i => i.checkVisibility())"
            ".map(i => [i.naturalWidth, i.clientWidth, i.clientHeight, i.closest('div').className])"
        )
        assert len(sizes) == 7
        assert all(natural > 0 and width > 300 and height > 100 for natural, width, height, _ in sizes)
        assert {block for *_, block in sizes} == {f"{scheme}-content"}
        assert browser.title == "Which post goes to review?"
        wide = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0
    finally:
        browser.quit()
