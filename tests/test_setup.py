"""The repository as a user meets it: the wheel, the import, the make targets, the set-up script."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from wheel import ROOT, build_wheel, tracked_files

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = {
    folder: name for name, folder in PYPROJECT["tool"]["setuptools"]["package-dir"].items()
}  # analysis: conjury.analysis
LEFT_OUT_OF_THE_WHEEL = ("R/benchmark/", "R/raters/", "R/tests/")
HEAVY = {"arviz", "linearmodels", "matplotlib", "numba", "pymc", "rpy2", "sqlalchemy", "statsmodels", "torch"}
HEAVY |= {"av", "openai", "pandera", "ray", "vllm", "xarray"}


def packaged_files() -> list[str]:
    return [
        name
        for name in tracked_files()
        if name.partition("/")[0] in FOLDERS
        and not name.startswith(LEFT_OUT_OF_THE_WHEEL)
        and not Path(name).name.startswith(".")
    ]


def make_targets() -> set[str]:
    return set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    )


# ---- the wheel ----


@pytest.fixture(scope="module")
def wheel_contents(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in a wheel built from the tracked files alone."""
    with zipfile.ZipFile(build_wheel(tmp_path_factory)) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_tracked_module_and_data_file(wheel_contents: set[str]) -> None:
    missing = [name for name in packaged_files() if f"conjury/{name}" not in wheel_contents]
    assert missing == []


def test_wheel_leaves_out_what_only_makes_or_runs_tests(wheel_contents: set[str]) -> None:
    """R's scripts that make reference tables, R's own tests, and files that are not listed as data."""
    kept_back = [name for name in tracked_files() if name.startswith(LEFT_OUT_OF_THE_WHEEL)]
    assert {name.rpartition("/")[0] + "/" for name in kept_back} >= set(LEFT_OUT_OF_THE_WHEEL)
    shipped = {name.removeprefix("conjury/") for name in wheel_contents if name.startswith("conjury/")}
    assert shipped - set(packaged_files()) == set()


def test_wheel_installs_nothing_but_conjury(wheel_contents: set[str]) -> None:
    version = PYPROJECT["project"]["version"]
    assert {name.partition("/")[0] for name in wheel_contents} == {"conjury", f"conjury-{version}.dist-info"}


def test_every_folder_with_modules_is_a_listed_package() -> None:
    folders = {str(Path(name).parent) for name in packaged_files() if name.endswith(".py")}
    packages = {"conjury." + folder.replace("/", ".") for folder in folders}
    assert packages - set(PYPROJECT["tool"]["setuptools"]["packages"]) == set()


# ---- the import ----


def in_fresh_python(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_analysis_is_imported_within_half_a_second() -> None:
    code = (
        "from time import perf_counter as now; start = now(); import conjury.analysis; print(now() - start)"
    )
    assert min(float(in_fresh_python(code)) for _ in range(3)) < 0.5


@pytest.mark.parametrize("module", ["conjury.analysis", "conjury.analysis.conjoint", "conjury.inference"])
def test_import_leaves_heavy_partners_alone(module: str) -> None:
    loaded = in_fresh_python(
        f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    )
    assert HEAVY & set(loaded.split()) == set()


@pytest.mark.parametrize("module", ["conjury.analysis.benchmark", "conjury.analysis.raters"])
def test_analyses_of_judgments_start_without_distributions_of_scipy(module: str) -> None:
    loaded = in_fresh_python(f"import sys, {module}; print(*sys.modules)")
    assert (HEAVY | {"scipy.stats"}) & set(loaded.split()) == set()


def test_the_help_of_the_command_line_needs_no_tables() -> None:
    loaded = in_fresh_python(
        "import sys, conjury.cli.main; print(*{name.partition('.')[0] for name in sys.modules})"
    )
    assert (HEAVY | {"numpy", "pandas", "pydantic", "scipy"}) & set(loaded.split()) == set()


# ---- documents and make targets ----


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "reports/README.md"])
def test_make_commands_in_documents_are_targets(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^ {0,4})make ([a-z]+)", text, flags=re.MULTILINE))
    assert named - make_targets() == set()


def test_ci_runs_make_targets_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    lanes = ["test", "test-bayes", "test-long", "test-pdf", "test-vllm"]
    assert commands == [f"make {name}" for name in ("lint", *lanes)]
    assert set(lanes) <= make_targets()


def test_make_alone_describes_every_target_for_users() -> None:
    shown = subprocess.run(["make", "--silent"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    described = set(re.findall(r"^make ([a-z-]+) +\w", shown, flags=re.MULTILINE))
    assert described == make_targets()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="AVX-512 is of x86")
def test_the_portable_lane_leaves_avx512_out_and_says_nothing() -> None:
    code = """
import numpy
from numpy._core._multiarray_umath import __cpu_features__ as features
print(any(there for name, there in features.items() if name in ("AVX512_SKX", "X86_V4")))
"""
    lane = [".ci/portable.sh", sys.executable, "-W", "error", "-c", code]
    ran = subprocess.run(lane, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert ran.stdout in ("False\n", "This processor has no AVX-512: make test already runs these numbers.\n")


def test_version_is_the_same_everywhere() -> None:
    version = PYPROJECT["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# ---- the set-up script, among stand-ins for what it may find ----


class Machine:
    """A checkout and a PATH that hold only what a test puts there."""

    TOOLS = ("cat", "dirname", "id", "ln", "mkdir", "mktemp", "rm", "sh", "tail")

    def __init__(self, folder: Path) -> None:
        self.home, self.bin = folder / "home", folder / "bin"
        self.checkout = folder / "checkout"
        self.calls = folder / "calls"
        for made in (self.home, self.bin, self.checkout / ".ci"):
            made.mkdir(parents=True)
        shutil.copy(ROOT / ".ci" / "setup.sh", self.checkout / ".ci" / "setup.sh")
        for tool in self.TOOLS:
            found = shutil.which(tool)
            assert found is not None
            (self.bin / tool).symlink_to(found)

    def add(self, path: Path, body: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!{shutil.which("sh")}\necho "$0 $*" >> "{self.calls}"\n{body}\n', encoding="utf-8")
        path.chmod(0o755)

    def add_python(self, path: Path, minor: int) -> None:
        answers = f'*version_info*) echo "3 {minor}";; *sys.executable*) echo "{path}";; *) exit 1;;'
        body = f'case "$*" in {answers} esac'
        self.add(path, body)

    def add_uv(self) -> None:
        python = f'echo "#!{self.bin}/sh" > .venv/bin/python; chmod +x .venv/bin/python'
        (self.bin / "chmod").symlink_to(str(shutil.which("chmod")))
        self.add(self.bin / "uv", f'case "$1" in sync) mkdir -p .venv/bin; {python};; python) exit 1;; esac')

    def set_up(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.checkout / ".ci" / "setup.sh"), "base"],
            env={"PATH": str(self.bin), "HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=False,
        )

    def syncs(self) -> list[str]:
        calls = self.calls.read_text(encoding="utf-8").splitlines()
        return [call for call in calls if call.startswith(f"{self.bin}/uv sync")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_setup_prefers_pyenvs_newer_python_to_an_older_one_on_the_path(machine: Machine) -> None:
    newer = machine.home / ".pyenv" / "versions" / "3.12.9" / "bin" / "python"
    machine.add_python(machine.bin / "python3", 11)
    machine.add_python(newer, 12)
    machine.add_uv()
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    assert all(f"--python {newer}" in call for call in machine.syncs())


def test_setup_goes_on_with_311_and_names_what_is_left_out(machine: Machine) -> None:
    machine.add_python(machine.bin / "python3", 11)
    machine.add_uv()
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    assert "Python 3.11, without the Bayesian models" in done.stdout
    assert all(f"--python {machine.bin / 'python3'}" in call for call in machine.syncs())


def test_setup_without_r_names_the_packages_and_leaves_rpy2_out(machine: Machine) -> None:
    machine.add_python(machine.bin / "python3.13", 13)
    machine.add_uv()
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    assert "install R with survey and testthat" in done.stdout
    assert [call for call in machine.syncs() if "--extra r" in call] == []


def test_setup_with_r_adds_rpy2(machine: Machine) -> None:
    machine.add_python(machine.bin / "python3.12", 12)
    machine.add_uv()
    machine.add(machine.bin / "R", "exit 0")
    machine.add(machine.bin / "Rscript", "exit 0")
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    assert "R engines: yes" in done.stdout
    assert machine.syncs()[-1].endswith("--extra r")


def test_setup_fails_in_one_sentence_without_python(machine: Machine) -> None:
    machine.add_uv()
    done = machine.set_up()
    assert done.returncode == 1
    assert "install Python 3.12" in done.stderr
