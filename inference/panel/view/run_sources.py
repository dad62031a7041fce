"""What is viewed: the tables, design and ledger of each run, people's answers in it, and the study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from ...collecting.run_folder import RunFolder, check_study, study_facts
from ...design.run_design import DrawnDesign
from ...errors import InputError
from ...ledger import Ledger
from ...study.load import list_studies, load_any_study
from ...study.models import AnyStudy, ItemStudy, Study
from ...tables.files import file_hash, read_table, read_without
from ...tables.schema import fields_of, require_columns
from ..panel_answers import FOLDER as PEOPLE

LABELS = "labels"  # folder of a run with a folder for each person who labelled in `conjury view`
ANSWERS = ("responses", "judgments")
UNREAD = ("logprobs", "system_fingerprint")  # columns that no page shows
STUDY_FILE = "study.yaml"
PAIRS = ("task_id", "position", "profile_id", "repeat", "repeat_of")  # columns of a design


@dataclass(frozen=True)
class FolderTables:
    """Responses and judgments of one folder, either of which may be absent, and who labelled them if any."""

    responses: pd.DataFrame | None
    judgments: pd.DataFrame | None
    labeller: str = ""


@dataclass(frozen=True)
class RunSource:
    """One run: its folder, the tables in it and below it, and its ledger where it has one."""

    name: str
    # folder that contains the design; that of the run also where its folder of people is named alone
    root: Path
    # those of the folder itself, of its folder `people`, and of each person below `labels`
    tables: tuple[FolderTables, ...]
    ledger: Ledger | None = None

    @cached_property
    def design(self) -> DrawnDesign | None:
        """The design of a conjoint, if there is one."""
        return RunFolder(self.root).design

    @cached_property
    def design_tasks(self) -> pd.DataFrame | None:
        """Pairs of models and people in the design, two rows each; None where there is no design."""
        files = [self.root / "design" / f"{name}.parquet" for name in ("tasks", "panel_tasks")]
        tables = [read_table(path) for path in files if path.is_file()]
        names = [name for name in PAIRS if all(name in table for table in tables)]
        pairs = [table[names].astype({"position": "string"}) for table in tables]
        return pd.concat(pairs, ignore_index=True).drop_duplicates(["task_id", "position"]) if pairs else None

    @cached_property
    def identity(self) -> str:
        """Hash by which two runs are recognised as having the same tasks; empty where there is no design."""
        path = self.root / "design" / "tasks.parquet"
        return file_hash(path) if path.is_file() else ""


@dataclass(frozen=True)
class RunSources:
    """Runs that are viewed together, their study where it is known, and notes about what was read."""

    runs: tuple[RunSource, ...]
    study: Study | ItemStudy | None
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def items(self) -> pd.DataFrame | None:
        """Items of the study, where it has some and their table is there."""
        if not isinstance(self.study, ItemStudy):
            return None
        path = self.study.file(self.study.items)
        return read_table(path, "items") if path.is_file() else None

    def judges_besides(self, labeller: str) -> set[str]:
        """Judges of all tables but those that a person wrote by labelling."""
        folders = [folder for run in self.runs for folder in run.tables if folder.labeller != labeller]
        tables = [
            table for folder in folders for table in (folder.responses, folder.judgments) if table is not None
        ]
        return {str(name) for table in tables if "judge_id" in table for name in table["judge_id"].unique()}

    def close(self) -> None:
        """Close all ledgers."""
        for run in self.runs:
            if run.ledger is not None:
                run.ledger.close()

    @property
    def title(self) -> str:
        """Title of the study, or the names of the runs."""
        return self.study.title if self.study is not None else ", ".join(run.name for run in self.runs)


def open_sources(named: Sequence[str], study: str | None = None) -> RunSources:
    """Open runs and find their study."""
    spec = None if study is None else _require_known_kind(load_any_study(study))
    folders: list[Path] = []
    for name in named:
        folder, meant = _find_folder(name)
        if meant is not None:
            spec = _require_same_study(spec, meant)
        if folder.resolve() not in [path.resolve() for path in folders]:
            folders.append(folder)
    runs, notes = [], []
    for folder in folders:
        run, answers_study = _open_run(folder)
        runs.append(run)
        facts = {} if run.ledger is None else (run.ledger.get("inputs") or {})
        slug = str(facts.get("study") or answers_study or "")
        if spec is None and slug:
            spec = _find_study(slug, run.root)
            if spec is None:
                notes.append(
                    f"The study file of {slug} was not found, so tasks are shown as requests contain them; "
                    "name it with --study."
                )
        if spec is not None and slug and spec.name != slug:
            raise InputError(
                f"{folder}: this run belongs to the study {slug}, not to {spec.name}; name runs of one study."
            )
        notes += _changes(facts, spec, run)
    return RunSources(tuple(runs), spec, tuple(dict.fromkeys(notes)))


def _find_folder(name: str) -> tuple[Path, Study | ItemStudy | None]:
    """Return the folder that an argument names; a study means its usual run."""
    path = Path(name).expanduser()
    if path.is_dir():
        if (path / STUDY_FILE).is_file() and not _has_answers(path):
            path = path / STUDY_FILE
        else:
            return path, None
    study = None
    if path.suffix.lower() in (".yaml", ".yml"):
        study = _require_known_kind(load_any_study(path))
    elif not path.exists():
        study = _find_study(name, Path("runs") / name)
    if study is not None:
        return Path("runs") / study.name, study
    raise InputError(
        f"{name}: there is no such folder or study; name the folder of a run, such as runs/STUDY."
    )


def _has_answers(folder: Path) -> bool:
    return any((folder / f"{name}.parquet").is_file() for name in ANSWERS)


def _require_known_kind(study: AnyStudy) -> Study | ItemStudy:
    assert isinstance(study, Study | ItemStudy)
    return study


def _require_same_study(before: Study | ItemStudy | None, study: Study | ItemStudy) -> Study | ItemStudy:
    if before is not None and before.name != study.name:
        raise InputError(f"{before.name} and {study.name} are two studies; name runs of one study.")
    return before or study


def _open_run(folder: Path) -> tuple[RunSource, str]:
    """Open one run; return also the name of the study that its answers state."""
    places = [folder, folder / PEOPLE, *sorted((folder / LABELS).glob("*/"))]
    tables = [read_answers(place) for place in places if _has_answers(place)]
    file = folder / "ledger.sqlite"
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; begin a run with `conjury collect`.")
    if not tables:
        advice = "`conjury run parse` writes them" if file.is_file() else "name the folder of a run"
        raise InputError(
            f"{folder}: this folder contains no answers (responses.parquet, judgments.parquet); {advice}."
        )
    root = next((path for path in (folder, *folder.parents[:2]) if (path / "design").is_dir()), folder)
    responses = (folder_tables.responses for folder_tables in tables if folder_tables.responses is not None)
    study_name = next(
        (str(table["study"].iloc[0]) for table in responses if "study" in table and len(table)), ""
    )
    ledger = Ledger.open(file, write=False) if file.is_file() else None
    return RunSource(str(folder), root, tuple(tables), ledger), study_name


def read_answers(folder: Path) -> FolderTables:
    """Read responses and judgments of one folder, as far as they are there."""
    tables: dict[str, pd.DataFrame | None] = dict.fromkeys(ANSWERS)
    for name in ANSWERS:
        path = folder / f"{name}.parquet"
        if path.is_file():
            frame = read_without(path, UNREAD)
            needed = [column for column, entry in fields_of(name).items() if entry.required]
            require_columns(frame, needed, str(path))
            tables[name] = frame
    place = folder.resolve()
    labeller = place.name if place.parent.name == LABELS else ""
    return FolderTables(tables["responses"], tables["judgments"], labeller)


def _find_study(name: str, root: Path) -> Study | ItemStudy | None:
    """Find the study file of a run: one near the run, else one that ships."""
    for path in _candidates(root):
        try:
            study = load_any_study(path)
        except InputError:
            continue
        if study.name == name:
            return _require_known_kind(study)
    return _require_known_kind(load_any_study(name)) if name in list_studies() else None


def _candidates(root: Path) -> Iterator[Path]:
    here = root.resolve()
    for folder in dict.fromkeys([Path.cwd(), here, *here.parents[:2]]):
        if (folder / STUDY_FILE).is_file():
            yield folder / STUDY_FILE


def _changes(facts: dict[str, object], study: Study | ItemStudy | None, run: RunSource) -> Iterator[str]:
    """Yield a sentence where the study file says something else now than when the run was begun."""
    if study is None or not facts:
        return
    now = {name: value for name, value in study_facts(study, {}).items() if name != "subjects"}
    try:
        check_study(dict(facts), now, run.root)
    except InputError:
        yield (
            f"{run.name}: the study file has changed since the run was begun, so what is shown beside the "
            "requests may differ from what judges saw."
        )
    if isinstance(study, ItemStudy):
        subjects, file = facts.get("subjects"), study.folder / study.items
        before = subjects.get("items") if isinstance(subjects, dict) else None
        if before and file.is_file() and file_hash(file) != before:
            yield f"{run.name}: the items of the study have changed since the run was begun."
