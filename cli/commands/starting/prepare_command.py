"""The command ``prepare``: what is to be known of items before anybody judges them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, counted

from ...automation import record
from ...options import grouped, refuse_typed, typed_options
from ...printing import console, print_account
from ...reading_options import FileReadingOptions

if TYPE_CHECKING:
    import pandas as pd

    from conjury.inference.study.models import ItemStudy

OF_VOTES = ("topics", "least_responses", "least_votes")
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


@dataclass(frozen=True)
class JoiningOptions:
    """Responses that become items of a study of ratings."""

    responses: Annotated[
        list[Path] | None,
        typer.Option(
            help="Texts of models (judgments.parquet of a study with response: {form: text}), which become "
            "items of the study; can be repeated."
        ),
    ] = None
    voted: Annotated[
        Path | None,
        typer.Option(help="Responses of people with votes: those with most, middle and fewest become items."),
    ] = None
    topics: Annotated[int | None, typer.Option(min=2, help="With --voted: how many topics.")] = None
    least_responses: Annotated[
        int | None,
        typer.Option(min=3, help="With --voted: least responses to a topic, in place of the paper's."),
    ] = None
    least_votes: Annotated[
        int, typer.Option(min=0, help="With --least-responses: least votes of the best response.")
    ] = 0


@grouped
def prepare(
    items: Annotated[
        str, typer.Argument(metavar="STUDY|FILE", help="A study of items, or a table in any format.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The items with flags: .csv, .csv.gz or .parquet.")],
    preparing: PreparingOptions,
    joining: JoiningOptions,
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
    study = None if Path(items).is_file() else _study_of_items(items)
    file = Path(items) if study is None else study.file(study.items)
    if file.resolve() in {path.resolve() for path in (out, *beside.values())}:
        raise InputError(f"{file} is the input file and would be overwritten; give another file by --out.")
    reading = read(file, options.rules())
    frame, texts = reading.frame, ["text"]
    joined: list[str] = []
    if study is None:
        refuse_typed("needs a study, which says what topics and responses are; give its name first.", joining)
    else:
        texts = [name for name in study.collect.fields or texts if name in frame]
        if typed_options(joining):
            frame, texts, joined = _join(study, frame, joining)
    settings = PreparationSettings(
        item=preparing.item,
        texts=tuple(preparing.text or texts),
        similar=preparing.similar,
        across=preparing.across,
        source=preparing.source,
        licence=preparing.licence,
        drop=tuple(preparing.drop or ()),
        mask=preparing.mask,
        folder=file.parent,
    )
    prepared = prepare_items(
        frame,
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
    sentences = [*joined, *prepared.sentences]
    record(rows=len(prepared.items), sentences=sentences, tables=prepared.tables, files=files)
    print_account(reading.account)
    for line in sentences:
        console.print(line)
    further = f"; {', '.join(map(str, files[1:]))}" if files[1:] else "."
    console.print(f"{counted(len(prepared.items), 'item')} in {out}{further}")


def _study_of_items(name: str) -> ItemStudy:
    from conjury.inference.study import ItemStudy, load_any_study

    if Path(name).suffix not in ("", ".yaml", ".yml"):
        raise InputError(f"{name}: there is no such file; give a table of items, or a study.")
    study = load_any_study(name)
    if not isinstance(study, ItemStudy):
        raise InputError(f"{name} is a conjoint, which has no items to prepare; name a study of items.")
    return study


def _join(
    study: ItemStudy, items: pd.DataFrame, joining: JoiningOptions
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Items with the responses that options name, the column of responses, and what was joined."""
    from conjury.inference.design.tiers import PAPER, VoteFilter
    from conjury.inference.preparation.joined_responses import join_responses
    from conjury.inference.tables.reading import read

    filters: tuple[VoteFilter, ...] = PAPER
    if joining.voted is None:
        refuse_typed("applies to --voted; give both, or omit it.", joining, only=OF_VOTES)
    if joining.least_responses is not None:
        filters = (VoteFilter(joining.least_responses, joining.least_votes),)
    elif joining.least_votes:
        raise InputError("--least-votes applies to --least-responses; give both, or omit it.")
    joined = join_responses(
        study,
        items,
        [read(path).frame for path in joining.responses or ()],
        None if joining.voted is None else read(joining.voted).frame,
        filters,
        joining.topics,
    )
    return joined.items, [joined.response], joined.sentences
