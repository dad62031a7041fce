"""init, validate and demo: studies to edit that are right as they are, and refusals that write nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner
from wheel import ROOT, build_wheel

from conjury.cli.commands.starting import study_templates as starting
from conjury.cli.commands.starting.study_templates import find_template, templates, write_template
from conjury.cli.main import app
from conjury.inference.errors import InputError
from conjury.inference.study.study_schema import SCHEMA_FILE, schema_text
from conjury.inference.tables.files import STUDIES, TEMPLATES

NAMES = ["minimal", "hiring", "product", "moderation", "ratings", "labels", "preference"]
SCREEN = (40, 130)  # lines, and characters of a line


def further(name: str) -> list[pytest.MarkDecorator]:
    """Templates of a kind that another one tries by default are tried in the long lane."""
    return [] if name in ("ratings", "labels") else [pytest.mark.long]


def test_init_alone_lists_the_templates(done, tmp_path):
    listing = done("init", cwd=tmp_path).splitlines()
    assert [line.partition(":")[0] for line in listing[:-1]] == NAMES
    assert sorted(path.name for path in TEMPLATES.iterdir() if path.is_dir()) == sorted([*NAMES, "shared"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", [*NAMES[:1], *(pytest.param(name, marks=further(name)) for name in NAMES[1:])]
)
def test_a_template_is_a_study_without_problems_beside_a_schema_and_a_readme_of_one_screen(
    conjury, done, tmp_path, name
):
    printed = done("init", name, "mine", cwd=tmp_path)
    folder = tmp_path / "mine"
    first = (folder / "study.yaml").read_text(encoding="utf-8").partition("\n")[0]
    assert first == f"# yaml-language-server: $schema={SCHEMA_FILE}"
    assert (folder / SCHEMA_FILE).read_text(encoding="utf-8") == schema_text()
    assert yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))["name"] == name
    tables = [path.name for path in folder.glob("*.csv") if path.stem in ("items", "labels", "people")]
    valid = done("validate", "study.yaml", *tables, cwd=folder)
    assert "No problems in study.yaml" in valid
    assert "mini" in valid.partition("Simulated")[2]
    readme = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(readme) < SCREEN[0]
    assert max(map(len, readme)) < SCREEN[1]
    shown = [line.strip() for line in readme if line.startswith("    conjury ")]
    assert shown == [line.strip() for line in printed.splitlines() if line.startswith("  conjury ")]
    assert [line.split()[1] for line in shown] == ["design", "collect", "fit", "report"]
    named = [line.split("`")[1] for line in readme if line.startswith("| `")]
    assert {path.name for path in folder.iterdir()} == {
        *(name.rstrip("/") for name in named),
        "README.md",
        SCHEMA_FILE,
    }
    if (folder / "items.csv").exists():
        assert len(pd.read_csv(folder / "items.csv")) == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=further(name)) for name in NAMES if name != "minimal"] + ["minimal"]
)
def test_the_next_steps_of_a_readme_run_after_its_commands_and_an_edit_of_question_and_labels(
    done, tmp_path, server, monkeypatch, name
):
    done("init", name, ".", cwd=tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    lines = [
        line.strip().split(" ", 1)[1] for line in text.splitlines() if line.strip().startswith("conjury ")
    ]
    design, simulated, fit, report, preview, collect, estimate = lines
    assert report.startswith("report ")
    for command in (design, simulated):
        done(command, cwd=tmp_path)
    study = tmp_path / "study.yaml"
    edited = re.sub(r"^question: .*$", "question: Which one?", study.read_text(encoding="utf-8"), flags=re.M)
    edited = re.sub(r'(\{id: \w+, label: "?)', r"\1The ", edited)
    study.write_text(edited, encoding="utf-8")
    assert edited.count("label: The ") > 3
    done("validate study.yaml", cwd=tmp_path)
    assert "Nothing was sent" in done(preview, cwd=tmp_path)
    assert not (tmp_path / "runs" / "real" / "ledger.sqlite").exists()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    done(f"{collect} --base-url {server.url} --pairs 4", cwd=tmp_path)
    table = estimate.split()[estimate.split().index("--data") + 1]
    assert (tmp_path / table).is_file()
    assert estimate.replace("runs/real", f"runs/{name}") == fit
    for command in re.findall(r"`conjury (design [^`]*)`", text):
        done(command, cwd=tmp_path)


@pytest.mark.long
def test_people_of_templates_are_those_that_their_script_draws(tmp_path):
    for name in ("ratings", "labels", "preference"):
        write_template(find_template(name), tmp_path / name)
        (tmp_path / name / "people.csv").unlink()
    script = ROOT / "tests" / "fixtures" / "templates" / "make_people.py"
    namespace: dict[str, object] = {"__name__": "make_people"}
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), namespace)
    namespace["main"](tmp_path)  # type: ignore[operator]
    for name in ("ratings", "labels", "preference"):
        ours = (tmp_path / name / "people.csv").read_bytes()
        assert ours == (TEMPLATES / name / "people.csv").read_bytes(), name


def test_shared_files_are_in_no_template_twice():
    contents = [path.read_bytes() for path in TEMPLATES.rglob("*") if path.is_file()]
    assert len(set(contents)) == len(contents)
    assert {name for one in templates().values() for name in one.shared.values()} == {
        path.name for path in (TEMPLATES / "shared").iterdir()
    }


def test_init_refuses_what_is_no_template_and_folders_that_are_not_empty(conjury, tmp_path):
    ended = conjury("init", "hireing", cwd=tmp_path)
    assert ended.code == 2
    assert "There is no template 'hireing' (did you mean 'hiring'?)" in ended.err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for place, sentence in (("full", "full is not empty"), ("file", "file is a file")):
        ended = conjury("init", "minimal", place, cwd=tmp_path)
        assert (ended.code, ended.out) == (2, "")
        assert sentence in ended.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full", "notes.txt"]
    ended = conjury("demo", "minimal", "full", cwd=tmp_path)
    assert ended.code == 2
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes.txt"]


def test_a_template_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    files = {"study.yaml": b"name: x", "prompts/a.j2": b"a", "study.yaml/b": b"impossible"}
    monkeypatch.setattr(starting, "_files", lambda template: files)
    (tmp_path / "empty").mkdir()
    for place in ("new", "empty"):
        with pytest.raises(OSError):  # noqa: PT011
            write_template(find_template("minimal"), tmp_path / place)
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_an_empty_folder_is_filled_and_so_is_the_current_one(done, tmp_path):
    done("init", "minimal", ".", cwd=tmp_path)
    assert (tmp_path / "study.yaml").is_file()
    with pytest.raises(InputError, match="not empty"):
        write_template(find_template("minimal"), tmp_path)


def test_validate_prints_every_problem_and_ends_with_exit_code_2(conjury, done, tmp_path):
    done("init", "minimal", "flats", cwd=tmp_path)
    file = tmp_path / "flats" / "study.yaml"
    text = (
        file.read_text(encoding="utf-8")
        .replace("bootstrap:", "bootsrap:")
        .replace("loud, label", "loud, lable")
    )
    file.write_text(text, encoding="utf-8")
    ended = conjury("validate", "flats", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    lines = ended.err.splitlines()
    assert [line.split(":", 2)[:2] for line in lines[:2]] == [
        ["flats/study.yaml", "17"],
        ["flats/study.yaml", "35"],
    ]
    assert lines[-1] == "conjury: 2 problems in flats; see above."
    ended = conjury("validate", "nowhere", cwd=tmp_path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "There is no study 'nowhere'" in ended.err


def test_validate_shows_what_a_file_contains_without_letting_it_write_to_the_terminal(
    conjury, done, tmp_path
):
    done("init", "minimal", "flats", cwd=tmp_path)
    file = tmp_path / "flats" / "study.yaml"
    file.write_text(file.read_text(encoding="utf-8") + '"\\e[2Jboo": 1\n', encoding="utf-8")
    ended = conjury("validate", "flats", cwd=tmp_path)
    assert "boo" in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.long
def test_validate_describes_a_study_and_prints_the_schema(done, tmp_path):
    printed = done("validate", "moderation", cwd=tmp_path)
    assert "conjoint of 6 attributes: slur (7), identity (5)" in printed
    assert "30,000 pairs for models; 1,854 respondents with 15 tasks each" in printed
    printed = done("validate", "oogiri", cwd=tmp_path)
    assert "96 items in items.csv, answered by ratings on novelty" in printed
    assert json.loads(done("validate", "--schema", cwd=tmp_path))["title"] == "Study file of conjury"


# ---- from the wheel, in an environment with nothing else ----


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of an environment with the wheel and its extra for reports, without R and Quarto."""
    wheel = build_wheel(tmp_path_factory)
    place = tmp_path_factory.mktemp("bare") / "venv"
    uv = shutil.which("uv", path=f"{os.environ['PATH']}{os.pathsep}{ROOT / '.uv' / 'bin'}")
    assert uv is not None
    for command in (
        [uv, "venv", "--quiet", str(place)],
        [uv, "pip", "install", "--quiet", "--python", str(place / "bin" / "python"), f"{wheel}[report]"],
    ):
        made = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place.parent)
        if made.returncode:
            pytest.skip(f"packages cannot be installed: {made.stderr[-300:]}")
    return {"PATH": str(place / "bin"), "HOME": str(place.parent), "LANG": "C.UTF-8"}


def run(command: str, bare: dict[str, str], folder: Path) -> str:
    program, *arguments = shlex.split(command)
    ran = subprocess.run(
        [f"{bare['PATH']}/{program}", *arguments],
        cwd=folder,
        env=bare,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    assert "Traceback" not in ran.stderr
    return ran.stdout


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=pytest.mark.long if name in ("minimal", "ratings", "labels") else pytest.mark.slow
        )
        for name in NAMES
    ],
)
def test_every_template_runs_from_the_wheel_by_the_commands_of_its_readme(bare, tmp_path, name):
    before = os.times()
    run(f"conjury init {name} study", bare, tmp_path)
    folder = tmp_path / "study"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for line in [line.strip() for line in readme.splitlines() if line.startswith("    conjury ")]:
        run(line, bare, folder)
    after = os.times()
    report = (folder / "reports" / f"{find_template(name).report}.html").read_text(encoding="utf-8")
    assert yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))["title"] in report
    assert '<svg role="img" aria-label=' in report
    assert list((folder / "results" / "figures").glob("*.svg"))
    assert after.children_user - before.children_user < 120  # seconds, in four processes


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_demo_runs_from_the_wheel_in_an_empty_folder_within_a_minute_and_prints_its_commands(
    bare, tmp_path
):
    before = os.times()
    printed = run("conjury demo", bare, tmp_path)
    after = os.times()
    assert after.children_user - before.children_user < 60
    shown = [line.split()[2] for line in printed.splitlines() if line.startswith("$ conjury ")]
    further = [line.strip() for line in printed.splitlines() if line.startswith("  conjury ")]
    assert further == [shlex.join(["conjury", *command]) for command in find_template("hiring").further]
    assert shown == ["init", "design", "collect", "fit", "report"]
    folder = tmp_path / "conjury-demo"
    assert f"Report   {folder.name}/reports/conjoint.html" in printed
    assert (folder / "reports" / "conjoint.html").is_file()
    truth = pd.read_csv(folder / "results" / "tables" / "amce.csv").set_index(["prompt", "feature", "level"])
    degree = truth["estimate"].xs(("degree", "master"), level=("feature", "level"))
    assert degree.between(0.25, 0.45).all()


@pytest.mark.long
def test_of_very_many_problems_the_first_are_printed_and_the_others_counted(here, tmp_path):
    here("init minimal flats")
    with (tmp_path / "flats" / "study.yaml").open("a") as file:
        file.writelines(f"key{number}: 1\n" for number in range(300))
    ended = here("validate flats/study.yaml")
    assert ended.code == 2
    assert len(ended.err.splitlines()) == 22
    assert "280 other problems; --json lists all of them." in ended.err
    assert "300 problems in flats/study.yaml" in ended.err
    assert len(json.loads(here("validate flats/study.yaml --json").out)["problems"]) == 300


LIKE = ["init", "--like", "moderation", "mine"]


@pytest.mark.long
def test_a_study_that_ships_is_copied_whole_with_its_differences_from_the_paper(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(app, LIKE)
    assert ended.exit_code == 0, ended.output
    shipped = {path.relative_to(STUDIES / "moderation") for path in (STUDIES / "moderation").rglob("*")}
    copied = {path.relative_to("mine") for path in Path("mine").rglob("*")}
    assert copied - shipped == {Path("AS_IN_THE_PAPER.md"), Path("study.schema.json")}
    assert "- Temperature: the paper shows a request without one" in Path(
        "mine/AS_IN_THE_PAPER.md"
    ).read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["validate", "mine/study.yaml"]).exit_code == 0
    assert CliRunner().invoke(app, LIKE).exit_code != 0
