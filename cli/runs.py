"""What ``conjury status``, ``retry``, ``parse`` and ``ledger verify`` do with runs that were begun."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from conjury.inference.errors import InputError
from conjury.inference.study.models import ItemStudy, Study, load_any_study
from conjury.inference.tables.columns import did_you_mean, listed

from .run_words import console

if TYPE_CHECKING:
    from conjury.inference.collecting.prices import Prices
    from conjury.inference.collecting.runs import Material, RunFolder
    from conjury.inference.ledger import Ledger


def run_folder(study: Study | ItemStudy, out: Path | None) -> RunFolder:
    """Find the folder of a run: ``runs/STUDY`` unless another one is named."""
    from conjury.inference.collecting.runs import RunFolder

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
    from conjury.inference.collecting.run_inputs import check_answers, check_study, study_facts

    inputs = ledger.get("inputs") or {}
    stimuli = inputs.get("subjects", {}).get("stimuli")
    material = folder.material(study)
    if stimuli is not None:
        material = replace(material, facts=material.facts | {"stimuli": stimuli})
    check_study(inputs, study_facts(study, material.facts), folder.path)
    check_answers(inputs, study, folder.path)
    return material


def has_outcomes(ledger: Ledger) -> bool:
    """Whether a run has received anything, be it an answer or a failure."""
    return any(count.state != "pending" for count in ledger.counts())


def write_tables(
    study: Study | ItemStudy,
    ledger: Ledger,
    folder: RunFolder,
    material: Material,
    prices: Prices,
    rule: str,
) -> None:
    """Read all answers and write responses, judgments and choices."""
    from conjury.inference.collecting.run_tables import run_tables

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
    from conjury.inference.collecting.run_tables import run_tables
    from conjury.inference.ledger import Ledger
    from conjury.inference.tables.schema import STATUSES

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
    if not marked:
        console.print(f"Nothing to retry: no request has the status {' or '.join(statuses)}.")
        return
    judges = listed(sorted(set(wanted["judge_id"])))
    requests = "request" if marked == 1 else "requests"
    console.print(
        f"{marked:,} {requests} with status {listed(statuses)} will be asked again (judges: {judges}); run "
        f"`conjury collect {study} --judge ...`. Their earlier answers stay in the ledger."
    )


def parse(study: str, out: Path | None, rule: str, prices: Path | None) -> None:
    """Read the answers of a run again and write its tables; nothing is sent."""
    from conjury.inference.collecting.prices import read_prices
    from conjury.inference.ledger import Ledger
    from conjury.inference.parsing import explain
    from conjury.inference.parsing.reader import full_rules

    known, folder = open_run(study, out)
    names = full_rules(known, rule)
    with Ledger.open(folder.ledger, write=False) as ledger:
        if not has_outcomes(ledger):
            raise InputError(
                f"{folder.path}: nothing has been received in this run yet, so there are no tables to write; "
                f"run `conjury collect {study} --judge ...` first."
            )
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
