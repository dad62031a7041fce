"""What a report reads, refuses and prints around its exhibits."""

from __future__ import annotations

import json
import re
from unittest.mock import Mock

import pandas as pd
import pytest
from cases import FIXTURES
from made_up.rating_results import means, rater_model
from made_up.results import COMPARED, LEVEL_WITH_MARKUP, record, write_items, write_manifest
from snapshots import shown
from typer.main import get_command

from conjury.analysis.frames.notes import Note
from conjury.analysis.pipeline.manifest import describe_run, with_folders
from conjury.analysis.report import Report, load, markup, report_data
from conjury.analysis.report.markup import new_mark, to_html
from conjury.analysis.report.method_sentences import describe_analysis, plain
from conjury.analysis.report.versions_section import versions_blocks
from conjury.analysis.results import Result
from conjury.cli.main import app
from conjury.inference.errors import InputError

PARTS = ["amce", "people", "further_amce", "amce_diffs", "mm", "prompts", "published", "recovery", "cj_freqs"]


def test_a_folder_without_results_or_with_a_broken_manifest_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="write a results folder with `conjury fit`"):
        Report(tmp_path)
    (tmp_path / "manifest.json").write_text("{oops")
    with pytest.raises(InputError, match=r"manifest.json:1: the file is not valid JSON"):
        Report(tmp_path)


@pytest.mark.parametrize(
    ("about", "remedy"),
    [
        ("diagnosed", "run `conjury check moderation --results FOLDER` first"),
        ("compared", "run `conjury compare` first"),
        ("items", "run `conjury fit` with a study of items"),
    ],
)
def test_results_of_another_kind_are_refused_with_a_remedy(tmp_path, about: str, remedy: str) -> None:
    write_manifest(tmp_path, compared=None)
    with pytest.raises(InputError, match=remedy):
        Report(tmp_path, about)
    assert "-P results:FOLDER" in load(str(tmp_path), about).opening()


def test_missing_and_damaged_tables_are_named_without_the_folder(copy) -> None:
    with pytest.raises(InputError, match=r"no table 'anova'; it has: amce, amce_by_identity"):
        Report(copy).table("anova")
    (copy / "tables" / "mm.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"mm.parquet: .*file"):
        Report(copy).table("mm")
    (copy / "tables" / "amce_slur.parquet").unlink()
    text = shown(Report(copy), "further_amce")
    assert text.startswith("*Not shown:")
    assert "amce\\_slur" in text
    assert str(copy) not in text


def test_only_sections_with_content_are_printed_below_their_headings(tmp_path, capsys, results) -> None:
    write_manifest(tmp_path, analyses=[], study="towns")
    report = Report(tmp_path)
    with report.section("## Outer {#sec-outer}"), report.section("### Inner {#sec-inner}\n\nA lead."):
        report.show(*PARTS)
    assert capsys.readouterr().out == ""
    report = Report(results)
    with report.section("## Outer {#sec-outer}"):
        with report.section("### Empty {#sec-empty}"):
            pass
        with report.section("\n### Inner {#sec-inner}\n\nA lead.\n"):
            print("Content.")
    parts = capsys.readouterr().out.split()
    assert " ".join(parts) == "## Outer {#sec-outer} ### Inner {#sec-inner} A lead. Content."


ABOUT = {
    "fit": ["fit"],
    "items": ["fit"],
    "corrected": ["fit"],
    "diagnosed": ["fit", "check"],
    "compared": ["fit", "compare"],
    "checked": ["check"],
    "published_numbers": ["check-table"],
    "tried": ["trial"],
}


@pytest.mark.parametrize("about", ABOUT)
def test_a_document_without_results_says_only_how_to_compute_them(about, capsys, monkeypatch) -> None:
    """The commands exist with these options."""
    monkeypatch.setenv("QUARTO_DOCUMENT_FILE", "any.qmd")
    report = load("../results/none", about)
    commands = get_command(app).commands  # type: ignore[attr-defined]
    typed = [text.split() for text in re.findall("`conjury ([^`]+)`", report.opening())]
    assert [name for name, *_ in typed] == ABOUT[about]
    for name, *words in typed:
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, name
    assert "any.qmd -P results:FOLDER" in report.opening()
    with report.section("## Effects {#sec-effects}"):
        report.show("amce")
        print(report.methods())
    assert capsys.readouterr().out == ""


def test_the_opening_begins_with_findings_and_counts_variants_once(results, tmp_path) -> None:
    frame = pd.read_parquet(results / "tables" / "amce.parquet")
    frame = frame.query("variant == '' and prompt != 'context'")
    largest = frame.loc[frame["estimate"].abs().idxmax(), "estimate"]
    size = f"{100 * largest:+.1f}".replace("-", "\N{MINUS SIGN}")
    start = f"::: {{.finding}}\nUnder one prompt of each judge, the largest effect is {size} points ("
    assert Report(results).opening().startswith(start)
    write_manifest(tmp_path, data=[{"rows": 4000, "variant": ""}, {"rows": 4000, "variant": "as_published"}])
    assert "from 4,000 rows, computed" in Report(tmp_path).opening()


def test_a_finding_whose_table_is_missing_says_so_without_the_folder(copy) -> None:
    (copy / "tables" / "amce.parquet").unlink()
    assert "no finding can be stated. The results folder has no table" in Report(copy).opening()


def test_tables_are_read_and_findings_stated_once(results, monkeypatch) -> None:
    read = Mock(wraps=report_data.read_table)
    monkeypatch.setattr(report_data, "read_table", read)
    report = load(str(results))
    lines = [report.opening(), report.further_findings()]
    files = [call.args[0] for call in read.call_args_list]
    assert len(files) == len(set(files)) > 1
    monkeypatch.setattr(
        "conjury.analysis.report.finding.EXHIBITS", {}
    )  # from which a second sentence would come
    assert [report.opening(), report.further_findings()] == lines


def test_the_opening_names_the_judges_with_simulated_data(copy) -> None:
    for given, sentence in (
        ({}, ""),
        ({"simulated": True}, "**The data are simulated.**"),
        (
            {"simulated": True, "real_judges": ["model_x"]},
            "**The data of all judges except Model X are simulated.**",
        ),
    ):
        write_manifest(copy, **given)
        opening = Report(copy).opening()
        assert sentence in opening
        assert ("simulated" in opening) is bool(sentence)
    for of_fit, of_comparison in ((True, False), (False, True)):
        write_manifest(copy, simulated=of_fit, compared=COMPARED | {"simulated": of_comparison})
        assert ("are simulated" in Report(copy, "compared").opening()) is of_comparison


def test_the_first_effects_of_all_levels_are_the_main_ones(tmp_path) -> None:
    cut, full = record("cut", "amce", "Cut", exclude={"slur": ["none"]}), record("full", "amce", "Full")
    write_manifest(tmp_path, analyses=[cut, full])
    report = Report(tmp_path)
    assert [made.name for made in report.of_kind("amce")] == ["full"]
    assert [made.name for made in report.of_kind("further_amce")] == ["cut"]


@pytest.mark.long
def test_figures_of_a_run_are_named_by_their_results_and_drawn_when_they_are_needed(results) -> None:
    figures = dict(Report(results).figures())
    assert list(figures) == ["amce", "amce_slur", "amce_by_identity", "mm", "frequencies", "published"]
    assert len(figures["mm"]().axes) == 3


def test_commands_and_files_are_named_without_their_folder_unless_names_repeat() -> None:
    typed = ["conjury", "fit", "moderation", "--data", "FILE", "--variant", "x=/a/e.csv"]
    command = describe_run([part.replace("FILE", "/a/b c/d.csv") for part in typed])
    assert command["command"] == "conjury fit moderation --data d.csv --variant x=e.csv"
    files = [{"name": "choices", "file": "choices.parquet", "sha256": 8 * name} for name in "ab"]
    described = with_folders(files, ["runs/gemini/choices.parquet", "runs/people/choices.parquet"])
    (table,) = versions_blocks({}, [{"data": described}])
    assert "choices.parquet in gemini" in table
    assert "choices.parquet in people" in table
    assert "folder" not in with_folders(files[:1], ["a/choices.parquet"])[0]


def test_the_command_that_made_a_folder_is_listed_once() -> None:
    first = {"command": "conjury agreement a.csv", "created": "2026-11-30T17:50:25+00:00"}
    second = {"command": "conjury alt-test", "created": "2026-11-30T17:52:00+00:00"}
    assert versions_blocks({}, [first, first, second])[1].count("conjury agreement a.csv") == 1
    assert len(versions_blocks({}, [first, first])) == 1


@pytest.mark.long
def test_text_of_a_study_cannot_become_markdown_or_html(results, capsys) -> None:
    report = Report(results)
    report.show("amce", "published")
    printed = capsys.readouterr().out
    assert "<script" not in printed
    assert printed.count("&lt;script&gt;") >= 2
    assert "<b>" not in report.opening()
    assert "&lt;refused&gt;" in report.notes()
    assert LEVEL_WITH_MARKUP not in report.opening()
    assert plain("<i>*a* [b](c) `d` @fig-x</i>") == "&lt;i&gt;\\*a\\* \\[b\\](c) \\`d\\` \\@fig-x&lt;/i&gt;"


def test_a_kind_without_an_exhibit_is_shown_as_a_table(tmp_path) -> None:
    frame = pd.DataFrame({"judge": ["gpt_4_1"], "estimate": [0.25], "n": [12]})
    text = shown(Report(write_items(tmp_path, {"new": Result(frame, "new_kind")})), "new_kind")
    assert text.startswith("The numbers are in @tbl-new.")
    assert "GPT-4.1 | 0.250 | 12" in text


def test_notes_that_several_results_share_are_listed_once_with_labels(tmp_path) -> None:
    shared, alone = Note.of("Intervals resample items; {judge} too.", judge="gpt_4_1"), "Alone."
    results = {name: Result(means().frame, "x", notes=(shared,)) for name in "bcde"}
    results = {"a": Result(means().frame, "x", notes=(shared, alone)), **results}
    notes = Report(write_items(tmp_path, results, notes=["Of the run."])).notes().splitlines()
    several = "- Intervals resample items; GPT-4.1 too. (A; B; C; and 2 more)"
    assert notes == ["- Of the run.", several, "- Alone. (A)"]


def test_all_runs_have_their_commands_in_order_and_each_file_once(tmp_path, capsys) -> None:
    files = [{"name": "judgments", "file": "r.csv", "sha256": "ab" * 32, "rows": 8}]
    write_items(tmp_path, {"raters": rater_model()}, data=files)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    for hour, command in ((9, "conjury alt-test"), (8, "conjury agreement")):
        run = {"created": f"2026-01-01T0{hour}:00:00+00:00", "command": command, "data": files, "results": []}
        manifest.setdefault("parts", {})[command] = run
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    Report(tmp_path, "items").versions()
    page = capsys.readouterr().out
    places = [page.index(name) for name in ("conjury fit", "conjury agreement", "conjury alt-test")]
    assert places == sorted(places)
    assert page.count("abababababababab") == 1


def test_methods_give_estimand_engine_clusters_intervals_rows_and_what_was_chosen(results) -> None:
    chosen = {"exclude": {"slur": ["none"]}, "h0": 0.0, "family": "gaussian", "weights": "w"}
    text = Report(results).methods() + describe_analysis({"verb": "amce", **chosen, "repeats_left_out": 1854})
    for part in (
        "choices on Insult, identity, curse", "native engine", "respondent or pair (1,990 clusters)",
        "95%", "percentile bootstrap", "500 times (seed 7)", "Of 4,000 rows", "3,980 were used",
        "where `slur` is `none`.", "1,854 rows of swapped repeats", "is linear (least squares)",
        "weighted by `w`", "null value 0.00",
    ):  # fmt: skip
        assert part in text


PAGE = (FIXTURES / "pages/report.txt").read_text(encoding="utf-8")


@pytest.fixture
def page_of(tmp_path):
    entry = (
        "@article{key2020,\n  author = {Key, A. and Lock, B.},\n  title = {A title},\n  year = {2020},\n}\n"
    )
    (tmp_path / "references.bib").write_text(entry, encoding="utf-8")
    return lambda text: to_html(PAGE.format(text=text), tmp_path, "references.bib")


def test_text_that_looks_like_a_placeholder_stays_text(page_of) -> None:
    usual = page_of("W")
    assert ">Key and Lock 2020</a>" in usual
    for text in (*(f"conjurytoken{n}end" for n in range(8)), "conjuryreferences"):
        page = page_of(text)
        assert page.replace(text, "W") == usual
        assert page.count(text) == usual.count("W") >= 5


def test_placeholders_differ_between_pages_and_none_remains(page_of, monkeypatch: pytest.MonkeyPatch) -> None:
    marks: list[str] = []
    monkeypatch.setattr(markup, "new_mark", lambda text: marks.append(new_mark(text)) or marks[-1])
    pages = [page_of("W") for _ in range(2)]
    assert pages[0] == pages[1]
    assert len(set(marks)) == 2
    assert not any(mark in pages[0] for mark in marks)
    letters = iter("a" * 20 + "b" * 20)
    monkeypatch.setattr("secrets.choice", lambda _: next(letters))
    assert new_mark("x CONJURY" + "A" * 20 + "0end") == "conjury" + "b" * 20
