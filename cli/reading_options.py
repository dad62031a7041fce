"""The options of every command that reads a table of somebody else."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import InputError

from .options import read_conditions, read_pairs, split_names, typed_options

if TYPE_CHECKING:
    from conjury.inference.tables.reading import ReadingRules

PANEL = "How the file is read"


def about_reading(*names: str, text: str) -> Any:
    """An option of the panel of reading."""
    return typer.Option(*names, help=text, rich_help_panel=PANEL)


@dataclass(frozen=True)
class FileReadingOptions:
    """What a user states about a file, of whatever it is."""

    missing: Annotated[
        list[str] | None,
        about_reading("--missing", text="Text of cells that are no answer, such as -99; can be repeated."),
    ] = None
    levels: Annotated[
        list[str] | None,
        about_reading(
            "--levels",
            "--classes",
            text="All labels in their order, as low,middle,high, or of one column, as "
            "COLUMN=low,middle,high, or a JSON file of them; can be repeated.",
        ),
    ] = None
    relabel: Annotated[
        list[str] | None,
        about_reading("--relabel", text="A text and the label that it means, as yes=1; can be repeated."),
    ] = None
    where: Annotated[
        list[str] | None, about_reading("--where", text="Only rows with COLUMN=VALUE; can be repeated.")
    ] = None
    exclude: Annotated[
        list[str] | None, about_reading("--exclude", text="No rows with COLUMN=VALUE; can be repeated.")
    ] = None
    form: Annotated[
        str | None, about_reading("--format", text="Kind of file, such as csv or excel; else recognised.")
    ] = None
    encoding: Annotated[
        str | None, about_reading("--encoding", text="Of a text file, such as cp932; else recognised.")
    ] = None
    delimiter: Annotated[
        str | None, about_reading("--delimiter", text="Between columns, such as ; or tab; else recognised.")
    ] = None
    decimal: Annotated[
        str | None, about_reading("--decimal", text="Decimal point of numbers, . or ,; else recognised.")
    ] = None
    sheet: Annotated[str | None, about_reading("--sheet", text="Sheet of a workbook; else the first.")] = None
    header_row: Annotated[
        int | None,
        about_reading("--header-row", text="Line with the names of columns; 0: none; else recognised."),
    ] = None
    strict: Annotated[bool, about_reading("--strict", text="Refuse whatever would be guessed.")] = False

    def rules(self) -> ReadingRules:
        """As functions of Python take them."""
        from conjury.inference.tables.reading import ReadingRules

        return ReadingRules(
            form=self.form,
            encoding=self.encoding,
            delimiter=self.delimiter,
            decimal=self.decimal,
            sheet=self.sheet,
            header_row=self.header_row,
            missing=tuple(self.missing or ()),
            levels=read_levels(self.levels or ()),
            relabel=read_pairs("--relabel", self.relabel, at_last=True),
            where=read_conditions("--where", self.where),
            exclude=read_conditions("--exclude", self.exclude),
            strict=self.strict,
        )


@dataclass(frozen=True)
class TableOptions(FileReadingOptions):
    """What a user states about a file of answers."""

    scale: Annotated[
        str | None,
        about_reading("--scale", text="nominal, ordinal or interval; by default what the answers look like."),
    ] = None
    id: Annotated[
        str | None,
        about_reading(
            "--id",
            text="Column of items, or of a conjoint's respondents; those with several rows form a cluster. "
            "Else guessed.",
        ),
    ] = None

    def rules(self) -> ReadingRules:
        """As functions of Python take them."""
        return replace(super().rules(), scale=self.scale, id=self.id)


@dataclass(frozen=True)
class RatingTableOptions(TableOptions):
    """What a user states about a table of ratings."""

    rater_column: Annotated[
        str | None,
        about_reading("--rater-column", text="Of a table with one row per rating, its rater; else guessed."),
    ] = None
    rating_column: Annotated[
        list[str] | None,
        about_reading("--rating-column", text="Its ratings, or COL,COL of several dimensions; else guessed."),
    ] = None
    dimension_column: Annotated[
        str | None, about_reading("--dimension-column", text="What was rated in each row; else guessed.")
    ] = None

    def rules(self) -> ReadingRules:
        """As functions of Python take them."""
        return replace(
            super().rules(),
            rater_column=self.rater_column,
            rating_column=split_names(self.rating_column),
            dimension_column=self.dimension_column,
        )


def as_typed(options: FileReadingOptions) -> str:
    """Options that were typed, as a further command takes them, with a blank in front."""
    words: list[str] = []
    for name, flag in typed_options(options).items():
        value = getattr(options, name)
        for one_value in value if isinstance(value, list) else [value]:
            words += [flag] if one_value is True else [flag, shlex.quote(str(one_value))]
    return "".join(f" {word}" for word in words)


def read_levels(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Labels in their order by column; those of all answers under the empty name."""
    levels: dict[str, tuple[str, ...]] = {}
    for text in texts:
        if text.lower().endswith(".json") and not {"=", ","} & {*text}:
            from conjury.inference.tables.columns import load_levels

            levels |= {name: tuple(labels) for name, labels in load_levels(text).items()}
            continue
        column, equals, names = text.rpartition("=")
        labels = split_names([names])
        if len(labels) < 2 or (equals and not column):
            raise InputError(
                f"--levels '{text}' is incomplete; give at least two labels, as low,high or COLUMN=low,high."
            )
        if column in levels:
            of_column = f" of '{column}'" if column else ""
            raise InputError(f"--levels gives the labels{of_column} twice; give them once.")
        levels[column] = labels
    return levels
