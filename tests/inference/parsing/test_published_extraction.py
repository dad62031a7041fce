"""Labels as the published evaluation of jokes took them from answers."""

from __future__ import annotations

import time

import pytest

from conjury.inference.parsing import Answer, LabelSpec, ResponseSpec, read_answer

TYPE = ResponseSpec("label", labels=(LabelSpec("dry"), LabelSpec("dark")), key="category")
LINES = ResponseSpec("line_labels", labels=(LabelSpec("setup"), LabelSpec("timing")), key="ANSWER", lines=2)


@pytest.mark.parametrize(
    ("text", "published", "first"),
    [
        ('{"category": "dry"}', "dry", "dry"),
        ('Do not output more.\n{"category": " DRY ", "reasoning": "x"} Done', "dry", "dry"),
        ('{"category": "dry"} {"category": "dark"}', None, "dry"),
        ('{"a": 1} {"category": "dark"}', None, "dark"),
        ('{"category": "dry", "reasoning": "so dry', None, None),
        ('{"category": ["dry"]}', None, None),
        ("dry", None, None),
        ('{"label": "dry"}', None, None),
        ("{" * 3000 + '"category": "dry"}', None, "dry"),
    ],
)
def test_the_object_from_the_first_to_the_last_bracket_or_the_first_that_decodes(text, published, first):
    read = [read_answer(Answer(text), TYPE, {}, rule)[0] for rule in ("published", "published_first")]
    assert [reading.value for reading in read] == [published, first]
    assert [reading.status for reading in read] == [
        "unparsed" if v is None else "ok" for v in (published, first)
    ]


@pytest.mark.parametrize("rule", ["published", "published_v1", "published_first"])
def test_an_empty_label_is_no_answer_where_the_published_evaluation_counted_one(rule):
    reading = read_answer(Answer('{"category": "", "reasoning": "none of them"}'), TYPE, {}, rule)[0]
    assert (reading.value, reading.status) == (None, "unparsed")


@pytest.mark.parametrize(
    ("given", "now", "before"),
    [
        ("Satire", "satire/parody/irony", "Satire"),
        ("satire", "satire/parody/irony", "satire"),
        ("political satire", "satire/parody/irony", "political satire"),
        ("surreal", "surreal/absurdism", "surreal/absurdism"),
        ("Absurdism", "surreal/absurdism", "Absurdism"),
        ("anecdotal", "observational/anecdotal", "observational/anecdotal"),
        ("Slapstick ", "slapstick", "Slapstick"),
    ],
)
def test_types_are_merged_and_others_keep_their_string(given, now, before):
    answer = Answer(f'{{"category": "{given}"}}')
    assert read_answer(answer, TYPE, {}, "published")[0].value == now
    assert read_answer(answer, TYPE, {}, "published_v1")[0].value == before


def test_purposes_are_all_kept_and_only_written_small():
    answer = Answer('{"ANSWER": ["Set-Up ", "reaction", "", 3, "Witty"]}')
    now = read_answer(answer, LINES, {}, "published")
    assert [reading.value for reading in now] == ["set-up", "reaction", None, None, "witty"]
    assert [reading.status for reading in now] == ["ok", "ok", "unparsed", "unparsed", "ok"]
    assert {(reading.given, reading.note) for reading in now} == {(5, "5 labels for 2 lines")}
    assert read_answer(answer, LINES, {}, "published_v1")[0].value == "Set-Up"


def test_lines_without_a_label_are_unread_and_missing_answers_keep_their_status():
    short = read_answer(Answer('{"ANSWER": ["setup"]}'), LINES, {}, "published")
    assert [(reading.value, reading.status) for reading in short] == [("setup", "ok"), (None, "unparsed")]
    assert [reading.status for reading in read_answer(Answer(""), LINES, {}, "published")] == ["empty"] * 2


def test_a_long_list_is_cut_and_deep_nesting_does_no_harm():
    many = Answer('{"ANSWER": [' + ", ".join(['"setup"'] * 5000) + "]}")
    assert len(read_answer(many, LINES, {}, "published")) == 2000
    deep = Answer('{"ANSWER": ' + "[" * 100_000 + "]" * 100_000 + "}")
    assert read_answer(deep, LINES, {}, "published")[0].status == "unparsed"
    assert read_answer(deep, LINES, {}, "published_first")[0].status == "unparsed"


@pytest.mark.parametrize(
    ("opening", "n", "closing"),
    [('{"a":', 20_000, '"category"'), ('{"category":"', 8_000, ""), ('{"x": {"category": "dry"', 5_000, "")],
)
def test_objects_that_never_close_are_given_up_in_time(opening, n, closing):
    begun = time.process_time()
    assert read_answer(Answer(opening * n + closing), TYPE, {}, "published_first")[0].value is None
    assert time.process_time() - begun < 3
