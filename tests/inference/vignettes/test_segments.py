# ruff: noqa: RUF001 (letters of other scripts are meant)
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjury.inference.errors import ConjuryError, InputError, MissingDependency
from conjury.inference.vignettes import directions
from conjury.inference.vignettes.characters import NEWLINES, traits
from conjury.inference.vignettes.directions import levels, visual_order
from conjury.inference.vignettes.fonts import EMOJI, Fonts
from conjury.inference.vignettes.segments import Paragraph, paragraphs

ZWJ = "\N{ZERO WIDTH JOINER}"
FAMILY = ZWJ.join("👨👩👧👦")
NBSP = "\N{NO-BREAK SPACE}"


def words(text: str, fonts: Fonts) -> list[str]:
    (paragraph,) = paragraphs(text, fonts)
    return ["".join(cluster.text for cluster in word.clusters) for word in paragraph.words]


def families(text: str, fonts: Fonts) -> list[tuple[str, str]]:
    """Neighbouring characters of one font, with its name; white space is left out."""
    (paragraph,) = paragraphs(text, fonts)
    runs: list[tuple[str, str]] = []
    for cluster in (cluster for word in paragraph.words for cluster in word.clusters):
        name = "emoji" if cluster.family == EMOJI else fonts.families[cluster.family].name.split()[-1]
        if runs and runs[-1][1] == name:
            runs[-1] = (runs[-1][0] + cluster.text, name)
        else:
            runs.append((cluster.text, name))
    return runs


def source(paragraph: Paragraph) -> str:
    return "".join(piece.text for word in paragraph.words for piece in (*word.pieces, *word.blanks))


@pytest.mark.parametrize(
    "emoji",
    ["😀", FAMILY, "🇩🇪", "1️⃣", "#⃣", "❤️", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "👩🏿‍🚒", "🏳️‍🌈", "☕"],
)
def test_an_emoji_is_one_cluster_and_one_piece(fonts: Fonts, emoji: str) -> None:
    (paragraph,) = paragraphs(f"a{emoji}b", fonts)
    (word,) = paragraph.words
    assert [piece.text for piece in word.pieces] == ["a", emoji, "b"]
    assert word.pieces[1].family == EMOJI


@pytest.mark.parametrize("text", ["❤", "☺", "1", "#", "©", "™", "☕\ufe0e", "a"])
def test_signs_shown_as_text_are_no_emoji(text: str) -> None:
    assert not traits(text).emoji


def test_two_flags_are_two_emoji(fonts: Fonts) -> None:
    (paragraph,) = paragraphs("🇩🇪🇫🇷", fonts)
    assert [piece.text for word in paragraph.words for piece in word.pieces] == ["🇩🇪", "🇫🇷"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two  three ", ["one", "two", "three"]),
        (f"10{NBSP}km", [f"10{NBSP}km"]),
        ("well-known", ["well-", "known"]),
        ("-5 to 10-20, a-1", ["-5", "to", "10-20,", "a-1"]),
        ("yes—no", ["yes—", "no"]),
        ("a\N{ZERO WIDTH SPACE}b", ["a", "b"]),
        ("and/or", ["and/or"]),
        ("great🎉🎉!", ["great🎉", "🎉!"]),
        ("    indented", ["", "indented"]),
        ("", []),
    ],
)
def test_lines_may_break_at_spaces_and_hyphens(fonts: Fonts, text: str, expected: list[str]) -> None:
    assert words(text, fonts) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("日本語", ["日", "本", "語"]),
        ("はい、「そう」！", ["は", "い、", "「そ", "う」！"]),
        ("キャットー。", ["キャッ", "トー。"]),
        ("東京Tokyo（東）", ["東", "京", "Tokyo", "（東）"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
        ("遅れた🚌。", ["遅", "れ", "た", "🚌。"]),
    ],
)
def test_no_japanese_line_begins_with_a_closing_sign(fonts: Fonts, text: str, expected: list[str]) -> None:
    pytest.importorskip("noto_cjk_sans_jp_regular")
    assert words(text, fonts) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi, you!", [("Hi,you!", "Inter")]),
        ("12% سلام، 5!", [("12%سلام،5!", "Arabic")]),
        ("hello (سلام) you", [("hello", "Inter"), ("(سلام)", "Arabic"), ("you", "Inter")]),
        ("שלום 25% ok", [("שלום25%", "Heebo"), ("ok", "Inter")]),
        ("🎉 ok 🎉, 2", [("🎉", "emoji"), ("ok", "Inter"), ("🎉", "emoji"), (",2", "Inter")]),
        ("123 …", [("123…", "Inter")]),
    ],
)
def test_punctuation_and_digits_stay_with_the_letters(
    fonts: Fonts, text: str, expected: list[tuple[str, str]]
) -> None:
    assert families(text, fonts) == expected


def test_newlines_of_every_kind_part_paragraphs(fonts: Fonts) -> None:
    parts = paragraphs("a\nb\r\nc\rd\u2028e\n\n", fonts)
    assert [source(part) for part in parts] == ["a", "b", "c", "d", "e", "", ""]


def test_each_paragraph_has_the_direction_of_its_first_letter(fonts: Fonts) -> None:
    assert [part.rtl for part in paragraphs("abc سلام\n12 سلام abc\n🎉 123\n", fonts)] == [
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", "000"),
        ("ab אב 12 ab", "00011122000"),
        ("אב ab אב", "11122111"),
        ("אב 12", "11122"),
        ("אב a (b)", "11122222"),  # rule N0: the brackets take the side of what they hold
        ("א\u2066a b\u2069ב", "1122211"),
    ],
)
def test_levels_are_those_of_the_bidirectional_algorithm(fonts: Fonts, text: str, expected: str) -> None:
    assert "".join(map(str, levels(text)[0])) == expected


def test_levels_agree_with_a_second_implementation(fonts: Fonts) -> None:
    second = pytest.importorskip("bidi")
    for text in ("ab אב 12 ab", "سلام 123 abc", "אב a (b)", "שלום John (Smith), 25%", "abc سلام، 5 عليكم"):
        shown = "".join(visual_order(text, levels(text)[0])).translate(str.maketrans("()", "  "))
        assert shown == second.get_display(text).translate(str.maketrans("()", "  "))


def test_text_without_right_to_left_letters_needs_no_fribidi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directions, "fribidi", lambda: None)
    assert levels("Naïve 日本 🎉") == ([0] * 10, False)
    with pytest.raises(MissingDependency, match="libfribidi0"):
        levels("שלום")


@given(st.lists(st.integers(0, 4)))
def test_visual_order_of_one_direction_is_kept_or_reversed(found: list[int]) -> None:
    pieces = list(range(len(found)))
    assert sorted(visual_order(pieces, found)) == pieces
    assert visual_order(pieces, [2 * level for level in [0] * len(found)]) == pieces
    assert visual_order(pieces, [1] * len(found)) == pieces[::-1]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_any_text_is_cut_without_loss_or_refused_in_a_sentence(fonts: Fonts, text: str) -> None:
    parts, sentence = cut_or_refused(text, fonts)
    assert NEWLINES.split(text) == [source(part) for part in parts] or sentence.endswith(".")


def cut_or_refused(text: str, fonts: Fonts) -> tuple[list[Paragraph], str]:
    try:
        return paragraphs(text, fonts), ""
    except ConjuryError as refusal:
        return [], str(refusal)


def test_lone_surrogates_are_refused(fonts: Fonts) -> None:
    with pytest.raises(InputError, match=r"U\+D83D"):
        paragraphs("\ud83d ש", fonts)
