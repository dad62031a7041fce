"""What the linters of docstrings and names report, for made-up code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from lints import lint

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
