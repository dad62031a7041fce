"""``conjury run``: what becomes of a run that was begun."""

from __future__ import annotations

from typing import Annotated

import typer

from conjury.inference.errors import InputError, listed

from ...automation import record
from ...options import PriceTable, Rule, RunFolderPath, StudyName
from ...printing import console, one_line, print_table


def status(study: StudyName, out: RunFolderPath = None) -> None:
    """Show the progress of a run."""
    from conjury.analysis.frames.word_table import WordTable
    from conjury.inference.collecting import status as status_of
    from conjury.inference.collecting.answering.answer_account import account_sentences
    from conjury.inference.collecting.answering.provenance import engine_notes, version_notes

    progress = status_of(study, out)
    notes = [*version_notes(progress.folder), *engine_notes(progress.folder)] if progress.counts else []
    record(
        folder=progress.folder,
        requests=progress.counts,
        batches=progress.batches,
        judgments=progress.judgments,
        accounts=progress.accounts,
        notes=notes,
    )
    if not progress.counts:
        console.print(f"{progress.study.title}: no requests have been sent yet in {progress.folder}.")
        return
    head = ("judge", "prompt", "state", "requests", "tokens in", "tokens out")
    rows = []
    for count in progress.counts:
        state = f"{count.state}, {count.batch}" if count.batch else count.state
        numbers = (f"{number:,}" for number in (count.n, count.prompt_tokens, count.completion_tokens))
        rows.append((count.judge_id, count.prompt_id, state, *numbers))
    print_table(WordTable(f"{progress.study.title}: {progress.folder}", head, rows, words=range(3)))
    for batch in progress.batches:
        detail = f": {one_line(batch.detail)}" if batch.detail else ""
        console.print(
            f"  batch {batch.shard} of {batch.judge_id}, {batch.n:,} requests, {batch.state}{detail}"
        )
    if len(progress.judgments):
        console.print("Judgments by status, when last parsed:")
    for row in progress.judgments.itertuples():
        console.print(f"  {row.judge_id} {row.prompt_id} {row.status}: {row.n:,}")
    for account in progress.accounts:
        for sentence in account_sentences(account, study):
            console.print(one_line(sentence))
    for note in notes:
        console.print(note)


def retry(
    study: StudyName,
    status: Annotated[
        list[str], typer.Option(help="error, refused, empty, truncated, unparsed or ok; can be repeated.")
    ],
    judge: Annotated[str | None, typer.Option(help="Only this judge.")] = None,
    out: RunFolderPath = None,
) -> None:
    """Mark requests to be sent again.

    The next `conjury collect` sends them; their earlier answers are kept.
    """
    from conjury.inference.collecting import retry as mark

    marked, judges = mark(study, status, judge=judge, out=out)
    record(marked=marked, judges=list(judges))
    if not marked:
        console.print(f"Nothing to retry: no request has the status {' or '.join(status)}.")
        return
    requests = "request" if marked == 1 else "requests"
    folder = "" if out is None else f" --out {out}"
    console.print(
        f"{marked:,} {requests} with status {listed(status)} will be sent again (judges: {listed(judges)}); "
        f"run `conjury collect {study} --judge ...{folder}`. Their earlier answers are kept in the ledger."
    )


def parse(
    study: StudyName, out: RunFolderPath = None, rule: Rule = "default", prices: PriceTable = None
) -> None:
    """Read the answers of a run again by another rule.

    Writes the tables of the run; no requests are sent.
    """
    from conjury.inference.collecting import parse as parse_again
    from conjury.inference.parsing import explain

    files, rules = parse_again(study, rule, out=out, prices=prices)
    record(rules={name: explain(name) for name in rules})
    console.print(f"Tables in {files[0].parent}: {listed(file.name for file in files)}")
    for name in rules if rule != "default" else ():
        console.print(explain(name))


def verify(study: StudyName, out: RunFolderPath = None) -> None:
    """Verify the ledger of a run; exit code 1 if it is damaged."""
    from conjury.inference.collecting.past_runs import verify as verify_run

    verified = verify_run(study, out)
    problems = verified.problems
    record(ledger=verified.ledger, requests=verified.requests, problems=problems, unproven=verified.unproven)
    for problem in problems:
        console.print(f"  {problem}")
    damage = f"{len(problems)} problems" if problems else "no damage"
    console.print(f"{verified.ledger}: {verified.requests:,} requests, {damage}.")
    if verified.unproven:
        console.print(verified.unproven)
    if verified.unlike:
        raise InputError(verified.unlike)
    raise typer.Exit(1 if problems else 0)
