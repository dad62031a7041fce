"""A sequence of labels as one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from conjury.inference.tables.safe_text import printable

from ...figures.labels import true_minus
from ...figures.page_blocks import bullets, figure_block, paragraphs, result_page, table_block
from ...figures.sequence_figure import quantity_label
from ...frames.word_table import WordTable
from ...results import Result

STYLE = """
.verdict li { margin: 0.35rem 0; }
details > summary { cursor: pointer; font-weight: 600; margin: 1rem 0 0.5rem; }
"""
CAPTION = (
    "Lines: estimates after each batch of labels; bands: intervals that hold at all batches together, so "
    "that one may look and stop at any of them."
)
HEAD = ("labels", "estimate", "interval", "half width")


def page_of_labels(result: Result, title: str) -> str:
    """The page: what the labels say, what may be claimed, notes, the figure, and numbers of all batches."""
    return result_page(printable(title), _blocks(result), STYLE)


def _blocks(result: Result) -> Iterator[str]:
    settings = result.settings
    yield bullets(settings["verdict"], "verdict")
    yield from paragraphs([settings["claim"]])
    yield from paragraphs(result.notes, "note")
    if result.frame.empty:
        return
    yield figure_block(result, result.kind, CAPTION)
    for quantity, rows in result.frame.groupby("quantity", sort=False):
        table = numbers_of(rows, quantity_label(str(quantity), settings))
        yield f"<details open><summary>{printable(table.title)}</summary>\n{table_block(table)}\n</details>"


def numbers_of(rows: pd.DataFrame, title: str) -> WordTable:
    """One quantity after each batch, as texts."""
    digits = 3 if rows[["lower", "upper"]].abs().to_numpy().max() <= 1 else 2

    def text(value: float) -> str:
        return true_minus(f"{value:.{digits}f}")

    parts = [rows[name].to_numpy(dtype=float) for name in ("estimate", "lower", "upper", "half_width")]
    cells = [
        (f"{n:,.0f}", text(estimate), f"{text(lower)} to {text(upper)}", text(half))
        for n, estimate, lower, upper, half in zip(rows["n_labels"], *parts, strict=True)
    ]
    return WordTable(title, HEAD, cells, words=())
