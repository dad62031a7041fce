"""Manifests and provenance that were damaged or written by somebody else: one sentence, exit code 2."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]
PROVENANCE, MANIFEST = "runs/minimal/provenance.json", "results/manifest.json"
READERS = {
    PROVENANCE: (
        "run status study.yaml",
        "paper checklist study.yaml --run runs/minimal",
        "paper metadata runs/minimal",
    ),
    MANIFEST: (
        "tables results --to html --out tables",
        "paper checklist study.yaml --results results",
        "paper metadata results",
        "paper methods results",
        "agreement judgments.csv --where task=stars --draws 0 --results results",
    ),
}
OTHERS: tuple[Any, ...] = (None, True, 7, -1.5, "text", "", [], {}, ["a"], {"a": 1}, [[1]], 10**30)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, conjury: Run) -> Path:
    """A study with a run and results."""
    place = tmp_path_factory.mktemp("records")
    assert conjury("init minimal flats", cwd=place).code == 0
    shutil.copytree(place / "flats", place, dirs_exist_ok=True)
    for line in (
        "collect study.yaml --judge mini --backend simulated",
        "fit study.yaml --data runs/minimal/choices.parquet --draws 0",
        "example ratings",
    ):
        assert conjury(line, cwd=place, figures=()).code == 0
    return place


@pytest.fixture
def damaged(finished: Path, conjury: Run) -> Iterator[Callable[[str, bytes], list[Any]]]:
    """Write other bytes into one of the files, and run all commands that read it."""
    contents = {name: (finished / name).read_bytes() for name in READERS}

    def run(name: str, content: bytes) -> list[Any]:
        (finished / name).write_bytes(content)
        return [conjury(line, cwd=finished, figures=()) for line in READERS[name]]

    yield run
    for name, content in contents.items():
        (finished / name).write_bytes(content)


SHAPES = {
    PROVENANCE: [b'{"served": 5}', b'{"served": [{}], "settings": {}}', b'{"a": "\x01"}'],
    MANIFEST: [b'{"labels": {"levels": "x"}}', b'{"format": 2, "results": [{"name": "a"}]}'],
}
ANYWHERE = [b"[]", b"true", b"3", b"{'a': 1}", b"", b"\xff\xfe", b"[" * 101 + b"]" * 101, b"9" * 10**6]


@pytest.mark.parametrize(
    ("name", "content"),
    [(name, content) for name, shapes in SHAPES.items() for content in (*shapes, *ANYWHERE)],
    ids=lambda value: str(value[:20]),
)
def test_a_record_of_another_shape_is_refused_by_name(name, content, damaged):
    for ended in damaged(name, content):
        assert ended.code == 2, ended.err
        assert Path(name).stem in ended.err
        assert re.fullmatch(r"conjury: .*[.?]\n", ended.err), ended.err


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = (
        value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    )
    for key, one in inner:
        yield from places(one, (*at, key))


@pytest.mark.parametrize(
    ("name", "number"),
    [(PROVENANCE, 6), (MANIFEST, 6), *(pytest.param(name, 60, marks=pytest.mark.slow) for name in READERS)],
)
def test_a_field_of_another_kind_never_ends_in_a_traceback(name, number, finished, damaged):
    original = json.loads((finished / name).read_text(encoding="utf-8"))
    everywhere = [place for place in places(original) if place]
    rng, codes = np.random.default_rng(number), []
    for _ in range(number):
        *above, last = everywhere[rng.integers(len(everywhere))]
        changed = copy.deepcopy(original)
        part = changed
        for step in above:
            part = part[step]
        part[last] = OTHERS[rng.integers(len(OTHERS))]
        for ended in damaged(name, json.dumps(changed).encode()):
            assert ended.code in (0, 2), f"{[*above, last]} = {part[last]!r}: {ended.err}"
            codes.append(ended.code)
    assert 2 in codes


@pytest.mark.parametrize("key", ["written", "replaced"])
@pytest.mark.parametrize("how", ["..", "absolute", "link", "number"])
def test_a_swap_of_a_stranger_s_results_touches_nothing_outside(key, how, tmp_path, conjury):
    (tmp_path / "outside").mkdir()
    precious = tmp_path / "outside" / "thesis.txt"
    precious.write_text("years of work")
    draft = tmp_path / "results" / ".draft-1"
    draft.mkdir(parents=True)
    (tmp_path / "results" / "tables").symlink_to(tmp_path / "outside")
    path = {"..": "tables/../../outside/thesis.txt", "absolute": str(precious), "link": "tables/thesis.txt"}
    (draft / "thesis.txt").write_text("nothing")
    swap = {"written": [], "replaced": []} | {key: [path.get(how, 3)]}
    (draft / "swap.json").write_text(json.dumps(swap))
    ended = conjury("paper methods results", cwd=tmp_path)
    assert precious.read_text() == "years of work"
    assert ended.code == 2
    fault = "the file should name" if how == "number" else "thesis.txt' is no file of these results; remove"
    assert fault in ended.err
