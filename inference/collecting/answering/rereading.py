"""A second reader on request: a model states the verdicts that no rule reads, and some that the rules read.

Its replies have a ledger of their own below the run, whose answers and readings stay as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ...backends.base import Backend
from ...backends.endpoints import EndpointChoice
from ...errors import InputError, did_you_mean, listed
from ...ledger import Ledger
from ...ledger.exchanges import TOKEN_LIMITS, TRANSIENT
from ...parsing import read_completion
from ...parsing.answer_rules import full_rules
from ...study.asking import Choice, Sampling
from ...study.models import AnyStudy, ItemStudy, Study
from ...study.study_fields import Prompt
from ...tables.columns import as_text
from ...tables.files import write_table
from ...tables.writing import write_text
from ..asked_judge import check_engine, check_route, find_judge, find_prompts, priced_budget
from ..jobs import plan
from ..past_runs import asked_content, open_run
from ..prices import read_prices
from ..rechecking import keys_in_drawn_order
from ..recorder import Tally, export_requests, release_unsent
from ..run import Collected, Prepared, Watch, ignore_progress, send_requests
from ..run_content import RunContent
from ..run_folder import ROUTE, RunFolder, merged_facts
from ..run_options import Asking, Running
from ..run_tables import RunTables, choices_from_judgments, run_tables
from .answer_account import REREAD_FILE
from .provenance import ServedVersions, write_rereads
from .reread_requests import PROMPT, RereadJob, RereadVerdict, ask_for_verdict, read_verdict

SAMPLE = 50  # answers that the rules read, by which a second reader is compared with them
INSTRUCTION = 1  # version of what a second reader is told
VERSION_COLUMNS = ("judge_id", "text", "model_returned", "system_fingerprint", "created")


@dataclass(frozen=True)
class _ReadRun:
    """A run whose answers are read again: its tables by one rule, and where the reader's are."""

    study: Study | ItemStudy
    folder: RunFolder
    content: RunContent
    tables: RunTables


def reread(
    study: str | Path | AnyStudy,
    judge: str,
    reader: str,
    *,
    sample: int = SAMPLE,
    prompts: Sequence[str] | None = None,
    out: str | Path | None = None,
    asking: Asking | None = None,
    running: Running | None = None,
    before: Callable[[Prepared], None] | None = None,
    watch: Callable[[int], AbstractContextManager[Watch]] | None = None,
    backend: Backend | None = None,
    dry_run: bool = False,
) -> Collected:
    """Have a second reader state the verdicts of a judge's answers that no rule reads.

    The same call goes on with an interrupted one. The run's answers, tables and readings stay as they are;
    the second reading is in ``reread/JUDGE/READER`` below the run.

    Parameters
    ----------
    study : str, Path or study
        The study of the run.
    judge : str
        Judge whose answers are read.
    reader : str
        A judge of the study file, which is asked as stated there, or the name of a model.
    sample : int
        How many answers that the rules read are drawn, to compare the second reader with the rules.
    prompts, out, asking, running
        As in `collect`; ``asking`` says how the reader is asked.
    before, watch, backend
        As in `collect`.
    dry_run : bool
        Call ``before`` with requests and costs, and send and write nothing.

    Returns
    -------
    Collected
        What was asked and answered, and the tables written; the account is that of the second reading.

    Raises
    ------
    InputError
        Where the run has no answers of the judge, options do not go together, or no verdict can be read.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.collecting import Asking, Running, collect, reread
    >>> simulated = Asking(backend="simulated")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = collect("moderation", "gpt4o", asking=simulated, running=Running(pairs=5), out=folder)
    ...     second = reread("moderation", "gpt4o", "reader", asking=simulated, sample=10, out=folder)
    >>> second.account["sampled"], second.account["both_read"], second.account["agreed"]
    (10, 10, 10)
    """
    asking, running = asking or Asking(), running or Running()
    _check_options(asking, running, sample)
    run = _read_run(study, judge, prompts, out, running)
    ask = _reader(run.study, reader, asking, running)
    with _opened(run, judge, reader, ask, asking, running, sample, write=not dry_run) as (setup, ledger):
        if before is not None:
            before(setup)
        if dry_run or ledger is None:
            return Collected(setup)
        if running.export is not None:
            return Collected(setup, exported=export_requests(setup.job, ledger, running.export, setup.plan))
        if backend is None and ask.backend == "simulated":
            from ...backends.lookup import SimulatedReaderBackend

            backend = SimulatedReaderBackend()
        tally = Tally(spent=setup.plan.spent or 0.0)
        if setup.plan.remaining or setup.plan.waiting:
            with watch(setup.plan.remaining) if watch else nullcontext(ignore_progress) as progress:
                tally = send_requests(setup, ledger, run.content, progress, None, backend)
        files, account = _write_reading(run, setup, ledger, judge)
        waiting = sum(batch.n for batch in ledger.batches(setup.job.judge_id, live=True))
    return Collected(setup, tally, waiting, files, account=account)


def _check_options(asking: Asking, running: Running, sample: int) -> None:
    """Refuse options that do not go with reading answers that are there."""
    usual = Running()
    names = {name: f"--{name}" for name in ("pairs", "tasks", "occasion", "recorded", "recheck")}
    names |= dict.fromkeys(("images", "links"), "--stimuli")
    changed = [names[name] for name in names if getattr(running, name) != getattr(usual, name)]
    if changed:
        raise InputError(f"--reread reads answers that a run has; omit {listed(dict.fromkeys(changed))}.")
    if asking.backend == "replay":
        raise InputError("--reread asks a model, and --backend replay asks none; use another backend.")
    if asking.samples not in (None, 1) or asking.answer not in (None, "auto", "json"):
        raise InputError("--reread asks once for each verdict, as JSON; omit --samples and --answer.")
    if sample < 0:
        raise InputError(f"--reread-sample {sample}: give the number of answers to compare, or 0 for none.")


def _read_run(
    study: str | Path | AnyStudy,
    judge: str,
    prompts: Sequence[str] | None,
    out: str | Path | None,
    running: Running,
) -> _ReadRun:
    """Read a judge's answers by one rule: the named one, else the first of the study."""
    loaded_study, folder = open_run(study, out)
    rule = running.rule
    if rule == "default" and loaded_study.instrument is not None:
        rule = loaded_study.instrument.facets.parser[0]
    full_rules(loaded_study, rule)
    with Ledger.open(folder.ledger, write=False) as ledger:
        ledger.require_whole()
        judges = list((ledger.get("inputs") or {}).get("judges", {}))
        if judge not in judges:
            raise InputError(
                f"--judge {judge}: this run contains no answers of it{did_you_mean(judge, judges)}; use "
                f"{listed(judges)}."
            )
        content = asked_content(loaded_study, folder, ledger)
        tables = run_tables(
            loaded_study, ledger.answers(judge), rule=rule, texts_of=content.shown, lines=content.lines
        )
    if prompts:
        names = [prompt.id for prompt in find_prompts(loaded_study, prompts, images=True)]
        parts = (tables.responses, tables.judgments)
        chosen = [part[part["prompt_id"].isin(names)].reset_index(drop=True) for part in parts]
        tables = RunTables(chosen[0], chosen[1], None)
    if not tables.responses["text"].notna().any():
        raise InputError(f"--reread: judge {judge} has no answers in {folder.path}; collect these first.")
    return _ReadRun(loaded_study, folder, content, tables)


def _reader(study: Study | ItemStudy, reader: str, asking: Asking, running: Running) -> Sampling:
    """Say how the second reader is asked: as a judge of the study file, or as a model of that name."""
    in_study = any(judge.id == reader and judge.ask is not None for judge in study.judges)
    free = study.model_copy(update={"instrument": None})
    ask = find_judge(free, reader, asking if in_study or asking.model else replace(asking, model=reader))
    # a limit may cut a verdict short
    settings = {name: value for name, value in ask.settings.items() if name not in TOKEN_LIMITS}
    ask = ask.model_copy(update={"answer": "json", "samples": 1, "settings": settings})
    check_route(ask, (), running)
    check_engine(study, reader, ask, running)
    return ask


def reader_folder(run: Path, judge: str, reader: str) -> Path:
    """Return the folder of a second reading below a run."""
    names = []
    for name in (judge, reader):
        letters = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
        digest = hashlib.sha256(name.encode()).hexdigest()[:6]
        names.append(letters if letters == name else f"{letters}_{digest}")
    return run.joinpath("reread", *names)


@contextmanager
def _opened(
    run: _ReadRun,
    judge: str,
    reader: str,
    ask: Sampling,
    asking: Asking,
    running: Running,
    sample: int,
    *,
    write: bool,
) -> Iterator[tuple[Prepared, Ledger | None]]:
    """Plan what the reader is asked, with its ledger open."""
    reader_id = f"reread:{reader}"
    verdicts = _verdicts(run, reader_id, ask, sample)
    prices = read_prices(running.prices)
    budget = priced_budget(ask, running, prices)
    folder = RunFolder(reader_folder(run.folder.path, judge, reader))
    folder.check_ledger()
    title = f"{run.study.title}: answers of {judge} by a second reader"
    job = RereadJob(
        run.study.model_copy(update={"title": title, "instrument": None}),
        reader_id,
        ask,
        [Prompt(id=PROMPT, label="Second reader")],
        lambda: iter(()),
        len(verdicts),
        lambda stimulus, takes: [],
        names={verdict.request.subject_id for verdict in verdicts},
        named=EndpointChoice(asking.base_url is not None, asking.key_variable is not None),
        verdicts=verdicts,
    )
    begun = write or folder.ledger.is_file()
    with Ledger.open(folder.ledger, write=write) if begun else nullcontext() as ledger:
        if ledger is not None:
            ledger.require_whole()
            facts = {"judges": {reader_id: ask.model_dump(exclude=ROUTE)}}
            merged = merged_facts(ledger.get("inputs"), facts, folder.path)
            if write:
                ledger.set("inputs", merged)
                if not running.batch:
                    release_unsent(ledger, reader_id)
                ledger.ask_again(_refused_keys(ledger, reader_id))
        yield Prepared(job, plan(job, ledger, budget), budget, prices, running, folder), ledger


def _refused_keys(ledger: Ledger, reader_id: str) -> list[str]:
    """List requests that failed for good: the cause may have been put right, and the same command asks."""
    passing = ("", "pending", *TRANSIENT)
    return [
        answered.key
        for part in ledger.answers(reader_id)
        for answered in part
        if answered.body is None and answered.kind not in passing
    ]


def _verdicts(run: _ReadRun, reader_id: str, ask: Sampling, sample: int) -> tuple[RereadVerdict, ...]:
    """Write the requests: all verdicts that no rule reads, and those of a drawn sample that are read."""
    responses = run.tables.responses
    texts = dict(zip(responses["request_key"], as_text(responses["text"]), strict=True))
    arrangements = dict(zip(responses["request_key"], responses["arrangement"], strict=True))
    judgments = run.tables.judgments
    status = as_text(judgments["status"])
    has_text = judgments["request_key"].map(texts).fillna("").str.strip().ne("")
    readable = judgments.loc[((status == "ok") & has_text).to_numpy(bool), "request_key"]
    sample_keys = keys_in_drawn_order(readable, seed=1)[:sample]
    is_drawn = (status == "ok") & judgments["request_key"].isin(sample_keys)
    rows = judgments[((has_text & (status == "unparsed")) | is_drawn).to_numpy(bool)]
    verdicts = []
    for key, prompt, dimension in zip(rows["request_key"], rows["prompt_id"], rows["dimension"], strict=True):
        response = run.study.response_of(str(prompt))
        option_names = json.loads(arrangements[key]).get("options") if isinstance(response, Choice) else None
        noun = run.study.collect.noun
        subject = {"answer_key": str(key), "dimension": str(dimension), "text": str(texts[key])}
        verdicts.append(ask_for_verdict(reader_id, ask, response, noun, **subject, option_names=option_names))
    return tuple(verdicts)


def _write_reading(
    run: _ReadRun, setup: Prepared, ledger: Ledger, judge: str
) -> tuple[list[Path], dict[str, Any]]:
    """Write what the reader states beside what the rules read, tables with both, and their agreement."""
    folder, parser = setup.folder.path, setup.job.judge_id
    verdicts = _stated_verdicts(run, setup, ledger, folder)
    judgments = run.tables.judgments
    pairs = judgments.merge(verdicts, on=["request_key", "dimension"], how="inner")
    pairs = pairs[[name for name in judgments if name in PAIRED] + list(STATED)]
    is_read = (as_text(pairs["status"]) == "ok").to_numpy(bool)
    states = (pairs["reader_status"] == "ok").to_numpy(bool)
    agrees = _as_words(pairs["value"]).eq(_as_words(pairs["reader_value"])).fillna(False).to_numpy(bool)
    pairs["agrees"] = pd.array(agrees, dtype="boolean")
    pairs.loc[~(is_read & states), "agrees"] = pd.NA
    is_answered = (pairs["reader_status"] != "unanswered").to_numpy(bool)
    unread = pairs["reader_status"][~is_read & is_answered]
    n_read, n_unclear = int((unread == "ok").sum()), int((unread == "unclear").sum())
    account = {
        "judge": judge,
        "model": setup.job.ask.model,
        "parser": parser,
        "unread": int((~is_read).sum()),
        "read": n_read,
        "unclear": n_unclear,
        "not_stated": len(unread) - n_read - n_unclear,
        "unanswered": int((~is_answered).sum()),
        "sampled": int(is_read.sum()),
        "both_read": int((is_read & states).sum()),
        "sampled_not_stated": int((is_read & is_answered & ~states).sum()),
        "agreed": int((is_read & states & agrees).sum()),
    }
    filled = _filled(judgments, pairs[~is_read & states], parser, folder.name)
    tables = {"verdicts": pairs, "judgments": filled}
    content, response = run.content, run.study.response
    if isinstance(response, Choice) and content.tasks is not None and content.profiles is not None:
        tables["choices"] = choices_from_judgments(filled, content.tasks, content.profiles, response.options)
    files = [folder / f"{name}.parquet" for name in tables]
    for file, table in zip(files, tables.values(), strict=True):
        write_table(table, file)
    write_text(folder / REREAD_FILE, json.dumps(account, indent=2, ensure_ascii=False) + "\n")
    write_rereads(run.folder.path)
    return files, account


PAIRED = {
    *("judge_id", "prompt_id", "item_id", "task_id", "sample", "occasion", "request_key", "dimension"),
    *("value", "status", "rule", "note"),
}
STATED = ("reader_value", "reader_status", "reader_note")


def _stated_verdicts(run: _ReadRun, setup: Prepared, ledger: Ledger, folder: Path) -> pd.DataFrame:
    """Read the reader's replies: one row for each verdict that it is asked for."""
    assert isinstance(setup.job, RereadJob)
    marks, versions = run.study.collect.reasoning_marks, ServedVersions()
    by_key = {verdict.request.key: verdict for verdict in setup.job.verdicts}
    statements: dict[str, tuple[str, str | None, str]] = {}
    for part in ledger.answers(setup.job.judge_id):
        served = []
        for answered in part:
            if answered.body is None:
                continue
            answer = read_completion(answered.body, answered.error, marks)
            version = (answer.model or None, answer.fingerprint or None)
            served.append((setup.job.judge_id, answer.text, *version, answered.created))
            if (verdict := by_key.get(answered.key)) is not None:
                statements[answered.key] = read_verdict(verdict, answer)
        table = pd.DataFrame(served, columns=list(VERSION_COLUMNS))
        types = dict.fromkeys(VERSION_COLUMNS[:-1], "string") | {"created": "datetime64[us, UTC]"}
        versions.add(table.astype(types))
    if statements:
        versions.write(ledger, folder)
    rows = []
    for key, verdict in by_key.items():
        status, value, note = statements.get(key, ("unanswered", None, ""))
        rows.append((verdict.answer_key, verdict.dimension, value, status, note or None))
    return pd.DataFrame(rows, columns=["request_key", "dimension", *STATED], dtype="string")


def _as_words(values: pd.Series[Any]) -> pd.Series[str]:
    """Bring values of a table and of a reader to the same words: ratings as numbers, others as they are."""
    numbers = pd.to_numeric(values, errors="coerce").astype("Float64")
    return as_text(numbers).where(numbers.notna(), as_text(values))


def _filled(judgments: pd.DataFrame, verdicts: pd.DataFrame, parser: str, name: str) -> pd.DataFrame:
    """Put what the reader states where no rule reads anything: a reading by a rule of its own."""
    # values that rules read stay as they are; a rule is called FORM/NAME@VERSION
    keys = zip(verdicts["request_key"], verdicts["dimension"], strict=True)
    values = dict(zip(keys, verdicts["reader_value"], strict=True))
    names = list(zip(judgments["request_key"], judgments["dimension"], strict=True))
    rows = [row for row, name in enumerate(names) if name in values]
    filled = judgments.copy()
    is_number = pd.api.types.is_numeric_dtype(filled["value"])
    where = filled.index[rows]
    new = [values[names[row]] for row in rows]
    filled.loc[where, "value"] = [float(value) for value in new] if is_number else new
    filled.loc[where, "status"] = "ok"
    rule = f"/reread_{re.sub(r'[^A-Za-z0-9]+', '_', name)}@{INSTRUCTION}"
    filled["rule"] = as_text(filled["rule"]).str.partition("/")[0] + rule
    filled.loc[where, "note"] = "stated by a second reader"
    filled.loc[where, ["probability", "outside", "expected"]] = float("nan")
    return filled.assign(parser=parser) if "parser" in filled else filled
