from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from made_up_results import (
    LEVEL_WITH_MARKUP,
    amce_frame,
    difference_frame,
    record,
    write_manifest,
    write_results,
    write_simulated_results,
)

from conjury.analysis.figures.theme import LIGHT, new_figure, styled
from conjury.analysis.pipeline.results_folder import describe_run
from conjury.analysis.report import DiagnosticsReport, EngineReport, Results, load
from conjury.analysis.report.markdown import picture
from conjury.analysis.report.methods import describe_analysis, plain
from conjury.analysis.report.tables import interval, number, p_value, stars
from conjury.inference.errors import InputError


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    return write_results(tmp_path_factory.mktemp("made_up") / "results")


@pytest.fixture
def away_from_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    with pytest.raises(InputError, match=r"mm.parquet: .*file"):
        Results(copy).table("mm")


def test_missing_tables_become_sentences(results, tmp_path, away_from_home, capsys) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    (copy / "tables" / "amce_slur.parquet").unlink()
    report = Results(copy)
    report.gt("amce_slur", "A caption.")
    report.further_effects()
    printed = capsys.readouterr().out
    assert printed.count("Not shown:") == 2
    assert "amce\\_slur" in printed
    assert str(copy) not in printed


def test_sections_without_content_are_not_printed(results, tmp_path, capsys) -> None:
    write_manifest(tmp_path, analyses=[])
    report = Results(tmp_path)
    with report.section("## Outer {#sec-outer}"):
        for print_section in (report.effects, report.further_effects, report.differences, report.means):
            with report.section("### Inner {#sec-inner}\n\nA lead."):
                print_section()
    assert capsys.readouterr().out == ""


def test_sections_with_content_are_printed_below_their_heads(capsys, results) -> None:
    report = Results(results)
    with report.section("## Outer {#sec-outer}"):
        with report.section("### Empty {#sec-empty}"):
            pass
        with report.section("""
### Inner {#sec-inner}

A lead.
"""):
            print("Content.")
    parts = capsys.readouterr().out.split()
    assert " ".join(parts) == "## Outer {#sec-outer} ### Inner {#sec-inner} A lead. Content."


@pytest.mark.parametrize(
    ("kind", "commands"),
    [
        (Results, ["conjury fit STUDY --data FILE --out ../results/none"]),
        (DiagnosticsReport, ["conjury fit", "conjury diagnose STUDY --results ../results/none"]),
        (EngineReport, ["conjury fit", "conjury compare STUDY --results ../results/none"]),
    ],
)
def test_a_document_without_results_says_how_to_make_them_and_nothing_else(
    kind, commands, capsys, monkeypatch
) -> None:
    monkeypatch.setenv("QUARTO_DOCUMENT_FILE", "any.qmd")
    report = load(kind, "../results/none")
    assert "There are no results in `../results/none` yet" in report.opening()
    assert all(command in report.opening() for command in commands)
    assert "quarto render any.qmd -P results:FOLDER" in report.opening()
    with report.section("## Effects {#sec-effects}"):
        report.effects()
        print(report.methods())
    assert capsys.readouterr().out == ""


def test_results_of_another_kind_are_told_by_what_is_missing(results) -> None:
    told = load(DiagnosticsReport, str(results)).opening()
    assert "holds no diagnosis" in told
    assert "-P results:FOLDER" in told


def test_table_cells_equal_the_numbers_in_the_file(results) -> None:
    frame = pd.read_parquet(results / "tables" / "amce.parquet")
    cells = cells_of(markup_of(results, "amce"))
    shown = frame[(frame["variant"] == "") & (frame["prompt"] != "context") & frame["std_error"].notna()]
    assert len(shown) == 12
    for row in shown.itertuples():
        text = f"{number(row.estimate)}{stars(row.p)}\N{NO-BREAK SPACE}{interval(row.lower, row.upper)}"
        assert cells.count(text) == 1


def test_stars_beside_bootstrap_intervals_come_from_the_same_draws(results) -> None:
    row = pd.read_parquet(results / "tables" / "amce.parquet").iloc[1]
    assert stars(row["boot_p"]) != stars(row["p"])
    cells = cells_of(markup_of(results, "amce", interval="bootstrap"))
    limits = interval(row["boot_lower"], row["boot_upper"])
    assert f"{number(row['estimate'])}{stars(row['boot_p'])}\N{NO-BREAK SPACE}{limits}" in cells


def test_bootstrap_limits_without_a_p_value_of_their_own_get_no_stars(results, tmp_path) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    frame = pd.read_parquet(copy / "tables" / "amce.parquet")
    assert (frame["p"] < 0.001).any()
    frame.drop(columns="boot_p").to_parquet(copy / "tables" / "amce.parquet")
    assert "*" not in "".join(cells_of(markup_of(copy, "amce", interval="bootstrap")))


def test_the_table_of_one_judge_puts_both_kinds_of_inference_under_headings(results, tmp_path) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    frame = pd.read_parquet(copy / "tables" / "amce.parquet").query("judge == 'human'")
    frame.to_parquet(copy / "tables" / "amce.parquet")
    cells = [cell.strip() for cell in cells_of(markup_of(copy, "amce"))]
    assert cells[:10] == [
        "Level", "Estimate", "Normal approximation", "Bootstrap",
        "Std. error", "95% normal interval", "p", "Std. error", "95% percentile bootstrap interval", "p",
    ]  # fmt: skip
    row = frame.iloc[1]
    start = cells.index(number(row["estimate"]))
    assert cells[start : start + 7] == [
        number(row["estimate"]),
        number(row["std_error"], 4),
        interval(row["lower"], row["upper"]),
        p_value(row["p"]),
        number(row["boot_std_error"], 4),
        interval(row["boot_lower"], row["boot_upper"]),
        p_value(row["boot_p"]),
    ]


def test_a_note_names_the_intervals_and_their_largest_difference(
    results, tmp_path, away_from_home, capsys
) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    frame = pd.read_parquet(copy / "tables" / "amce.parquet")
    frame.loc[5, "boot_upper"] = frame.loc[5, "upper"] + 0.0123
    frame.to_parquet(copy / "tables" / "amce.parquet")
    Results(copy).effects()
    told = capsys.readouterr().out
    assert "95% normal intervals: estimates plus and minus 1.96 standard errors clustered by" in told
    assert "percentile bootstrap (500 draws of whole groups" in told
    assert "at most 0.0123 (human, Identity: Black male)" in told


def test_more_than_six_judges_are_shared_between_labelled_tables(results, tmp_path, capsys) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    judges = {f"judge_{k}": [""] for k in range(8)}
    amce_frame(judges).to_parquet(copy / "tables" / "amce.parquet")
    tables = [cells_of(table.as_raw_html()) for table in Results(copy).great_tables("amce")]
    named = [[name for name in judges if name in cells] for cells in tables]
    assert named == [list(judges)[:4], list(judges)[4:]]
    Results(copy).gt("amce", "Effects.")
    printed = capsys.readouterr().out
    assert re.findall(r'#tbl-[\w-]+|id="gt-amce(?:-\d)?"|Effects. Part.*', printed) == [
        "#tbl-amce", 'id="gt-amce"', "Effects. Part 1 of 2.",
        "#tbl-amce-2", 'id="gt-amce-2"', "Effects. Part 2 of 2.",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def simulated(tmp_path_factory) -> Path:
    return write_simulated_results(tmp_path_factory.mktemp("simulated") / "results")


def test_further_variants_of_the_same_rows_are_not_counted_again(tmp_path) -> None:
    write_manifest(tmp_path, data=[{"rows": 4000, "variant": ""}, {"rows": 4000, "variant": "as_published"}])
    assert "from 4,000 rows of data" in Results(tmp_path).opening()


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


def test_choices_without_the_mark_are_not_called_real(results, capsys) -> None:
    Results(results).truth()
    told = capsys.readouterr().out
    assert told.startswith("The choices are not marked as simulated:")
    assert "real" not in told


def test_differences_are_found_by_verb_and_groups_whatever_their_name(
    results, tmp_path, away_from_home, capsys
) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    difference_frame("topic").to_parquet(copy / "tables" / "by_author.parquet")
    write_manifest(
        copy,
        analyses=[record("amce", "amce", "All"), record("by_author", "amce_diffs", "Topics", by=["topic"])],
    )
    report = Results(copy)
    report.differences()
    told = capsys.readouterr().out
    assert "::: {#fig-by-author}" in told
    assert "::: {#tbl-by-author}" in told
    assert "Differences in the effect of insult by topic (Sport)" in told
    assert "Topics: differences in the effect of Insult by Topic." in told
    assert "compared with *Everyday*" in told
    assert {"Sexism", "Sport"} <= set(cells_of(markup_of(copy, "by_author")))


def test_differences_are_read_as_steps_from_the_reference(results, away_from_home, capsys) -> None:
    Results(results).differences()
    told = capsys.readouterr().out
    assert "the step from *Generic insult* to that level weighs less at that level of *Identity*" in told
    assert "if the judge treats *Generic insult* more harshly there" in told
    assert "Marginal means by *Identity*" in told
    assert "lenient" not in told


def test_the_reference_is_the_first_level_that_is_not_excluded(results, tmp_path) -> None:
    write_manifest(tmp_path, analyses=[record("a", "amce_diffs", "A", exclude={"slur": ["generic"]})])
    assert Results(results).reference("amce_by_identity", "slur") == "Generic insult"
    assert Results(tmp_path).reference("a", "slur") == LEVEL_WITH_MARKUP


def test_further_effects_name_what_is_left_out(results, away_from_home, capsys) -> None:
    Results(results).further_effects()
    told = capsys.readouterr().out
    assert "@fig-amce-slur is about the analysis *Kinds of insult*" in told
    assert "without the profiles whose `slur` is `none`" in told
    assert "::: {#fig-amce}" not in told


def test_the_first_effects_of_all_levels_open_the_report(tmp_path) -> None:
    first, second = record("cut", "amce", "Cut", exclude={"slur": ["none"]}), record("full", "amce", "Full")
    write_manifest(tmp_path, analyses=[first, second])
    assert Results(tmp_path).main == "full"


def test_commands_in_the_manifest_name_files_without_their_folder() -> None:
    told = describe_run(["conjury", "fit", "moderation", "--data", "/a/b c/d.csv", "--variant", "x=/a/e.csv"])
    assert told["command"] == "conjury fit moderation --data d.csv --variant x=e.csv"


def test_markup_in_labels_is_escaped_everywhere(results, away_from_home, capsys) -> None:
    report = Results(results)
    report.gt("amce", "Effects.")
    report.gt("published", "Printed.")
    printed = capsys.readouterr().out
    assert "<script" not in printed
    assert printed.count("&lt;script&gt;") == 2
    assert "<b>" not in report.opening()
    assert "&lt;refused&gt;" in report.notes()


def test_tables_are_printed_as_raw_html_blocks(results, capsys) -> None:
    Results(results).gt("answers", "Answers.")
    printed = capsys.readouterr().out
    opening, raw, closing = (
        r"\n::: \{#tbl-answers\}\n\n\n",
        r"<div id=\"gt-answers\".*</div>\n\n?",
        "Answers.",
    )
    block = rf"{opening}```\{{=html\}}\n{raw}```\n\n\n{closing}\n\n:::\n\n"
    assert re.fullmatch(block, printed, re.DOTALL)
    assert "99.50%" in printed
    assert "font-family" not in printed


@pytest.mark.parametrize("name", ["published", "amce_by_identity", "mm", "frequencies"])
def test_every_table_of_the_reports_can_be_laid_out(results, name: str) -> None:
    cells = cells_of(markup_of(results, name))
    assert len(cells) > 8
    assert not {"nan", "<NA>"} & set(cells)
    assert cells.count("None") == (name in ("amce_by_identity", "mm", "frequencies"))


def test_figures_are_printed_in_both_colours_with_alt_text_from_the_data(
    results, away_from_home, capsys
) -> None:
    Results(results).effects()
    printed = capsys.readouterr().out
    frame = pd.read_parquet(results / "tables" / "amce.parquet")
    main = frame[(frame["variant"] == "") & (frame["prompt"] != "context")]
    assert f"{main['estimate'].max():.3f} (" in printed
    for theme in ("light", "dark"):
        (figure,) = set(re.findall(rf"!\[\]\((\S+/amce-{theme}\.svg)\)", printed))
        assert Path(figure).is_file()
    assert list(away_from_home.iterdir()) == []


def test_figures_of_a_quarto_project_lie_in_its_own_working_folder(
    results, away_from_home, capsys, monkeypatch
) -> None:
    (away_from_home / "_quarto.yml").write_text("project:\n  type: default\n")
    Results(results).effects()
    assert "![](.quarto/conjury-figures/amce-light.svg)" in capsys.readouterr().out
    assert (away_from_home / ".quarto" / "conjury-figures" / "amce-dark.svg").is_file()
    assert sorted(path.name for path in away_from_home.iterdir()) == [".quarto", "_quarto.yml"]


def test_figures_keep_their_size_on_screen_and_fit_on_paper(away_from_home) -> None:
    with styled(LIGHT):
        small, tall = new_figure(4.0, 2.0), new_figure(7.2, 9.6)
    shown = picture("small", small, "A line.")
    assert shown.count('{width="384" fig-alt="A line."}') == 2
    assert shown.count('{width="4.00in" fig-alt="A line."}') == 1
    shown = picture("tall", tall, "A line.")
    assert shown.count('{width="691" ') == 2
    assert f'{{width="{7.2 * 8.2 / 9.6:.2f}in" ' in shown


def test_only_judges_with_several_prompts_get_a_figure_of_prompts(results, away_from_home, capsys) -> None:
    Results(results).prompts()
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


def test_methods_tell_exclusions_repeats_null_value_family_and_weights() -> None:
    told = describe_analysis(
        {
            "verb": "amce", "exclude": {"slur": ["none"]}, "h0": 0.0, "family": "gaussian", "weights": "w",
            "repeats_left_out": 1854,
        }
    )  # fmt: skip
    for part in (
        "left out where `slur` is `none`.", "1,854 rows of swapped repeats", "of family `gaussian`",
        "weighted by `w`", "null value 0.00",
    ):  # fmt: skip
        assert part in told


@pytest.mark.parametrize("verb", ["cj_freqs", "cj_props"])
def test_methods_tell_neither_clusters_nor_tests_for_counts(verb: str) -> None:
    told = describe_analysis(
        {"verb": verb, "id": "pair_id", "n_clusters": 9, "h0": 0.0, "family": "gaussian", "alpha": 0.05}
    )
    assert not re.search("luster|null|family|ntervals", told)


def test_methods_do_not_tell_what_was_not_run() -> None:
    told = describe_analysis({"verb": "mm", "formula": "y ~ a", "alpha": 0.1, "draws": None, "id": None})
    assert not re.search("bootstrap|left out|family|weighted|null value", told)
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
