"""Instructions in the texts of items: phrases, markers of chats, and text that readers do not see."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from functools import cache

import pandas as pd
import yaml

from conjury.inference.errors import counted
from conjury.inference.preparation.similar_texts import folded
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.files import ROOT

from ...frames.notes import Note
from ..item_texts import excerpt, texts_of
from ..registry import Check, Question, Verdict, check

HIDDEN_INSTRUCTIONS = Question(
    code="CJ403",
    name="hidden_instructions",
    title="Instructions in items",
    text="Do texts of items contain instructions to a model, or text that is invisible to readers?",
    consequence="A model may follow the instruction instead of judging the item, while people do not see "
    "it, so their judgments are not comparable.",
    remedy="Inspect the items listed; remove invisible text, or exclude the items and report their number. "
    "Compare existing judgments of these items with those of people.",
    alarms="rule",
)
FILE = ROOT / "data" / "checks" / "instructions.yaml"
PHRASE, MARKER, TAGS, ENCODED = "phrase", "chat marker", "tag characters", "encoded text"
BIDI, ZERO, HOMOGLYPHS, COMMENT, UNSEEN = (
    "direction control",
    "zero-width characters",
    "mixed alphabets",
    "HTML comment",
    "invisible style",
)
DENSE = ("zh", "ja", "ko", "ar")  # languages without spaces, or with words that begin with articles
GRAVE = (PHRASE, MARKER, TAGS, ENCODED)  # kinds that instruct, or have no other use
FEW_HIDDEN = 1  # items with characters that text from the web has now and then

_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]+\U000e007f")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_OVERRIDE = re.compile("[\u202d\u202e]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_ZERO = re.compile("[\u200b\u2060-\u2064\u180e]|(?<=[A-Za-z])[\u200c\u200d\ufeff](?=[A-Za-z])")
_OTHER_SCRIPT = re.compile("[\u0600-\u06ff\u3040-\u9fff\uac00-\ud7af]")
_LETTERS_ALIKE = re.compile("[\u0370-\u052f]")
_WORD = re.compile(r"[^\W\d_]{4,}")
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_UNSEEN = re.compile(
    r"(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|pt|em)?\b|opacity\s*:\s*0(?:\.0+)?\s*[;\"'])",
    re.IGNORECASE,
)
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{24,}={0,2}(?![A-Za-z0-9+/=_-])")
LATIN_LIKE = set("аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅοαινρτυχκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")


@check(HIDDEN_INSTRUCTIONS)
def hidden_instructions(items: pd.DataFrame, item_study: ItemStudy | None = None) -> Check:
    """List instructions in texts of items, by kind."""
    names, texts = as_text(items["item_id"]), texts_of(items, item_study)
    matches = [
        (item, column, kind, excerpt(what))
        for column in texts
        for item, text in zip(names, texts[column].fillna(""), strict=True)
        for kind, what in instructions_in(text)
    ]
    rows = pd.DataFrame(matches, columns=["item_id", "column", "kind", "text"]).astype("string")
    rows = _drop_common_markers(rows, len(items))
    counts = rows.groupby("kind", sort=False)["item_id"].nunique()
    kinds = (*GRAVE, BIDI, ZERO, HOMOGLYPHS, COMMENT, UNSEEN)
    table = pd.DataFrame(
        {"judge": "", "prompt": "", "kind": kinds, "n": [int(counts.get(k, 0)) for k in kinds]}
    )
    table = table.assign(label=table["kind"], estimate=table["n"] / max(len(items), 1))
    if rows.empty:
        return HIDDEN_INSTRUCTIONS.answer(
            table,
            "pass",
            Note.of(
                "No instruction was detected in the texts of {items}.", items=counted(len(items), "item")
            ),
        )
    parts = "; ".join(f"{row['kind']} in {int(row['n']):,}" for _, row in table[table["n"] > 0].iterrows())
    first = rows.iloc[0]
    finding = Note.of(
        "{items} of {n:,} {verb} instructions or text that is invisible to readers "
        "({parts}). The first is item {item_id}: {kind} \u201c{text}\u201d.",
        items=counted(rows["item_id"].nunique(), "item"),
        n=len(items),
        verb="contains" if rows["item_id"].nunique() == 1 else "contain",
        parts=parts,
        item_id=first["item_id"],
        kind=first["kind"],
        text=first["text"],
    )
    grave = rows["kind"].isin(GRAVE).any()
    n = rows["item_id"].nunique()
    verdict: Verdict = (
        "error" if grave else "warning" if n > FEW_HIDDEN or COMMENT in set(rows["kind"]) else "pass"
    )
    return HIDDEN_INSTRUCTIONS.answer(table, verdict, finding, rows=rows)


def _drop_common_markers(rows: pd.DataFrame, n: int) -> pd.DataFrame:
    """Drop markers of chats that more than half of all items have: such items are conversations."""
    usual = rows["kind"].eq(MARKER) & (rows.loc[rows["kind"].eq(MARKER), "item_id"].nunique() > n / 2)
    return rows[~usual].reset_index(drop=True)


@cache
def patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Phrases that begin at the beginning of a word, those of languages without spaces, and markers."""
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    spaced: list[str] = []
    dense: list[str] = []
    for language, phrases in content["phrases"].items():
        (dense if language in DENSE else spaced).extend(phrases)
    return (
        re.compile(rf"\b(?:{'|'.join(spaced)})"),
        re.compile("|".join(dense)),
        re.compile("|".join(content["markers"])),
    )


def instructions_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and excerpt of every instruction or piece of hidden text, each kind once."""
    spaced, dense, markers = patterns()
    content = folded(text)
    phrase = spaced.search(content) or (dense.search(content) if _OTHER_SCRIPT.search(content) else None)
    if phrase:
        yield PHRASE, phrase.group()
    marker = markers.search(text)
    if marker:
        yield MARKER, marker.group()
    comment = _COMMENT.search(text) if "<!--" in text else None
    if comment:
        yield COMMENT, comment.group(1)
    unseen = _UNSEEN.search(text) if ":" in text else None
    if unseen:
        yield UNSEEN, unseen.group()
    encoded = next(filter(None, map(decoded, _BASE64.findall(text))), None)
    if encoded:
        yield ENCODED, encoded
    if not text.isascii():
        yield from _unseen_characters(text)


def _unseen_characters(text: str) -> Iterator[tuple[str, str]]:
    tags = _TAGS.search(_FLAG.sub("", text)) or _SELECTORS.search(text)
    if tags:
        ascii_of = "".join(chr(ord(c) - 0xE0000) for c in tags.group() if 0xE0020 <= ord(c) <= 0xE007E)
        yield TAGS, ascii_of or tags.group()
    left_to_right = _RIGHT_TO_LEFT.search(text) is None
    control = _OVERRIDE.search(text) or (_BIDI.search(text) if left_to_right else None)
    if control:
        yield BIDI, _context_of_match(text, control)
    zero = _ZERO.search(text)
    if zero:
        yield ZERO, _context_of_match(text, zero)
    words = _WORD.findall(text) if _LETTERS_ALIKE.search(text) else []
    mixed = next(filter(mixes_alphabets, words), None)
    if mixed:
        yield HOMOGLYPHS, mixed


def _context_of_match(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - 15) : match.end() + 15]


def decoded(token: str) -> str | None:
    """The readable text that a token encodes in base64, None where it encodes none."""
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    letters = sum(c.isalpha() or c.isspace() for c in text) / len(text)
    return text if text.isprintable() and letters > 0.8 and text.count(" ") >= 2 else None


def mixes_alphabets(word: str) -> bool:
    """Whether a word has Latin letters and letters of other alphabets that look like Latin ones."""
    if word.isascii():
        return False
    return any(c in LATIN_LIKE for c in word) and any("LATIN" in unicodedata.name(c, "") for c in word)
