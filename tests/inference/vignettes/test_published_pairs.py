"""Every post of the published audit has its picture in our words."""

from __future__ import annotations

from pathlib import Path

import pytest

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.readers.prepare import load_choices
from conjury.inference.study import load_study
from conjury.inference.vignettes.fonts import Fonts
from conjury.inference.vignettes.jobs import Job, open_desk


@pytest.mark.shared
def test_the_pairs_of_the_published_audit_can_be_drawn(shared: Path, fonts: Fonts) -> None:
    study = load_study("moderation")
    folder = shared / "data" / "moderation"
    choices = load_choices(study, folder / "gemini_long.parquet", levels=folder / "gemini_levels.json")
    keys = [part.id for part in study.attributes] + [part.id for part in study.stimuli]
    shown = choices[keys].astype("string").drop_duplicates()
    profiles = enumerate_profiles(study)
    text = profiles.astype(dict.fromkeys(keys, "string"))
    found = shown.merge(text[[*keys, "profile_id"]], on=keys, how="left")
    assert len(found) > 50_000
    assert found["profile_id"].notna().all()
    drawn = profiles[profiles["profile_id"].isin(found["profile_id"])].sample(300, random_state=1)
    desk = open_desk(Job(study, "both", "post", "light", "png", 1))
    for _, record in desk.in_order(desk.records(drawn)):
        boxes, (width, height) = desk.painter.place(record)
        assert all(box.x + box.width <= width and box.y + box.height <= height for box in boxes)
        assert {box.text for box in boxes} >= {record["text"], record["name"], f"@{record['handle']}"}
