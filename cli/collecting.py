"""What ``conjury design``, ``collect``, ``status``, ``retry``, ``parse`` and ``ledger verify`` do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from conjury.inference.columns import did_you_mean, listed
from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.study import ItemStudy, Study, load_any_study, load_study
from conjury.inference.study_asking_checks import unfit_answer

if TYPE_CHECKING:
    from conjury.inference.collect import Budget, Order, Plan, Tally
    from conjury.inference.collecting_parts import Response, Sampling
    from conjury.inference.ledger import Ledger
    from conjury.inference.pictures import Pictures
    from conjury.inference.prices import Prices
    from conjury.inference.runs import Material, RunFolder
    from conjury.inference.study_parts import Prompt

console = Console(highlight=False, markup=False, soft_wrap=True)
INTERRUPTED = 130
SECONDS_AN_ANSWER = 1.0  # assumed until answers are there


@dataclass(frozen=True)
class Asking:
    """Options of ``collect`` that say how a judge is asked; None keeps what the study file says."""

    backend: str | None = None
    model: str | None = None
    base_url: str | None = None
    key_variable: str | None = None
    answer: str | None = None
    samples: int | None = None

    def changed(self) -> dict[str, Any]:
        """Return the options that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Running:
    """Options of ``collect`` that say how a run goes."""

    pairs: int | None = None
    images: bool = False
    links: bool = False
    pictures: Path = Path("stimuli")
    concurrency: int = 64
    max_cost: float | None = None
    prices: Path | None = None
    batch: bool = False
    wait: bool = False
    dry_run: bool = False
    rule: str = "default"
    recorded: Path | None = None
    export: Path | None = None
    results: Path | None = None
    weights: Path | None = None


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
    from conjury.inference.answer_forms import full_rules
    from conjury.inference.batching import export_requests, release_unsent
    from conjury.inference.collect import Budget, Order, plan
    from conjury.inference.facts import begun_facts, merged_facts, run_facts
    from conjury.inference.ledger import Ledger
    from conjury.inference.prices import read_prices

    known = load_any_study(study)
    full_rules(known, running.rule)
    ask = find_judge(known, judge, asking)
    _check_route(ask, known.responses, running)
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
    pictures = _find_pictures(known, folder, chosen, running)
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
            console.print(f"Answers so far are in {folder.ledger}; `conjury parse` makes their tables.")
            raise
        write_tables(known, ledger, folder, material, prices, running.rule)
        waiting = sum(batch.n for batch in ledger.batches(judge, live=True))
    _tell_end(known, study, folder, tally, waiting, planned.spent or 0.0)
    if tally.stopped == "interrupted":
        return INTERRUPTED
    return 1 if tally.failed and not tally.answered else 0


def _run(
    order: Order, ledger: Ledger, folder: RunFolder, budget: Budget, planned: Plan, running: Running
) -> Tally:
    from conjury.inference.backends.choose import Route, choose_backend
    from conjury.inference.batching import collect_by_batch, import_results
    from conjury.inference.collect import collect
    from conjury.inference.engines import remember_engine

    if running.results is not None:
        return import_results(order, ledger, running.results, planned)
    with show_requests(order.total) as watch:
        if running.batch:
            return collect_by_batch(order, ledger, folder.batches, budget, planned, watch, wait=running.wait)
        route = Route(running.concurrency, running.recorded, running.weights)
        backend = choose_backend(order, folder, route)
        remember_engine(ledger, order.judge_id, backend.settings())
        return collect(order, ledger, backend, budget, planned, watch)


def _find_pictures(
    study: Study | ItemStudy, folder: RunFolder, prompts: Sequence[Prompt], running: Running
) -> Pictures | None:
    """Find the pictures of a conjoint's profiles, where these are shown."""
    from conjury.inference.pictures import find_pictures

    if not running.images or isinstance(study, ItemStudy):
        return None
    design = folder.design or folder.draw(study, None, None, None, keep=not running.dry_run)
    usual = folder.path == run_folder(study, None).path
    return find_pictures(
        *(study, design, prompts, running.pictures),
        pairs=running.pairs,
        links=running.links,
        run=None if usual else folder.path,
    )


def find_judge(study: Study | ItemStudy, name: str, asking: Asking) -> Sampling:
    """Say how a judge is asked: as the study file says, changed by options, or by options alone."""
    from pydantic import ValidationError

    from conjury.inference.collecting_parts import Sampling, with_answer
    from conjury.inference.study_words import in_words

    judge = next((judge for judge in study.judges if judge.id == name), None)
    if judge is not None and judge.kind == "human":
        raise InputError(f"--judge {name}: these are people; their answers come in by `conjury import`.")
    given = asking.changed()
    if (judge is None or judge.ask is None) and "model" not in given:
        if "base_url" not in given:
            able = [known.id for known in study.judges if known.ask is not None]
            hint = did_you_mean(name, able) if judge is None else ""
            raise InputError(
                f"--judge {name}: the study file does not say how to ask this judge{hint}; name one of "
                f"{listed(able)}, or say --model, and --base-url where it is served."
            )
        from conjury.inference.backends.serving import served_model

        given["model"] = served_model(given["base_url"], given.get("key_variable", "OPENAI_API_KEY"))
    before = {} if judge is None or judge.ask is None else judge.ask.model_dump()
    try:
        return with_answer(Sampling.model_validate({**before, **given}), *study.responses)
    except ValidationError as problems:
        first = problems.errors()[0]
        option = "--" + str(first["loc"][0]).replace("_", "-") if first["loc"] else "the options"
        raise InputError(f"{option} {first['input']!r}: {in_words(first)}; correct it.") from None


def _check_route(ask: Sampling, responses: Sequence[Response], running: Running) -> None:
    """Refuse options that do not go together."""
    if running.batch and ask.backend != "openai":
        raise InputError(f"--batch sends requests to OpenAI, not to {ask.backend}; leave out one of the two.")
    if running.wait and not running.batch:
        raise InputError("--wait is about batches; add --batch, or leave it out.")
    if running.export is not None and (running.batch or running.results is not None):
        raise InputError("--export writes requests and sends none; leave out --batch and --results.")
    if running.weights is not None and ask.backend not in ("vllm", "ray"):
        raise InputError(f"--weights is for vllm and ray, not for {ask.backend}; leave it out.")
    if running.recorded is not None and ask.backend != "replay":
        raise InputError("--recorded is the table that --backend replay reads; add that, or leave it out.")
    unfit = next(filter(None, (unfit_answer(ask.answer, response.form) for response in responses)), None)
    if unfit is not None:
        raise InputError(f"--answer {ask.answer}: {unfit}")


def find_prompts(
    study: Study | ItemStudy, names: Sequence[str] | None, images: bool, judge: str = ""
) -> list[Prompt]:
    """Select prompts: those that are named, else those of the judge that differ for what is shown."""
    known = {prompt.id: prompt for prompt in study.prompts}
    for name in names or ():
        if name not in known:
            raise InputError(
                f"--prompt {name}: there is no such prompt{did_you_mean(name, known)}; use {listed(known)}."
            )
        if known[name].stimuli == "images" and not images:
            raise InputError(
                f"--prompt {name}: this prompt differs from others in the pictures alone; add "
                "--stimuli images."
            )
    if names:
        return [known[name] for name in dict.fromkeys(names)]
    mine = next((part.prompts for part in study.judges if part.id == judge), None) or list(known)
    usable = [known[name] for name in mine if images or known[name].stimuli == "any"]
    if not usable:
        raise InputError(f"Study {study.name} has no prompts; write at least one into the study file.")
    return usable


def run_folder(study: Study | ItemStudy, out: Path | None) -> RunFolder:
    """Find the folder of a run: ``runs/STUDY`` unless another one is named."""
    from conjury.inference.runs import RunFolder

    return RunFolder(Path("runs") / study.name if out is None else out)


def open_run(study: str, out: Path | None) -> tuple[Study | ItemStudy, RunFolder]:
    """Find a run that has a ledger."""
    known = load_any_study(study)
    folder = run_folder(known, out)
    if not folder.ledger.is_file():
        raise InputError(
            f"{folder.path} holds no run; start one with `conjury collect` or name it with --out."
        )
    return known, folder


def asked_material(study: Study | ItemStudy, folder: RunFolder, ledger: Ledger) -> Material:
    """Gather what was shown in a run; refuse a study that has changed since."""
    from conjury.inference.facts import check_answers, check_study, study_facts

    inputs = ledger.get("inputs") or {}
    stimuli = inputs.get("subjects", {}).get("stimuli")
    material = folder.material(study)
    if stimuli is not None:
        material = replace(material, facts=material.facts | {"stimuli": stimuli})
    check_study(inputs, study_facts(study, material.facts), folder.path)
    check_answers(inputs, study, folder.path)
    return material


def write_tables(
    study: Study | ItemStudy,
    ledger: Ledger,
    folder: RunFolder,
    material: Material,
    prices: Prices,
    rule: str,
) -> None:
    """Read all answers and write responses, judgments and choices."""
    from conjury.inference.exporting import run_tables

    models: dict[str, str] = {
        name: ask["model"] for name, ask in (ledger.get("inputs") or {}).get("judges", {}).items()
    }

    def cost(judge: str, prompt_tokens: float, completion_tokens: float, batch: bool) -> float | None:
        price = prices.of(models.get(judge, ""))
        return None if price is None else price.cost(prompt_tokens, completion_tokens, prices.per, batch)

    made = run_tables(
        study,
        ledger.answers(),
        rule=rule,
        cost=cost,
        shown=material.shown,
        lines=material.lines,
        tasks=material.tasks,
        profiles=material.profiles,
    )
    files = made.write(folder.path)
    console.print(f"Tables in {folder.path}: {listed(file.name for file in files)}")


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


def _tell_end(
    study: Study | ItemStudy, name: str, folder: RunFolder, tally: Tally, waiting: int, before: float
) -> None:
    failed = ", ".join(f"{n:,} x {kind}" for kind, n in sorted(tally.failed.items())) or "none"
    spent = f" Spent {_money(tally.spent - before)}, in all {_money(tally.spent)}." if tally.spent else ""
    console.print(f"{tally.answered:,} new answers; failed attempts: {failed}.{spent}")
    for error, n in tally.errors.most_common(1):
        console.print(f"  {'most often' if len(tally.errors) > 1 else 'because'} ({n:,}): {error}")
    if waiting:
        console.print(
            f"{waiting:,} requests wait in batches; the same command fetches them when they have ended."
        )
    if tally.stopped:
        why = "--max-cost was reached" if tally.stopped == "max-cost" else "interrupted"
        console.print(f"Stopped ({why}); the same command goes on from here.")
    elif not waiting and not (tally.failed and not tally.answered) and isinstance(study, Study):
        choices = folder.path / "choices.parquet"
        if choices.is_file():
            console.print(f"Next: conjury fit {name} --data {choices}")


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


def show_status(study: str, out: Path | None) -> None:
    """Print how far a run is: requests by judge, prompt and state, batches, and statuses of judgments."""
    import pandas as pd

    from conjury.inference.ledger import Ledger

    known, folder = open_run(study, out)
    with Ledger.open(folder.ledger, write=False) as ledger:
        counts, batches = ledger.counts(), ledger.batches()
    if not counts:
        console.print(f"{known.title}: nothing was asked yet in {folder.path}.")
        return
    table = Table("judge", "prompt", "state", title=f"{known.title}: {folder.path}")
    for name in ("requests", "tokens in", "tokens out"):
        table.add_column(name, justify="right")
    for count in counts:
        state = f"{count.state}, {count.batch}" if count.batch else count.state
        numbers = (f"{number:,}" for number in (count.n, count.prompt_tokens, count.completion_tokens))
        table.add_row(count.judge_id, count.prompt_id, state, *numbers)
    console.print(table)
    for batch in batches:
        detail = f": {batch.detail}" if batch.detail else ""
        console.print(
            f"  batch {batch.shard} of {batch.judge_id}, {batch.n:,} requests, {batch.state}{detail}"
        )
    judgments = folder.path / "judgments.parquet"
    if judgments.is_file():
        read = pd.read_parquet(judgments, columns=["judge_id", "prompt_id", "status"])
        shares = read.groupby(["judge_id", "prompt_id", "status"], observed=True).size()
        console.print("Judgments by status, as last parsed:")
        for row in shares.reset_index(name="n").itertuples():
            console.print(f"  {row.judge_id} {row.prompt_id} {row.status}: {row.n:,}")


def retry(study: str, out: Path | None, statuses: Sequence[str], judge: str | None) -> None:
    """Mark requests to be asked again; the answers so far stay in the ledger."""
    from conjury.inference.exporting import run_tables
    from conjury.inference.ledger import Ledger
    from conjury.inference.tables import STATUSES

    able = [status for status in STATUSES if status != "missing"]
    for status in statuses:
        if status not in able:
            raise InputError(
                f"--status {status}: there is no such status{did_you_mean(status, able)}; use {listed(able)}."
            )
    known, folder = open_run(study, out)
    with Ledger.open(folder.ledger) as ledger:
        material = asked_material(known, folder, ledger)
        asked = list((ledger.get("inputs") or {}).get("judges", {}))
        if judge is not None and judge not in asked:
            hint = did_you_mean(judge, asked)
            raise InputError(f"--judge {judge}: this run never asked it{hint}; use {listed(asked)}.")
        read = run_tables(known, ledger.answers(judge), shown=material.shown, lines=material.lines).judgments
        wanted = read[read["status"].isin(list(statuses))]
        keys = wanted["request_key"].unique().tolist()
        marked = ledger.ask_again(keys)
    judges = listed(sorted(set(wanted["judge_id"]))) or "none"
    console.print(
        f"{marked:,} requests with status {listed(statuses)} will be asked again (judges: {judges}); run "
        f"`conjury collect {study} --judge ...`. Their earlier answers stay in the ledger."
    )


def parse(study: str, out: Path | None, rule: str, prices: Path | None) -> None:
    """Read the answers of a run again and write its tables; nothing is sent."""
    from conjury.inference.answer_forms import full_rules
    from conjury.inference.ledger import Ledger
    from conjury.inference.parsing import explain
    from conjury.inference.prices import read_prices

    known, folder = open_run(study, out)
    names = full_rules(known, rule)
    with Ledger.open(folder.ledger, write=False) as ledger:
        material = asked_material(known, folder, ledger)
        write_tables(known, ledger, folder, material, read_prices(prices), rule)
    if rule != "default":
        for name in names:
            console.print(explain(name))


def verify(study: str, out: Path | None) -> int:
    """Look for damage in a ledger; return an exit code."""
    from conjury.inference.ledger import Ledger

    _, folder = open_run(study, out)
    with Ledger.open(folder.ledger, write=False) as ledger:
        problems = ledger.problems()
        requests = sum(count.n for count in ledger.counts())
    for problem in problems:
        console.print(f"  {problem}")
    found = f"{len(problems)} problems" if problems else "no damage"
    console.print(f"{folder.ledger}: {requests:,} requests, {found}.")
    return 1 if problems else 0
