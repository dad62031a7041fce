"""The manifest: its columns, parts gathered in any order, and what is said when it is missing or damaged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fakes.vignettes import FACTS, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.errors import InputError
from conjury.inference.study import load_study
from conjury.inference.vignettes import manifest
from conjury.inference.vignettes.manifest import (
    JobFolder,
    Picture,
    file_sizes,
    gather,
    held,
    job_hash,
    read_manifest,
    rewrite,
    rows_of,
    write_part,
)


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    made = JobFolder(tmp_path, "towns", "both")
    made.path.mkdir(parents=True)
    return made


def test_a_manifest_tells_all_of_each_picture(folder: JobFolder) -> None:
    write_part(folder, "ab", rows(folder, [4, 2, 3]))
    assert gather(folder) == 3
    table = read_manifest(folder.root, "towns", "both")
    assert list(table) == [
        *(
            "profile_id",
            "cues",
            "layout",
            "theme",
            "file",
            "sha256",
            "media_type",
            "width",
            "height",
            "bytes",
        ),
        *("url", "alt", "size", "Place", "boxes"),
    ]
    assert table["profile_id"].tolist() == [2, 3, 4]
    assert table["size"].tolist() == ["large", "small", "large"]
    assert table["size"].cat.categories.tolist() == ["small", "large", "huge"]
    assert table["Place"].fillna("").tolist() == ["", "hills", ""]
    assert table["url"].isna().all()
    for row in table.itertuples():
        assert (folder.root / row.file).stat().st_size == row.bytes
    assert json.loads(table["boxes"][0]) == [
        {"name": "name", "kind": "text", "cue": "name", "x": 10, "y": 20, "width": 300, "height": 40},
        {"name": "rule", "kind": "rule", "cue": None, "x": 0, "y": 70, "width": 320, "height": 2},
    ]
    assert list(read_manifest(folder.root, "towns", "both", ["file"])) == ["file"]
    assert not folder.parts()


def test_levels_whose_column_is_that_of_a_field_are_called_ids(folder: JobFolder) -> None:
    study = load_study("moderation")
    profiles = enumerate_profiles(study).head(2)
    records = pd.DataFrame(
        {"profile_id": profiles["profile_id"], "text": ["One.", "Two."], "alt": "", "likes": [1, 2]}
    )
    picture = Picture("pictures/a.png", "a", "image/png", 1, 1, 1, ())
    write_part(folder, "ab", rows_of(profiles, records, [picture] * 2, FACTS))
    gather(folder)
    table = read_manifest(folder.root, "towns", "both")
    assert table["text"].tolist() == ["One.", "Two."]
    assert table["text_id"].tolist() == ["everyday_00", "everyday_00"]
    assert {"slur", "speech", "user"} <= set(table)
    assert "probability" not in table
    assert table["likes"].dtype == np.int64


@given(
    order=st.permutations(range(1, 25)),
    cuts=st.lists(st.integers(1, 23), max_size=3),
    merge=st.integers(0, 3),
)
@settings(max_examples=8, deadline=None)
def test_parts_give_the_same_bytes_however_they_came_about(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], cuts: list[int], merge: int
) -> None:
    made = []
    for parts in ([sorted(order)], np.split(np.array(order), sorted(set(cuts)))):
        folder = JobFolder(tmp_path_factory.mktemp("root"), "towns", "both")
        folder.path.mkdir(parents=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(manifest, "GROUP", 7)
            for number, part in enumerate(parts):
                write_part(folder, f"{number:02x}", rows(folder, [int(one) for one in part]))
                if number == merge:
                    gather(folder)
            assert gather(folder) == 24
        made.append(folder.manifest.read_bytes())
    assert made[0] == made[1]
    assert pq.read_metadata(folder.manifest).num_row_groups == 4


def test_pictures_that_were_drawn_again_take_the_place_of_the_old_ones(folder: JobFolder) -> None:
    write_part(folder, "ab", rows(folder, [1, 2, 3]))
    gather(folder)
    again = rows(folder, [2], shade=1)
    write_part(folder, "cd", again)
    assert gather(folder) == 3
    table = read_manifest(folder.root, "towns", "both").set_index("profile_id")
    assert table["sha256"][2] == again["sha256"][0].as_py()
    assert table["sha256"].is_unique


def test_gathering_after_a_crash_between_manifest_and_parts_changes_nothing(folder: JobFolder) -> None:
    write_part(folder, "ab", rows(folder, [1, 2]))
    part = folder.part("ab").read_bytes()
    gather(folder)
    whole = folder.manifest.read_bytes()
    folder.part("ab").parent.mkdir()
    folder.part("ab").write_bytes(part)
    assert gather(folder) == 2
    assert folder.manifest.read_bytes() == whole


def test_pictures_that_are_gone_or_cut_off_do_not_count(folder: JobFolder) -> None:
    table = rows(folder, [1, 2, 3])
    write_part(folder, "ab", table)
    first, second, _ = (folder.root / file for file in table["file"].to_pylist())
    first.unlink()
    second.write_bytes(b"")
    ids, there = held(folder, folder.part("ab"))
    assert ids.tolist() == [1, 2, 3]
    assert there.tolist() == [False, False, True]
    assert [len(found) for found in held(folder, folder.manifest)] == [0, 0]


def test_rewriting_keeps_all_other_columns(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "GROUP", 2)
    write_part(folder, "ab", rows(folder, [1, 2, 3, 4, 5]))
    gather(folder)
    before = read_manifest(folder.root, "towns", "both")
    place = pq.read_schema(folder.manifest).get_field_index("url")
    rewrite(folder, lambda table: table.set_column(place, "url", pa.array(["https://a.org"] * len(table))))
    after = read_manifest(folder.root, "towns", "both")
    assert after["url"].eq("https://a.org").all()
    pd.testing.assert_frame_equal(after.drop(columns="url"), before.drop(columns="url"))
    assert file_sizes(folder) == dict(zip(before["file"], before["bytes"], strict=True))


def test_a_missing_manifest_is_told_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`conjury render towns --cues name --out .*stimuli`\.$"):
        read_manifest(tmp_path / "stimuli", "towns", "name")


def test_damaged_tables_are_named(folder: JobFolder) -> None:
    write_part(folder, "ab", rows(folder, [1, 2]))
    folder.part("ab").write_bytes(folder.part("ab").read_bytes()[:-20])
    with pytest.raises(InputError, match=r"ab\.parquet: the file is damaged \(.*\); delete it"):
        gather(folder)
    assert not folder.manifest.exists()
    folder.manifest.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(InputError, match=r"profiles\.parquet: the Parquet file is damaged"):
        read_manifest(folder.root, "towns", "both")


def test_the_hash_of_a_job_leaves_versions_of_programs_out(folder: JobFolder) -> None:
    def hashed(**job: object) -> str:
        folder.job.write_text(json.dumps(job))
        return job_hash(folder.root, "towns", "both")

    one = hashed(theme="light", made_with={"pillow": "12"})
    assert one == hashed(made_with={"pillow": "13"}, theme="light")
    assert one != hashed(theme="dark")
    folder.job.write_text("{")
    with pytest.raises(InputError, match=r"job\.json: the file is missing or damaged"):
        job_hash(folder.root, "towns", "both")
