"""What a report reads: the manifest, tables and figures of a results folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.study import list_studies
from conjury.inference.tables.files import read_table

from ..figures.labels import ColumnNames, LabelKey, simulation_mark
from ..pipeline.manifest import FIT, RecordedResult, results_of, runs_of
from ..pipeline.results_folder import ResultsFolder
from ..pipeline.runner import PART
from ..results import Result

if TYPE_CHECKING:
    from ..figures.labels import LabelKey
    from ..results import Result

OF_CONJOINTS, OF_ITEMS = "prediction_powered", "prediction_powered_items"
CORRECTIONS = (OF_CONJOINTS, OF_ITEMS)  # estimates among people that models make more precise
TRIAL = "trial"
APART = ("compared", "diagnosed", "checked", "published_numbers")  # runs with documents of their own
TABLES = ("answers", "published", "published_means", "published_correlations", "recovery")
CONJOINT = (
    *("amce", "mm", "amce_diffs", "mm_diffs", "cj_freqs", "cj_props", "cj_anova", "amce_by_reference"),
    *("people", "people_by", "prompt_diffs"),
    OF_CONJOINTS,
    "bounds",
)
FURTHER_EFFECTS = "further_amce"


class ReportData:
    """A results folder; ``about`` names the run that a document is about, items, corrections or trials."""

    def __init__(self, path: str | Path, about: str = FIT) -> None:
        self.path, self.about = Path(path).expanduser().resolve(), about
        self.manifest: dict[str, Any] = ResultsFolder(self.path).manifest
        if not self.manifest:
            raise InputError(
                f"There is no {self.path / 'manifest.json'}; write a results folder with `conjury fit` first."
            )
        self._refuse_others()

    def _refuse_others(self) -> None:
        """Raise InputError where the folder has nothing that the document is about."""
        runs = runs_of(self.manifest)
        if self.about == "compared" and "compared" not in runs:
            raise InputError(f"{self.path} has no comparison of engines; run `conjury compare` first.")
        if self.about == "diagnosed" and "diagnosed" not in runs:
            run = f"conjury check {self.study_argument} --results FOLDER"
            raise InputError(f"{self.path} has no diagnosis; run `{run}` first.")
        if self.about == "checked" and "checked" not in runs:
            raise InputError(f"{self.path} has no checks; run `conjury check WHAT --out FOLDER` first.")
        if self.about == "published_numbers" and "published_numbers" not in runs:
            raise InputError(
                f"{self.path} has no checks of published tables; run `conjury check-table FILE --out FOLDER` "
                "first."
            )
        if self.about == "corrected" and not self.of_kind(*CORRECTIONS):
            raise InputError(
                f"{self.path} has no estimates that models make more precise; run `conjury fit` with "
                "--correct ppi first."
            )
        if self.about == "tried" and not self.of_kind(TRIAL):
            raise InputError(
                f"{self.path} has no trials; run `conjury trial NAME --out {self.path.name}` first."
            )
        if self.about == "items" and not any(
            record.part not in APART and record.kind not in (*CONJOINT, FURTHER_EFFECTS, *TABLES)
            for record in self.results
        ):
            raise InputError(
                f"{self.path} has no results on ratings; run `conjury fit` with a study of items, or "
                "`conjury raters`, `conjury alt-test` or `conjury agreement` first."
            )

    @cached_property
    def results(self) -> list[RecordedResult]:
        """All results of the folder; only the main effects of a conjoint keep the kind ``"amce"``."""
        listed = results_of(self.manifest)
        effects = [record for record in listed if record.kind == "amce"]
        complete = [record for record in effects if not record.settings.get("exclude")]
        main = next(iter(complete or effects), None)
        listed = [
            replace(record, kind=FURTHER_EFFECTS) if record.kind == "amce" and record is not main else record
            for record in listed
        ]
        names = {record.name for record in listed}
        return listed + [
            RecordedResult(name, name) for name in TABLES if name not in names and self.has(name)
        ]

    @property
    def runs(self) -> dict[str, Mapping[str, Any]]:
        """The runs that the document is about, by part, in order of time."""
        runs = runs_of(self.manifest)
        if self.about in APART:
            return {self.about: runs[self.about]}
        if self.about == "tried":
            return {record.part: runs[record.part] for record in self.of_kind(TRIAL)}
        return {part: run for part, run in runs.items() if part not in APART} or {FIT: self.manifest}

    @property
    def of_run(self) -> list[RecordedResult]:
        """The results that the document is about: those of its runs, or of a kind."""
        records = [record for record in self.results if record.part in self.runs]
        return (
            [entry for entry in records if entry.kind in CORRECTIONS]
            if self.about == "corrected"
            else records
        )

    @property
    def run(self) -> Mapping[str, Any]:
        """The first of these runs."""
        return next(iter(self.runs.values()))

    @cached_property
    def labels(self) -> dict[LabelKey, str]:
        """Labels of attributes, levels, judges and prompts, as figures take them."""
        return labels_of(self.manifest)

    @property
    def names(self) -> ColumnNames:
        """The same labels by column, with words where there is no label."""
        return ColumnNames(self.labels)

    @property
    def study_argument(self) -> str:
        """How commands name the study: as it ships, or its file without the folder, which is not known."""
        argument = self.manifest.get("study_argument")
        if argument:
            return shlex.quote(str(argument))
        study = str(self.manifest.get("study"))
        return study if study in list_studies() else "STUDY"

    @property
    def simulated(self) -> bool:
        """Whether data behind the results are marked as simulated."""
        return bool(self.run.get("simulated", self.manifest.get("simulated")))

    @property
    def real_judges(self) -> list[str]:
        """Judges whose answers are real, where those of others are simulated."""
        judges = self.run.get("real_judges", self.manifest.get("real_judges"))
        return [str(name) for name in judges or []] if self.simulated else []

    @property
    def mark(self) -> str:
        """What figures state of simulated data: that they are, and whose are not; empty where none are."""
        return simulation_mark(self.real_judges if self.simulated else None, self.names)

    @property
    def run_folder(self) -> str:
        """Folder of the first table that was analysed, as the command names it; RUN where it names none."""
        words = shlex.split(str(self.manifest.get("command") or ""))
        files = [word for word in words if Path(word).name in ("judgments.parquet", "choices.parquet")]
        return shlex.quote(str(Path(files[0]).parent)) if files else "RUN"

    def label(self, kind: str, name: object) -> str:
        """Label of a judge or a prompt (``kind`` is ``"judges"`` or ``"prompts"``)."""
        return self.labels.get((kind, str(name)), str(name))

    def has(self, name: str) -> bool:
        """Whether the folder has the table ``name``."""
        return (self.path / "tables" / f"{name}.parquet").is_file()

    def table(self, name: str) -> pd.DataFrame:
        """A table, read once; raise InputError where it is absent or damaged."""
        folder = self.path / "tables"
        if not self.has(name):
            table_names = sorted(path.stem for path in folder.glob("*.parquet"))
            raise InputError(
                f"{self.path} has no table {name!r}; it has: {', '.join(table_names) or 'none'}."
            )
        if name not in self._tables:
            self._tables[name] = read_table(folder / f"{name}.parquet")
        return self._tables[name].copy()

    @cached_property
    def _tables(self) -> dict[str, pd.DataFrame]:
        return {}

    @cached_property
    def headlines(self) -> dict[str, str]:
        """Sentences of `headline_of` by the name of the result, as far as they were asked for."""
        return {}

    def of_kind(self, *kinds: str) -> list[RecordedResult]:
        """The results of some kinds, in order."""
        return [record for record in self.results if record.kind in kinds]

    def read(self, record: RecordedResult) -> Result:
        """Read a result with its further tables."""
        extra = {part: self.table(_table_of(self, record.name, part)) for part in record.extra}
        return Result(self.table(record.name), record.kind, record.notes, record.settings, extra)

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Replace names of judges and prompts by their labels."""
        columns = {
            column: frame[column]
            .astype("string")
            .fillna("")
            .map(lambda name, kind=kind: self.label(kind, name))
            for column, kind in (("judge", "judges"), ("prompt", "prompts"))
            if column in frame.columns
        }
        return frame.assign(**columns).reset_index(drop=True)


def _table_of(report: ReportData, name: str, part: str) -> str:
    joined = f"{name}{PART}{part}"
    return joined if report.has(joined) else f"{name}_{part}"


def labels_of(manifest: Mapping[str, Any]) -> dict[LabelKey, str]:
    """Labels of attributes, levels, judges and prompts in a manifest."""
    entries = manifest.get("labels") or {}
    labels: dict[LabelKey, str] = {str(name): str(text) for name, text in entries.get("features", {}).items()}
    groups = {**entries.get("levels", {}), **{kind: entries.get(kind, {}) for kind in ("judges", "prompts")}}
    for feature, levels in groups.items():
        labels |= {(str(feature), str(level)): str(text) for level, text in levels.items()}
    return labels | {("order", str(name)): "study" for name in manifest.get("ordered") or ()}
