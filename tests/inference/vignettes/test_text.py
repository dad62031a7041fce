# ruff: noqa: RUF001 (letters of other scripts are meant)
"""Text in many scripts: cut into words and pieces, ordered by direction, set in lines and drawn."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import groupby
from typing import Any

import numpy as np
import pytest
import regex
from cases import cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from conjury.inference.errors import ConjuryError, InputError, MissingDependency
from conjury.inference.vignettes import Fonts, TextStyle, Typesetter, characters, typesetting
from conjury.inference.vignettes import fonts as fonts_module
from conjury.inference.vignettes.characters import NEWLINES, SPACE, levels, traits, visual_order
from conjury.inference.vignettes.fonts import EMOJI
from conjury.inference.vignettes.text_segments import Paragraph, TextRun, paragraphs
from conjury.inference.vignettes.typesetting import Sprites, TextBlock, TextLine

JAPANESE = pytest.mark.skipif(
    None in map(find_spec, ("noto_cjk_sans_jp_regular", "noto_cjk_sans_jp_bold")),
    reason="needs the fonts of the extra cjk",
)
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
STYLE = TextStyle(size=30)
NBSP = "\N{NO-BREAK SPACE}"
FAMILY = "\N{ZERO WIDTH JOINER}".join("👨👩👧👦")
LATIN = 'the quick brown fox jumps over it Ångström naïve WAVE To. "quoted" (round) well-known 25% @user'
OTHERS = "سلام عليكم شيئًا ١٢٣ ، שלום מילה क्षत्रिय नमस्ते। Ελλάδα Русский Tiếng"
EMOJI_TEXT = "😀 👨‍👩‍👧‍👦 🇩🇪 1️⃣ ❤️ 👍🏽 ✓ → ∞"
BLANKS = [" ", "  ", "\n", "\t", NBSP, "\N{RIGHT-TO-LEFT MARK}", "\u202e", "\u202c", "\u2067", "\u2069"]
TOKENS = [*LATIN.split(), *OTHERS.split(), *EMOJI_TEXT.split(), *BLANKS, "supercalifragilistic" * 3]
TEXTS = st.lists(st.sampled_from(TOKENS), max_size=14).flatmap(
    lambda tokens: st.sampled_from(["", " "]).map(lambda between: between.join(tokens))
)
ACCOUNTS = st.from_regex(r"@?[a-z_]{1,12}[0-9]{1,5}", fullmatch=True)


def source(paragraph: Paragraph) -> str:
    return "".join(piece.text for word in paragraph.words for piece in (*word.pieces, *word.blanks))


def ink(image: Image.Image) -> NDArray[np.int64]:
    """How dark each pixel of a drawing in black on white is."""
    return 255 - np.asarray(image.convert("L"), dtype=np.int64)


def drawn(
    typesetter: Typesetter, text: str, style: TextStyle = STYLE, width: int | None = None
) -> Image.Image:
    return typesetter.draw(typesetter.set(text, style, width), BLACK, WHITE)


def texts(block: TextBlock) -> list[str]:
    return [line.text for line in block.lines]


def dropped(text: str, lines: tuple[TextLine, ...]) -> str:
    """The part of a text that is in none of its lines."""
    rest, position = "", 0
    for line in lines:
        start = text.index(line.text, position)
        rest += text[position:start]
        position = start + len(line.text)
    return rest + text[position:]


def test_an_emoji_is_one_piece_and_one_picture_as_wide_as_any(fonts, typesetter):
    for emoji in ["😀", FAMILY, "🇩🇪", "1️⃣", "#⃣", "❤️", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "👩🏿‍🚒", "🏳️‍🌈", "☕"]:
        (paragraph,) = paragraphs(f"a{emoji}{emoji}b", fonts)
        cut = [piece for word in paragraph.words for piece in word.pieces]
        assert [piece.text for piece in cut] == ["a", emoji, emoji, "b"]
        assert cut[1].family == EMOJI
        block = typesetter.set(emoji, STYLE, None)
        assert block.width == pytest.approx(1.25 * 30, abs=2)
        images = [sprite.image for line in block.lines for sprite, _ in line.sprites if sprite.image]
        assert [image.mode for image in images] == ["RGBA"]
    assert not any(traits(sign).emoji for sign in ["❤", "☺", "1", "#", "©", "™", "☕\ufe0e", "a"])


@pytest.mark.parametrize("table", ["breaks", pytest.param("japanese", marks=JAPANESE)])
def test_lines_may_break_at_spaces_hyphens_and_between_signs(fonts, table):
    def words(text: str) -> list[str]:
        (paragraph,) = paragraphs(text, fonts)
        return ["".join(cluster.text for cluster in word.clusters) for word in paragraph.words]

    breaks = cases(__file__, table)
    assert [[text, words(text)] for text, _ in breaks] == breaks


def test_punctuation_and_digits_have_the_font_of_the_letters(fonts):
    def name(cluster: Any) -> str:
        return "emoji" if cluster.family == EMOJI else fonts.families[cluster.family].name.split()[-1]

    def runs(text: str) -> list[list[str]]:
        (paragraph,) = paragraphs(text, fonts)
        clusters = [cluster for word in paragraph.words for cluster in word.clusters]
        return [["".join(one.text for one in run), font] for font, run in groupby(clusters, name)]

    expected = cases(__file__, "fonts")
    assert [[text, runs(text)] for text, _ in expected] == expected


def test_newlines_of_every_kind_separate_paragraphs_with_directions_of_their_own(fonts):
    parts = paragraphs("a\nb\r\nc\rd\u2028e\n\n", fonts)
    assert [source(part) for part in parts] == ["a", "b", "c", "d", "e", "", ""]
    mixed = paragraphs("abc سلام\n12 سلام abc\n🎉 123\n", fonts)
    assert [part.rtl for part in mixed] == [False, True, False, False]


def test_levels_are_those_of_the_bidirectional_algorithm(fonts):
    expected = {"abc": "000", "ab אב 12 ab": "00011122000", "אב ab אב": "11122111", "אב 12": "11122"}
    expected |= {"אב a (b)": "11122222"}  # rule N0: brackets have the direction of their content
    expected |= {"א\u2066a b\u2069ב": "1122211"}
    assert {text: "".join(map(str, levels(text)[0])) for text in expected} == expected
    second = pytest.importorskip("bidi")
    for text in ("ab אב 12 ab", "سلام 123 abc", "אב a (b)", "שלום John (Smith), 25%", "abc سلام، 5 عليكم"):
        shown = "".join(visual_order(text, levels(text)[0])).translate(str.maketrans("()", "  "))
        assert shown == second.get_display(text).translate(str.maketrans("()", "  "))


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
@example("\ud83d ש")
def test_any_text_is_cut_without_loss_or_refused_in_a_sentence(fonts, text):
    parts, sentence = None, ""
    try:
        parts = paragraphs(text, fonts)
    except ConjuryError as refusal:
        sentence = str(refusal)
    if parts is None:
        assert sentence.endswith(".")
    else:
        assert NEWLINES.split(text) == [source(part) for part in parts]


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(TEXTS, st.integers(60, 700), st.sampled_from(["start", "center", "end"]), st.sampled_from([400, 700]))
def test_lines_fit_and_give_the_text_back(typesetter, text, width, align, weight):
    block = typesetter.set(text, TextStyle(20, weight, align=align), width)  # type: ignore[arg-type]
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
    whole = typesetter.set(text, STYLE, None)
    assert len(whole.lines) == len(NEWLINES.split(text))
    assert whole.width == max(line.width for line in whole.lines)
    assert texts(typesetter.set(text, STYLE, whole.width)) == texts(whole)


def test_empty_lines_are_as_high_as_others(typesetter):
    for text, lines in {"": [""], "   ": [""], "one\n\ntwo \n": ["one", "", "two", ""]}.items():
        block = typesetter.set(text, STYLE, 400)
        assert texts(block) == lines
        assert [line.y for line in block.lines] == [39 * number for number in range(len(lines))]
        assert typesetter.draw(block, BLACK, WHITE).size == (400, 39 * len(lines))


def test_a_long_word_is_cut_where_the_line_is_full_and_no_narrower_than_a_letter(typesetter):
    lines = texts(typesetter.set("so " + "x" * 100 + " it is", STYLE, 200))
    assert lines[0] == "so"
    assert set(map(len, lines[1:-1])) == {len(lines[1])}
    assert "".join(lines[1:]) == "x" * 100 + " it is"
    letter = typesetter.set("w", STYLE, None).width
    assert texts(typesetter.set("wiw w", STYLE, letter)) == ["w", "i", "w", "w"]
    for width in (1, 0, -5):
        with pytest.raises(InputError, match=r"'w', which at 30 pixels is wider than .* make the box wider"):
            typesetter.set("w", STYLE, width)
        assert typesetter.set("", STYLE, width).width == max(width, 0)
    for text in ("x" * 3000, "word " * 600, "سلام" * 700, "👍🏽" * 1500):
        block = typesetter.set(text, TextStyle(14), 500)
        assert dropped(text, block.lines).strip() == ""
        assert max(line.width for line in block.lines[:-1]) > 400


@pytest.mark.parametrize(
    "text", ["j", "Ậ̈́", "gjpqyÅ", "f", "الله", "ٱلۡحَمۡدُ لِلَّٰهِ", "र्क्षि", "A" + "\N{COMBINING ACUTE ACCENT}" * 12]
)
def test_no_ink_is_cut_off(typesetter, text):
    block = typesetter.set(text, TextStyle(60, leading=1.0), None)
    family = typesetter.fonts.family_of(text[0])
    paper = Image.new("RGB", (1000, 1000), WHITE)
    face, direction = typesetter.fonts.face(family, 60, 400), "rtl" if block.rtl else "ltr"
    ImageDraw.Draw(paper).text((400, 600), text, BLACK, face, anchor="ls", direction=direction)
    whole = Image.new("RGB", (block.width, block.above + block.height + block.below), WHITE)
    typesetter.paint(whole, block, BLACK, 0, block.above)
    assert ink(whole).sum() == pytest.approx(ink(paper).sum(), rel=1e-3)


def test_outlines_on_which_freetype_fails_are_refused(typesetter, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise OSError("raster overflow")

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", fail)
    with pytest.raises(InputError, match=r"'unseenword' cannot be drawn at weight 400 \(raster overflow\)"):
        typesetter.set("unseenword", STYLE, None)


def test_arabic_letters_are_joined_and_devanagari_conjuncts_are_formed(typesetter):
    def strokes(image: Image.Image) -> int:
        inked = np.r_[0, (ink(image).sum(axis=0) > 0).astype(int)]
        return int((np.diff(inked) == 1).sum())

    joined, apart = drawn(typesetter, "سلام"), drawn(typesetter, "س\u200cل\u200cا\u200cم")
    assert joined.width < 0.8 * apart.width
    assert strokes(joined) < strokes(apart)
    width = {text: drawn(typesetter, text).width for text in ("क्ष", "क", "ष", "क्\u200cष")}
    assert width["क्ष"] < 0.8 * (width["क"] + width["ष"])
    assert width["क्\u200cष"] > 1.2 * width["क्ष"]


def test_words_are_in_reading_order(typesetter):
    def sprites(text: str) -> dict[bytes, int]:
        (line,) = typesetter.set(text, STYLE, None).lines
        return {sprite.image.tobytes(): pen for sprite, pen in line.sprites if sprite.image}

    for text, from_left in cases(__file__, "from_left"):
        pens = sprites(text)
        places = [pens[picture] for word in from_left for picture in sprites(word)]
        assert places == sorted(set(places))
        assert len(places) == len(from_left)


def test_brackets_and_overrides_follow_the_direction(typesetter):
    hebrew = ink(drawn(typesetter, "(א)"))
    columns = np.flatnonzero(hebrew.sum(axis=0))
    first = hebrew[:, columns[0] : columns[0] + 4].sum(axis=0)
    assert first.argmax() <= 2  # the round back of a bracket that opens to the right
    assert np.array_equal(ink(drawn(typesetter, "\u202eabc")), ink(drawn(typesetter, "cba")))


@JAPANESE
def test_japanese_is_broken_between_characters_and_drawn_bold(typesetter):
    text = "彼女は「ありがとう」と言った、そして2024年に東京タワーへ行きました！"
    for width in range(90, 300, 21):
        lines = texts(typesetter.set(text, STYLE, width))
        assert "".join(lines) == text
        assert not any(line[0] in "、。」！っょャー" or line.endswith("「") for line in lines)
    regular, bold = (ink(drawn(typesetter, text, TextStyle(30, weight))).sum() for weight in (400, 700))
    assert bold > 1.2 * regular


def test_without_fribidi_latin_and_simple_emoji_are_drawn(monkeypatch):
    monkeypatch.setattr(characters, "fribidi", lambda: None)
    monkeypatch.setattr(fonts_module, "fribidi", lambda: None)
    assert levels("Naïve 日本 🎉") == ([0] * 10, False)
    plain = Typesetter(Fonts.find())
    assert len(plain.set("Naïve\u00adly 2024 ❤️\u200b 😀!", STYLE, 300).lines) == 1
    face = plain.fonts.face(0, 30, 400)
    assert face.getlength("AV") == face.getlength("A") + face.getlength("V")  # no kerning: the basic layout
    assert plain.set("a\u200d\u2060b", STYLE, None).width == plain.set("ab", STYLE, None).width
    for text in ("سلام", "שלום", "नमस्ते", "🇩🇪"):
        with pytest.raises(
            MissingDependency, match=r"FriBidi, which is not installed; install it.*libfribidi0"
        ):
            plain.set(text, STYLE, 300)


@settings(max_examples=40, deadline=None)
@given(ACCOUNTS, st.sampled_from([(34, 400), (34, 700), (21, 600)]))
@example("@brad_mueller_1174", (34, 400))
@example("its_cf7", (34, 400))
@example("_1", (34, 700))
@example("f4", (21, 600))
def test_a_word_and_its_number_are_the_pixels_of_both_shaped_together(fonts, account, style):
    sprite = Sprites(fonts).of(TextRun(account, 0, 0, False), *style)
    expected = typesetting._drawn(account, fonts.face(0, *style), "ltr")
    assert sprite.image is not None
    assert expected.image is not None
    assert (sprite.left, sprite.top, sprite.image.size) == (expected.left, expected.top, expected.image.size)
    assert sprite.image.tobytes() == expected.image.tobytes()
    assert sprite.advance == pytest.approx(expected.advance)


def test_accounts_with_other_numbers_are_not_shaped_again(fonts, monkeypatch):
    shaped = []
    draw = typesetting._drawn
    monkeypatch.setattr(typesetting, "_drawn", lambda *of: (shaped.append(of[0]), draw(*of))[1])
    sprites = Sprites(fonts)
    for number in range(100, 200):
        sprites.of(TextRun(f"@rita_{number}", 0, 0, False), 30, 400)
    assert sorted(shaped) == [*"0123456789", "@rita_"]
