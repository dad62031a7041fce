"""Conjoints from the command line: simulated, fitted, compared, reported; what is written and kept."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from golden import golden_frame
from interrupts import interruptible_process
from manifests import note_texts

from conjury.analysis.conjoint import amce, bootstrap
from conjury.analysis.pipeline.manifest import results_of
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import read_table

pytestmark = pytest.mark.long

Told = Callable[..., str]
ESTIMATES = ["amce", "mm", "amce_speech", "amce_slur", "amce_author", "amce_by_identity"]
PEOPLE = ["people_by_race", "amce_people", "amce_author_people", "mm_people"]
FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
FIT = "fit moderation --data choices.parquet --draws 20"
PROGRAM = shutil.which("conjury", path=str(Path(sys.executable).parent))
NUMBERS = ["estimate", "std_error", "z", "p", "lower", "upper", "boot_lower", "boot_upper"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, done: Told) -> Path:
    """Simulated choices of a panel and a model, and the results of fitting all analyses to them."""
    place = tmp_path_factory.mktemp("work")
    size = "--pairs 300 --respondents 40 --seed 3 --judge human --judge gpt4o --prompt baseline"
    done(f"simulate moderation --out choices.parquet {size}", cwd=place)
    done(FIT, cwd=place)
    return place


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """A copy of these results in the working directory."""
    shutil.copytree(folder / "results", tmp_path / "results")
    return tmp_path / "results"


def manifest_of(results: Path) -> dict[str, Any]:
    return json.loads((results / "manifest.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tree(folder: Path) -> dict[str, str]:
    """Checksum of every file below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): sha256(path) for path in files}


def test_a_report_counts_differences_at_the_level_of_its_fit(
    folder: Path, conjury: Callable[..., Any], done: Told, tmp_path: Path
) -> None:
    shutil.copy(folder / "choices.parquet", tmp_path)
    analyses = "amce,amce_people,amce_author,amce_author_people"
    command = f"{FIT} --alpha 0.4 --only {analyses} --figures none"
    ended = conjury(command, cwd=tmp_path, everything=False)
    assert "(Simulated data.)" in " ".join(ended.out.split())
    assert ("a difference of" in ended.out, "differs from people in" in ended.out) == (True, False)
    done("report moderation", cwd=tmp_path)
    page = (tmp_path / "reports" / "moderation.html").read_text(encoding="utf-8")
    table = pd.read_parquet(tmp_path / "results" / "tables" / "amce_people.parquet")
    counts = [int((table["p_adjusted"] < alpha).sum()) for alpha in (0.4, 0.05)]
    assert counts[0] > counts[1]
    assert f"GPT-4o differs from people in {counts[0]} of 18 AMCEs" in page
    assert "adjusted p &lt; 0.4" in page or "adjusted p < 0.4" in page
    assert "adjustment is below 0.4." in page
    assert "largest difference" not in page  # it is that of a level which the finding names
    assert f"{counts[1]} of 18" not in page
    rows = pd.read_parquet(tmp_path / "choices.parquet")
    of_model = rows["judge_id"].eq("gpt4o") & rows["prompt_id"].eq("baseline") & ~rows["repeat"].fillna(False)
    named = int((of_model & rows["identity"].ne("anonymous")).sum())
    supplement = (tmp_path / "reports" / "moderation-supplement.html").read_text(encoding="utf-8")
    assert re.search(rf"GPT-4o: N = [\d,]+ choices \({named:,} profiles\)\.", supplement)


def test_fit_writes_tables_figures_data_and_manifest(folder: Path) -> None:
    names = {*ESTIMATES, *PEOPLE, "frequencies", "answers", "truth", "recovery"}
    tables = {f"tables/{name}.{ending}" for name in names for ending in ("parquet", "csv")}
    figures = {
        f"figures/{name}{end}" for name in names - {"answers", "truth"} for end in (".svg", ".drawing.json")
    }
    written = set(tree(folder / "results"))
    assert written == tables | figures | {"manifest.json", "data/choices.parquet"}
    assert str(folder) not in (folder / "results" / "manifest.json").read_text(encoding="utf-8")
    people = pd.read_parquet(folder / "choices.parquet").query("judge_kind == 'human' and not repeat")
    sizes = f"{len(people) // 2:,} by {people['judge_id'].nunique():,} respondents"
    for name in ("amce", "mm", "amce_people", "frequencies", "recovery"):
        assert sizes in (folder / "results" / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    for name in ESTIMATES:
        table = folder / "results" / "tables" / f"{name}.parquet"
        text = pd.read_csv(table.with_suffix(".csv"), keep_default_na=False, na_values=[""])
        binary = pd.read_parquet(table)
        assert list(text) == list(binary)
        pd.testing.assert_frame_equal(text[NUMBERS], binary[NUMBERS], rtol=1e-14)
        assert text["level"].tolist() == binary["level"].astype(str).tolist()


def test_fitted_numbers_equal_those_of_the_python_functions(folder: Path) -> None:
    table = pd.read_parquet(folder / "results" / "tables" / "amce.parquet")
    choices = read_table(folder / "choices.parquet", "choices")
    choices = choices[~choices["repeat"].astype(bool)]
    for judge, kind, unit in (("gpt4o", "model", "pair_id"), ("human", "human", "judge_id")):
        rows = choices[choices["judge_kind"] == kind]
        ours = table[table["judge"] == judge].reset_index(drop=True)
        expected = amce(rows, FORMULA, id=unit).frame
        pd.testing.assert_frame_equal(
            ours[list(expected)], expected, check_dtype=False, check_categorical=False, rtol=1e-12
        )
        drawn = bootstrap(amce, rows, FORMULA, unit=unit, draws=20, seed=1).frame
        for ends in ("std_error", "p", "lower", "upper"):
            pd.testing.assert_series_equal(ours[f"boot_{ends}"], drawn[ends], check_names=False, rtol=1e-12)


def test_the_manifest_names_data_by_checksum_and_its_counts_add_up(folder: Path) -> None:
    manifest = manifest_of(folder / "results")
    assert manifest["data"] == [
        {"name": "choices", "file": "choices.parquet", "sha256": sha256(folder / "choices.parquet"),
         "rows": 1880, "rows_used": 1880, "variant": ""}
    ]  # fmt: skip
    assert (manifest["command"], manifest["study_argument"]) == (f"conjury --all {FIT}", "moderation")
    assert manifest["simulated"] is True
    assert manifest["design"].endswith(" 40 people made 600 choices; GPT-4o made 300 choices.")
    assert note_texts(manifest["notes"])[0].startswith("These choices are simulated")
    results = results_of(manifest)
    assert [one.name for one in results] == [*ESTIMATES, "frequencies", *PEOPLE]
    for one in results:
        assert one.settings["n_rows"] == one.settings["n_used"] + one.settings["n_dropped"]
        for count in ("n_rows", "n_used"):
            assert one.settings[count] == sum(group[count] for group in one.groups)
    assert {group["judge"]: group["n_clusters"] for group in results[0].groups} == {"gpt4o": 300, "human": 40}
    assert results[0].settings["n_rows"] == 2 * 300 + 2 * 40 * 15


@pytest.mark.slow
def test_a_second_run_with_the_same_seed_gives_the_same_tables_and_figures(
    folder: Path, done: Told, short_study: Path, tmp_path: Path
) -> None:
    done("fit", short_study, "--draws 20 --data", folder / "choices.parquet", cwd=tmp_path)
    first, second = tree(folder / "results"), tree(tmp_path / "results")
    del second["manifest.json"], second["tables/recovery.csv"], second["tables/recovery.parquet"]
    assert {"tables/amce.csv", "tables/amce.parquet", "figures/amce.svg"} <= set(second)
    assert second == {name: first[name] for name in second}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for processes")
def test_interrupting_a_fit_leaves_no_trace_but_one_sentence(folder: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    words = ["fit", "moderation", "--draws", "20000", "--interval", "studentized", "--data"]
    words = [str(PROGRAM), *words, str(folder / "choices.parquet"), "--out", str(results)]
    process = interruptible_process(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not results.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == "conjury: interrupted; no file was left half written.\n"
    assert not results.exists()


def test_compare_adds_its_tables_to_the_results(folder: Path, copied: Path, ran: Told) -> None:
    engines = ["native", "statsmodels", "linearmodels"]
    options = f"--engines {','.join(engines)} --judge human --prompt '' --alpha 0.1 --results {copied}"
    assert f"--results {copied}" in ran(f"compare moderation {options}")
    summary = pd.read_parquet(copied / "tables" / "engines__summary.parquet").set_index("engine")
    assert summary["available"].all()
    assert (summary["max_abs_difference_estimate"] < 1e-10).all()
    assert (summary["max_rel_difference_std_error"] < 1e-8).all()
    before, manifest = manifest_of(folder / "results"), manifest_of(copied)
    run = manifest.pop("parts")["compared"]
    (compared,) = (one for one in manifest["results"] if one["part"] == "compared")
    manifest["results"].remove(compared)
    added = {f"tables/{name}.{end}" for name in ("engines", "engines__summary") for end in ("csv", "parquet")}
    assert set(manifest.pop("files")) - set(before.pop("files")) == added
    assert manifest == before
    settings = {"judge": "human", "id": "judge_id", "alpha": 0.1, "engines": engines, "n_rows": 1200}
    assert {name: compared["settings"][name] for name in settings} == settings
    assert (run["data"], run["simulated"], run["r"]) == (before["data"], True, None)
    assert run["command"].startswith("conjury --all compare moderation --engines native")
    assert run["notes"] == [note for note in before["notes"] if "simulated" in str(note)]
    assert {"created", "packages"} <= set(run)


def test_compare_reads_a_file_as_fit_does(folder: Path, ran: Told, refused: Told) -> None:
    choices = read_table(folder / "choices.parquet", "choices")
    model = choices[choices["judge_kind"] == "model"].rename(columns={"chosen": "picked"})
    model.drop(columns=["judge_id", "origin"]).to_csv("model.csv", index=False)
    words = "compare moderation --engines native,statsmodels --analysis mm --rename picked=chosen"
    ran(f"{words} --data model.csv --judge somebody")
    manifest = manifest_of(Path("results"))
    (compared,), run = results_of(manifest), manifest["parts"]["compared"]
    assert (compared.settings["judge"], compared.settings["verb"]) == ("somebody", "mm")
    assert run["simulated"] is False
    assert [(item["file"], item["rows"]) for item in run["data"]] == [("model.csv", 600)]
    assert "give it by --data" in refused(words, "--results", folder / "results")


def test_files_of_others_and_choices_that_are_read_are_not_replaced(
    folder: Path, refused: Told, tmp_path: Path
) -> None:
    for name in ("data/raw.csv", "figures/mine.txt"):
        Path(name).parent.mkdir()
        Path(name).write_text("mine", encoding="utf-8")
    words = "fit moderation --draws 0 --data"
    told = refused(words, folder / "choices.parquet", "--out .", prints=True)
    assert told.startswith("conjury: data already exists")
    assert set(tree(tmp_path)) == {"data/raw.csv", "figures/mine.txt"}
    before = tree(folder)
    told = refused(words, "results/data/choices.parquet", prints=True, cwd=folder)
    assert "belongs to the results in results" in told
    assert tree(folder) == before


def test_a_figure_that_cannot_be_drawn_is_a_note_and_the_rest_is_kept(
    folder: Path, done: Told, short_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def undrawable(*given: Any, **options: Any) -> None:
        raise InputError("Too many levels to draw.")

    monkeypatch.setattr("conjury.analysis.figures.theme.save", undrawable)
    options = "--draws 0 --judge gpt4o --out out --data"
    done("fit", short_study, options, folder / "choices.parquet", cwd=tmp_path)
    manifest = manifest_of(tmp_path / "out")
    assert "Figure amce was not drawn: Too many levels to draw." in manifest["notes"]
    assert (tmp_path / "out" / "tables" / "amce.parquet").is_file()
    assert (manifest["data"][0]["rows"], manifest["data"][0]["rows_used"]) == (1880, 600)


def test_groups_that_are_left_out_are_counted_and_named_on_the_terminal(
    short_study: Path, tmp_path: Path, done: Told
) -> None:
    drawn = simulate(
        load_study("moderation"), 1, pairs=60, judges=["gpt4o"], prompts=["baseline"], truth=False
    ).choices
    alone = drawn.head(2).assign(judge_id="gemini_2_5_flash")
    pd.concat([drawn, alone], ignore_index=True).drop(columns="judge_kind").to_parquet(tmp_path / "c.parquet")
    printed = done("fit", short_study, "--data c.parquet --draws 0", cwd=tmp_path)
    for part in (
        "2 combinations of judge, prompt and variant, 1 analysis, 0 bootstrap",
        "amce: 24 rows, 1 of 2 groups EXCLUDED",
        "  1 figure as SVG",
        "  Note: amce, gemini_2_5_flash baseline: ",
        "c.parquet: there is no judge_kind, so the kinds of all judges are those of the study.",
    ):
        assert part in printed


def test_a_report_is_a_page_and_its_supplement(folder: Path, here: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal, where bars are shown
    ended = here("report moderation --out . --results", folder / "results")
    assert ("moderation.html" in ended.out, "Parts of the report" in ended.err) == (True, True)
    assert "are simulated" in Path("moderation.html").read_text(encoding="utf-8")
    assert {path.name for path in Path().iterdir()} == {"moderation-supplement.html", "moderation.html"}
    assert "Tables as html" in here("tables --to html", folder / "results").err
    shown = here("design moderation --pairs 20 --out run").err
    assert ("Drawing pairs" in shown, "Checking the design" in shown) == (True, True)
    small = "--pairs 20 --respondents 20 --prompt baseline"
    assert "Drawing choices" in here(f"simulate moderation {small} --out c.csv").err


@pytest.mark.slow
@pytest.mark.shared
def test_real_choices_are_compared_with_published_numbers_under_both_joins(
    shared: Path, done: Told, short_study: Path, tmp_path: Path
) -> None:
    data = shared / "data" / "moderation"
    right, printed = (data / f"gemini_baseline_flash{join}.csv.gz" for join in ("", "_aspublished"))
    who = "--judge gemini_2_5_flash --prompt baseline --draws 50"
    done("fit", short_study, "--data", right, "--variant", f"as_published={printed}", who, cwd=tmp_path)
    results = tmp_path / "results"
    table = pd.read_parquet(results / "tables" / "amce.parquet")
    ours = table[table["variant"] == ""].reset_index(drop=True)
    expected = golden_frame("gemini_flash_amce_id")
    assert ours["level"].astype(str).tolist() == expected["level"].tolist()
    np.testing.assert_allclose(ours["estimate"], expected["estimate"], rtol=1e-8, atol=1e-12)
    beside = pd.read_parquet(results / "tables" / "published_difference.parquet")
    furthest = beside["difference"].abs().groupby(beside["source"]).max()
    assert furthest["as_published"] < 5e-5  # as accurate as the printed figure; 0.000044 was seen
    assert 0.003 < furthest[""] < 0.006  # 0.0042 was seen
    manifest = manifest_of(results)
    assert manifest["simulated"] is False
    files = [(item["variant"], item["rows"]) for item in manifest["data"]]
    assert files == [("", 60_000), ("as_published", 60_000)]
    assert str(shared) not in json.dumps(manifest | {"command": ""})
    assert set(tree(results / "data")) == {"choices.parquet", "choices.as_published.parquet"}
