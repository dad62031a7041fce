"""Profiles as their layout shows them: the texts of a post in HTML, in rows that a pair has in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..study.models import Study
from ..vignettes.layout_parts import Column, Piece, Row, TextPiece
from ..vignettes.layouts import VignetteLayout, load_layout

STRONG = 600  # weight of a text from which it is bold
Texts = tuple[tuple[str, str], ...]  # kind (strong, muted or plain) and text of each part of a row


def layout_of(study: Study, fields: tuple[str, ...]) -> VignetteLayout | None:
    """The layout of a study's vignettes, where it has a place for each field that is shown."""
    if study.vignette is None:
        return None
    layout = load_layout(study.vignette.layout, study.folder)
    return layout if set(fields) <= set(layout.fields) else None


def layout_rows(layout: VignetteLayout, record: Mapping[str, str]) -> tuple[Texts, ...]:
    """The texts of each row of a layout; a row is empty where the record lacks its fields."""
    return tuple(tuple(_texts(piece, layout, record)) for piece in _rows(layout.content) if _has_text(piece))


def _rows(piece: Piece) -> Iterator[Piece]:
    """Parts from top to bottom; columns within columns are taken apart."""
    if isinstance(piece, Column):
        for part in piece.parts:
            yield from _rows(part)
    else:
        yield piece


def _has_text(piece: Piece) -> bool:
    return isinstance(piece, TextPiece) or any(map(_has_text, piece.parts))


def _texts(piece: Piece, layout: VignetteLayout, record: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if piece.when is not None and not record.get(piece.when):
        return
    if isinstance(piece, TextPiece):
        if all(record.get(name) for name in piece.text.fields):
            style = layout.styles[piece.style]
            kind = "muted" if style.colour == "muted" else "strong" if style.weight >= STRONG else "plain"
            yield kind, piece.text.fill(record)
    elif isinstance(piece, Row | Column):
        for part in piece.parts:
            yield from _texts(part, layout, record)
