"""The end of ``conjury collect``: what was answered, why it stopped, and what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from conjury.inference.errors import listed, money

from ...printing import console, one_line

if TYPE_CHECKING:
    from conjury.inference.collecting import Collected, Prepared, Tally


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
