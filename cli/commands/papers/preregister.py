"""The command ``conjury paper preregister``: a study's design, analyses and rules, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...automation import record
from ...options import Alpha, StudyName, grouped, of_other_kind, refuse_typed
from ...printing import console

if TYPE_CHECKING:
    from conjury.inference.study.models import ItemStudy, Study

POWER = 0.8
CORRECTIONS = ("ppi", "covariate")


@dataclass(frozen=True)
class RegisteredSizes:
    """Sizes of a conjoint that are registered in place of the study's."""

    pairs: Annotated[
        int | None, typer.Option(min=1, help="Pairs that every model judges; else the study's.")
    ] = None
    respondents: Annotated[
        int | None, typer.Option(min=1, help="People of a conjoint; else the study's.")
    ] = None


@grouped
def preregister(
    study: StudyName,
    sizes: RegisteredSizes,
    template: Annotated[str, typer.Option(help="osf, aspredicted or dce (choice experiments).")] = "osf",
    run: Annotated[
        Path | None, typer.Option("--run", help="Folder of a run; its drawn design is registered as well.")
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="Only this judge; can be repeated. By default all of the study.")
    ] = None,
    alpha: Alpha = 0.05,
    correct: Annotated[
        str | None, typer.Option(help="Correction of people's estimates by models: ppi or covariate.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="File: .md, .docx or .tex; the JSON file is written next to it.")
    ] = Path("preregistration.md"),
) -> None:
    """Write a preregistration before data are collected.

    Hashes of study, prompts and design are written with it.
    """
    from conjury.analysis.numerics.intervals import check_alpha
    from conjury.analysis.report.paper.document_writing import check_ending, write_document
    from conjury.analysis.report.paper.preregistration import registration
    from conjury.analysis.report.paper.registration_text import in_words
    from conjury.inference.errors import InputError
    from conjury.inference.study import load_any_study
    from conjury.inference.tables.writing import write_text

    check_alpha(alpha)
    check_ending(out)
    if correct not in (None, *CORRECTIONS):
        raise InputError(f"--correct {correct}: there is no such correction; use {' or '.join(CORRECTIONS)}.")
    study_file = load_any_study(study)
    if study_file.kind != "conjoint":
        refuse_typed(of_other_kind(study, "items"), sizes)
    plan = registration(
        study_file,
        template=template,
        alpha=alpha,
        correct=correct,
        judges=judge or (),
        sample={name: size for name, size in vars(sizes).items() if size is not None},
        power=list(_power(study_file, alpha, judge, sizes)),
        design_files=_design(run),
    )
    data = out.with_suffix(".json")
    write_text(data, json.dumps(plan, indent=2, ensure_ascii=False) + "\n")
    write_document(in_words(plan), out)
    record(files=[out], registration=plan)
    console.print(
        f"Registration {plan['sha256'][:16]} of {study_file.name}: {out}, and {data} to compare results with."
    )
    console.print(f"Next, with results: conjury report NAME --results FOLDER --registered {data}")


def _design(run: Path | None) -> list[Path]:
    """Files of the drawn design of a run."""
    from conjury.inference.errors import InputError

    if run is None:
        return []
    files = sorted(path for path in (run / "design").glob("*") if path.is_file())
    if not files:
        raise InputError(f"{run} contains no design; draw one with `conjury design` first.")
    return files


def _power(
    study: Study | ItemStudy, alpha: float, judges: list[str] | None, sizes: RegisteredSizes
) -> Iterator[dict[str, Any]]:
    """Minimum detectable effects of each group of judges of a conjoint."""
    from conjury.analysis.conjoint.power.planned_study import find_groups, powers_of
    from conjury.inference.study.models import Study

    if not isinstance(study, Study):
        return
    assumed = {"tests": 1, "icc": 0.0, "reliability": None, "repeats": None, "stimulus_sd": None}
    for group in find_groups(study, judges, sizes.pairs, sizes.respondents, assumed):
        detectable, _, _ = powers_of(study, group, [0.1], (POWER, alpha))
        effects = detectable.frame["effect"].astype(float)
        yield {
            "label": group.label,
            "pairs": group.pairs,
            "power": POWER,
            "least": round(float(effects.min()), 6),
            "most": round(float(effects.max()), 6),
        }
