from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_up_vignettes import RECORDS

from conjury.inference.errors import InputError
from conjury.inference.tables.files import LAYOUTS
from conjury.inference.vignettes.icons import ICONS
from conjury.inference.vignettes.layout_file import load_layout

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
def test_what_ships_can_be_read_and_every_one_has_an_example(name: str) -> None:
    layout = load_layout(name)
    assert {"light", "dark"} <= set(layout.themes)
    assert set(layout.fields) <= set(RECORDS[name])


def test_a_file_beside_the_study_is_read(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(GOOD, encoding="utf-8")
    layout = load_layout("card.yaml", tmp_path)
    assert layout.width == 300
    assert layout.themes["dark"]["ink"] == (255, 255, 255)
    assert layout.fields == ("name",)


def test_an_unknown_layout_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
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
            "'wide' is no size; write pixels, or fill or natural.",
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
        ("{space: fill}", "{space: 0}", 13, "'0' is no size; write pixels, or fill."),
        ("{space: fill}", "{column: [{space: fill}]}", 13, "space: 'fill' is for rows"),
        ("{space: fill}", "{column: []}", 13, "at least 1 item"),
        ("{space: fill}", "{}", 13, "a part of a layout is one of column, row, text"),
        ("{space: fill}", "{cue: nose, space: 3}", 13, "'name' or 'face'"),
        ('"{name}"', '"{name"', 9, "has a brace that is no place"),
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
        ("padding: 10", "padding: [1, 2, 3]", 15, "this is no padding; write one number"),
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
def test_a_fault_is_told_with_its_line(tmp_path: Path, old: str, new: str, line: int, sentence: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as refusal:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert f"card.yaml:{line}: " in str(refusal.value)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("content", ['{each: {text: "{value}", style: words}}', "{rule: ink}"])
def test_content_is_a_column_or_a_row(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"card.yaml:7: content is one (each|rule); put it into a column"):
        load(tmp_path, GOOD[: GOOD.index("content:")] + f"content: {content}\n")


def test_the_format_is_explained_as_it_is(tmp_path: Path) -> None:
    told = (LAYOUTS / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```yaml\n(.*?)```", told, re.DOTALL)
    assert example is not None
    load(tmp_path, example[1])
    assert ", ".join(ICONS) in told.replace("\n", " ")
    rows = dict(re.findall(r"^\| `(\w+)` \| \d+ \| (.*) \|$", told, re.MULTILINE))
    for name in SHIPPED:
        named = {field for listed in re.findall(r"`([^`]*)`", rows[name]) for field in listed.split(", ")}
        assert named == set(load_layout(name).fields), name
