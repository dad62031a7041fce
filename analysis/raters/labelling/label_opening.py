"""Begin to label a table, or go on where its journal ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from conjury.inference.errors import InputError, listed, no_column
from conjury.inference.readers.any_file import read_columns
from conjury.inference.tables.frames import answer_wrong_calls
from conjury.inference.tables.reading import TableReading
from conjury.inference.tables.reading.reading_rules import RuleArguments, rules_of
from conjury.inference.tables.writing import Lock, LockHeld

from ...numerics.intervals import check_alpha
from ..validation.coding import names_of
from .batch_draws import BATCH
from .label_journal import LabelJournal
from .label_population import LabelPlan, fingerprint_of, refuse_unchosen
from .label_queue import LabelQueue


@answer_wrong_calls
def label(
    table: Any,
    judge: str | Sequence[str],
    human: str = "label",
    *,
    system: str | None = None,
    out: str | Path | None = None,
    until: str | None = None,
    batch: int = BATCH,
    limits: tuple[float, float] | None = None,
    certainty: str | None = None,
    strata: str | Sequence[str] = (),
    positive: str | None = None,
    show: str | Sequence[str] = (),
    hand_picked: bool = False,
    alpha: float = 0.05,
    seed: int = 1,
    source: str = "table",
    **rules: Unpack[RuleArguments],
) -> LabelQueue:
    """Draw the rows that people label next, and stop as soon as a judge and their labels say enough.

    Rows are drawn in batches, one after another, with probabilities that are known: half of a draw is
    uniform, the other half in proportion to how much labels are expected to differ from what the judge and
    the labels so far predict (by fifths of the score, disagreement of judges, certainty, strata and systems).
    After each batch the level, or the difference of two systems, has an interval that is corrected by the
    judge and holds at all batches together, so that one may look and stop whenever one likes.

    Parameters
    ----------
    table : path, DataFrame of R rows, or TableReading
        One row per judged answer; a file in any format of ``conjury.read``.
    judge : str or sequence of str
        Columns of the judges' scores or labels.
    human : str
        Column that gets the labels.
    system : str, optional
        Column of systems, whose levels and differences are estimated; all answers to a prompt (``id``) are
        drawn together then.
    out : path, optional
        Where the table with labels, ``sampling_probability``, ``label_batch``, and who gave them how
        (``label_by, label_blind, label_sampled``) is written after each batch; the journal, from which
        labelling goes on, is beside it.
    until : str, optional
        When to stop: ``"difference < 0.03"`` is half the width of an interval, ``"lower > 0"`` its lower
        limit; several are joined by ``or``.
    batch : int
        Rows that are labelled before the next ones are drawn.
    limits : tuple of two floats, optional
        Lowest and highest rating that a person can give; needed for ratings.
    certainty : str, optional
        Column of how sure the judge is.
    strata : str or sequence of str
        Columns of groups in which labels may vary differently.
    positive : str, optional
        The label whose share is estimated; by default the second of two.
    show : str or sequence of str
        Columns that people see.
    hand_picked : bool
        Declares that labels which the table has were chosen by somebody: they count for their rows alone.
    alpha : float
        Probability with which an interval misses at any batch.
    seed : int
        Of draws and of the order in which rows are shown.
    source : str
        What errors call a DataFrame.
    **rules
        How the table is read, as in `conjury.analysis.raters.validation.judge`.

    Returns
    -------
    LabelQueue
        ``row`` is the row to label now, ``add(label, annotator)`` records a label, ``frame`` has the
        estimates after each batch, ``table()`` the labelled table, ``result`` all of it with sentences.

    Raises
    ------
    InputError
        For labels that were not drawn and are not declared, ratings without limits, a journal of other
        columns, and rules of ``until`` that name no quantity.

    Notes
    -----
    What is estimated is what people would say of the rows of the table. Each draw gives an estimate of it
    whose expectation is right whatever was drawn before: all labels so far, the predictions of all other
    rows, and the error of the prediction of the drawn row over its probability (active inference). Limits
    come from betting against each mean, and are exact for any number of labels and looks, and for labels
    however rare; the price is an interval 1.4 to 2.6 times as wide as one that is looked at once (in
    simulations). A row that nobody can label counts with the worst that it may be.

    References
    ----------
    Waudby-Smith, I., Ramdas, A. (2024). Estimating means of bounded random variables by betting. Journal of
    the Royal Statistical Society B 86(1), 1-27. doi:10.1093/jrsssb/qkad009

    Shekhar, S., Xu, Z., Lipton, Z. C., Liang, P. J., Ramdas, A. (2023). Risk-limiting financial audits via
    weighted sampling without replacement. doi:10.48550/arXiv.2305.06884

    Zrnic, T., Candes, E. J. (2024). Active statistical inference. doi:10.48550/arXiv.2403.03208

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> truth = np.where(rng.random(600) < 0.7, "pass", "fail")
    >>> verdict = np.where(rng.random(600) < 0.9, truth, "fail")
    >>> answers = pd.DataFrame({"verdict": verdict, "truth": truth})
    >>> queue = label(answers[["verdict"]], "verdict", until="level < 0.08")
    >>> result = queue.run(lambda row: answers["truth"][row.name], "ann")
    >>> int(result.frame["n_labels"].max()), bool(result.frame["half_width"].iloc[-1] < 0.08)
    (80, True)
    """
    reading = read_columns(table, rules_of(rules), source)
    plan = LabelPlan(
        names_of(judge),
        human,
        system,
        reading.rules.id,
        certainty,
        names_of(strata),
        positive,
        limits,
        alpha,
        seed,
    )
    return open_queue(
        reading, plan, None if out is None else Path(out), until=until, batch=batch, show=names_of(show),
        is_declared=hand_picked,
    )  # fmt: skip


def journal_of(out: Path) -> Path:
    """Where the journal of a labelled table is."""
    return out.with_name(f"{out.name}.journal.jsonl")


def open_queue(
    reading: TableReading,
    plan: LabelPlan,
    out: Path | None,
    *,
    until: str | None = None,
    batch: int = BATCH,
    show: Sequence[str] = (),
    is_declared: bool = False,
    options: Mapping[str, Any] | None = None,
) -> LabelQueue:
    """Begin to label a table, read with some ``options``, or go on where its journal ends."""
    check_alpha(plan.alpha)
    journal = LabelJournal.open(None if out is None else journal_of(out))
    if journal.plan is None:
        _refuse_overwriting(out)
        queue = LabelQueue(reading, plan, journal, until=until, batch=batch, out=out)
        refuse_unchosen(queue.population, plan.human, reading.source, is_declared)
        _refuse_shown(reading, plan, show)
        fingerprint = fingerprint_of(reading, plan, queue.population, show)
        journal.begin(plan, fingerprint, is_declared, show, options or {})
        return queue
    _refuse_changes(journal.plan, plan, out)
    queue = LabelQueue(reading, plan, journal, until=until, batch=batch, out=out)
    if fingerprint_of(reading, plan, queue.population, journal.shown_columns) != journal.fingerprint:
        raise InputError(
            f"{reading.source}: its rows, texts, labels, or the classes of answers are others than those of "
            f"the labels in {journal.path}; restore the file and the options with which it was read, or "
            "begin anew with another --out."
        )
    if not queue.frame.empty:  # the last process may have ended between a label and the table
        queue.write()
    return queue


def lock_of(out: Path) -> Lock:
    """Lets one process at a time label a table."""
    try:
        return Lock(journal_of(out).with_suffix(".lock"), passing=True)
    except LockHeld as holder:
        raise InputError(f"{out}: {holder} is labelling this table; end it first.") from None
    except OSError as error:
        raise InputError(f"{out}: labels cannot be written there ({error.strerror}).") from None


def _refuse_overwriting(out: Path | None) -> None:
    if out is not None and out.exists():
        raise InputError(
            f"{out}: the file exists, and its journal {journal_of(out).name} does not; name another place "
            "with --out."
        )


def _refuse_changes(before: LabelPlan, now: LabelPlan, out: Path | None) -> None:
    changes = [name for name, value in before.record().items() if now.record()[name] != value]
    if changes:
        raise InputError(
            f"{out}: labels were begun with another {listed(changes)}; go on with the same, or begin anew "
            "with another --out."
        )


def _refuse_shown(reading: TableReading, plan: LabelPlan, show: Sequence[str]) -> None:
    hidden = {*plan.judge, plan.human, *(name for name in (plan.system, plan.certainty) if name is not None)}
    for name in show:
        if name not in reading.frame:
            raise no_column(reading.source, name, reading.frame, " to show")
        if name in hidden:
            raise InputError(
                f"{reading.source}: '{name}' would show people the judge or the system, and labels are "
                "blind; show another column."
            )
