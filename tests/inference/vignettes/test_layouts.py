"""Layout files and the texts in them: what ships can be read, and a fault is named by its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_vignettes import RECORDS

from conjury.inference.errors import InputError
from conjury.inference.tables.files import LAYOUTS
from conjury.inference.vignettes import load_layout
from conjury.inference.vignettes.layouts import Layout, shipped_icons
from conjury.inference.vignettes.parts import count, parse_template

SHIPPED = sorted(file.stem for file in LAYOUTS.glob("*.yaml"))
GOOD = """\
width: 300
themes:
  light: {background: "#ffffff", ink: "#111111"}
  dark: {background: "#111111", ink: "#ffffff"}
styles:
  words: {size: 20, colour: ink}
content:
  column:
    - text: "{name}"
      style: words
    - row:
        - {icon: star, size: 20, colour: ink}
        - {space: fill}
      gap: 4
  padding: 10
"""


def load(folder: Path, text: str) -> Layout:
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


STYLED, SPACE, WIDTH = "style: words", "{space: fill}", "width: 300"
STAR = "20, colour: ink}\n        - {s"


def icon(path: str) -> str:
    return f'width: 300\nicons: {{tick: "{path}"}}'


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        (STYLED, "styl: words", 10, "'styl' is unknown here; did you mean 'style'?"),
        (STYLED, "style: word", 10, "style: 'word' is unknown here; did you mean 'words'?"),
        (
            STYLED,
            f"{STYLED}\n      width: wide",
            11,
            "'wide' is not a size; write pixels, or fill or natural.",
        ),
        (
            "20, colour: ink}\nc",
            "20, colour: inc}\nc",
            6,
            "colour: 'inc' is unknown here; did you mean 'ink'?",
        ),
        (STAR, STAR.replace("ink", "oil"), 12, "colour: 'oil'"),
        ("icon: star", "icon: stars", 12, "icon: 'stars' is unknown here; did you mean 'star'?"),
        (SPACE, "{rule: ink, thickness: 0}", 13, "greater than 0"),
        (SPACE, "{rule: grey}", 13, "rule: 'grey' is unknown here"),
        (SPACE, "{spaces: fill}", 13, "'spaces' is unknown here; did you mean 'space'?"),
        (SPACE, "{space: fill, rule: ink}", 13, "one part cannot be space, rule at once"),
        (SPACE, "{space: 0}", 13, "'0' is not a size; write pixels, or fill."),
        (SPACE, "{column: [{space: fill}]}", 13, "space: 'fill' is for rows"),
        (SPACE, "{column: []}", 13, "at least 1 item"),
        (SPACE, "{}", 13, "a part of a layout is one of column, row, text"),
        (SPACE, "{cue: nose, space: 3}", 13, "'name' or 'face'"),
        ('"{name}"', '"{name"', 9, "has a brace that is not part of a place"),
        ('"{name}"', '"{name:upper}"', 9, "filter 'upper' is unknown here"),
        ('"{name}"', "5", 9, "put words in quotes"),
        (
            '"#111111", ink',
            '"#11111", ink',
            4,
            "'#11111' is not a colour; write # and six hexadecimal digits",
        ),
        (', ink: "#ffffff"', "", 4, "theme dark lacks the colour 'ink' of light; add it."),
        ('"#ffffff"}\ns', '"#ffffff", red: "#ff0000"}\ns', 4, "theme light lacks the colour 'red' of dark"),
        ("{background: ", "{paper: ", 3, "theme light has no colour 'background'"),
        ("padding: 10", "padding: [1, 2, 3]", 15, "this is not a padding; write one number"),
        ("padding: 10", "padding: 5\n  fill: ink\n  radius: 30", 7, "give it a padding of at least 9."),
        ("padding: 10", "border: inky", 15, "border: 'inky' is unknown here"),
        ("gap: 4", "gap: 4.5", 14, "valid integer"),
        (WIDTH, "width: 9000", 1, "less than or equal to 4096"),
        (WIDTH, icon("M 4 12 L 30 4"), 2, "leaves the square of 24 by 24 units"),
        (WIDTH, icon("L 3 4"), 2, "does not begin with M"),
        (WIDTH, icon("M 3 4 Q 1 1"), 2, "'Q' in the path"),
        (WIDTH, icon("M 3 4 C 1 1"), 2, "C in the path 'M 3 4 C 1 1' takes 6"),
        (WIDTH, icon(""), 2, "the path of the icon is empty"),
        (GOOD[GOOD.index("content:") :], "content: {rule: ink}\n", 7, "is one rule; put it into a column"),
        (
            GOOD[GOOD.index("content:") :],
            'content: {each: {text: "{value}", style: words}}\n',
            7,
            "is one each; put it into a column",
        ),
    ],
)
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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{handle", "has a brace that is not part of a place"),
        ("handle}", "has a brace that is not part of a place"),
        ("{}", "has a brace that is not part of a place"),
        ("{likes:counted}", "did you mean 'count'?"),
        ("{likes:noun(Like)}", "noun takes 2 arguments, as in noun(one,many)"),
        ("{likes:count(3)}", "count takes no arguments"),
    ],
)
def test_a_faulty_place_is_refused_with_its_remedy(text, problem):
    with pytest.raises(ValueError, match=r"^'") as refusal:
        parse_template(text)
    assert problem in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "value", "problem"),
    [
        ("{x:time}", "noon", "'noon', which is not a date and time; write it as 2025-03-05T21:41."),
        ("{x:count}", "many", "'many', which is not a whole number; write digits only."),
        ("{x:noun(a,b)}", 1.5, "'1.5', which is not a whole number; write digits only."),
    ],
)
def test_a_value_that_a_filter_cannot_write_or_that_is_missing_is_named(text, value, problem):
    with pytest.raises(ValueError, match="which is not") as refusal:
        parse_template(text).fill({"x": value})
    assert str(refusal.value) == f"x is {problem}"
    for record in ({}, {"x": None}):
        with pytest.raises(KeyError, match="x"):
            parse_template("{x}").fill(record)
