# ruff: noqa: RUF001 (letters of other scripts are meant)
from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.vignettes import fonts as fonts_module
from conjury.inference.vignettes.characters import NEWLINES, SPACE
from conjury.inference.vignettes.fonts import Fonts
from conjury.inference.vignettes.typesetting import Line, TextBlock, TextStyle, Typesetter

BLACK, WHITE = (0, 0, 0), (255, 255, 255)
STYLE = TextStyle(size=30)
LATIN = 'the quick brown fox jumps over it Ångström naïve WAVE To. "quoted" (round) well-known 25% @user'
OTHERS = "سلام عليكم شيئًا ١٢٣ ، שלום מילה क्षत्रिय नमस्ते। Ελλάδα Русский Tiếng"
EMOJI = "😀 👨‍👩‍👧‍👦 🇩🇪 1️⃣ ❤️ 👍🏽 ✓ → ∞"
BLANKS = [" ", "  ", "\n", "\t", "\N{NO-BREAK SPACE}"]
CONTROLS = ["\N{RIGHT-TO-LEFT MARK}", "\u202e", "\u202c", "\u2067", "\u2069"]
TOKENS = [*LATIN.split(), *OTHERS.split(), *EMOJI.split(), *BLANKS, *CONTROLS, "supercalifragilistic" * 3]
TEXTS = st.lists(st.sampled_from(TOKENS), max_size=14).flatmap(
    lambda tokens: st.sampled_from(["", " "]).map(lambda between: between.join(tokens))
)


def ink(image: Image.Image) -> NDArray[np.int64]:
    """How dark each pixel of a drawing in black on white is."""
    return 255 - np.asarray(image.convert("L"), dtype=np.int64)


def drawn(
    typesetter: Typesetter, text: str, style: TextStyle = STYLE, width: int | None = None
) -> Image.Image:
    return typesetter.draw(typesetter.set(text, style, width), BLACK, WHITE)


def texts(block: TextBlock) -> list[str]:
    return [line.text for line in block.lines]


def dropped(text: str, lines: tuple[Line, ...]) -> str:
    """What of a text is in none of its lines."""
    rest, position = "", 0
    for line in lines:
        start = text.index(line.text, position)
        rest += text[position:start]
        position = start + len(line.text)
    return rest + text[position:]


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.integers(60, 700), st.sampled_from(["start", "center", "end"]), st.sampled_from([400, 700]))
def test_lines_fit_and_give_the_text_back(
    typesetter: Typesetter, text: str, width: int, align: str, weight: int
) -> None:
    style = TextStyle(20, weight, align=align)  # type: ignore[arg-type]
    block = typesetter.set(text, style, width)
    assert block.width == width
    assert all(line.width <= width and 0 <= line.x <= width - line.width for line in block.lines)
    assert regex.fullmatch(rf"(?:{SPACE.pattern}|{NEWLINES.pattern})*", dropped(text, block.lines), regex.V1)
    for line in block.lines:
        for sprite, pen in line.sprites:
            assert sprite.image is not None
            top = line.y - block.lines[0].y + block.baseline + sprite.top
            assert line.x <= pen + sprite.left
            assert pen + sprite.left + sprite.image.width <= line.x + line.width
            assert -block.above <= top <= block.height + block.below - sprite.image.height


@settings(max_examples=50, deadline=None)
@given(TEXTS)
def test_a_text_in_one_line_is_as_wide_as_what_is_drawn(typesetter: Typesetter, text: str) -> None:
    block = typesetter.set(text, STYLE, None)
    assert len(block.lines) == len(NEWLINES.split(text))
    assert block.width == max(line.width for line in block.lines)
    assert typesetter.draw(block, BLACK, WHITE).size == (block.width, block.height)
    assert texts(typesetter.set(text, STYLE, block.width)) == texts(block)


@settings(max_examples=50, deadline=None)
@given(TEXTS.filter(lambda text: "\t" not in text), st.integers(200, 500))
def test_a_line_ends_only_where_the_next_word_would_not_fit(
    typesetter: Typesetter, text: str, width: int
) -> None:
    text = " ".join(regex.findall(r"[a-zA-Z.]+", text))
    lines = texts(typesetter.set(text, STYLE, width))
    for line, following in pairwise(lines):
        longer = f"{line} {following.split()[0]}"
        assert longer not in text or typesetter.set(longer, STYLE, None).width > width


def test_empty_text_is_one_line_high(typesetter: Typesetter) -> None:
    for text in ("", "   "):
        block = typesetter.set(text, STYLE, 100)
        assert (texts(block), block.width, block.height) == ([""], 100, 39)
        assert drawn(typesetter, text, width=100).getcolors() == [(3900, WHITE)]
    assert drawn(typesetter, "").size == (0, 39)


def test_newlines_and_empty_lines_are_kept(typesetter: Typesetter) -> None:
    block = typesetter.set("one\n\ntwo \n", STYLE, 400)
    assert texts(block) == ["one", "", "two", ""]
    assert [line.y for line in block.lines] == [0, 39, 78, 117]
    assert block.height == 4 * 39


def test_a_long_word_is_cut_where_the_line_is_full(typesetter: Typesetter) -> None:
    lines = texts(typesetter.set("so " + "x" * 100 + " it is", STYLE, 200))
    assert lines[0] == "so"
    assert set(map(len, lines[1:-1])) == {len(lines[1])}
    assert lines[-1].endswith(" it is")
    assert "".join(lines[1:]) == "x" * 100 + " it is"


@pytest.mark.parametrize("width", [1, 0, -5])
def test_a_width_for_not_one_letter_is_refused(typesetter: Typesetter, width: int) -> None:
    with pytest.raises(InputError, match=r"'w', which at 30 pixels is wider than .* make the box wider"):
        typesetter.set("w", STYLE, width)
    assert typesetter.set("", STYLE, width).width == max(width, 0)


def test_one_letter_a_line_is_the_narrowest(typesetter: Typesetter) -> None:
    letter = typesetter.set("w", STYLE, None).width
    assert texts(typesetter.set("wiw w", STYLE, letter)) == ["w", "i", "w", "w"]


@pytest.mark.parametrize("text", ["x" * 5000, "word " * 1000, "سلام" * 1250, "👍🏽" * 2500])
def test_long_texts_are_set_whole(typesetter: Typesetter, text: str) -> None:
    block = typesetter.set(text, TextStyle(14), 500)
    assert dropped(text, block.lines).strip() == ""
    assert block.height >= len(block.lines) * 18
    assert max(line.width for line in block.lines[:-1]) > 400


def test_drawing_is_opaque_and_in_the_colours_given(typesetter: Typesetter) -> None:
    image = typesetter.draw(typesetter.set("Sing", STYLE, None), (200, 0, 0), (0, 0, 100))
    assert image.mode == "RGB"
    colours = {colour for _, colour in image.getcolors(maxcolors=10_000) or []}
    assert {(200, 0, 0), (0, 0, 100)} <= colours
    assert len(colours) > 10  # smooth edges
    assert all(red <= 200 and green == 0 and blue <= 100 for red, green, blue in colours)


@pytest.mark.parametrize(
    "text", ["j", "Ậ̈́", "gjpqyÅ", "f", "الله", "ٱلۡحَمۡدُ لِلَّٰهِ", "र्क्षि", "A" + "\N{COMBINING ACUTE ACCENT}" * 12]
)
def test_no_ink_is_cut_off(typesetter: Typesetter, text: str) -> None:
    style = TextStyle(60, leading=1.0)
    block = typesetter.set(text, style, None)
    assert len(block.lines) == 1
    family = typesetter.fonts.family_of(text[0])
    direction = "rtl" if block.rtl else "ltr"
    paper = Image.new("RGB", (1000, 1000), WHITE)
    face = typesetter.fonts.face(family, 60, 400)
    ImageDraw.Draw(paper).text((400, 600), text, BLACK, face, anchor="ls", direction=direction)
    whole = Image.new("RGB", (block.width, block.above + block.height + block.below), WHITE)
    typesetter.paint(whole, block, BLACK, 0, block.above)
    assert ink(whole).sum() == pytest.approx(ink(paper).sum(), rel=1e-3)


def test_outlines_that_freetype_gives_up_on_are_refused(
    typesetter: Typesetter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*_: object, **__: object) -> None:
        raise OSError("raster overflow")

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", give_up)
    with pytest.raises(InputError, match=r"'unseenword' cannot be drawn at weight 400 \(raster overflow\)"):
        typesetter.set("unseenword", STYLE, None)


def test_words_set_apart_are_those_of_the_whole_line(typesetter: Typesetter) -> None:
    text = "AVATAR To the quick brown fox"
    face = typesetter.fonts.face(0, 30, 400)
    assert typesetter.set(text, STYLE, None).width == pytest.approx(face.getlength(text), abs=2)


def test_scripts_share_one_baseline(typesetter: Typesetter) -> None:
    for word in ("H", "ш", "שה", "日"):
        block = typesetter.set(word, STYLE, None)
        assert block.baseline == typesetter.set("H", STYLE, None).baseline
    bottoms = [
        np.flatnonzero(ink(drawn(typesetter, word)).sum(axis=1) > 300).max() for word in ("H", "ш", "ה")
    ]
    assert max(bottoms) - min(bottoms) <= 1


def test_arabic_letters_are_joined(typesetter: Typesetter) -> None:
    joined = drawn(typesetter, "سلام")
    apart = drawn(typesetter, "س\u200cل\u200cا\u200cم")
    assert joined.width < 0.8 * apart.width
    assert _strokes(joined) < _strokes(apart)


def _strokes(image: Image.Image) -> int:
    """Count the groups of neighbouring columns with ink."""
    inked = np.r_[0, (ink(image).sum(axis=0) > 0).astype(int)]
    return int((np.diff(inked) == 1).sum())


def _places(typesetter: Typesetter, text: str, words: list[str]) -> list[int]:
    """Where from the left each word stands in a text, found by how it looks alone."""
    (line,) = typesetter.set(text, STYLE, None).lines
    pens = {sprite.image.tobytes(): pen for sprite, pen in line.sprites if sprite.image}
    return [pens[_picture(typesetter, word)] for word in words]


def _picture(typesetter: Typesetter, word: str) -> bytes:
    ((sprite, _),) = typesetter.set(word, STYLE, None).lines[0].sprites
    assert sprite.image is not None
    return sprite.image.tobytes()


@pytest.mark.parametrize(
    ("text", "from_left"),
    [
        ("She said سلام عليكم to John", ["She", "said", "عليكم", "سلام", "to", "John"]),
        ("قال John Smith سلام", ["سلام", "John", "Smith", "قال"]),
        ("سلام ٢٥ John Smith", ["John", "Smith", "٢٥", "سلام"]),
        ("שלום (a) Smith מילה", ["מילה", "Smith", "שלום"]),
        ("سلام 🎉 عليكم", ["عليكم", "🎉", "سلام"]),
        ("a 🎉 b", ["a", "🎉", "b"]),
    ],
)
def test_words_stand_in_reading_order(typesetter: Typesetter, text: str, from_left: list[str]) -> None:
    places = _places(typesetter, text, from_left)
    assert places == sorted(places)
    assert len(set(places)) == len(from_left)


def test_brackets_and_overrides_follow_the_direction(typesetter: Typesetter) -> None:
    opening, closing = (ink(drawn(typesetter, each)) for each in "()")
    hebrew = ink(drawn(typesetter, "(א)"))
    assert not np.array_equal(opening, closing)
    columns = np.flatnonzero(hebrew.sum(axis=0))
    first = hebrew[:, columns[0] : columns[0] + 4].sum(axis=0)
    assert first.argmax() <= 2  # the round back of a bracket that opens to the right
    assert np.array_equal(ink(drawn(typesetter, "\u202eabc")), ink(drawn(typesetter, "cba")))


def test_right_to_left_paragraphs_start_at_the_right(typesetter: Typesetter) -> None:
    block = typesetter.set("سلام\nhello\nשלום", STYLE, 300)
    assert block.rtl
    assert [line.x + line.width == 300 for line in block.lines] == [True, False, True]
    ends = typesetter.set("سلام\nhello", TextStyle(30, align="end"), 300)
    assert [line.x == 0 for line in ends.lines] == [True, False]
    (middle,) = typesetter.set("hello", TextStyle(30, align="center"), 300).lines
    assert abs(2 * middle.x + middle.width - 300) <= 1


def test_devanagari_conjuncts_are_formed(typesetter: Typesetter) -> None:
    width = {text: drawn(typesetter, text).width for text in ("क्ष", "क", "ष", "कि", "क\u200d")}
    assert width["क्ष"] < 0.8 * (width["क"] + width["ष"])
    kept_apart = drawn(typesetter, "क्\u200cष")
    assert kept_apart.width > 1.2 * width["क्ष"]


def test_japanese_is_broken_between_characters_and_drawn_bold(typesetter: Typesetter) -> None:
    pytest.importorskip("noto_cjk_sans_jp_bold")
    text = "彼女は「ありがとう」と言った、そして2024年に東京タワーへ行きました！"
    for width in range(90, 300, 7):
        lines = texts(typesetter.set(text, STYLE, width))
        assert "".join(lines) == text
        assert not any(line[0] in "、。」！っょャー" for line in lines)
        assert not any(line.endswith("「") for line in lines)
    regular, bold = (ink(drawn(typesetter, text, TextStyle(30, weight))).sum() for weight in (400, 700))
    assert bold > 1.2 * regular


@pytest.mark.parametrize("emoji", ["🎉", "👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "1️⃣", "❤️"])
def test_emoji_are_one_picture_as_high_as_the_line(typesetter: Typesetter, emoji: str) -> None:
    block = typesetter.set(emoji, STYLE, None)
    assert block.has_emoji
    assert block.width == pytest.approx(1.25 * 30, abs=2)
    assert block.height <= 41


def test_emoji_have_several_hues_and_letters_have_none(typesetter: Typesetter) -> None:
    hues = np.asarray(drawn(typesetter, "🎉🌈").convert("HSV"))
    strong = hues[..., 0][(hues[..., 1] > 150) & (hues[..., 2] > 100)]
    assert len(set(strong // 32)) >= 4
    letters = np.asarray(drawn(typesetter, "letters").convert("HSV"))
    assert letters[..., 1].max() == 0
    assert not typesetter.set("letters", STYLE, None).has_emoji


def test_emoji_stand_on_any_background(typesetter: Typesetter) -> None:
    image = typesetter.draw(typesetter.set("😀", STYLE, None), BLACK, (21, 32, 43))
    assert image.getpixel((0, 0)) == (21, 32, 43)


def test_bold_is_darker_and_leading_sets_lines_apart(typesetter: Typesetter) -> None:
    regular, bold = (ink(drawn(typesetter, "weight", TextStyle(30, weight))).sum() for weight in (400, 700))
    assert bold > 1.25 * regular
    assert typesetter.set("a\nb", TextStyle(30, leading=2.0), None).height == 120


def test_the_same_text_is_drawn_the_same_whatever_came_before(fonts: Fonts, typesetter: Typesetter) -> None:
    text = "The bus 🚌 was late, سلام."
    assert drawn(Typesetter(fonts), text).tobytes() == drawn(typesetter, text).tobytes()


def test_without_fribidi_latin_and_simple_emoji_are_drawn(
    monkeypatch: pytest.MonkeyPatch, fonts: Fonts
) -> None:
    monkeypatch.setattr(fonts_module, "fribidi", lambda: None)
    plain = Typesetter(Fonts.find())
    block = plain.set("Naïve\u00adly 2024 ❤️\u200b 😀!", STYLE, 300)
    assert block.has_emoji
    face = plain.fonts.face(0, 30, 400)
    assert face.getlength("AV") == face.getlength("A") + face.getlength("V")  # no kerning: the basic layout
    assert plain.set("a\u200d\u2060b", STYLE, None).width == plain.set("ab", STYLE, None).width
    for text in ("سلام", "שלום", "नमस्ते", "🇩🇪"):
        with pytest.raises(MissingDependency, match="FriBidi, which is not installed; install it"):
            plain.set(text, STYLE, 300)
