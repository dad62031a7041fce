"""What the commands of this room read: the study, the record of its run, its results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import InputError

if TYPE_CHECKING:
    from conjury.analysis.report.paper.facts import Facts, RunFacts
    from conjury.inference.study.models import AnyStudy

RESPONDENTS = ("people/respondents.parquet", "respondents.parquet")


def gather(study: str, run: Path | None, results: Path | None) -> Facts:
    """Read a study, and its run and results where they are named."""
    from conjury.analysis.report.paper.facts import Facts
    from conjury.analysis.report.report_data import ReportData
    from conjury.inference.study import load_any_study

    loaded_study = load_any_study(study)
    report_data = ReportData(results) if results is not None else None
    if report_data is not None and report_data.manifest.get("study") not in (None, loaded_study.name):
        raise InputError(
            f"{results} contains results of the study {report_data.manifest.get('study')!r}, but {study} is "
            f"{loaded_study.name!r}; give the results of this study by --results."
        )
    return Facts(loaded_study, read_run(study, run) if run is not None else None, report_data)


def served_versions(run: Path) -> list[dict[str, Any]]:
    """Versions that answered in a run, as it has recorded them, with the times of first and last answers."""
    from conjury.inference.collecting.answering.provenance import read_provenance

    return list(read_provenance(run)["served"])


def read_run(study: str, folder: Path) -> RunFacts:
    """Read the record of a run from its ledger and tables."""
    import pandas as pd

    from conjury.analysis.report.paper.facts import RunFacts
    from conjury.inference.collecting import status
    from conjury.inference.ledger import Ledger
    from conjury.inference.study import load_any_study
    from conjury.inference.tables.files import read_table

    tables = [folder / name for name in RESPONDENTS if (folder / name).is_file()]
    people = read_table(tables[0]) if tables else None
    if people is not None and not (folder / "ledger.sqlite").is_file():
        return RunFacts(folder.name, people=people)
    run_status = status(study, folder)
    with Ledger.open(run_status.folder / "ledger.sqlite", write=False) as ledger:
        inputs = ledger.get("inputs") or {}
    judgments_file = run_status.folder / "judgments.parquet"
    rules = sorted(set(read_table(judgments_file)["rule"].dropna())) if judgments_file.is_file() else []
    names = ("judge_id", "prompt_id", "state", "n", "prompt_tokens", "completion_tokens")
    counts = [{name: getattr(count, name) for name in names} for count in run_status.counts]
    return RunFacts(
        folder.name,
        inputs.get("judges") or {},
        served_versions(run_status.folder),
        inputs.get("subjects") or {},
        _same_texts(load_any_study(study), inputs.get("prompts") or {}),
        pd.DataFrame(counts, columns=list(names)),
        run_status.judgments,
        rules,
        people,
    )


def _same_texts(study: AnyStudy, sent: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Prompts whose templates in the study's folder are those that a run has sent, by their SHA-256."""
    from conjury.inference.requests.templates import Templates

    templates = Templates(study.folder)
    files = {prompt.id: (("template", prompt.template), ("user", prompt.user)) for prompt in study.prompts}
    return [
        prompt
        for prompt, parts in files.items()
        if prompt in sent
        and all(sent[prompt].get(part) == (templates.sha256(name) if name else None) for part, name in parts)
    ]
