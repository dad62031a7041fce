"""The gallery: short scripts that answer a question by a figure, with public names alone."""

from __future__ import annotations

import ast
import runpy
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from shared_folder import REPOSITORY

GALLERY = REPOSITORY / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.glob("*/plot_*.py"))
LONGEST = 24
NAMES = 15


def name_of(script: Path) -> str:
    return f"{script.parent.name}/{script.stem.removeprefix('plot_')}"


def parsed(script: Path) -> ast.Module:
    return ast.parse(script.read_text(encoding="utf-8"))


def title_of(script: Path) -> str:
    return (ast.get_docstring(parsed(script)) or "").partition("\n")[0]


def imported(script: Path) -> list[tuple[str, str]]:
    """Modules of the package with the names that a script imports from them."""
    found = [
        (statement.module or "", alias.name)
        for statement in ast.walk(parsed(script))
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    ]
    return [(module, name) for module, name in found if module.startswith("conjury")]


def test_there_are_forty_figures_or_more_and_their_questions_differ() -> None:
    titles = [title_of(script) for script in SCRIPTS]
    assert len(titles) >= 40
    assert len(set(titles)) == len(titles)


def test_folders_can_be_read_at_a_glance_and_have_a_header() -> None:
    folders = {script.parent for script in SCRIPTS}
    assert [folder.name for folder in folders if len(list(folder.iterdir())) > NAMES] == []
    assert [folder.name for folder in folders if not (folder / "GALLERY_HEADER.rst").exists()] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_is_short_and_asks_a_question(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    title, rule, *rest = (ast.get_docstring(parsed(script)) or "").splitlines()
    assert len(text.splitlines()) <= LONGEST
    assert title.endswith("?")
    assert rule == "=" * len(title)
    assert " ".join(rest).strip().endswith(".")
    last = parsed(script).body[-1]
    assert isinstance(last, ast.Assign)
    assert ast.unparse(last.targets[0]) == "figure"


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_imports_public_names_alone(script: Path) -> None:
    for module, name in imported(script):
        found = import_module(module)
        assert name in getattr(found, "__all__", dir(found)), f"{module} does not offer {name}"
        assert not any(part.startswith("_") for part in (*module.split("."), name))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_leaves_a_figure_when_it_is_run_in_an_empty_folder(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    figure = runpy.run_path(str(script))["figure"]
    assert isinstance(figure, Figure)
    assert any(axes.has_data() or axes.patches for axes in figure.axes)
