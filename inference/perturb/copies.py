"""Items and their perturbed copies as one table: minimal pairs, with what differs and why others are none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError
from ..tables.schema import validate
from ..tables.streams import FEW_PAIRS, KINDS, UNPERTURBED, copy_id
from .checks import check_kinds, check_originals, checked_rates, checked_varieties, languages_of
from .perturb import RATES, TOLERANCE, Perturbation, as_records, perturb_text
from .spans import EMPTY_SPAN, Span, span_of, target, texts_of

NO_OP = "no-op"
UNMET = "rate not met"


@dataclass(frozen=True)
class Perturbed:
    """Items with their perturbed copies.

    Attributes
    ----------
    items : DataFrame
        The columns of the items given and ``base_item_id, condition`` ("none" for originals), ``changes``
        (a JSON list: line, start and end in the original text, old, new, how), ``n_changes,
        n_changed_words, n_span_words, rate`` (share of the span's words that changed), ``rate_met``.
        Sorted by original and condition.
    labels : DataFrame or None
        Gold labels of all these items: copies have those of their original.
    refused : DataFrame
        ``base_item_id, condition, reason, n_changed_words`` (that could be changed), ``n_span_words`` of
        every pair that was not made.
    summary : DataFrame
        By condition and language: ``n_items, n_pairs, n_rate_met`` (of the pairs), ``n_noops, n_unmet`` (left
        out, as the rate was not met), ``n_other, rate`` (asked), ``mean_rate`` (of the pairs).
    """

    items: pd.DataFrame
    labels: pd.DataFrame | None
    refused: pd.DataFrame
    summary: pd.DataFrame

    @property
    def notes(self) -> list[str]:
        """Conditions and languages with fewer than `FEW_PAIRS` pairs, each in a sentence."""
        few = self.summary[self.summary["n_pairs"] < FEW_PAIRS]
        return [
            f"{row['condition']}, {row['language']}: {row['n_pairs']:,} pairs are too few to tell much about "
            f"judges; take items for {FEW_PAIRS:,} and more."
            for row in few.to_dict("records")
        ]


@dataclass(frozen=True)
class _Pair:
    row: int
    kind: str
    made: Perturbation | None
    reason: str | None


def perturb_items(
    items: pd.DataFrame,
    kinds: Sequence[str] = KINDS,
    *,
    labels: pd.DataFrame | None = None,
    only: Sequence[str] = (),
    span_column: str | None = None,
    language_column: str = "language",
    rates: Mapping[str, float] | None = None,
    tolerance: float = TOLERANCE,
    seed: int = 1,
    dialects: Mapping[str, str] | None = None,
    allow_noops: bool = False,
    allow_unmet: bool = False,
    allow_misaligned: bool = False,
    originals: bool = True,
) -> Perturbed:
    r"""Make perturbed copies of items: minimal pairs that differ within a span, at a stated rate.

    Nothing outside the span changes, not a byte; lines stay lines. What becomes of an item depends on its
    id, its text and the seed, not on other items nor on their order.

    Parameters
    ----------
    items : DataFrame
        The items contract, with ``text`` (lines end with a line feed) or ``lines``, and a language.
    kinds : sequence of {"orthographic", "drift", "preserving", "dialect"}
    labels : DataFrame, optional
        Gold labels, carried over; ``label_set`` is line_1, line_2, ... for lines.
    only : sequence of str
        Change lines with these gold labels only; without any, the whole text.
    span_column : str, optional
        In place of ``only``: column of items with a JSON list of [start, end] characters.
    language_column : str
        Column that holds en or es (or en-GB, English, Spanish and the like).
    rates : mapping of kind to float, optional
        Share of the span's words to change, in place of `RATES`.
    tolerance : float
        See `perturb.meets`.
    seed : int
    dialects : mapping of language to str, optional
        Variety that the dialect substitutions lead to; by default uk and latam.
    allow_noops : bool
        Keep pairs in which nothing changed.
    allow_unmet : bool
        Keep pairs in which too few or too many words changed for the rate; ``rate_met`` tells them apart.
    allow_misaligned : bool
        With ``only``: change items whose labels and lines differ in number.
    originals : bool
        Whether the originals are in the table, as condition "none".

    Returns
    -------
    Perturbed

    Raises
    ------
    InputError
        A kind, rate, language, variety or label is unknown; the items are no originals; or one kind could
        change no item at all.

    Examples
    --------
    >>> jokes = pd.DataFrame({"item_id": ["j1"], "language": ["en"], "text": ["My mom drove.\nHe cried."]})
    >>> made = perturb_items(jokes, ["dialect"])
    >>> made.items["text"].tolist()
    ['My mom drove.\nHe cried.', 'My mum drove.\nHe cried.']
    """
    check_kinds(kinds)
    rates = RATES | checked_rates(rates or {})
    check_originals(items)
    typed = validate(items, "items")
    texts, languages = texts_of(typed), languages_of(typed, language_column)
    spoken = checked_varieties(dialects or {})
    wanted = target(typed, labels, only, span_column, allow_misaligned)
    ids = typed["item_id"].tolist()
    cells = typed[span_column].tolist() if span_column else [None] * len(typed)
    spans = [span_of(*parts, wanted) for parts in zip(ids, texts, cells, strict=True)]
    pairs = []
    for kind in (name for name in KINDS if name in kinds):
        for row, (item, text, span) in enumerate(zip(ids, texts, spans, strict=True)):
            made = (
                None
                if span.problem
                else _made(item, text, span, kind, languages[row], rates, tolerance, seed, spoken)
            )
            pairs.append(_Pair(row, kind, made, _reason(span, made, allow_noops, allow_unmet)))
    summary = _summary(pairs, languages, rates)
    _check_made(summary)
    kept = [pair for pair in pairs if pair.reason is None]
    table = _table(typed, kept, originals)
    refused = _refused(pairs, ids)
    return Perturbed(table, _carried(labels, table), refused, summary)


def _made(
    item: str,
    text: str | None,
    span: Span,
    kind: str,
    language: str,
    rates: Mapping[str, float],
    tolerance: float,
    seed: int,
    spoken: Mapping[str, str | None],
) -> Perturbation:
    return perturb_text(
        text or "", span.segments, kind, language,
        rate=rates[kind], tolerance=tolerance, seed=seed, key=item, variety=spoken[language],
    )  # fmt: skip


def _reason(span: Span, made: Perturbation | None, allow_noops: bool, allow_unmet: bool) -> str | None:
    if made is None:
        return span.problem
    if made.n_words == 0:
        return EMPTY_SPAN
    if not made.changes:
        return None if allow_noops else NO_OP
    return None if made.rate_met or allow_unmet else UNMET


def _table(items: pd.DataFrame, pairs: Sequence[_Pair], originals: bool) -> pd.DataFrame:
    """Rows of originals and copies, sorted by original, then in the order of the kinds."""
    rows = (list(range(len(items))) if originals else []) + [pair.row for pair in pairs]
    made = [None] * (len(rows) - len(pairs)) + [pair.made for pair in pairs]
    kinds = [UNPERTURBED] * (len(rows) - len(pairs)) + [pair.kind for pair in pairs]
    frame = items.iloc[rows].reset_index(drop=True)
    base = frame["item_id"]
    copied = [found is not None for found in made]
    ids = [
        copy_id(item, kind) if copy else item for item, kind, copy in zip(base, kinds, copied, strict=True)
    ]
    texts = [found.text if found else None for found in made]
    if "text" in frame:
        frame["text"] = pd.Series(texts, dtype="string").where(np.array(copied), frame["text"])
    if "lines" in frame:
        held = zip(texts, frame["lines"], strict=True)
        frame["lines"] = [lines if text is None else text.split("\n") for text, lines in held]
    numbers: dict[str, Any] = {
        "changes": pd.array([_json(found) for found in made], dtype="string"),
        "n_changes": [len(found.changes) if found else 0 for found in made],
        "n_changed_words": [found.n_changed if found else 0 for found in made],
        "n_span_words": pd.array([found.n_words if found else None for found in made], dtype="Int64"),
        "rate": [found.rate if found else 0.0 for found in made],
        "rate_met": pd.array([found.rate_met if found else None for found in made], dtype="boolean"),
    }
    frame = frame.assign(item_id=pd.array(ids, dtype="string"), **numbers)
    frame.insert(1, "base_item_id", base)
    frame.insert(2, "condition", pd.Series(pd.Categorical(kinds, categories=[UNPERTURBED, *KINDS])))
    frame = frame.sort_values(["base_item_id", "condition"], kind="stable", ignore_index=True)
    frame["condition"] = frame["condition"].astype("string")
    return validate(frame, "items", source="perturbed items")


def _json(made: Perturbation | None) -> str:
    return json.dumps(as_records(made.changes) if made else [], ensure_ascii=False)


def _carried(labels: pd.DataFrame | None, items: pd.DataFrame) -> pd.DataFrame | None:
    if labels is None:
        return None
    typed = validate(labels, "labels")
    pairs = items[["item_id", "base_item_id"]].rename(columns={"item_id": "copy", "base_item_id": "item_id"})
    found = pairs.merge(typed, on="item_id").assign(item_id=lambda frame: frame["copy"])
    return found[list(typed.columns)].sort_values(["item_id", "label_set"], kind="stable", ignore_index=True)


def _refused(pairs: Sequence[_Pair], ids: Sequence[str]) -> pd.DataFrame:
    left = [pair for pair in pairs if pair.reason is not None]
    rows = [(ids[pair.row], pair.kind, pair.reason) for pair in left]
    frame = pd.DataFrame(rows, columns=["base_item_id", "condition", "reason"], dtype="string").assign(
        n_changed_words=pd.array([pair.made.n_changed if pair.made else None for pair in left], "Int64"),
        n_span_words=pd.array([pair.made.n_words if pair.made else None for pair in left], "Int64"),
    )
    return frame.sort_values(["base_item_id", "condition"], kind="stable", ignore_index=True)


def _summary(pairs: Sequence[_Pair], languages: Sequence[str], rates: Mapping[str, float]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "condition": [pair.kind for pair in pairs],
            "language": [languages[pair.row] for pair in pairs],
            "pair": [pair.reason is None for pair in pairs],
            "met": [pair.reason is None and pair.made is not None and pair.made.rate_met for pair in pairs],
            "noop": [
                pair.made is not None and pair.made.n_words > 0 and not pair.made.changes for pair in pairs
            ],
            "unmet": [pair.reason == UNMET for pair in pairs],
            "other": [pair.reason not in (None, NO_OP, UNMET) for pair in pairs],
            "reached": [pair.made.rate if pair.reason is None and pair.made else None for pair in pairs],
        }
    )
    frame["condition"] = pd.Categorical(frame["condition"], categories=KINDS)
    made = frame.groupby(["condition", "language"], observed=True, as_index=False).agg(
        n_items=("pair", "size"),
        n_pairs=("pair", "sum"),
        n_rate_met=("met", "sum"),
        n_noops=("noop", "sum"),
        n_unmet=("unmet", "sum"),
        n_other=("other", "sum"),
        mean_rate=("reached", "mean"),
    )
    made["condition"] = made["condition"].astype("string")
    made.insert(len(made.columns) - 1, "rate", made["condition"].map(rates))
    return made


def _check_made(summary: pd.DataFrame) -> None:
    by_kind = summary.groupby("condition", sort=False)[["n_pairs", "n_noops", "n_unmet", "n_other"]].sum()
    for kind, row in by_kind.iterrows():
        if row["n_pairs"] == 0:
            raise InputError(
                f"{kind}: no item could be changed ({row['n_noops']} with nothing to change in the span, "
                f"{row['n_unmet']} in which the rate was not met, {row['n_other']} without a span); leave "
                "that kind out, change another span, or ask for another rate."
            )
