"""Files named by their content: written once and whole, by several processes too; damage is found."""

from __future__ import annotations

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjury.inference.vignettes.store import Stored, keep, place, problems, replaced, sweep


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@given(content=st.binary(max_size=200))
def test_a_picture_lies_under_the_hash_of_its_bytes(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    root = tmp_path_factory.mktemp("store")
    stored = keep(root, content, "png")
    sha256 = hashlib.sha256(content).hexdigest()
    assert stored == Stored(f"pictures/{sha256[:2]}/{sha256}.png", sha256, len(content))
    assert (root / stored.file).read_bytes() == content
    assert names(root) == [place(sha256, "png")]


def test_a_picture_that_is_there_is_not_written_again_unless_it_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / keep(tmp_path, b"a picture", "png").file
    before = path.stat()
    keep(tmp_path, b"a picture", "png")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    path.write_bytes(b"a pic")
    keep(tmp_path, b"a picture", "png")
    assert path.read_bytes() == b"a picture"


def test_many_may_write_the_same_picture_at_once(tmp_path: Path) -> None:
    contents = [bytes([number % 5]) * 50_000 for number in range(200)]
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda content: keep(tmp_path, content, "png"), contents))
    assert names(tmp_path) == sorted({one.file for one in made})
    assert len(names(tmp_path)) == 5
    assert not list(problems(tmp_path, [(one.file, one.sha256) for one in made]))


def test_a_file_that_is_broken_off_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(b"old")

    def write() -> None:
        with replaced(path) as file:
            file.write(b"new, and half of")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["table"]


def test_missing_and_damaged_pictures_are_named(tmp_path: Path) -> None:
    kept = [keep(tmp_path, bytes([number]) * 100, "png") for number in range(4)]
    (tmp_path / kept[1].file).unlink()
    (tmp_path / kept[2].file).write_bytes(bytes([2]) * 99 + b"x")
    (tmp_path / kept[3].file).unlink()
    (tmp_path / kept[3].file).mkdir()
    found = list(problems(tmp_path, [(one.file, one.sha256) for one in kept]))
    assert found == [
        f"{kept[1].file} is missing",
        f"{kept[2].file} is damaged",
        f"{kept[3].file} cannot be read (Is a directory)",
    ]


def test_what_killed_processes_had_begun_is_removed_when_it_is_old(tmp_path: Path) -> None:
    kept = keep(tmp_path, b"whole", "png")
    old, new = ((tmp_path / kept.file).with_name(f".{name}.png.17.tmp") for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half")
    hours_ago = time.time() - 7200
    os.utime(old, (hours_ago, hours_ago))
    os.utime(tmp_path / kept.file, (hours_ago, hours_ago))
    assert sweep(tmp_path) == 1
    assert names(tmp_path) == sorted([kept.file, str(new.relative_to(tmp_path))])
