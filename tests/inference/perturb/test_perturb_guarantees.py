"""Guarantees of every perturbation, whatever the text: span, rate, lines, seed."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.inference.perturb import KINDS, applied, line_segments, perturb_items, perturb_text, undone

EN = "I\u2019m gonna tell my mom: the dog, a kid's CAT (and don't laugh) drove an apartment, y'all! Café 42"
ES = "¿Sabéis? El niño y la MUJER tenían coche; pero ¡ay! mañana vosotros empezáis o no, ñandú José 13"
WORDS = st.one_of(st.sampled_from(f"{EN} {ES}".split()), st.text(min_size=1, max_size=8))
TEXTS = st.lists(
    st.tuples(WORDS, st.sampled_from([" ", " ", " ", "  ", "\n", "\r\n", "\t", " — ", ", "])), max_size=25
).map(lambda parts: "".join(word + blank for word, blank in parts))


@st.composite
def spans(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(TEXTS)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=4)))
    return text, [(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False) if a < b]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(spans(), st.sampled_from(KINDS), st.sampled_from(["en", "es"]), st.floats(0.02, 1))
def test_changes_stay_in_the_span_keep_lines_meet_the_rate_and_can_be_undone(
    span: tuple, kind: str, language: str, rate: float
) -> None:
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
    assert [line.count("\r") for line in made.text.split("\n")] == [
        line.count("\r") for line in text.split("\n")
    ]
    assert len(made.text.splitlines()) == len(text.splitlines())
    off = abs(made.n_changed - rate * made.n_words)
    assert made.rate_met == (made.n_changed > 0 and (off < 1 or off <= 0.1 * made.n_words))
    assert made.n_changed <= max(2, rate * made.n_words + 1)
    assert made.rate == (made.n_changed / made.n_words if made.n_words else 0)
    assert bool(made.changes) == (made.n_changed > 0)


@pytest.mark.parametrize("order", [[5, 3, 1, 0, 2, 4], [0, 2, 1, 5, 4]])
def test_the_copies_of_an_item_depend_on_no_other_item(order: list[int]) -> None:
    texts = [
        "My mom drove home.",
        "The kids yelled at a dog.",
        "I don't know anybody.",
        "Go to the movie, guys!",
    ]
    items = pd.DataFrame({"item_id": [f"j{i}" for i in range(6)], "language": "en", "text": (texts * 2)[:6]})
    whole = perturb_items(items, ["orthographic", "drift"], seed=5).items
    fewer = perturb_items(items.iloc[order], ["drift", "orthographic"], seed=5).items
    kept = whole[whole["item_id"].isin(fewer["item_id"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(fewer, kept)


def test_another_seed_changes_something_else() -> None:
    items = pd.DataFrame({"item_id": ["j1"], "language": "en", "text": ["one two three four five six " * 5]})
    copies = [perturb_items(items, ["orthographic"], seed=seed).items["text"].iloc[1] for seed in (1, 1, 2)]
    assert copies[0] == copies[1] != copies[2]


@pytest.mark.parametrize(("kind", "rate"), [("orthographic", 0.1), ("orthographic", 0.5), ("drift", 0.3)])
def test_the_stated_rate_is_met_on_a_long_text(kind: str, rate: float) -> None:
    text = "My brother drives a big car to the office and nobody ever sees him there again. " * 10
    made = perturb_text(text, line_segments(text, [(0, len(text))]), kind, "en", rate=rate)
    assert made.rate == pytest.approx(rate, abs=0.5 / made.n_words)
    assert made.rate_met
