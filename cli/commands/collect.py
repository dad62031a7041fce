"""``conjury collect``: its options, the costs before a run, its progress, and its end."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.collecting.run_options import Asking, Running
from conjury.inference.errors import ConjuryError, InputError, listed, money

from ..automation import INTERRUPTED, event, record
from ..options import RunFolderPath, StudyName, grouped
from ..printing import console, duration, one_line, print_facts, show_requests
from .rechecks import record_recheck, record_reread, show_recheck, show_reread

if TYPE_CHECKING:
    from conjury.inference.backends.endpoints import Destination
    from conjury.inference.collecting import Collected, Prepared, Tally

SECONDS_A_LINE = 5.0  # between lines of progress in the log
SECONDS_A_REPORT = 60.0  # between lines of progress where there is no terminal
WINDOW = 60.0  # seconds over which the rate of answers is measured
SECONDS_AN_ANSWER = 1.0  # assumed until answers are there
PROVIDERS = {"openai": "OpenAI", "anthropic": "Anthropic", "google": "Google"}


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
        destination = _destination(plan)
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
        destination = _destination(done.prepared)
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
    destination = _destination(run)
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
    counts = {**_counts(done.tally), "waiting": done.waiting, "stopped": done.tally.stopped}
    record(done=counts | {"exported": done.exported, "errors": done.tally.errors}, account=done.account)
    record(
        files=[folder.ledger, *done.files] + [export for export in [done.prepared.running.export] if export]
    )
    event("collected", **counts, files=list(done.files))


def _counts(tally: Tally) -> dict[str, Any]:
    """Answers, failures by kind, costs and what the rule of stopping knows, so far."""
    in_batches = {"waiting": tally.waiting, "done": tally.done} if tally.waiting else {}
    return in_batches | {
        "passed": tally.passed,
        "answered": tally.answered,
        "failures": dict(tally.failed),
        "spent": tally.spent,
        "known": tally.known,
    }


def show_plan(run: Prepared, until: str | None = None) -> None:
    """Print the size of a run, its costs and about how long it takes; with ``until`` these are the most."""
    job, plan, running = run.job, run.plan, run.running
    ask, tokens, sent = job.ask, plan.tokens, plan.remaining
    ahead = sent + plan.waiting
    tokens_in, tokens_out = ahead * tokens.prompt, ahead * tokens.completion
    route = f"{PROVIDERS[ask.backend]}'s batch interface" if running.batch else ask.backend
    prompts = listed(prompt.id for prompt in job.prompts)
    samples = "sample" if ask.samples == 1 else "samples"
    source = "as answers so far" if plan.measured else "estimated from texts and pictures"
    lines = {
        "Judge": f"{job.judge_id}: {ask.model} by {route}",
        **_sent_to(run),
        "Subjects": f"{job.n_subjects:,} x {len(job.prompts)} prompts ({prompts}) x {ask.samples} "
        f"{samples}{_fewer_subjects(run)}{_facets_text(run)}",
        "Requests": f"{plan.total:,}: {plan.answered:,} answered, {plan.waiting:,} in batches, "
        f"{plan.failed:,} failed permanently, {sent:,} to send",
        "Tokens": f"about {tokens_in:,.0f} in and {tokens_out:,.0f} out ({source})",
        "Price": _price_line(run),
    }
    if running.batch:
        lines["Time"] = "within 24 hours of submission, according to the provider"
    elif ask.backend == "openai":
        time = duration(sent * SECONDS_AN_ANSWER / running.concurrency)
        lines["Time"] = f"about {time}, at one second per answer with {running.concurrency} in flight"
    if until is not None:
        lines["Until"] = f"{until}; requests, price and time are upper bounds"
    console.print(job.study.title)
    print_facts(lines)


def _sent_to(run: Prepared) -> dict[str, str]:
    """Name the server that requests go to, and the variable whose key goes with them."""
    destination = _destination(run)
    return {} if destination is None else {"Sent to": destination.in_words}


def _destination(run: Prepared) -> Destination | None:
    """Where a run sends requests; None where it sends none from here."""
    writes_results = run.running.export is not None or run.running.batch_results is not None
    return None if writes_results else run.job.destination


def _fewer_subjects(run: Prepared) -> str:
    """Name the prompts that some of the subjects only are judged under."""
    job = run.job
    fewer = [
        f"{prompt.id} for {job.put_to[prompt.id]:,}"
        for prompt in job.prompts
        if job.put_to.get(prompt.id, job.n_subjects) < job.n_subjects
    ]
    return f"; of the subjects {listed(fewer)}" if fewer else ""


def _facets_text(run: Prepared) -> str:
    """Describe the combinations of facets that an instrument asks, and the occasion."""
    instrument = run.job.study.instrument
    if instrument is None:
        return ""
    n_cells = len(run.job.cells)
    part = "" if instrument.fraction == 1 else f" (a fraction of {instrument.fraction:g})"
    later = "" if run.running.occasion == 1 else f"; anchors on occasion {run.running.occasion}"
    return f", in {n_cells:,} combinations of facets{part}{later}"


def _price_line(run: Prepared) -> str:
    plan, budget = run.plan, run.budget
    if run.job.ask.backend not in PROVIDERS:
        return "none, answers are generated on this machine"
    if budget.price is None:
        return "not known; give a table with the price of this model by --prices"
    spent_text = f"; spent so far {money(plan.spent)}" if plan.spent else ""
    limit = "" if budget.max_cost is None else f"; stops before {money(budget.max_cost)}"
    cost = f"about {run.prices.currency} {money(plan.cost or 0)}"
    return f"{cost} at prices of {budget.price.as_of}{spent_text}{limit}"


@contextmanager
def request_progress(total: int) -> Iterator[Callable[[Tally], None]]:
    """Show answers, failures, money and the time left: a bar on a terminal, else a line per minute."""
    with show_requests(total) as update:
        logged = printed = time.monotonic()
        rate = AnswerRate(total)

        def watch(tally: Tally) -> None:
            nonlocal logged, printed
            moment = time.monotonic()
            if moment - logged >= SECONDS_A_LINE:
                logged = moment
                event("progress", total=total, wait=round(tally.wait), **_counts(tally))
            n_failed = sum(tally.failed.values())
            spent_text = f", spent {money(tally.spent)}" if tally.spent else ""
            certainty = f", {tally.known}" if tally.known else ""
            text = f"{tally.answered:,} answers, {n_failed:,} failures{spent_text}{certainty}"
            if tally.waiting:
                text += f", {tally.waiting:,} in batches, of which {tally.done:,} are done"
            window = 10 * WINDOW if tally.waiting else WINDOW  # providers of batches state counts seldom
            text += rate.describe(moment, tally.answered + tally.done, window)
            if tally.wait:
                text += f", the server asks to wait {duration(tally.wait)}"
            update(min(max(tally.passed - tally.waiting, tally.answered) + tally.done, total), text)
            if moment - printed >= SECONDS_A_REPORT:
                printed = moment
                if not sys.stderr.isatty():
                    print(f"{total:,} requests: {text}", file=sys.stderr, flush=True)

        yield watch


class AnswerRate:
    """Answers per minute of late, and the time left at that rate."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._counts: deque[tuple[float, int]] = deque()

    def describe(self, moment: float, answered: int, window: float = WINDOW) -> str:
        """Note a number of answers; return the rate and the time left in words, empty at first."""
        self._counts.append((moment, answered))
        while len(self._counts) > 2 and self._counts[1][0] <= moment - window:
            self._counts.popleft()
        start, before = self._counts[0]
        if answered <= before or moment - start < 1.0:
            return ""
        rate = (answered - before) / (moment - start)
        end = f", {duration((self._total - answered) / rate)} left" if answered < self._total else ""
        return f", {60 * rate:,.0f} per minute{end}"


def show_end(done: Collected, study: str) -> None:
    """Print the results of a run, why it stopped and what comes next."""
    from conjury.inference.collecting.answering.answer_account import account_sentences
    from conjury.inference.collecting.answering.provenance import engine_notes, version_notes

    prepared, tally = done.prepared, done.tally
    if done.exported is not None:
        console.print(f"{done.exported:,} requests in {prepared.running.export}; nothing was sent.")
        return
    if done.files:
        console.print(f"Tables in {prepared.folder.path}: {listed(file.name for file in done.files)}")
    failures = [_times(tally.failed)] if tally.failed else []
    failures += [f"{_times(tally.repeated)} (sent again)"] if tally.repeated else []
    failure_text = "; ".join(failures) or "none"
    before = prepared.plan.spent or 0.0
    spent_text = f" Spent {money(tally.spent - before)}, in all {money(tally.spent)}." if tally.spent else ""
    console.print(f"{tally.answered:,} new answers; failed attempts: {failure_text}.{spent_text}")
    if tally.unstated:
        console.print(
            f"  {money(tally.unstated)} of it is an upper bound: {_cost_note(tally.n_unstated)} Without "
            "stated tokens, each byte of a request counts as one token, and its answer as the longest "
            "allowed."
        )
    for error, n in tally.errors.most_common(1):
        console.print(f"  {'most often' if len(tally.errors) > 1 else 'because'} ({n:,}): {one_line(error)}")
    for sentence in account_sentences(done.account, study) if done.account else ():
        console.print(one_line(sentence))
    for note in [*version_notes(prepared.folder.path), *engine_notes(prepared.folder.path)]:
        console.print(note)
    if done.waiting:
        console.print(
            f"{done.waiting:,} requests wait in batches, of which {tally.done:,} are done; the same command "
            "fetches them when their batches have ended."
        )
    if tally.known:
        console.print(_stopping_note(done) if tally.stopped == "until" else _rule_note(tally))
    if tally.stopped not in ("", "until"):
        console.print(_why_stopped(tally, prepared.running.max_cost or 0.0))
    elif done.account is not None and not done.rechecked and not done.waiting:
        console.print(_next_step(done, study))
        for line in _unread_steps(done, study):
            console.print(line)


def _times(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} x {kind}" for kind, n in sorted(kinds.items()))


def _unread_steps(done: Collected, study: str) -> Iterator[str]:
    """Name the commands that show, ask or read again what has no choice, where there is such an answer."""
    from conjury.inference.collecting.past_runs import run_folder

    folder, account = done.prepared.folder.path, done.account or {}
    counts = {
        name: account[name] for name in ("refused", "unparsed", "truncated", "empty") if account.get(name)
    }
    if not counts or not account["read"]:
        return
    out = "" if folder == run_folder(done.prepared.job.study, None).path else f" --out {folder}"
    statuses = " ".join(f"--status {name}" for name in counts)
    of_study = "" if study == done.prepared.job.study.name else f" --study {study}"
    views = "; ".join(f"conjury view {folder}{of_study} --filter {name}" for name in counts)
    yield f"To see {listed(f'{n:,} {name}' for name, n in counts.items())}: {views}"
    yield f"To ask these again: conjury run retry {study} {statuses}{out}, then the same command"
    if "unparsed" in counts:
        yield f"To read them by another rule: conjury run parse {study} --rule lenient{out}"


def _next_step(done: Collected, study: str) -> str:
    """Name what follows a run: the same command again, a look at answers that are not read, or `fit`."""
    from conjury.inference.study import Study

    prepared, account = done.prepared, done.account or {}
    if done.unanswered and prepared.running.batch_results is not None:
        return "Next: --batch-results with another file, or the same command without it: it asks the judge."
    if done.unanswered:
        return "Next: the same command again, which sends only what has no answer."
    if not account["answered"]:
        return "Next: correct the cause above; no request has an answer."
    if not account["read"]:
        return f"Next: conjury view {prepared.folder.path}; no answer could be read."
    subject = prepared.job.study
    of_pairs = isinstance(subject, Study)
    if not isinstance(subject, Study) and not (subject.scales or subject.label_sets):
        texts = prepared.folder.path / "judgments.parquet"
        return f"Next: conjury prepare RATING_STUDY --responses {texts} --out items.csv, to have them rated"
    answers = prepared.folder.path / ("choices.parquet" if of_pairs else "judgments.parquet")
    fit = f"conjury fit {study} --data {answers}"
    return _next_command(prepared, fit) if of_pairs else f"Next: {fit}"


def _next_command(prepared: Prepared, fit: str) -> str:
    """Name the command that follows: with tasks of people, it corrects by what people answer."""
    design, tasks = prepared.folder.design, prepared.running.tasks
    if design is None or design.panel is None:
        return f"Next: {fit}"
    if tasks == "panel":
        return (
            "Next: the same command with --tasks all, since --correct ppi needs answers to tasks that people "
            f"do not judge; then {fit} --data PEOPLE --correct ppi"
        )
    if tasks == "models" and design.panel_sha256() is not None:
        return f"Next: {fit}"
    return f"Next: {fit} --data PEOPLE --correct ppi, where PEOPLE is the file with people's choices"


def _stopping_note(done: Collected) -> str:
    """Say which rule was met, after how many tasks, and what was not spent."""
    prepared, tally = done.prepared, done.tally
    n_unsent = max(prepared.plan.remaining - tally.passed, 0)
    tokens = prepared.plan.tokens
    request_cost = prepared.budget.cost(tokens.prompt, tokens.completion, tokens.sound)
    saving_text = (
        f", about {prepared.prices.currency} {money(n_unsent * request_cost)}"
        if request_cost is not None
        else ""
    )
    return (
        f"Stopped (--until was met): after {tally.n_tasks:,} complete tasks {tally.known}. {n_unsent:,} "
        f"requests were not sent{saving_text}; the same command without --until sends them."
    )


def _rule_note(tally: Tally) -> str:
    """Say whether the rule was met in a run that it did not stop."""
    met = "was met, but stopped nothing" if tally.met else "was not met"
    return f"--until {met}: after {tally.n_tasks:,} complete tasks {tally.known}."


def _why_stopped(tally: Tally, max_cost: float) -> str:
    if tally.stopped == "interrupted":
        return "Stopped (interrupted); the same command resumes the run."
    if tally.stopped == "reserved":
        return (
            "The rest of --max-cost is reserved for the maximum cost of these requests; when they have "
            "ended, the same command resumes the run."
        )
    room = max(max_cost - tally.spent, 0.0)
    return (
        f"Stopped (--max-cost was reached): {money(room)} of {money(max_cost)} is left, and the next request "
        f"can cost up to {money(tally.next)}. The same command with a larger --max-cost resumes the run; "
        "max_tokens under `settings` of the judge limits the cost of an answer."
    )


def _cost_note(n: int) -> str:
    """Count the exchanges of a run without stated costs."""
    if not n:
        return "answers of earlier runs do not state their tokens."
    exchanges = "exchange of this run states" if n == 1 else "exchanges of this run state"
    return f"{n:,} {exchanges} no tokens (answers without `usage`, or answers that could not be parsed)."
