"""Positions of the parts of a layout: nothing is cut off, overlaps or moves with a cue."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up.vignettes import ARABIC, ARABIC_POST, POST, PROFILE, RECORDS, TABLE

from conjury.inference.errors import InputError
from conjury.inference.vignettes import TextStyle, load_layout
from conjury.inference.vignettes.layout_parts import IconPiece, TextPiece
from conjury.inference.vignettes.layouts import VignetteLayout
from conjury.inference.vignettes.placing import PictureBox, SetText, Size, fair_shares, place
from conjury.inference.vignettes.typesetting import TextBlock, TextLine

REWORDED = ("likes", "posted", "reviews")  # shown otherwise than they stand in the record
SCRIPTS = (
    "word long antidisestablishmentarianism a. 42",
    "كلمة طويلة جدا لا",
    "שלום עולם",
    "नमस्ते दुनिया",
    "😩 👩🏽‍🚀 🇳🇴",
)
POST_LAYOUT = load_layout("post")


def set_in_blocks(text: str, style: TextStyle, width: int | None) -> TextBlock:
    """Break text in which every character is a square, as many to a line as there is room for."""
    letters = len(text) if width is None else width // style.size
    lines = [text[start : start + letters] for start in range(0, len(text), letters)] or [""]
    set_lines = tuple(TextLine(line, 0, 0, len(line) * style.size, ()) for line in lines)
    across = max(line.width for line in set_lines) if width is None else width
    return TextBlock(set_lines, across, len(lines) * round(style.size * style.leading), 0, 0, 0, False)


def written(folder: Path, content: str, width: int = 300) -> VignetteLayout:
    head = (
        f"width: {width}\nthemes:\n  light: {{background: '#ffffff', ink: '#111111'}}\n"
        "styles:\n  words: {size: 10, leading: 1, colour: ink}\ncontent:\n"
    )
    (folder / "made.yaml").write_text(head + content, encoding="utf-8")
    return load_layout("made.yaml", folder)


def boxes_of(
    layout: VignetteLayout, record: Mapping[str, object], set_text: SetText
) -> tuple[dict[str, PictureBox], tuple[PictureBox, ...], Size]:
    placed, size = place(layout, record, set_text)
    boxes = tuple(one.box for one in placed)
    return {box.name: box for box in boxes}, boxes, size


def at(box: PictureBox) -> tuple[int, int, int, int]:
    return box.x, box.y, box.width, box.height


def overlap(one: PictureBox, other: PictureBox) -> bool:
    across = one.x < other.x + other.width and other.x < one.x + one.width
    return across and one.y < other.y + other.height and other.y < one.y + one.height


def letters(parts: Iterable[str]) -> str:
    return "".join("".join(parts).split())


def random_text(draw: random.Random, length: int) -> str:
    """Write words of many scripts, long and short, with and without space between them."""
    pieces = [""]
    while sum(map(len, pieces)) < length or not "".join(pieces).strip():
        script = draw.choice(SCRIPTS)
        word = draw.choice([*script.split(), script.replace(" ", "")])
        pieces += [word, draw.choice([" ", " ", "  ", "\n", ""])]
    return "".join(pieces).strip()


def check(layout: VignetteLayout, record: Mapping[str, object], set_text: SetText) -> None:
    """Everything lies in the picture, no words on others, and all that the record says is written."""
    _, boxes, (width, height) = boxes_of(layout, record, set_text)
    assert all(box.x >= 0 and box.y >= 0 and box.width > 0 and box.height > 0 for box in boxes)
    assert all(box.x + box.width <= width and box.y + box.height <= height for box in boxes)
    solid = [box for box in boxes if box.kind != "fill"]
    assert not [(one.name, two.name) for one, two in itertools.combinations(solid, 2) if overlap(one, two)]
    for box in boxes:
        assert letters(box.lines) == letters([box.text or ""] if box.kind == "text" else [])
    shown = {field for box in boxes for field in box.fields}
    assert shown == {name for name, value in record.items() if value is not None} - {"profile_id", "alt"}
    for box in boxes:
        if box.kind == "text" and box.fields == (box.name,) and box.name not in REWORDED:
            assert letters(box.lines).endswith(letters([str(record[box.name])]))


def test_what_ships_places_all_that_a_record_contains(typesetter):
    for name, record in RECORDS.items():
        check(load_layout(name), record, typesetter.set)


@pytest.mark.long
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 1500))
def test_no_random_text_is_cut_off(typesetter, seed, length):
    draw = random.Random(seed)
    text, reply = random_text(draw, length), random_text(draw, length // 4)
    name, handle = random_text(draw, 60), random_text(draw, 40)
    record = {**POST, "text": text, "name": name, "reply_handle": handle, "reply_text": reply}
    check(POST_LAYOUT, record, typesetter.set)


@pytest.mark.parametrize(("change", "sentence"), cases(__file__, "values"))
def test_a_value_that_cannot_be_shown_is_named_by_record_and_field(change, sentence, typesetter):
    with pytest.raises(InputError, match=rf"profile 7: {sentence}"):
        place(POST_LAYOUT, {**POST, **change}, typesetter.set)


def test_letters_that_reach_over_the_edge_are_refused(tmp_path, typesetter):
    text = "  column:\n    - {text: '{a}', style: words}\n"
    place(written(tmp_path, text + "  padding: 9\n"), {"a": "علي"}, typesetter.set)
    told = r"a record: .*'a' extends beyond the edge .* padding of \d+ pixels more"
    with pytest.raises(InputError, match=told):
        place(written(tmp_path, text), {"a": "علي"}, typesetter.set)


def test_right_to_left_text_begins_on_the_right(typesetter):
    placed, _ = place(POST_LAYOUT, ARABIC_POST, typesetter.set)
    block = next(one.block for one in placed if one.box.name == "text")
    assert block is not None
    assert block.rtl
    assert all(line.x + line.width == block.width for line in block.lines)
    assert block.lines[-1].x > 0
    assert letters(line.text for line in block.lines) == letters([ARABIC])
    placed, _ = place(POST_LAYOUT, {**POST, "name": "ليلى"}, typesetter.set)
    name = next(one for one in placed if one.box.name == "name")  # stays next to its picture
    assert name.block is not None
    assert name.block.width < name.box.width / 2


def test_fields_become_rows_in_the_order_of_the_record(typesetter):
    _, boxes, _ = boxes_of(load_layout("table"), TABLE, typesetter.set)
    shown = [name for name, value in TABLE.items() if value is not None and name not in ("profile_id", "alt")]
    values = [box for box in boxes if box.fields]
    assert [box.text for box in boxes if box.kind == "text" and not box.fields] == shown
    assert [box.fields for box in values] == [(name,) for name in shown]
    assert [box.text for box in values] == [TABLE[name] for name in shown]
    assert sorted(values, key=lambda box: box.y) == values
    _, card, _ = boxes_of(load_layout("profile"), PROFILE, typesetter.set)  # which names its other fields
    labels = [box.text for box in card if box.kind == "text" and not box.fields]
    assert labels == ["Party", "Age", "Education"]


WORDS = "{text: '{a}', style: words}"
STAR, LIKE = ("{icon: star, size: 20, colour: ink}", "{icon: like, size: 20, colour: ink}")


def placed_in(folder: Path, content: str, record: dict[str, str | None]) -> tuple[dict[str, Any], Size]:
    """Boxes by name as x, y, width and height, of a layout whose letters are squares of 10 pixels."""
    boxes, _, size = boxes_of(written(folder, content), record, set_in_blocks)
    return {name: at(box) for name, box in boxes.items()}, size


def listed(kind: str, *parts: str, **options: object) -> str:
    head = "".join(f"    - {part}\n" for part in parts)
    return f"  {kind}:\n{head}" + "".join(f"  {name}: {value}\n" for name, value in options.items())


def test_fields_can_be_excluded(tmp_path):
    content = listed("column", "{each: {text: '{field}: {value}', style: words}, without: [b]}")
    record = {"a": "x", "b": "y", "c": None, "field": "z"}
    _, boxes, _ = boxes_of(written(tmp_path, content), record, set_in_blocks)
    assert [(box.text, box.fields) for box in boxes] == [("a: x", ("a",)), ("field: z", ("field",))]


def test_columns_stack_their_parts(tmp_path):
    last = "{text: b, style: words, width: natural, name: b}"
    options = {"padding": [1, 2, 3, 4], "gap": 5, "align": "end"}
    content = listed("column", WORDS, STAR, "{rule: ink}", "{space: 9}", last, **options)
    boxes, size = placed_in(tmp_path, content, {"a": "m" * 30})
    assert size == (300, 1 + 20 + 5 + 20 + 5 + 2 + 5 + 9 + 5 + 10 + 3)
    expected = {
        "a": (4, 1, 294, 20),
        "star": (278, 26, 20, 20),
        "rule": (4, 51, 294, 2),
        "b": (288, 72, 10, 10),
    }
    assert boxes == expected


def test_rows_share_their_width_and_long_words_give_way_first(tmp_path):
    b, rule = "{text: '{b}', style: words, width: fill}", "{rule: ink, thickness: 4}"
    content = listed("row", WORDS, STAR, b, "{space: 6}", rule, gap=2, align="center")
    boxes, size = placed_in(tmp_path, content, {"a": "aaa", "b": "bbb"})
    assert size == (300, 20)
    expected = {"a": (0, 5, 30, 10), "star": (32, 0, 20, 20), "b": (54, 5, 118, 10), "rule": (182, 8, 118, 4)}
    assert boxes == expected
    content = listed("row", WORDS, "{text: '{b}', style: words}")
    boxes, _ = placed_in(tmp_path, content, {"a": "mm", "b": "m" * 60})
    assert boxes == {"a": (0, 0, 20, 10), "b": (20, 0, 280, 30)}


def test_open_spaces_push_parts_apart(tmp_path):
    content = listed("row", LIKE, "{space: fill}", STAR, "{space: fill}", WORDS)
    boxes, _ = placed_in(tmp_path, content, {"a": "mm"})
    assert {name: box[0] for name, box in boxes.items()} == {"like": 0, "star": 140, "a": 280}
    long, _ = placed_in(tmp_path, content, {"a": "m" * 99})
    assert (long["star"][0], long["a"]) == (20, (40, 0, 260, 40))
    boxes, size = placed_in(tmp_path, listed("row", "{space: 90}", WORDS), {"a": "mm"})
    assert (boxes["a"][:2], size) == ((90, 0), (300, 10))


def test_nothing_is_placed_where_parts_vanished(tmp_path):
    vanishing = "{column: [{text: '{a}', style: words, when: a}], padding: 9, fill: ink}"
    boxes, size = placed_in(tmp_path, listed("column", STAR, vanishing, LIKE, gap=5), {"a": None})
    assert sorted(boxes) == ["like", "star"]
    assert (boxes["like"][1], size) == (25, (300, 45))


@pytest.mark.parametrize(("part", "sentence"), cases(__file__, "parts"))
def test_a_part_without_room_or_value_is_refused(tmp_path, part, sentence):
    with pytest.raises(InputError) as refusal:
        place(
            written(tmp_path, listed("column", part)),
            {"a": "mm", "headline": "m", "none": None},
            set_in_blocks,
        )
    assert sentence in str(refusal.value)
    assert "made.yaml" in str(refusal.value)


@given(wants=st.lists(st.none() | st.integers(0, 900), max_size=8), room=st.integers(0, 2000))
def test_shares_are_fair(wants, room):
    shares = fair_shares(wants, room)
    pairs = list(zip(shares, wants, strict=True))
    assert all(0 <= share <= (room if want is None else want) for share, want in pairs)
    short = [share for share, want in pairs if want is None or share < want]
    assert sum(shares) == room if short else sum(shares) <= room
    assert max(short, default=0) - min(short, default=0) <= 1
    assert all(share <= min(short, default=share) + 1 for share in shares)


def luminance(colour: tuple[int, int, int]) -> float:
    """Relative luminance after WCAG 2.2."""
    linear = [c / 12.92 if (c := part / 255) <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_texts_and_icons_have_contrast_with_what_is_behind_them():
    assert contrast((119, 119, 119), (255, 255, 255)) == pytest.approx(4.48, abs=0.005)
    for name, theme in itertools.product(RECORDS, ("light", "dark")):
        layout = load_layout(name)
        colours = layout.themes[theme]
        placed, _ = place(layout, RECORDS[name], set_in_blocks)
        for one in placed:
            if isinstance(one.piece, TextPiece):
                ink = layout.styles[one.piece.style].colour
                assert contrast(colours[ink], colours[one.background]) >= 4.5, (one.box.name, ink)
            elif isinstance(one.piece, IconPiece):
                assert contrast(colours[one.piece.colour], colours[one.background]) >= 3, one.box.name
