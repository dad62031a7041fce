"""The repository as a user meets it: the wheel, the import, the make targets, the set-up script."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from _pytest.mark.expression import Expression
from lints import lint
from wheel import ROOT, build_wheel, tracked_files

from conjury.cli.main import PLACES

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = {
    folder: name for name, folder in PYPROJECT["tool"]["setuptools"]["package-dir"].items()
}  # analysis: conjury.analysis
LEFT_OUT_OF_THE_WHEEL = ("R/benchmark/", "R/conjoint/", "R/raters/", "R/tests/")
HEAVY = {"arviz", "linearmodels", "matplotlib", "numba", "pymc", "rpy2", "sqlalchemy", "statsmodels", "torch"}
HEAVY |= {"av", "openai", "ray", "vllm", "xarray"}


def packaged_files() -> list[str]:
    return [
        name
        for name in tracked_files()
        if name.partition("/")[0] in FOLDERS
        and not name.startswith(LEFT_OUT_OF_THE_WHEEL)
        and not Path(name).name.startswith(".")
    ]


def place_in_wheel(name: str) -> str:
    """Where a file lies below ``conjury``: as in the checkout, but for the package itself."""
    return name.replace("cli/package/", "", 1)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", text_of("Makefile"), flags=re.MULTILINE))


def lanes() -> dict[str, Expression]:
    """Which tests each target chooses by their markers."""
    default = PYPROJECT["tool"]["pytest"]["ini_options"]["addopts"]
    chosen = {"test": re.search(r"-m '([^']+)'", default)[1]}
    recipe = r"^(test-[a-z-]+):.*\n(?:\t.*\n)*?\t.*pytest.* -m (?:\"([^\"]+)\"|(\w+))"
    for target, quoted, word in re.findall(recipe, text_of("Makefile"), flags=re.MULTILINE):
        chosen[target] = quoted or word
    return {target: Expression.compile(text) for target, text in chosen.items()}


@pytest.mark.parametrize("further", [(), ("long",)], ids=str)
@pytest.mark.parametrize("lane", ["pdf", "database", "cluster", "ceiling"])
def test_only_the_lane_with_further_packages_runs_the_tests_that_need_them(lane: str, further: tuple) -> None:
    markers = {lane, *further}
    running = {name for name, chosen in lanes().items() if chosen.evaluate(lambda name, **_: name in markers)}
    assert running == {"test-ceilings" if lane == "ceiling" else f"test-{lane}"}


# ---- the wheel ----


@pytest.mark.long
def test_the_wheel_holds_every_tracked_module_and_data_file_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Left out are R's scripts that make reference tables, R's own tests, and files not listed as data."""
    with zipfile.ZipFile(build_wheel(tmp_path_factory)) as archive:
        contents = set(archive.namelist())
    packaged = packaged_files()
    assert [name for name in packaged if f"conjury/{place_in_wheel(name)}" not in contents] == []
    kept_back = [name for name in tracked_files() if name.startswith(LEFT_OUT_OF_THE_WHEEL)]
    assert {name.rpartition("/")[0] + "/" for name in kept_back} >= set(LEFT_OUT_OF_THE_WHEEL)
    shipped = {name.removeprefix("conjury/") for name in contents if name.startswith("conjury/")}
    assert shipped - {place_in_wheel(name) for name in packaged} == set()
    version = PYPROJECT["project"]["version"]
    assert {name.partition("/")[0] for name in contents} == {"conjury", f"conjury-{version}.dist-info"}


def test_every_folder_with_modules_is_a_listed_package() -> None:
    folders = {str(Path(name).parent) for name in packaged_files() if name.endswith(".py")}
    folders -= {"cli/package"}  # the package itself
    packages = {"conjury", *("conjury." + folder.replace("/", ".") for folder in folders)}
    assert packages - set(PYPROJECT["tool"]["setuptools"]["packages"]) == set()


# ---- the import ----


def in_fresh_python(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.long
def test_import_leaves_heavy_partners_alone() -> None:
    commands = {f"conjury.cli.{place.partition(':')[0]}" for place in PLACES.values()}  # as help imports them
    steps = {
        "conjury.inference.ledger, conjury.inference.backends.base": {"numpy", "pandas", "pydantic"},
        "conjury.cli.main": {"numpy", "pandas", "pydantic", "scipy"},
        ", ".join(commands): {"numpy", "pandas", "pydantic", "scipy"},
        "conjury.analysis.benchmark, conjury.analysis.raters": {"scipy.stats", "scipy.optimize"},
        "conjury.analysis, conjury.analysis.conjoint, conjury.inference": set(),
    }
    code = "import sys\n" + "".join(f"import {names}; print(*sys.modules)\n" for names in steps)
    loaded = in_fresh_python(code).splitlines()
    found = {
        names: (HEAVY | further) & set(line.split())
        for (names, further), line in zip(steps.items(), loaded, strict=True)
    }
    assert not any(found.values()), found


# ---- documents and make targets ----


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "reports/README.md"])
def test_make_commands_in_documents_are_targets(document: str) -> None:
    named = set(re.findall(r"(?:`|^ {0,4})make ([a-z][a-z-]*)", text_of(document), flags=re.MULTILINE))
    assert named - make_targets() == set()


def test_ci_runs_make_targets_and_nothing_else() -> None:
    lines = [line.partition(" #")[0] for line in text_of(".ci/run").splitlines()]
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert {command.split()[0] for command in commands} == {"make"}
    targets = [word for command in commands for word in command.split()[1:] if not word.startswith("-")]
    lanes = ["test-vllm", "test", "test-bayes", "test-long", "test-pdf"]
    assert targets == ["setup", "lint", *lanes]
    assert set(targets) <= make_targets()


def test_every_lane_is_run_by_ci_or_every_week() -> None:
    weekly = yaml.safe_load(text_of(".github/workflows/weekly.yml"))["jobs"]["lane"]["strategy"]["matrix"][
        "lane"
    ]
    by_hand = {"test-mutants", "test-portable"}  # hours; the rounding of another processor
    lanes = {name for name in make_targets() if name.startswith("test-")}
    assert lanes - by_hand <= set(weekly) <= make_targets()


def test_make_alone_describes_every_target_for_users() -> None:
    shown = subprocess.run(["make", "--silent"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    described = set(re.findall(r"^make ([a-z][a-z-]*) +\w", shown, flags=re.MULTILINE))
    assert described == make_targets()


@pytest.mark.long
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


# ---- what a release states ----


def full_name(author: dict[str, str]) -> str:
    """The name of a group, or of a person as CITATION.cff, CodeMeta or Zenodo writes it."""
    keys = ("given-names", "givenName", "family-names", "familyName")
    parts = [author[key] for key in keys if key in author]
    return " ".join(parts) if parts else " ".join(reversed(author["name"].split(", ")))


def test_version_licence_title_and_authors_are_the_same_everywhere() -> None:
    project, cited = PYPROJECT["project"], yaml.safe_load(text_of("CITATION.cff"))
    codemeta, archive = json.loads(text_of("codemeta.json")), json.loads(text_of(".zenodo.json"))
    r_package = dict(re.findall(r"^(\S+): (.*(?:\n .*)*)", text_of("R/DESCRIPTION"), flags=re.MULTILINE))
    locked = dict(re.findall(r'\nname = "(.+)"\nversion = "(.+)"\n', text_of("uv.lock")))
    bibtex = dict(re.findall(r"(\w+) = \{+(.*?)\}+,?\n", text_of("docs/project/cite.md")))

    assert f"\n## {project['version']}" in text_of("CHANGELOG.md")
    versions = {entry["version"] for entry in (cited, codemeta, archive, bibtex)}
    assert {*versions, r_package["Version"], locked["conjury"]} == {project["version"]}
    licences = {cited["license"], codemeta["license"].rpartition("/")[2], archive["license"]}
    assert licences == {project["license"]}
    assert r_package["License"] == f"{project['license']} + file LICENSE"
    authors = [author["name"] for author in project["authors"]]
    for entry, names in ((cited, "authors"), (codemeta, "author"), (archive, "creators")):
        assert [full_name(author) for author in entry[names]] == authors
    for author in authors:
        assert author in r_package["Authors@R"]
        assert author in text_of("docs/project/paper.md").split("---")[1]
    assert bibtex["author"] == " and ".join(authors)
    assert cited["title"] == archive["title"] == bibtex["title"].replace("{LLM}", "LLM")
    for title in (cited["title"], r_package["Title"], project["description"], codemeta["description"]):
        assert "how llm judges decide, next to human judges" in title.lower()


def test_one_setting_fills_the_address_everywhere_and_without_it_nothing_links_anywhere() -> None:
    metadata = lint("metadata")
    texts = metadata.read_all(ROOT)
    assert metadata.filled(texts) == texts
    setting = r'(?m)^repository = ".*"'
    address = "https://github.com/ada/juries"
    named = {**texts, "pyproject.toml": re.sub(setting, f'repository = "{address}"', texts["pyproject.toml"])}
    published = metadata.filled(named)
    stated = {*metadata.FILES} - {"uv.lock", "CHANGELOG.md", "docs/project/cite.md", ".zenodo.json"}
    stated -= {*metadata.STATED}
    assert {name for name, text in published.items() if "ada/juries" in text} == stated
    assert not any("OWNER" in published[page] for page in metadata.PAGES)
    assert tomllib.loads(published["pyproject.toml"])["project"]["urls"]["Source"] == address
    assert metadata.filled(published) == published
    withdrawn = re.sub(setting, 'repository = ""', published["pyproject.toml"])
    unnamed = metadata.filled({**published, "pyproject.toml": withdrawn})
    assert not any("ada/juries" in text for text in unnamed.values())
    assert any("address" in sentence for sentence in metadata.lacks(unnamed, "v0.0.0"))


def test_a_release_is_published_after_all_else_and_alone_may_sign_or_write() -> None:
    jobs = yaml.safe_load(text_of(".github/workflows/release.yml"))["jobs"]

    def before(name: str) -> set[str]:
        needs = jobs[name].get("needs", [])
        needs = {needs} if isinstance(needs, str) else set(needs)
        return needs.union(*(before(need) for need in needs))

    allowed = {name for name, job in jobs.items() if "permissions" in job}
    assert before("attest") == set(jobs) - allowed
    assert before("pypi") == before("attest") | {"attest"}
    assert before("github") == before("pypi") | {"pypi"}
    assert allowed == {"attest", "pypi", "github"}
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert {line[5:] for line in commands if line.startswith("make ")} <= make_targets()
    assert not any("${{" in command for command in commands)


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

    def set_up(self) -> tuple[int, str, str, list[str]]:
        """Exit code and output of the script, and its calls of `uv sync`."""
        done = subprocess.run(
            [str(self.checkout / ".ci" / "setup.sh"), "base"],
            env={"PATH": str(self.bin), "HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=False,
        )
        calls = self.calls.read_text(encoding="utf-8").splitlines() if self.calls.exists() else []
        syncs = [call for call in calls if call.startswith(f"{self.bin}/uv sync")]
        return done.returncode, done.stdout, done.stderr, syncs


@pytest.mark.parametrize(
    ("pythons", "r", "python", "told"),
    [
        pytest.param(
            {"bin/python3": 11, "home/.pyenv/versions/3.12.9/bin/python": 12},
            False,
            "home/.pyenv/versions/3.12.9/bin/python",
            "",
            id="a newer Python of pyenv is preferred to an older one on the PATH",
        ),
        pytest.param(
            {"bin/python3": 11},
            False,
            "bin/python3",
            "Python 3.11, without the Bayesian models",
            id="3.11 does, and what is left out is named",
        ),
        pytest.param(
            {"bin/python3.13": 13},
            False,
            "bin/python3.13",
            "install R with survey and testthat",
            id="without R its packages are named and rpy2 is left out",
        ),
        pytest.param({"bin/python3.12": 12}, True, "bin/python3.12", "R engines: yes", id="R adds rpy2"),
    ],
)
def test_setup_takes_what_it_finds_and_names_what_is_left_out(
    tmp_path: Path, pythons: dict[str, int], r: bool, python: str, told: str
) -> None:
    machine = Machine(tmp_path)
    for place, minor in pythons.items():
        machine.add_python(tmp_path / place, minor)
    machine.add_uv()
    for name in ("R", "Rscript") if r else ():
        machine.add(machine.bin / name, "exit 0")
    code, out, error, syncs = machine.set_up()
    assert code == 0, error
    assert told in out
    assert syncs
    assert all(f"--python {tmp_path / python}" in call for call in syncs)
    assert [call.endswith("--extra r") for call in syncs[-1:]] == [r]
    assert r or not [call for call in syncs if call.endswith("--extra r")]


def test_setup_fails_in_one_sentence_without_python(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.add_uv()
    code, _, error, _ = machine.set_up()
    assert code == 1
    assert "install Python 3.12" in error
