"""`conjury example`: files that the other commands take."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from conjury.inference.tables.files import EXAMPLES

Told = Callable[..., tuple[int, str]]
KNOWN = yaml.safe_load((EXAMPLES / "examples.yaml").read_text(encoding="utf-8"))
MAKER = Path(__file__).parents[1] / "fixtures" / "examples" / "make_examples.py"


def test_every_folder_is_an_example_with_words_about_it() -> None:
    assert set(KNOWN) == {path.name for path in EXAMPLES.iterdir() if path.is_dir()}


def test_without_a_name_the_examples_are_listed(conjury_here: Told) -> None:
    code, printed = conjury_here("example")
    assert code == 0
    assert [line.partition(":")[0] for line in printed.splitlines()[:-1]] == list(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_files_are_written_once_and_never_over_others(name: str, conjury_here: Told) -> None:
    code, printed = conjury_here("example", name)
    assert (code, KNOWN[name]["next"] in printed) == (0, True)
    for source in (EXAMPLES / name).iterdir():
        assert Path(source.name).read_bytes() == source.read_bytes()
    code, printed = conjury_here("example", name)
    assert (code, "exists and is not overwritten" in printed) == (2, True)


def test_an_unknown_example_is_refused_with_those_that_there_are(conjury_here: Told) -> None:
    code, printed = conjury_here("example", "nothing")
    assert code == 2
    assert all(name in printed for name in KNOWN)


def test_the_script_makes_the_files_that_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("make_examples", MAKER)
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    monkeypatch.setattr(maker, "EXAMPLES", tmp_path)
    maker.main()
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) >= len(KNOWN)
    for path in made:
        assert path.read_bytes() == (EXAMPLES / path.relative_to(tmp_path)).read_bytes(), path
