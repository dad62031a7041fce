"""Every command as a process of its own: what it writes, prints and returns."""

from __future__ import annotations

import hashlib
import json
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
import yaml
from golden import golden_frame
from interrupts import interruptible_process

from conjury.analysis.conjoint import amce, bootstrap
from conjury.analysis.pipeline.manifest import results_of
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import read_table

pytestmark = pytest.mark.long

Run = Callable[..., subprocess.CompletedProcess[str]]
ESTIMATES = ["amce", "mm", "amce_speech", "amce_slur", "amce_by_identity"]
PEOPLE = ["amce_people", "mm_people"]
FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, conjury: Run) -> Path:
    """Simulated choices of a panel and a model, and the results of fitting all analyses to them."""
    place = tmp_path_factory.mktemp("work")
    who = ["--judge", "human", "--judge", "gpt4o", "--prompt", "baseline"]
    size = ["--pairs", 300, "--respondents", 40, "--seed", 3]
    made = conjury("simulate", "moderation", "--out", "choices.parquet", *size, *who, cwd=place)
    assert (made.returncode, made.stderr) == (0, "")
    fitted = conjury("fit", "moderation", "--data", "choices.parquet", "--draws", 20, cwd=place)
    assert (fitted.returncode, fitted.stderr) == (0, "")
    return place


@pytest.fixture(scope="module")
def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results" / "manifest.json").read_text(encoding="utf-8"))
    return found


def tree(folder: Path) -> dict[str, str]:
    """Checksum of every file below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_help_names_every_command(process: Run, tmp_path: Path) -> None:
    shown = process("--help", cwd=tmp_path)
    assert shown.returncode == 0
    for name in ("simulate", "fit", "compare", "report", "doctor"):
        assert name in shown.stdout


def test_doctor_lists_what_is_there_and_how_to_get_the_rest(process: Run, tmp_path: Path) -> None:
    shown = process("doctor", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    python = next(line for line in shown.stdout.splitlines() if line.split()[:1] == ["Python"])
    assert python.split()[1] == ".".join(map(str, sys.version_info[:3]))
    absent = [line.split(" missing ") for line in shown.stdout.splitlines() if " missing " in line]
    assert all(remedy.strip() for part, remedy in absent if part.split() != ["Part", "Version", "If"])


def test_simulated_choices_say_that_they_are_simulated(folder: Path) -> None:
    choices = read_table(folder / "choices.parquet", "choices")
    assert (choices["origin"] == "simulated").all()
    assert len(choices) == 2 * 300 + 2 * 40 * 16


def test_simulating_twice_with_one_seed_gives_the_same_bytes(conjury: Run, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        done = conjury(
            "simulate", "moderation", "--out", name, "--pairs", 50, "--judge", "gpt4o",
            "--prompt", "baseline", cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.truth.csv").is_file()


def test_fit_writes_tables_figures_data_and_manifest(folder: Path) -> None:
    names = {*ESTIMATES, *PEOPLE, "frequencies", "answers", "truth", "recovery"}
    written = set(tree(folder / "results"))
    tables = {f"tables/{name}.{ending}" for name in names for ending in ("parquet", "csv")}
    drawn = [*ESTIMATES, *PEOPLE, "frequencies", "recovery"]
    figures = {f"figures/{name}.{ending}" for name in drawn for ending in ("svg",)}
    assert written == tables | figures | {"manifest.json", "data/choices.parquet"}


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


def test_csv_and_parquet_tables_hold_the_same_numbers(folder: Path) -> None:
    tables = folder / "results" / "tables"
    for name in ESTIMATES:
        text = pd.read_csv(tables / f"{name}.csv", keep_default_na=False, na_values=[""])
        binary = pd.read_parquet(tables / f"{name}.parquet")
        assert list(text) == list(binary)
        numbers = ["estimate", "std_error", "z", "p", "lower", "upper", "boot_lower", "boot_upper"]
        pd.testing.assert_frame_equal(text[numbers], binary[numbers], rtol=1e-14)
        assert text["level"].tolist() == binary["level"].astype(str).tolist()


def test_manifest_names_data_by_checksum_and_without_its_folder(
    folder: Path, manifest: dict[str, Any]
) -> None:
    (data,) = manifest["data"]
    content = (folder / "choices.parquet").read_bytes()
    assert data == {
        "name": "choices",
        "file": "choices.parquet",
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": 1880,
        "rows_used": 1880,
        "variant": "",
    }
    assert manifest["command"] == "conjury fit moderation --data choices.parquet --draws 20"
    assert manifest["study_argument"] == "moderation"
    assert str(folder) not in json.dumps(manifest)


def test_manifest_counts_add_up(manifest: dict[str, Any]) -> None:
    results = results_of(manifest)
    assert [one.name for one in results] == [*ESTIMATES, "frequencies", *PEOPLE]
    for one in results:
        assert one.settings["n_rows"] == one.settings["n_used"] + one.settings["n_dropped"]
        for count in ("n_rows", "n_used"):
            assert one.settings[count] == sum(group[count] for group in one.groups)
    assert {group["judge"]: group["n_clusters"] for group in results[0].groups} == {"gpt4o": 300, "human": 40}
    assert results[0].settings["n_rows"] == 2 * 300 + 2 * 40 * 15


def test_simulated_results_say_so_and_hold_no_printed_numbers(folder: Path, manifest: dict[str, Any]) -> None:
    assert manifest["simulated"] is True
    assert manifest["notes"][0].startswith("These choices are simulated")
    assert not (folder / "results" / "tables" / "published.parquet").exists()


def test_true_values_and_recovery_stand_beside_simulated_estimates(folder: Path) -> None:
    tables = folder / "results" / "tables"
    truth, found = (pd.read_parquet(tables / f"{name}.parquet") for name in ("truth", "recovery"))
    assert list(truth) == ["judge", "prompt", "analysis", "statistic", "feature", "level", "by", "estimate"]
    assert sorted(found["analysis"].unique()) == sorted(ESTIMATES)
    levels = found.set_index(["analysis", "judge"])["n_levels"]
    assert levels["amce"].to_dict() == {"gpt4o": 18, "human": 18}
    assert found["in_normal"].between(0.75, 1).all()
    assert found["max_abs_error"].lt(0.6).all()


def test_a_second_run_with_the_same_seed_gives_the_same_tables_and_figures(
    folder: Path, conjury: Run, short_study: Path, tmp_path: Path
) -> None:
    done = conjury("fit", short_study, "--data", folder / "choices.parquet", "--draws", 20, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = tree(folder / "results"), tree(tmp_path / "results")
    del second["manifest.json"], second["tables/recovery.csv"], second["tables/recovery.parquet"]
    assert {"tables/amce.csv", "tables/amce.parquet", "figures/amce.svg"} <= set(second)
    assert second == {name: first[name] for name in second}


def test_a_failed_run_leaves_earlier_results_as_they_were(folder: Path, conjury: Run, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(folder / "results", results)
    before = tree(results)
    choices = read_table(folder / "choices.parquet")
    choices.assign(curse=choices["curse"].cat.set_categories(["no_curse"]).fillna("no_curse")).to_csv(
        tmp_path / "flat.csv", index=False
    )
    failed = conjury("fit", "moderation", "--data", "flat.csv", "--out", results, cwd=tmp_path)
    assert failed.returncode == 2
    assert failed.stderr.count("\n") == 1
    assert "'curse'" in failed.stderr
    assert tree(results) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for processes")
def test_interrupting_a_fit_leaves_no_trace_but_one_sentence(
    folder: Path, tmp_path: Path, conjury: Run
) -> None:
    results = tmp_path / "results"
    words = ["fit", "moderation", "--data", folder / "choices.parquet", "--out", results]
    long = ["--draws", "20000", "--interval", "studentized"]
    program = shutil.which("conjury", path=str(Path(sys.executable).parent))
    process = interruptible_process(
        [str(program), *map(str, words), *long], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not results.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == "conjury: interrupted; no file was left half written.\n"
    assert not results.exists()


def test_compare_adds_its_tables_to_the_results(folder: Path, conjury: Run, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(folder / "results", results)
    done = conjury(
        "compare", "moderation", "--engines", "native,statsmodels,linearmodels", "--judge", "human",
        "--prompt", "", "--alpha", 0.1, "--results", results, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    summary = pd.read_parquet(results / "tables" / "engines__summary.parquet").set_index("engine")
    assert summary["available"].all()
    assert (summary["max_abs_difference_estimate"] < 1e-10).all()
    assert (summary["max_rel_difference_std_error"] < 1e-8).all()
    before = json.loads((folder / "results" / "manifest.json").read_text(encoding="utf-8"))
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    run = manifest.pop("parts")["compared"]
    (compared,) = (one for one in manifest["results"] if one["part"] == "compared")
    manifest["results"].remove(compared)
    added = {f"tables/{name}.{end}" for name in ("engines", "engines__summary") for end in ("csv", "parquet")}
    assert set(manifest.pop("files")) - set(before.pop("files")) == added
    assert manifest == before
    settings = {
        "analysis": "amce", "judge": "human", "prompt": "", "id": "judge_id", "alpha": 0.1, "by": [],
        "engines": ["native", "statsmodels", "linearmodels"], "yardstick": "native", "n_rows": 1200,
        "formula": FORMULA, "verb": "amce",
    }  # fmt: skip
    assert {name: compared["settings"][name] for name in settings} == settings
    assert (run["data"], run["simulated"], run["r"]) == (before["data"], True, None)
    assert run["command"].startswith("conjury compare moderation --engines native")
    assert run["notes"] == [note for note in before["notes"] if "simulated" in note]
    assert {"created", "packages"} <= set(run)
    assert f"--results {results}" in done.stdout


def test_compare_reads_a_file_as_fit_does(folder: Path, conjury: Run, tmp_path: Path) -> None:
    choices = read_table(folder / "choices.parquet", "choices")
    model = choices[choices["judge_kind"] == "model"].rename(columns={"chosen": "picked"})
    model.drop(columns=["judge_id", "origin"]).to_csv(tmp_path / "model.csv", index=False)
    words = ("compare", "moderation", "--engines", "native,statsmodels", "--analysis", "mm")
    file = ("--data", "model.csv", "--rename", "picked=chosen", "--judge", "somebody")
    done = conjury(*words, *file, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text(encoding="utf-8"))
    (compared,), run = results_of(manifest), manifest["parts"]["compared"]
    assert (compared.settings["judge"], compared.settings["verb"]) == ("somebody", "mm")
    assert run["simulated"] is False
    assert [(item["file"], item["rows"]) for item in run["data"]] == [("model.csv", 600)]
    refused = conjury(*words, "--results", folder / "results", "--rename", "picked=chosen", cwd=tmp_path)
    assert refused.returncode == 2
    assert "name it with --data" in refused.stderr


def test_a_project_folder_is_not_emptied_by_a_fit_into_it(folder: Path, conjury: Run, tmp_path: Path) -> None:
    for name in ("data/raw.csv", "figures/mine.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("mine", encoding="utf-8")
    words = ("fit", "moderation", "--data", folder / "choices.parquet", "--draws", 0)
    done = conjury(*words, "--out", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("conjury: data is there already")
    assert done.stderr.count("\n") == 1
    assert set(tree(tmp_path)) == {"data/raw.csv", "figures/mine.txt"}


def test_the_choices_of_a_results_folder_are_not_replaced_while_they_are_read(
    folder: Path, conjury: Run
) -> None:
    before = tree(folder)
    done = conjury("fit", "moderation", "--data", "results/data/choices.parquet", "--draws", 0, cwd=folder)
    assert done.returncode == 2
    assert "belongs to the results in results" in done.stderr
    assert tree(folder) == before


def test_a_figure_that_cannot_be_drawn_is_a_note_and_the_rest_is_kept(
    folder: Path, conjury: Run, short_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def undrawable(*given: Any, **options: Any) -> None:
        raise InputError("Too many levels to draw.")

    monkeypatch.setattr("conjury.analysis.figures.theme.save", undrawable)
    choices = folder / "choices.parquet"
    options = ("--draws", 0, "--judge", "gpt4o", "--out", "out")
    done = conjury("fit", short_study, "--data", choices, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert "Figure amce: Too many levels to draw. It was not drawn." in manifest["notes"]
    assert (tmp_path / "out" / "tables" / "amce.parquet").is_file()
    assert (manifest["data"][0]["rows"], manifest["data"][0]["rows_used"]) == (1880, 600)


def test_every_analysis_with_a_figure_is_drawn_whatever_its_name(
    folder: Path, conjury: Run, short_study: Path, tmp_path: Path
) -> None:
    shutil.copytree(short_study, tmp_path / "renamed")
    file = tmp_path / "renamed" / "study.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content["analyses"][0]["name"] = "effects_on_review"
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    options = ("--data", folder / "choices.parquet", "--draws", 0, "--judge", "gpt4o")
    assert conjury("fit", file, *options, cwd=tmp_path).returncode == 0
    assert (tmp_path / "results" / "figures" / "effects_on_review.svg").is_file()


def test_groups_that_are_left_out_are_counted_and_named_on_the_terminal(
    short_study: Path, tmp_path: Path, conjury: Run
) -> None:
    drawn = simulate(
        load_study("moderation"), 1, pairs=60, judges=["gpt4o"], prompts=["baseline"], truth=False
    ).choices
    alone = drawn.head(2).assign(judge_id="gemini_2_5_flash")
    pd.concat([drawn, alone], ignore_index=True).drop(columns="judge_kind").to_parquet(tmp_path / "c.parquet")
    printed = conjury("fit", short_study, "--data", "c.parquet", "--draws", 0, cwd=tmp_path).stdout
    assert "2 combinations of judge, prompt and variant, 1 analysis, 0 bootstrap" in printed
    assert "amce: 24 rows, 1 of 2 groups LEFT OUT" in printed
    assert "  1 figure as SVG" in printed
    assert "  Note: amce, gemini_2_5_flash baseline: " in printed
    assert "c.parquet: there is no judge_kind, so the kinds of all judges are those of the study." in printed


def test_report_of_the_study_is_one_page(folder: Path, conjury: Run, tmp_path: Path) -> None:
    done = conjury("report", "moderation", "--results", folder / "results", "--out", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "moderation.html" in done.stdout
    page = (tmp_path / "moderation.html").read_text(encoding="utf-8")
    assert "are simulated" in page
    assert [path.name for path in tmp_path.iterdir()] == ["moderation.html"]


@pytest.mark.shared
def test_real_choices_stand_beside_printed_numbers_under_both_joins(
    shared: Path, conjury: Run, short_study: Path, tmp_path: Path
) -> None:
    right, printed = (
        shared / "data" / "moderation" / f"gemini_baseline_flash{join}.csv.gz"
        for join in ("", "_aspublished")
    )
    done = conjury(
        "fit", short_study, "--data", right, "--variant", f"as_published={printed}",
        "--judge", "gemini_2_5_flash", "--prompt", "baseline", "--draws", 50, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
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
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["simulated"] is False
    assert [(item["variant"], item["rows"]) for item in manifest["data"]] == [
        ("", 60_000),
        ("as_published", 60_000),
    ]
    assert str(shared) not in json.dumps(manifest | {"command": ""})
    assert set(tree(results / "data")) == {"choices.parquet", "choices.as_published.parquet"}
