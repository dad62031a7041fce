"""Entries of a registry: from folders, places and made-up distributions, each imported when it is needed."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from conjury.analysis.frames.analysis_wings import PUBLISHED
from conjury.analysis.frames.analysis_wings import WINGS as WINGS_OF_ANALYSIS
from conjury.cli.main import COMMANDS
from conjury.inference import entry_registry
from conjury.inference.entry_registry import Registry
from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.inference_wings import WINGS as WINGS_OF_INFERENCE
from conjury.inference.readers.programs.formats import READERS

MADE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
ADDED, MODULES = MADE["added"], MADE["modules"]  # a distribution that adds one entry of each kind
SHOW, SCORE = MADE["scripts"]["show"], MADE["scripts"]["score"]


def distribute(place: Path, points: dict[str, str], modules: dict[str, str]) -> None:
    """Lay out a distribution as an installer does."""
    (place / "addition").mkdir()
    (place / "addition" / "__init__.py").touch()
    for name, code in modules.items():
        (place / "addition" / f"{name}.py").write_text(code)
    information = place / "addition-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: addition\nVersion: 1.0\n")
    lines = [f"[{group}]\n{point if '=' in point else f'all = {point}'}\n" for group, point in points.items()]
    (information / "entry_points.txt").write_text("\n".join(lines))


def run(code: str, place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(place)!r})\n{code}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_an_installed_distribution_adds_checks_figures_exhibits_trials_and_arithmetic(tmp_path):
    distribute(tmp_path, ADDED, MODULES)
    ended = run(SHOW, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["True"] * 12


@pytest.mark.slow
def test_an_installed_distribution_adds_a_metric_with_its_baselines(tmp_path):
    distribute(tmp_path, {"conjury.metrics": "addition.metrics"}, MODULES)
    ended = run(SCORE, tmp_path)
    assert ended.stdout == "{'gpt': 0.333, 'majority class': 0.333, 'random': 0.25}\n", ended.stderr
    assert run("import addition.metrics", tmp_path).returncode == 0
    twice = "import addition.metrics, importlib; importlib.reload(addition.metrics)"
    assert "The metric 'half' cannot be added" in run(twice, tmp_path).stderr


@pytest.mark.long
def test_an_installed_distribution_adds_a_command_that_is_imported_when_it_is_run(tmp_path):
    distribute(tmp_path, ADDED, MODULES)
    code = "from conjury.cli.main import main; main()"
    assert run(code, tmp_path, "greet", "you").stdout == "Hello you.\n"
    assert "Greet someone." in run(code, tmp_path, "--help").stdout
    (tmp_path / "addition" / "commands.py").write_text("import no_such_module\n")
    assert run(code, tmp_path, "status", "--help").returncode == 0
    refused = run(code, tmp_path, "greet", "you")
    assert refused.returncode == 2
    assert "addition adds addition.commands:greet to conjury.commands, which cannot be" in refused.stderr


def test_a_distribution_that_takes_a_name_or_cannot_be_imported_is_refused(tmp_path, monkeypatch):
    distribute(
        tmp_path, {"made_up.shapes": "circle = addition.shapes:area", "made_up.colours": "addition"}, {}
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(entry_registry, "_entry_points", metadata.entry_points)
    with pytest.raises(InputError, match=r"addition adds 'circle' to made_up\.shapes, which has it"):
        list(Registry[object]("made_up.shapes", places={"circle": "math:tau"}))
    (tmp_path / "addition" / "__init__.py").write_text("import no_such_module\n")
    with pytest.raises(InputError, match=r"addition adds addition to made_up\.colours, which cannot be"):
        len(Registry[object]("made_up.colours"))


def test_an_entry_whose_module_is_absent_is_none_and_its_name_says_what_is_missing():
    registry = Registry[float](
        "made_up.numbers", places={"there": "math:tau", "absent": "no_such.module:tau"}
    )
    assert list(registry) == ["there"]
    assert registry.get("absent") is None
    with pytest.raises(MissingDependency, match=r"has no no_such\.module"):
        registry.find("absent")


def test_a_place_is_imported_without_the_folders_and_the_entry_points():
    registry = Registry[float]("made_up.numbers", ["no_such_folder"], {"tau": "math:tau"})
    assert registry["tau"] > 6
    with pytest.raises(ModuleNotFoundError):
        registry.get("pi")


def test_each_place_of_the_project_is_there():
    for registry in (COMMANDS, PUBLISHED, READERS, WINGS_OF_ANALYSIS, WINGS_OF_INFERENCE):
        assert [name for name in registry.places if name not in registry] == []
