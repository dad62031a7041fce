"""The contact sheet: which profiles it shows, what its page says, how its picture is laid out."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fakes.studies import towns, write_study
from PIL import Image

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.study import Study, load_study
from conjury.inference.vignettes import Job, choose_profiles, open_job
from conjury.inference.vignettes.contact_sheet import (
    COLUMN,
    GAP,
    GalleryProfile,
    draw_profiles,
    gallery_page,
    gallery_sheet,
)


@pytest.fixture
def known(tmp_path: Path) -> Study:
    return load_study(write_study(tmp_path / "towns", towns()))


def entries(cues: tuple[str, ...], heights: list[int]) -> list[GalleryProfile]:
    return [
        GalleryProfile(
            number,
            {"Size": "Small <b>", "Place": "Coast"},
            {name: Image.new("RGB", (2 * COLUMN, 2 * height), (200, 40 * number, 0)) for name in cues},
            dict.fromkeys(cues, f'A town called "{number}"'),
        )
        for number, height in enumerate(heights)
    ]


def test_profiles_chosen_show_all_levels_about_equally_often(profiles, known):
    study = load_study("moderation")
    chosen = choose_profiles(study, profiles, 40, seed=1)
    assert chosen["profile_id"].is_unique
    for name in (*(part.id for part in study.attributes), "text", "user"):
        counts = chosen[name].value_counts()
        assert counts.max() - counts.min() <= 2, name
    first, again, other = (choose_profiles(study, profiles, 10, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert set(first["profile_id"]).isdisjoint(other["profile_id"])
    few = enumerate_profiles(known).head(7)
    assert sorted(choose_profiles(known, few, 40, seed=1)["profile_id"]) == few["profile_id"].tolist()


def test_a_page_needs_no_other_file_and_says_what_is_in_each_picture(known):
    pair = known.model_copy(update={"attributes": known.attributes[:2], "title": "Towns & <villages>"})
    page = gallery_page(pair, entries(("both",), [100, 120]), {"Layout": "table, light"})
    assert "Towns &amp; &lt;villages&gt;" in page
    assert '<b>"' not in page
    assert len(re.findall(r'<img src="data:image/png;base64,', page)) == 2
    assert page.count("A town called &#34;1&#34;") == 1
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_a_sheet_fills_the_shortest_column_with_cues_side_by_side(typesetter):
    sheet = np.asarray(gallery_sheet(entries(("both",), [300, 60, 60]), typesetter, "Towns", columns=2))
    assert sheet.shape[1] == GAP + 2 * (COLUMN + GAP)
    second = sheet[:, GAP + COLUMN + GAP + 5]
    reds = Counter(tuple(pixel) for pixel in second if pixel[0] == 200)
    assert (reds[200, 40, 0], reds[200, 80, 0]) == (60, 60)
    several = gallery_sheet(entries(("both", "name", "face", "none"), [50]), typesetter, "Towns")
    assert several.width == GAP + 4 * (COLUMN + GAP)


def test_pictures_belong_to_their_profiles(known, typesetter):
    chosen = enumerate_profiles(known).iloc[[5, 2, 90]]
    renderer = open_job(Job(known, "both", "table", "light", "png", 1))
    counts: list[int] = []
    drawn = draw_profiles(known, chosen, [renderer], counts.append)
    assert counts == [1, 2, 3]
    assert [one.profile_id for one in drawn] == chosen["profile_id"].tolist()
    for one, (_, record) in zip(drawn, renderer.records(chosen).iterrows(), strict=True):
        picture = renderer.painter.draw({str(name): value for name, value in record.items()}).image
        assert picture.tobytes() == one.pictures["both"].tobytes()
        assert all(level in one.alts["both"] for level in one.levels.values())
