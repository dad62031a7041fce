"""What every perturbation promises, whatever the text: span, rate, lines, seed."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.inference.perturb import KINDS, applied, line_segments, perturb_items, perturb_text, undone
from conjury.inference.perturb.perturb import from_records

EN = "I\u2019m gonna tell my mom: the dog, a kid's CAT (and don't laugh) drove an apartment, y'all! Café 42"
ES = "¿Sabéis? El niño y la MUJER tenían coche; pero ¡ay! mañana vosotros empezáis o no, ñandú José 13"
WORDS = st.one_of(st.sampled_from(f"{EN} {ES}".split()), st.text(min_size=1, max_size=8))
TEXTS = st.lists(
    st.tuples(WORDS, st.sampled_from([" ", " ", " ", "  ", "\n", "\r\n", "\t", " — ", ", "])), max_size=25
).map(lambda parts: "".join(word + blank for word, blank in parts))
LANGUAGES = st.sampled_from(["en", "es"])
RATES = st.floats(0.02, 1)
drawn = settings(max_examples=50, deadline=None, derandomize=True)


@st.composite
def spans(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(TEXTS)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=4)))
    return text, [(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False) if a < b]


@drawn
@given(spans(), st.sampled_from(KINDS), LANGUAGES, RATES)
def test_nothing_outside_of_the_span_changes(span: tuple, kind: str, language: str, rate: float) -> None:
    text, ranges = span
    made = perturb_text(text, line_segments(text, ranges), kind, language, rate=rate)
    kept, at = [], 0
    for change in made.changes:
        assert any(start <= change.start and change.end <= end for start, end in ranges)
        assert text[change.start : change.end] == change.old != change.new
        assert text.count("\n", 0, change.start) + 1 == change.line
        kept.append(text[at : change.start])
        at = change.end
    rebuilt, place = [*kept, text[at:]], 0
    for piece, change in zip(rebuilt, [*made.changes, None], strict=True):
        assert made.text[place : place + len(piece)].encode("utf-8", "surrogatepass") == piece.encode(
            "utf-8", "surrogatepass"
        )
        place += len(piece) + (len(change.new) if change else 0)
    assert place == len(made.text)


@drawn
@given(spans(), st.sampled_from(KINDS), LANGUAGES, RATES)
def test_the_rate_is_met_or_the_pair_says_that_it_is_not(
    span: tuple, kind: str, language: str, rate: float
) -> None:
    text, ranges = span
    made = perturb_text(text, line_segments(text, ranges), kind, language, rate=rate, tolerance=0.1)
    off = abs(made.n_changed - rate * made.n_words)
    assert made.rate_met == (made.n_changed > 0 and (off < 1 or off <= 0.1 * made.n_words))
    assert made.n_changed <= max(2, rate * made.n_words + 1)
    assert made.rate == (made.n_changed / made.n_words if made.n_words else 0)
    assert bool(made.changes) == (made.n_changed > 0)


@drawn
@given(spans(), st.sampled_from(KINDS), LANGUAGES, RATES)
def test_lines_stay_lines(span: tuple, kind: str, language: str, rate: float) -> None:
    text, ranges = span
    made = perturb_text(text, line_segments(text, ranges), kind, language, rate=rate)
    assert [len(line.split("\r")) for line in made.text.split("\n")] == [
        len(line.split("\r")) for line in text.split("\n")
    ]
    assert len(made.text.splitlines()) == len(text.splitlines())


@drawn
@given(spans(), st.sampled_from(KINDS), LANGUAGES, RATES)
def test_changes_lead_to_the_copy_and_back(span: tuple, kind: str, language: str, rate: float) -> None:
    text, ranges = span
    made = perturb_text(text, line_segments(text, ranges), kind, language, rate=rate)
    assert applied(text, made.changes) == made.text
    assert undone(made.text, made.changes) == text


@settings(max_examples=2, deadline=None, derandomize=True)
@given(st.permutations(range(6)), st.integers(0, 3))
def test_what_becomes_of_an_item_depends_on_no_other(order: list[int], left_out: int) -> None:
    texts = [
        "My mom drove home.",
        "The kids yelled at a dog.",
        "I don't know anybody.",
        "Go to the movie, guys!",
    ]
    items = pd.DataFrame({"item_id": [f"j{i}" for i in range(6)], "language": "en", "text": (texts * 2)[:6]})
    whole = perturb_items(items, ["orthographic", "drift"], seed=5)
    shuffled = perturb_items(items.iloc[order], ["drift", "orthographic"], seed=5)
    pd.testing.assert_frame_equal(shuffled.items, whole.items)
    fewer = perturb_items(items.drop(index=left_out), ["drift"], seed=5)
    kept = whole.items[whole.items["item_id"].isin(fewer.items["item_id"])]
    pd.testing.assert_frame_equal(fewer.items, kept.reset_index(drop=True))


def test_another_seed_changes_something_else() -> None:
    items = pd.DataFrame({"item_id": ["j1"], "language": "en", "text": ["one two three four five six " * 5]})
    made = [perturb_items(items, ["orthographic"], seed=seed).items["text"].iloc[1] for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize(("kind", "rate"), [("orthographic", 0.1), ("orthographic", 0.5), ("drift", 0.3)])
def test_the_stated_rate_is_met_on_a_long_text(kind: str, rate: float) -> None:
    text = "My brother drives a big car to the office and nobody ever sees him there again. " * 10
    made = perturb_text(text, line_segments(text, [(0, len(text))]), kind, "en", rate=rate)
    assert made.rate == pytest.approx(rate, abs=0.5 / made.n_words)
    assert made.rate_met


def test_records_of_changes_are_json_and_come_back() -> None:
    items = pd.DataFrame({"item_id": ["j1"], "language": "es", "text": ["Mi mujer y el niño"]})
    copy = perturb_items(items, ["preserving"], rates={"preserving": 1}, allow_unmet=True).items.iloc[1]
    assert undone(copy["text"], from_records(json.loads(copy["changes"]))) == "Mi mujer y el niño"
