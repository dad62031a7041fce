"""``conjury collect``: its options, and the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.collecting.run_options import Asking, Running
from conjury.inference.errors import ConjuryError, InputError

from ...automation import INTERRUPTED, event, record
from ...options import RunFolderPath, StudyName, grouped
from ...printing import console
from .collection_end import show_end
from .collection_plan import destination_of, show_plan
from .collection_progress import counts_of, request_progress
from .rechecks import record_recheck, record_reread, show_recheck, show_reread

if TYPE_CHECKING:
    from conjury.inference.collecting import Collected, Prepared


@grouped
def collect(
    study: StudyName,
    judge: Annotated[str, typer.Option(help="Judge of the study file, or a name of your own with --model.")],
    asking: Asking,
    running: Running,
    out: RunFolderPath = None,
    prompt: Annotated[list[str] | None, typer.Option(help="Only this prompt; can be repeated.")] = None,
    stimuli: Annotated[
        str, typer.Option(help="text; images (files of `conjury render`); or links (their addresses).")
    ] = "text",
    until: Annotated[
        str | None,
        typer.Option(
            help="Stop when intervals are narrow: 'ci(NAME) < WIDTH', the width of a 95% interval that is "
            "valid at every look; NAME is an attribute, ATTRIBUTE=LEVEL, a scale or mean; join several "
            "by 'and'."
        ),
    ] = None,
    reread: Annotated[
        str | None,
        typer.Option(
            help="Have this model, or judge of the study file, state the verdicts of answers of --judge "
            "that no rule reads; options of asking apply to it."
        ),
    ] = None,
    reread_sample: Annotated[
        int, typer.Option(min=0, help="Answers that rules read, to compare --reread with the rules.")
    ] = 50,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show requests, tokens, price and time; send nothing.")
    ] = False,
) -> None:
    """Collect the missing answers of a model; resumes.

    Run it again to resume; nothing that was answered is asked twice.
    """
    if stimuli not in ("text", "images", "links"):
        raise InputError(f"--stimuli {stimuli}: posts are shown as text, images or links; use one of these.")
    raise typer.Exit(
        collect_and_show(
            study,
            judge,
            prompts=prompt,
            out=out,
            asking=asking,
            running=replace(running, images=stimuli != "text", links=stimuli == "links"),
            dry_run=dry_run,
            until=until,
            reread=reread,
            reread_sample=reread_sample,
        )
    )


def collect_and_show(
    study: str,
    judge: str,
    *,
    dry_run: bool = False,
    until: str | None = None,
    reread: str | None = None,
    reread_sample: int = 50,
    **call: Any,
) -> int:
    """Collect, with the costs before, progress and the end on the console; return an exit code."""
    from conjury.inference.collecting.run import collect as run
    from conjury.inference.collecting.run import preview

    if reread is not None:
        if until is not None:
            raise InputError("--until stops a run of new answers, and --reread reads old ones; omit one.")
        return reread_and_show(study, judge, reread, sample=reread_sample, dry_run=dry_run, **call)
    rule = None if until is None else _stopping_rule(study, until)
    show = partial(_begin, until=until)
    if dry_run:
        plan = preview(study, judge, **call)
        show(plan)
        console.print("Nothing was sent (--dry-run).")
        destination = destination_of(plan)
        if destination is not None:
            destination.check()
        return 0
    try:
        done = run(study, judge, **call, before=show, watch=request_progress, until=rule)
        _record_end(done)
        changes = record_recheck(done)
    except (ConjuryError, KeyboardInterrupt) as error:
        for note in getattr(error, "__notes__", ()):
            console.print(note)
        raise
    show_end(done, study)
    if changes is not None:
        show_recheck(done, changes)
    if done.tally.stopped == "interrupted":
        return INTERRUPTED
    return 1 if done.tally.failed and not done.tally.answered else 0


def reread_and_show(study: str, judge: str, reader: str, *, dry_run: bool, **call: Any) -> int:
    """Have a second reader state what no rule reads, with costs and agreement; return an exit code."""
    from conjury.inference.collecting.answering.rereading import reread

    done = reread(study, judge, reader, **call, dry_run=dry_run, before=_begin, watch=request_progress)
    if dry_run:
        console.print("Nothing was sent (--dry-run).")
        destination = destination_of(done.prepared)
        if destination is not None:
            destination.check()
        return 0
    _record_end(replace(done, account=None))
    shares = record_reread(done)
    show_end(replace(done, account=None), study)
    if shares is not None:
        show_reread(done, shares, study)
    if done.tally.stopped == "interrupted":
        return INTERRUPTED
    return 1 if done.tally.failed and not done.tally.answered else 0


def _stopping_rule(study: str, until: str) -> Callable[..., tuple[bool, str]]:
    from conjury.analysis.pipeline.until import stopping_rule
    from conjury.inference.study.load import load_any_study

    return stopping_rule(load_any_study(study), until)


def _begin(run: Prepared, until: str | None = None) -> None:
    """Print and record the size and the costs of a run before anything is sent."""
    job, plan = run.job, run.plan
    counts = {name: getattr(plan, name) for name in ("total", "answered", "waiting", "failed", "remaining")}
    tokens = {"prompt": plan.tokens.prompt, "completion": plan.tokens.completion}
    destination = destination_of(run)
    if destination is not None:
        sent_to = {"address": destination.address.url, "key_variable": destination.key_variable}
        record(sent_to=sent_to)
    costs = {"expected": plan.cost, "spent": plan.spent, "currency": run.prices.currency}
    judge: dict[str, Any] = {"judge": job.judge_id, "model": job.ask.model, "backend": job.ask.backend}
    judge |= {"prompts": [prompt.id for prompt in job.prompts], "samples": job.ask.samples}
    record(folder=run.folder.path, plan={**judge, "requests": counts, "tokens": tokens, "cost": costs})
    event("planned", folder=run.folder.path, **judge, requests=counts, cost=costs)
    show_plan(run, until)
    for note in run.notes:
        console.print(note)


def _record_end(done: Collected) -> None:
    """Record what a run did, why it stopped and which files it has written."""
    folder = done.prepared.folder
    counts = {**counts_of(done.tally), "waiting": done.waiting, "stopped": done.tally.stopped}
    record(done=counts | {"exported": done.exported, "errors": done.tally.errors}, account=done.account)
    record(
        files=[folder.ledger, *done.files] + [export for export in [done.prepared.running.export] if export]
    )
    event("collected", **counts, files=list(done.files))
