"""Items with what is to be known before anybody judges them, as columns, and the counts of each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from ..errors import InputError, counted, did_you_mean, listed
from ..tables.columns import as_text
from .clip_transcripts import Transcriber, transcribe_clips
from .personal_data import masked, personal_data
from .similar_texts import SIMILAR, folded, near_duplicates
from .text_languages import Identifier, identify_languages, is_same_language

ITEM, MEDIA = "item_id", "media"
SOURCE, LICENCES, LANGUAGE = "source", ("licence", "license"), "language"
DROPPABLE = ("duplicates", "personal")
KNOWN_LICENCES = (  # SPDX identifiers of licences that texts and data often have
    *("CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC-BY-ND-4.0"),
    *("CC-BY-NC-SA-4.0", "CC-BY-NC-ND-4.0", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0", "MIT", "Apache-2.0"),
    *(
        "BSD-2-Clause",
        "BSD-3-Clause",
        "GPL-2.0-only",
        "GPL-3.0-only",
        "GPL-3.0-or-later",
        "CDLA-Permissive-2.0",
    ),
)


@dataclass(frozen=True)
class PreparationSettings:
    """What is prepared, and what is done with what is flagged."""

    item: str = ITEM  # column that names items
    texts: tuple[str, ...] = ("text",)  # columns of texts
    similar: float = SIMILAR  # Jaccard index from which texts are nearly the same
    across: str | None = None  # column between whose values copies are counted
    source: str | None = None  # column of the source, by default `source`
    licence: str | None = None  # column of the licence, by default `licence` or `license`
    drop: tuple[str, ...] = ()  # what is left out: duplicates, personal
    mask: bool = False  # whether personal data are replaced by their kind
    folder: Path = field(default_factory=Path)  # of clips


@dataclass(frozen=True)
class PreparedItems:
    """Items with flags as columns, a table for each step, and sentences with counts."""

    items: pd.DataFrame
    tables: dict[str, pd.DataFrame]
    sentences: list[str]


def prepare_items(
    items: pd.DataFrame,
    settings: PreparationSettings,
    identify: Identifier | None = None,
    transcribe: Transcriber | None = None,
) -> PreparedItems:
    """Run all steps: transcripts, copies, personal data, languages, sources; then leave out what is to be."""
    _check(items, settings, transcribe is not None)
    frame = items.rename(columns={settings.item: ITEM})
    tables: dict[str, pd.DataFrame] = {}
    sentences: list[str] = []
    texts = list(settings.texts)
    if transcribe is not None:
        frame, sentence = _with_transcripts(frame, settings.folder, transcribe)
        sentences.append(sentence)
        texts.append("transcript")
    contents = frame[texts].apply(as_text).fillna("")
    blank = int(contents.apply(lambda column: column.str.strip()).eq("").all(axis=1).sum())
    if blank:
        sentences.append(f"{counted(blank, 'item')} without text.")
    frame, tables["duplicates"] = _with_duplicates(frame, contents, settings)
    sentences += _duplicate_sentences(frame, tables["duplicates"], settings)
    frame, tables["personal"] = _with_personal(frame, contents, settings.mask)
    sentences.append(_personal_sentence(tables["personal"], settings.mask))
    if identify is not None:
        frame, sentence = _with_languages(frame, contents, identify)
        sentences.append(sentence)
    sources = _sources(frame, settings)
    if sources is not None:
        tables["sources"] = sources
    sentences += _source_sentences(frame, settings)
    remaining = frame
    for what in settings.drop:
        column = "duplicate_of" if what == "duplicates" else "personal"
        remaining = remaining[remaining[column].isna()]
    if settings.drop:
        sentences.append(
            f"{counted(len(frame) - len(remaining), 'item')} left out ({listed(settings.drop)})."
        )
    return PreparedItems(remaining.reset_index(drop=True), tables, sentences)


def _check(items: pd.DataFrame, settings: PreparationSettings, clips: bool) -> None:
    if settings.item not in items:
        columns = listed(map(str, items))
        raise InputError(
            f"The items have no column '{settings.item}' that names them; give one of {columns} with --item."
        )
    names = as_text(items[settings.item])
    is_wrong = names.isna() | names.duplicated()
    if is_wrong.any():
        row = int(is_wrong.to_numpy().argmax()) + 1
        problem = "missing" if names.isna().iloc[row - 1] else f"'{names.iloc[row - 1]}' again"
        raise InputError(
            f"Column '{settings.item}', row {row:,}: the name of the item is {problem}; correct it, or give "
            "another column with --item."
        )
    columns_of_options: dict[str, tuple[str | None, ...]] = {
        "--text": settings.texts,
        "--across": (settings.across,),
        "--source": (settings.source,),
        "--licence": (settings.licence,),
    }
    for option, names_of_option in columns_of_options.items():
        for name in names_of_option:
            if name is not None and name not in items:
                hint = did_you_mean(name, map(str, items))
                names_of_columns = listed(map(str, items))
                raise InputError(
                    f"{option} {name}: the items have no such column{hint}; they have {names_of_columns}."
                )
    if clips and MEDIA not in items:
        raise InputError(
            f"The items have no column '{MEDIA}' with files of clips; add it, or omit --transcribe."
        )
    for what in settings.drop:
        if what not in DROPPABLE:
            raise InputError(f"--drop {what}: write {' or '.join(DROPPABLE)}.")
    if not 0 < settings.similar <= 1:
        raise InputError(f"--similar {settings.similar}: give a share above 0 and up to 1.")


def _with_transcripts(frame: pd.DataFrame, folder: Path, transcribe: Transcriber) -> tuple[pd.DataFrame, str]:
    places = [None if pd.isna(place) or place == "" else str(place) for place in as_text(frame[MEDIA])]
    transcripts = transcribe_clips(places, folder, transcribe)
    frame = frame.assign(
        transcript=pd.array(
            [None if transcript is None else transcript.text for transcript in transcripts], dtype="string"
        ),
        transcript_language=pd.array(
            [None if transcript is None else transcript.language for transcript in transcripts],
            dtype="string",
        ),
    )
    clips = {
        place: transcript
        for place, transcript in zip(places, transcripts, strict=True)
        if transcript is not None
    }
    minutes = sum(transcript.seconds for transcript in clips.values()) / 60
    silent = sum(not transcript.text for transcript in clips.values())
    return (
        frame,
        f"{counted(len(clips), 'clip')} ({minutes:.1f} minutes) transcribed; {silent:,} without speech.",
    )


def _with_duplicates(
    frame: pd.DataFrame, contents: pd.DataFrame, settings: PreparationSettings
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mark each item that repeats an earlier one, wholly or nearly."""
    texts = [folded("\n".join(row)) for row in contents.itertuples(index=False)]
    names = as_text(frame[ITEM]).tolist()
    first: dict[str, int] = {}
    pairs = [
        (first[text], place, "same")
        for place, text in enumerate(texts)
        if text and first.setdefault(text, place) != place
    ]
    unique = sorted(first.values())
    similar = near_duplicates([texts[place] for place in unique], settings.similar, "letters")
    pairs += [(unique[a], unique[b], "nearly the same") for a, b in similar.tolist()]
    earliest = list(range(len(texts)))
    for a, b, _ in sorted(pairs):
        roots = sorted((_root(earliest, a), _root(earliest, b)))
        earliest[roots[1]] = roots[0]
    original = [_root(earliest, place) for place in range(len(texts))]
    marked = [names[root] if root != place else None for place, root in enumerate(original)]
    rows = [(names[a], names[b], kind) for a, b, kind in sorted(pairs)]
    table = pd.DataFrame(rows, columns=[ITEM, "copy", "kind"]).astype("string")
    if settings.across is not None:
        group = dict(zip(names, as_text(frame[settings.across]), strict=True))
        table["across"] = [group[a] != group[b] for a, b in zip(table[ITEM], table["copy"], strict=True)]
    return frame.assign(duplicate_of=pd.array(marked, dtype="string")), table


def _root(earliest: list[int], place: int) -> int:
    while earliest[place] != place:
        earliest[place] = earliest[earliest[place]]
        place = earliest[place]
    return place


def _duplicate_sentences(
    frame: pd.DataFrame, table: pd.DataFrame, settings: PreparationSettings
) -> Iterator[str]:
    kinds = table["kind"].value_counts()
    copies = int(frame["duplicate_of"].notna().sum())
    same, near = (int(kinds.get(kind, 0)) for kind in ("same", "nearly the same"))
    yield (
        f"Copies of an earlier item: {copies:,} of {len(frame):,}; pairs that are the same apart from case "
        f"and spaces: {same:,}, that share {settings.similar:.0%} of sequences of five letters: {near:,}."
    )
    if settings.across is not None:
        n = int(table["across"].sum())
        yield f"Copies between different values of '{settings.across}': {counted(n, 'pair')}."


def _with_personal(
    frame: pd.DataFrame, contents: pd.DataFrame, mask: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    names = as_text(frame[ITEM])
    rows = [
        (item, str(column), match.kind, match.text)
        for column in contents
        for item, text in zip(names, contents[column], strict=True)
        for match in personal_data(text)
    ]
    table = pd.DataFrame(rows, columns=[ITEM, "column", "kind", "text"]).astype("string")
    kinds = table.groupby(ITEM, sort=False)["kind"].agg(lambda values: "; ".join(dict.fromkeys(values)))
    frame = frame.assign(personal=names.map(kinds).astype("string").to_numpy())
    if mask:
        frame = frame.assign(**{str(column): contents[column].map(masked) for column in contents})
        table = table.drop(columns="text")
    return frame, table


def _personal_sentence(table: pd.DataFrame, mask: bool) -> str:
    if table.empty:
        return "No personal data recognised; names of people are not recognised by rules."
    kinds = "; ".join(f"{kind}: {n:,}" for kind, n in table["kind"].value_counts().items())
    done = " (replaced by their kinds)" if mask else ""
    items = counted(table[ITEM].nunique(), "item")
    return f"{items} with personal data{done}: {kinds}. Names of people are not recognised by rules."


def _with_languages(
    frame: pd.DataFrame, contents: pd.DataFrame, identify: Identifier
) -> tuple[pd.DataFrame, str]:
    languages = identify_languages(["\n".join(row) for row in contents.itertuples(index=False)], identify)
    codes = [None if language is None else language.code for language in languages]
    frame = frame.assign(
        language_identified=pd.array(codes, dtype="string"),
        language_probability=pd.array(
            [None if language is None else language.probability for language in languages], dtype="Float64"
        ),
    )
    counts = frame["language_identified"].value_counts()
    sentence = "Languages: " + "; ".join(f"{code}: {n:,}" for code, n in counts.items())
    sentence += f"; not identified: {codes.count(None):,}."
    if LANGUAGE in frame:
        named = as_text(frame[LANGUAGE])
        differs = [
            code is not None and not pd.isna(name) and not is_same_language(code, str(name))
            for code, name in zip(codes, named, strict=True)
        ]
        frame = frame.assign(language_differs=differs)
        sentence += f" {counted(sum(differs), 'item')} in another language than column '{LANGUAGE}' states."
    return frame, sentence


def _source_columns(frame: pd.DataFrame, settings: PreparationSettings) -> tuple[str | None, str | None]:
    source = settings.source or (SOURCE if SOURCE in frame else None)
    licence = settings.licence or next((name for name in LICENCES if name in frame), None)
    return source, licence


def _sources(frame: pd.DataFrame, settings: PreparationSettings) -> pd.DataFrame | None:
    """Items by source, licence and language: the table of sources of a data set."""
    named = [name for name in _source_columns(frame, settings) if name is not None]
    if not named:
        return None
    columns = [*named, *(name for name in (LANGUAGE,) if name in frame and name not in named)]
    return (
        frame.groupby(columns, dropna=False, sort=False, observed=True).size().rename("items").reset_index()
    )


def _source_sentences(frame: pd.DataFrame, settings: PreparationSettings) -> Iterator[str]:
    source, licence = _source_columns(frame, settings)
    for what, name in (("source", source), ("licence", licence)):
        if name is None:
            yield f"No column has the {what} of items; add one called '{what}', or name it with --{what}."
            continue
        values = as_text(frame[name])
        missing = int((values.isna() | values.str.strip().eq("")).sum())
        yield f"Column '{name}': {counted(values.nunique(), what)}; {counted(missing, 'item')} without one."
    if licence is not None:
        yield from _licence_sentence(as_text(frame[licence]).dropna().unique().tolist())


def _licence_sentence(names: Sequence[str]) -> Iterator[str]:
    usual = {name.casefold() for name in KNOWN_LICENCES}
    unusual = [name for name in names if name.strip() and name.strip().casefold() not in usual]
    if unusual:
        names_of_licences = listed(map(repr, unusual))
        yield f"{names_of_licences}: no SPDX identifier of a usual licence, such as CC-BY-4.0; check it."
