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
from conjury.inference.vignettes.layout.layouts import shipped_icons
from conjury.inference.vignettes.layout.parts import count, parse_template

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


def load(folder: Path, text: str) -> None:
    (folder / "card.yaml").write_text(text, encoding="utf-8")
    load_layout("card.yaml", folder)


@pytest.mark.parametrize("name", SHIPPED)
def test_what_ships_can_be_read_and_every_one_has_an_example(name):
    layout = load_layout(name)
    assert {"light", "dark"} <= set(layout.themes)
    assert set(layout.fields) <= set(RECORDS[name])


def test_a_file_beside_the_study_is_read(tmp_path):
    (tmp_path / "card.yaml").write_text(GOOD, encoding="utf-8")
    layout = load_layout("card.yaml", tmp_path)
    assert layout.width == 300
    assert layout.themes["dark"]["ink"] == (255, 255, 255)
    assert layout.fields == ("name",)


def test_an_unknown_layout_is_refused_with_the_nearest_name(tmp_path):
    with pytest.raises(
        InputError, match=re.escape("no layout 'posts' (did you mean 'post'?); use one of post")
    ):
        load_layout("posts", tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("style: words", "styl: words", 10, "'styl' is unknown here; did you mean 'style'?"),
        ("style: words", "style: word", 10, "style: 'word' is unknown here; did you mean 'words'?"),
        (
            "style: words",
            "style: words\n      width: wide",
            11,
            "'wide' is not a size; write pixels, or fill or natural.",
        ),
        (
            "20, colour: ink}\nc",
            "20, colour: inc}\nc",
            6,
            "colour: 'inc' is unknown here; did you mean 'ink'?",
        ),
        ("size: 20, colour: ink}\n        - {s", "size: 20, colour: oil}\n        - {s", 12, "colour: 'oil'"),
        ("icon: star", "icon: stars", 12, "icon: 'stars' is unknown here; did you mean 'star'?"),
        ("{space: fill}", "{rule: ink, thickness: 0}", 13, "greater than 0"),
        ("{space: fill}", "{rule: grey}", 13, "rule: 'grey' is unknown here"),
        ("{space: fill}", "{spaces: fill}", 13, "'spaces' is unknown here; did you mean 'space'?"),
        ("{space: fill}", "{space: fill, rule: ink}", 13, "one part cannot be space, rule at once"),
        ("{space: fill}", "{space: 0}", 13, "'0' is not a size; write pixels, or fill."),
        ("{space: fill}", "{column: [{space: fill}]}", 13, "space: 'fill' is for rows"),
        ("{space: fill}", "{column: []}", 13, "at least 1 item"),
        ("{space: fill}", "{}", 13, "a part of a layout is one of column, row, text"),
        ("{space: fill}", "{cue: nose, space: 3}", 13, "'name' or 'face'"),
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
        ("width: 300", "width: 9000", 1, "less than or equal to 4096"),
        (
            "width: 300",
            'width: 300\nicons: {tick: "M 4 12 L 30 4"}',
            2,
            "leaves the square of 24 by 24 units",
        ),
        ("width: 300", 'width: 300\nicons: {tick: "L 3 4"}', 2, "does not begin with M"),
        ("width: 300", 'width: 300\nicons: {tick: "M 3 4 Q 1 1"}', 2, "'Q' in the path"),
        ("width: 300", 'width: 300\nicons: {tick: "M 3 4 C 1 1"}', 2, "C in the path 'M 3 4 C 1 1' takes 6"),
        ("width: 300", 'width: 300\nicons: {tick: ""}', 2, "the path of the icon is empty"),
    ],
)
def test_a_fault_is_named_by_its_line(tmp_path, old, new, line, sentence):
    assert old in GOOD
    with pytest.raises(InputError) as refusal:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert f"card.yaml:{line}: " in str(refusal.value)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("content", ['{each: {text: "{value}", style: words}}', "{rule: ink}"])
def test_content_is_a_column_or_a_row(tmp_path, content):
    with pytest.raises(InputError, match=r"card.yaml:7: content is one (each|rule); put it into a column"):
        load(tmp_path, GOOD[: GOOD.index("content:")] + f"content: {content}\n")


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


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("@{handle}", "@ann"),
        ("{posted:time} · {posted:date}", "9:41 PM · Mar 5, 2025"),
        ("{likes:count} {likes:noun(Like,Likes)}", "1 Like"),
        ("{{{handle}}}", "{ann}"),
        ("no places", "no places"),
    ],
)
def test_places_are_filled(text, written):
    record = {"handle": "ann", "posted": "2025-03-05T21:41", "likes": 1}
    assert parse_template(text).fill(record) == written


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        ("2025-01-01T00:00", "12:00 AM Jan 1, 2025"),
        ("2025-12-31T12:05", "12:05 PM Dec 31, 2025"),
        ("2025-06-09 11:59:59", "11:59 AM Jun 9, 2025"),
    ],
)
def test_times_are_written_by_the_twelve_hour_clock(moment, written):
    assert parse_template("{at:time} {at:date}").fill({"at": moment}) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1,000"),
        (9999, "9,999"),
        (10_000, "10K"),
        (10_999, "10.9K"),
        (999_999, "999.9K"),
        (1_000_000, "1M"),
        (2_540_000_000, "2.5B"),
        (12.0, "12"),
        ("42", "42"),
    ],
)
def test_counts_are_shortened_and_never_rounded_up(number, written):
    assert count(number) == written


@given(number=st.integers(0, 10**12))
def test_shortened_counts_never_say_more_than_there_is(number):
    written = count(number).replace(",", "")
    scale = {"K": 10**3, "M": 10**6, "B": 10**9}.get(written[-1], 1)
    said = float(written.rstrip("KMB")) * scale
    assert said <= number * (1 + 1e-12)
    assert number - said <= max(scale / 10, 0)


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
        (
            "{x:time}",
            "noon",
            "x is 'noon', which is not a date and time; write it as 2025-03-05T21:41.",
        ),
        ("{x:count}", "many", "x is 'many', which is not a whole number; write digits only."),
        ("{x:noun(a,b)}", 1.5, "x is '1.5', which is not a whole number; write digits only."),
    ],
)
def test_a_value_that_a_filter_cannot_write_is_named(text, value, problem):
    with pytest.raises(ValueError, match="which is not") as refusal:
        parse_template(text).fill({"x": value})
    assert str(refusal.value) == problem


@pytest.mark.parametrize("record", [{}, {"x": None}])
def test_a_missing_value_is_not_written_as_a_word(record):
    with pytest.raises(KeyError, match="x"):
        parse_template("{x}").fill(record)
