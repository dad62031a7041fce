"""The manifest of a results folder: what was run, on which rows, and which results there are."""

from __future__ import annotations

import platform
import shlex
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import InputError, counted
from conjury.inference.readers.judgments import dimensions_of
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.files import ROOT, file_hash

from ..figures.labels import labels_of_tasks
from ..frames.notes import Note, note_of, read_note
from ..frames.vocabulary import MEANING
from .results_folder import FORMAT
from .runner import NamedResult
from .steps.study_text import study_text

if TYPE_CHECKING:
    from conjury.inference.study.models import Study


PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "statsmodels", "linearmodels", "matplotlib", "rpy2")
SAMPLERS = ("pymc", "nutpie", "arviz", "pytensor", "numba")
R_ENGINES = ("survey", "cregg")
UNITS_OF_FILES = (
    "Files of results have shares and their changes as fractions: 0.064 is 6.4% or 6.4 percentage points."
)
FIT = "fit"  # the part of a manifest that `conjury fit` writes
RENAMED = {"beside_print": "published_scores"}  # kind of format 1 -> kind
ROBUSTNESS = {  # table of `conjury check --results` -> kind of result
    "errors": "standard_errors",
    "reliability": "reliability",
    "position": "position",
    "corrected": "corrected",
    "power": "detectable",
}
# Kinds of notes on why some of these are missing: those of errors and power, those of repeats, all of them.
NO_ERRORS, NO_REPEATS, NO_ROBUSTNESS = "no errors", "no repeats", "no robustness"


@dataclass(frozen=True)
class RecordedResult:
    """A result as the manifest lists it; its tables are in the folder under its name."""

    # name, kind, title: The name of its table, which exhibit and figure it has, and its title.
    name: str
    kind: str
    title: str = ""
    # what was run: columns, draws, seed, alpha and the like; of models also `verdict` and `passed`
    settings: Mapping[str, Any] = field(default_factory=dict)
    # judges and prompts that were estimated apart, with their numbers of rows
    groups: tuple[Mapping[str, Any], ...] = ()
    # what was excluded or assumed
    notes: tuple[Note, ...] = ()
    # names of further tables
    extra: tuple[str, ...] = ()
    # how long it took
    seconds: float = 0.0
    # the run that added it: `"fit"`, `"diagnosed"`, `"compared"` or the name of a later run
    part: str = FIT


def notes_of(entry: Mapping[str, Any]) -> tuple[Note, ...]:
    """Notes of a run or a result that a manifest lists."""
    return tuple(map(read_note, entry.get("notes") or ()))


def runs_of(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Records of the runs of a folder by part, in order of time: command, data, software, notes."""
    if _is_current(manifest):
        return {FIT: manifest, **_by_time(manifest.get("parts") or {})}
    added = {str(name): part for name, part in manifest.items() if _is_run(name, part)}
    fitted = "analyses" in manifest or "results" in manifest
    return ({FIT: manifest} if fitted or not added else {}) | _by_time(added)


def _by_time(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return dict(sorted(runs.items(), key=lambda run: str(run[1].get("created"))))


def _is_current(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest has the current format; one of a later version is refused."""
    version = manifest.get("format")
    if version is not None and version != FORMAT:
        raise InputError(
            f"These results have format {version}, and this version of conjury reads formats up to {FORMAT}; "
            "update conjury, or run `conjury fit` again."
        )
    if version is None and "parts" in manifest:
        raise InputError(
            f"The manifest of these results does not state its format; restore its field format ({FORMAT}), "
            "or run `conjury fit` again."
        )
    return version == FORMAT


def _is_run(name: str, part: object) -> bool:
    return isinstance(part, dict) and (name in ("compared", "diagnosed") or "results" in part)


def results_of(manifest: Mapping[str, Any]) -> list[RecordedResult]:
    """All results that a manifest lists, in order; a later run of the same name takes the earlier's place."""
    if _is_current(manifest):
        recorded = [_recorded(entry) for entry in manifest.get("results") or []]
        return list({result.name: result for result in recorded}.values())
    results = [_record_of_analysis(entry) for entry in manifest.get("analyses") or []]
    for part, run in runs_of(manifest).items():
        results += [_record_of_result(entry, part) for entry in run.get("results") or []]
    if compared := manifest.get("compared"):
        title = str(compared.get("title") or compared.get("analysis") or "")
        results.append(
            RecordedResult(
                "engines",
                "engines",
                title,
                compared,
                notes=notes_of(compared),
                extra=("summary",),
                part="compared",
            )
        )
    if diagnosed := manifest.get("diagnosed"):
        settings = {name: diagnosed.get(name) for name in ("alpha", "seed")}
        results.append(RecordedResult("diagnosis", "diagnosis", "Checks", settings, part="diagnosed"))
        results += [
            RecordedResult(table, ROBUSTNESS[table], table, settings, part="diagnosed")
            for table in diagnosed.get("robustness") or []
            if table in ROBUSTNESS
        ]
    return list({result.name: result for result in results}.values())


def _recorded(entry: Mapping[str, Any]) -> RecordedResult:
    groups = tuple(entry.get("groups") or ())
    return RecordedResult(
        entry["name"],
        entry["kind"],
        entry.get("title") or "",
        {**(entry.get("settings") or {}), **({"groups": entry["groups"]} if groups else {})},
        groups,
        notes_of(entry),
        tuple(entry.get("extra") or ()),
        entry.get("seconds", 0.0),
        entry.get("part", FIT),
    )


def _record_of_analysis(entry: Mapping[str, Any]) -> RecordedResult:
    return RecordedResult(
        str(entry["name"]),
        "people" if entry.get("figure") == "people" else str(entry.get("verb")),
        str(entry.get("title") or ""),
        entry,
        tuple(entry.get("groups") or ()),
        seconds=float(entry.get("seconds") or 0),
    )


def _record_of_result(entry: Mapping[str, Any], part: str) -> RecordedResult:
    judged = {name: entry[name] for name in ("verdict", "passed") if name in entry}
    return RecordedResult(
        str(entry["name"]),
        RENAMED.get(entry["kind"], str(entry["kind"])),
        str(entry.get("title") or ""),
        {**(entry.get("settings") or {}), **judged},
        notes=notes_of(entry),
        extra=tuple(entry.get("further") or ()),
        seconds=float(entry.get("seconds") or 0),
        part=part,
    )


def entry_of(named: NamedResult, part: str = FIT) -> dict[str, Any]:
    """What the manifest lists of a result; with its tables, `saved.read_result` makes it again."""
    result = named.result
    settings = result.recorded_settings
    groups = settings.pop("groups") if isinstance(settings.get("groups"), list) else ()
    return vars(
        RecordedResult(
            named.name,
            result.kind,
            named.title,
            settings,
            groups,
            tuple(map(note_of, result.notes)),
            tuple(result.further_tables),
            round(named.seconds, 3),
            part,
        )
    )


def entries_of(results: Iterable[NamedResult], part: str = FIT) -> list[dict[str, Any]]:
    """What the manifest lists of several results."""
    return [entry_of(named, part) for named in results]


def describe_study(study: Study | ItemStudy, prompts: Collection[str] | None = None) -> dict[str, Any]:
    """Name a study and its parts, with its design in words and the labels that reports and figures use."""
    described: dict[str, Any] = {
        "study": study.name,
        "study_argument": study.argument,
        "title": study.title,
        "refusal": study.refusal,
        "question": study.question,
        "design": study_text(study, prompts),
    }
    features, levels = dict(study.feature_labels), dict(study.level_labels)
    if isinstance(study, ItemStudy):
        described["main"] = study.main
        features = {"dimension": "Dimension", **features}
        levels = {"dimension": dimensions_of(study), **levels}
        levels |= {f"{MEANING}{name}": texts for name, texts in study.level_meanings.items()}
    else:
        described |= {name: part for name in ("focus", "ordered") if (part := list(getattr(study, name)))}
    labels = {
        "features": features,
        "levels": levels,
        "judges": study.judge_labels,
        "prompts": study.prompt_labels,
    }
    return {**described, "labels": labels}


def describe_labels(study: ItemStudy, prompts: Collection[str] | None = None) -> dict[str, Any]:
    """As `describe_study`, with what missing labels count as, and labels of tasks and their classes."""
    described = describe_study(study, prompts)
    levels = {**described["labels"]["levels"], **labels_of_tasks(study)}
    return {**described, "missing": study.missing_rules, "labels": {**described["labels"], "levels": levels}}


def describe_run(
    command: Iterable[str], engines: Iterable[str] = (), further: Iterable[str] = ()
) -> dict[str, Any]:
    """State when, with what software (R's too where an engine runs in R) and by which command it was made."""
    return {
        "units": UNITS_OF_FILES,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "conjury": version("conjury"),
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: number for name in (*PACKAGES, *further) if (number := installed(name))},
        "r": _r_versions() if set(engines) & set(R_ENGINES) else None,
        "command": shlex.join(map(without_folder, command)),
    }


def without_folder(argument: str) -> str:
    """Shorten an argument that is an absolute path, or a pair with one, to the name of the file."""
    name, equals, value = argument.rpartition("=")
    path = Path(value)
    return f"{name}{equals}{path.name}" if path.is_absolute() and path.name else argument


def describe_file(
    path: str | Path, rows: int, variant: str, n_used: int, name: str = "choices"
) -> dict[str, Any]:
    """Name a data file with its checksum, its rows and how many of them were used; its folder is excluded."""
    return {
        "name": name,
        "file": Path(path).name,
        "sha256": file_hash(path),
        "rows": rows,
        "rows_used": n_used,
        "variant": variant,
    }


def rows_in_words(described: Sequence[Mapping[str, Any]]) -> str:
    """How many judgments data files contain, else how many rows; variants of other files are not counted."""
    main = [entry for entry in described if not entry.get("variant")] or described
    judgments = [entry for entry in main if entry.get("name") == "judgments"]  # of a row there may be several
    rows = sum(int(entry.get("rows") or 0) for entry in judgments or main)
    return counted(rows, "judgment" if judgments else "row") if rows else ""


def with_folders(described: list[dict[str, Any]], files: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Add the name of its folder to each described file whose name another one has, too."""
    names = [entry["file"] for entry in described]
    return [
        entry | ({"folder": Path(file).absolute().parent.name} if names.count(entry["file"]) > 1 else {})
        for entry, file in zip(described, files, strict=True)
    ]


def _r_versions() -> dict[str, str | None]:
    from ..r import available

    status = available()
    return {"R": status.r, **{name: number for name, number in status.packages.items() if number}}


def installed(package: str) -> str | None:
    """Version of an installed Python package; None where it is absent."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Commit of a checkout; None for an installed package."""
    if not (ROOT / ".git").exists():
        return None
    try:
        process = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip() or None
