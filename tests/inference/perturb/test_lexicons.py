"""Lexicons: sizes, inflection, capitals, agreement, and refused lines."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.perturb import Segment, load_lexicon, perturb_text, read_lexicon
from conjury.inference.perturb.perturb import neighbours, slips
from conjury.inference.perturb.spans import with_capitals_of
from conjury.inference.tables.files import PERTURB

FORMS = Path(__file__).resolve().parents[2] / "fixtures" / "perturb" / "make_forms.py"


@pytest.mark.parametrize("language", ["en", "es"])
def test_lexicons_are_large_replace_no_word_by_itself_and_have_the_forms_of_the_rules(language):
    for kind, entries in {"preserving": 150, "drift": 150, "dialect": 100}.items():
        lexicon = load_lexicon(kind, language)
        assert lexicon.n_entries >= entries
        for key, news in lexicon.replacements.items():
            assert all(tuple(new.casefold().split()) != key for new in news)
            assert all(new == " ".join(new.split()) != "" for new in news)
    with (PERTURB / language / "forms.csv").open(encoding="utf-8", newline="") as file:
        stored = [tuple(row) for row in csv.reader(file)]
    assert stored[1:] == runpy.run_path(str(FORMS))["forms"](language)


@pytest.mark.parametrize(("kind", "language", "pairs"), cases(__file__, "replacements"))
def test_replacements_have_the_form_of_what_they_replace(kind, language, pairs):
    name, _, to = kind.partition(" to ")
    replacements = load_lexicon(name, language, to or None).replacements
    for old, new in (pair.split("=") for pair in pairs.split(", ")):
        news = replacements.get(tuple(old.split()), ())
        assert new in news if new else news == ()


def test_capitals_carry_over():
    pairs = "dog=cat, Dog=Cat, DOG=CAT, Parking Lot=Car Park, New york=San francisco, Él=Ella, i'm=I am, I=me"
    for old, new in (pair.split("=") for pair in pairs.split(", ")):
        assert with_capitals_of(old, new if old == "i'm" else new.lower()) == new


@pytest.mark.parametrize(("kind", "language", "text", "changed"), cases(__file__, "neighbours"))
def test_words_agree_with_their_neighbours(kind, language, text, changed):
    assert perturb_text(text, [Segment(1, 0, len(text))], kind, language, rate=1).text == changed


def test_articles_and_capitals_of_what_is_drawn_agree():
    nobody = perturb_text("Nobody whistled", [Segment(1, 0, 15)], "drift", "en", rate=1).text
    assert nobody in ("Everybody whistled", "Whistled nobody")
    assert perturb_text("uno o dos", [Segment(1, 0, 9)], "drift", "es", rate=1).text.split()[1] == "o"


def test_slips_are_on_neighbouring_keys_never_lengthen_a_word_and_always_change_it():
    assert neighbours("en")["q"] == "wa"
    assert neighbours("es")["l"] == "opkñ"
    assert "ñ" not in neighbours("en")["l"]
    for keys in (neighbours("en"), neighbours("es")):
        assert all(letter in keys[other] for letter in keys for other in keys[letter])
    assert slips("Ola", "es")["transposition"] == ["Loa", "Oal"]
    for word in ("Año", "no", "Tesla", "don\u2019t", "ÉL", "x", "six-fingered"):
        for how, options in slips(word, "es").items():
            assert word not in options
            assert {len(new) for new in options} == {len(word) - (how == "deletion")}


@pytest.mark.parametrize(("content", "problem"), cases(__file__, "refused"))
def test_lines_that_are_no_substitution_are_named(tmp_path, content, problem):
    file = tmp_path / "mine.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_lexicon(file, "en")
