"""Perturbed texts and tables of items: span, rate, lines, seed, refused pairs, labels, the page of pairs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_folder import SHARED

from conjury.inference.errors import InputError
from conjury.inference.perturb import (
    KINDS,
    Change,
    applied,
    line_segments,
    perturb_items,
    perturb_text,
    sheet,
    undone,
)
from conjury.inference.tables import validate

EN = "I\u2019m gonna tell my mom: the dog, a kid's CAT (and don't laugh) drove an apartment, y'all! Café 42"
ES = "¿Sabéis? El niño y la MUJER tenían coche; pero ¡ay! mañana vosotros empezáis o no, ñandú José 13"
WORDS = st.one_of(st.sampled_from(f"{EN} {ES}".split()), st.text(min_size=1, max_size=8))
BLANKS = st.sampled_from([" ", " ", " ", "  ", "\n", "\r\n", "\t", " — ", ", "])
TEXTS = st.lists(st.tuples(WORDS, BLANKS), max_size=25).map(lambda parts: "".join(map("".join, parts)))
JOKES = {
    "j1": ["My mom bought a car.", "Nobody laughed.", "The kids yelled at the dog."],
    "j2": ["Hello.", "Hmm.", "Brr."],
    "j3": ["One line only, with a dad in it."],
}
PURPOSES = ("setup", "timing", "punchline")


def items(**columns: Any) -> pd.DataFrame:
    texts = ["\n".join(lines) for lines in JOKES.values()]
    return pd.DataFrame({"item_id": list(JOKES), "language": "en", "text": texts}).assign(**columns)


def labels() -> pd.DataFrame:
    of_lines = [(item, f"line_{n + 1}", PURPOSES[n]) for item in JOKES for n in range(len(JOKES[item]))]
    rows = of_lines + [(item, "joke_type", "witty") for item in JOKES]
    return pd.DataFrame(rows, columns=["item_id", "label_set", "label"])


# --- one text -------------------------------------------------------------------------------------


@st.composite
def spans(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(TEXTS)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=4)))
    return text, [(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False) if a < b]


@pytest.mark.long
@settings(max_examples=100, deadline=None, derandomize=True)
@given(spans(), st.sampled_from(KINDS), st.sampled_from(["en", "es"]), st.floats(0.02, 1))
def test_changes_stay_in_the_span_keep_lines_meet_the_rate_and_can_be_undone(span, kind, language, rate):
    text, ranges = span
    made = perturb_text(text, line_segments(text, ranges), kind, language, rate=rate, tolerance=0.1)
    end = 0
    for change in made.changes:
        assert any(start <= change.start and change.end <= stop for start, stop in ranges)
        assert end <= change.start
        assert text[change.start : change.end] == change.old != change.new
        assert text.count("\n", 0, change.start) + 1 == change.line
        end = change.end
    # With the changes inside the span and in order, these two say that nothing else changed, not a byte.
    assert applied(text, made.changes) == made.text
    assert undone(made.text, made.changes) == text
    returns, before = ([line.count("\r") for line in each.split("\n")] for each in (made.text, text))
    assert returns == before
    assert len(made.text.splitlines()) == len(text.splitlines())
    off = abs(made.n_changed - rate * made.n_words)
    assert made.rate_met == (made.n_changed > 0 and (off < 1 or off <= 0.1 * made.n_words))
    assert made.n_changed <= max(2, rate * made.n_words + 1)
    assert made.rate == (made.n_changed / made.n_words if made.n_words else 0)
    assert bool(made.changes) == (made.n_changed > 0)


@pytest.mark.parametrize(("kind", "rate"), [("orthographic", 0.1), ("orthographic", 0.5), ("drift", 0.3)])
def test_the_stated_rate_is_met_on_a_long_text(kind, rate):
    text = "My brother drives a big car to the office and nobody ever sees him there again. " * 10
    made = perturb_text(text, line_segments(text, [(0, len(text))]), kind, "en", rate=rate)
    assert made.rate == pytest.approx(rate, abs=0.5 / made.n_words)
    assert made.rate_met


# --- tables of items ------------------------------------------------------------------------------


@pytest.mark.long
def test_the_copies_of_an_item_depend_on_the_seed_and_on_no_other_item():
    texts = ["My mom drove home.", "The kids yelled at a dog.", "I don't know anybody."]
    many = pd.DataFrame({"item_id": [f"j{i}" for i in range(6)], "language": "en", "text": texts * 2})
    whole = perturb_items(many, ["orthographic", "drift"], seed=5).items
    for order in ([5, 3, 1, 0, 2, 4], [0, 2, 1, 5, 4]):
        fewer = perturb_items(many.iloc[order], ["sem_drift", "ortho"], seed=5).items  # names of the paper
        kept = whole[whole["item_id"].isin(fewer["item_id"])].reset_index(drop=True)
        pd.testing.assert_frame_equal(fewer, kept)
    one, again, other = (perturb_items(many, ["orthographic"], seed=seed).items["text"] for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


def test_originals_stand_first_and_labels_and_columns_carry_over():
    made = perturb_items(items(note=["x", "y", "z"]), ["drift", "orthographic"], labels=labels())
    frame = made.items
    assert frame["item_id"].tolist()[:3] == ["j1", "j1__orthographic", "j1__drift"]
    assert (frame["item_id"] == frame["base_item_id"]).tolist() == (frame["condition"] == "none").tolist()
    assert frame.loc[frame["base_item_id"] == "j1", "note"].unique().tolist() == ["x"]
    carried = validate(made.labels, "labels").groupby("item_id")[["label_set", "label"]]
    assert set(carried.groups) == set(frame["item_id"])
    values = carried.apply(lambda rows: rows.to_numpy().tolist())
    assert values["j1__orthographic"] == values["j1"]
    alone = perturb_items(items(), ["drift"], originals=False).items
    assert set(alone["condition"]) == {"drift"}
    for _, row in alone.iterrows():
        changes = [Change(**record) for record in json.loads(row["changes"])]
        assert undone(row["text"], changes) == "\n".join(JOKES[row["base_item_id"]])


def test_only_lines_with_the_label_change():
    made = perturb_items(items(), ["orthographic"], labels=labels(), only=["punchline"])
    for _, row in made.items[made.items["condition"] == "orthographic"].iterrows():
        assert row["text"].split("\n")[:2] == JOKES[row["base_item_id"]][:2]
        assert row["text"].split("\n")[2] != JOKES[row["base_item_id"]][2]
        assert {change["line"] for change in json.loads(row["changes"])} == {3}
    assert made.refused[["base_item_id", "reason"]].to_numpy().tolist() == [["j3", "no line with the label"]]


def test_a_stated_span_is_characters_of_the_text():
    made = perturb_items(items(where=["[[3, 6]]", None, "[]"]), ["dialect"], span_column="where")
    assert made.items["text"].iloc[1] == "My mum bought a car.\n" + "\n".join(JOKES["j1"][1:])
    assert made.refused["reason"].tolist() == ["no words in the span"] * 2


def test_lines_and_text_change_together():
    lines = [np.array(value, dtype=object) for value in JOKES.values()]
    made = perturb_items(items(lines=lines), ["drift"]).items
    assert all("\n".join(row["lines"]) == row["text"] for _, row in made.iterrows())
    without_text = perturb_items(items(lines=lines).drop(columns="text"), ["drift"]).items
    assert ["\n".join(lines) for lines in without_text["lines"]] == made["text"].tolist()


UNEQUAL = {"text": [" ".join(["Hmm"] * 19 + ["mom"]), "My mom.", "Hmm mom"]}
PUNCHLINE = {"kinds": ["preserving"], "labels": labels(), "only": ["punchline"]}
EMPTY = {"text": ["My dad.", None, " "]}
HALF = {"kinds": ["dialect"], "rates": {"dialect": 0.5}}
FEWER_LABELS = {"kinds": ["orthographic"], "labels": labels().drop(index=2), "only": ["timing"]}
NO_LABEL = ("j3", "no line with the label")
MISALIGNED = ("j1", "labels and lines differ in number")


@pytest.mark.parametrize(
    ("columns", "options", "refused", "counts"),
    [
        ({}, PUNCHLINE, [("j2", "no-op"), NO_LABEL], [3, 1, 1, 1, 0, 1]),
        (UNEQUAL, HALF, [("j1", "rate not met")], [3, 2, 2, 0, 1, 0]),
        ({}, FEWER_LABELS, [MISALIGNED, NO_LABEL], [3, 1, 1, 0, 0, 2]),
        (EMPTY, {"kinds": ["drift"]}, [("j2", "no text"), ("j3", "no text")], [3, 1, 1, 0, 0, 2]),
    ],
)
def test_refused_pairs_are_excluded_and_counted(columns, options, refused, counts):
    made = perturb_items(items(**columns), **options)
    assert list(zip(made.refused["base_item_id"], made.refused["reason"], strict=True)) == refused
    assert set(made.items["item_id"]).isdisjoint(f"{item}__{options['kinds'][0]}" for item, _ in refused)
    assert set(made.items["base_item_id"]) == set(JOKES)  # the originals are there
    columns = ["n_items", "n_pairs", "n_rate_met", "n_noops", "n_unmet", "n_other"]
    assert made.summary[columns].to_numpy().tolist() == [counts]


@pytest.mark.parametrize(
    ("columns", "options", "copy", "rate", "met"),
    [
        ({}, PUNCHLINE | {"allow_noops": True}, "j2__preserving", 0, False),
        (UNEQUAL, HALF | {"allow_unmet": True}, "j1__dialect", 1 / 20, False),
        ({}, FEWER_LABELS | {"allow_misaligned": True}, "j1__orthographic", 1 / 2, True),
    ],
)
def test_refused_pairs_may_be_allowed(columns, options, copy, rate, met):
    row = perturb_items(items(**columns), **options).items.set_index("item_id").loc[copy]
    assert (row["rate"], bool(row["rate_met"])) == (pytest.approx(rate), met)
    assert (row["n_changes"] == 0) == (rate == 0) == (row["text"] == "\n".join(JOKES[copy[:2]]))


def test_few_pairs_are_noted_and_languages_may_be_written_in_several_ways():
    many = pd.DataFrame({"item_id": [f"j{n}" for n in range(10)], "language": "en", "text": "My mom."})
    assert perturb_items(many, ["dialect"]).notes == []
    [note] = perturb_items(many.head(9), ["dialect"]).notes
    assert note.endswith("add items for: dialect, en (9).")
    made = perturb_items(items(language=["en-GB", "English", "EN_us"]), ["drift"])
    assert made.summary["language"].tolist() == ["en"]


@pytest.mark.parametrize(("columns", "options", "problem"), cases(__file__, "refused"))
def test_what_cannot_be_done_is_refused(columns, options, problem):
    if "labels" in options:
        options = {**options, "labels": labels() if options["labels"] == "all" else labels().tail(3)}
    with pytest.raises(InputError, match=problem):
        perturb_items(items(**columns), **options)


def test_the_sheet_escapes_what_it_shows_and_marks_what_differs():
    text = "<script>alert(1)</script> my mom & dad"
    made = perturb_items(items(text=text), ["dialect"], rates={"dialect": 0.2})
    page = sheet(made)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; my <del>mom</del> <ins>mum</ins> &amp; dad" in page
    assert "3 of 3 pairs are shown" in page
    assert sheet(made, per_group=1).count("<article>") == 1


@pytest.mark.shared
@pytest.mark.slow
def test_only_punchlines_of_real_jokes_change():
    folder = SHARED / "data" / "multiturn"
    jokes = pd.read_parquet(folder / "items.parquet")[["item_id", "language", "text", "lines"]]
    lines = pd.read_parquet(folder / "lines.parquet").dropna(subset=["gold_purpose"])
    gold = pd.DataFrame({"item_id": lines["item_id"], "label": lines["gold_purpose"]})
    gold["label_set"] = "line_" + lines["line_no"].astype(str)
    made = perturb_items(jokes, KINDS, labels=gold, only=["punchline"], originals=False).items
    is_punchline = lines["gold_purpose"] == "punchline"
    punchlines = set(zip(lines.loc[is_punchline, "item_id"], lines.loc[is_punchline, "line_no"], strict=True))
    before = dict(zip(jokes["item_id"], jokes["lines"], strict=True))
    assert made["condition"].value_counts()["orthographic"] > 200
    assert made.loc[made["condition"] == "orthographic", "rate_met"].all()
    for item, after in zip(made["base_item_id"], made["lines"], strict=True):
        pairs = enumerate(zip(before[item], after, strict=True), start=1)
        differ = {number for number, (old, new) in pairs if old != new}
        assert differ
        assert all((item, number) in punchlines for number in differ)
