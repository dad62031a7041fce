"""Stored pictures: as bytes, as files, in the manifest; whole or not at all, and damage is named."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fakes.vignettes import FACTS, rows
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.errors import InputError
from conjury.inference.study import load_study
from conjury.inference.vignettes import JobFolder, encode, read_manifest
from conjury.inference.vignettes.jobs import picture_manifest, store
from conjury.inference.vignettes.jobs.picture_manifest import (
    drawn_profiles,
    file_sizes,
    job_hash,
    merge_parts,
    picture_rows,
    rewrite,
    write_part,
)
from conjury.inference.vignettes.jobs.store import (
    MEDIA_TYPES,
    compressor,
    damaged_pictures,
    remove_drafts,
    store_picture,
)


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(tmp_path / "stimuli", "towns", "both")


def test_a_manifest_has_every_fact_of_each_picture(folder):
    write_part(folder, rows(folder, [4, 2, 3]))
    merge_parts(folder)
    table = read_manifest(folder.root, "towns", "both")
    facts = "profile_id cues layout theme file sha256 media_type width height bytes url alt size Place boxes"
    assert list(table) == facts.split()
    assert table["profile_id"].tolist() == [2, 3, 4]
    assert table["size"].tolist() == ["large", "small", "large"]
    assert table["size"].cat.categories.tolist() == ["small", "large", "huge"]
    assert table["Place"].fillna("").tolist() == ["", "hills", ""]
    assert table["url"].isna().all()
    assert [(folder.root / file).stat().st_size for file in table["file"]] == table["bytes"].tolist()
    assert list(read_manifest(folder.root, "towns", "both", ["file"])) == ["file"]


def test_levels_whose_column_is_that_of_a_field_are_called_ids(folder):
    known = enumerate_profiles(load_study("moderation")).head(2)
    records = pd.DataFrame(
        {"profile_id": known["profile_id"], "text": ["One.", "Two."], "alt": "", "likes": [1, 2]}
    )
    picture = dict.fromkeys(("width", "height", "bytes"), 1)
    picture |= {"file": "pictures/a.png", "sha256": "a", "media_type": "image/png", "boxes": "[]"}
    write_part(folder, picture_rows(known, records, [picture] * 2, FACTS))
    merge_parts(folder)
    table = read_manifest(folder.root, "towns", "both")
    assert table["text"].tolist() == ["One.", "Two."]
    assert table["text_id"].tolist() == ["everyday_00", "everyday_00"]
    assert {"slur", "speech", "user"} <= set(table)
    assert "probability" not in table
    assert table["likes"].dtype == np.int64


@pytest.mark.long
@given(
    order=st.permutations(range(1, 25)),
    cuts=st.lists(st.integers(1, 23), max_size=3),
    merge=st.integers(0, 3),
)
@settings(max_examples=6, deadline=None)
def test_parts_give_the_same_bytes_in_any_order_and_after_a_crash(tmp_path_factory, order, cuts, merge):
    made = []
    for parts in ([sorted(order)], np.split(np.array(order), sorted(set(cuts)))):
        folder = JobFolder(tmp_path_factory.mktemp("root"), "towns", "both")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(picture_manifest, "GROUP", 7)
            for number, part in enumerate(parts):
                write_part(folder, rows(folder, [int(one) for one in part]))
                if number == merge:
                    crashed = {path: path.read_bytes() for path in folder.parts()}
                    merge_parts(folder)
                    for path, content in crashed.items():  # the crash came before parts were removed
                        path.parent.mkdir(exist_ok=True)
                        path.write_bytes(content)
            merge_parts(folder)
        made.append(folder.manifest.read_bytes())
    assert made[0] == made[1]
    assert pq.read_metadata(folder.manifest).num_row_groups == 4
    assert drawn_profiles(folder).tolist() == sorted(order)


def test_pictures_drawn_again_replace_the_old_ones_and_rewriting_keeps_other_columns(folder, monkeypatch):
    monkeypatch.setattr(picture_manifest, "GROUP", 2)
    write_part(folder, rows(folder, [1, 2, 3, 4, 5]))
    merge_parts(folder)
    again = rows(folder, [2], shade=1)
    write_part(folder, again)
    merge_parts(folder)
    before = read_manifest(folder.root, "towns", "both")
    assert before.set_index("profile_id")["sha256"][2] == again["sha256"][0].as_py()
    assert before["sha256"].is_unique
    place = pq.read_schema(folder.manifest).get_field_index("url")
    rewrite(folder, lambda table: table.set_column(place, "url", pa.array(["https://a.org"] * len(table))))
    after = read_manifest(folder.root, "towns", "both")
    assert after["url"].eq("https://a.org").all()
    pd.testing.assert_frame_equal(after.drop(columns="url"), before.drop(columns="url"))
    assert file_sizes(folder) == dict(zip(before["file"], before["bytes"], strict=True))


def test_missing_and_damaged_tables_are_named_with_their_remedy(folder):
    with pytest.raises(InputError, match=r"`conjury render towns --cues both --out .*stimuli`\.$"):
        read_manifest(folder.root, "towns", "both")
    write_part(folder, rows(folder, [1, 2]))
    (part,) = folder.parts()
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"1-000000002\.parquet: the file is damaged \(.*\); delete it"):
        merge_parts(folder)
    assert not folder.manifest.exists()
    folder.manifest.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(InputError, match=r"profiles\.parquet: the Parquet file is damaged"):
        read_manifest(folder.root, "towns", "both")


def test_the_hash_of_a_job_does_not_depend_on_versions_of_programs(folder):
    def hashed(**facts: object) -> str:
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.job.write_text(json.dumps(facts))
        return job_hash(folder.root, "towns", "both")

    one = hashed(theme="light", made_with={"pillow": "12"})
    assert one == hashed(made_with={"pillow": "13"}, theme="light")
    assert one != hashed(theme="dark")
    folder.job.write_text("{")
    with pytest.raises(InputError, match=r"job\.json:1: the file is not valid JSON"):
        job_hash(folder.root, "towns", "both")


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_a_picture_is_stored_once_under_the_hash_of_its_bytes(tmp_path):
    contents = [bytes([number % 5]) * 50_000 for number in range(100)]
    with ThreadPoolExecutor(8) as threads:
        stored = set(threads.map(lambda content: store_picture(tmp_path, content, "png"), contents))
    hashes = {hashlib.sha256(content).hexdigest() for content in contents}
    assert stored == {(f"pictures/{sha256[:2]}/{sha256}.png", sha256) for sha256 in hashes}
    assert names(tmp_path) == sorted(file for file, _ in stored)
    path = tmp_path / store_picture(tmp_path, contents[0], "png")[0]
    before = path.stat()
    store_picture(tmp_path, contents[0], "png")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    path.write_bytes(contents[0][:-1])
    store_picture(tmp_path, contents[0], "png")
    assert path.read_bytes() == contents[0]


def test_missing_and_damaged_pictures_are_named_and_old_drafts_removed(tmp_path):
    stored = [store_picture(tmp_path, bytes([number]) * 100, "png") for number in range(4)]
    paths = [tmp_path / file for file, _ in stored]
    old, new = (paths[0].with_name(f".{name}.png.17.tmp") for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half")
    for path in (old, paths[0]):
        os.utime(path, (time.time() - 7200,) * 2)
    assert remove_drafts(tmp_path) == 1
    assert names(tmp_path) == sorted(str(path.relative_to(tmp_path)) for path in (*paths, new))
    paths[1].unlink()
    paths[2].write_bytes(bytes([2]) * 99 + b"x")
    paths[3].unlink()
    paths[3].mkdir()
    phrases = ("is missing", "is damaged", "cannot be read (Is a directory)")
    expected = [f"{file} {phrase}" for (file, _), phrase in zip(stored[1:], phrases, strict=True)]
    assert list(damaged_pictures(tmp_path, stored)) == expected


def noise(width: int, height: int, seed: int = 1) -> Image.Image:
    colours = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(colours)


@pytest.mark.parametrize("kind", MEDIA_TYPES)
@given(width=st.integers(1, 90), height=st.integers(1, 90), seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_every_pixel_comes_back_and_bytes_repeat(kind, width, height, seed):
    image = noise(width + 3, height + 2, seed).crop((3, 2, width + 3, height + 2))
    content = encode(image, kind)
    assert content == encode(image, kind)
    with Image.open(io.BytesIO(content)) as back:
        assert Image.MIME[back.format or ""] == MEDIA_TYPES[kind]
        assert back.mode == "RGB"
        assert np.array_equal(np.asarray(back), np.asarray(image))


def test_without_zlib_ng_pictures_are_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "zlib_ng", None)
    monkeypatch.setattr(store, "_COMPRESSOR", store._find_compressor())
    assert compressor() == f"zlib {zlib.ZLIB_RUNTIME_VERSION}"
    image = noise(200, 100)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(encode(image, "png")))), np.asarray(image))


def test_flat_pages_are_small_and_sides_beyond_a_format_are_refused():
    assert len(encode(Image.new("RGB", (1050, 620), "white"), "png")) < 12_000
    with pytest.raises(InputError, match="16,384 x 1 pixels is too large for webp"):
        encode(Image.new("RGB", (16_384, 1)), "webp")
    assert Image.open(io.BytesIO(encode(Image.new("RGB", (16_384, 1)), "png"))).size == (16_384, 1)
