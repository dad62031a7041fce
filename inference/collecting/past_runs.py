"""Runs that were begun: their state, requests to ask again, and their tables by another parsing rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..ledger import Batch, Count, Ledger
from ..parsing.answer_rules import full_rules
from ..study.load import load_any_study
from ..study.models import AnyStudy, ItemStudy, Study
from ..tables.schema import STATUSES
from .answering.answer_account import AnswerAccounts, read_accounts
from .answering.provenance import ServedVersions
from .prices import Prices, Tokens, read_prices
from .run_content import RunContent
from .run_folder import RunFolder, check_answers, check_name, check_study, study_facts
from .run_tables import CHUNK, RunTables, run_tables, table_parts, write_parts


def run_folder(study: AnyStudy, out: str | Path | None) -> RunFolder:
    """Return the folder of a run: ``runs/STUDY`` unless another one is named."""
    return RunFolder(Path("runs") / study.name if out is None else Path(out))


def open_run(study: str | Path | AnyStudy, out: str | Path | None) -> tuple[Study | ItemStudy, RunFolder]:
    """Find a run that has a ledger."""
    loaded_study = load_any_study(study) if isinstance(study, str | Path) else study
    assert isinstance(loaded_study, Study | ItemStudy)
    folder = run_folder(loaded_study, out)
    folder.check_ledger()
    if not folder.ledger.is_file():
        raise InputError(
            f"{folder.path} contains no run; start one with `conjury collect` or give its folder by --out."
        )
    return loaded_study, folder


def asked_content(study: Study | ItemStudy, folder: RunFolder, ledger: Ledger) -> RunContent:
    """Gather what was shown in a run; refuse a study that has changed since."""
    inputs = ledger.get("inputs") or {}
    stimuli = inputs.get("subjects", {}).get("stimuli")
    content = folder.content(study)
    if stimuli is not None:
        content = replace(content, facts=content.facts | {"stimuli": stimuli})
    check_study(inputs, study_facts(study, content.facts), folder.path)
    check_answers(inputs, study, folder.path)
    return content


@dataclass(frozen=True)
class VerifiedLedger:
    """A ledger that was read to its end."""

    # `unproven` is a sentence on what was stored before there were digests, `unlike` one on how the study
    # differs from that of the ledger; both are empty where there is nothing of the kind.

    ledger: Path
    requests: int
    problems: list[str]
    unproven: str = ""
    unlike: str = ""


def verify(study: str | Path | AnyStudy, out: str | Path | None = None) -> VerifiedLedger:
    """Read all of a run's ledger; InputError where the folder contains none."""
    study_of_run, folder = open_run(study, out)
    with Ledger.open(folder.ledger, write=False) as ledger:
        problems, difference = ledger.problems(), ""
        requests = sum(count.n for count in ledger.counts())
        if problems:
            return VerifiedLedger(folder.ledger, requests, problems)
        try:
            asked_content(study_of_run, folder, ledger)
        except InputError as error:
            difference = str(error)
        return VerifiedLedger(folder.ledger, requests, problems, ledger.unproven(), difference)


def has_outcomes(ledger: Ledger) -> bool:
    """Whether a run has received anything, be it an answer or a failure."""
    return any(count.state != "pending" for count in ledger.counts())


def write_tables(
    study: Study | ItemStudy,
    ledger: Ledger,
    folder: RunFolder,
    content: RunContent,
    prices: Prices,
    rule: str,
) -> list[Path]:
    """Parse all answers and write responses, judgments and choices; return the files."""
    judges = (ledger.get("inputs") or {}).get("judges", {})
    models: dict[str, str] = {name: settings["model"] for name, settings in judges.items()}

    def cost(judge: str, tokens: Tokens, batch: bool) -> float | None:
        price = prices.of(models.get(judge, ""))
        return (
            None
            if price is None
            else price.cost(tokens.prompt, tokens.completion, prices.per, batch, tokens.sound)
        )

    parts = table_parts(
        study,
        ledger.answers(chunk=CHUNK),
        rule=rule,
        cost=cost,
        texts_of=content.shown,
        lines=content.lines,
        tasks=content.tasks,
        profiles=content.profiles,
    )
    versions, accounts = ServedVersions(), AnswerAccounts(judges)
    files = write_parts(_counted(parts, versions, accounts), folder.path)
    versions.write(ledger, folder.path, accounts.records(ledger.counts()))
    return files


def _counted(
    parts: Iterator[RunTables], versions: ServedVersions, accounts: AnswerAccounts
) -> Iterator[RunTables]:
    """Hand on tables, and count what is in them."""
    for part in parts:
        versions.add(part.responses)
        accounts.add(part.responses, part.judgments)
        yield part


@dataclass(frozen=True)
class Status:
    """The state of a run.

    Parameters
    ----------
    study : Study or ItemStudy
        The study of the run.
    folder : Path
        Folder of the run.
    counts : list of Count
        Requests and tokens by judge, prompt and state.
    batches : list of Batch
        Batches at providers, in the order in which they were made.
    judgments : DataFrame
        ``judge_id, prompt_id, status, n``, as last parsed; empty before the first tables.
    accounts : list of dict
        For each judge, requests without an answer with the remedy, and answers that were read, refused,
        empty, cut, without log-probabilities or not read, with reasons and examples.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.collecting import Asking, Running, collect, status
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = collect("harm_or_humor", "gpt_5_2", asking=Asking(backend="simulated"),
    ...         running=Running(pairs=5), out=folder)
    ...     run = status("harm_or_humor", folder)
    >>> run.study.name, [(count.state, count.n) for count in run.counts], run.batches
    ('harm_or_humor', [('answered', 5)], [])
    """

    study: Study | ItemStudy
    folder: Path
    counts: list[Count]
    batches: list[Batch]
    judgments: pd.DataFrame
    accounts: list[dict[str, Any]]


def status(study: str | Path | AnyStudy, out: str | Path | None = None) -> Status:
    """Return the state of a run: requests by judge, prompt and state, batches, statuses of judgments.

    Parameters
    ----------
    study : str, Path or study
        The study of the run.
    out : path, optional
        Folder of the run; by default ``runs/STUDY``.

    Returns
    -------
    Status
        Requests by judge, prompt and state, batches, and statuses of judgments.

    Raises
    ------
    InputError
        Where the folder contains no run.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.collecting import Asking, Running, collect, status
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = collect("moderation", "gpt4o", asking=Asking(backend="simulated"),
    ...         running=Running(pairs=5), out=folder)
    ...     sum(count.n for count in status("moderation", folder).counts)
    15
    """
    loaded_study, folder = open_run(study, out)
    with Ledger.open(folder.ledger, write=False) as ledger:
        check_name(ledger.get("inputs"), loaded_study, folder.path)
        counts, batches = ledger.counts(), ledger.batches()
        judges = (ledger.get("inputs") or {}).get("judges", {})
    keys, file = ["judge_id", "prompt_id", "status"], folder.path / "judgments.parquet"
    judgments = pd.read_parquet(file, columns=keys) if file.is_file() else pd.DataFrame(columns=keys)
    sizes = judgments.groupby(keys, observed=True).size().reset_index(name="n")
    accounts = read_accounts(folder.path, counts, judges)
    return Status(loaded_study, folder.path, counts, batches, sizes, accounts)


def retry(
    study: str | Path | AnyStudy,
    statuses: Sequence[str],
    *,
    judge: str | None = None,
    out: str | Path | None = None,
) -> tuple[int, list[str]]:
    """Mark requests to be asked again by the next `collect`; their earlier answers stay in the ledger.

    Parameters
    ----------
    study
        As in `status`.
    statuses : sequence of str
        Statuses of the judgments to ask again: error, refused, empty, truncated, unparsed or ok.
    judge : str, optional
        Only this judge.
    out
        As in `status`.

    Returns
    -------
    int
        Number of requests marked.
    list of str
        Their judges.

    Raises
    ------
    InputError
        For an unknown status or judge.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.collecting import Asking, Running, collect, retry
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = collect("moderation", "gpt4o", asking=Asking(backend="simulated"),
    ...         running=Running(pairs=5), out=folder)
    ...     retry("moderation", ["ok"], out=folder)
    (15, ['gpt4o'])
    """
    names = [name for name in STATUSES if name != "missing"]
    for name in statuses:
        if name not in names:
            raise InputError(
                f"--status {name}: there is no such status{did_you_mean(name, names)}; use {listed(names)}."
            )
    loaded_study, folder = open_run(study, out)
    with Ledger.open(folder.ledger) as ledger:
        ledger.require_whole()
        content = asked_content(loaded_study, folder, ledger)
        judges = list((ledger.get("inputs") or {}).get("judges", {}))
        if judge is not None and judge not in judges:
            hint = did_you_mean(judge, judges)
            raise InputError(
                f"--judge {judge}: this run contains no requests to it{hint}; use {listed(judges)}."
            )
        rule = "default" if loaded_study.instrument is None else loaded_study.instrument.facets.parser[0]
        answers = ledger.answers(judge)
        tables = run_tables(loaded_study, answers, rule=rule, texts_of=content.shown, lines=content.lines)
        selection = tables.judgments[tables.judgments["status"].isin(list(statuses))]
        marked = ledger.ask_again(selection["request_key"].unique().tolist())
    return marked, sorted(set(selection["judge_id"]))


def parse(
    study: str | Path | AnyStudy,
    rule: str = "default",
    *,
    out: str | Path | None = None,
    prices: str | Path | None = None,
) -> tuple[list[Path], list[str]]:
    """Parse the answers of a run again and write its tables; nothing is sent.

    Parameters
    ----------
    study
        As in `status`.
    rule : str
        Parsing rule: default, strict, lenient, token.
    out
        As in `status`.
    prices : path, optional
        Price table in place of the one that ships.

    Returns
    -------
    list of Path
        Tables written.
    list of str
        The rules in full, one for each form of answer.

    Raises
    ------
    InputError
        For an unknown rule, and where nothing has been received yet.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.collecting import Asking, Running, collect, parse
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = collect("moderation", "gpt4o", asking=Asking(backend="simulated"),
    ...         running=Running(pairs=5), out=folder)
    ...     files, rules = parse("moderation", "strict", out=folder)
    >>> rules
    ['choice/strict@1']
    """
    loaded_study, folder = open_run(study, out)
    names = full_rules(loaded_study, rule)
    with Ledger.open(folder.ledger, write=False) as ledger:
        ledger.require_whole()
        if not has_outcomes(ledger):
            raise InputError(
                f"{folder.path}: this run contains no answers yet, so there are no tables to write; "
                f"run `conjury collect {loaded_study.name} --judge ...` first."
            )
        folder.check_tables(ledger)
        content = asked_content(loaded_study, folder, ledger)
        priced = read_prices(None if prices is None else Path(prices))
        files = write_tables(loaded_study, ledger, folder, content, priced, rule)
    return files, names
