"""Answers of a study with an instrument, as ordinary analyses take them."""

from __future__ import annotations

import pandas as pd

from ..study.instrument import Instrument
from ..tables.columns import as_text
from ..tables.schema import KEYS, PAIR_KIND, instrument_columns

EXCLUDED = {
    "vacuum": "vacuum pairs",
    "same_quality": "same-quality pairs",
}


def ordinary_answers(
    answers: pd.DataFrame, table: str, instrument: Instrument | None, file: str
) -> tuple[pd.DataFrame, list[str]]:
    """Exclude what tests the judges: vacuum and same-quality pairs, later occasions, and further parsers."""
    # Answers of one judge to one prompt and pair that differ in other facets are left, numbered as samples.
    # The second value reports what was excluded. Without a column `pair_kind` nothing changes.
    columns = instrument_columns(answers, table)
    if not columns:
        return answers, []
    notes = []
    mask = pd.Series(True, index=answers.index)
    kind = as_text(answers[PAIR_KIND]).fillna("design")
    for name, words in EXCLUDED.items():
        mask, note = _exclude_rows(mask, kind == name, words)
        notes += note
    if "occasion" in columns:
        mask, note = _exclude_rows(mask, answers["occasion"].fillna(1) > 1, "answers on later occasions")
        notes += note
    if "parser" in columns:
        parser = as_text(answers["parser"])
        first = _first_parser(parser, instrument)
        mask, note = _exclude_rows(
            mask, parser.notna() & (parser != first), f"readings by parsers other than {first}"
        )
        notes += note
    excluded = [f"{file}: excluded as part of the instrument: {', '.join(notes)}."] if notes else []
    rows = answers[mask.to_numpy(dtype=bool)].reset_index(drop=True)
    keys = [name for name in KEYS[table] if name in rows]
    if rows.duplicated(keys).any():
        rows = _number_samples(rows, keys)
        excluded.append(
            f"{file}: answers of one judge to one prompt and question that differ in other facets of the "
            "instrument count as samples."
        )
    return rows.drop(columns=columns), excluded


def _exclude_rows(
    mask: pd.Series[bool], wrong: pd.Series[bool], words: str
) -> tuple[pd.Series[bool], list[str]]:
    wrong = wrong.fillna(False).astype(bool) & mask
    return mask & ~wrong, [f"{int(wrong.sum()):,} rows of {words}"] if wrong.any() else []


def _first_parser(parser: pd.Series[str], instrument: Instrument | None) -> str | None:
    """The parser that the study names first, or the first one of the answers where they have another."""
    parsers = parser.dropna().unique().tolist()
    study_parsers = instrument.facets.parser if instrument is not None else []
    return next((name for name in [*study_parsers, *parsers] if name in parsers), None)


def _number_samples(answers: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Number answers that differ in nothing but the sample."""
    groups = answers.groupby([name for name in keys if name != "sample"], dropna=False, observed=True)
    return answers.assign(sample=(groups.cumcount() + 1).astype("Int64"))
