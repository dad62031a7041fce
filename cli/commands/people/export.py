"""The command `conjury export`: a study as a survey, an experiment or a project of another program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, counted
from conjury.inference.tables.limits import RESPONDENTS

from ...automation import record
from ...options import RunFolderPath, StudyName, at_most, grouped, refuse_typed
from ...printing import console

if TYPE_CHECKING:
    from conjury.inference.panel.elsewhere.prolific import Offer
    from conjury.inference.panel.elsewhere.study_export import Exported

MANY_FILES = 8


@dataclass(frozen=True)
class Presentation:
    """How many people there are, and how pictures are shown to them."""

    people: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of participations (slots); by default that of the run or study.",
            callback=at_most(RESPONDENTS),
        ),
    ] = None
    images: Annotated[
        bool | None,
        typer.Option(
            help="Show profiles as pictures drawn by `conjury render`; by default as in the run so far."
        ),
    ] = None
    pictures: Annotated[Path, typer.Option(help="Folder of these pictures.")] = Path("stimuli")
    media_url: Annotated[
        str | None,
        typer.Option(
            help="Address of the folder to which pictures and clips are uploaded (qualtrics, label-studio)."
        ),
    ] = None


@dataclass(frozen=True)
class OnProlific:
    """What people are offered on Prolific."""

    url: Annotated[str | None, typer.Option(help="Address of the study's pages; for prolific.")] = None
    minutes: Annotated[
        int | None, typer.Option(min=1, help="Estimated minutes of a visit; for prolific.")
    ] = None
    reward: Annotated[
        float | None, typer.Option(min=0, help="Reward per person, without Prolific's fee; for prolific.")
    ] = None


@grouped
def export(
    study: StudyName,
    presentation: Presentation,
    prolific: OnProlific,
    to: Annotated[str, typer.Option("--to", help="qualtrics, jspsych, label-studio or prolific.")],
    out: RunFolderPath = None,
) -> None:
    """Write a study for Qualtrics, jsPsych or Prolific.

    People answer it there, or in Label Studio; `conjury import` reads their answers.
    """
    from conjury.inference.panel.elsewhere.study_export import export_study

    offer = _offer(to, prolific)
    if presentation.media_url is not None and to not in ("qualtrics", "label-studio"):
        raise InputError(f"--media-url applies to qualtrics and label-studio, not to {to}; omit it.")
    result = export_study(
        study,
        to,
        out=out,
        people=presentation.people,
        images=presentation.images,
        pictures=presentation.pictures,
        media_url=presentation.media_url,
        offer=offer,
    )
    _print(result, to, study, out)


def _offer(to: str, prolific: OnProlific) -> Offer | None:
    options = {"--url": prolific.url, "--minutes": prolific.minutes, "--reward": prolific.reward}
    missing = [name for name, value in options.items() if value is None]
    if to != "prolific":
        refuse_typed("applies to --to prolific; omit it.", prolific)
        return None
    if missing:
        raise InputError(f"--to prolific needs {', '.join(options)}; add {missing[0]}.")
    from conjury.inference.panel.elsewhere.prolific import Offer

    assert prolific.url is not None
    assert prolific.minutes is not None
    assert prolific.reward is not None
    return Offer(prolific.url, prolific.minutes, prolific.reward)


def _print(result: Exported, to: str, study: str, out: Path | None) -> None:
    plan = result.plan
    slots = counted(len(plan.slots), "slot")
    record(folder=result.folder, slots=len(plan.slots), notes=list(result.notes))
    record(files=list(result.files))
    console.print(f"{plan.study.title}: {slots} for {to}, in {result.folder}")
    for file in result.files[:MANY_FILES]:
        console.print(f"  {file.relative_to(result.folder)}")
    if len(result.files) > MANY_FILES:
        console.print(f"  and {len(result.files) - MANY_FILES:,} more")
    for note in result.notes:
        console.print(f"  {note}")
    if to != "prolific":
        table = "choices" if plan.design is not None else "judgments"
        run = "" if out is None else f" --run {out}"
        console.print(
            f"Next: conjury import EXPORT --format {to} --study {study}{run} --out {table}.parquet, once "
            "people have answered"
        )
