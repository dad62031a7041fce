"""Items and their perturbed copies as one table: minimal pairs, their changes, and refused pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..tables.columns import FEW_PAIRS, KINDS, PAPER_KINDS, UNPERTURBED, as_text, copy_id, refuse
from ..tables.frames import any_frame
from ..tables.schema import validate
from .lexicon import LANGUAGES, varieties
from .perturb import RATES, TOLERANCE, Change, Perturbation, perturb_text
from .spans import EMPTY_SPAN, Span, read_target, span_of, texts_of

NO_OP = "no-op"
UNMET = "rate not met"
LANGUAGE_NAMES = {"english": "en", "inglés": "en", "spanish": "es", "español": "es", "castellano": "es"}
ADDED = (
    *("base_item_id", "condition", "changes", "n_changes", "n_changed_words", "n_span_words", "rate"),
    "rate_met",
)


@dataclass(frozen=True)
class Perturbed:
    """Items with their perturbed copies.

    Parameters
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
        every pair that was refused.
    summary : DataFrame
        By condition and language: ``n_items, n_pairs, n_rate_met`` (of the pairs), ``n_noops, n_unmet``
        (refused because the rate was not met), ``n_other, rate`` (requested), ``mean_rate`` (of the pairs).

    Examples
    --------
    >>> jokes = pd.DataFrame({"item_id": ["j1"], "language": ["en"], "text": ["My mom drove."]})
    >>> perturbed = perturb_items(jokes, ["dialect"])
    >>> perturbed.items[["condition", "rate"]].round(2).values.tolist()
    [['none', 0.0], ['dialect', 0.33]]
    >>> perturbed.summary[["condition", "n_pairs"]].values.tolist()
    [['dialect', 1]]
    """

    items: pd.DataFrame
    labels: pd.DataFrame | None
    refused: pd.DataFrame
    summary: pd.DataFrame

    @property
    def notes(self) -> list[str]:
        """A sentence that names conditions and languages with fewer than `FEW_PAIRS` pairs, if there are."""
        rows = self.summary[self.summary["n_pairs"] < FEW_PAIRS].to_dict("records")
        groups = "; ".join(f"{row['condition']}, {row['language']} ({row['n_pairs']:,})" for row in rows)
        advice = f"Fewer than {FEW_PAIRS:,} pairs allow no conclusion about judges; add items for: {groups}."
        return [advice] if rows else []


@any_frame
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

    Nothing outside the span changes, not a byte; lines stay lines. The copies of an item depend on its id,
    its text and the seed, not on other items nor on their order.

    Parameters
    ----------
    items : DataFrame
        The items contract, with ``text`` (lines end with a line feed) or ``lines``, and a language.
    kinds : sequence of {"orthographic", "drift", "preserving", "dialect"}
        Kinds of perturbation, each a condition; ortho, sem_drift, sem_pres and cultural are the same four.
    labels : DataFrame, optional
        Gold labels, carried over; ``label_set`` is line_1, line_2, ... for lines.
    only : sequence of str
        Change lines with these gold labels only; without any, the whole text.
    span_column : str, optional
        In place of ``only``: column of items with a JSON list of [start, end] characters.
    language_column : str
        Column that contains en or es (or en-GB, English, Spanish and the like).
    rates : mapping of kind to float, optional
        Share of the span's words to change, in place of `RATES`.
    tolerance : float
        How far the rate may be off, where whole words cannot come closer.
    seed : int
        Seed of the changes.
    dialects : mapping of language to str, optional
        Variety that the dialect substitutions lead to; by default uk and latam.
    allow_noops : bool
        Keep pairs without a change.
    allow_unmet : bool
        Keep pairs in which too few or too many words changed for the rate; ``rate_met`` marks them.
    allow_misaligned : bool
        With ``only``: change items whose labels and lines differ in number.
    originals : bool
        Whether the originals are in the table, as condition "none".

    Returns
    -------
    Perturbed
        The items with their copies, and what was refused.

    Raises
    ------
    InputError
        A kind, rate, language, variety or label is unknown; the items are no originals; or one kind could
        change no item at all.

    Examples
    --------
    >>> jokes = pd.DataFrame({"item_id": ["j1"], "language": ["en"], "text": ["My mom drove.\nHe cried."]})
    >>> perturbed = perturb_items(jokes, ["dialect"])
    >>> perturbed.items["text"].tolist()
    ['My mom drove.\nHe cried.', 'My mum drove.\nHe cried.']
    """
    kinds = [PAPER_KINDS.get(kind, kind) for kind in kinds]
    check_kinds(kinds)
    rates = RATES | checked_rates({PAPER_KINDS.get(kind, kind): rate for kind, rate in (rates or {}).items()})
    check_originals(items)
    typed = validate(items, "items")
    texts, languages = texts_of(typed), languages_of(typed, language_column)
    spoken = checked_varieties(dialects or {})
    span_target = read_target(typed, labels, only, span_column, allow_misaligned)
    ids = typed["item_id"].tolist()
    cells = typed[span_column].tolist() if span_column else [None] * len(typed)
    spans = [span_of(*parts, span_target) for parts in zip(ids, texts, cells, strict=True)]
    rows = []
    for kind in (name for name in KINDS if name in kinds):
        for row, (item, text, span, language) in enumerate(zip(ids, texts, spans, languages, strict=True)):
            copy = None
            if span.problem is None:
                copy = perturb_text(
                    text or "", span.segments, kind, language,
                    rate=rates[kind], tolerance=tolerance, seed=seed, key=item, variety=spoken[language],
                )  # fmt: skip
            reason = _reason(span, copy, allow_noops, allow_unmet)
            rows.append((row, item, kind, language, copy, reason))
    columns = ["row", "base_item_id", "condition", "language", "copy", "reason"]
    pairs = pd.DataFrame(rows, columns=columns).astype({"reason": "string"})
    summary = _summary(pairs, rates)
    _check_pairs(summary)
    table = _table(typed, pairs[pairs["reason"].isna()], originals)
    return Perturbed(table, _labels_of_copies(labels, table), _refused_pairs(pairs), summary)


def _reason(span: Span, copy: Perturbation | None, allow_noops: bool, allow_unmet: bool) -> str | None:
    """Why a pair is refused."""
    if copy is None:
        return span.problem
    if copy.n_words == 0:
        return EMPTY_SPAN
    if not copy.changes:
        return None if allow_noops else NO_OP
    return None if copy.rate_met or allow_unmet else UNMET


def _table(items: pd.DataFrame, pairs: pd.DataFrame, originals: bool) -> pd.DataFrame:
    """Rows of originals and copies, sorted by original, then in the order of the kinds."""
    first = list(range(len(items))) if originals else []
    copies: list[Perturbation | None] = [None] * len(first) + pairs["copy"].tolist()
    kinds = [UNPERTURBED] * len(first) + pairs["condition"].tolist()
    frame = items.iloc[first + pairs["row"].tolist()].reset_index(drop=True)
    base = frame["item_id"]
    rows = zip(base, kinds, copies, strict=True)
    ids = [item if copy is None else copy_id(item, kind) for item, kind, copy in rows]
    texts = [copy.text if copy else None for copy in copies]
    if "text" in frame:
        frame["text"] = pd.Series(texts, dtype="string").fillna(frame["text"])
    if "lines" in frame:
        line_pairs = zip(texts, frame["lines"], strict=True)
        frame["lines"] = [lines if text is None else text.split("\n") for text, lines in line_pairs]
    frame = frame.assign(
        item_id=pd.array(ids, dtype="string"),
        changes=pd.array([_json(copy.changes if copy else ()) for copy in copies], dtype="string"),
        n_changes=[len(copy.changes) if copy else 0 for copy in copies],
        n_changed_words=[copy.n_changed if copy else 0 for copy in copies],
        n_span_words=pd.array([copy.n_words if copy else None for copy in copies], dtype="Int64"),
        rate=[copy.rate if copy else 0.0 for copy in copies],
        rate_met=pd.array([copy.rate_met if copy else None for copy in copies], dtype="boolean"),
    )
    frame.insert(1, "base_item_id", base)
    frame.insert(2, "condition", pd.Series(pd.Categorical(kinds, categories=[UNPERTURBED, *KINDS])))
    frame = frame.sort_values(["base_item_id", "condition"], kind="stable", ignore_index=True)
    frame["condition"] = frame["condition"].astype("string")
    return validate(frame, "items", source="perturbed items")


def _json(changes: Sequence[Change]) -> str:
    return json.dumps([asdict(change) for change in changes], ensure_ascii=False)


def _labels_of_copies(labels: pd.DataFrame | None, items: pd.DataFrame) -> pd.DataFrame | None:
    """Labels of all items: copies have those of their original."""
    if labels is None:
        return None
    typed = validate(labels, "labels")
    pairs = items[["item_id", "base_item_id"]].rename(columns={"item_id": "copy", "base_item_id": "item_id"})
    copies = pairs.merge(typed, on="item_id").assign(item_id=lambda frame: frame["copy"])
    return copies[list(typed.columns)].sort_values(["item_id", "label_set"], kind="stable", ignore_index=True)


def _refused_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    refused = pairs[pairs["reason"].notna()]
    copies = refused["copy"].tolist()
    frame = refused[["base_item_id", "condition", "reason"]].astype("string")
    frame["n_changed_words"] = pd.array([copy.n_changed if copy else None for copy in copies], "Int64")
    frame["n_span_words"] = pd.array([copy.n_words if copy else None for copy in copies], "Int64")
    return frame.sort_values(["base_item_id", "condition"], kind="stable", ignore_index=True)


def _summary(pairs: pd.DataFrame, rates: Mapping[str, float]) -> pd.DataFrame:
    copies, is_pair = pairs["copy"].tolist(), pairs["reason"].isna()
    numbers = pd.DataFrame(
        {
            "condition": pd.Categorical(pairs["condition"], categories=KINDS),
            "language": pairs["language"],
            "pair": is_pair,
            "met": is_pair & np.array([copy is not None and copy.rate_met for copy in copies], dtype=bool),
            "noop": [copy is not None and copy.n_words > 0 and not copy.changes for copy in copies],
            "unmet": (pairs["reason"] == UNMET).fillna(False),
            "other": ~(is_pair | pairs["reason"].isin([NO_OP, UNMET])),
            "reached": pd.Series([copy.rate if copy else np.nan for copy in copies], dtype=float).where(
                is_pair
            ),
        }
    )
    summary = numbers.groupby(["condition", "language"], observed=True, as_index=False).agg(
        n_items=("pair", "size"),
        n_pairs=("pair", "sum"),
        n_rate_met=("met", "sum"),
        n_noops=("noop", "sum"),
        n_unmet=("unmet", "sum"),
        n_other=("other", "sum"),
        mean_rate=("reached", "mean"),
    )
    summary["condition"] = summary["condition"].astype("string")
    summary.insert(len(summary.columns) - 1, "rate", summary["condition"].map(rates))
    return summary


def _check_pairs(summary: pd.DataFrame) -> None:
    by_kind = summary.groupby("condition", sort=False)[["n_pairs", "n_noops", "n_unmet", "n_other"]].sum()
    for kind, row in by_kind.iterrows():
        if row["n_pairs"] == 0:
            raise InputError(
                f"{kind}: no item could be changed ({row['n_noops']} with nothing to change in the span, "
                f"{row['n_unmet']} in which the rate was not met, {row['n_other']} without a span); omit "
                "that kind, change another span, or ask for another rate."
            )


def check_kinds(kinds: Sequence[str]) -> None:
    """Refuse unknown kinds."""
    if not kinds:
        raise InputError(f"no kind of perturbation is named; use {listed(KINDS)}.")
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(
                f"there is no perturbation '{kind}'{did_you_mean(kind, KINDS)}; use {listed(KINDS)}."
            )


def checked_rates(rates: Mapping[str, float]) -> dict[str, float]:
    """Rates by kind, all of them shares above 0."""
    check_kinds(list(rates) or [KINDS[0]])
    for kind, rate in rates.items():
        if not 0 < rate <= 1:
            raise InputError(f"rate {rate:g} of {kind} is no share of words; give one above 0 and up to 1.")
    return dict(rates)


def check_originals(items: pd.DataFrame) -> None:
    """Refuse items that are perturbed copies already."""
    for column in ADDED:
        if column in items:
            raise InputError(
                f"items: there is a column '{column}' already; give the originals, not perturbed copies."
            )


def languages_of(items: pd.DataFrame, column: str) -> list[str]:
    """Language of every item, en or es."""
    if column not in items:
        hint = did_you_mean(column, items.columns)
        raise InputError(
            f"items: column '{column}' is missing{hint}; name the one with en or es by --language-column."
        )
    texts = as_text(items[column]).str.casefold().str.strip()
    codes = texts.replace(LANGUAGE_NAMES).str.split("[-_]", regex=True).str[0]
    unknown = ~codes.isin(LANGUAGES).to_numpy(dtype=bool)
    if unknown.any():
        value = items[column].iloc[int(unknown.argmax())]
        problem = f"contains '{value}', and perturbations are for {' and '.join(LANGUAGES)}"
        refuse("items", column, unknown, problem, "exclude other items, or use --language-column")
    return [str(code) for code in codes]


def checked_varieties(dialects: Mapping[str, str]) -> dict[str, str | None]:
    """Variety of each language that dialect substitutions lead to; None is the default."""
    for language, variety in dialects.items():
        if language not in LANGUAGES:
            raise InputError(f"there are no dialects of language '{language}'; use {listed(LANGUAGES)}.")
        names = varieties(language)
        if variety not in names:
            raise InputError(
                f"there is no variety '{variety}' of {language}{did_you_mean(variety, names)}; "
                f"use {listed(names)}."
            )
    return {language: dialects.get(language) for language in LANGUAGES}
