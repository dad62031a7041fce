"""Imports that the contract of the rooms must see, in a made-up tree of the layers."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import cases
from lints import lint
from shared_folder import REPOSITORY

ABOVE = "numerics may not import report"
TOP = "lies above all rooms"


def breaches(root: Path, line: str, module: str = "analysis/numerics/sums.py") -> list[str]:
    """Return the breaches in a tree in which a module has a line."""
    for layer in ("analysis", "inference", "cli"):
        (root / layer).mkdir(exist_ok=True)
    for name in ("analysis/report/pages.py", "analysis/numerics/sums.py", "cli/package/__init__.py"):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
        for folder in (path.parent, root / "analysis"):
            (folder / "__init__.py").touch()
    (root / module).write_text(f"{line}\n")
    return sorted(lint("check_rooms").problems(root))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("from ..report.pages import page", ABOVE),
        ("from ..report import pages", ABOVE),
        ("def late():\n    from ..report import pages", ABOVE),
        ("import conjury.analysis.report.pages", ABOVE),
        ("import os, conjury.analysis.report.pages as pages", ABOVE),
        ("from conjury.analysis.report import pages", ABOVE),
        ("from importlib import import_module; import_module('conjury.analysis.report.pages')", ABOVE),
        ("import importlib; importlib.import_module('..report.pages', __package__)", ABOVE),
        ("from importlib import import_module; import_module(f'conjury.analysis.report.{name}')", ABOVE),
        ("from importlib import import_module; import_module(f'{__package__}.sums')", None),
        ("from importlib import import_module; import_module(f'{__package__}.{name}')", None),
        ("__import__('conjury.analysis.report')", ABOVE),
        ("from conjury import amce", TOP),
        ("import conjury", TOP),
        ("from importlib import import_module; import_module('conjury')", TOP),
        ("import conjury.analysis", "lies above its rooms"),
        ("import conjury.cli.package", TOP),
        ("import numpy, conjuring.analysis.report", None),
        ("from importlib import import_module; import_module('numpy')", None),
    ],
)
def test_every_form_of_an_import_of_a_higher_room_is_seen(
    tmp_path: Path, line: str, reason: str | None
) -> None:
    found = [one for one in breaches(tmp_path, line) if one.startswith("analysis/numerics/sums.py:")]
    assert len(found) == (reason is not None)
    assert all(str(reason) in one for one in found)


def test_a_room_may_import_from_below_in_every_form(tmp_path: Path) -> None:
    for line in ("import conjury.analysis.numerics.sums", "from ..numerics import sums"):
        assert breaches(tmp_path, line, "analysis/report/pages.py") == []


@pytest.mark.parametrize(("module", "line", "is_refused"), cases(__file__, "imports_of_wings"))
def test_a_wing_is_imported_by_its_own_parts_alone(
    tmp_path: Path, module: str, line: str, is_refused: bool
) -> None:
    for part in ("analysis/audit/paper_comparison.py", "analysis/pipeline/wings/made.py"):
        (tmp_path / part).parent.mkdir(parents=True)
        for folder in {(tmp_path / part).parent, *(tmp_path / part).parent.parents} - {*tmp_path.parents}:
            (folder / "__init__.py").touch()
        (tmp_path / part).touch()
    refused = [one for one in breaches(tmp_path, line, module) if "of the wing analysis.audit" in one]
    assert len(refused) == is_refused


def test_each_part_of_a_wing_is_a_module() -> None:
    rooms = lint("check_rooms")
    assert {part for wing, parts in rooms.WINGS.items() for part in (wing, *parts)} <= set(
        rooms.modules(REPOSITORY)
    )
