"""What is said of a run: how much there is to ask, how far it is, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conjury.inference.study.models import ItemStudy, Study
from conjury.inference.tables.columns import listed

if TYPE_CHECKING:
    from conjury.inference.collecting.collect import Order, Plan, Tally
    from conjury.inference.collecting.prices import Prices
    from conjury.inference.collecting.runs import RunFolder
    from conjury.inference.collecting.spending import Budget

    from .asking import Running

console = Console(highlight=False, markup=False, soft_wrap=True)
SECONDS_AN_ANSWER = 1.0  # assumed until answers are there


def show_plan(order: Order, planned: Plan, budget: Budget, prices: Prices, running: Running) -> None:
    """Print how much there is to ask, what it will cost and about how long it will take."""
    ask, tokens, sent = order.ask, planned.tokens, planned.remaining
    ahead = sent + planned.waiting
    tokens_in, tokens_out = ahead * tokens.prompt, ahead * tokens.completion
    route = "OpenAI's batch interface" if running.batch else ask.backend
    prompts = listed(prompt.id for prompt in order.prompts)
    samples = "sample" if ask.samples == 1 else "samples"
    source = "as answers so far" if planned.measured else "guessed from texts and pictures"
    lines = {
        "Judge": f"{order.judge_id}: {ask.model} by {route}",
        "Subjects": f"{order.n_subjects:,} x {len(order.prompts)} prompts ({prompts}) x {ask.samples} "
        f"{samples}{_partly(order)}",
        "Requests": f"{planned.total:,}: {planned.answered:,} answered, {planned.waiting:,} in batches, "
        f"{planned.failed:,} failed for good, {sent:,} to send",
        "Tokens": f"about {tokens_in:,.0f} in and {tokens_out:,.0f} out ({source})",
        "Price": _price_line(planned, budget, prices, ask.backend),
    }
    if running.batch:
        lines["Time"] = "within 24 hours of submission, as the provider promises"
    elif ask.backend == "openai":
        time = _duration(sent * SECONDS_AN_ANSWER / running.concurrency)
        lines["Time"] = f"about {time}, if an answer takes a second and {running.concurrency} are in flight"
    console.print(order.study.title)
    for name, text in lines.items():
        console.print(f"  {name:<9} {text}")


def _partly(order: Order) -> str:
    """Say which prompts are put to some of the subjects only."""
    fewer = [
        f"{prompt.id} to {order.put_to[prompt.id]:,}"
        for prompt in order.prompts
        if order.put_to.get(prompt.id, order.n_subjects) < order.n_subjects
    ]
    return f"; of the subjects {listed(fewer)}" if fewer else ""


def _price_line(planned: Plan, budget: Budget, prices: Prices, backend: str) -> str:
    if backend != "openai":
        return "none for answers, which are made on this machine"
    if budget.price is None:
        return "not known; name a table with the price of this model with --prices"
    spent = f"; spent so far {_money(planned.spent)}" if planned.spent else ""
    limit = "" if budget.max_cost is None else f"; stops before {_money(budget.max_cost)}"
    return (
        f"about {prices.currency} {_money(planned.cost or 0)} at prices of {budget.price.as_of}{spent}{limit}"
    )


def _money(amount: float) -> str:
    return "under 0.01" if 0 < amount < 0.01 else f"{amount:,.2f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def tell_end(
    study: Study | ItemStudy,
    name: str,
    folder: RunFolder,
    tally: Tally,
    waiting: int,
    before: float,
    max_cost: float | None = None,
) -> None:
    """Print what a run brought, why it stopped and what comes next; ``before`` was spent before it."""
    failed = ", ".join(f"{n:,} x {kind}" for kind, n in sorted(tally.failed.items())) or "none"
    spent = f" Spent {_money(tally.spent - before)}, in all {_money(tally.spent)}." if tally.spent else ""
    console.print(f"{tally.answered:,} new answers; failed attempts: {failed}.{spent}")
    if tally.unstated:
        console.print(
            f"  {_money(tally.unstated)} of it is an upper bound: {_unstated(tally.n_unstated)} Where no "
            "tokens are stated, each byte of a request counts as one, and its answer as the longest that it "
            "allows."
        )
    for error, n in tally.errors.most_common(1):
        console.print(f"  {'most often' if len(tally.errors) > 1 else 'because'} ({n:,}): {error}")
    if waiting:
        console.print(
            f"{waiting:,} requests wait in batches; the same command fetches them when they have ended."
        )
    if tally.stopped == "interrupted":
        console.print("Stopped (interrupted); the same command goes on from here.")
    elif tally.stopped == "reserved":
        console.print(
            "The rest of --max-cost is reserved for the most that these can cost; when they have ended, the "
            "same command goes on from here."
        )
    elif tally.stopped:
        left = max((max_cost or 0.0) - tally.spent, 0.0)
        console.print(
            f"Stopped (--max-cost was reached): {_money(left)} of {_money(max_cost or 0.0)} is left, and the "
            f"next request can cost up to {_money(tally.next)}. The same command with a larger --max-cost "
            "goes on from here; max_tokens under `settings` of the judge limits what an answer costs."
        )
    elif not waiting and not (tally.failed and not tally.answered) and isinstance(study, Study):
        choices = folder.path / "choices.parquet"
        if choices.is_file():
            console.print(f"Next: conjury fit {name} --data {choices}")


def _unstated(n: int) -> str:
    """Say how many exchanges of a run do not state their cost."""
    if not n:
        return "answers of earlier runs do not state their tokens."
    exchanges = "exchange of this run states" if n == 1 else "exchanges of this run state"
    return f"{n:,} {exchanges} no tokens (answers without `usage`, or answers that could not be read)."


@contextmanager
def show_requests(total: int) -> Iterator[Callable[[Tally], None]]:
    """Show a bar of requests on a terminal, with answers, failures and money."""
    terminal = Console(stderr=True)
    columns = (
        TextColumn("Asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("", total=total)

        def watch(tally: Tally) -> None:
            failed = sum(tally.failed.values())
            said = f"{tally.answered:,} answers, {failed:,} failures"
            money = f", spent {_money(tally.spent)}" if tally.spent else ""
            bar.update(task, completed=min(tally.passed, total), description=said + money)

        yield watch
