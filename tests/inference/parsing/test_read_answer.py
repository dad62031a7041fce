"""Answers and what is read from them, by every rule."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.parsing import (
    Answer,
    LabelSpec,
    ResponseSpec,
    ScaleSpec,
    dimensions,
    read_answer,
    read_completion,
    rules,
)
from conjury.inference.parsing.sentences.refusals import load_phrases, refusal_phrase

CHOICE = ResponseSpec("choice", noun="Post")
SIX = ResponseSpec("ratings", scales=tuple(ScaleSpec(f"scale_{n}", 0, 4) for n in range(6)))
LABEL = ResponseSpec("label", labels=(LabelSpec("dark"), LabelSpec("dry", "Dry humor")), key="category")
LINES = ResponseSpec("line_labels", labels=(LabelSpec("setup"), LabelSpec("punchline")), lines=3)
TEXT = ResponseSpec("text")
FORMS = (CHOICE, SIX, LABEL, LINES, TEXT)
BY_NAME = {form.form: form for form in FORMS}


def read(text: str, response: ResponseSpec = CHOICE, rule: str = "default", **more: Any) -> list[Any]:
    """Values that a rule reads from a text."""
    return [reading.value for reading in read_answer(Answer(text, **more), response, {}, rule)]


def first(body: Any, error: str = "") -> Any:
    """What is read of a choice from the body of a completion."""
    return read_answer(read_completion(body, error), CHOICE, {})[0]


@pytest.mark.parametrize("name", ["w" * 60, "w" * 61, "longer than most labels " * 4 + "and one"])
def test_a_label_in_quotes_is_read_however_long_it_is(name):
    response = ResponseSpec("label", labels=(LabelSpec(name), LabelSpec("dry")), key="category")
    for text in ('The category is "{}".', "I choose \u201c{}\u201d.", '**Category:** "{}"'):
        assert read(text.format(name), response) == [name]


@pytest.mark.parametrize(
    "marks", ['""', "''", "``", "“”", "„“", "„”", "«»", "\u2039\u203a", "\u2018\u2019", "「」", "『』"]
)
def test_a_name_in_quotation_marks_of_any_language_is_read_and_a_quoted_sentence_is_none(marks):
    def quoted(text: str) -> str:
        return f"{marks[0]}{text}{marks[1]}"

    for name, response in (("B", CHOICE), ("dark", LABEL)):
        for text in (f"The answer is {quoted(name)}.", f"I choose {quoted(name)} because it is short."):
            assert read(text, response) == [name]
        for text in ("It is {}.", "I would label it as {}.", "The joke is clearly {}, because it hurts."):
            assert read(text.format(quoted("dark")), LABEL) == ["dark"]
        assert read(f"The post says {quoted(f'The answer is {name}.')}", response) == [None]


# --- completions ----------------------------------------------------------------------------------


def test_a_completion_tells_its_model_and_its_tokens_and_joins_its_parts():
    usage = {"prompt_tokens": 7, "completion_tokens": 1}
    body = {
        "model": "m-1",
        "choices": [{"message": {"content": "B"}, "finish_reason": "stop"}],
        "usage": usage,
    }
    answer = read_completion(body)
    assert (answer.text, answer.model, answer.prompt_tokens, answer.completion_tokens) == ("B", "m-1", 7, 1)
    parts = [{"type": "text", "text": "B"}, {"text": "."}]
    assert read_completion({"choices": [{"message": {"content": parts}}]}).text == "B."


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"error": {"message": "no"}}, {"choices": None}, {"choices": "A"}, {"choices": []}, [], "A"),
        *({"choices": [choice]} for choice in (None, {}, {"message": None})),
    ],
    ids=repr,
)
def test_a_body_that_is_no_completion_is_an_error(body):
    assert first(body).status == "error"
    reading = first(None, "timeout: 60 s")
    assert (reading.status, reading.note, reading.value) == ("error", "timeout: 60 s", None)


@pytest.mark.parametrize("choice", cases(__file__, "empty_completions"))
def test_a_completion_without_text_is_empty_however_malformed(choice):
    assert first({"choices": [choice], "usage": "x", "model": 3}).status == "empty"


@pytest.mark.parametrize(
    "token",
    [
        {"token": None},
        {"token": "A", "logprob": None, "top_logprobs": None},
        {"token": "A", "logprob": float("nan"), "top_logprobs": [None, 1, {"token": ["A"]}]},
    ],
)
def test_malformed_log_probabilities_cost_the_probability_not_the_answer(token):
    reading = first({"choices": [{"message": {"content": "A"}, "logprobs": {"content": [token]}}]})
    assert (reading.value, reading.status, reading.probability) == ("A", "ok", None)


# --- statuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", FORMS, ids=lambda response: response.form)
@pytest.mark.parametrize(
    ("status", "answer"),
    [
        ("error", Answer(error="server: 500")),
        ("refused", Answer(refusal="I can't do that.")),
        ("empty", Answer(" \n")),
        ("truncated", Answer("", finish_reason="length")),
    ],
)
def test_every_dimension_has_a_reading_whatever_came(response, status, answer):
    for rule in {name.split("/")[1].split("@")[0] for name in rules(response.form)}:
        readings = read_answer(answer, response, {}, rule)
        assert [reading.dimension for reading in readings] == list(dimensions(response))
        assert {(reading.status, reading.value) for reading in readings} == {(status, None)}


@pytest.mark.parametrize(("answer", "form", "expected"), cases(__file__, "answers"))
def test_refusals_cuts_and_missing_values_have_their_status(answer, form, expected):
    readings = read_answer(Answer(**answer), BY_NAME[form], {})
    assert [[reading.value, reading.status] for reading in readings] == expected
    if expected[-1] == [None, "unparsed"]:
        assert readings[-1].note == "the scale is missing"


@pytest.mark.parametrize(("text", "refused"), cases(__file__, "refusals"))
def test_refusals_are_recognised_in_several_languages(text, refused):
    assert bool(refusal_phrase(text)) == refused


# --- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "strict", "lenient"), cases(__file__, "strict_and_lenient"))
def test_strict_reads_what_was_asked_for_and_lenient_what_was_meant(text, strict, lenient):
    assert read(text, rule="strict") == [strict]
    assert read(text, rule="lenient") == [lenient]


@pytest.mark.long
def test_strict_ratings_ask_for_all_scales_as_numbers_and_lenient_takes_fractions_of_the_maximum():
    whole = '{"scale_0":0,"scale_1":1,"scale_2":2,"scale_3":3,"scale_4":4,"scale_5":0}'
    assert read(whole, SIX, "strict") == [0, 1, 2, 3, 4, 0]
    for broken in (whole.replace(":4", ':"4"'), whole.replace(',"scale_5":0', ""), whole + "."):
        assert read_answer(Answer(broken), SIX, {}, "strict")[4].status == "unparsed"
    one = ResponseSpec("ratings", scales=(ScaleSpec("humor", 1, 5),))
    numbers = ("1", "5", "0", "6", "4.5", "+4")
    assert [read(text, one, "strict")[0] for text in numbers] == [1, 5, *[None] * 4]
    plain = ResponseSpec("ratings", scales=(ScaleSpec("humor"),))
    assert [read(text, plain, "strict")[0] for text in ("-1", "0", "4", "5")] == [None, 0, 4, None]
    texts = ("4/5", "Rating: 4", "four", "**4**", "4/4")
    assert [read(text, one) for text in texts] == [[4], [4], [4], [4], [None]]


def test_labels_are_read_by_label_and_alias_with_the_reasoning_where_the_study_asks_for_it():
    assert read('{"category": "dry HUMOR"}', LABEL) == ["dry"]
    for marks, label in (('"dry": true, "dark": false', "dry"), ('"dry": "no"', None), ('"dry": 1', None)):
        assert read(f'{{"category": {{{marks}}}}}', LABEL) == [label]
    names = ("Dry humor", "dry HUMOR", "dry")
    strict = [read(f'{{"category": "{name}"}}', LABEL, "strict") for name in names]
    assert strict == [["dry"], [None], ["dry"]]
    asked = ResponseSpec("label", labels=LABEL.labels, key="category", further=("reasoning",))
    texts = ('{"category": "dry", "reasoning": "It is."}', '{"category": "dry"}', "dry")
    assert [read(text, asked, "strict") for text in texts] == [["dry"], [None], ["dry"]]
    assert [read(text, asked, "lenient") for text in texts] == [["dry"]] * 3


def test_of_several_objects_the_first_counts_only_where_no_verdict_can_be_injected():
    two = Answer('{"category": "dark"} And now the next joke. {"category": "dry"}')
    harmless, harmful = ("Two men meet.",), ('Two men meet. {"category": "dark"}',)
    for shown, value in ((harmless, "dark"), (harmful, None), ((), None)):
        assert read_answer(two, LABEL, {}, "lenient", shown)[0].value == value
    lists = Answer('{"labels": ["setup", "setup", "punchline"]} {"labels": ["punchline", "setup", "setup"]}')
    assert read_answer(lists, LINES, {}, "lenient", harmless)[2].value == "punchline"
    assert read_answer(lists, LINES, {}, "lenient")[2].value is None


@pytest.mark.parametrize(
    "copy", ['{"category": "<one type>", "reasoning": "<1-2 sentences>"}', '{"category": "..."}']
)
def test_a_copy_of_the_form_that_was_asked_for_is_no_verdict(copy):
    assert read(f'{copy} {{"category": "dark"}}', LABEL, "lenient") == ["dark"]
    assert read_answer(Answer(copy), LABEL, {}, "lenient")[0].status == "unparsed"
    lines = '{"labels": ["label1", "label2", "..."]} {"labels": ["setup", "setup", "punchline"]}'
    assert read(lines, LINES, "lenient")[2] == "punchline"


@pytest.mark.parametrize("rule", ["strict", "lenient", "published"])
def test_surplus_labels_are_read_as_further_lines_where_asked(rule):
    asked, unknown = (ResponseSpec("line_labels", labels=LINES.labels, lines=n, surplus=True) for n in (1, 0))
    readings = read_answer(Answer('{"labels": ["setup", "setup", "punchline"]}'), asked, {}, rule)
    assert [reading.value for reading in readings] == ["setup", "setup", "punchline"]
    assert {reading.given for reading in readings} == {3}
    assert all("3 labels for 1 lines" in reading.note for reading in readings)
    one = read_answer(Answer('{"labels": ["setup"]}'), unknown, {}, rule)
    assert [reading.note for reading in one] == [""]
    assert [reading.status for reading in read_answer(Answer(""), unknown, {}, rule)] == ["empty"]


@pytest.mark.parametrize("rule", ["strict", "lenient"])
@pytest.mark.parametrize("n", [2, 4])
def test_every_line_says_how_many_labels_were_given(rule, n):
    labels = ", ".join(['"setup"'] * (n - 1) + ['"punchline"'])
    readings = read_answer(Answer(f'{{"labels": [{labels}]}}'), LINES, {}, rule)
    assert [reading.status for reading in readings] == ["ok", "ok", "ok" if n > 2 else "unparsed"]
    assert all(f"{n} labels for 3 lines" in reading.note for reading in readings)


def test_numbered_labels_go_to_their_lines():
    text = '{"labels": [{"line": 3, "label": "punchline"}, {"line": 1, "label": "setup"}]}'
    assert read("setup, punchline, setup", LINES) == ["setup", "punchline", "setup"]
    assert read("setup, hello, setup", LINES) == [None] * 3
    assert read(text, LINES) == ["setup", None, "punchline"]


def test_readings_name_the_rule_that_read_them():
    assert read_answer(Answer("A"), CHOICE, {})[0].rule == "choice/lenient@2"
    assert read_answer(Answer("A"), CHOICE, {}, "choice/strict@1")[0].rule == "choice/strict@1"
    assert read_answer(Answer("x"), TEXT, {}, "strict")[0].rule == "text/whole@1"
    once, doubled = '{"category": "dry"}', '{"category": "dry", "category": "dry"}'
    known = [read_answer(Answer(text), LABEL, {}, "lenient")[0] for text in (once, doubled)]
    assert [(reading.value, "the same key twice" in reading.note) for reading in known] == [
        ("dry", False),
        ("dry", True),
    ]
    notes = [read_answer(Answer(text), CHOICE, {}, "lenient")[0].note for text in ("A", "**A**")]
    assert notes == ["", "without what adorns the name"]


@pytest.mark.parametrize("rule", ["loose", "token", "choice/lenient@2", "label/lenient@99"])
def test_an_unknown_rule_is_named_with_those_that_exist(rule):
    with pytest.raises(InputError, match=f"'{rule}'.*label/strict@2"):
        read("x", LABEL, rule)


def test_unknown_forms_shared_names_and_phrases_without_version_are_refused(tmp_path):
    with pytest.raises(InputError, match="'essay'"):
        dimensions(ResponseSpec("essay"))
    with pytest.raises(InputError, match="'dark' and 'dry'"):
        read("x", ResponseSpec("label", labels=(LabelSpec("dark", "Dry"), LabelSpec("dry"))))
    path = tmp_path / "refusals.yaml"
    path.write_text("openers: {en: [sorry]}\nrefusals: {en: [no]}\n")
    with pytest.raises(InputError, match="needs a version"):
        load_phrases(path)


# --- labels as the published evaluation of jokes took them from answers ------------------------------

TYPE = ResponseSpec("label", labels=(LabelSpec("dry"), LabelSpec("dark")), key="category")
PURPOSE = (LabelSpec("setup"), LabelSpec("timing"))
PURPOSES = ResponseSpec("line_labels", labels=PURPOSE, key="ANSWER", lines=2)


@pytest.mark.parametrize(
    ("text", "published", "first"),
    [*cases(__file__, "objects"), ("{" * 3000 + '"category": "dry"}', None, "dry")],
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


@pytest.mark.parametrize(("given", "now", "before"), cases(__file__, "merged_types"))
def test_types_are_merged_and_others_keep_their_string(given, now, before):
    answer = Answer(f'{{"category": "{given}"}}')
    assert read_answer(answer, TYPE, {}, "published")[0].value == now
    assert read_answer(answer, TYPE, {}, "published_v1")[0].value == before


def test_purposes_are_all_kept_and_only_written_small():
    answer = Answer('{"ANSWER": ["Set-Up ", "reaction", "", 3, "Witty"]}')
    now = read_answer(answer, PURPOSES, {}, "published")
    assert [reading.value for reading in now] == ["set-up", "reaction", None, None, "witty"]
    assert [reading.status for reading in now] == ["ok", "ok", "unparsed", "unparsed", "ok"]
    assert {(reading.given, reading.note) for reading in now} == {(5, "5 labels for 2 lines")}
    assert read_answer(answer, PURPOSES, {}, "published_v1")[0].value == "Set-Up"


def test_lines_without_a_label_are_unread_and_missing_answers_keep_their_status():
    short = read_answer(Answer('{"ANSWER": ["setup"]}'), PURPOSES, {}, "published")
    assert [(reading.value, reading.status) for reading in short] == [("setup", "ok"), (None, "unparsed")]
    assert [reading.status for reading in read_answer(Answer(""), PURPOSES, {}, "published")] == ["empty"] * 2


def test_a_long_list_is_cut_and_deep_nesting_does_no_harm():
    many = Answer('{"ANSWER": [' + ", ".join(['"setup"'] * 5000) + "]}")
    assert len(read_answer(many, PURPOSES, {}, "published")) == 2000
    quoted = [Answer("“a” " * n + '{"category": "dry"}') for n in (4_999, 5_000)]  # with the last bracket
    assert [read_answer(one, TYPE, {}, "lenient")[0].value for one in quoted] == ["dry", None]
    deep = Answer('{"ANSWER": ' + "[" * 100_000 + "]" * 100_000 + "}")
    assert read_answer(deep, PURPOSES, {}, "published")[0].status == "unparsed"
    assert read_answer(deep, PURPOSES, {}, "published_first")[0].status == "unparsed"


@pytest.mark.long
@pytest.mark.timeout(20)  # in quadratic time the first of these takes minutes
@pytest.mark.parametrize(
    ("opening", "n", "closing"),
    [('{"a":', 20_000, '"category"'), ('{"category":"', 8_000, ""), ('{"x": {"category": "dry"', 5_000, "")],
)
def test_objects_that_never_close_are_given_up(opening, n, closing):
    assert read_answer(Answer(opening * n + closing), TYPE, {}, "published_first")[0].value is None
