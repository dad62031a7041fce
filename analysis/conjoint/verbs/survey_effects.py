"""AMCEs and marginal means of a survey, with attributes that restrict each other averaged over."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from conjury.inference.errors import InputError, and_more, as_argument, listed
from conjury.inference.readers.conjoints import ConjointTable
from conjury.inference.tables.reading.cell_rules import is_refusal
from conjury.inference.tables.row_numbers import of_rows

from ...frames.notes import for_command, noted_warnings
from ...frames.participation import design_effect
from ...frames.variables import Formula, weights_column
from ...results import Result, stack
from .amce import amce
from .cj import amce_diffs, cj, mm, mm_diffs

MOST_GROUPS = 8
MOST_CELLS = 1_000  # levels of an attribute, times combinations of those that restrict it
JOINT = "_and_"  # between the names of attributes that another one restricts together


@dataclass(frozen=True)
class SurveyEffects:
    """Results by name: ``amce`` and ``mm``, and with subgroups ``amce_by, mm_by, amce_diffs, mm_diffs``."""

    table: ConjointTable
    results: dict[str, Result]
    notes: tuple[str, ...]
    n_rows: int
    n_respondents: int
    weights: str | None = None
    by: tuple[str, ...] = ()
    design_effect: float | None = None
    # profiles and respondents of each group, by the column of groups, and of all groups together
    sizes: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    totals: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def labels(self) -> dict[Any, str]:
        """Attributes and levels as the file writes them, for figures."""
        names: dict[Any, str] = {name: name for name in (*self.table.attributes, *self.by)}
        for name in self.table.attributes:
            names |= {(name, str(level)): str(level) for level in self.table.frame[name].cat.categories}
        for name in self.by:
            names |= {(name, str(level)): str(level) for level in self.table.frame[name].dropna().unique()}
        return names

    def to_latex(self) -> str:
        """All results as tables of LaTeX, each with its numbers of profiles and respondents below."""
        texts = {name: result.to_latex(labels=self.labels) for name, result in self.results.items()}
        return "\n".join(
            re.sub(r"\\label\{[^}]*\}", rf"\\label{{tab:{name}}}", text) for name, text in texts.items()
        )

    def sample(self, by: str | None = None) -> tuple[int, int]:
        """Profiles and respondents of the estimates among all, or in groups of a column."""
        return (self.n_rows, self.n_respondents) if by is None else self.totals[by]

    def column_of_groups(self, name: str) -> str | None:
        """The column whose groups a result compares, by the name of the result."""
        _, *kind = name.split("_", 2)
        return (kind[1:] or [*self.by])[0] if kind else None

    def estimates(self) -> pd.DataFrame:
        """The estimates of all results with profiles, respondents and level of the interval, one row each."""
        frames = [
            result.frame.assign(
                result=name,
                level_of_interval=1 - float(result.settings["alpha"]),
                n_profiles=result.settings.get("n_used"),
                n_respondents=self.sample(self.column_of_groups(name))[1],
            )
            for name, result in self.results.items()
        ]
        stacked = pd.concat(frames, ignore_index=True)
        return stacked.astype(dict.fromkeys(("feature", "level"), "string"))


def survey_effects(
    table: ConjointTable,
    *,
    weights: str | None = None,
    by: Sequence[str] = (),
    cut: Mapping[str, Sequence[float]] | None = None,
    vcov: str = "survey",
    alpha: float = 0.05,
) -> SurveyEffects:
    """Effects and means of all attributes, clustered by respondent, for all and for subgroups."""
    for name, limits in (cut or {}).items():
        if name not in by:
            raise InputError(f"cut names '{name}', which is no column of subgroups; add --by {name}.")
        table = replace(table, frame=table.frame.assign(**{name: _groups_of(table, name, limits)}))
    frame, notes = _usable(table, weights, by)
    options: dict[str, Any] = {"id": "judge_id", "vcov": vcov, "alpha": alpha}
    if weights is not None:
        options["weights"] = weights
    formula = Formula(table.outcome, table.attributes)
    results: dict[str, Result] = {}
    with noted_warnings() as warned:
        results["amce"] = _effects(table, frame, partial(amce, **options))
        results["mm"] = mm(frame, formula, **options)
        for name in by:
            suffix = "" if len(by) == 1 else f"_{name}"
            grouped = {**options, "by": name}
            results[f"amce_by{suffix}"] = _effects(table, frame, partial(cj, estimate="amce", **grouped))
            results[f"mm_by{suffix}"] = cj(frame, formula, estimate="mm", **grouped)
            results[f"amce_diffs{suffix}"] = _effects(table, frame, partial(amce_diffs, **grouped))
            results[f"mm_diffs{suffix}"] = mm_diffs(frame, formula, **grouped)
    effect = None
    if weights is not None:
        answered = frame[frame[table.outcome].notna()]
        units = answered.groupby("judge_id", sort=False, observed=True).ngroup().to_numpy()
        effect = design_effect(answered[weights].to_numpy(dtype=float), units)
    restricted = [tie.sentence() for tie in table.empty_pairs]
    notes += [table.unused_weights] * bool(table.unused_weights and weights is None)
    texts = dict.fromkeys([*restricted, *notes, *map(_for_command, map(str, warned))])
    complete = frame[frame[list(table.attributes)].notna().all(axis=1)]
    sizes = {
        name: {str(group): _size(rows) for group, rows in complete.groupby(name, observed=True)}
        for name in by
    }
    totals = {name: _size(complete[complete[name].notna()]) for name in by}
    return SurveyEffects(
        table, results, tuple(texts), *_size(complete), weights, tuple(by), effect, sizes, totals
    )


def _size(rows: pd.DataFrame) -> tuple[int, int]:
    """How many profiles and respondents there are."""
    return len(rows), int(rows["judge_id"].nunique())


def _for_command(note: str) -> str:
    """A warning of a verb with the options of the command."""
    return for_command(note.replace(JOINT, " and ").replace("'judge_id'", "respondents"))


def _usable(table: ConjointTable, weights: str | None, by: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Rows with an outcome, with subgroups as categories, and what was noticed."""
    frame, notes = table.frame, list[str]()
    for name, option in {**dict.fromkeys(by, "--by"), **({weights: "--weights"} if weights else {})}.items():
        if name not in frame:
            raise InputError(
                f"{table.source}: {option} names '{name}', which is no column of respondents; there are "
                f"{listed(_covariates(table))}."
            )
        changing = frame.groupby("judge_id", observed=True)[name].nunique() > 1
        if option == "--by" and changing.any() and name not in table.attributes:
            raise InputError(
                f"{table.source}: column '{name}', which {option} names, has several values for respondent "
                f"'{changing.idxmax()}'{and_more(int(changing.sum()) - 1)}; correct it, or state the "
                "respondent with --id."
            )
    has_outcome = frame[table.outcome].notna().to_numpy(dtype=bool)
    source = of_rows(table.source, has_outcome, len(frame))
    frame = frame[has_outcome].copy()
    if table.is_choice:
        frame[table.outcome] = frame[table.outcome].astype(int)
    if weights is not None:
        frame[weights] = _weights_of(frame, weights, source)
    for name in by:
        values = frame[name]
        n_groups = int(values.nunique())
        if not 2 <= n_groups <= MOST_GROUPS:
            kind, remedy = "groups", f"give one with 2 to {MOST_GROUPS} groups"
            if is_numeric_dtype(values) and n_groups > MOST_GROUPS:
                kind = "different numbers"
                remedy = f"add --cut {name}={values.median():g} (the median), or several limits"
            raise InputError(
                f"{table.source}: column '{name}', which --by names, has {n_groups} {kind}; {remedy}."
            )
        if name not in table.attributes:
            frame[name], notes_of_groups = _groups(frame, name, table.source)
            notes += notes_of_groups
    return frame, notes


def _groups(frame: pd.DataFrame, name: str, source: str) -> tuple[pd.Categorical, list[str]]:
    """Subgroups of respondents in their order, those of one respondent last, and what to know of these."""
    values = frame[name]
    order = (
        [str(level) for level in values.cat.categories]
        if isinstance(values.dtype, pd.CategoricalDtype)
        else [str(level) for level in sorted(values.dropna().unique())]
    )
    texts = values.astype("string").astype(object)
    people = frame["judge_id"].groupby(texts).nunique()
    refusals = [level for level in order if level in people and is_refusal(level)]
    if refusals:
        raise InputError(
            f"{source}: '{refusals[0]}' in column '{name}', which --by names, is probably the sentence of "
            f"one who does not answer; state --missing {as_argument(refusals[0])}."
        )
    single = [level for level in order if people.get(level) == 1]
    notes = [
        f"Group '{level}' of '{name}' has one respondent, and so its effects have no standard errors; "
        f"--exclude {as_argument(f'{name}={level}')} leaves it out."
        for level in single
    ]
    levels = [level for level in order if level in people and level not in single]
    return pd.Categorical(texts, categories=[*levels, *single]), notes


def _groups_of(table: ConjointTable, name: str, limits: Sequence[float]) -> pd.Series[Any]:
    """A column of numbers as groups between limits, each of which begins a group."""
    values = table.frame[name] if name in table.frame else pd.Series(dtype=object)
    if not is_numeric_dtype(values):
        raise InputError(f"{table.source}: column '{name}', which --cut names, contains no numbers to cut.")
    ends = [f"{limit:g}" for limit in limits]
    if not ends or sorted(set(limits)) != list(limits):
        raise InputError(f"--cut {name}={','.join(ends)}: give limits in rising order, such as 30,50.")
    middle = [f"{low} to below {high}" for low, high in pairwise(ends)]
    edges = [-np.inf, *limits, np.inf]
    names = [f"below {ends[0]}", *middle, f"{ends[-1]} or more"]
    return pd.Series(pd.cut(values.astype(float), edges, right=False, labels=names), index=values.index)


def _covariates(table: ConjointTable) -> list[str]:
    internal = {"judge_id", "pair_id", "task", "position", table.outcome, *table.attributes}
    return [str(name) for name in table.frame if name not in internal] or ["none"]


def _weights_of(frame: pd.DataFrame, weights: str, source: str) -> np.ndarray:
    """The weights as all estimators take them; refusals name the file."""
    try:
        return weights_column(frame, weights, source)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def formulas_of(table: ConjointTable) -> Iterator[tuple[Formula, tuple[str, ...], tuple[str, ...]]]:
    """Formulas, the attributes that each reports, and those that it needs as one column of combinations."""
    # An attribute that one other restricts is joined with it. Where several do, their combinations are one
    # column, with which the attribute is joined: its effects are then averaged over combinations that occur.
    partners: dict[str, list[str]] = {name: [] for name in table.attributes}
    for tie in table.empty_pairs:
        partners[tie.first].append(tie.second)
        partners[tie.second].append(tie.first)
    chained = [
        name
        for name in table.attributes
        if len(partners[name]) > 1 or any(len(partners[partner]) > 1 for partner in partners[name])
    ]
    pairs = tuple(
        (tie.first, tie.second) for tie in table.empty_pairs if not {tie.first, tie.second} & {*chained}
    )
    unrestricted = tuple(name for name in table.attributes if name not in chained)
    if unrestricted:
        yield Formula(table.outcome, table.attributes, pairs), unrestricted, ()
    for name in chained:
        joined = tuple(partners[name])
        partner = joined[0] if len(joined) == 1 else JOINT.join(joined)
        features = [feature for feature in table.attributes if feature not in joined]
        features.insert(features.index(name) + 1, partner)
        yield Formula(table.outcome, tuple(features), ((name, partner),)), (name,), joined


def _effects(
    table: ConjointTable, frame: pd.DataFrame, estimate: Callable[[pd.DataFrame, Formula], Result]
) -> Result:
    """Effects of all attributes, each by the formula that suits it."""
    parts: list[tuple[Result, tuple[str, ...]]] = []
    for formula, names, joined in formulas_of(table):
        data = frame
        if len(joined) > 1:
            texts = frame[list(joined)].astype(str).agg(" / ".join, axis=1)
            if texts.nunique() * frame[names[0]].nunique() > MOST_CELLS:
                raise InputError(
                    f"{table.source}: levels of '{names[0]}' never occur with some of "
                    f"{listed(map(repr, joined))}, which have {texts.nunique():,} combinations, too many to "
                    "average over; name the attributes with --attributes, without those that follow from "
                    "others."
                )
            data = frame.assign(**{JOINT.join(joined): pd.Categorical(texts)})
        parts.append((estimate(data, formula), names))
    if len(parts) == 1:
        return parts[0][0]
    rows = [part.frame[part.frame["feature"].astype(str).isin(names)] for part, names in parts]
    together = stack([part.assign(feature=part["feature"].astype(str)) for part in rows])
    order = pd.Categorical(together["feature"], categories=list(table.attributes))
    together = together.assign(feature=order).sort_values("feature", kind="stable").reset_index(drop=True)
    first = parts[0][0]
    return Result(together, first.kind, (), first.settings, real_judges=first.real_judges)


def width_of(alpha: float) -> str:
    """The level of intervals in percent."""
    return f"{np.round(100 * (1 - alpha), 3):g}%"
