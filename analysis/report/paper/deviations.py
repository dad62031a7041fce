"""Whether results follow a registration: each aspect as registered, or how it deviates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.study import list_studies
from conjury.inference.tables.files import STUDIES, file_hash

from ...pipeline.fitting import command
from ...pipeline.manifest import RecordedResult, describe_run, entries_of
from ...pipeline.results_folder import ResultsFolder
from ...pipeline.runner import NamedResult
from ...results import Result
from ..report_data import ReportData
from ..table_format import whole
from .preregistration import read_registration

AS, DEVIATES, ABSENT, ADDED = "as registered", "deviates", "not in the results", "not registered"
UNSEEN = "not compared"
COMPARED = ("verb", "formula", "by", "exclude", "h0")
Row = tuple[str, str, str, str]
PART, KIND = "registered", "registration"
FILE = "preregistration.json"  # what `conjury paper preregister` writes by default


def compare(
    registered: Mapping[str, Any], data: ReportData, files: Mapping[str, str] | None = None
) -> Result:
    """Compare results with a registration.

    Parameters
    ----------
    registered : mapping
        As `preregistration.read_registration` returns it.
    data : ReportData
        The results folder.
    files : mapping, optional
        SHA-256 of files of the study as they are now, by the names that the registration has.

    Returns
    -------
    Result
        Of kind ``"registration"``: one row per aspect with ``aspect, registered, found, verdict``.

    Raises
    ------
    InputError
        Where the results are of another study.
    """
    if data.manifest.get("study") != registered["study"]:
        raise InputError(
            f"The registration is of the study {registered['study']!r}, and {data.path} has results of "
            f"{data.manifest.get('study')!r}; give the registration of this study."
        )
    rows = [
        *_time(registered, data),
        *_files(registered, files or {}),
        *_judges(registered, data),
        *_analyses(registered, data),
        *_sizes(registered, data),
    ]
    frame = pd.DataFrame(rows, columns=["aspect", "registered", "found", "verdict"]).astype("string")
    settings = {
        "registered": registered["created"],
        "sha256": registered["sha256"],
        "template": registered["template"],
    }
    return Result(frame, KIND, settings=settings)


@dataclass(frozen=True)
class RegistrationComparison:
    """A comparison of results with the registration of a file, and a sentence on its verdicts."""

    path: Path
    result: Result
    sentence: str


def compare_with_registration(
    results: Path, registered: Path | None, run: Path | None
) -> RegistrationComparison | None:
    """Add a comparison with a registration to a results folder; None where there is no registration."""
    # Without a name, it is the file that `conjury paper preregister` writes, in the folder or by the study.
    data = ReportData(results)
    argument = str(data.manifest.get("study_argument") or "")
    is_shipped = argument in list_studies()
    beside = Path(argument).parent if argument and not is_shipped else None
    candidates = [place / FILE for place in (results, beside) if place is not None]
    path = registered or next((file for file in candidates if file.is_file()), None)
    if path is None:
        return None
    registration = read_registration(path)
    places = [STUDIES / argument] if is_shipped else [path.parent, Path()]
    places += [run] if run is not None else [Path("runs") / str(registration["study"])]
    comparison = compare(registration, data, hashes_now(registration, places))
    add_to_results(results, comparison)
    return RegistrationComparison(path, comparison, sentence(list(comparison.frame["verdict"])))


def _row(aspect: str, registered: object, value: object) -> Row:
    return (aspect, str(registered), str(value), AS if registered == value else DEVIATES)


def _time(registered: Mapping[str, Any], data: ReportData) -> Iterator[Row]:
    created = str(data.manifest.get("created") or "")
    verdict = AS if created >= str(registered["created"]) else DEVIATES
    yield ("Registered before the results were computed", str(registered["created"]), created, verdict)


def _files(registered: Mapping[str, Any], now: Mapping[str, str]) -> Iterator[Row]:
    for name, sha in registered["files"].items():
        aspect = f"File {name} (SHA-256)"
        yield _row(aspect, sha[:16], now[name][:16]) if name in now else (aspect, sha[:16], "", UNSEEN)


def _judges(registered: Mapping[str, Any], data: ReportData) -> Iterator[Row]:
    answers = data.table("answers") if data.has("answers") else pd.DataFrame({"judge": []})
    present = list(dict.fromkeys(answers["judge"].astype(str)))
    if not present:
        return
    for name, label in registered["judges"].items():
        yield (
            f"Judge {label}",
            "asked",
            "asked" if name in present else "",
            AS if name in present else ABSENT,
        )
    for name in present:
        if name not in registered["judges"]:
            yield (f"Judge {data.label('judges', name)}", "", "asked", ADDED)


def _analyses(registered: Mapping[str, Any], data: ReportData) -> Iterator[Row]:
    entries = {entry.name: entry for entry in data.results if entry.part == "fit"}
    for planned in registered["analyses"]:
        yield from _analysis(planned, registered, entries.get(planned["name"]))
    named = {planned["name"] for planned in registered["analyses"]}
    for entry in entries.values() if named else ():
        if entry.name not in named and entry.settings.get("verb"):
            yield (f"Analysis {entry.title.rstrip('.') or entry.name}", "", entry.name, ADDED)
    alphas = sorted(
        {float(entry.settings["alpha"]) for entry in entries.values() if entry.settings.get("alpha")}
    )
    if alphas:
        yield _row("Alpha", f"{registered['alpha']:g}", ", ".join(f"{alpha:g}" for alpha in alphas))
    corrected = [entry for entry in entries.values() if entry.kind.startswith("prediction_powered")]
    correction = "none" if not corrected else str(corrected[0].settings.get("correct") or "ppi")
    yield _row("Correction by models", registered["correct"] or "none", correction)


def _analysis(
    planned: Mapping[str, Any], registered: Mapping[str, Any], record: RecordedResult | None
) -> Iterator[Row]:
    aspect = f"Analysis {planned['title'].rstrip('.')}"
    if record is None:
        yield (aspect, planned["name"], "", ABSENT)
        return
    settings = record.settings
    differing = [name for name in COMPARED if not _alike(name, planned, settings)]
    if not differing:
        yield (aspect, planned["formula"], str(settings.get("formula")), AS)
    for name in differing:
        yield (f"{aspect}: {name}", str(planned[name]), str(settings.get(name)), DEVIATES)
    if settings.get("vcov") is not None:
        if settings["vcov"] != registered["vcov"]:
            yield (f"{aspect}: standard errors", registered["vcov"], settings["vcov"], DEVIATES)
        clusters = {", ".join(names) for names in registered["clusters"].values()}
        columns = set(str(settings.get("id") or "none").split(" or "))
        if not columns <= clusters and not settings.get("against"):
            yield (
                f"{aspect}: clusters",
                " or ".join(sorted(clusters)),
                " or ".join(sorted(columns)),
                DEVIATES,
            )
    adjusted = (registered.get("adjusted") or {}).get(planned["name"])
    if adjusted != settings.get("adjusted"):
        yield (
            f"{aspect}: adjustment",
            str(adjusted or "none"),
            str(settings.get("adjusted") or "none"),
            DEVIATES,
        )


def _alike(name: str, planned: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether a setting is as planned; a null value that is not stated is the default of the verb."""
    if name == "h0" and planned["h0"] is None:
        return True
    if name == "formula":
        return "".join(str(planned[name]).split()) == "".join(str(settings.get(name)).split())
    return bool((planned[name] or None) == (settings.get(name) or None))


def _sizes(registered: Mapping[str, Any], data: ReportData) -> Iterator[Row]:
    """Pairs of each model, and tasks of people, of the first analysis with groups."""
    sample = registered["sample"]
    main = next((entry for entry in data.results if entry.part == "fit" and entry.groups), None)
    if main is None or "pairs" not in sample:
        return
    for group in main.groups:
        if group.get("variant"):
            continue
        people = group["judge"] in registered["people"]
        target = sample["respondents"] * sample["tasks"] if people else sample["pairs"]
        prompt = f", {data.label('prompts', group['prompt'])}" if group.get("prompt") else ""
        what = "tasks" if people else "pairs"
        row = _row(
            f"Sample of {data.label('judges', group['judge'])}{prompt}",
            f"{whole(target)} {what}",
            f"{whole(int(group['n_rows']) // 2)} {what}",
        )
        yield row


def sentence(verdicts: Sequence[str]) -> str:
    """How many aspects are as registered."""
    counts = {name: list(verdicts).count(name) for name in (AS, DEVIATES, ABSENT, ADDED, UNSEEN)}
    planned = len(verdicts) - counts[ADDED]
    if len(verdicts) == counts[AS]:
        return f"All {planned} registered aspects are as registered."
    words = {
        DEVIATES: ("deviates", "deviate"),
        ABSENT: ("is not in the results", "are not in the results"),
        UNSEEN: ("could not be compared", "could not be compared"),
        ADDED: ("was not registered", "were not registered"),
    }
    phrases = [f"{counts[name]} {words[name][counts[name] != 1]}" for name in words if counts[name]]
    return f"{counts[AS]} of {planned} registered aspects are as registered; {', '.join(phrases)}."


def add_to_results(path: str | Path, compared: Result) -> None:
    """Add a comparison to a results folder, as a part of its own that a later comparison replaces."""
    folder = ResultsFolder(path)
    run, before = describe_run(command()), folder.manifest
    record = {name: run[name] for name in ("created", "command", "packages", "r")}
    title = "Comparison with the registration"
    entries = entries_of([NamedResult(KIND, title, compared)], PART)
    other_entries = [entry for entry in before.get("results") or [] if entry.get("part") != PART]
    manifest = {
        **before,
        "results": [*other_entries, *entries],
        "parts": {**(before.get("parts") or {}), PART: {**record, "data": [], "notes": []}},
    }
    with folder.extended(PART) as draft:
        draft.write({KIND: compared.frame}, manifest)


def hashes_now(registered: Mapping[str, Any], places: Sequence[Path]) -> dict[str, str]:
    """SHA-256 of the registered files, each in the first of several folders that has it."""
    hashes = {}
    for name in registered["files"]:
        path = next((place / name for place in places if (place / name).is_file()), None)
        if path is not None:
            hashes[name] = file_hash(path)
    return hashes
