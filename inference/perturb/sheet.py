"""Minimal pairs to look at: one HTML page, everything escaped, what differs marked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

import numpy as np
import pandas as pd

from ..tables.streams import UNPERTURBED, stream
from .copies import Perturbed
from .perturb import from_records, undone
from .spans import texts_of

PER_GROUP = 25
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .7rem; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
article { border-top: 1px solid #ccc; padding: .6rem 0; }
h3 { font-size: 1rem; margin: 0 0 .3rem; } h3 small { color: #555; font-weight: normal; }
p.line { margin: .1rem 0; overflow-wrap: anywhere; white-space: pre-wrap; } p.line span { color: #767676; }
del { background: #fbd9d3; } ins { background: #cfe8d5; text-decoration: none; font-weight: 600; }
"""


def sheet(made: Perturbed, *, per_group: int = PER_GROUP, seed: int = 1) -> str:
    """Return a page with pairs of every kind and language, drawn by the seed, and counts of all.

    Each pair shows the lines that differ, what was taken out struck through and what came in beside it.

    Parameters
    ----------
    made : Perturbed
    per_group : int
        Pairs shown of each condition and language, at most.
    seed : int

    Returns
    -------
    str
        An HTML document that needs no other file. Items, labels and replacements are escaped.
    """
    copies = made.items[made.items["condition"] != UNPERTURBED]
    texts = dict(zip(copies["item_id"], texts_of(copies), strict=True))
    parts = [_head(), _counts(made.summary), _reasons(made.refused)]
    columns = ["condition", *(["language"] if "language" in copies else [])]
    for keys, group in copies.groupby(columns, sort=True, observed=True):
        names = [str(key) for key in keys]
        rng = stream(seed, "sheet", *names)
        chosen = np.sort(rng.permutation(len(group))[:per_group])
        parts.append(
            f"<h2>{escape(', '.join(names))}</h2><p>{len(chosen):,} of {len(group):,} pairs are shown.</p>"
        )
        parts += [_pair(row, texts[row["item_id"]] or "") for _, row in group.iloc[chosen].iterrows()]
    return "\n".join([*parts, "</body></html>", ""])


def _head() -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Perturbed pairs</title>'
        f"<style>{_STYLE}</style></head><body>\n<h1>Perturbed pairs</h1>"
    )


def _counts(summary: pd.DataFrame) -> str:
    heads = {
        "condition": "kind", "language": "language", "n_items": "items", "n_pairs": "pairs",
        "n_rate_met": "rate met", "n_noops": "nothing changed", "n_other": "no span", "rate": "rate asked",
        "mean_rate": "rate, mean",
    }  # fmt: skip
    cells = [[_cell(row[name]) for name in heads] for _, row in summary.iterrows()]
    return _table(list(heads.values()), cells)


def _reasons(refused: pd.DataFrame) -> str:
    if refused.empty:
        return ""
    counts = refused.groupby(["condition", "reason"], sort=True, as_index=False).size()
    cells = [[_cell(cell) for cell in row] for row in counts.itertuples(index=False, name=None)]
    return "<h2>Pairs that were not made</h2>" + _table(["kind", "reason", "items"], cells)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        return f'<td class="number">{"" if np.isnan(value) else f"{value:.3f}"}</td>'
    if isinstance(value, (int, np.integer)):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"


def _pair(row: pd.Series, text: str) -> str:
    changes = json.loads(row["changes"])
    original = undone(text, from_records(changes))
    met = "" if row["rate_met"] else ", rate not met"
    told = f"{row['n_changed_words']} of {row['n_span_words']} words in the span{met}"
    lines = [
        f'<p class="line"><span>{number}</span> {_marked(original, number, list(group))}</p>'
        for number, group in groupby(changes, key=lambda change: change["line"])
    ]
    title = f"<h3>{escape(str(row['base_item_id']))} <small>{escape(told)}</small></h3>"
    return f"<article>{title}{''.join(lines)}</article>"


def _marked(text: str, number: int, changes: Sequence[Mapping[str, object]]) -> str:
    """One line of a text, escaped, with its changes marked."""
    lines = text.split("\n")
    at = sum(len(line) + 1 for line in lines[: number - 1])
    end, parts = at + len(lines[number - 1]), []
    for change in changes:
        start, stop = int(str(change["start"])), int(str(change["end"]))
        old, new = escape(str(change["old"])), escape(str(change["new"]))
        parts.append(f"{escape(text[at:start])}<del>{old}</del> <ins>{new}</ins>")
        at = stop
    return "".join([*parts, escape(text[at:end])])
