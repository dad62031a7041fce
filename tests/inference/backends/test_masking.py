"""Keys in what a server sends, in every encoding, with all else left as it came."""

from __future__ import annotations

import base64
import html
import json
from html.entities import codepoint2name
from typing import Any

import pytest
from fakes.echoes import FORMS

from conjury.inference.backends.openai.failures import read_failure
from conjury.inference.tables.safe_text import mask, mask_bytes, redact

KEYS = (
    "sk-proj-0123456789abcdef",
    "nightly/key+with=signs~1",
    "b.f_n-r t"[:4] + "quince-99",
    "2345678901234",
    "Schlüßel-für-Größe",
    "ключ-от-склада",
    "key-€-日本語-🔑-tail",
    "a\"quo'te\\d<k>&y",
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("form", FORMS)
def test_every_encoding_of_a_key_is_masked_and_nothing_else(form, key):
    written = FORMS[form](key)
    before = '{"choices": [{"message": {"content": "A \\u00e9 100% \\\\ \\n'
    raw = f'{before}{written} and more"}}}}], "x": 1e5}}'.encode()
    masked = mask_bytes(raw, [key])
    assert written.rstrip("=")[4:-3].encode() not in masked
    assert masked.startswith(before.encode())
    assert masked.endswith(b' and more"}}], "x": 1e5}')
    content = json.loads(masked)["choices"][0]["message"]["content"]
    assert key not in content
    assert "[key]" in content
    assert "[key]" in mask(f"x {written}", [key])


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("before", ["", "x", "xy", "xyz"])
def test_nothing_of_a_key_stays_of_its_base64_beyond_what_neighbours_decide(key, before):
    coded = base64.b64encode(f"{before}{key}".encode()).decode()
    left = mask(coded, [key]).replace("[key]", "|").rstrip("=").split("|")
    assert len(left) == 2
    assert base64.b64decode(left[0] + "=" * (-len(left[0]) % 4)) in (
        before.encode(),
        before.encode()[:-1],
    ) or (len(left[0]) <= 4)
    assert len(left[1]) <= 1


@pytest.mark.parametrize("key", [key for key in KEYS if not key.isascii()])
def test_escaped_and_other_bytes_of_keys_that_are_not_ascii_are_masked(key):
    escaped = [
        json.dumps(key)[1:-1],
        ascii(key)[1:-1],
        repr(key.encode())[2:-1],
        "".join(f"&#x{ord(letter):x};" for letter in key),
        "".join(f"&{name};" if (name := codepoint2name.get(ord(letter))) else letter for letter in key),
        ", ".join(map(str, key.encode())),
    ]
    for written in escaped:
        assert mask_bytes(f'{{"a": "{written}"}}'.encode(), [key]) in (b'{"a": "[key]"}', b'{"a": "0"}')
    if max(key) < "\u0100":
        assert mask_bytes(b"no " + key.encode("latin-1") + b"!", [key]) == b"no [key]!"


def test_characters_that_json_and_html_escape_are_masked():
    key = KEYS[-1]
    for written in (json.dumps(key)[1:-1], html.escape(key), html.escape(html.escape(key)), repr(key)[1:-1]):
        assert mask(f"x {written} y", [key]) == "x [key] y"
        assert mask_bytes(f"x {written} y".encode(), [key]) == b"x [key] y"


def test_a_key_after_an_escaped_backslash_is_masked_and_a_line_break_is_none():
    key = "nothing-like-it"
    assert json.loads(mask_bytes(b'{"a": "x\\\\nothing-like-it"}', [key])) == {"a": "x\\[key]"}
    raw = b'{"a": "x\\nothing-like-it"}'
    assert mask_bytes(raw, [key]) == raw  # a line break, and "othing-like-it"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
def test_answers_in_other_encodings_are_masked(encoding):
    raw = '{"choices": [{"message": {"content": "sk-proj-0123456789abcdef é"}}]}'.encode(encoding)
    masked = mask_bytes(raw, [KEYS[0]])
    assert json.loads(masked)["choices"][0]["message"]["content"] == "[key] é"


def test_answers_without_a_key_stay_byte_for_byte():
    raw = (
        b'{ "choices" : [{"message": {"content": "s\\u0061k \\/ %41 &#65;"}, "logprobs": {"content": '
        b'[{"token": "sk-"}, {"token": "x"}]}}]}'
    )
    assert mask_bytes(raw, KEYS) is raw or mask_bytes(raw, KEYS) == raw
    assert mask_bytes(raw, ()) is raw
    assert mask_bytes(b"none short none", ["none"]) == b"none short none"


def test_keys_that_are_spread_over_tokens_are_masked(  # as log-probabilities give them
):
    tokens: list[dict[str, Any]] = [
        {"token": part} for part in ("A ", "sk-proj-", "", "0123456789", "abcdef", "!")
    ]
    raw = json.dumps({"choices": [{"message": {"content": "A"}, "logprobs": {"content": tokens}}]}).encode()
    left = json.loads(mask_bytes(raw, KEYS))["choices"][0]["logprobs"]["content"]
    assert [token["token"] for token in left] == ["A ", "[key]", "", "[key]", "[key]", "!"]


def test_errors_are_masked_after_they_are_decoded():
    escaped = FORMS["json"](KEYS[0])
    failure = read_failure(
        400, f'{{"error": {{"message": "No {escaped}", "code": "{escaped}"}}}}'.encode(), KEYS
    )
    assert (failure.message, failure.code) == ("No [key]", "[key]")
    assert (
        redact(f"illegal header bytearray(b'\\x73{KEYS[0][1:]}')", KEYS)
        == "illegal header bytearray(b'[key]')"
    )


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("key", [KEYS[0], KEYS[2], KEYS[4]])
def test_a_key_in_any_encoding_is_masked_when_each_token_has_one_character_of_it(form, key):
    written = FORMS[form](key)
    tokens = [{"token": letter, "logprob": -0.1} for letter in written]
    raw = json.dumps({"choices": [{"logprobs": {"content": tokens}}]}).encode()
    masked = json.loads(mask_bytes(raw, [key]))["choices"][0]["logprobs"]["content"]
    assert written.rstrip("=")[4:-3] not in "".join(token["token"] for token in masked)
