"""What was collected of a study: its tables, the files they are from, and what judges were asked with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, listed
from ..ledger import Ledger
from ..study.load import list_studies, load_any_study
from ..study.models import ItemStudy, Study
from ..tables.columns import companion, responses_beside, split_occasion
from ..tables.files import SUFFIXES, read_table
from ..tables.manifest_fields import read_manifest
from ..tables.reading.reading_rules import ReadingRules
from ..tables.reading.table_reading import read
from ..tables.schema import TABLES, validate
from .aliases import rename_columns
from .judged.gold_labels import read_labels
from .judgments import load_judgments, stack_judgments
from .prepare import load_choices, stack_choices

ROLES = ("choices", "judgments", "responses", "items", "labels", "respondents")
BESIDE = ("items", "labels")  # companions of a table of answers, besides responses
OPTIONS = ("model", "temperature", "top_p", "seed", "max_tokens")  # of requests as they are sent
REQUESTS = {
    **dict.fromkeys(("request_key", "judge_id", "prompt_id", "item_id", "task_id"), "string"),
    "sample": "Int64",
    "model": "string",
    **dict.fromkeys(("temperature", "top_p"), "float64"),
    **dict.fromkeys(("seed", "max_tokens"), "Int64"),
    **dict.fromkeys(("system", "user"), "string"),
}


@dataclass(frozen=True)
class CollectedData:
    """Everything that is known of a study, of which any part may be absent."""

    study: Study | ItemStudy | None = None
    # choices, judgments, responses, items, labels, respondents: As `tables/schema.py` describes them.
    choices: pd.DataFrame | None = None
    judgments: pd.DataFrame | None = None
    responses: pd.DataFrame | None = None
    # one row per request as it was sent: `request_key, judge_id, prompt_id`, `item_id` or `task_id`, `sample,
    # model, temperature, top_p, seed, max_tokens, system, user` (texts of the messages, without media)
    requests: pd.DataFrame | None = None
    items: pd.DataFrame | None = None
    labels: pd.DataFrame | None = None
    respondents: pd.DataFrame | None = None
    # by judge, the settings that the study file or the ledger states: `model, temperature, seed, max_tokens,
    # ...`, as far as they are known
    asked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # the file of each table that was read from one
    files: Mapping[str, Path] = field(default_factory=dict)
    # the profiles of a conjoint's design
    profiles: pd.DataFrame | None = None
    # what was assumed in reading
    notes: tuple[str, ...] = ()


@dataclass
class _Places:
    """Where what was named lies: tables by role, ledgers, and the study."""

    tables: dict[str, list[Path]] = field(default_factory=lambda: {role: [] for role in ROLES})
    ledgers: list[Path] = field(default_factory=list)
    profiles: Path | None = None
    study: Study | ItemStudy | None = None
    notes: list[str] = field(default_factory=list)
    rules: ReadingRules = field(default_factory=ReadingRules)

    @property
    def forms(self) -> ReadingRules:
        """What is stated about how files are written, and not about their cells and rows."""
        rules = self.rules if self.study is None else self.rules.over(self.study.reading.rules())
        return replace(rules, missing=(), levels={}, relabel={}, where={}, exclude={}, strict=False)

    def add(self, role: str, file: Path) -> None:
        """Add the file of a table once."""
        if file not in self.tables[role]:
            self.tables[role].append(file)


def read_collected(
    paths: str | Path | Sequence[str | Path],
    study: str | Path | Study | ItemStudy | None = None,
    rules: ReadingRules | None = None,
) -> CollectedData:
    """Read what was collected, of whatever kind it is, with what is stated about tables of answers."""
    # `paths` are a study, the folder of a run, a results folder, or tables, which are recognised by their
    # columns, with the files that belong to them (`NAME.labels.parquet`).
    entries = [paths] if isinstance(paths, str | Path) else list(paths)
    if not entries:
        raise InputError("Nothing is named; name a study, a run, a results folder or a table.")
    loaded = load_any_study(study) if isinstance(study, str | Path) else study
    places = _Places(study=loaded, rules=rules or ReadingRules())
    for entry in entries:
        _find(str(entry), Path(entry).expanduser(), places)
    for path in entries:
        _recognise_table(Path(path).expanduser(), places)
    return with_study(_read(places), places.study)


def _find(name: str, path: Path, places: _Places) -> None:
    """Find the study, ledger and tables of a study, a run or a results folder."""
    if name in list_studies() and not path.exists():
        _set_study(places, load_any_study(name))
    elif path.suffix.lower() in (".yaml", ".yml"):
        _set_study(places, load_any_study(path))
    elif path.is_dir():
        _find_in_folder(path, places)
    elif not path.is_file():
        shipped = listed(list_studies())
        raise InputError(
            f"{name}: there is no such file, folder or study; name a run, a results folder, a table, or a "
            f"study ({shipped})."
        )


def _find_in_folder(path: Path, places: _Places) -> None:
    ledger, manifest = path / "ledger.sqlite", path / "manifest.json"
    if ledger.is_file():
        places.ledgers.append(ledger)
        with Ledger.open(ledger, write=False) as opened:
            _name_study(places, str((opened.get("inputs") or {}).get("study") or ""))
        if not (path / "responses.parquet").is_file():
            places.notes.append(f"{path} has no tables of answers yet; `conjury run parse` writes them.")
        profiles = path / "design" / "profiles.parquet"
        places.profiles = profiles if profiles.is_file() else places.profiles
    elif manifest.is_file():
        _name_study(places, str(read_manifest(manifest).get("study_argument") or ""))
        path = path / "data"
    elif (path / "study.yaml").is_file():
        _set_study(places, load_any_study(path))
    for role in ROLES:
        if (path / f"{role}.parquet").is_file():
            places.add(role, path / f"{role}.parquet")
    if not any((ledger.is_file(), manifest.is_file(), places.study, *places.tables.values())):
        raise InputError(
            f"{path}: this folder contains no run (ledger.sqlite), no results (manifest.json), no study.yaml "
            "and no table such as choices.parquet; name another one."
        )


def _set_study(places: _Places, study: Study | ItemStudy) -> None:
    if places.study is not None and places.study.name != study.name:
        raise InputError(f"{places.study.name} and {study.name} are two studies; name one of them.")
    places.study = study


def _name_study(places: _Places, name: str) -> None:
    """Take the study that a run or results name, if it ships; --study names any other."""
    if places.study is None and name in list_studies():
        places.study = load_any_study(name)
    elif places.study is None and name:
        places.notes.append(f"The study file of {name} was not named, so checks that need it do not apply.")


def _recognise_table(path: Path, places: _Places) -> None:
    if not path.is_file() or path.suffix.lower() in (".yaml", ".yml"):
        return
    role = role_of(_columns(path, places), places.study, str(path))
    places.add(role, path)
    if role in ("choices", "judgments"):
        for beside in BESIDE:
            if companion(path, beside).is_file():
                places.add(beside, companion(path, beside))
        responses = responses_beside(path)
        if responses is not None:
            places.add("responses", responses)


def _columns(path: Path, places: _Places) -> set[str]:
    """Columns of a table, by the names of the study."""
    study = places.study
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq
        from pyarrow.lib import ArrowException

        try:
            frame = pq.read_schema(path).empty_table().to_pandas()
        except (ArrowException, OSError) as error:
            raise InputError(f"{path}: this is no readable Parquet file ({error}); write it again.") from None
    else:
        frame = read(path, places.forms).frame
    return set(map(str, (frame if study is None else rename_columns(frame, study)).columns))


def role_of(columns: set[str], study: Study | ItemStudy | None, source: str) -> str:
    """Say which table has these columns; InputError where none has."""
    if "chosen" in columns or (isinstance(study, Study) and {"pair_id", "position"} <= columns):
        return "choices"
    if {"request_key", "text"} <= columns:
        return "responses"
    if {"item_id", "label_set", "label"} <= columns:
        return "labels"
    if "value" in columns and columns & {"judge_id"} and columns & {"item_id", "task_id"}:
        return "judgments"
    if "item_id" in columns and "judge_id" not in columns:
        return "items"
    if "judge_id" in columns and "item_id" not in columns:
        return "respondents"
    needed = {role: [n for n, f in TABLES[role].items() if f.required] for role in ROLES if role in TABLES}
    requirements = "; ".join(f"{role}: {', '.join(names)}" for role, names in needed.items())
    raise InputError(
        f"{source}: its columns ({listed(sorted(columns))}) are those of no table; name them as in one of "
        f"these ({requirements}), or read another program's export with --format."
    )


def _read(places: _Places) -> CollectedData:
    tables = {role: files for role, files in places.tables.items() if files}
    study, notes = places.study, places.notes
    read_tables: dict[str, pd.DataFrame] = {}
    for role, files in tables.items():
        if role == "choices":
            read_tables[role] = _choices(files, places)
        elif role == "judgments":
            read_tables[role] = _judgments(files, places)
        else:
            parts = [_table(file, role, places) for file in files]
            read_tables[role] = pd.concat(parts, ignore_index=True)
            if role != "respondents" and len(files) > 1:
                read_tables[role] = validate(read_tables[role], role, " and ".join(map(str, files)))
    requests = [requests_of(ledger, study) for ledger in places.ledgers]
    settings_by_judge = {
        judge: settings for ledger in places.ledgers for judge, settings in _settings_by_judge(ledger).items()
    }
    return CollectedData(
        study,
        **read_tables,
        requests=pd.concat(requests, ignore_index=True) if requests else None,
        asked=settings_by_judge,
        files={role: files[0] for role, files in tables.items()}
        | ({"requests": places.ledgers[0]} if places.ledgers else {}),
        profiles=None if places.profiles is None else read_table(places.profiles),
        notes=tuple(dict.fromkeys(notes)),
    )


def _choices(files: Sequence[Path], places: _Places) -> pd.DataFrame:
    study, rules = places.study, places.rules
    if isinstance(study, Study):
        tables = {str(file): load_choices(study, file, notes=places.notes, rules=rules) for file in files}
        return stack_choices(study, tables)
    tables = {}
    for file in files:
        table = read(file, rules, texts=_texts_of("choices"))
        places.notes += table.account.notes()
        tables[str(file)] = validate(table.frame, "choices", str(file))
    return pd.concat(tables.values(), ignore_index=True)


def _texts_of(role: str) -> list[str]:
    """Columns of a table that are text."""
    return [name for name, field in TABLES[role].items() if field.kind in ("string", "label")]


def _judgments(files: Sequence[Path], places: _Places) -> pd.DataFrame:
    return stack_judgments({str(file): _judgments_of(file, places) for file in files})


def _judgments_of(file: Path, places: _Places) -> pd.DataFrame:
    study = places.study if isinstance(places.study, ItemStudy) else None
    if "item_id" not in _columns(file, replace(places, study=study)):  # of a conjoint, by task
        return validate(read(file, places.rules, texts=_texts_of("judgments")).frame, "judgments", str(file))
    return load_judgments(file, study=study, rules=places.rules, notes=places.notes)


def _table(file: Path, role: str, places: _Places) -> pd.DataFrame:
    """A table besides answers; those of other formats than the contract's by the reader of all."""
    if not file.name.lower().endswith(SUFFIXES):
        frame = read(file, places.forms).frame
        return frame if role == "respondents" else validate(frame, role, str(file))
    if role == "labels":
        study = places.study if isinstance(places.study, ItemStudy) else None
        return read_labels(file, study, places.notes)
    return read_table(file, None if role == "respondents" else role)


def with_study(collected: CollectedData, study: Study | ItemStudy | None) -> CollectedData:
    """Add what a study file knows: settings of judges, and of a study of items its items and gold labels."""
    if study is None:
        return collected
    settings_by_judge = {
        judge.id: flat_settings(judge.ask.model_dump(exclude_none=True))
        for judge in study.judges
        if judge.ask is not None
    }
    collected = replace(collected, study=study, asked={**settings_by_judge, **collected.asked})
    if not isinstance(study, ItemStudy):
        return collected
    files: dict[str, Path] = {}
    items, labels = collected.items, collected.labels
    if items is None and (study.folder / study.items).is_file():
        files["items"] = study.file(study.items)
        items = read_table(files["items"], "items")
    if labels is None and study.gold is not None and (study.folder / study.gold.file).is_file():
        files["labels"] = study.file(study.gold.file)
        labels = read_labels(files["labels"], study)
    return replace(collected, items=items, labels=labels, files={**collected.files, **files})


def flat_settings(ask: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a judge in one mapping: those of its interface, and those of the model."""
    further = {name: value for name, value in ask.items() if name not in ("settings", "engine")}
    return {**further, **(ask.get("engine") or {}), **(ask.get("settings") or {})}


def _settings_by_judge(ledger: Path) -> dict[str, dict[str, Any]]:
    with Ledger.open(ledger, write=False) as opened:
        judges = (opened.get("inputs") or {}).get("judges") or {}
    return {str(name): flat_settings(ask) for name, ask in judges.items()}


def requests_of(ledger: Path, study: Study | ItemStudy | None) -> pd.DataFrame:
    """All requests of a run as they were sent, one per row, with the texts of their messages."""
    columns: dict[str, list[Any]] = {name: [] for name in REQUESTS}
    subject_column, empty_column = (
        ("item_id", "task_id") if isinstance(study, ItemStudy) else ("task_id", "item_id")
    )
    repeated = study is not None and study.instrument is not None
    with Ledger.open(ledger, write=False) as opened:
        for key, judge, prompt, subject, sample, body in opened.bodies():
            system, user = texts_of(body)
            row = {"request_key": key, "judge_id": judge, "prompt_id": prompt, "sample": sample}
            row |= {subject_column: split_occasion(subject)[0] if repeated else subject, empty_column: None}
            row |= {name: body.get(name) for name in OPTIONS} | {"system": system, "user": user}
            if row["max_tokens"] is None:
                row["max_tokens"] = body.get("max_completion_tokens")
            for name, values in columns.items():
                values.append(row[name])
    return pd.DataFrame({name: pd.Series(values, dtype=REQUESTS[name]) for name, values in columns.items()})


def texts_of(body: Mapping[str, Any]) -> tuple[str, str]:
    """Text of the system's messages of a request, and of all others."""
    system: list[str] = []
    user: list[str] = []
    for message in body.get("messages") or []:
        target = system if message.get("role") in ("system", "developer") else user
        target += list(_texts(message.get("content")))
    return "\n".join(system), "\n".join(user)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
