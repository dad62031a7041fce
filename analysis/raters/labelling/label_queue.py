"""The rows to label next, drawn with known probabilities, and what their labels say so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.readers.any_file import read_columns
from conjury.inference.tables.files import write_table
from conjury.inference.tables.reading import TableReading
from conjury.inference.tables.reading.reading_rules import RuleArguments, rules_of
from conjury.inference.tables.schema import SAMPLING
from conjury.inference.tables.writing import Lock, LockHeld

from ...numerics.intervals import check_alpha
from ...numerics.types import Floats
from ...results import Result
from ..label_provenance import BLIND, BY, SAMPLED
from ..validation.coding import names_of
from .batch_draws import BATCH, LabelBatch, draw_batch, label_weights
from .label_estimates import BoundedLabels, label_estimates
from .label_journal import LabelJournal
from .label_population import LabelPlan, LabelPopulation, fingerprint_of, population_of, refuse_unchosen
from .label_predictions import predict_labels
from .queue_sentences import claim_of, measure_of, sentences_of
from .stopping_rules import StoppingRule, read_rules, rule_met

KIND = "label_sequence"
BATCH_COLUMN = "label_batch"
DRAWN, HAND_PICKED = "random", "hand-picked"  # as columns of provenance state it
TEXTS = (BY, BLIND, SAMPLED)


class LabelQueue:
    """Rows of a table to label, the labels so far, and the estimates after each batch.

    Parameters
    ----------
    reading : TableReading
        The table, with a row per judged answer.
    plan : LabelPlan
        Columns, limits and seed, fixed before the first label.
    journal : LabelJournal
        What was drawn and labelled before.
    until : str, optional
        When to stop.
    batch : int
        Rows that are labelled before the next ones are drawn.
    out : path, optional
        Where the table with its labels is written.

    Examples
    --------
    >>> from conjury.analysis.raters.labelling import label
    >>> answers = pd.DataFrame({"answer": ["a", "b"] * 30, "verdict": ["good", "bad"] * 30})
    >>> queue = label(answers, "verdict", batch=5)
    >>> while (row := queue.row) is not None and queue.n_labelled < 10:
    ...     queue.add("good" if row % 2 == 0 else "bad", "ann")
    >>> queue.frame[["n_labels", "quantity"]].values.tolist()
    [[5, 'level'], [10, 'level']]
    """

    def __init__(
        self,
        reading: TableReading,
        plan: LabelPlan,
        journal: LabelJournal,
        *,
        until: str | None = None,
        batch: int = BATCH,
        out: Path | None = None,
    ) -> None:
        self.reading, self.plan, self.journal, self.out = reading, plan, journal, out
        self.population: LabelPopulation = population_of(reading, plan)
        self.batch_size = batch
        self.rules: tuple[StoppingRule, ...] = read_rules(
            until, list(self.population.contrasts), self.population.main
        )
        self._frame: pd.DataFrame | None = None
        self._n_estimated = 0  # batches of that frame

    @property
    def row(self) -> int | None:
        """The row to label now, from 0; None where labelling has stopped."""
        if self.stop is not None:
            return None
        if not self.journal.batches or self.is_complete:
            self._draw()
        if self.is_complete:
            return None
        skipped = {row: place for place, row in enumerate(self.journal.skipped)}
        open_rows = [row for row in self.journal.batches[-1].order if row not in self.journal.labels]
        return min(open_rows, key=lambda row: skipped.get(row, -1))

    @property
    def is_complete(self) -> bool:
        """Whether all rows of all batches have a label."""
        return bool(self.journal.batches) and all(
            row in self.journal.labels for row in self.journal.batches[-1].order
        )

    @property
    def stop(self) -> str | None:
        """Why labelling has stopped; None while it goes on."""
        if not self.is_complete:
            return None
        rule = rule_met(self.rules, self.frame) if self.rules else None
        if rule is not None:
            return f"the rule is met ({rule.text})"
        return "all rows have a label" if self.labels.labelled.all() else None

    @property
    def n_labelled(self) -> int:
        """How many labels were given here."""
        return len(self.journal.labels)

    @property
    def place(self) -> tuple[int, int, int]:
        """Number of the batch, labels in it, and its rows."""
        if not self.journal.batches:
            return 0, 0, 0
        order = self.journal.batches[-1].order
        return len(self.journal.batches), sum(row in self.journal.labels for row in order), len(order)

    @property
    def labels(self) -> BoundedLabels:
        """All labels as numbers, those of the table included."""
        least, greatest = (self.population.table_label.copy() for _ in range(2))
        for row, answer in self.journal.labels.items():
            if answer.label is None:
                least[row], greatest[row] = self.population.least, self.population.greatest
            else:
                least[row] = greatest[row] = self.population.number(answer.label)
        return BoundedLabels(least, greatest)

    @property
    def frame(self) -> pd.DataFrame:
        """Estimates after each complete batch: one row per batch and quantity."""
        batches = self._complete
        if self._frame is None or self._n_estimated < len(batches):
            self._frame = label_estimates(self.population, self.labels, batches, self.plan.alpha, self._frame)
            self._n_estimated = len(batches)
        return self._frame

    @property
    def result(self) -> Result:
        """The estimates with settings, sentences and what may be claimed."""
        settings: dict[str, Any] = {
            **self.plan.record(),
            "quantity": self.population.main,
            "systems": list(self.population.rows.systems),
            "measure": measure_of(self.population),
            "n_rows": len(self.population.unit),
            "n_labels": self.n_labelled,
            "hand_picked": self._n_hand_picked,
            "stopped": self.stop,
            "claim": claim_of(self.population, self.journal.labels),
            "verdict": sentences_of(self.population, self.frame, self.plan.alpha, self.stop),
        }
        return Result(self.frame, KIND, self.population.notes, settings)

    def add(self, label: str | None, annotator: str, row: int | None = None) -> None:
        """Record a label of the present row; None where nobody can say, and all it may be is allowed for."""
        at = self.row if row is None else row
        if at is None:
            raise InputError(f"Labelling has stopped: {self.stop}.")
        if not self.journal.batches or at not in self.journal.batches[-1].order:
            raise InputError(
                f"row {at + 1:,} was not drawn, and a label of a row that somebody chose says nothing of "
                "others; label the rows that are drawn."
            )
        if at in self.journal.labels:
            raise InputError(f"row {at + 1:,} has a label; take it back with undo, or label the next row.")
        if not annotator.strip():
            raise InputError("A label needs the name of the person; give one with --annotator.")
        if label is not None:
            self.population.number(label)
            label = self.population.spelling(label)
        self.journal.add_label(at, label, annotator.strip())
        if self.is_complete:
            self.write()

    def skip(self) -> None:
        """Put the present row off to the end of its batch."""
        row = self.row
        if row is not None:
            self.journal.skip(row)

    def undo(self) -> bool:
        """Take back the last label of the present batch; False where there is none."""
        order = set(self.journal.batches[-1].order) if self.journal.batches else set()
        rows = [row for row in self.journal.labels if row in order]
        if not rows or self.is_complete:
            return False
        self.journal.undo(rows[-1])
        return True

    def run(
        self, answer: Callable[[pd.Series[Any]], str | None], annotator: str, most: int | None = None
    ) -> Result:
        """Label by a function of rows until the rule is met, or ``most`` labels are there."""
        while (most is None or self.n_labelled < most) and (row := self.row) is not None:
            self.add(answer(self.reading.frame.iloc[row]), annotator, row)
        return self.result

    def table(self) -> pd.DataFrame:
        """The table with labels of complete batches, their probabilities and batches, and who gave them."""
        frame = self.reading.frame.reset_index(drop=True)
        human = self.plan.human
        columns = {name: _cells(frame, name) for name in (human, SAMPLING, BATCH_COLUMN, *TEXTS)}
        for row in np.flatnonzero(np.isfinite(self.population.table_label)).tolist():
            # Such a label represents its row alone, as one that was certain to be drawn.
            columns[SAMPLING][row] = 1.0
            if not self.population.is_sampled:
                columns[SAMPLED][row] = HAND_PICKED
        for row, probability, number in self._drawn_rows():
            answer = self.journal.labels[row]
            columns[human][row] = answer.label
            columns[SAMPLING][row], columns[BATCH_COLUMN][row] = probability, number
            columns[BY][row], columns[BLIND][row] = f"person {answer.annotator}", "yes"
            columns[SAMPLED][row] = DRAWN
        table = frame.drop(columns=[name for name in columns if name in frame])
        kinds: dict[str, Any] = {SAMPLING: "Float64", BATCH_COLUMN: "Int64"}
        if not self.population.classes:
            columns[human] = list(pd.to_numeric(pd.Series(columns[human], dtype="object")))
            kinds[human] = "Float64"
        added = {
            name: pd.Series(cells, dtype="object").astype(kinds.get(name, "string"))
            for name, cells in columns.items()
        }
        return pd.concat([table, pd.DataFrame(added)], axis=1)

    def write(self) -> None:
        """Write the table, whole or not at all."""
        if self.out is not None:
            write_table(self.table(), self.out)

    @property
    def _complete(self) -> list[LabelBatch]:
        return [
            batch for batch in self.journal.batches if all(row in self.journal.labels for row in batch.order)
        ]

    @property
    def _n_hand_picked(self) -> int:
        return 0 if self.population.is_sampled else int(np.isfinite(self.population.table_label).sum())

    def _drawn_rows(self) -> list[tuple[int, float, int]]:
        """Rows of complete batches, each with its probability and batch."""
        batches = self._complete
        chances = [draw.probability for batch in batches for draw in batch.draws]
        unlabelled = ~np.isfinite(self.population.table_label)
        weights = label_weights(chances, len(np.unique(self.population.unit[unlabelled])))
        rows, place = list[tuple[int, float, int]](), 0
        for number, batch in enumerate(batches, start=1):
            for draw in batch.draws:
                probability = float(1 / weights[place])
                rows += [(row, probability, number) for row in draw.rows if unlabelled[row]]
                place += 1
        return rows

    def _draw(self) -> None:
        labels = self.labels
        if labels.labelled.all():
            return
        prediction = predict_labels(self.population, labels.middle, labels.labelled, self._label_weights())
        number = len(self.journal.batches) + 1
        self.journal.add_batch(
            draw_batch(self.population, labels.labelled, prediction, self.batch_size, number, self.plan.seed)
        )

    def _label_weights(self) -> Floats:
        weights = np.ones(len(self.population.unit))
        for row, probability, _ in self._drawn_rows():
            weights[row] = 1 / probability
        return weights


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
            raise InputError(
                f"{reading.source}: there is no column '{name}' to show; there are "
                f"{listed(map(str, reading.frame))}."
            )
        if name in hidden:
            raise InputError(
                f"{reading.source}: '{name}' would show people the judge or the system, and labels are "
                "blind; show another column."
            )


def _cells(frame: pd.DataFrame, name: str) -> list[Any]:
    """Cells of a column that the table may have, None where there is nothing."""
    if name not in frame:
        return [None] * len(frame)
    texts = frame[name].astype(object).where(frame[name].notna(), None)
    return [str(value) if name in TEXTS and value is not None else value for value in texts]
