"""What all outputs of a validation have in common: what was compared, tables of numbers, and a record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import json_value

from ....figures.labels import p_text, source_in_words
from ....frames.word_table import WordTable
from ....numerics.metrics.agreement_measures import measure_of
from ..gates import GateOutcome
from ..judging import Validation
from ..validation_rows import (
    AGREEMENT,
    AUTOMATION,
    CHANGES,
    CORRECTED,
    DIFFERENCES,
    ERRORS,
    JUDGES,
    LENGTH,
    LEVELS,
    PEOPLE,
    POSITION,
    RANKS,
    RATES,
    REPLACEMENT,
    SUBGROUPS,
    SYSTEM_PAIRS,
    WINS,
)
from ..verdicts.judge_sentences import interval, number
from ..verdicts.notable_rows import Row

FORMAT = 1  # of the record
HEADINGS = {
    AUTOMATION: "Verdicts that stand alone",
    DIFFERENCES: "Differences between systems",
    LEVELS: "Systems",
    JUDGES: "Judges together",
    WINS: "Win rates",
    RANKS: "Ranking",
    SYSTEM_PAIRS: "Differences of strengths",
    POSITION: "Position",
    LENGTH: "Length",
    CHANGES: "Changes",
    AGREEMENT: "Agreement with people",
    PEOPLE: "People among themselves",
    RATES: "Base rates",
    ERRORS: "Errors by class",
    SUBGROUPS: "Subgroups",
    REPLACEMENT: "Replacement test",
    CORRECTED: "Over all judged rows",
}


@dataclass(frozen=True)
class ValidationReport:
    """A validation with what it is about."""

    result: Validation
    title: str
    sources: Sequence[str]  # the files
    columns: Sequence[str] = ()  # sentences on which columns were used and which guessed
    outcomes: Sequence[GateOutcome] = ()  # of limits for continuous integration


def measure_in_words(name: str) -> str:
    """A measure as people read it."""
    if name.endswith("_difference"):
        return f"difference in {measure_in_words(name.removesuffix('_difference'))}"
    if name.endswith("_between"):
        return f"{measure_in_words(name.removesuffix('_between'))} of both"
    return measure_of(name).label


def tables(result: Validation) -> list[WordTable]:
    """All estimates by part, as texts."""
    level = f"{1 - float(result.settings['alpha']):.0%} interval"
    names = result.settings.get("names", ("A", "B"))
    blocks = []
    for part, heading in HEADINGS.items():
        rows = result.frame[result.frame["part"] == part]
        if rows.empty:
            continue
        further = {
            "chance": ("by chance", _chance),
            "p_equivalence": ("p, equivalence", lambda row: _p(row["p_equivalence"])),
            "gain": ("gain", lambda row: number(row["gain"], "gain") if np.isfinite(row["gain"]) else ""),
        }
        extra_columns = {
            key: column for key, column in further.items() if key in rows and rows[key].notna().any()
        }
        adjusted = rows["p_adjusted"].notna()
        tested = {
            "p": ("p", lambda row: "" if np.isfinite(row["p_adjusted"]) else _p(row["p"])),
            "p_adjusted": ("p (Holm)", lambda row: _p(row["p_adjusted"])),
        }
        has_p = {"p": (rows["p"].notna() & ~adjusted).any(), "p_adjusted": adjusted.any()}
        columns = {**extra_columns, **{key: column for key, column in tested.items() if has_p[key]}}
        head = ("", "estimate", level, *(title for title, _ in columns.values()), "n")
        body = [
            (
                _label(row, names, result.settings),
                number(row["estimate"], row["measure"]) if np.isfinite(row["estimate"]) else "no value",
                interval(row, row["measure"]),
                *(text(row) for _, text in columns.values()),
                f"{int(row['n']):,}",
            )
            for _, row in rows.iterrows()
        ]
        blocks.append(WordTable(heading, head, tuple(body)))
    return [*blocks, *_crosstabs(result), *_precision(result)]


def _label(row: Row, names: Sequence[str], settings: Mapping[str, Any]) -> str:
    measure, who = str(row["measure"]), ""
    for suffix, name in zip(("_a", "_b"), names, strict=True):
        if measure.endswith(suffix):
            measure, who = measure.removesuffix(suffix), f", {name}"
    where = f"{row['by']} {row['level']}: " if row["by"] else ""
    if row.get("system"):
        pair = f"{row['system']} minus {row['baseline']}" if row["baseline"] else row["system"]
        return f"{where}{pair}, {source_in_words(row['source'], settings)}"
    if row["part"] == JUDGES:
        return _of_judges(measure, str(row["class"]))
    of = f" of {row['class']!r}" if row["class"] else ""
    return f"{where}{measure_in_words(measure)}{of}{who}"


def _of_judges(measure: str, whose: str) -> str:
    """A row on several judges of the same answers."""
    source = measure.rpartition("_")[0]
    texts = {"corrected": f"corrected by {whose or 'all judges'}", "people_only": "people alone"}
    if source in texts:
        return texts[source]
    return (
        f"{whose} alone" if source == "judge_only" else measure_in_words(measure) + (whose and f": {whose}")
    )


def _chance(row: Row) -> str:
    return number(row["chance"], "accuracy") if np.isfinite(row["chance"]) else ""


def _p(p: float) -> str:
    return p_text(p).removeprefix("= ") if np.isfinite(p) else ""


def _crosstabs(result: Validation) -> list[WordTable]:
    """Which label is called what, or became what: counts with shares of the row."""
    names = result.settings.get("names", ("A", "B"))
    headings = {
        "confusion": ("people", "judge", "Labels by people in rows, answers of the judge in columns"),
        "changes": ("a", "b", f"Answers of {names[0]} in rows, of {names[1]} in columns"),
    }
    blocks = []
    for key, (row, column, heading) in headings.items():
        table = result.extra.get(key)
        if table is not None:
            columns = list(dict.fromkeys(table[column]))
            cells = [
                f"{n:,} ({share:.0%})" if np.isfinite(share) else "0"
                for n, share in zip(table["n"], table["share"], strict=True)
            ]
            size = len(columns)
            body = [
                (str(name), *cells[at * size : (at + 1) * size])
                for at, name in enumerate(dict.fromkeys(table[row]))
            ]
            blocks.append(WordTable(heading, ("", *map(str, columns)), tuple(body)))
    return blocks


def _precision(result: Validation) -> list[WordTable]:
    """Number of labels needed would decide."""
    table = result.extra.get("precision")
    if table is None or table.empty:
        return []
    rows = []
    for _, row in table.iterrows():
        measure = str(row["measure"])
        rows.append(
            (
                measure_in_words(measure),
                f"{int(row['n']):,}",
                number(row["width"], measure),
                number(row["detectable"], measure) if np.isfinite(row["detectable"]) else "",
                _labels(row["n_for_width"], f"width {number(row['wanted_width'], measure)}"),
                _labels(row["n_for_threshold"], f"from {number(row['threshold'], measure)}"),
            )
        )  # fmt: skip
    head = ("", "n", "width", "detectable", "n for the wanted width", "n to decide (power 80%)")
    return [WordTable("Number of labels needed", head, tuple(rows))]


def _labels(value: float, why: str) -> str:
    if np.isnan(value):
        return ""
    return "more than feasible" if np.isinf(value) else f"{value:,.0f} ({why})"


def record(report: ValidationReport) -> dict[str, Any]:
    """Everything for programs."""
    result = report.result
    return {
        "format": FORMAT,
        "conjury": version("conjury"),
        "kind": result.kind,
        "sources": list(report.sources),
        "columns": list(report.columns),
        "settings": {name: value for name, value in result.settings.items() if name != "verdict"},
        "answer": None if result.answer is None else vars(result.answer),
        "verdict": list(result.verdict),
        "notes": list(result.notes),
        "gates": [
            {
                "gate": outcome.gate.text,
                "name": outcome.gate.name,
                "limit": outcome.gate.limit,
                "bound": outcome.gate.bound,
                "value": json_value(outcome.value),
                "passes": outcome.passes,
            }
            for outcome in report.outcomes
        ],
        "estimates": records(result.frame),
        **{name: records(table) for name, table in result.extra.items()},
    }


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows without empty cells, as JSON has them."""
    rows = []
    for row in frame.astype(object).to_dict("records"):
        cells = {str(key): json_value(value) for key, value in row.items()}
        rows.append({key: value for key, value in cells.items() if value is not None and value != ""})
    return rows


def to_json(report: ValidationReport) -> str:
    """The record as JSON."""
    return json.dumps(record(report), indent=1, allow_nan=False) + "\n"
