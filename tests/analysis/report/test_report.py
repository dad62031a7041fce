"""What a report reads, refuses and prints around its exhibits."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from made_up_ratings import means, rater_model
from made_up_results import (
    COMPARED,
    LEVEL_WITH_MARKUP,
    record,
    write_diagnosed,
    write_items,
    write_manifest,
    write_results,
)
from snapshots import shown

from conjury.analysis.figures.theme import LIGHT, new_figure, styled
from conjury.analysis.pipeline.results_folder import describe_run, with_folders
from conjury.analysis.report import Report, load
from conjury.analysis.report.methods import describe_analysis, plain
from conjury.analysis.report.report import versions_table
from conjury.analysis.report.tables import picture
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

PARTS = ["amce", "people", "further_amce", "amce_diffs", "mm", "prompts", "published", "recovery", "cj_freqs"]


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    return write_results(tmp_path_factory.mktemp("made_up") / "results")


@pytest.fixture
def copy(results, tmp_path) -> Path:
    return Path(shutil.copytree(results, tmp_path / "copy"))


@pytest.fixture
def away_from_home(tmp_path, monkeypatch) -> Path:
    (tmp_path / "place").mkdir()
    monkeypatch.chdir(tmp_path / "place")
    return tmp_path / "place"


def test_a_folder_without_results_is_refused_with_a_remedy(tmp_path) -> None:
    with pytest.raises(InputError, match="write a results folder with `conjury fit`"):
        Report(tmp_path)


@pytest.mark.parametrize(
    ("about", "remedy"),
    [
        ("diagnosed", "run `conjury diagnose moderation --results FOLDER` first"),
        ("compared", "run `conjury compare` first"),
        ("items", "run `conjury fit` with a study of items"),
    ],
)
def test_results_of_another_kind_are_refused_with_a_remedy(tmp_path, about: str, remedy: str) -> None:
    write_manifest(tmp_path, compared=None)
    with pytest.raises(InputError, match=remedy):
        Report(tmp_path, about)
    assert "-P results:FOLDER" in load(str(tmp_path), about).opening()


def test_a_broken_manifest_is_named(tmp_path) -> None:
    (tmp_path / "manifest.json").write_text("{oops")
    with pytest.raises(InputError, match=r"manifest.json is not readable as JSON"):
        Report(tmp_path)


def test_a_missing_table_names_those_that_are_there_and_a_damaged_one_is_named(copy) -> None:
    with pytest.raises(InputError, match=r"no table 'anova'; it has: amce, amce_by_identity"):
        Report(copy).table("anova")
    (copy / "tables" / "mm.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"mm.parquet: .*file"):
        Report(copy).table("mm")


def test_a_result_without_its_table_becomes_a_sentence_without_the_folder(copy) -> None:
    (copy / "tables" / "amce_slur.parquet").unlink()
    text = shown(Report(copy), "further_amce")
    assert text.startswith("*Not shown:")
    assert "amce\\_slur" in text
    assert str(copy) not in text


def test_sections_without_content_are_not_printed(tmp_path, capsys) -> None:
    write_manifest(tmp_path, analyses=[], study="towns")
    report = Report(tmp_path)
    with report.section("## Outer {#sec-outer}"), report.section("### Inner {#sec-inner}\n\nA lead."):
        report.show(*PARTS)
    assert capsys.readouterr().out == ""


def test_sections_with_content_are_printed_below_their_heads(capsys, results) -> None:
    report = Report(results)
    with report.section("## Outer {#sec-outer}"):
        with report.section("### Empty {#sec-empty}"):
            pass
        with report.section("\n### Inner {#sec-inner}\n\nA lead.\n"):
            print("Content.")
    parts = capsys.readouterr().out.split()
    assert " ".join(parts) == "## Outer {#sec-outer} ### Inner {#sec-inner} A lead. Content."


@pytest.mark.parametrize(
    ("about", "commands"),
    [
        ("fit", ["conjury fit STUDY --data FILE --out ../results/none"]),
        ("diagnosed", ["conjury fit", "conjury diagnose STUDY --results ../results/none"]),
        ("compared", ["conjury fit", "conjury compare STUDY --results ../results/none"]),
    ],
)
def test_a_document_without_results_says_how_to_compute_them_and_nothing_else(
    about, commands, capsys, monkeypatch
) -> None:
    monkeypatch.setenv("QUARTO_DOCUMENT_FILE", "any.qmd")
    report = load("../results/none", about)
    assert "There are no results in `../results/none` yet" in report.opening()
    assert all(command in report.opening() for command in commands)
    assert "quarto render any.qmd -P results:FOLDER" in report.opening()
    with report.section("## Effects {#sec-effects}"):
        report.show("amce")
        print(report.methods())
    assert capsys.readouterr().out == ""


def test_further_variants_of_the_same_rows_are_not_counted_again(tmp_path) -> None:
    write_manifest(tmp_path, data=[{"rows": 4000, "variant": ""}, {"rows": 4000, "variant": "as_published"}])
    assert "from 4,000 rows of data" in Report(tmp_path).opening()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"simulated": True}, "**The data are simulated.**"),
        (
            {"simulated": True, "real_judges": ["model_x"]},
            "**The data of all judges except Model X are simulated.**",
        ),
        ({}, None),
    ],
)
def test_the_opening_says_whose_data_are_simulated(copy, given, sentence) -> None:
    write_manifest(copy, **given)
    opening = Report(copy).opening()
    assert sentence in opening if sentence else "simulated" not in opening


def test_the_mark_of_simulation_is_that_of_the_compared_choices(copy) -> None:
    for of_fit, of_comparison in ((True, False), (False, True)):
        write_manifest(copy, simulated=of_fit, compared=COMPARED | {"simulated": of_comparison})
        assert ("are simulated" in Report(copy, "compared").opening()) is of_comparison


def test_the_opening_begins_with_findings(results) -> None:
    frame = pd.read_parquet(results / "tables" / "amce.parquet").query(
        "variant == '' and prompt != 'context'"
    )
    largest = frame.loc[frame["estimate"].abs().idxmax(), "estimate"]
    number = f"{largest:.3f}".replace("-", "\N{MINUS SIGN}")
    assert Report(results).opening().startswith(f"The largest effect is {number} (")


def test_the_first_effects_of_all_levels_are_the_main_ones(tmp_path) -> None:
    cut, full = record("cut", "amce", "Cut", exclude={"slur": ["none"]}), record("full", "amce", "Full")
    write_manifest(tmp_path, analyses=[cut, full])
    report = Report(tmp_path)
    assert [made.name for made in report.of_kind("amce")] == ["full"]
    assert [made.name for made in report.of_kind("further_amce")] == ["cut"]


def test_commands_and_files_are_named_without_their_folder_unless_names_repeat() -> None:
    command = describe_run(
        ["conjury", "fit", "moderation", "--data", "/a/b c/d.csv", "--variant", "x=/a/e.csv"]
    )
    assert command["command"] == "conjury fit moderation --data d.csv --variant x=e.csv"
    files = [{"name": "choices", "file": "choices.parquet"}] * 2
    described = with_folders(files, ["runs/gemini/choices.parquet", "runs/people/choices.parquet"])
    table = versions_table({"data": described}).as_raw_html()
    assert "choices.parquet in gemini" in table
    assert "choices.parquet in people" in table
    assert "folder" not in with_folders(files[:1], ["a/choices.parquet"])[0]


def test_markup_of_a_study_is_escaped_in_cells_titles_and_notes(results, capsys) -> None:
    report = Report(results)
    report.show("amce", "published")
    printed = capsys.readouterr().out
    assert "<script" not in printed
    assert printed.count("&lt;script&gt;") >= 2
    assert "<b>" not in report.opening()
    assert "&lt;refused&gt;" in report.notes()
    assert LEVEL_WITH_MARKUP not in report.opening()


def test_tables_are_printed_as_raw_html_blocks_with_label_and_caption(results, capsys) -> None:
    Report(results).show("answers")
    printed = capsys.readouterr().out
    block = (
        r"::: \{#tbl-answers\}\n+```\{=html\}\n<div id=\"gt-answers\".*</div>\n\n?```\n+Answers by .*\n+:::"
    )
    assert re.search(block, printed, re.DOTALL)
    assert "99.50%" in printed
    assert "font-family" not in printed


def test_figures_are_printed_in_both_colours_with_alt_text_from_the_data(
    results, away_from_home, capsys
) -> None:
    Report(results).show("amce")
    printed = capsys.readouterr().out
    frame = pd.read_parquet(results / "tables" / "amce.parquet")
    main = frame[(frame["variant"] == "") & (frame["prompt"] != "context")]
    assert f"{main['estimate'].max():.3f} &#91;" in printed
    for theme in ("light", "dark"):
        (figure,) = set(re.findall(rf"!\[\]\((\S+/amce-{theme}\.svg)\)", printed))
        assert Path(figure).is_file()
    assert list(away_from_home.iterdir()) == []


def test_figures_of_a_quarto_project_are_written_to_its_working_folder(
    results, away_from_home, capsys
) -> None:
    (away_from_home / "_quarto.yml").write_text("project:\n  type: default\n")
    Report(results).show("amce")
    assert "![](.quarto/conjury-figures/amce-light.svg)" in capsys.readouterr().out
    assert (away_from_home / ".quarto" / "conjury-figures" / "amce-dark.svg").is_file()
    assert sorted(path.name for path in away_from_home.iterdir()) == [".quarto", "_quarto.yml"]


def test_figures_keep_their_size_on_screen_and_fit_on_paper(away_from_home) -> None:
    with styled(LIGHT):
        small, tall = new_figure(4.0, 2.0), new_figure(7.2, 9.6)
    markdown = picture("small", small, "A line.")
    assert markdown.count('{width="384" fig-alt="A line."}') == 2
    assert markdown.count('{width="4.00in" fig-alt="A line."}') == 1
    markdown = picture("tall", tall, "A line.")
    assert markdown.count('{width="691" ') == 2
    assert f'{{width="{7.2 * 8.2 / 9.6:.2f}in" ' in markdown


def test_all_figures_of_a_run_are_named_by_their_results(results, tmp_path) -> None:
    names = [name for name, _ in Report(results).figures()]
    assert names == ["amce", "amce_slur", "amce_by_identity", "mm", "frequencies", "published"]
    diagnosed = write_diagnosed(tmp_path / "results")
    names = [name for name, _ in Report(diagnosed).figures("diagnosed")]
    assert names == [
        "corrected_1",
        "corrected_2",
        "errors_1",
        "errors_2",
        "power_1",
        "power_2",
        "reliability",
    ]


def test_a_kind_without_an_exhibit_is_shown_as_a_table(tmp_path) -> None:
    frame = pd.DataFrame({"judge": ["gpt_4_1"], "estimate": [0.25], "n": [12]})
    text = shown(Report(write_items(tmp_path, {"new": Result(frame, "new_kind")})), "new_kind")
    assert text.startswith("The numbers are in @tbl-new.")
    assert "GPT-4.1 | 0.250 | 12" in text


def test_notes_that_several_results_share_are_listed_once_with_labels(tmp_path) -> None:
    shared, alone = "Intervals resample items; gpt_4_1 too.", "Alone."
    results = {name: Result(means().frame, "x", notes=(shared,)) for name in "bcde"}
    results = {"a": Result(means().frame, "x", notes=(shared, alone)), **results}
    notes = Report(write_items(tmp_path, results, notes=["Of the run."])).notes().splitlines()
    assert notes == [
        "- Of the run.",
        "- Intervals resample items; GPT-4.1 too. (A; B; C; and 2 more)",
        "- Alone. (A)",
    ]


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


def test_methods_give_estimand_engine_clusters_intervals_and_rows(results) -> None:
    text = Report(results).methods()
    for part in (
        "`chosen ~ slur + identity + curse`", "native engine", "`judge_id` or `pair_id` (1,990 clusters)",
        "95%", "percentile bootstrap", "500 times (seed 7)", "Of 4,000 rows", "3,980 were used",
    ):  # fmt: skip
        assert part in text


def test_methods_give_exclusions_repeats_null_value_family_and_weights() -> None:
    text = describe_analysis(
        {
            "verb": "amce", "exclude": {"slur": ["none"]}, "h0": 0.0, "family": "gaussian", "weights": "w",
            "repeats_left_out": 1854,
        }
    )  # fmt: skip
    for part in (
        "where `slur` is `none`.", "1,854 rows of swapped repeats", "of family `gaussian`", "weighted by `w`",
        "null value 0.00",
    ):  # fmt: skip
        assert part in text


@pytest.mark.parametrize("verb", ["cj_freqs", "cj_props"])
def test_methods_of_counts_name_neither_clusters_nor_tests(verb: str) -> None:
    text = describe_analysis(
        {"verb": verb, "id": "pair_id", "n_clusters": 9, "h0": 0.0, "family": "gaussian", "alpha": 0.05}
    )
    assert not re.search("luster|null|family|ntervals", text)


def test_methods_do_not_mention_what_was_not_run() -> None:
    text = describe_analysis({"verb": "mm", "formula": "y ~ a", "alpha": 0.1, "draws": None, "id": None})
    assert not re.search("bootstrap|excluded|family|weighted|null value", text)
    assert "treat every row as independent" in text
    assert "Intervals cover 90%" in text


def test_text_from_outside_cannot_become_markdown_or_html() -> None:
    assert plain("<i>*a* [b](c) `d` @fig-x</i>") == "&lt;i&gt;\\*a\\* \\[b\\](c) \\`d\\` \\@fig-x&lt;/i&gt;"
