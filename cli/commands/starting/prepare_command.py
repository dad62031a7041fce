"""The command ``prepare``: what is to be known of items before anybody judges them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.errors import InputError, counted

from ...automation import record
from ...options import grouped
from ...printing import console
from ...reading_options import FileReadingOptions

TABLES = ("duplicates", "personal", "sources")  # beside the items, where they have rows


@dataclass(frozen=True)
class PreparingOptions:
    """Which steps are run, and what is done with what they flag."""

    item: Annotated[str, typer.Option(help="Column that names items.")] = "item_id"
    text: Annotated[
        list[str] | None, typer.Option(help="Column with texts, by default text; can be repeated.")
    ] = None
    similar: Annotated[
        float, typer.Option(help="Share of common sequences of five letters from which texts are copies.")
    ] = 0.8
    across: Annotated[
        str | None, typer.Option(help="Column, such as dialect, between whose values copies are counted.")
    ] = None
    source: Annotated[
        str | None, typer.Option(help="Column with the source of items, by default source.")
    ] = None
    licence: Annotated[
        str | None, typer.Option(help="Column with the licence of items, by default licence or license.")
    ] = None
    languages: Annotated[
        bool, typer.Option("--languages", help="Identify the language of each text (extra languages).")
    ] = False
    transcribe: Annotated[
        bool, typer.Option("--transcribe", help="Transcribe the clips in column media (extra transcripts).")
    ] = False
    whisper: Annotated[str, typer.Option(help="With --transcribe: model of Whisper, or its folder.")] = (
        "small"
    )
    mask: Annotated[
        bool, typer.Option("--mask", help="Replace personal data by their kind, such as [e-mail].")
    ] = False
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Leave out flagged items: duplicates or personal; can be repeated."),
    ] = None


@grouped
def prepare(
    items: Annotated[Path, typer.Argument(help="A table of items, in any format that `read` reads.")],
    out: Annotated[Path, typer.Option("--out", help="The items with flags: .csv, .csv.gz or .parquet.")],
    preparing: PreparingOptions,
    options: FileReadingOptions,
) -> None:
    """Check items before they are judged, and flag them.

    Flags are for copies, personal data, missing sources and licences, languages, and transcripts of clips.
    """
    from conjury.inference.preparation.clip_transcripts import load_transcriber
    from conjury.inference.preparation.prepared_items import PreparationSettings, prepare_items
    from conjury.inference.preparation.text_languages import load_identifier
    from conjury.inference.tables.files import check_ending, write_table
    from conjury.inference.tables.reading import read

    check_ending(out)
    beside = {part: out.with_name(f"{out.name.partition('.')[0]}.{part}.csv") for part in TABLES}
    if items.resolve() in {path.resolve() for path in (out, *beside.values())}:
        raise InputError(f"{items} is the input file and would be overwritten; give another file by --out.")
    reading = read(items, options.rules())
    settings = PreparationSettings(
        item=preparing.item,
        texts=tuple(preparing.text or ("text",)),
        similar=preparing.similar,
        across=preparing.across,
        source=preparing.source,
        licence=preparing.licence,
        drop=tuple(preparing.drop or ()),
        mask=preparing.mask,
        folder=items.parent,
    )
    prepared = prepare_items(
        reading.frame,
        settings,
        load_identifier() if preparing.languages else None,
        load_transcriber(preparing.whisper) if preparing.transcribe else None,
    )
    write_table(prepared.items, out)
    files = [out]
    for part, path in beside.items():
        path.unlink(missing_ok=True)  # of an earlier run
        if len(prepared.tables.get(part, ())):
            files.append(path)
            write_table(prepared.tables[part], path)
    record(rows=len(prepared.items), sentences=prepared.sentences, tables=prepared.tables, files=files)
    for line in (*reading.account.lines(), *prepared.sentences):
        console.print(line)
    further = f"; {', '.join(map(str, files[1:]))}" if files[1:] else "."
    console.print(f"{counted(len(prepared.items), 'item')} in {out}{further}")
