"""What a layout shows of one record: its parts with their words, less those that vanish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..errors import InputError
from ..tables.columns import did_you_mean
from .layout_file import FIELD, VALUE, Layout
from .layout_parts import Cue, Each, IconPiece, Piece
from .wording import Template

Record = Mapping[str, object]
NEVER_SHOWN = ("profile_id", "alt")  # the number of a record and its description


@dataclass(frozen=True, slots=True)
class Content:
    """A part of a layout, filled from a record.

    Attributes
    ----------
    piece : Piece
    name : str
        Of its box.
    cue : str, optional
        Its own, or that of the part around it.
    fields : tuple of str
        Columns of the record that it shows.
    words : str, optional
        Of a text; of a picture, its name.
    inside : tuple of Content
    """

    piece: Piece
    name: str
    cue: Cue | None = None
    fields: tuple[str, ...] = ()
    words: str | None = None
    inside: tuple[Content, ...] = ()


def contents(layout: Layout, record: Record) -> Content:
    """Fill a layout from a record, whose missing values are None.

    Raises
    ------
    InputError
        The record lacks a value that the layout shows, or holds one that it cannot write, or nothing of it
        is shown.

    Examples
    --------
    >>> from conjury.inference.vignettes.layout_file import load_layout
    >>> row = {"Policy": "Carbon tax", "Cost": None}
    >>> table = contents(load_layout("table"), row)
    >>> "Cost" in str(table), "Carbon tax" in str(table)
    (False, True)
    """
    found = next(_filled(layout, layout.content, record, None, None), None)
    if found is None:
        raise InputError(f"{layout.path}: nothing is shown; correct `when`.")
    return found


def called(record: Record) -> str:
    """Return what a record is called in a sentence."""
    number = record.get("profile_id")
    return "a record" if number is None else f"profile {number}"


def _filled(
    layout: Layout, piece: Piece, record: Record, cue: Cue | None, field: str | None
) -> Iterator[Content]:
    """Fill a part; ``field`` is the one that ``each`` has come to."""
    if piece.when is not None and record.get(piece.when) is None:
        return
    cue = piece.cue or cue
    template = piece.template
    if template is not None:
        fields = _columns(template, field)
        name = piece.name or "_".join(fields) or piece.KIND
        yield Content(piece, name, cue, fields, _words(layout, template, record))
    elif type(piece) is Each:
        yield from _repeated(layout, piece, record, cue)
    elif piece.parts:
        shown = tuple(part for one in piece.parts for part in _filled(layout, one, record, cue, field))
        if shown:
            yield Content(piece, piece.name or piece.KIND, cue, inside=shown)
    else:
        name = piece.icon if type(piece) is IconPiece else piece.KIND
        yield Content(piece, piece.name or name, cue)


def _repeated(layout: Layout, piece: Each, record: Record, cue: Cue | None) -> Iterator[Content]:
    named = {*layout.fields, *piece.without, *NEVER_SHOWN}
    for field, value in record.items():
        if field not in named and value is not None:
            scope = {**record, FIELD: field, VALUE: value}
            yield from _filled(layout, piece.each, scope, cue, field)


def _columns(template: Template, field: str | None) -> tuple[str, ...]:
    """Return the columns whose values a text shows; within ``each``, its words for them are resolved."""
    if field is None:
        return template.fields
    return tuple(field if name == VALUE else name for name in template.fields if name != FIELD)


def _words(layout: Layout, template: Template, record: Record) -> str:
    try:
        return template.fill(record)
    except KeyError as missing:
        field = missing.args[0]
        meant = "" if field in record else did_you_mean(field, record)
        raise InputError(
            f"'{field}'{meant} is missing, and {layout.path} shows it; fill it in, or write "
            f"`when: {field}` there."
        ) from None
    except ValueError as problem:
        raise InputError(f"{layout.path}: {problem}") from None
