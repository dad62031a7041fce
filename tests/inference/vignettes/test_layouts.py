"""Layout files and the texts in them: what ships can be read, and a fault is named by its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from made_up.vignettes import RECORDS

from conjury.inference.errors import InputError
from conjury.inference.tables.files import LAYOUTS
from conjury.inference.vignettes import load_layout
from conjury.inference.vignettes.layout_parts import count, parse_template
from conjury.inference.vignettes.layouts import VignetteLayout, shipped_icons

GOOD = Path(__file__).with_name("card.yaml").read_text(encoding="utf-8")
SHIPPED = sorted(file.stem for file in LAYOUTS.glob("*.yaml"))


def load(folder: Path, text: str) -> VignetteLayout:
    (folder / "card.yaml").write_text(text, encoding="utf-8")
    return load_layout("card.yaml", folder)


def test_what_ships_and_what_lies_next_to_the_study_can_be_read(tmp_path):
    for name in SHIPPED:
        layout = load_layout(name)
        assert {"light", "dark"} <= set(layout.themes)
        assert set(layout.fields) <= set(RECORDS[name])
    layout = load(tmp_path, GOOD)
    assert (layout.width, layout.fields) == (300, ("name",))
    assert layout.themes["dark"]["ink"] == (255, 255, 255)
    told = "no layout 'posts' (did you mean 'post'?); use one of post"
    with pytest.raises(InputError, match=re.escape(told)):
        load_layout("posts", tmp_path)


def test_the_format_is_explained_as_it_is(tmp_path):
    readme = (LAYOUTS / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```yaml\n(.*?)```", readme, re.DOTALL)
    assert example is not None
    load(tmp_path, example[1])
    assert ", ".join(shipped_icons()) in readme.replace("\n", " ")
    rows = dict(re.findall(r"^\| `(\w+)` \| \d+ \| (.*) \|$", readme, re.MULTILINE))
    for name in SHIPPED:
        named = {field for listed in re.findall(r"`([^`]*)`", rows[name]) for field in listed.split(", ")}
        assert named == set(load_layout(name).fields), name


@pytest.mark.parametrize(("old", "new", "line", "sentence"), cases(__file__, "faults"))
def test_a_fault_is_named_by_its_line(tmp_path, old, new, line, sentence):
    assert old in GOOD
    with pytest.raises(InputError) as refusal:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert f"card.yaml:{line}: " in str(refusal.value)
    assert sentence in str(refusal.value)


def test_places_are_filled_and_times_are_written_by_the_twelve_hour_clock():
    record = {"handle": "ann", "posted": "2025-03-05T21:41", "likes": 1}
    places = {
        "@{handle}": "@ann",
        "{posted:time} · {posted:date}": "9:41 PM · Mar 5, 2025",
        "{likes:count} {likes:noun(Like,Likes)}": "1 Like",
        "{{{handle}}}": "{ann}",
        "no places": "no places",
    }
    assert {text: parse_template(text).fill(record) for text in places} == places
    times = {
        "2025-01-01T00:00": "12:00 AM Jan 1, 2025",
        "2025-12-31T12:05": "12:05 PM Dec 31, 2025",
        "2025-06-09 11:59:59": "11:59 AM Jun 9, 2025",
    }
    clock = parse_template("{at:time} {at:date}")
    assert {moment: clock.fill({"at": moment}) for moment in times} == times


@given(number=st.integers(0, 10**12))
def test_counts_are_shortened_and_never_rounded_up(number):
    written = {0: "0", 999: "999", 1000: "1,000", 9999: "9,999", 10_000: "10K", 10_999: "10.9K"}
    written |= {999_999: "999.9K", 1_000_000: "1M", 2_540_000_000: "2.5B", 12.0: "12", "42": "42"}
    assert {value: count(value) for value in written} == written
    digits = count(number).replace(",", "")
    scale = {"K": 10**3, "M": 10**6, "B": 10**9}.get(digits[-1], 1)
    shown = float(digits.rstrip("KMB")) * scale
    assert shown <= number * (1 + 1e-12)
    assert number - shown <= max(scale / 10, 0)


@pytest.mark.parametrize(("text", "problem"), cases(__file__, "places"))
def test_a_faulty_place_is_refused_with_its_remedy(text, problem):
    with pytest.raises(ValueError, match=r"^'") as refusal:
        parse_template(text)
    assert problem in str(refusal.value)


@pytest.mark.parametrize(("text", "value", "problem"), cases(__file__, "values"))
def test_a_value_that_a_filter_cannot_write_or_that_is_missing_is_named(text, value, problem):
    with pytest.raises(ValueError, match="which is not") as refusal:
        parse_template(text).fill({"x": value})
    assert str(refusal.value) == f"x is {problem}"
    for record in ({}, {"x": None}):
        with pytest.raises(KeyError, match="x"):
            parse_template("{x}").fill(record)
