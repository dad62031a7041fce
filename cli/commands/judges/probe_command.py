"""The command ``conjury probe``: what a judge's server does with its settings, before a run is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.collecting.run_options import Asking
from conjury.inference.errors import money

from ...automation import record
from ...options import PriceTable, RunFolderPath, StudyName, grouped
from ...printing import console, one_line, print_facts

if TYPE_CHECKING:
    from conjury.inference.collecting.answering.probe_run import PlannedProbe

SIGNS = {"kept": "yes", "ignored": "ignored", "refused": "refused", "partly": "partly", "cached": "cached"}


@grouped
def probe(
    study: StudyName,
    judge: Annotated[str, typer.Option(help="Judge of the study file, or a name of your own with --model.")],
    asking: Asking,
    out: RunFolderPath = None,
    prices: PriceTable = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the server and the price; send nothing.")
    ] = False,
) -> None:
    """Find out by five requests what a judge's server can do.

    What it does with seeds, log-probabilities, token limits and so on; the requests are cheap.
    """
    from conjury.inference.collecting.answering.probe_findings import LABELS
    from conjury.inference.collecting.answering.probe_run import plan_probe
    from conjury.inference.collecting.answering.probe_run import probe as run
    from conjury.inference.collecting.answering.probing import FILE

    if dry_run:
        planned = plan_probe(study, judge, out=out, asking=asking, prices=prices)
        _show_plan(planned)
        console.print("Nothing was sent (--dry-run).")
        planned.destination.check()
        return
    result = run(study, judge, out=out, asking=asking, prices=prices, before=_show_plan)
    folder = plan_probe(study, judge, out=out, asking=asking, prices=prices).folder.path
    record(probe=result, files=[folder / FILE])
    width = max(map(len, LABELS.values()))
    for name, finding in result.findings.items():
        sign = SIGNS.get(finding.verdict, "not known")
        console.print(f"  {LABELS[name]:<{width}}  {sign}: {one_line(finding.detail)}")
    for sentence in result.changes:
        console.print(f"Collect: {sentence}")
    for sentence in result.advice:
        console.print(f"To know: {sentence}")
    console.print(f"In {folder / FILE}; a run of this judge that begins there uses it.")


def _show_plan(planned: PlannedProbe) -> None:
    """Print and record the server and the price before anything is sent."""
    from conjury.inference.backends.openai.server_profiles import find_profile

    profile = find_profile(planned.destination.address.url)
    price = "not known; give a table with the price of this model by --prices"
    if planned.cost is not None and planned.most is not None:
        price = f"about {planned.currency} {money(planned.cost)}, at most {money(planned.most)}"
    facts = {
        "Judge": f"{planned.judge}: {planned.ask.model}",
        "Sent to": planned.destination.in_words,
        "Requests": "5 short ones, and those that the server refuses once more without what it refuses",
        "Price": price,
    }
    if profile is not None:
        facts["Known as"] = f"{profile.label}, by its address ({profile.documentation})"
    sent_to = {"address": planned.destination.address.url, "key_variable": planned.destination.key_variable}
    cost = {"expected": planned.cost, "most": planned.most, "currency": planned.currency}
    record(sent_to=sent_to, cost=cost, server=None if profile is None else profile.id)
    print_facts(facts)
    if profile is not None and profile.note:
        console.print(f"  {profile.note}")
