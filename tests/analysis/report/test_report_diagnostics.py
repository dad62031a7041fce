from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from made_up_results import LEVEL_WITH_MARKUP, manifest, write_manifest

from conjury.analysis.figures.labels import Labels
from conjury.analysis.pipeline.robustness import robustness
from conjury.analysis.report import DiagnosticsReport, Results
from conjury.analysis.report.exhibits.robustness import _widest
from conjury.analysis.report.render import render
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

MARKUP = LEVEL_WITH_MARKUP
CHECKS = pd.DataFrame(
    [
        ("design_card", "Design card", "What was varied?", "pass", "All was varied.", "", False),
        ("position_share", "Preference for a position", "Is A chosen as often?", "fail", f"Not so {MARKUP}.",
         "Show pairs *twice*.", True),
        ("answers", "Answers' ties", "One chosen?", "look", "Two ties.", "Drop them.", False),
        ("response_times", "Response times", "Too fast?", "not_applicable", "No times.", "", False),
    ],
    columns=["name", "title", "question", "verdict", "finding", "remedy", "figure"],
)  # fmt: skip
POSITION = pd.DataFrame(
    {
        "judge": ["human", "model_x"], "prompt": ["", "context"], "estimate": [0.5, 0.6],
        "lower": [0.45, 0.55], "upper": [0.55, 0.65],
    }
)  # fmt: skip
DIAGNOSED = {
    "alpha": 0.01, "seed": 9, "created": "2025-05-06T07:08:09+00:00",
    "command": "conjury diagnose moderation",
    "data": [{"name": "choices", "file": "other.csv", "sha256": "0e" * 32, "rows": 123, "variant": ""}],
    "notes": ["One <note>."], "checks": list(CHECKS["name"]), "simulated": True,
}  # fmt: skip


def write(folder: Path, tables: dict[str, pd.DataFrame], **diagnosed: object) -> Path:
    (folder / "tables").mkdir(parents=True)
    for name, table in tables.items():
        table.to_parquet(folder / "tables" / f"{name}.parquet")
    write_manifest(folder, diagnosed={**DIAGNOSED, **diagnosed})
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    study = load_study("moderation")
    made = simulate(study, 5, respondents=80, pairs=300, judges=["human", "gpt4o"], prompts=["baseline"])
    found = robustness(study, made.choices, draws=19)
    tables = {"diagnosis": CHECKS, "check_position_share": POSITION, **found.tables}
    return write(tmp_path_factory.mktemp("diagnosed") / "results", tables, robustness=sorted(found.tables))


@pytest.fixture
def away_from_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_without_a_diagnosis_is_refused_with_the_command_to_run(tmp_path) -> None:
    write_manifest(tmp_path)
    with pytest.raises(InputError, match="run `conjury diagnose moderation --results FOLDER` first"):
        DiagnosticsReport(tmp_path)


def test_the_opening_counts_verdicts_and_names_the_diagnosed_data(results) -> None:
    told = DiagnosticsReport(results).opening()
    assert "Of 4 checks, 1 fails, 1 needs a look, 1 passes, 1 does not apply." in told
    assert "from 123 rows of data, computed 2025-05-06" in told
    assert "**The choices are simulated:**" in told


def test_the_summary_lists_the_gravest_verdicts_first(results, capsys) -> None:
    DiagnosticsReport(results).summary()
    printed = capsys.readouterr().out
    found = re.findall(r">(Fails|Needs a look|Passes|Does not apply)</th>", printed)
    assert found == ["Fails", "Needs a look", "Passes", "Does not apply"]
    assert "::: {#tbl-diagnosis}" in printed


def test_each_check_shows_question_verdict_finding_figure_and_remedy(results, away_from_home, capsys) -> None:
    DiagnosticsReport(results).checks()
    printed = capsys.readouterr().out
    headings = re.findall(r"^### (.*) \{#(.*)\}$", printed, re.MULTILINE)
    assert headings[1] == ("Preference for a position", "sec-check-position-share")
    assert headings[2] == ("Answers\\' ties", "sec-check-answers")
    assert "*Is A chosen as often?*" in printed
    assert "**Fails.** Not so &lt;script" in printed
    assert re.findall(r"#fig-check-[\w-]+", printed) == ["#fig-check-position-share"]
    assert "Preference for a position. Points: share of pairs in which position A was chosen; bars: 99% " in (
        printed
    )
    assert printed.count('.callout-tip title="What to do"') == 2
    assert "Show pairs \\*twice\\*." in printed
    (figure,) = re.findall(r"!\[\]\((\S+check-position-share-dark\.svg)\)", printed)
    assert Path(figure).is_file()
    assert not list(away_from_home.glob("*figures*"))
    assert "<script" not in printed


def test_a_check_whose_table_is_gone_keeps_its_words(results, tmp_path, away_from_home, capsys) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    (copy / "tables" / "check_position_share.parquet").unlink()
    DiagnosticsReport(copy).checks()
    printed = capsys.readouterr().out
    assert "*The figure is not shown: " in printed
    assert str(copy) not in printed
    assert "**Fails.**" in printed


def test_methods_and_notes_are_those_of_the_diagnosis(results) -> None:
    report = DiagnosticsReport(results)
    assert "at the 1% level" in report.methods()
    assert "seed 9" in report.methods()
    assert report.notes() == "- One &lt;note&gt;."


def test_stimuli_are_told_in_figures_and_a_table_for_every_judge(results, away_from_home, capsys) -> None:
    Results(results).stimuli()
    printed = capsys.readouterr().out
    assert re.findall(r"#(?:fig|tbl)-[\w-]+", printed) == ["#fig-errors-1", "#fig-errors-2", "#tbl-errors"]
    assert "@fig-errors-1 (and @fig-errors-2 for another judge) shows" in printed
    assert "Among clustered standard errors the largest ratio is" in printed
    assert "lets the effects of *Insult* differ" in printed


def test_a_check_that_counted_nothing_has_no_figure(results, tmp_path, away_from_home, capsys) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    name = next(str(row["name"]) for row in CHECKS.to_dict("records") if row["figure"])
    checks = CHECKS[CHECKS["name"] == name].assign(name="impossible_profiles")
    checks.to_parquet(copy / "tables" / "diagnosis.parquet")
    table = pd.DataFrame({"judge": "gpt", "prompt": "", "rule": ["same", "other"], "n": 0, "of": 100})
    for counts, shown in (([0, 0], False), ([0, 3], True)):
        table.assign(n=counts).to_parquet(copy / "tables" / "check_impossible_profiles.parquet")
        DiagnosticsReport(copy).checks()
        assert ("fig-check-impossible-profiles" in capsys.readouterr().out) is shown


def test_the_largest_ratio_in_words_is_that_of_the_table() -> None:
    frame = pd.DataFrame(
        {"judge": "GPT-4o", "prompt": "", "feature": "tone", "level": "rude",
         "method": ["CR1", "CR2", "mixed", "pigeonhole"],
         "choice": ["text (CR1)", "text (CR2)", "mixed model", "pigeonhole"], "ratio": [1.4, 1.3, 1.2, 1.94],
         "n_clusters": [10, 10, 10, 10]}
    )  # fmt: skip
    told = _widest(frame, Labels(None))
    assert "clustered standard errors the largest ratio is 1.4 (GPT-4o, " in told
    assert "among all standard errors it is 1.9 (GPT-4o, " in told
    assert "pigeonhole), which errs on the wide side." in told
    assert "among all" not in _widest(frame[frame["method"] != "pigeonhole"], Labels(None))


def test_reliability_tells_agreement_sides_and_corrected_effects(results, away_from_home, capsys) -> None:
    Results(results).reliability()
    printed = capsys.readouterr().out
    assert re.findall(r"#(?:fig|tbl)-[\w-]+", printed) == [
        "#fig-reliability", "#tbl-reliability", "#tbl-position", "#fig-corrected-1",
    ]  # fmt: skip
    assert "human: Above chance" in printed


def test_power_counts_estimates_below_what_could_be_found(results, away_from_home, capsys) -> None:
    report = Results(results)
    report.power()
    printed = capsys.readouterr().out
    table = report.table("power")
    small = (table["estimate"].abs() < table["effect_found"]).sum()
    assert f"Of 36 estimates {small} are smaller than their errors could find" in printed
    assert re.findall(r"#(?:fig|tbl)-[\w-]+", printed) == ["#fig-power-1", "#fig-power-2", "#tbl-power"]
    assert "at the 5% level would find it with a probability of 80%" in printed


def test_without_a_diagnosis_one_sentence_says_what_to_run(tmp_path, capsys) -> None:
    write_manifest(tmp_path)
    report = Results(tmp_path)
    for section in (report.reliability, report.stimuli, report.power):
        section()
    assert capsys.readouterr().out.count("run `conjury diagnose moderation --results FOLDER`") == 3


def test_without_stimuli_their_section_is_one_sentence(results, tmp_path, capsys) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    file = copy / "tables" / "errors.parquet"
    errors = pd.read_parquet(file)
    errors[errors["method"].isin(["HC0", "survey"])].to_parquet(file)
    Results(copy).stimuli()
    told = capsys.readouterr().out.strip()
    assert told.startswith("There are no errors by stimuli: ")
    assert told.count(". ") == 0


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({}, "`conjury power moderation`."),
        ({"study_argument": "moderation"}, "`conjury power moderation`."),
        (
            {"study": "towns", "study_argument": "my towns.yaml"},
            "`conjury power 'my towns.yaml'`, run in the folder of that study file.",
        ),
        ({"study": "towns"}, "`conjury power STUDY`, run in the folder of that study file."),
    ],
)
def test_the_command_for_planning_names_the_study_as_it_was_given(
    results, tmp_path, away_from_home, capsys, given, command
) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    file = copy / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | given), encoding="utf-8")
    Results(copy).power()
    assert f"there is {command}" in capsys.readouterr().out


def test_tables_of_an_earlier_diagnosis_are_not_shown(results, tmp_path, capsys) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    note = "Reliability is not known: nothing was repeated."
    kept = {**DIAGNOSED, "robustness": ["errors"], "notes": [note]}
    (copy / "manifest.json").write_text(json.dumps(manifest(diagnosed=kept)), encoding="utf-8")
    Results(copy).reliability()
    assert capsys.readouterr().out.strip() == note
    Results(copy).power()
    assert "its notes say why" in capsys.readouterr().out


def test_the_page_of_diagnostics_shows_all_figures_and_tables(results, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    markup = render("diagnostics", results, tmp_path / "reports").path.read_text(encoding="utf-8")
    assert re.findall(r'<figure id="(fig-[\w-]+)">', markup) == [
        "fig-check-position-share", "fig-reliability", "fig-corrected-1", "fig-errors-1", "fig-errors-2",
        "fig-power-1", "fig-power-2",
    ]  # fmt: skip
    assert re.findall(r'<figure id="(tbl-[\w-]+)">', markup) == [
        "tbl-diagnosis", "tbl-reliability", "tbl-position", "tbl-errors", "tbl-power", "tbl-versions",
    ]  # fmt: skip
    assert "Answers&#x27; ties</h3>" in markup
    assert 'class="callout callout-tip"' in markup
    assert not re.search(r"(?<![\w.])@(fig|tbl|sec)-", markup)
    assert "<script" not in markup
