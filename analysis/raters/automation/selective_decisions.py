"""Which verdicts of a judge stand alone, and which need a person, by its confidence and a few labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, check_share, counted, no_column, quoted
from conjury.inference.readers.any_file import read_columns
from conjury.inference.tables.frames import answer_wrong_calls
from conjury.inference.tables.items import repeated_items
from conjury.inference.tables.reading.reading_rules import RuleArguments, rules_of
from conjury.inference.tables.row_numbers import row_words
from conjury.inference.tables.schema import SAMPLING

from ...correction.selection import SELECTED, selection_p
from ...figures.labels import p_text
from ...frames.kinds import limit_text
from ...numerics.intervals import check_alpha
from ...numerics.intervals.bounded import BoundedEstimate, Flags
from ...numerics.rating_panel import RowClusters
from ...numerics.types import Codes, Floats
from ..label_provenance import (
    SAMPLED,
    read_provenance,
    without_labels,
    without_others_labels,
)
from ..validation.coding import (
    CodedRows,
    CodingOptions,
    code_table,
    counts_of,
    majority,
    names_of,
    refuse_columns,
)
from ..validation.judging import Validation
from ..validation.tables.item_columns import notes_on_copies
from ..validation.validation_rows import AUTOMATION, TestRows
from .automation_sentences import verdict_of_automation
from .confident_shares import ConfidentShare, largest_share, upper_limit

ERRORS = (0.01, 0.02, 0.05, 0.1)
FIFTHS = 5  # by which it is tested whether labels follow the confidence


@answer_wrong_calls
def automate(
    table: Any,
    judge: str,
    human: str | Sequence[str],
    certainty: str,
    *,
    errors: Sequence[float] = ERRORS,
    by: str | Sequence[str] = (),
    labelled: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    source: str = "table",
    **rules: Unpack[RuleArguments],
) -> Validation:
    """Find the largest share of a judge's verdicts that may stand alone, at errors that are stated first.

    A verdict is wrong where people's label (that of most people) is another. Rows are decided by the judge
    from a threshold of its confidence on; the threshold is the lowest at which the error of all these rows is
    at most the one that is stated, but for a probability of ``alpha``. The guarantee is exact and needs no
    model of the confidence, if the labelled rows are a random sample of all: thresholds are tested in four
    fixed sequences by exact binomial tests, each at a quarter of ``alpha`` (learn then test).

    Parameters
    ----------
    table : path, DataFrame of n rows, or TableReading
        One row per verdict; a file in any format of ``conjury.read``.
    judge : str
        Column of the judge's labels.
    human : str or sequence of str
        Columns of people, one per person; missing where a person did not answer.
    certainty : str
        Column of how sure the judge is: any number that grows with it.
    errors : sequence of float
        Shares of wrong verdicts that are allowed.
    by : str or sequence of str
        Columns of subgroups in which the error of the automated rows is reported.
    labelled : mapping of str to str, optional
        How labels came about, as in `conjury.judge`. Labels that a model wrote, that the judge saw or whose
        rows people chose are not used.
    alpha : float
        Probability with which the error may be larger than stated.
    source : str
        What errors call a DataFrame.
    **rules
        How the table is read, as in `conjury.analysis.raters.validation.judge`.

    Returns
    -------
    Validation
        Kind "automation". ``frame`` has for each error, over all verdicts and for each label that the judge
        gives (``class``), a row ``automated_share`` (of the judged rows) and a row ``automated_error``: the
        share of wrong ones among the labelled rows, with the exact one-sided upper limit; then the error in
        subgroups at the first error with a share above 0. ``extra["decisions"]`` has for each row of the
        table whether a person is needed at each error, ``extra["thresholds"]`` the thresholds.

    Raises
    ------
    InputError
        For columns that do not exist, ratings, confidence that is no number, items with several rows,
        copies of rows, and errors outside of 0 to 1.

    References
    ----------
    Angelopoulos, A. N., Bates, S., Candes, E. J., Jordan, M. I., Lei, L. (2025). Learn then test: Calibrating
    predictive algorithms to achieve risk control. Annals of Applied Statistics 19(2), 1641-1662.
    doi:10.1214/24-AOAS1998

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sure = rng.uniform(0.5, 1, 800)
    >>> label = np.where(rng.random(800) < 0.5, "pass", "fail")
    >>> verdict = np.where(rng.random(800) < sure, label, np.where(label == "pass", "fail", "pass"))
    >>> frame = pd.DataFrame({"verdict": verdict, "sure": sure, "person": label})
    >>> result = automate(frame, "verdict", "person", "sure", errors=[0.1])
    >>> float(result.frame.set_index("name").loc["automated_share[error=0.1]", "estimate"])
    0.15
    """
    check_alpha(alpha)
    for error in errors:
        check_share("errors has", error, "give shares between 0 and 1")
    if not errors:
        raise InputError("errors is empty; give shares of wrong verdicts that are allowed, such as 0.05.")
    errors = list({f"{error:g}": error for error in errors}.values())  # one row for each
    reading = read_columns(table, rules_of(rules), source)
    frame, source = reading.frame, reading.source
    people, groups = names_of(human), names_of(by)
    answers = (judge, certainty, *people)
    _refuse_repeats(frame, reading.rules.id, answers, source)
    options = CodingOptions((judge,), people, groups, None, None, reading.rules)
    refuse_columns(frame, options, source)
    # Exact limits weight no rows, so that chosen ones are set aside whatever probability they have.
    account = read_provenance(frame.drop(columns=SAMPLING, errors="ignore"), people, labelled, source)
    usable, notes = without_others_labels(frame, people, account, source)
    chosen = account.rows(SAMPLED, "chosen")
    usable = without_labels(usable, people, chosen)
    counts = {"self_selected": chosen, "drawn_unweighted": account.rows(SAMPLED, "judge")}
    limits = {name: {"n": int(flags.sum())} for name, flags in counts.items() if flags.any()}
    notes += [limit_text(name, values) for name, values in limits.items()]
    data = code_table(usable, options, source)
    if data.scale == "interval":
        raise InputError(
            f"{source}: '{judge}' contains ratings; give labels, or classes of ratings by --scale ordinal."
        )
    sure = _certainties(frame, certainty, source)
    judged = np.isfinite(data.judged[0]) & np.isfinite(sure)
    label = majority(counts_of(data.people, data.q)) if len(people) > 1 else data.people[0]
    has_label = judged & (label >= 0)
    if not has_label.any():
        raise InputError(
            f"{source}: no row has a verdict, a confidence and a label{_set_aside(notes)}; label some rows."
        )
    wrong = has_label & (data.judges[0] != label)
    rows, thresholds = TestRows(alpha), list[dict[str, Any]]()
    decisions = {}
    for error in errors:
        for place in (None, *range(data.q)):
            inside = judged if place is None else judged & (data.judges[0] == place)
            name = "" if place is None else data.classes[place]
            if inside.any():
                share = _add(rows, (sure, inside, has_label, wrong), error, name, alpha)
                thresholds.append({"error": error, "class": name, **vars(share)})
                if place is None:
                    decisions[f"{error:g}"] = judged & (sure >= share.threshold)
    _add_groups(rows, data, decisions, (has_label, wrong), alpha)
    notes += [*reading.account.notes(), *data.notes, *_notes(data, judged, has_label, sure, frame)]
    notes += [*notes_on_copies(frame, reading.rules.id, answers, source), *_on_ties(data, label)]
    settings: dict[str, Any] = {
        "judge": judge, "human": list(people), "certainty": certainty, "errors": list(errors),
        "by": list(groups), "scale": data.scale, "classes": list(data.classes), "alpha": alpha,
        "n_rows": data.n, "n_judged": int(judged.sum()), "n_labelled": int(has_label.sum()),
        "n_wrong": int(wrong.sum()), "provenance": account.record(limits, weighted=False),
    }  # fmt: skip
    result = rows.frame()
    settings["verdict"] = verdict_of_automation(result, settings)
    needed = {f"person_needed_{name}": ~alone for name, alone in decisions.items()}
    extra = {
        "thresholds": pd.DataFrame(thresholds),
        "decisions": pd.DataFrame({"row": np.arange(1, data.n + 1), **needed}),
    }
    return Validation(result, "automation", tuple(dict.fromkeys(notes)), settings, extra)


def _add(
    rows: TestRows, columns: tuple[Floats, Flags, Flags, Flags], error: float, name: str, alpha: float
) -> ConfidentShare:
    """Add the largest share of some rows at an error, and the error among them."""
    sure, inside, labelled, wrong = columns
    share = largest_share(sure[inside], labelled[inside], wrong[inside], error, alpha)
    keys = {"label": name, "by": "error", "level": f"{error:g}"}
    rows.number(AUTOMATION, "automated_share", share.share, int(inside.sum()), **keys)
    if share.labelled:
        estimate = share.errors / share.labelled
        limits = BoundedEstimate(estimate, np.nan, 0.0, share.upper, share.labelled, share.labelled)
        rows.add(AUTOMATION, "automated_error", limits, p=np.nan, **keys)
    return share


def _add_groups(
    rows: TestRows, data: CodedRows, decisions: dict[str, Flags], flags: tuple[Flags, Flags], alpha: float
) -> None:
    """Add the error in subgroups of the rows that the judge decides, at the first error with some."""
    labelled, wrong = flags
    alone = next((mask for mask in decisions.values() if mask.any()), None)
    if alone is None:
        return
    for group in data.groups:
        for place, level in enumerate(group.levels):
            inside = alone & (group.code == place)
            n, k = int((inside & labelled).sum()), int((inside & wrong).sum())
            if n:
                limits = BoundedEstimate(k / n, np.nan, 0.0, upper_limit(k, n, alpha), n, n)
                rows.add(AUTOMATION, "automated_error", limits, p=np.nan, by=group.name, level=level)


def _certainties(frame: pd.DataFrame, name: str, source: str) -> Floats:
    if name not in frame:
        raise no_column(source, name, frame)
    values = pd.to_numeric(frame[name], errors="coerce")
    broken = (values.isna() & frame[name].notna()) | np.isinf(values.astype(float))
    if broken.any():
        row = int(broken.to_numpy(dtype=bool).argmax())
        cell = quoted(str(frame[name].iloc[row]))
        raise InputError(
            f"{source}: '{name}' in row {row_words(source, row)} is no number ({cell}); give how sure the "
            "judge is, or state it with --missing."
        )
    return values.to_numpy(dtype=float, na_value=np.nan)


def _refuse_repeats(frame: pd.DataFrame, named: str | None, answers: Sequence[str], source: str) -> None:
    """Refuse items with several rows: exact limits need rows that are independent."""
    item = named if named is not None else repeated_items(frame, answers)[0]
    if item is None or item not in frame:
        return
    if named is not None and frame[item].isna().any():
        row = row_words(source, frame[item].isna().to_numpy().argmax())
        raise InputError(f"{source}: column '{item}' is empty in row {row}; every row needs an item.")
    if frame[item].dropna().duplicated().any():
        raise InputError(
            f"{source}: '{item}' repeats, and the exact limits need independent rows; keep one row of each "
            "item, such as that of one sample."
        )


def _on_ties(data: CodedRows, label: Codes) -> list[str]:
    """Say how many rows people answered without a majority."""
    n_tied = int(((data.people >= 0).any(axis=0) & (label < 0)).sum())
    if not n_tied:
        return []
    return [
        f"{counted(n_tied, 'row')} with as many people for one label as for another: they count as rows "
        "without a label, so that the error is that among rows on which most people agree."
    ]


def _set_aside(notes: Sequence[str]) -> str:
    return f" that may be used ({' '.join(notes)})" if notes else ""


def _notes(data: CodedRows, judged: Flags, labelled: Flags, sure: Floats, table: pd.DataFrame) -> list[str]:
    notes = []
    if (~judged).any():
        notes.append(f"{counted(int((~judged).sum()), 'row')} without a verdict or a confidence: for people.")
    if data.n > labelled.sum() and labelled.any():
        rank = pd.Series(sure[judged]).rank(method="first").to_numpy()
        part = np.ceil(rank * FIFTHS / len(rank)).astype(int) - 1
        strata = {"confidence": np.eye(FIFTHS)[part], "verdict": np.eye(data.q)[data.judges[0][judged]]}
        for what, flags in strata.items():
            p = selection_p(flags, labelled[judged], RowClusters.numbered(np.arange(judged.sum())))
            if p < SELECTED / len(strata):
                limits = "The limits" if what == "confidence" else "The limits over all verdicts"
                notes.append(
                    f"People labelled rows by the judge's {what} (p {p_text(p)}). {limits} hold for rows "
                    "like the labelled ones; label rows at random."
                )
        if SAMPLING in table:
            notes.append(f"'{SAMPLING}' is not used: exact limits need labels of equal probability.")
    return notes
