"""What ``conjury collect`` prints before a run: its size, its costs, and where requests go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conjury.inference.errors import listed, money

from ...printing import console, duration, print_facts

if TYPE_CHECKING:
    from conjury.inference.backends.endpoints import Destination
    from conjury.inference.collecting import Prepared

SECONDS_AN_ANSWER = 1.0  # assumed until answers are there
PROVIDERS = {"openai": "OpenAI", "anthropic": "Anthropic", "google": "Google"}


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
    destination = destination_of(run)
    return {} if destination is None else {"Sent to": destination.in_words}


def destination_of(run: Prepared) -> Destination | None:
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
