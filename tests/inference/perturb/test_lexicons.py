"""Lexicons: sizes, inflection, capitals, agreement, and refused lines."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

import pytest

from conjury.inference.errors import InputError
from conjury.inference.perturb import Segment, load_lexicon, perturb_text, read_lexicon
from conjury.inference.perturb.candidates import neighbours, slips
from conjury.inference.perturb.words import like
from conjury.inference.tables.files import PERTURB

FORMS = Path(__file__).resolve().parents[2] / "fixtures" / "perturb" / "make_forms.py"
LANGUAGES = pytest.mark.parametrize("language", ["en", "es"])


def changed(text: str, kind: str, language: str) -> str:
    """The text with everything substituted that can be."""
    return perturb_text(text, [Segment(1, 0, len(text))], kind, language, rate=1).text


def replacements(kind: str, language: str, key: str, to: str | None = None) -> tuple[str, ...]:
    return load_lexicon(kind, language, to).replacements.get(tuple(key.split()), ())


@LANGUAGES
@pytest.mark.parametrize(("kind", "entries"), [("preserving", 150), ("drift", 150), ("dialect", 100)])
def test_lexicons_that_ship_are_large_and_no_replacement_is_the_word_itself(
    kind: str, language: str, entries: int
) -> None:
    lexicon = load_lexicon(kind, language)
    assert lexicon.n_entries >= entries
    for key, news in lexicon.replacements.items():
        for new in news:
            assert tuple(new.casefold().split()) != key
            assert new == " ".join(new.split()) != ""


@LANGUAGES
def test_stored_forms_are_those_of_the_rules_for_all_words_of_the_lexicons(language: str) -> None:
    with (PERTURB / language / "forms.csv").open(encoding="utf-8", newline="") as file:
        stored = [tuple(row) for row in csv.reader(file)]
    assert stored[1:] == runpy.run_path(str(FORMS))["forms"](language)


@pytest.mark.parametrize(
    ("kind", "language", "pairs"),
    [
        (
            "preserving",
            "en",
            "children=kids, kids=children, kid's=child's, began=started, starting=beginning",
        ),
        ("preserving", "en", "starting=beginning, tries to=attempts to, biggest=largest, stories=tales"),
        ("drift", "en", "wives=dentists, stolen=bought"),
        ("dialect", "en", "parking lots=car parks, realized=realised"),
        ("preserving", "es", "empiezan=comienzan, utilicé=usé, entienda=comprenda, comencemos=empecemos"),
        ("preserving", "es", "lugares=sitios"),
        ("drift", "es", "amigas=enemigas, japonesa=española, peces=pájaros"),
        ("dialect", "es", "aparqué=estacioné, vosotros=ustedes"),
    ],
)
def test_replacements_have_the_form_of_what_they_replace(kind: str, language: str, pairs: str) -> None:
    for old, new in (pair.split("=") for pair in pairs.split(", ")):
        assert new in replacements(kind, language, old)


def test_ambiguous_forms_are_not_replaced() -> None:
    assert replacements("preserving", "en", "started") == ()  # began, or begun
    assert replacements("drift", "es", "como") == ()  # of comer; far more often another word


def test_dialects_lead_both_ways() -> None:
    assert replacements("dialect", "en", "elevator", to="uk") == ("lift",)
    assert replacements("dialect", "en", "lift", to="us") == ("elevator",)
    assert replacements("dialect", "en", "lift", to="uk") == ()
    assert replacements("dialect", "en", "guy", to="us") == ()
    assert replacements("dialect", "es", "trajes de baño", to="spain") == ("bañadores",)


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [("dog", "cat", "cat"), ("Dog", "cat", "Cat"), ("DOG", "cat", "CAT"), ("I", "me", "me"),
     ("Parking Lot", "car park", "Car Park"), ("Él", "ella", "Ella"), ("i'm", "I am", "I am")],
)  # fmt: skip
def test_capitals_carry_over(old: str, new: str, written: str) -> None:
    assert like(old, new) == written


def test_apostrophes_are_those_of_the_text_and_clipped_words_are_words() -> None:
    assert "kid\u2019s" in changed("It\u2019s the child\u2019s.", "preserving", "en")
    assert "kid's" in changed("It's the child's.", "preserving", "en")
    assert changed("'cause", "preserving", "en") == "because"
    assert replacements("preserving", "en", "cause") == ()


def test_articles_and_conjunctions_still_agree() -> None:
    assert changed("a baby", "preserving", "en") == "a baby"  # not "a infant"
    assert changed("the baby", "preserving", "en") == "the infant"
    assert changed("listo e inmenso", "preserving", "es") == "espabilado e inmenso"  # not "e enorme"
    assert changed("listo y inmenso", "preserving", "es") == "espabilado y inmenso"
    assert changed("uno o dos", "drift", "es").split()[1] == "o"


def test_swaps_keep_capitals_at_the_beginning_of_a_sentence() -> None:
    assert changed("Nobody whistled", "drift", "en") in ("Everybody whistled", "Whistled nobody")
    assert changed("Zebras whistled", "drift", "en") == "Whistled zebras"


def test_keyboards_are_symmetric_and_have_the_letters_of_their_language() -> None:
    assert neighbours("en")["q"] == "wa"
    assert neighbours("es")["l"] == "opkñ"
    assert "ñ" not in neighbours("en")["l"]
    for language in ("en", "es"):
        keys = neighbours(language)
        assert all(letter in keys[other] for letter in keys for other in keys[letter])


def test_slips_never_lengthen_a_word_and_always_change_it() -> None:
    assert slips("Ola", "es")["transposition"] == ["Loa", "Oal"]
    for word in ("Año", "no", "Tesla", "don\u2019t", "ÉL", "x", "six-fingered"):
        for how, options in slips(word, "es").items():
            assert word not in options
            assert {len(new) for new in options} == {len(word) - (how == "deletion")}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("noun:\n  - dog = cat\n", r"mine\.yaml:2: 'dog = cat' is no substitution"),
        ("noun:\n  - dog -> |\n", "lacks a word"),
        ("nuon:\n  - dog -> cat\n", "did you mean 'noun'"),
        ("- dog -> cat\n", "lists substitutions by part"),
        ("noun:\n  - dog -> quokka\n", "no forms of 'quokka' .*list each of its forms under 'phrase'"),
    ],
)
def test_lines_that_are_no_substitution_are_named(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_lexicon(file, "en")
