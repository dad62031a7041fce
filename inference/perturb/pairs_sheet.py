"""Minimal pairs on one HTML page: everything escaped, differences marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from itertools import groupby

import numpy as np
import pandas as pd

from ..tables.columns import UNPERTURBED, stream
from ..tables.html_page import page
from .perturb import Change, undone
from .perturbed_copies import Perturbed
from .spans import texts_of

PER_GROUP = 25
STYLE = """\
article { border-top: 1px solid var(--line); padding: .6rem 0; }
h3 { font-size: 1rem; margin: 0 0 .3rem; }
p.line { margin: .1rem 0; overflow-wrap: anywhere; white-space: pre-wrap; }
p.line span { color: var(--muted); }
del { background: var(--removed); }
ins { background: var(--added); text-decoration: none; font-weight: 600; }"""
HEADS = {
    "condition": "kind",
    "language": "language",
    "n_items": "items",
    "n_pairs": "pairs",
    "n_rate_met": "rate met",
    "n_noops": "nothing changed",
    "n_other": "no span",
    "rate": "requested rate",
    "mean_rate": "mean rate",
}


def sheet(made: Perturbed, *, per_group: int = PER_GROUP, seed: int = 1) -> str:
    """Return a page with pairs of every kind and language, drawn by the seed, and counts of all.

    Each pair shows the lines that differ, removed words struck through and new words next to them.

    Parameters
    ----------
    made : Perturbed
        Items with their perturbed copies, from `perturb_items`.
    per_group : int
        Pairs per condition and language, at most.
    seed : int
        Seed by which the pairs are drawn.

    Returns
    -------
    str
        An HTML document that needs no other file. Items, labels and replacements are escaped.

    Examples
    --------
    >>> from conjury.inference.perturb import perturb_items
    >>> jokes = pd.DataFrame({"item_id": ["j1"], "language": ["en"], "text": ["My mom drove."]})
    >>> "<del>mom</del> <ins>mum</ins>" in sheet(perturb_items(jokes, ["dialect"]))
    True
    """
    copies = made.items[made.items["condition"] != UNPERTURBED]
    texts = dict(zip(copies["item_id"], texts_of(copies), strict=True))
    parts = ["<h1>Perturbed pairs</h1>", _table(made.summary[list(HEADS)].rename(columns=HEADS))]
    if not made.refused.empty:
        counts = made.refused.groupby(["condition", "reason"], sort=True, as_index=False).size()
        counts.columns = pd.Index(["kind", "reason", "items"])
        parts += ["<h2>Refused pairs</h2>", _table(counts)]
    columns = ["condition", *(["language"] if "language" in copies else [])]
    for keys, group in copies.groupby(columns, sort=True, observed=True):
        names = [str(key) for key in keys]
        chosen = np.sort(stream(seed, "sheet", *names).permutation(len(group))[:per_group])
        parts.append(
            f"<h2>{escape(', '.join(names))}</h2><p>{len(chosen):,} of {len(group):,} pairs are shown.</p>"
        )
        parts += [_pair(row, texts[row["item_id"]] or "") for _, row in group.iloc[chosen].iterrows()]
    return page("Perturbed pairs", "\n".join(parts), STYLE)


def _table(frame: pd.DataFrame) -> str:
    head = "".join(f"<th>{escape(str(name))}</th>" for name in frame)
    rows = [[_cell(value) for value in row] for _, row in frame.iterrows()]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        return f'<td class="number">{"" if np.isnan(value) else f"{value:.3f}"}</td>'
    if isinstance(value, (int, np.integer)):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"


def _pair(row: pd.Series, text: str) -> str:
    changes = [Change(**record) for record in json.loads(row["changes"])]
    original = undone(text, changes)
    met = "" if row["rate_met"] else ", rate not met"
    share = f"{row['n_changed_words']} of {row['n_span_words']} words in the span{met}"
    lines = [
        f'<p class="line"><span>{number}</span> {_marked(original, number, list(group))}</p>'
        for number, group in groupby(changes, key=lambda change: change.line)
    ]
    title = f"<h3>{escape(str(row['base_item_id']))} <small>{escape(share)}</small></h3>"
    return f"<article>{title}{''.join(lines)}</article>"


def _marked(text: str, number: int, changes: Sequence[Change]) -> str:
    """One line of a text, escaped, with its changes marked."""
    lines = text.split("\n")
    at = sum(len(line) + 1 for line in lines[: number - 1])
    end, parts = at + len(lines[number - 1]), []
    for change in changes:
        old, new = escape(change.old), escape(change.new)
        parts.append(f"{escape(text[at : change.start])}<del>{old}</del> <ins>{new}</ins>")
        at = change.end
    return "".join([*parts, escape(text[at:end])])
