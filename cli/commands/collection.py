"""The commands on runs: ``conjury collect``, ``status``, ``retry``, ``parse`` and ``ledger verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.errors import InputError
from conjury.inference.tables.bounded import REQUESTS, SAMPLES

from ..options import PriceTable, Rule, RunFolderPath, StudyName, at_most


def collect(
    study: StudyName,
    judge: Annotated[str, typer.Option(help="Judge of the study file, or a name of your own with --model.")],
    out: RunFolderPath = None,
    prompt: Annotated[list[str] | None, typer.Option(help="Only this prompt; can be repeated.")] = None,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Only the first pairs of the design, or the first items.")
    ] = None,
    stimuli: Annotated[
        str, typer.Option(help="text; images (files of `conjury render`); or links (their addresses).")
    ] = "text",
    pictures: Annotated[Path, typer.Option(help="Where `conjury render` keeps pictures.")] = Path("stimuli"),
    backend: Annotated[
        str | None, typer.Option(help="openai (and what speaks its protocol), vllm, ray, simulated, replay.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name of the model where it is served.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of a server with OpenAI's protocol.")] = None,
    key_variable: Annotated[str | None, typer.Option(help="Environment variable that holds the key.")] = None,
    answer: Annotated[str | None, typer.Option(help="auto, token, choice, json or free.")] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help="Answers to each request.", callback=at_most(SAMPLES))
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Requests in flight, at most.", callback=at_most(REQUESTS))
    ] = 64,
    batch: Annotated[bool, typer.Option("--batch", help="By OpenAI's batch interface.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Stay until batches have ended.")] = False,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Stop before more than this is spent, to within one request.")
    ] = None,
    prices: PriceTable = None,
    rule: Rule = "default",
    recorded: Annotated[Path | None, typer.Option(help="Responses for --backend replay.")] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the requests as JSONL for a batch runner; send nothing.")
    ] = None,
    results: Annotated[Path | None, typer.Option(help="Take the results of a batch runner.")] = None,
    weights: Annotated[Path | None, typer.Option(help="Folder of the weights for vllm and ray.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell requests, tokens, price and time; send nothing.")
    ] = False,
) -> None:
    """Ask a model what it has not answered yet; run it again to go on."""
    from ..asking import Asking, Running
    from ..collecting import collect_judgments

    if stimuli not in ("text", "images", "links"):
        raise InputError(f"--stimuli {stimuli}: posts are shown as text, images or links; write one of them.")
    asking = Asking(backend, model, base_url, key_variable, answer, samples)
    running = Running(
        pairs,
        stimuli != "text",
        stimuli == "links",
        pictures,
        concurrency,
        max_cost,
        prices,
        batch,
        wait,
        dry_run,
        rule,
        recorded,
        export,
        results,
        weights,
    )
    raise typer.Exit(collect_judgments(study, judge, prompt, out, asking, running))


def status(study: StudyName, out: RunFolderPath = None) -> None:
    """Tell how far a run is."""
    from ..runs import show_status

    show_status(study, out)


def retry(
    study: StudyName,
    status: Annotated[
        list[str], typer.Option(help="error, refused, empty, truncated, unparsed or ok; can be repeated.")
    ],
    judge: Annotated[str | None, typer.Option(help="Only this judge.")] = None,
    out: RunFolderPath = None,
) -> None:
    """Mark requests to be asked again by the next collect; their earlier answers are kept."""
    from ..runs import retry as mark

    mark(study, out, status, judge)


def parse(
    study: StudyName, out: RunFolderPath = None, rule: Rule = "default", prices: PriceTable = None
) -> None:
    """Read the answers of a run again, by another rule, and write its tables; nothing is sent."""
    from ..runs import parse as read

    read(study, out, rule, prices)


ledger = typer.Typer(no_args_is_help=True, help="Look after the ledger of a run.")


@ledger.command()
def verify(study: StudyName, out: RunFolderPath = None) -> None:
    """Look for damage in the ledger of a run; exit code 1 where there is any."""
    from ..runs import verify as look

    raise typer.Exit(look(study, out))
