"""What ``conjury design`` does for a conjoint, and ``conjury collect``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.study.models import load_any_study, load_study
from conjury.inference.tables.columns import listed

from .asking import Asking, Running, check_route, find_judge, find_pictures_of, find_prompts
from .run_words import console, show_plan, show_requests, tell_end
from .runs import has_outcomes, run_folder, write_tables

if TYPE_CHECKING:
    from conjury.inference.collecting.collect import Order, Plan, Tally
    from conjury.inference.collecting.runs import RunFolder
    from conjury.inference.collecting.spending import Budget
    from conjury.inference.ledger import Ledger

INTERRUPTED = 130


def draw(
    study: str, out: Path | None, pairs: int | None, swapped_share: float | None, seed: int | None
) -> None:
    """Draw profiles, tasks and posts of a conjoint into the run's folder, and tell what design they make."""
    from .design_card import tell_design

    known = load_study(study)
    folder = run_folder(known, out)
    design = folder.draw(known, pairs, swapped_share, seed)
    swapped = int(design.tasks["repeat"].sum()) // 2
    console.print(f"{known.title}: the design in {folder.path / 'design'}")
    console.print(
        f"  tasks.parquet     {len(design.tasks) // 2:,} tasks, {swapped:,} of them with sides swapped"
    )
    console.print(f"  profiles.parquet  {len(design.profiles):,} profiles with their attributes")
    console.print(f"  posts.parquet     what a judge is shown of them: {listed(design.posts.columns[1:])}")
    console.print("  card.html         what follows, with figures; its numbers are in card.csv\n")
    tell_design(known, design, folder.path / "design")


def collect_judgments(
    study: str, judge: str, prompts: Sequence[str] | None, out: Path | None, asking: Asking, running: Running
) -> int:
    """Ask one judge what it has not answered yet, and write the tables of the run; return an exit code."""
    from conjury.inference.collecting.batching import export_requests, release_unsent
    from conjury.inference.collecting.collect import Order, plan
    from conjury.inference.collecting.prices import read_prices
    from conjury.inference.collecting.run_inputs import begun_facts, merged_facts, run_facts
    from conjury.inference.collecting.spending import Budget
    from conjury.inference.ledger import Ledger
    from conjury.inference.parsing.reader import full_rules

    known = load_any_study(study)
    full_rules(known, running.rule)
    ask = find_judge(known, judge, asking)
    check_route(ask, known.responses, running)
    chosen = find_prompts(known, prompts, running.images, judge)
    folder = run_folder(known, out)
    prices = read_prices(running.prices)
    price = prices.of(ask.model) if ask.backend == "openai" else None
    budget = Budget(price, prices.per, running.batch, running.max_cost)
    if running.max_cost is not None and budget.price is None:
        raise InputError(
            f"--max-cost needs the price of {ask.model}, which is not in "
            f"{running.prices or 'the price table'}; add it to a table of your own, named with --prices."
        )
    pictures = find_pictures_of(known, folder, chosen, running)
    material = folder.material(known, running.pairs, running.images, not running.dry_run, pictures)
    facts = run_facts(known, judge, ask, chosen, material.facts, pictures.drawn if pictures else None)
    if running.dry_run:
        begun = folder.ledger.is_file()
        order = Order(
            *(known, judge, ask, chosen, material.subjects, material.count),
            folder.media(known, None, pictures),
            put_to=material.put_to,
        )
        with Ledger.open(folder.ledger, write=False) if begun else nullcontext() as opened:
            if opened is not None:
                merged_facts(begun_facts(opened.get("inputs"), opened.counts()), facts, folder.path)
            show_plan(order, plan(order, opened, budget), budget, prices, running)
        console.print("Nothing was sent (--dry-run).")
        return 0
    with Ledger.open(folder.ledger) as ledger:
        before = begun_facts(ledger.get("inputs"), ledger.counts())
        ledger.set("inputs", merged_facts(before, facts, folder.path))
        media = folder.media(known, ledger, pictures)
        order = Order(
            *(known, judge, ask, chosen, material.subjects, material.count, media), put_to=material.put_to
        )
        if not running.batch:
            release_unsent(ledger, judge)
        planned = plan(order, ledger, budget)
        show_plan(order, planned, budget, prices, running)
        if running.export is not None:
            written = export_requests(order, ledger, running.export, planned)
            console.print(f"{written:,} requests in {running.export}; nothing was sent.")
            return 0
        try:
            tally = _run(order, ledger, folder, budget, planned, running)
        except (ConjuryError, KeyboardInterrupt):
            if has_outcomes(ledger):
                console.print(f"Answers so far are in {folder.ledger}; `conjury parse` makes their tables.")
            raise
        if has_outcomes(ledger):
            write_tables(known, ledger, folder, material, prices, running.rule)
        waiting = sum(batch.n for batch in ledger.batches(judge, live=True))
    tell_end(known, study, folder, tally, waiting, planned.spent or 0.0, running.max_cost)
    if tally.stopped == "interrupted":
        return INTERRUPTED
    return 1 if tally.failed and not tally.answered else 0


def _run(
    order: Order, ledger: Ledger, folder: RunFolder, budget: Budget, planned: Plan, running: Running
) -> Tally:
    from conjury.inference.collecting.batching import collect_by_batch, import_results
    from conjury.inference.collecting.choose import Route, choose_backend
    from conjury.inference.collecting.collect import collect
    from conjury.inference.collecting.served import remember_engine

    if running.results is not None:
        return import_results(order, ledger, running.results, planned)
    with show_requests(order.total) as watch:
        if running.batch:
            return collect_by_batch(order, ledger, folder.batches, budget, planned, watch, wait=running.wait)
        route = Route(running.concurrency, running.recorded, running.weights)
        backend = choose_backend(order, folder, route)
        remember_engine(ledger, order.judge_id, backend.settings())
        return collect(order, ledger, backend, budget, planned, watch)
