"""The R package in R/: it installs, passes the check of R, its pages follow its sources, its guide runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shared_folder import REPOSITORY
from wheel import tracked_files

PACKAGE = REPOSITORY / "R"
NEEDED = ("survey", "testthat", "generics", "jsonlite")
FOR_THE_CHECK = ("processx", "ggplot2", "knitr", "rmarkdown")
# Packages that read Parquet; they are not in Debian.
NOTES = {"checking package dependencies"}

pytestmark = pytest.mark.r


def run(*command: str, folder: Path, **environment: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "MPLBACKEND": "agg", **environment}
    ran = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    return ran.stdout


def require(folder: Path, *packages: str) -> None:
    names = ", ".join(f'"{name}"' for name in packages)
    code = f"cat(Filter(function(name) !nzchar(system.file(package = name)), c({names})))"
    missing = run("Rscript", "-e", code, folder=folder)
    if missing.strip():
        pytest.skip(f"these packages of R are missing: {missing.strip()}")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tracked files of the package."""
    folder = tmp_path_factory.mktemp("sources")
    require(folder, *NEEDED)
    for name in tracked_files():
        if name.startswith("R/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, folder / name)
    return folder / "R"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_check_of_r_has_nothing_to_say_but_the_stated_note(sources: Path, tmp_path: Path) -> None:
    require(tmp_path, *FOR_THE_CHECK)
    if shutil.which("pandoc") is None:
        pytest.skip("pandoc, which the vignette needs, is missing")
    run("R", "CMD", "build", str(sources), folder=tmp_path)
    (archive,) = tmp_path.glob("conjury_*.tar.gz")
    printed = run("R", "CMD", "check", archive.name, "--no-manual", folder=tmp_path)
    steps = re.findall(r"^\* (checking [^\n]*?) \.\.\.((?:(?!^\* ).)*)", printed, re.MULTILINE | re.DOTALL)
    assert len(steps) > 40
    fault = re.compile(r"\b(NOTE|WARNING|ERROR)\s*$", re.MULTILINE)
    faults = {name for name, outcome in steps if fault.search(outcome)}
    assert faults <= NOTES, printed


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_tests_of_the_package_pass(tmp_path: Path) -> None:
    require(tmp_path, *NEEDED)
    printed = run("Rscript", str(PACKAGE / "tests" / "run.R"), "--long", folder=REPOSITORY)
    assert "DONE" in printed


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_help_pages_and_exports_are_those_of_the_sources(sources: Path, tmp_path: Path) -> None:
    require(tmp_path, "roxygen2", "survey", "generics")
    copy = shutil.copytree(sources, tmp_path / "R")
    run("Rscript", "-e", 'roxygen2::roxygenise(".", load_code = "source")', folder=copy)
    for name in ("NAMESPACE", *(f"man/{page.name}" for page in sources.glob("man/*.Rd"))):
        assert (copy / name).read_text("utf-8") == (sources / name).read_text("utf-8"), name
    assert {page.name for page in copy.glob("man/*")} == {page.name for page in sources.glob("man/*")}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_blocks_of_the_guide_run_in_order(sources: Path, tmp_path: Path) -> None:
    require(tmp_path, *NEEDED, "ggplot2")
    text = (REPOSITORY / "docs" / "howto" / "analysing" / "r.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```r\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    code = "\n".join(block for block in blocks if "install" not in block)
    assert code.count("\n") > 15
    library = tmp_path / "library"
    library.mkdir()
    run("R", "CMD", "INSTALL", f"--library={library}", str(sources), folder=tmp_path)
    (tmp_path / "guide.R").write_text(code, encoding="utf-8")
    run("Rscript", "guide.R", folder=tmp_path, R_LIBS=str(library))


def test_the_package_has_the_version_of_the_project() -> None:
    description = (PACKAGE / "DESCRIPTION").read_text(encoding="utf-8")
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    versions = [re.findall(r"(?m)^[Vv]ersion\W+([\d.]+)", text)[0] for text in (description, project)]
    assert versions[0] == versions[1]
    results = json.loads((PACKAGE / "inst" / "extdata" / "hotel" / "manifest.json").read_text("utf-8"))
    assert results["format"] == 2
