"""What linters of docstrings, names and sizes report, and public docstrings in the form of numpydoc."""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from lints import lint
from numpydoc import validate
from numpydoc.docscrape import get_doc_object
from public_names import public_modules

SUM = "class Sum:\n    {0}\n    def add(self):\n        {0}\n    def _add(self):\n        {0}"
LONG = '"""Summary.\n\n    More about it.\n    """'


def too_long(code: str, path: str = "analysis/sums.py") -> list[str]:
    """Return the names whose docstrings are reported; `total` and `Sum` are exported."""
    found = lint("check_docstrings").long_docstrings(Path(path), ast.parse(code), {"total", "Sum"})
    return [sentence.split("docstring of ")[1].split()[0] for sentence in found]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (f"def inner():\n    {LONG}", ["inner"]),
        ('def inner():\n    """Summary,\n    in three\n    lines."""', []),
        (f"def total():\n    {LONG}", []),
        (f"def total():\n    def total():\n        {LONG}", []),
        (SUM.format(LONG), ["_add"]),
        (f"class Inner:\n    def add(self):\n        {LONG}", ["add"]),
    ],
)
def test_long_docstrings_of_inner_names_are_reported(code: str, names: list[str]) -> None:
    assert too_long(code) == names


def test_docstrings_of_commands_are_their_help() -> None:
    command = f"@grouped\ndef inner(writing: Writing):\n    {LONG}"
    assert too_long(command, "cli/commands/check.py") == []
    assert too_long(command) == ["inner"]


@pytest.mark.parametrize(("number", "reported"), [(40, False), (41, True), (39, True)])
def test_the_number_of_bare_names_may_only_fall(
    number: int, reported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = lint("check_names")
    monkeypatch.setattr(names, "CEILINGS", {"analysis": 40})
    (tmp_path / "analysis").mkdir()
    code = "\n".join(["def total(found, rows): ...", *["found = labels = 1"] * (number - 1)])
    (tmp_path / "analysis" / "sums.py").write_text(code, encoding="utf-8")
    sentences = list(names.problems(tmp_path))
    assert len(sentences) == reported
    assert all(f"{number} " in sentence for sentence in sentences)


@pytest.mark.parametrize(("number", "reported"), [(2, False), (3, True), (1, True)])
def test_the_number_of_shared_names_may_only_fall(
    number: int, reported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = lint("check_names")
    monkeypatch.setattr(names, "SHARED", {"class": 2, "module": 2})
    for layer, n in (("analysis", 3), ("cli", number), ("tests", 3)):
        (tmp_path / layer).mkdir()
        for k in range(n):
            (tmp_path / layer / f"sums{k}.py").write_text(f"\nclass Sum{k}: ...", encoding="utf-8")
        (tmp_path / layer / "__init__.py").touch()
    sentences = list(names.shared_names(tmp_path))
    assert len(sentences) == 2 * reported
    assert all(sentence.startswith(f"{number} names ") for sentence in sentences)
    text = " ".join(sentences)
    assert ("Sum2 (analysis/sums2.py:2, cli/sums2.py:2)" in text) == (number == 3)
    assert ("sums2 (analysis/sums2.py, cli/sums2.py)" in text) == (number == 3)


def test_a_folder_beyond_its_ceiling_and_modules_imported_by_tests_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = lint("check_sizes")
    for folder in ("analysis/sums", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "analysis" / "sums" / "total.py").write_text("pass\n" * 101, encoding="utf-8")
    imports = "from conjury.analysis.sums import total\nfrom conjury.analysis.sums.total import add\n"
    (tmp_path / "tests" / "test_total.py").write_text(imports, encoding="utf-8")
    monkeypatch.setattr(sizes, "CEILINGS", {"analysis/sums": 1, "tests": 1})
    monkeypatch.setattr(sizes, "MODULES", 0)
    first, second = sizes.problems(tmp_path)
    assert first.startswith("analysis/sums has 101 lines and its ceiling is 100;")
    assert second.startswith("Tests import 1 modules and the ceiling is 0;")
    monkeypatch.setattr(sizes, "CEILINGS", {"analysis/sums": 2, "tests": 1})
    monkeypatch.setattr(sizes, "MODULES", 1)
    assert list(sizes.problems(tmp_path)) == []


# Types are annotations (PR04); See Also, extended summaries and the style of examples are not asked for.
ASKED = {
    *(f"GL{number:02d}" for number in range(1, 11)),
    *("SS01", "SS02", "SS03", "SS04", "SS05", "YD01", "EX01"),
    *("PR01", "PR02", "PR03", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10"),
    *("RT01", "RT03", "RT04", "RT05"),
}
# numpydoc reads the comments of a file anew for each name in it
comments_of = cache(validate.extract_ignore_validation_comments)


@cache
def faults(documented: Any) -> tuple[str, ...]:
    """Name the faults in the docstring of a class or function."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validate, "extract_ignore_validation_comments", comments_of)
        found = validate.validate(get_doc_object(documented))["errors"]
    return tuple(f"{code} {text}" for code, text in found if code in ASKED)


def faults_of(module: ModuleType) -> list[str]:
    """Name the faults in the docstrings of what an `__all__` names; constants and modules have none."""
    named = ((name, getattr(module, name)) for name in module.__all__)
    documented = [(name, one) for name, one in named if inspect.isclass(one) or inspect.isroutine(one)]
    return [f"{name}: {fault}" for name, one in documented for fault in faults(one)]


@pytest.mark.parametrize("name", list(public_modules()))
def test_public_names_are_documented_in_numpydocs_form(name: str) -> None:
    assert faults_of(importlib.import_module(name)) == []


def undocumented(length: int) -> int:
    """Double a number."""
    return 2 * length


def test_a_parameter_without_a_description_and_a_missing_example_are_named() -> None:
    module = ModuleType("made_up")
    module.__all__ = ["CONSTANT", "undocumented"]
    module.CONSTANT, module.undocumented = 3, undocumented  # type: ignore[attr-defined]
    named = faults_of(module)
    assert {fault.split()[1] for fault in named} == {"PR01", "RT01", "EX01"}
    assert all(fault.startswith("undocumented: ") for fault in named)


def test_public_modules_are_found_by_their_names() -> None:
    found = set(public_modules())
    assert {"conjury", "conjury.analysis.conjoint", "conjury.inference.panel.plan"} <= found
