"""A judge's answers in a table next to those of people: agreement, errors, rates, numbers of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.errors import InputError, counted, not_percent
from conjury.inference.readers.any_file import read_columns
from conjury.inference.tables.frames import answer_wrong_calls
from conjury.inference.tables.reading.reading_rules import RuleArguments, rules_of
from conjury.inference.tables.schema import SAMPLING

from ...correction.sources import represented_rows
from ...frames.kinds import limit_text
from ...frames.notes import excluding
from ...frames.passport import coverage_notes, name_classes_by_rarity, situation_of
from ...numerics.bootstrap import unequal_clusters
from ...numerics.intervals import check_alpha, level_of_t
from ...numerics.intervals.bounded import (
    POWER,
    BoundedEstimate,
    detectable_differences,
    items_for_width,
    items_to_exclude,
    share,
)
from ...results import Result
from ..label_provenance import (
    equals_all_labels,
    limits_of_judge,
    read_provenance,
    without_chosen,
    without_others_labels,
)
from .coding import (
    CodedRows,
    CodingOptions,
    GoldCoding,
    code_table,
    counts_of,
    gold_of,
    names_of,
    refuse_columns,
)
from .corrected import add_corrected
from .error_rates import add_errors, add_rates, add_subgroups, confusion
from .gates import refuse_outside
from .judge_replacement import add_replacement
from .label_agreement import add_agreement, add_people, headline_of, with_missing
from .rating_agreement import add_rating_subgroups, add_ratings
from .tables.item_columns import item_of
from .tables.judge_versions import notes_on_versions, version_counts
from .tables.mismatched_labels import refuse_other_answers
from .tables.rare_labels import few_labels, stray_labels
from .validation_rows import AGREEMENT, TestRows, name_of
from .verdicts.judge_answer import JudgeAnswer, answer_of
from .verdicts.judge_sentences import in_words, number, verdict_of
from .weighted.answer_strata import strata_of
from .weighted.weighted_estimates import add_weighted

FURTHER = ("chance",)
FEW_KNOWN = 4  # items below which the width of an interval does not show how many labels a narrower one needs
PRECISION = (
    "measure", "n", "clusters", "width", "half_width", "detectable", "threshold", "n_for_threshold",
    "wanted_width", "n_for_width",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Validation(Result):
    """The result of `judge` or of `compare_runs`.

    Parameters
    ----------
    frame : DataFrame
        One row per quantity, as `judge` and `compare_runs` return it.
    kind : str
        "judging" or "run_comparison".
    notes : tuple of str
        What was excluded, assumed or noticed, one sentence each.
    settings : mapping of str to object
        What was run; ``verdict`` contains what was found, in sentences.
    extra : mapping of str to DataFrame
        Further tables, as `judge` and `compare_runs` return them.
    real_judges
        As in `conjury.analysis.results.Result`.

    Examples
    --------
    >>> from conjury.analysis.raters.validation import judge
    >>> labels = ["spam", "ok"] * 20
    >>> result = judge(pd.DataFrame({"judge": [*labels[:-1], "spam"], "person": labels}), "judge", "person")
    >>> result.verdict[0].split(" (")[0]
    "The judge gives the people's label in 97.5% of 40 rows"
    """

    @property
    def answer(self) -> JudgeAnswer | None:
        """Whether the judge is good enough, and why; None for comparisons of something else."""
        return answer_of(self.frame, self.extra, self.settings) if self.kind == "judging" else None

    @property
    def verdict(self) -> tuple[str, ...]:
        """What was found, in sentences."""
        return tuple(self.settings["verdict"])


@answer_wrong_calls
def judge(
    table: Any,
    judge: str,
    human: str | Sequence[str],
    *,
    by: str | Sequence[str] = (),
    positive: str | None = None,
    threshold: float | None = None,
    width: float = 0.1,
    epsilon: float = 0.1,
    labelled: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    source: str = "table",
    **rules: Unpack[RuleArguments],
) -> Validation:
    """Compare a judge's answers with those of people, from one table with a row per judged item.

    Parameters
    ----------
    table : path, DataFrame of n rows, or TableReading
        One row per answer of the judge; a file in any format of ``conjury.read``.
    judge : str
        Column of the judge's labels or ratings, missing where there is no answer.
    human : str or sequence of str
        Columns of people, one per person; missing where a person did not answer.
    by : str or sequence of str
        Columns of subgroups.
    positive : str, optional
        The class that is reported first.
    threshold : float, optional
        Value of the main coefficient that matters: how many labels would decide on which side it is.
    width : float
        Width of the interval of the main coefficient for which the number of labels is computed.
    epsilon : float
        Advantage that people have in the replacement test, see `conjury.analysis.raters.alt_test`.
    labelled : mapping of str to str, optional
        How labels came about, as in `conjury.compare_systems`.
    alpha : float
        One minus the confidence level.
    seed : int
        Of the bootstrap of correlations.
    source : str
        What errors call a DataFrame.
    **rules
        How the table is read, as fields of :class:`conjury.inference.tables.reading.ReadingRules`:
        ``missing`` cells, ``levels`` (labels in their order), ``relabel`` (on both sides), ``scale``
        ("nominal", "ordinal" or "interval"; by default whole numbers of at most five values are ordinal,
        other numbers are ratings, and labels have no order unless their column has one), ``where``,
        ``exclude``. ``id`` is the column of items that were judged several times: their rows form a cluster.
        By default it is a column that is called as items are (such as ``item`` or ``prompt_id``), if its
        values repeat.

    Returns
    -------
    Validation
        Kind "judging". ``frame`` has one row per estimate: ``name`` (as limits of ``--fail-under`` call it,
        such as ``kappa`` or ``recall[spam]``), ``part, measure, class, by, level, estimate, std_error, df,
        lower, upper, p, p_adjusted`` (Holm within a family), ``detectable`` (the smallest difference that a
        test detects with a power of 0.8, at ``alpha`` over the number of tests of its family), ``n, clusters,
        chance``. ``extra`` has ``precision`` (numbers of labels), ``confusion`` (labels), and ``annotators``
        (the replacement test).
        ``verdict`` states the result in sentences.

    Raises
    ------
    InputError
        For columns that do not exist, labels without anything in common, classes or subgroups beyond all
        measure, rows that repeat an earlier one in every column (without ``id``), and where no row has
        answers of both.

    Notes
    -----
    Agreement is that with a random person of those who answered (Schouten 1982), which for one person is the
    usual coefficient. Errors by class are against the label that most people gave, and rows with a tie are
    excluded there; with one or two people, against each of their labels. Coefficients have the interval of a
    Bayesian bootstrap of items (Rubin 1981), whose lower limit adds one item on which the two disagree and
    whose upper limit adds one on which they agree, so that it does not end where nothing was seen; shares of
    independent items have Wilson's interval. Subgroups are compared with all other rows, two with each other
    once: shares by Newcombe's hybrid interval and the p value that inverts it, means by Welch's test.

    References
    ----------
    Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions: comparison
    of eleven methods. Statistics in Medicine 17(8), 873-890.
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I

    Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9(1), 130-134.
    doi:10.1214/aos/1176345338

    Schouten, H. J. A. (1982). Measuring pairwise agreement among many observers II. Biometrical Journal
    24(5), 431-435. doi:10.1002/bimj.4710240502

    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the
    American Statistical Association 22(158), 209-212. doi:10.1080/01621459.1927.10502953

    Examples
    --------
    >>> verdicts, labels = ["spam", "ok"] * 20 + ["spam"] * 5, ["spam", "ok"] * 20 + ["ok"] * 5
    >>> result = judge(pd.DataFrame({"verdict": verdicts, "label": labels}), "verdict", "label")
    >>> kappa = result.frame.set_index("name").loc["kappa"]
    >>> [round(float(kappa[name]), 2) for name in ("estimate", "lower", "upper")]
    [0.78, 0.53, 0.93]
    """
    check_alpha(alpha)
    if not 0 < width < 2:
        raise InputError(
            f"width is {width:g}{not_percent(width)}; give the width of an interval, such as 0.1."
        )
    if not -1 <= epsilon <= 1:
        raise InputError(
            f"epsilon is {epsilon:g}{not_percent(epsilon)}; give a difference of shares, such as 0.1."
        )
    reading = read_columns(table, rules_of(rules), source, (judge, *names_of(human)))
    table, source, id = reading.frame, reading.source, reading.rules.id
    options = CodingOptions((judge,), names_of(human), names_of(by), id, positive, reading.rules)
    if not options.human:
        raise InputError("Name at least one column of people.")
    refuse_columns(table, options, source)
    refuse_other_answers([judge], options.human, map(str, table.columns), source)
    item, notes = item_of(table, id, (judge, *options.human), source, strict=reading.rules.strict)
    options = replace(options, id=item)
    account = read_provenance(table, options.human, labelled, source)
    table, more = without_others_labels(table, options.human, account, source)
    table, chosen = without_chosen(table, options.human, account)
    data = code_table(table, options, source)
    if SAMPLING in table:
        data = replace(data, represented=represented_rows(table[SAMPLING], _rated(data)))
    limits = limits_of_judge(account, chosen, equals_all_labels(data.judged, data.rated))
    notes += [*notes_on_versions(table), *more, *(limit_text(*limit) for limit in limits.items())]
    refuse_no_overlap(data, judge, source)
    if threshold is not None:
        refuse_outside("threshold", threshold, headline_of(data.scale))
    rows, extra = TestRows(alpha), {}
    notes += [*reading.account.notes(), *data.notes]
    answered = np.isfinite(data.judged[0])
    rows.add(AGREEMENT, "answered", share(answered.astype(float), data.cluster, alpha))
    strata, gold = strata_of(data), gold_of(data)
    weighted = strata.selected and not strata.sparse
    if strata.selected:
        notes.append(strata.note())
    if weighted:
        add_corrected(rows, data, strata, seed, notes)
    if data.scale == "interval":
        weight = strata.weight if weighted else None
        add_ratings(rows, data, seed, weight)
        add_rating_subgroups(rows, data, weight)
    else:
        _add_labels(rows, data, gold, seed if weighted else None, notes)
        extra["confusion"] = confusion(data, gold)
    ties = gold.ties if data.scale != "interval" else 0
    notes = [*_missing_notes(data, weighted), *stray_labels(data).values(), *notes, *_notes(data, ties)]
    extra |= add_replacement(rows, data, epsilon, alpha, notes)
    if not weighted and "self_selected_only" not in limits:
        add_corrected(rows, data, strata, seed, notes)
    frame = rows.frame(FURTHER)
    notes += coverage_of_judge(frame, data, answered, alpha)
    main = headline_of(data.scale)
    extra["precision"] = _precision(rows.bounds, main, threshold, width, alpha)
    settings: dict[str, Any] = {
        "judge": judge, "human": list(data.people_names), "by": list(options.by), "id": item,
        "scale": data.scale,
        "classes": list(data.classes), "positive": data.positive, "alpha": alpha, "seed": seed,
        "epsilon": epsilon, "threshold": threshold, "width": width, "main": main, "n_rows": data.n,
        "n_answered": int(answered.sum()), "n_people": int(_rated(data).sum()),
        "n_both": int((answered & _rated(data)).sum()), "clusters": len(np.unique(data.cluster)),
        "weighted": weighted, "provenance": account.record(limits),
        "versions": [name for name, _ in version_counts(table)],
    }  # fmt: skip
    settings["state"] = "labelled rows" if "self_selected_only" in limits else "all rows"
    settings["verdict"] = [
        *(limit_text(*limit) for limit in limits.items() if limit[0] == "self_selected_only"),
        *verdict_of(frame, extra, settings),
    ]
    return Validation(frame, "judging", tuple(dict.fromkeys(notes)), settings, extra)


def _add_labels(
    rows: TestRows, data: CodedRows, gold: GoldCoding, seed: int | None, notes: list[str]
) -> None:
    """Add what is reported of labels; with a ``seed`` as it is among all judged rows."""
    if seed is not None:
        add_weighted(rows, data, gold, seed, notes)
    else:
        add_agreement(rows, data)
        add_rates(rows, data)
        add_errors(rows, data, gold)
        add_subgroups(rows, data, gold)
    add_people(rows, data)


def _rated(data: CodedRows) -> np.ndarray:
    return np.asarray(np.isfinite(data.rated).any(axis=0))


def refuse_no_overlap(data: CodedRows, judge: str, source: str) -> None:
    """Refuse a table in which no row has answers of both, and say which are missing."""
    answered, rated = np.isfinite(data.judged).all(axis=0), _rated(data)
    people = " or ".join(f"'{name}'" for name in data.people_names)
    if not answered.any():
        raise InputError(f"{source}: column '{judge}' has no answers; give the column of the judge.")
    if not rated.any():
        raise InputError(f"{source}: {people} has no answers, so the judge cannot be compared; add labels.")
    if not (answered & rated).any():
        raise InputError(f"{source}: no row has answers of both '{judge}' and {people}; label judged items.")


def _missing_notes(data: CodedRows, weighted: bool) -> list[str]:
    """State how many rows the judge left without an answer, and what agreement is if these are errors."""
    missing, rated = ~np.isfinite(data.judged[0]), _rated(data)
    if not missing.any():
        return []
    template = "{rows} without an answer of the judge: excluded from agreement and errors"
    values: dict[str, Any] = {"rows": counted(int(missing.sum()), "row")}
    if data.scale != "interval" and not weighted and (missing & rated).any():
        template += "; if the {n:,} that people labelled count as disagreement, {name} is {worst}"
        main = headline_of(data.scale)
        worst = number(with_missing(data), main)
        values |= {"n": int((missing & rated).sum()), "name": in_words(main), "worst": worst}
    return [excluding(f"{template}.", **values)]


def _notes(data: CodedRows, ties: int) -> list[str]:
    answered, rated = np.isfinite(data.judged[0]), _rated(data)
    notes: list[str] = []
    if (answered & ~rated).any():
        notes.append(f"{counted(int((answered & ~rated).sum()), 'judged row')} without a label by people.")
    notes += few_labels(data, answered)
    if ties:
        notes.append(
            excluding(
                "{rows} on which people are tied: excluded from errors by class, included in agreement.",
                rows=counted(ties, "row"),
            )
        )
    clusters = len(np.unique(data.cluster))
    if clusters < data.n:
        notes.append(
            f"{data.n:,} rows are about {counted(clusters, 'item')}; intervals are clustered by item."
        )
        notes += unequal_clusters(data.cluster[answered & rated])
    return notes


def coverage_of_judge(
    frame: pd.DataFrame,
    data: CodedRows,
    answered: np.ndarray,
    alpha: float,
    method: str = "",
    prefix: str = "",
) -> list[str]:
    """State which intervals were measured to cover too rarely in tables like this one."""
    mask = answered & _rated(data) if len(data.people) else answered
    sides = data.people if len(data.people) else data.judges[:1]
    counts = counts_of(sides[:, mask], data.q).sum(axis=0) if data.q > 1 else None
    situation = situation_of(np.unique(data.cluster[mask], return_inverse=True)[1], counts)
    named = {} if counts is None else name_classes_by_rarity(data.classes, counts)
    if not method:
        several = len(data.people) > 1 and data.scale == "nominal"
        prefix = f"{data.scale}: " if data.scale != "nominal" else "people's " if several else ""
        method = "judge with ordered labels" if data.scale == "ordinal" else "judge"
        method = "judge with several people" if several else method
    bounded = frame[frame["lower"].notna() & (frame["by"].fillna("") == "")]
    quantities = [
        (prefix + name_of(measure, named.get(label, "")), name, situation)
        for name, measure, label in bounded[["name", "measure", "class"]].astype(str).itertuples(index=False)
    ]
    return coverage_notes(method, quantities, alpha)


def _precision(
    bounds: Mapping[str, BoundedEstimate], main: str, threshold: float | None, width: float, alpha: float
) -> pd.DataFrame:
    """Widths of the intervals of the main coefficients, what they detect, and labels for narrower ones."""
    table = []
    for measure in (main, "accuracy"):
        bound = bounds.get(measure)
        if bound is None or not np.isfinite(bound.lower):
            continue
        has_n = np.isfinite(bound.trials) and bound.clusters >= FEW_KNOWN
        critical = float(detectable_differences(np.ones(1), np.array([bound.df]), alpha, POWER)[0])
        # The linearised standard error is too small where a class was hardly seen; the interval is not.
        half_width = (bound.upper - bound.lower) / 2
        error = np.fmax(bound.std_error, half_width / -float(ndtri(level_of_t(bound.df, alpha) / 2)))
        row: dict[str, Any] = {
            "measure": measure, "n": bound.n, "clusters": bound.clusters, "width": bound.upper - bound.lower,
            "half_width": half_width,
            "detectable": error * critical if error > 0 else np.nan,
            "wanted_width": width, "n_for_width": items_for_width(bound, width, alpha) if has_n else np.nan,
        }  # fmt: skip
        if measure == main and threshold is not None:
            row["threshold"] = threshold
            row["n_for_threshold"] = (
                items_to_exclude(bound, threshold, alpha) if has_n and abs(threshold) < 1 else np.nan
            )
        table.append(row)
    return pd.DataFrame(table).reindex(columns=list(PRECISION))
