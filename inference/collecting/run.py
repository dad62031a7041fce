"""The run loop: plan a run, choose the backend, ask a judge what it has not answered, write the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..backends.base import Backend
from ..backends.endpoints import EndpointChoice
from ..design.run_design import check_posts
from ..errors import ConjuryError, InputError
from ..ledger import Ledger
from ..parsing.answer_rules import full_rules
from ..requests.profile_pictures import Pictures, find_pictures
from ..study.load import load_any_study
from ..study.models import AnyStudy, ItemStudy, Study
from ..study.study_fields import Prompt
from ..tables.frames import answer_wrong_calls
from .answering.answer_account import read_accounts
from .answering.probing import sampling_by_probe
from .answering.provenance import check_records, remember_engine
from .asked_judge import (
    check_anchors,
    check_engine,
    check_occasion,
    check_route,
    choose_backend,
    find_judge,
    find_prompts,
    priced_budget,
)
from .jobs import Job, Plan, count_unanswered, plan
from .past_runs import has_outcomes, run_folder, write_tables
from .prices import Budget, Prices, read_prices
from .rechecking import RecheckedAnswers, check_recheck, compare_again, keys_to_ask_again, recheck_folder
from .recorder import Tally, ask, collect_by_batch, export_requests, import_results, release_unsent
from .run_content import RunContent
from .run_folder import RunFolder, begun_facts, merged_facts, run_facts
from .run_options import Asking, Running
from .stopping import Rule, StoppingCheck

Watch = Callable[[Tally], None]


@dataclass(frozen=True)
class Prepared:
    """A run before anything is sent: what is to be asked, how much of it, at what price.

    Parameters
    ----------
    job : Job
        Requests of the judge.
    plan : Plan
        Numbers of requests by state, tokens and costs.
    budget : Budget
        Price of the model and limit on costs.
    prices : Prices
        Price table with its currency.
    running : Running
        Options of the run.
    folder : RunFolder
        Where the run keeps its ledger and tables.
    notes : tuple of str
        What happened to the ledger when it was opened.

    Examples
    --------
    >>> from conjury.inference.collecting import Asking, Running, preview
    >>> run = preview("harm_or_humor", "gpt_5_2", asking=Asking(backend="simulated"),
    ...     running=Running(pairs=5), out="a_new_folder")
    >>> run.plan.total, run.prices.currency, run.folder.path.name
    (5, 'USD', 'a_new_folder')
    """

    job: Job
    plan: Plan
    budget: Budget
    prices: Prices
    running: Running
    folder: RunFolder
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Collected:
    """What a call of `collect` did.

    Parameters
    ----------
    prepared : Prepared
        The run as it was planned.
    tally : Tally
        New answers, failures by kind, money spent, and why the run stopped: "interrupted", "max-cost",
        "reserved", "until", or empty where all was asked.
    waiting : int
        Requests in batches that have not ended.
    files : list of Path
        Tables written: ``responses``, ``judgments`` and, for pairs, ``choices``.
    exported : int or None
        Number of requests written for a batch runner; None where they were sent.
    rechecked : RecheckedAnswers or None
        With ``recheck``, both answers to each request that was answered twice.
    account : mapping or None
        What became of all requests to the judge, as in ``Status.accounts``; None without tables.
    unanswered : int
        Requests that the same call would send or fetch.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.collecting import Asking, Running, collect
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = collect("harm_or_humor", "gpt_5_2", asking=Asking(backend="simulated"),
    ...         running=Running(pairs=5), out=folder)
    >>> run.tally.answered, run.waiting, [file.name for file in run.files]
    (5, 0, ['responses.parquet', 'judgments.parquet'])
    """

    prepared: Prepared
    tally: Tally = field(default_factory=Tally)
    waiting: int = 0
    files: Sequence[Path] = ()
    exported: int | None = None
    rechecked: RecheckedAnswers | None = None
    account: Mapping[str, Any] | None = None
    unanswered: int = 0


def preview(
    study: str | Path | AnyStudy,
    judge: str,
    *,
    prompts: Sequence[str] | None = None,
    out: str | Path | None = None,
    asking: Asking | None = None,
    running: Running | None = None,
) -> Prepared:
    """Plan a run without sending or writing anything.

    Parameters
    ----------
    study : str, Path or study
        A study that ships, the path of a study file, or a loaded study.
    judge : str
        A judge of the study file, or a name of your own where ``asking`` names the model.
    prompts : sequence of str, optional
        Only these prompts.
    out : path, optional
        Folder of the run; by default ``runs/STUDY``.
    asking : Asking, optional
        How the judge is asked, where that differs from the study file.
    running : Running, optional
        How the run goes.

    Returns
    -------
    Prepared
        ``.plan`` has the number of requests, expected tokens and costs.

    Raises
    ------
    InputError
        Where options exclude each other, or the study has changed since the run began.

    Examples
    --------
    >>> from conjury.inference.collecting import Asking, Running, preview
    >>> run = preview("moderation", "gpt4o", asking=Asking(backend="simulated"),
    ...     running=Running(pairs=5), out="a_new_folder")
    >>> run.plan.total, run.plan.answered
    (15, 0)
    """
    options = running or Running()
    with _open_run(study, judge, prompts, out, asking or Asking(), options, write=False) as (setup, _, _):
        return setup


@answer_wrong_calls
def collect(
    study: str | Path | AnyStudy,
    judge: str,
    *,
    prompts: Sequence[str] | None = None,
    out: str | Path | None = None,
    asking: Asking | None = None,
    running: Running | None = None,
    before: Callable[[Prepared], None] | None = None,
    watch: Callable[[int], AbstractContextManager[Watch]] | None = None,
    until: Rule | None = None,
    backend: Backend | None = None,
) -> Collected:
    """Ask one judge what it has not answered yet, and write the tables of the run.

    The same call goes on with an interrupted run: every answer is on disk, with the request it answers,
    before it counts. The first Ctrl-C lets requests in flight finish, the second ends at once.

    Parameters
    ----------
    study, judge, prompts, out, asking, running
        As in `preview`.
    before : callable, optional
        Called with the prepared run before anything is sent, for instance to show its costs; an exception
        that it raises ends the call.
    watch : callable, optional
        Given the number of requests to send, returns a context manager that yields a function of the
        `Tally`; it is called after each write, and each second while the server holds all requests back,
        for instance to show progress.
    until : callable, optional
        Ends the run early: given the judgments and choices of the first tasks of which all requests have
        ended (in the order of asking, which was drawn before) and the number of tasks of the design, it
        returns whether they suffice, and what is known in words. It is called whenever there are 5% more
        outcomes; what it did not need stays to be asked by a later call.
        `conjury.analysis.pipeline.until.stopping_rule` makes one that may be checked so often.
    backend : Backend, optional
        Answers the requests in place of the backend that ``asking`` or the study file names: an object with
        the methods of `conjury.inference.backends.base.Backend`. Its answers have no price.

    Returns
    -------
    Collected
        What was asked and answered, and the tables written.

    Raises
    ------
    InputError
        Where options exclude each other, the study has changed since the run began, or the provider
        refuses all requests, because of a wrong key for instance. Answers so far stay in the ledger.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.collecting import Asking, Running, collect
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = collect("moderation", "gpt4o", asking=Asking(backend="simulated"),
    ...         running=Running(pairs=5), out=folder)
    >>> run.tally.answered, [file.name for file in run.files]
    (15, ['responses.parquet', 'judgments.parquet', 'choices.parquet'])
    """
    options = running or Running()
    if until is not None and (options.batch or options.export or options.batch_results or options.recheck):
        raise InputError(
            "--until stops a run while answers arrive, but --batch, --export, --batch-results and --recheck "
            "handle all requests at once; omit one of the two."
        )
    conflicts = (options.batch, options.export, options.batch_results, options.max_cost)
    if backend is not None and any(option not in (None, False) for option in conflicts):
        raise InputError(
            "backend answers the requests itself, at no price; omit batch, export, batch_results and "
            "max_cost, or omit the backend."
        )
    with _open_run(study, judge, prompts, out, asking or Asking(), options) as (setup, ledger, content):
        if backend is not None:
            setup = replace(
                setup, budget=replace(setup.budget, price=None), plan=replace(setup.plan, cost=None)
            )
        if before is not None:
            before(setup)
        assert ledger is not None  # opened to write
        if options.export is not None:
            written = export_requests(setup.job, ledger, options.export, setup.plan)
            return Collected(setup, exported=written)
        try:
            ahead = setup.plan.remaining + setup.plan.waiting * options.batch
            with watch(ahead) if watch else nullcontext(ignore_progress) as progress:
                tally = send_requests(setup, ledger, content, progress, until, backend)
        except (ConjuryError, KeyboardInterrupt) as error:
            if has_outcomes(ledger):
                error.add_note(
                    f"Answers so far are in {setup.folder.ledger}; `conjury run parse` makes their tables."
                )
            raise
        files: list[Path] = []
        if has_outcomes(ledger):
            files = write_tables(setup.job.study, ledger, setup.folder, content, setup.prices, options.rule)
        account = None
        if files:
            judges = (ledger.get("inputs") or {}).get("judges", {})
            accounts = read_accounts(setup.folder.path, ledger.counts(), judges)
            account = next((each for each in accounts if each["judge"] == judge), None)
        waiting = sum(batch.n for batch in ledger.batches(judge, live=True))
        rechecked = None
        if options.recheck is not None:
            run = run_folder(setup.job.study, out)
            rechecked = compare_again(setup.job.study, run, ledger, content, options.rule, judge)
        unanswered = count_unanswered(setup.job, ledger)
    return Collected(
        setup, tally, waiting, files, rechecked=rechecked, account=account, unanswered=unanswered
    )


@contextmanager
def _open_run(
    study: str | Path | AnyStudy,
    judge: str,
    prompts: Sequence[str] | None,
    out: str | Path | None,
    asking: Asking,
    running: Running,
    write: bool = True,
) -> Iterator[tuple[Prepared, Ledger | None, RunContent]]:
    """Check everything that can be checked before a request, and plan the run with its ledger open."""
    loaded_study = load_any_study(study) if isinstance(study, str | Path) else study
    assert isinstance(loaded_study, Study | ItemStudy)
    full_rules(loaded_study, running.rule)
    sampling = find_judge(loaded_study, judge, asking)
    check_route(sampling, loaded_study.responses, running)
    check_engine(loaded_study, judge, sampling, running)
    chosen = find_prompts(loaded_study, prompts, running.images, judge)
    folder = run_folder(loaded_study, out)
    folder.check_ledger()
    check_records(folder.path)
    sampling, changes, probe_notes = sampling_by_probe(folder, judge, sampling)
    check_recheck(running, folder)
    prices = read_prices(running.prices)
    budget = priced_budget(sampling, running, prices)
    stored = folder.design
    pictures = _pictures(loaded_study, folder, chosen, running, write)
    check_anchors(loaded_study, running.occasion)
    selection = (running.pairs, running.images, write, pictures, running.tasks, running.occasion)
    content = folder.content(loaded_study, *selection)
    if stored is not None and isinstance(loaded_study, Study):
        check_posts(loaded_study, stored, folder.path)
    facts = run_facts(
        loaded_study, judge, sampling, chosen, content.facts, pictures.drawn if pictures else None
    )
    keys = None
    if running.recheck is not None:
        prompt_ids = {prompt.id for prompt in chosen}
        keys = keys_to_ask_again(folder, judge, prompt_ids, content.names, facts, running)
        folder = recheck_folder(folder, running.recheck_seed)
        folder.check_ledger()
    begun = write or folder.ledger.is_file()
    with Ledger.open(folder.ledger, write=write) if begun else nullcontext() as ledger:
        if ledger is not None:
            ledger.require_whole()
            folder.check_tables(ledger)
        if keys is None:
            check_occasion(ledger, judge, content.names, running.occasion)
        if ledger is not None:
            merged = merged_facts(begun_facts(ledger.get("inputs"), ledger.counts()), facts, folder.path)
            if write:
                ledger.set("inputs", merged)
                if changes != (ledger.get(f"changes:{judge}") or {}):
                    ledger.set(f"changes:{judge}", changes)
                if not running.batch:
                    release_unsent(ledger, judge)
        media = run_folder(loaded_study, out).media(loaded_study, ledger if write else None, pictures)
        subjects = (content.subjects, content.count, media)
        names, n_swapped = content.names, content.n_swapped
        by_user = EndpointChoice(asking.base_url is not None, asking.key_variable is not None)
        job = Job(
            loaded_study, judge, sampling, chosen, *subjects, content.put_to, names, n_swapped, keys, by_user
        )
        notes = (ledger.unproven(),) if ledger is not None and ledger.migrated else ()
        notes = (*notes, *probe_notes)
        planned = plan(job, ledger, budget)
        yield Prepared(job, planned, budget, prices, running, folder, notes), ledger, content


def _pictures(
    study: Study | ItemStudy, folder: RunFolder, prompts: Sequence[Prompt], running: Running, keep: bool
) -> Pictures | None:
    """Find the pictures of a conjoint's profiles, where these are shown."""
    if not running.images or isinstance(study, ItemStudy):
        return None
    folder.check_people(study, running.tasks)
    design = folder.design or folder.draw(study, None, None, None, keep=keep)
    usual = folder.path == run_folder(study, None).path
    return find_pictures(
        *(study, design, prompts, running.pictures),
        pairs=running.pairs,
        tasks=running.tasks,
        links=running.links,
        run=None if usual else folder.path,
    )


def send_requests(
    setup: Prepared,
    ledger: Ledger,
    content: RunContent,
    watch: Watch,
    until: Rule | None,
    backend: Backend | None,
) -> Tally:
    """Ask by the route that the options name."""
    job, running = setup.job, setup.running
    if running.batch_results is not None:
        return import_results(job, ledger, running.batch_results, setup.plan)
    if running.batch:
        folder = setup.folder.batches
        return collect_by_batch(job, ledger, folder, setup.budget, setup.plan, watch, wait=running.wait)
    backend = backend or choose_backend(job, setup.folder, running, ledger)
    remember_engine(ledger, job.judge_id, backend.settings())
    stopping = None if until is None else StoppingCheck(until, job, ledger, content, running.rule)
    return ask(job, ledger, backend, setup.budget, setup.plan, watch, stopping)


def ignore_progress(tally: Tally) -> None:
    """Show nothing."""
