"""Lexicons: sizes, inflection, capitals, agreement, and what is no lexicon."""

from __future__ import annotations

from pathlib import Path

import pytest

from conjury.inference.errors import InputError
from conjury.inference.perturb import Segment, load_lexicon, perturb_text, read_lexicon
from conjury.inference.perturb.typos import neighbours, slips
from conjury.inference.perturb.words import like


def changed(text: str, kind: str, language: str, variety: str | None = None) -> str:
    """The text with everything substituted that can be."""
    whole = [Segment(1, 0, len(text))]
    return perturb_text(text, whole, kind, language, rate=1, variety=variety).text


def words(kind: str, language: str, *key: str, to: str | None = None) -> tuple[str, ...]:
    return load_lexicon(kind, language, to).replacements.get(key, ())


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize(("kind", "entries"), [("preserving", 150), ("drift", 150), ("dialect", 100)])
def test_lexicons_that_ship_are_of_a_decent_size(kind: str, language: str, entries: int) -> None:
    assert load_lexicon(kind, language).n_entries >= entries


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("kind", ["preserving", "drift", "dialect"])
def test_no_replacement_is_the_word_itself_or_holds_a_line_break(kind: str, language: str) -> None:
    for key, news in load_lexicon(kind, language).replacements.items():
        for new in news:
            assert tuple(new.casefold().split()) != key
            assert new == " ".join(new.split())
            assert new


@pytest.mark.parametrize(
    ("kind", "language", "key", "new"),
    [
        ("preserving", "en", "children", "kids"),
        ("preserving", "en", "kids", "children"),
        ("preserving", "en", "kid's", "child's"),
        ("preserving", "en", "began", "started"),
        ("preserving", "en", "starting", "beginning"),
        ("preserving", "en", "tries to", "attempts to"),
        ("preserving", "en", "biggest", "largest"),
        ("preserving", "en", "stories", "tales"),
        ("drift", "en", "wives", "dentists"),
        ("drift", "en", "stolen", "bought"),
        ("dialect", "en", "parking lots", "car parks"),
        ("dialect", "en", "realized", "realised"),
        ("preserving", "es", "empiezan", "comienzan"),
        ("preserving", "es", "utilicé", "usé"),
        ("preserving", "es", "entienda", "comprenda"),
        ("preserving", "es", "comencemos", "empecemos"),
        ("preserving", "es", "lugares", "sitios"),
        ("drift", "es", "amigas", "enemigas"),
        ("drift", "es", "japonesa", "española"),
        ("drift", "es", "peces", "pájaros"),
        ("dialect", "es", "trajes de baño", "bañadores"),
        ("dialect", "es", "aparqué", "estacioné"),
        ("dialect", "es", "vosotros", "ustedes"),
    ],
)
def test_replacements_have_the_form_of_what_they_replace(
    kind: str, language: str, key: str, new: str
) -> None:
    to = "spain" if key == "trajes de baño" else None
    assert new in words(kind, language, *key.split(), to=to)


def test_forms_that_could_become_two_different_forms_are_left_alone() -> None:
    assert words("preserving", "en", "started") == ()  # began, or begun
    assert words("drift", "es", "como") == ()  # of comer; far more often another word


def test_dialects_lead_both_ways() -> None:
    assert words("dialect", "en", "elevator", to="uk") == ("lift",)
    assert words("dialect", "en", "lift", to="us") == ("elevator",)
    assert words("dialect", "en", "lift", to="uk") == ()
    assert words("dialect", "en", "guy", to="us") == ()


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [("dog", "cat", "cat"), ("Dog", "cat", "Cat"), ("DOG", "cat", "CAT"), ("I", "me", "me"),
     ("Parking Lot", "car park", "Car Park"), ("Él", "ella", "Ella"), ("i'm", "I am", "I am")],
)  # fmt: skip
def test_capitals_carry_over(old: str, new: str, written: str) -> None:
    assert like(old, new) == written


def test_apostrophes_are_written_as_the_text_writes_them() -> None:
    assert "kid\u2019s" in changed("It\u2019s the child\u2019s.", "preserving", "en")
    assert "kid's" in changed("It's the child's.", "preserving", "en")


def test_clipped_words_are_not_taken_for_others() -> None:
    assert changed("'cause", "preserving", "en") == "because"
    assert words("preserving", "en", "cause") == ()


def test_articles_and_conjunctions_still_agree() -> None:
    assert changed("a baby", "preserving", "en") == "a baby"  # not "a infant"
    assert changed("the baby", "preserving", "en") == "the infant"
    assert changed("listo e inmenso", "preserving", "es") == "espabilado e inmenso"  # not "e enorme"
    assert changed("listo y inmenso", "preserving", "es") == "espabilado y inmenso"
    assert changed("uno o dos", "drift", "es").split()[1] == "o"


def test_swaps_keep_capitals_at_the_beginning_of_a_sentence() -> None:
    assert changed("Nobody whistled", "drift", "en") in ("Everybody whistled", "Whistled nobody")
    assert changed("Zebras whistled", "drift", "en") == "Whistled zebras"


def test_keyboards_have_the_letters_of_their_language() -> None:
    assert "ñ" in neighbours("es")["l"]
    assert "ñ" not in neighbours("en")["l"]
    for language in ("en", "es"):
        keys = neighbours(language)
        assert all(letter in keys[other] for letter in keys for other in keys[letter])


def test_slips_never_lengthen_a_word_and_always_change_it() -> None:
    for word in ("Año", "no", "Tesla", "don\u2019t", "ÉL", "x", "six-fingered"):
        for how, made in slips(word, "es").items():
            assert word not in made
            assert {len(new) for new in made} == {len(word) - (how == "deletion")}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("noun:\n  - dog = cat\n", "2: 'dog = cat' is no substitution"),
        ("noun:\n  - dog -> |\n", "lacks a word"),
        ("nuon:\n  - dog -> cat\n", "did you mean 'noun'"),
        ("- dog -> cat\n", "lists substitutions by part"),
    ],
)
def test_lines_that_are_no_substitution_are_named(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        read_lexicon(file, "en")


def test_a_spanish_verb_that_is_no_infinitive_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("verb:\n  - oír -> escuchar\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.yaml:2: 'oír' is no infinitive"):
        read_lexicon(file, "es")
