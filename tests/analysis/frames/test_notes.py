"""Notes are sentences with ids, keep their parts in manifests, and are put in words with labels."""

from __future__ import annotations

import json
import pickle
import warnings

import pandas as pd
import pytest
from cases import cases

from conjury.analysis.figures.note_labels import note_text
from conjury.analysis.frames.notes import Note, note_under, noted_warnings, read_note, record_notes
from conjury.analysis.results import Result

LABELS = {
    ("judges", "gpt4o"): "GPT-4o",
    ("judges", "human"): "Human panel",
    ("prompts", "baseline"): "Policy only",
    ("dimension", "fun"): "Overall fun",
    ("slur", "sexism"): "Sexist slur",
    "slur": "Insult",
}
PEOPLE = ["human"]
NOTES = {
    "plain": Note("Braces {as they are}."),
    "group": Note("Few clusters of 'pair_id'.", {}, "amce", "gpt4o", "baseline"),
    "level": Note.of("{level} has {n:,}; {level2} -1", level=("slur", "sexism"), n=12_000, level2=("a", "x")),
    "metrics": Note.of("rows of {metrics:3}", metrics=["macro_f1", "mcc", "pass_all_k of 2", "auc"]),
    "under": note_under({"dimension": "fun", "kind": "x_y"}, Note.of("{judges}.", judges=PEOPLE)),
    "sides": note_under({"left": "gpt4o", "right": "llama_3"}, "no answer."),
    "who": Note.of("{group}: {error}", group=Note("", judge="gpt4o", prompt="baseline"), error="a {b}_c."),
}  # fmt: skip
TEXTS = {
    "plain": ("Braces {as they are}.", "Braces {as they are}."),
    "group": ("amce, gpt4o baseline: Few clusters of 'pair_id'.", "Few clusters of 'pair_id'."),
    "level": ("slur=sexism has 12,000; a=x -1", "Insult: Sexist slur has 12,000; a: x \u22121"),
    "metrics": (
        "rows of macro_f1, mcc, pass_all_k of 2 and 1 more",
        "rows of macro-F1, Matthews correlation, pass all k of 2 and 1 more",
    ),
    "under": ("fun, x_y: human.", "Overall fun, x_y: Human panel."),
    "sides": ("gpt4o, llama_3: no answer.", "GPT-4o, llama 3: no answer."),
    "who": ("gpt4o baseline: a {b}_c.", "GPT-4o, Policy only: a {b}_c."),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTES)
def test_a_note_is_a_sentence_with_ids_and_is_put_in_words_with_labels(name: str) -> None:
    text, words = TEXTS[name]
    assert (NOTES[name], note_text(NOTES[name], LABELS)) == (text, words)


@pytest.mark.parametrize("name", NOTES)
def test_a_note_is_the_same_after_json_and_between_processes(name: str) -> None:
    note = NOTES[name]
    for again in (read_note(json.loads(json.dumps(record_notes(note)))), pickle.loads(pickle.dumps(note))):
        assert (again, again.judge, note_text(again, LABELS)) == (note, note.judge, TEXTS[name][1])


def test_manifests_have_the_text_of_a_note_beside_its_parts_and_text_of_earlier_versions_is_a_note() -> None:
    entry = record_notes({"notes": (NOTES["group"], "Plain.", Note("Plain, too."))})["notes"]
    assert entry[0] == {
        "text": "amce, gpt4o baseline: Few clusters of 'pair_id'.",
        "template": "Few clusters of 'pair_id'.",
        "result": "amce",
        "judge": "gpt4o",
        "prompt": "baseline",
    }
    assert entry[1:] == ["Plain.", "Plain, too."]
    assert read_note("amce, gpt4o: Few {clusters}.") == "amce, gpt4o: Few {clusters}."


@pytest.mark.parametrize(("template", "text"), cases(__file__, "templates"))
def test_a_template_of_a_file_has_few_formats_and_where_values_do_not_fit_the_text_remains(
    template: str, text: str
) -> None:
    entry = {"text": "As it was.", "template": template, "values": {"a": "x", "level": ["one"]}}
    assert read_note(entry) == text


def test_notes_that_differ_only_in_their_dimension_are_one_that_names_all() -> None:
    texts = [
        note_under({"judge": "gpt4o", "dimension": dimension}, f"{n} answers.")
        for dimension, n in (("fun", 2), ("tone", 2), ("wit", 3))
    ]
    notes = Result(pd.DataFrame(), "scores", (*texts, "Other.", texts[0])).notes
    assert notes == ("gpt4o, fun, tone: 2 answers.", "gpt4o, wit: 3 answers.", "Other.")
    assert note_text(notes[0], LABELS) == "GPT-4o, Overall fun, tone: 2 answers."


def test_warnings_become_notes_that_keep_their_parts() -> None:
    with noted_warnings() as notes:
        warnings.warn(NOTES["level"], stacklevel=1)
        warnings.warn("Text.", UserWarning, stacklevel=1)
        warnings.warn("Of a library.", DeprecationWarning, stacklevel=1)
    assert notes == [NOTES["level"], "Text."]
    assert notes[0].values == NOTES["level"].values
