"""The data of a study, read once: tables, the files they are from, notes, and true values of a simulation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.readers.choices import DEFAULT_JUDGE
from conjury.inference.readers.judgments import load_judgments, stack_judgments
from conjury.inference.readers.prepare import (
    judges_by_origin,
    load_choices,
    name_or_select,
    select_rows,
    stack_choices,
    stacking_notes,
    with_outcome,
)
from conjury.inference.readers.respondent_columns import with_respondent_columns
from conjury.inference.study.models import ItemStudy, Study
from conjury.inference.study.restrictions import advice
from conjury.inference.tables.columns import as_text, companion
from conjury.inference.tables.files import read_table
from conjury.inference.tables.frames import is_simulated
from conjury.inference.tables.reading.containers import STANDARD_INPUT
from conjury.inference.tables.reading.reading_rules import ReadingRules
from conjury.inference.tables.records import answers_beside
from conjury.inference.tables.schema import PROBABILITY

from ..frames.notes import Note
from .manifest import describe_file, with_folders
from .recovery import EFFECT_KEYS
from .results_folder import ResultsFolder

CHOICES, JUDGMENTS, ITEMS = "choices", "judgments", "items"


@dataclass(frozen=True)
class SourceFile:
    """A file of data: its kind, its rows, how many of them are used, and of which variant they are."""

    file: Path
    rows: int
    used: int
    kind: str = CHOICES
    variant: str = ""


@dataclass(frozen=True)
class FileSelection:
    """Which columns and rows of files are read, and under which names."""

    renames: Mapping[str, str] = field(default_factory=dict)
    rules: ReadingRules = field(default_factory=ReadingRules)
    judge: str | None = None
    prompt: str | None = None
    raters: Sequence[str] = ()  # columns with the answers of one rater each
    models: Sequence[str] = ()  # those of them that are models


@dataclass(frozen=True)
class LoadedStudy:
    """The data of a study."""

    # None where judgments are analysed without a study
    study: Study | ItemStudy | None
    # `choices`, and `choices.NAME` for a variant of them; or `judgments` and `items`
    tables: dict[str, pd.DataFrame]
    # the files that were read; empty for the data of a results folder
    files: tuple[SourceFile, ...] = ()
    # what was assumed in reading
    notes: tuple[str, ...] = ()
    # true values of simulated data, from the file beside them
    truth: pd.DataFrame | None = None
    # whether columns were renamed or rows selected
    changed: bool = False
    # all main choices or judgments of a study with an instrument, with the facets under which they were
    # asked; those that only test judges are included
    asked: pd.DataFrame | None = None
    # rows of the main choices by respondents who are excluded
    excluded: pd.DataFrame | None = None
    # participations of people, one row each, from `respondents.parquet` beside the main data
    respondents: pd.DataFrame | None = None

    @property
    def variants(self) -> dict[str, pd.DataFrame]:
        """Choices by variant; the main ones have the empty name."""
        return {
            name.removeprefix(CHOICES).removeprefix("."): table
            for name, table in self.tables.items()
            if name.partition(".")[0] == CHOICES
        }

    @property
    def judgments(self) -> pd.DataFrame:
        """The judgments of a study of items."""
        return self.tables[JUDGMENTS]

    @property
    def items(self) -> pd.DataFrame | None:
        """The items that judgments are about, where they are known."""
        return self.tables.get(ITEMS)

    @property
    def paths(self) -> list[Path]:
        """Every file that was read."""
        return [source.file for source in self.files]

    @property
    def models(self) -> list[str]:
        """Ids of the models among the judges, in order of appearance."""
        model = as_text(self.judgments["judge_kind"]) == "model"
        return [str(name) for name in as_text(self.judgments["judge_id"])[model].unique()]

    def of_dimensions(self, dimensions: Sequence[str] | None) -> pd.DataFrame:
        """The judgments of some dimensions; InputError for one that they lack."""
        if not dimensions:
            return self.judgments
        names = as_text(self.judgments["dimension"])
        levels = [str(name) for name in names.unique()]
        for name in dimensions:
            if name not in levels:
                raise InputError(
                    f"--dimension {name}: the judgments have no such dimension{did_you_mean(name, levels)}; "
                    f"they have {listed(levels)}."
                )
        return self.judgments[names.isin(list(dimensions)).to_numpy(dtype=bool)]

    def about(self, outcome: str | None) -> LoadedStudy:
        """The same choices with analyses of another outcome: the probability of being chosen."""
        study = self.study
        if outcome is None or not isinstance(study, Study) or outcome == study.outcome:
            return self
        further = [] if study.panel is None else [question.id for question in study.panel.task_questions]
        if outcome in further and all(outcome in choices for choices in self.variants.values()):
            return replace(self, study=with_outcome(study, outcome))
        if outcome != PROBABILITY:
            columns = [study.outcome, *further, PROBABILITY]
            raise InputError(f"--outcome {outcome}: write {' or '.join(columns)}.")
        if all(choices[PROBABILITY].isna().all() for choices in self.variants.values()):
            raise InputError(
                f"--outcome {PROBABILITY}: {' and '.join(map(str, self.paths))} contain no probability; "
                "collect answers with log-probabilities, or omit --outcome."
            )
        return replace(self, study=with_outcome(study, outcome))

    def require(self, option: str, columns: Iterable[str]) -> None:
        """Refuse columns of an option that any variant of the choices lacks."""
        names = list(columns)
        for variant, choices in self.variants.items():
            stray = next((column for column in names if column not in choices), None)
            if stray is not None:
                hint = did_you_mean(stray, choices.columns)
                files = " and ".join(str(source.file) for source in self.files if source.variant == variant)
                raise InputError(
                    f"{option} {stray}: {files} has no column {stray!r}{hint}; correct the name."
                )

    def described(self) -> list[dict[str, Any]]:
        """Name each file with its checksum and rows."""
        described = [
            describe_file(source.file, source.rows, source.variant, source.used, source.kind)
            for source in self.files
        ]
        return with_folders(described, self.paths)

    def source(self) -> dict[str, Any]:
        """What a manifest records of the data: files, whether they are simulated, notes."""
        origins = [judges_by_origin(table) for table in _by_judges(self.tables).values()]
        answers = answers_beside(self.paths)
        return {
            "simulated": any(simulated for simulated, _ in origins),
            "real_judges": list(dict.fromkeys(name for _, real in origins for name in real)),
            "data": self.described(),
            "notes": list(dict.fromkeys([*simulated_notes(self.tables), *self.notes])),
            **({"answers": answers} if answers else {}),
        }


def _by_judges(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables of choices or judgments among all tables."""
    return {name: table for name, table in tables.items() if name.partition(".")[0] in (CHOICES, JUDGMENTS)}


def simulated_notes(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Report which choices or judgments are simulated, if any are."""
    judged = _by_judges(tables)
    kind = next(iter(judged)).partition(".")[0]
    judges = list(dict.fromkeys(name for table in judged.values() for name in judges_by_origin(table)[0]))
    count = sum(int(is_simulated(table).sum()) for table in judged.values())
    if not count:
        return []
    which = Note.of("{n:,} rows of {judges} are simulated", n=count, judges=judges)
    if count == sum(map(len, judged.values())):
        which = Note(f"These {kind} are simulated")
    return [Note.of("{which}: they are no evidence about the people and models of these names.", which=which)]


def read_choices_of(
    study: Study,
    data: Sequence[Path],
    variants: Mapping[str, Path] | None = None,
    selection: FileSelection | None = None,
) -> LoadedStudy:
    """Read the main choices, stacked where they are in several files, and any variants of them."""
    selection = selection or FileSelection()
    tables: dict[str, pd.DataFrame] = {}
    sources: list[SourceFile] = []
    notes: list[str] = []
    excluded: list[pd.DataFrame] = []
    for variant, files in {
        "": list(data),
        **{name: [file] for name, file in (variants or {}).items()},
    }.items():
        if not re.fullmatch(r"\w*", variant):
            raise InputError(
                f"--variant {variant!r} cannot be part of a file name; use letters, digits and underscores."
            )
        name = f"{CHOICES}.{variant}" if variant else CHOICES
        of_main = None if variant else excluded
        tables[name], read, assumed = _read_variant(study, variant, files, selection, of_main)
        sources += read
        notes += assumed
    loaded = LoadedStudy(study, tables, tuple(sources), tuple(dict.fromkeys([*notes, *advice(study)])))
    return replace(
        loaded,
        truth=_truth_of_choices(loaded),
        asked=_choices_with_facets(study, data, selection),
        excluded=pd.concat(excluded, ignore_index=True) if excluded else None,
        respondents=_respondents(data),
    )


def _respondents(data: Sequence[Path]) -> pd.DataFrame | None:
    """Participations from the tables beside files of data, as a panel writes them."""
    beside = dict.fromkeys(Path(path).with_name("respondents.parquet") for path in data)
    tables = [read_table(file) for file in beside if file.is_file()]
    respondents = [table for table in tables if {"judge_id", "state"} <= set(table)]
    return pd.concat(respondents, ignore_index=True) if respondents else None


def _choices_with_facets(study: Study, data: Sequence[Path], selection: FileSelection) -> pd.DataFrame | None:
    """The main choices with their facets, where the study has an instrument."""
    if study.instrument is None:
        return None
    named: dict[str, Any] = {"renames": selection.renames, "rules": selection.rules, "ordinary": False}
    tables = {str(file): load_choices(study, file, **named) for file in data}
    return name_or_select(stack_choices(study, tables), selection.judge, selection.prompt)


def _read_variant(
    study: Study,
    variant: str,
    files: Sequence[Path],
    selection: FileSelection,
    excluded: list[pd.DataFrame] | None = None,
) -> tuple[pd.DataFrame, list[SourceFile], list[str]]:
    """Read the files of one variant and keep the selected rows, with how many these are of each file."""
    _check_files(files)
    assumed: dict[str, list[str]] = {str(file): [] for file in files}
    tables = {
        str(file): load_choices(
            study,
            file,
            renames=selection.renames,
            notes=assumed[str(file)],
            excluded=excluded,
            rules=selection.rules,
        )
        for file in files
    }
    tables = {
        file: with_respondent_columns(study, table, file, assumed[file]) for file, table in tables.items()
    }
    stacked = stack_choices(study, tables)
    notes = list(stacking_notes(tables, assumed))
    if selection.judge is not None and (stacked["judge_id"] == DEFAULT_JUDGE).all():
        notes = [note for note in notes if "there is no judge_id" not in note]
    rows = name_or_select(stacked, selection.judge, selection.prompt)
    ends = np.cumsum([len(table) for table in tables.values()])
    n_rows = np.diff(np.searchsorted(rows.index, ends), prepend=0)
    counted = zip(files, tables.values(), n_rows, strict=True)
    return rows, [SourceFile(file, len(table), int(n), CHOICES, variant) for file, table, n in counted], notes


def _truth_of_choices(loaded: LoadedStudy) -> pd.DataFrame | None:
    """True values beside the main choices, of the judges whose choices are simulated."""
    simulated, _ = judges_by_origin(loaded.variants[""])
    files = [companion(source.file, "truth") for source in loaded.files if source.variant == ""]
    tables = [read_table(file) for file in files if file.is_file()] if simulated else []
    if not tables:
        return None
    truth = pd.concat(tables, ignore_index=True)
    if len(tables) > 1:
        truth = truth.drop_duplicates([key for key in EFFECT_KEYS if key in truth])
    return truth[truth["judge"].isin(simulated)] if "judge" in truth else truth


def read_judgments_of(
    study: ItemStudy | None,
    data: Sequence[Path],
    items: Path | None = None,
    selection: FileSelection | None = None,
) -> LoadedStudy:
    """Read judgments of one or several files, the items beside them, and true values of a simulation."""
    selection = selection or FileSelection()
    _check_files(data)
    notes: list[str] = []
    tables = {
        str(file): load_judgments(
            file,
            study=study,
            renames=selection.renames,
            rules=selection.rules,
            notes=notes,
            raters=selection.raters,
            models=selection.models,
        )
        for file in data
    }
    instrument_data = None
    if study is not None and study.instrument is not None:
        read: dict[str, Any] = {
            "study": study,
            "renames": selection.renames,
            "rules": selection.rules,
            "ordinary": False,
        }
        instrument_data = stack_judgments({str(file): load_judgments(file, **read) for file in data})
    truths = [read_table(file) for path in data if (file := companion(path, "truth")).is_file()]
    item_table = _items(data, study, items)
    return LoadedStudy(
        study,
        {JUDGMENTS: stack_judgments(tables)} | ({} if item_table is None else {ITEMS: item_table}),
        tuple(
            SourceFile(file, len(table), len(table), JUDGMENTS)
            for file, table in zip(data, tables.values(), strict=True)
        ),
        tuple(notes),
        pd.concat(truths, ignore_index=True).drop_duplicates() if truths else None,
        changed=bool(selection.renames or selection.raters or selection.rules != ReadingRules()),
        asked=instrument_data,
        respondents=_respondents(data),
    )


def _items(data: Sequence[Path], study: ItemStudy | None, items_path: Path | None) -> pd.DataFrame | None:
    """Items from the file that is named, else from beside the judgments, else from the study."""
    if items_path is not None:
        return read_table(items_path, "items")
    beside = [file for path in data if (file := companion(path, "items")).is_file()]
    if beside:
        return pd.concat([read_table(file, "items") for file in beside]).drop_duplicates("item_id")
    return read_table(study.file(study.items), "items") if study is not None else None


def _check_files(files: Sequence[Path]) -> None:
    twice = next((file for at, file in enumerate(files) if file in files[:at]), None)
    if twice is not None:
        raise InputError(f"{twice} is named twice; name each file once.")
    if any(str(file) == STANDARD_INPUT for file in files):
        raise InputError("Results record the checksum of their data: save standard input to a file first.")


def stored_choices(study: Study, results: Path, selection: FileSelection) -> LoadedStudy:
    """The main choices of a results folder."""
    if selection.renames or selection.rules != ReadingRules():
        raise InputError("--rename and options on how a file is read apply to a file; give it by --data.")
    choices = select_rows(ResultsFolder(results).choices(), selection.judge, selection.prompt)
    return LoadedStudy(study, {CHOICES: choices})


def stored_judgments(results: Path) -> LoadedStudy:
    """The judgments of a results folder."""
    folder = ResultsFolder(results)
    judgments = folder.held(JUDGMENTS)
    if judgments is None:
        raise InputError(
            f"{results} contains no judgments; name a file of them, or the folder of `conjury fit` with "
            "--results."
        )
    items, truth = folder.held(ITEMS), results / "tables" / "truth.parquet"
    tables = {JUDGMENTS: judgments} | ({} if items is None else {ITEMS: items})
    return LoadedStudy(None, tables, truth=read_table(truth) if truth.is_file() else None)
