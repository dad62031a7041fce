"""Two runs of judges on the same items: flips, differences in rates and agreement, equivalence, subgroups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed, not_percent
from conjury.inference.readers.any_file import read_columns
from conjury.inference.tables.frames import answer_wrong_calls
from conjury.inference.tables.reading.answers.compared_answers import refuse_doubtful
from conjury.inference.tables.reading.reading_rules import RuleArguments, rules_of
from conjury.inference.tables.row_numbers import with_name
from conjury.inference.tables.schema import SAMPLING

from ...correction.sources import represented_rows
from ...frames.notes import excluding
from ...numerics.bootstrap import unequal_clusters
from ...numerics.intervals import SAME, check_alpha
from ...numerics.intervals.bounded import BoundedEstimate, Flags, n_clusters, paired_difference, share
from ...numerics.significance import two_one_sided
from ...numerics.types import Codes, Floats
from ..agreement.coefficient_differences import of_judges
from ..label_provenance import COLUMNS, refuse_unreadable, usable_labels
from .coding import CodedRows, CodingOptions, code_table, counts_of, gold_of, names_of
from .error_rates import agreement_of_rows, classes_first, crosstab, levels_of, tested_classes
from .judging import Validation, coverage_of_judge, refuse_no_overlap
from .label_agreement import ALPHA, KINDS, headline_of, measures_of, weights_of, with_people
from .rating_agreement import icc, mean_of, people_mean
from .tables.answer_pairs import ITEM, pair_rows
from .tables.item_columns import item_of
from .tables.mismatched_labels import refuse_labels_of_one_judge_each, refuse_other_answers
from .tables.rare_labels import few_labels, stray_labels
from .validation_rows import AGREEMENT, CHANGES, ERRORS, RATES, SUBGROUPS, TestRows
from .verdicts.run_comparison_sentences import verdict_of_runs
from .weighted.weighted_runs import WEIGHTED, WeightedSides, weighted_share

FURTHER = ("margin", "p_equivalence")


@answer_wrong_calls
def compare_runs(
    first: Any,
    second: Any,
    judge: str | tuple[str, str],
    human: str | Sequence[str] = (),
    *,
    cluster: str | None = None,
    by: str | Sequence[str] = (),
    margin: float = 0.05,
    positive: str | None = None,
    labelled: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    names: tuple[str, str] = ("A", "B"),
    **rules: Unpack[RuleArguments],
) -> Validation:
    """Compare two models, prompts or dates that judged the same items, pair by pair.

    Parameters
    ----------
    first, second : path, DataFrame or TableReading
        One row per answer.
    judge : str or (str, str)
        Column of the judge's answers, in both tables or in each.
    human : str or sequence of str
        Columns of people, in either table; without any, only changes and rates are compared. Labels are of
        the items, so that both tables have to agree on them.
    cluster : str, optional
        Column of items that belong together, instead of ``id``.
    by : str or sequence of str
        Columns of subgroups.
    margin : float
        The largest difference that does not matter, for equivalence: of shares and coefficients, and of
        ratings in their unit.
    positive, labelled, alpha
        As in `judge`. Labels that a model wrote or that the judge saw are not used, nor those of rows that
        people chose beside others. A column ``sampling_probability``, in either table, has the probabilities
        with which rows were drawn for people; agreement with them is weighted by it.
    names : (str, str)
        What the two are called.
    **rules
        How both tables are read, as in `judge`. ``id`` is the column of items by which rows are paired; an
        item with several answers is paired in their order and forms a cluster. Without it rows are paired by
        their order.

    Returns
    -------
    Validation
        Kind "run_comparison". ``frame`` has the columns of `judge`, with ``margin`` and ``p_equivalence``
        (two one-sided tests) for differences, which are the second minus the first. p values of classes, and
        of the levels of a subgroup, are adjusted after Holm. ``extra["changes"]`` counts how each answer of
        the first became one of the second.

    Raises
    ------
    InputError
        For columns that do not exist, tables that cannot be paired, labels without anything in common, and
        labels by people that differ between the tables or are about different answers.

    Notes
    -----
    Differences of shares of independent pairs have the interval of Bonett and Price and McNemar's mid-p; of
    pairs in clusters, Student's t. Differences of coefficients have the interval of `judge`'s coefficients:
    both get the same weights of a Bayesian bootstrap of items, whose lower limit adds one item on which the
    first judge alone agrees with people, and whose upper limit adds one on which the second alone does.

    References
    ----------
    Bonett, D. G., Price, R. M. (2012). Adjusted Wald confidence interval for a difference of binomial
    proportions based on paired data. Journal of Educational and Behavioral Statistics 37(4), 479-488.
    doi:10.3102/1076998611411915

    Examples
    --------
    >>> a = pd.DataFrame({"id": range(40), "verdict": ["spam", "ok"] * 20, "label": ["spam", "ok"] * 20})
    >>> b = a.assign(verdict=["ok", "ok"] * 5 + ["spam", "ok"] * 15).drop(columns="label")
    >>> result = compare_runs(a, b, "verdict", "label", id="id")
    >>> result.frame.set_index("name").loc[["flips", "accuracy_difference"], "estimate"].tolist()
    [0.125, -0.125]
    """
    check_alpha(alpha)
    if not 0 < margin < np.inf:
        raise InputError(f"margin is {margin:g}; give a difference above 0, such as 0.05.")
    if names[0] == names[1]:
        names = (f"{names[0]} (first)", f"{names[1]} (second)")
    readings = [
        read_columns(table, rules_of(rules), name) for table, name in zip((first, second), names, strict=True)
    ]
    first, second = (reading.frame for reading in readings)
    titles = with_name(readings[0].source, names[0]), with_name(readings[1].source, names[1])
    id, reading_rules = readings[0].rules.id, readings[0].rules
    judges = (judge, judge) if isinstance(judge, str) else judge
    people, groups = names_of(human), names_of(by)
    columns = [*groups, *([cluster] if cluster is not None else [])]
    refuse_other_answers([*judges, *names], people, [*judges, *names, *first, *second], " and ".join(names))
    for reading, column, title in zip(readings, judges, titles, strict=True):
        answers = {name: reading.frame[name] for name in (column, *people) if name in reading.frame}
        refuse_doubtful(answers, reading.rules, title)
        refuse_unreadable(reading.frame if people else reading.frame[[]], title)
    unit, notes = _unit((first, second), (id, cluster), [*judges, *people], titles, reading_rules.strict)
    columns += [unit] if unit is not None and unit not in (id, *people, *columns) else []
    described = [name for name in (SAMPLING, *COLUMNS) if people and (name in first or name in second)]
    pairs = pair_rows((first, second), judges, (people, [*columns, *described]), id, titles)
    unit = ITEM if unit is not None and unit == id else unit
    levels = {
        pair: reading.rules.levels[column]
        for pair, column, reading in zip(pairs.judges, judges, readings, strict=True)
        if column in reading.rules.levels
    }
    reading_rules = replace(reading_rules, levels={**reading_rules.levels, **levels})
    options = CodingOptions(pairs.judges, people, groups, unit, positive, reading_rules)
    table, account, more = usable_labels(pairs.table, people, labelled, " and ".join(names))
    notes += more
    data = code_table(table, options, " and ".join(names))
    label_rows = np.asarray(np.isfinite(data.rated).any(axis=0))
    data = replace(data, represented=represented_rows(table.get(SAMPLING), label_rows))
    notes += [WEIGHTED] if data.represented is not None else []
    if data.scale != "interval" and margin >= 1:
        raise InputError(
            f"margin is {margin:g}{not_percent(margin)}; give a difference of shares below 1, such as 0.05."
        )
    read_notes = [note for reading in readings for note in reading.account.notes()]
    rows, extra = TestRows(alpha), {}
    has_answer = np.isfinite(data.judged)
    _add_difference(rows, CHANGES, "answered", (has_answer[0], has_answer[1]), data.cluster, margin)
    data, notes = _pairs_with_answers(data, [*read_notes, *pairs.notes, *notes], names)
    if data.scale == "interval":
        _add_ratings(rows, data, margin)
    else:
        _add_labels(rows, data, margin)
        extra["changes"] = crosstab(data.judges[0], data.judges[1], data.classes, ("a", "b"))
    frame = rows.frame(FURTHER)
    notes += _unchanged(frame) + coverage_of_judge(
        frame, data, np.asarray(np.isfinite(data.judged).all(axis=0)), alpha, "compare-runs", "runs: "
    )
    settings: dict[str, Any] = {
        "judge": list(judges), "names": list(names), "human": list(people), "by": list(groups), "id": id,
        "cluster": cluster, "scale": data.scale, "classes": list(data.classes), "positive": positive,
        "alpha": alpha, "margin": margin, "main": headline_of(data.scale), "n_pairs": data.n,
        "clusters": n_clusters(data.cluster), "weighted": data.represented is not None,
        **({"provenance": account} if people else {}),
    }  # fmt: skip
    settings["verdict"] = verdict_of_runs(frame, settings)
    return Validation(frame, "run_comparison", tuple(dict.fromkeys(notes)), settings, extra)


def _unchanged(frame: pd.DataFrame) -> list[str]:
    """State why differences of zero have no interval."""
    is_zero = frame["measure"].str.endswith("_difference") & (frame["estimate"].abs() <= SAME)
    names = frame.loc[is_zero & frame["lower"].isna() & (frame["clusters"] > 1), "name"].tolist()
    return [f"No interval of {listed(names, 6)}: no pair differs there."] if names else []


def _unit(
    tables: tuple[pd.DataFrame, pd.DataFrame],
    named: tuple[str | None, str | None],
    answers: Sequence[str],
    names: tuple[str, str],
    strict: bool,
) -> tuple[str | None, list[str]]:
    """The column by which pairs are clustered: the one named, items that repeat, else as `judge` finds it."""
    id, cluster = named
    repeats = id is not None and any(id in table and table[id].duplicated().any() for table in tables)
    unit, notes = cluster if cluster is not None else id if repeats else None, list[str]()
    for table, name in zip(tables, names, strict=True):
        unit, of_table = item_of(table, unit, answers, name, "--cluster", strict)
        notes += of_table
    return unit, notes


def _pairs_with_answers(
    data: CodedRows, notes: list[str], names: tuple[str, str]
) -> tuple[CodedRows, list[str]]:
    """The pairs with answers of both."""
    has_answer = np.isfinite(data.judged)
    is_pair = has_answer.all(axis=0)
    for name, mask in zip(names, has_answer, strict=True):
        if (~mask).any():
            text = "{n:,} pairs without an answer of {side}: excluded."
            notes.append(excluding(text, n=(~mask).sum(), side=name))
    if not is_pair.any():
        raise InputError(f"{names[0]} and {names[1]} have no item that both answered; give other runs.")
    pairs = data.rows(np.asarray(is_pair))
    if len(pairs.rated):
        refuse_no_overlap(pairs, " and ".join(names), " and ".join(names))
        refuse_labels_of_one_judge_each(pairs, names)
    if n_clusters(pairs.cluster) < pairs.n:
        notes.append(f"{pairs.n:,} pairs in {n_clusters(pairs.cluster):,} clusters; intervals are clustered.")
        notes += unequal_clusters(pairs.cluster)
    if len(pairs.people):
        notes += [*stray_labels(data).values(), *few_labels(pairs, np.ones(pairs.n, dtype=bool))]
    return pairs, [*notes, *data.notes]


def _add_labels(rows: TestRows, data: CodedRows, margin: float) -> None:
    first, second = data.judges
    flipped = (first != second).astype(float)
    rows.add(CHANGES, "flips", share(flipped, data.cluster, rows.alpha))
    main = headline_of(data.scale)
    eye, weights = np.eye(data.q), weights_of(main, data)
    between = with_people(main, eye[first], eye[second], weights, data.classes).bounded(
        data.cluster, rows.alpha
    )
    rows.add(CHANGES, f"{main}_between", between)
    for place in tested_classes(data):
        _add_difference(
            rows, RATES, "rate", (first == place, second == place), data.cluster, margin,
            label=data.classes[place], family="rates",
        )  # fmt: skip
    if len(data.people):
        _add_agreement(rows, data, margin)
    _add_groups(rows, data, flipped, margin)


def _add_agreement(rows: TestRows, data: CodedRows, margin: float) -> None:
    counts = counts_of(data.people, data.q)
    rated = counts.sum(axis=1) > 0
    part, counts = data.rows(np.asarray(rated)), counts[rated]
    right = [agreement_of_rows(codes, counts) for codes in part.judges]
    represented = part.represented
    _add_difference(
        rows, AGREEMENT, "accuracy", (right[0], right[1]), part.cluster, margin, weight=represented
    )
    eye, people = np.eye(data.q), counts / counts.sum(axis=1, keepdims=True)
    for measure in measures_of(data.scale)[1:]:  # without accuracy
        weights = weights_of(measure, data)
        if represented is not None:
            ranked = measure == ALPHA and not np.array_equal(weights, eye)
            matrix = None if ranked else weights
            sides = WeightedSides(people, represented, part.cluster, measure, matrix, rows.alpha)
            for which, codes in zip("ab", part.judges, strict=True):
                rows.add(AGREEMENT, f"{measure}_{which}", sides.coefficient(codes), p=np.nan)
            _add(rows, AGREEMENT, f"{measure}_difference", sides.difference(list(part.judges)), margin)
            continue
        pair = [with_people(measure, eye[codes], people, weights, data.classes) for codes in part.judges]
        for which, each in zip("ab", pair, strict=True):
            rows.add(AGREEMENT, f"{measure}_{which}", each.bounded(part.cluster, rows.alpha))
        contrast = pair[1].influence - pair[0].influence
        gap = of_judges(
            (part.judges[0], part.judges[1]), people, pair[0].weights, KINDS[measure], contrast, part.cluster,
            rows.alpha, data.classes,
        )  # fmt: skip
        _add(rows, AGREEMENT, f"{measure}_difference", gap, margin)
    gold = gold_of(part)
    for place in classes_first(data):
        among = gold.row[gold.label == place]
        if len(among):
            _add_difference(
                rows, ERRORS, "recall", (part.judges[0][among] == place, part.judges[1][among] == place),
                part.cluster[among], margin, label=data.classes[place], family="classes",
                weight=None if represented is None else represented[among],
            )  # fmt: skip


def _add_groups(rows: TestRows, data: CodedRows, flipped: Floats, margin: float) -> None:
    everyone = np.ones(data.n, dtype=bool)
    counts = counts_of(data.people, data.q)
    rated = counts.sum(axis=1) > 0
    for group in data.groups:
        for level, inside in levels_of(group, everyone):
            keys: dict[str, Any] = {"by": group.name, "level": level}
            flip_rate = share(flipped[inside], data.cluster[inside], rows.alpha)
            rows.add(SUBGROUPS, "flips", flip_rate, **keys)
            family = f"subgroups {group.name}"
            mask = inside & rated
            if len(data.people) and mask.any():
                right = [agreement_of_rows(codes, counts)[mask] for codes in data.judges]
                weight = None if data.represented is None else data.represented[mask]
                _add_difference(
                    rows, SUBGROUPS, "accuracy", (right[0], right[1]), data.cluster[mask], margin,
                    weight=weight, family=family, **keys,
                )  # fmt: skip
            elif not len(data.people):
                place = classes_first(data)[0]
                sides = (data.judges[0][inside] == place, data.judges[1][inside] == place)
                _add_difference(
                    rows, SUBGROUPS, "rate", sides, data.cluster[inside], margin, label=data.classes[place],
                    family=family, **keys,
                )  # fmt: skip


def _add_difference(
    rows: TestRows,
    part: str,
    measure: str,
    sides: tuple[Floats | Flags, Floats | Flags],
    cluster: Codes,
    margin: float,
    *,
    weight: Floats | None = None,
    **keys: Any,
) -> None:
    """Add a share of either run and their difference, the second minus the first."""
    first, second = (side.astype(float) for side in sides)
    family = keys.pop("family", "")
    for which, values in (("a", first), ("b", second)):
        rows.add(part, f"{measure}_{which}", weighted_share(values, weight, cluster, rows.alpha), **keys)
    if weight is None:
        result, center = paired_difference(first, second, cluster, rows.alpha)
    else:
        result, center = mean_of(second - first, cluster, rows.alpha, weight), None
    _add(rows, part, f"{measure}_difference", result, margin, center, family=family, **keys)


def _add(
    rows: TestRows,
    part: str,
    measure: str,
    result: BoundedEstimate,
    margin: float,
    center: float | None = None,
    **keys: Any,
) -> None:
    """Add a difference with two one-sided tests of equivalence."""
    p, error = np.nan, float(np.fmax(result.std_error, result.spread))
    if error > 0:
        middle = result.estimate if center is None else center
        test = two_one_sided(
            np.array([middle]), np.array([error]), np.array([result.df]), (-margin, margin), rows.alpha
        )
        p = float(test.p[0])
    rows.add(part, measure, result, margin=margin, p_equivalence=p, **keys)


def _add_ratings(rows: TestRows, data: CodedRows, margin: float) -> None:
    first, second = data.judged
    changed = (first != second).astype(float)
    rows.add(CHANGES, "flips", share(changed, data.cluster, rows.alpha))
    rows.add(CHANGES, "icc_between", icc(np.stack([first, second], axis=1), data.cluster, rows.alpha))
    _add_means(rows, RATES, "mean", first, second, data.cluster, margin)
    people = people_mean(data) if len(data.rated) else np.full(data.n, np.nan)
    rated = np.isfinite(people)
    if rated.any():
        weight = None if data.represented is None else data.represented[rated]
        errors = [np.abs(ratings[rated] - people[rated]) for ratings in data.judged]
        _add_means(
            rows,
            AGREEMENT,
            "absolute_error",
            errors[0],
            errors[1],
            data.cluster[rated],
            margin,
            weight=weight,
        )
        for which, ratings in zip("ab", data.judged, strict=True):
            values = np.stack([ratings[rated], people[rated]], axis=1)
            rows.add(AGREEMENT, f"icc_{which}", icc(values, data.cluster[rated], rows.alpha, weight))
    for group in data.groups:
        for level, inside in levels_of(group, np.ones(data.n, dtype=bool)):
            _add_means(
                rows, SUBGROUPS, "mean", first[inside], second[inside], data.cluster[inside], margin,
                by=group.name, level=level, family=f"subgroups {group.name}",
            )  # fmt: skip


def _add_means(
    rows: TestRows,
    part: str,
    measure: str,
    first: Floats,
    second: Floats,
    cluster: Codes,
    margin: float,
    weight: Floats | None = None,
    **keys: Any,
) -> None:
    family = keys.pop("family", "")
    for which, values in (("a", first), ("b", second)):
        rows.add(part, f"{measure}_{which}", mean_of(values, cluster, rows.alpha, weight), p=np.nan, **keys)
    result = mean_of(second - first, cluster, rows.alpha, weight)
    _add(rows, part, f"{measure}_difference", result, margin, family=family, **keys)
