"""Rates of classes from labels by an imperfect judge, corrected by units that people have labelled, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, check_share, did_you_mean
from conjury.inference.tables.columns import as_text, names_of
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.items import copies

from ..frames.notes import note_under
from ..frames.passport import coverage_notes, situation_of
from ..numerics.intervals import check_alpha
from ..numerics.rating_panel import RowClusters
from ..results import Result
from .class_rates import Rates, RateUnits, all_rates, confusion

NO_LABEL = "no label"  # category of a judge's missing labels


@any_frame
def rates(
    data: pd.DataFrame,
    *,
    gold: str | Sequence[str] = "label",
    judge: str = "judged",
    classes: Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    cluster: str | None = None,
    alpha: float = 0.05,
) -> Result:
    """Estimate how frequent classes are, from a judge's labels of all units and people's labels of some.

    Five estimates are reported, which rest on different assumptions:

    - ``naive``: share among the judge's labels of the units without a human label. It takes the judge to be
      right.
    - ``human``: share among the human labels alone. Labelled and unlabelled units are from one population.
    - ``rogan_gladen``: the rate at which the judge's labels of unlabelled units would be as frequent as they
      are, given how the judge labels units of each class. Only these misclassification rates have to be the
      same in labelled and unlabelled units. Class frequencies may differ (label shift), as in a calibration
      set with equal numbers of all classes.
    - ``efficient``: the human rate, corrected for how the judge's labels of labelled units differ from those
      of unlabelled ones, with the weights of least variance (prediction-powered inference with optimal
      tuning; from labelled units alone where a rate would leave 0 to 1). One population, as for ``human``;
      biased under label shift.
    - ``mle``: maximum likelihood of human and judge's labels together (Tenenbein's double sampling), never
      outside 0 to 1. Its assumption is weaker than that of ``efficient``: labelled units are a random sample
      within each category of the judge, as where people label mostly what the judge failed. Where labelled
      units are a random sample of all, both have the same variance in large samples.

    A missing label by the judge is a category of its own, as are labels that people never give. Where the
    Rogan-Gladen rates of the classes leave 0 to 1, those of maximum likelihood within these limits replace
    them.

    Parameters
    ----------
    data : DataFrame of n rows
        One row per unit.
    gold : str or sequence of str
        Column of the human label, missing where there is none; of several people, whose labels of a unit
        count equally, their columns.
    judge : str
        Column of the judge's label.
    classes : sequence of str, optional
        The classes that people may give, in this order; by default those that they gave.
    by : str or sequence of str
        Columns of groups, each estimated on its own.
    cluster : str, optional
        Column of units that belong together, such as a topic. Errors then are between clusters, and intervals
        are wider by the design effect and use Student's t.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Result
        Kind "rates": ``*by, class, method, estimate, std_error, lower, upper, n_labelled, n_unlabelled``.
        Standard errors contain the uncertainty of the labelled units; they are missing where no unit varies.
        Intervals do not rest on them alone, since a rare class may have been missed. Those of shares are
        Jeffreys', modified beside 0 and 1 (Brown et al.); those of ``efficient`` and ``mle`` combine such
        intervals of the categories of the judge (Zou et al.). For two classes without clusters, intervals of
        ``rogan_gladen`` are those of Lee et al., which add pseudo-counts; others are normal with
        pseudo-counts, cut at 0 and 1. ``extra["confusion"]`` has ``*by, gold, judged, n,
        share`` (of the units of a class), ``extra["informedness"]`` sensitivity plus specificity minus 1 of
        each class with its standard error: 0 for a judge whose labels are unrelated to the class.

    Raises
    ------
    InputError
        For missing columns, labels outside ``classes``, a group without labelled or without unlabelled units,
        or fewer than two classes or clusters.

    References
    ----------
    Rogan, W. J., Gladen, B. (1978). Estimating prevalence from the results of a screening test. American
    Journal of Epidemiology 107(1), 71-76. doi:10.1093/oxfordjournals.aje.a112510

    Lee, C., Zeng, T., Jeong, J., Sohn, J., Lee, K. (2025). How to correctly report LLM-as-a-judge
    evaluations. arXiv:2511.21140

    Tenenbein, A. (1970). A double sampling scheme for estimating from binomial data with misclassifications.
    Journal of the American Statistical Association 65(331), 1350-1361. doi:10.1080/01621459.1970.10481170

    Brown, L. D., Cai, T. T., DasGupta, A. (2001). Interval estimation for a binomial proportion. Statistical
    Science 16(2), 101-133. doi:10.1214/ss/1009213286

    Zou, G. Y., Huang, W., Zhang, X. (2009). A note on confidence interval estimation for a linear function of
    binomial proportions. Computational Statistics & Data Analysis 53(4), 1080-1085.
    doi:10.1016/j.csda.2008.09.033

    Angelopoulos, A. N., Duchi, J. C., Zrnic, T. (2023). PPI++: Efficient prediction-powered inference.
    arXiv:2311.01453

    Chen, Y. T., Lu, S., Li, S., Guo, M., Li, S. (2026). Efficient inference for noisy LLM-as-a-judge
    evaluation. arXiv:2601.05420

    Examples
    --------
    >>> table = pd.DataFrame({"label": ["good"] * 10 + ["bad"] * 10 + [None] * 100,
    ...                       "judged": ["good"] * 9 + ["bad"] + ["bad"] * 8 + ["good"] * 2
    ...                       + ["good"] * 62 + ["bad"] * 38})
    >>> found = rates(table).frame.set_index(["class", "method"])["estimate"]
    >>> found["good"].round(2).to_dict()
    {'naive': 0.62, 'human': 0.5, 'rogan_gladen': 0.6, 'efficient': 0.54, 'mle': 0.54}
    """
    check_alpha(alpha)
    names = names_of(by)
    people = names_of(gold)
    if not people:
        raise InputError("gold: name at least one column of human labels.")
    for name in (*people, judge, *names, *([cluster] if cluster else [])):
        if name not in data:
            raise InputError(f"data: column '{name}' is missing{did_you_mean(name, data.columns)}; add it.")
    if cluster is None and (repeats := copies(data, [*people, judge])).any():
        raise InputError(
            f"data: row {int(repeats.argmax()) + 1:,} repeats an earlier row in every column; keep each unit "
            "once, or name the column of units that belong together as cluster."
        )
    class_names = _classes(data[people], classes)
    rows, confusions, indices, notes = [], [], [], list[str]()
    for key, part in _groups(data, names):
        where = f"{', '.join(map(str, key))}: " if key else ""
        units = _units(part, people, judge, class_names, cluster, where)
        rates_by_method, index, noted = all_rates(units, alpha)
        keys = dict(zip(names, key, strict=True))
        counts = {"n_labelled": int(units.labelled.sum()), "n_unlabelled": int((~units.labelled).sum())}
        rows.append(_tidy(rates_by_method, class_names).assign(**counts))
        confusions.append(confusion(units))
        indices.append(index)
        for table in (rows[-1], confusions[-1], index):
            for place, (name, value) in enumerate(keys.items()):
                table.insert(place, name, value)
        notes += [
            note_under(keys, note) for note in [*noted, *_coverage_notes(units, rates_by_method, alpha)]
        ]
    extra = {"confusion": _joined(confusions), "informedness": _joined(indices)}
    settings = {"gold": gold, "judge": judge, "by": names, "cluster": cluster, "alpha": alpha}
    return Result(_joined(rows), "rates", tuple(dict.fromkeys(notes)), settings, extra)


def _coverage_notes(units: RateUnits, rates_by_method: Mapping[str, Rates], alpha: float) -> list[str]:
    """State which rates have intervals that were measured to cover too rarely in tables like this one."""
    labelled = units.labelled
    situation = situation_of(
        np.unique(units.cluster.code[labelled], return_inverse=True)[1], units.labels[labelled].sum(axis=0)
    )
    queries = [
        (f"{name}: rate of rare", f"rates by {name}", situation)
        for name, rates in rates_by_method.items()
        if np.isfinite(rates.lower).any()
    ]
    return coverage_notes("rates", queries, alpha)


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True)


def _groups(data: pd.DataFrame, by: list[str]) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    if not by:
        yield (), data
        return
    for name in by:
        missing = int(data[name].isna().sum())
        if missing:
            raise InputError(f"Column {name!r} is missing in {missing:,} rows; fill it in, or exclude them.")
    for key, part in data.groupby(by, sort=False, observed=True):
        yield key if isinstance(key, tuple) else (key,), part


def _classes(gold: pd.DataFrame, classes: Sequence[str] | None) -> tuple[str, ...]:
    labels = sorted({str(label) for name in gold for label in as_text(gold[name]).dropna().unique()})
    class_names = tuple(map(str, classes)) if classes is not None else tuple(labels)
    if len(set(class_names)) < 2 or len(set(class_names)) < len(class_names):
        raise InputError(f"The classes are {list(class_names)}; give at least two different ones.")
    if stray := [name for name in labels if name not in class_names]:
        raise InputError(
            f"Human label {stray[0]!r} is not among the classes {list(class_names)}; add it to classes."
        )
    return class_names


def _units(
    part: pd.DataFrame,
    gold: Sequence[str],
    judge: str,
    classes: tuple[str, ...],
    cluster: str | None,
    where: str,
) -> RateUnits:
    judge_labels = as_text(part[judge]).fillna(NO_LABEL)
    extra_categories = sorted(str(name) for name in judge_labels.unique() if name not in classes)
    categories = (*classes, *extra_categories)
    given_by = [pd.Index(classes).get_indexer(pd.Index(as_text(part[name]))) for name in gold]
    votes = np.add.reduce([np.eye(len(classes) + 1)[codes][:, :-1] for codes in given_by])
    labels = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1.0)
    judged = pd.Index(categories).get_indexer(pd.Index(judge_labels))
    labelled = labels.any(axis=1)
    if not labelled.any() or labelled.all():
        lacking = "without a human label" if labelled.any() else "labelled by people"
        raise InputError(f"{where}No unit is {lacking}; a correction needs units of both kinds.")
    clusters = RowClusters.of_rows(len(part))
    if cluster is not None:
        codes, levels = pd.factorize(part[cluster])
        if (codes < 0).any() or len(levels) < 2:
            raise InputError(
                f"{where}Column '{cluster}' is empty in some rows or has one cluster; fill it in."
            )
        clusters = RowClusters(codes.astype(np.int64), len(levels))
    return RateUnits(labels, judged.astype(np.int64), clusters, classes, categories)


def _tidy(rates_by_method: dict[str, Rates], classes: tuple[str, ...]) -> pd.DataFrame:
    tables = [
        pd.DataFrame({"class": classes, "method": name} | vars(method_rates))
        for name, method_rates in rates_by_method.items()
    ]
    frame = pd.concat(tables, ignore_index=True)
    place = frame["class"].map({name: number for number, name in enumerate(classes)})
    return frame.iloc[place.argsort(kind="stable")].reset_index(drop=True)


def calibration_split(n: int, rate: float, sensitivity: float, specificity: float) -> tuple[int, int]:
    """Divide a calibration set between units without and with a class so that its rate is most precise.

    The Rogan-Gladen variance is ``(1 - rate)^2 q0 (1 - q0) / m0 + rate^2 q1 (1 - q1) / m1`` and a term of the
    unlabelled units, over ``(q0 + q1 - 1)^2``. It is least where m0 and m1 are proportional to the square
    roots of the two numerators.

    Parameters
    ----------
    n : int
        Units to be labelled, at least 2.
    rate, sensitivity, specificity : float
        Expected rate of the class, and q1 and q0 of the judge.

    Returns
    -------
    tuple (int, int)
        Numbers of units without the class, m0, and with it, m1, at least 1 each.

    Raises
    ------
    InputError
        For fewer than two units, or shares outside 0 to 1.

    References
    ----------
    Lee, C., Zeng, T., Jeong, J., Sohn, J., Lee, K. (2025). How to correctly report LLM-as-a-judge
    evaluations. arXiv:2511.21140

    Examples
    --------
    >>> calibration_split(100, rate=0.3, sensitivity=0.8, specificity=0.9)
    (64, 36)
    """
    if not isinstance(n, Integral) or n < 2:
        raise InputError(f"n is {n!r}; give a whole number of 2 or more.")
    for name, value in (("rate", rate), ("sensitivity", sensitivity), ("specificity", specificity)):
        check_share(f"{name} is", value, "give a share between 0 and 1", closed=True)
    without = (1 - rate) * sqrt(specificity * (1 - specificity))
    with_ = rate * sqrt(sensitivity * (1 - sensitivity))
    part = without / (without + with_) if without + with_ > 0 else 0.5
    first = min(max(round(n * part), 1), int(n) - 1)
    return first, int(n) - first
