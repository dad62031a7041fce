"""What people would say of all answers, by several judges together, and what each of them adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.frames import answer_wrong_calls
from conjury.inference.tables.reading import read
from conjury.inference.tables.reading.reading_rules import RuleArguments, rules_of
from conjury.inference.tables.schema import SAMPLING

from ...correction.sources import represented_rows
from ...numerics.bootstrap import unequal_clusters
from ...numerics.intervals import check_alpha
from ...numerics.intervals.bounded import n_clusters
from ...numerics.types import Floats
from ..label_provenance import (
    SAMPLED,
    read_provenance,
    without_labels,
    without_others_labels,
)
from ..validation.coding import CodingOptions, Groups, code_table, names_of
from ..validation.judging import Validation
from ..validation.tables.item_columns import item_of
from ..validation.tables.judge_versions import refuse_versions
from ..validation.validation_rows import JUDGES, TestRows
from ..validation.verdicts.judge_sentences import interval, number
from .label_gate import gate_systems, gate_table, limits_of, represented_by
from .several_judges import FEWEST_PROMPTS, add_judges
from .system_estimates import CalibratedRows, correct_contrast, judge_alone, people_alone
from .system_rows import mix_weights, positive_class, system_rows
from .system_sentences import sentences_on_judges

KIND = "combined_judges"
ALL = np.ones(1)  # the weight of all answers, which are those of one system


@answer_wrong_calls
def combine_judges(
    table: Any,
    judge: Sequence[str],
    human: str | Sequence[str],
    *,
    positive: str | None = None,
    calibration: bool = True,
    labelled: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    source: str = "table",
    **rules: Unpack[RuleArguments],
) -> Validation:
    """Estimate what people would say of all answers by several judges, and how alike these err.

    Parameters
    ----------
    table : path, DataFrame of n rows, or TableReading
        One row per answer; a file in any format of ``conjury.read``.
    judge : sequence of str
        Columns of two judges or more.
    human : str or sequence of str
        Columns of people, one per person; missing where a person did not answer.
    positive : str
        The class whose share is estimated; by default the second of two.
    calibration : bool
        Whether monotone maps of the scores to people's scale are used beside the scores.
    labelled : mapping of str to str, optional
        How labels came about, as in `conjury.compare_systems`.
    alpha : float
        One minus the confidence level.
    seed : int
        Assigns items to folds.
    source : str
        What errors call a DataFrame.
    **rules
        How the table is read, as in `conjury.judge`; ``id`` is the column of items.

    Returns
    -------
    Validation
        Kind "combined_judges". ``frame`` has, in the columns of `conjury.judge`, the corrected mean or rate
        by all judges and by each alone (``corrected_mean[A]``), by people's labels alone and by each judge
        alone, ``effective_judges`` (the independent judges whose mean would err as much as that of all),
        ``error_correlation[A, B]`` and ``gain_over_best`` (variance by the best judge over that by all).
        ``extra`` has ``judges`` (errors and gain of each), ``weights`` (of each score in the correction) and
        ``labels`` (their state, as in `conjury.compare_systems`).

    Raises
    ------
    InputError
        For one judge, columns that do not exist, and the tables that `conjury.compare_systems` refuses.

    References
    ----------
    Clemen, R. T., Winkler, R. L. (1985). Limits for the precision and value of information from dependent
    sources. Operations Research 33(2), 427-442. doi:10.1287/opre.33.2.427

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> quality, shared = rng.normal(0, 1, (2, 500))
    >>> answers = pd.DataFrame({f"judge{k}": quality + shared + rng.normal(0, 0.3, 500) for k in (1, 2)})
    >>> answers["people"] = np.where(np.arange(500) < 100, quality, np.nan)
    >>> result = combine_judges(answers, ["judge1", "judge2"], "people")
    >>> float(result.frame.set_index("name").loc["effective_judges", "estimate"].round(1))
    1.0
    """
    check_alpha(alpha)
    judges, people = names_of(judge), names_of(human)
    if len(judges) < 2 or not people:
        raise InputError("Name two judges or more, and at least one column of people.")
    reading = read(table, rules_of(rules), source)
    frame, source = reading.frame, reading.source
    item, notes = item_of(frame, reading.rules.id, (*judges, *people), source, strict=reading.rules.strict)
    options = CodingOptions(judges, people, (), item, positive, reading.rules)
    refuse_versions(frame, source)
    account = read_provenance(frame, people, labelled, source)
    frame, more = without_others_labels(frame, people, account, source)
    chosen = account.rows(SAMPLED, "chosen")
    frame = without_labels(frame, people, chosen)
    data = code_table(frame, options, source)
    data = replace(data, groups=(Groups("system", np.zeros(data.n, dtype=np.int64), ("all answers",)),))
    label_rows = np.asarray(np.isfinite(data.rated).any(axis=0))
    if not label_rows.any() and not chosen.any():
        raise InputError(f"{source}: {listed(map(repr, people))} contain no labels; add labels of some rows.")
    for name, scores in zip(judges, data.judged, strict=True):
        if not np.isfinite(scores).any():
            raise InputError(f"{source}: column '{name}' of a judge has no score; name another with --judge.")
    sampled = represented_rows(frame.get(SAMPLING), label_rows)
    place = positive_class(data, source)
    gates = gate_systems(data, label_rows, sampled is not None, place is None, account)
    rows = system_rows(data, judges, represented_by(data, gates, sampled), mix_weights(data, {}), source)
    calibrated = CalibratedRows.of(rows, seed, calibration)
    results = TestRows(alpha)
    weights = _add_levels(results, calibrated, gates[0].has_level, alpha)
    table_of_judges = add_judges(results, calibrated, [ALL] if gates[0].has_level else [], seed)
    notes += [*more, *reading.account.notes(), *data.notes]
    notes += [f"{gate.state}: {gate.reason}." for gate in gates if gate.reason]
    notes += unequal_clusters(rows.prompt[rows.labelled], "Labelled answers: ")
    settings: dict[str, Any] = {
        "judge": list(judges), "human": list(people), "id": item, "scale": data.scale,
        "classes": list(data.classes), "positive": data.classes[place] if place is not None else None,
        "measure": rows.measure, "alpha": alpha, "seed": seed, "calibration": calibration, "n_rows": data.n,
        "n_labelled": int(rows.labelled.sum()), "clusters": n_clusters(rows.prompt),
        "weighted": rows.represented is not None, "provenance": account.record(limits_of(data, account)),
    }  # fmt: skip
    extra = {"judges": table_of_judges, "weights": weights, "labels": gate_table(gates)}
    estimates = results.frame()
    settings["verdict"] = list(_sentences(estimates, extra, settings))
    return Validation(estimates, KIND, tuple(dict.fromkeys(notes)), settings, extra)


def _add_levels(table: TestRows, data: CalibratedRows, has_level: bool, alpha: float) -> pd.DataFrame:
    """Add the level by all judges, by each, and alone; the weights of all scores in the first."""
    rows, everywhere = data.rows, np.ones(len(data.rows.system), dtype=bool)
    weights: Floats = np.full(len(data.sources), np.nan)

    def add(measure: str, result: Any, label: str = "") -> None:
        if np.isfinite(result.estimate):
            name = f"{measure}_{rows.measure}"
            table.add(JUDGES, name, result, label=label, p=np.nan)

    if has_level:
        together = correct_contrast(data, ALL, everywhere, alpha)
        weights = together.weights
        add("corrected", together.result)
        for place, name in enumerate(rows.judges):
            add("corrected", correct_contrast(data.of_judge(place), ALL, everywhere, alpha).result, name)
    add("people_only", people_alone(rows, ALL, everywhere, alpha))
    for place, name in enumerate(rows.judges):
        add("judge_only", judge_alone(data.of_judge(place).rows, ALL, everywhere, alpha), name)
    return pd.DataFrame({"score": data.sources, "weight": weights})


def _sentences(
    frame: pd.DataFrame, extra: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> list[str]:
    """The level among people, how alike judges err, and what all of them add to the best."""
    measure = f"corrected_{settings['measure']}"
    rows = frame[(frame["measure"] == measure) & (frame["class"] == "")]
    what = f"share of {settings['positive']!r}" if settings["positive"] else "mean rating"
    if rows.empty:
        reason = extra["labels"]["reason"].iloc[0]
        sentences = [f"What people would say of all answers is not estimated: {reason}."]
    else:
        row = rows.iloc[0]
        limits = interval(row, measure)
        sentences = [
            f"The {what} among people is estimated as {number(row['estimate'], measure)}"
            f"{f' ({limits})' if limits else ''}, by {len(settings['judge'])} judges and "
            f"{settings['n_labelled']:,} labels."
        ]
    if extra["judges"].empty:
        return [
            *sentences,
            f"How alike the judges err is not estimated: fewer than {FEWEST_PROMPTS} items have a label and "
            "scores of all judges.",
        ]
    return [*sentences, *sentences_on_judges(frame, extra)]
