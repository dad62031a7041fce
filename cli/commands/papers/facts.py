"""What the commands of this room read: the study, the record of its run, its results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from conjury.inference.errors import InputError

if TYPE_CHECKING:
    from conjury.analysis.report.paper.facts import Facts, RunFacts

RESPONDENTS = ("people/respondents.parquet", "respondents.parquet")


def gather(study: str, run: Path | None, results: Path | None) -> Facts:
    """Read a study, and its run and results where they are named."""
    from conjury.analysis.report.data import ReportData
    from conjury.analysis.report.paper.facts import Facts
    from conjury.inference.study import load_any_study

    known = load_any_study(study)
    read = ReportData(results) if results is not None else None
    if read is not None and read.manifest.get("study") not in (None, known.name):
        raise InputError(
            f"{results} has results of the study {read.manifest.get('study')!r}, and {study} is "
            f"{known.name!r}; name the results of this study with --results."
        )
    return Facts(known, read_run(study, run) if run is not None else None, read)


def read_run(study: str, folder: Path) -> RunFacts:
    """Read the record of a run from its ledger and tables."""
    import pandas as pd

    from conjury.analysis.report.paper.facts import RunFacts
    from conjury.inference.collecting import status
    from conjury.inference.collecting.provenance import FILE
    from conjury.inference.ledger import Ledger
    from conjury.inference.tables.files import read_table
    from conjury.inference.tables.limits import EXPORT_BYTES, parse_json, read_content

    tables = [folder / name for name in RESPONDENTS if (folder / name).is_file()]
    people = read_table(tables[0]) if tables else None
    if people is not None and not (folder / "ledger.sqlite").is_file():
        return RunFacts(folder.name, people=people)
    found = status(study, folder)
    with Ledger.open(found.folder / "ledger.sqlite", write=False) as ledger:
        inputs = ledger.get("inputs") or {}
    versions = found.folder / FILE
    served = (
        parse_json(read_content(versions, EXPORT_BYTES).decode("utf-8"))["served"]
        if versions.is_file()
        else []
    )
    judged = found.folder / "judgments.parquet"
    rules = sorted(set(read_table(judged)["rule"].dropna())) if judged.is_file() else []
    names = ("judge_id", "prompt_id", "state", "n", "prompt_tokens", "completion_tokens")
    counts = [{name: getattr(count, name) for name in names} for count in found.counts]
    return RunFacts(
        folder.name,
        inputs.get("judges") or {},
        served,
        inputs.get("subjects") or {},
        inputs.get("prompts") or {},
        pd.DataFrame(counts, columns=list(names)),
        found.judgments,
        rules,
        people,
    )
