"""Tasks that people answered, with the models' answers to them, and further tasks that models answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.schema import POSITIONS, PROBABILITY, SAMPLING

from ...correction.correction_methods import ByModels, CovariateAdjustment, DesignBased
from ...correction.item_corrections import doubt_of, refuse_chosen
from ...correction.monotone_calibration import map_where_useful
from ...correction.sources import check_overlap, people_and_models, sampling_weights
from ...frames.cells import AttributeCells, needed_columns
from ...frames.variables import factor_codes
from ...numerics.linear import Regression
from ...numerics.rating_panel import RowClusters
from ..estimation_plan import EstimationPlan
from ..reliability.repeats import first_answers
from ..request import EstimateRequest

PAIR = "pair_id"
NAMED_IN = ("judge_id", "panel", "judge_kind")
REMEDIES = (("them", "panel"), ("more tasks", "all"))
# Up to so many clusters of people have CR2 errors; with more, decomposing each costs more than it changes
MOST_REDUCED = 200
MakePlan = Callable[[EstimateRequest, pd.DataFrame], EstimationPlan]


@dataclass(frozen=True)
class CorrectionTasks:
    """Rows that people answered, and other rows that models answered, both with the models' answers."""

    human: pd.DataFrame
    other: pd.DataFrame
    models: tuple[str, ...]
    # (J, n): answers; the model's mean where it was asked and gave no usable answer, NaN where not asked
    of_human: np.ndarray
    of_other: np.ndarray
    # (n,): number of pair and position
    key_of_human: np.ndarray
    key_of_other: np.ndarray
    # (n,): one over the probability with which people's tasks were sampled, None where all are equal; else
    # ``other`` has all rows that models answered
    weight: np.ndarray | None
    n_silent: int  # rows of people without an answer, which are in no table here
    unanswered: dict[str, int]  # rows of each model without a usable answer
    model_rows: pd.DataFrame


def columns_to_read(request: EstimateRequest, frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of a table that a correction reads, so that others are not copied."""
    formula = request.formula
    names = [formula.outcome, *formula.features, *request.by, *request.clusters, request.weights]
    names += [*NAMED_IN, PAIR, "position", SAMPLING, PROBABILITY, *needed_columns(list(frame.columns))]
    return frame[[name for name in dict.fromkeys(names) if name in frame]]


def tasks_of(
    request: EstimateRequest, frame: pd.DataFrame, method: ByModels, choices: pd.DataFrame | None = None
) -> CorrectionTasks:
    """Find the tasks: people's answers, with ``choices`` their first ones, and of models the other tasks."""
    # Where answers are `compared` between tasks, models must have answered people's and others.
    compared = not isinstance(method, CovariateAdjustment)
    everything = isinstance(method, CovariateAdjustment | DesignBased)
    for column in ("judge_id", "judge_kind", PAIR, "position"):
        if column not in frame:
            raise InputError(f"correct='ppi' needs the column {column!r} of the table `choices`; add it.")
    for name in dict.fromkeys([*request.formula.features, *request.by]):
        codes, levels = factor_codes(frame, name, None)
        frame = frame.assign(**{name: pd.Categorical.from_codes(codes, pd.Index(levels))})
    people, is_model = people_and_models(frame, method.human, method.model, NAMED_IN)
    if choices is not None:
        people &= frame.index.isin(first_answers(choices).index)
    outcome = request.formula.outcome
    answered = frame[outcome].notna().to_numpy()
    silent, people = int((people & ~answered).sum()), people & answered
    key = np.full(len(frame), -1, dtype=np.int64)
    key[people | is_model] = _keys(frame[people | is_model])
    human, model = frame[people], frame[is_model]
    models = tuple(model["judge_id"].astype(str).unique())
    n_keys = 2 * (int(key.max()) // 2 + 1)
    labelled, has_model_answer = np.zeros(n_keys, dtype=bool), np.zeros(n_keys, dtype=bool)
    labelled[key[people]], has_model_answer[key[is_model]] = True, True
    if compared:
        remedies = [f"ask it about {what} with `conjury collect --tasks {name}`" for what, name in REMEDIES]
        check_overlap(models, labelled, has_model_answer, "tasks", (remedies[0], remedies[1]))
    answers = _answers(model, key[is_model], outcome, models, len(labelled))
    first = np.flatnonzero(~pd.Series(key[is_model]).duplicated().to_numpy())
    weight = sampling_weights(human[SAMPLING]) if SAMPLING in human else None
    if weight is None and compared:
        _refuse_chosen(model, key[is_model], models, labelled)
    rows = first if weight is not None or everything else first[~labelled[key[is_model][first]]]
    missing = model[outcome].isna().groupby(model["judge_id"].astype(str)).sum()
    return CorrectionTasks(
        human,
        model.iloc[rows],
        models,
        answers[:, key[people]],
        answers[:, key[is_model][rows]],
        key[people],
        key[is_model][rows],
        weight,
        silent,
        {str(name): int(count) for name, count in missing.items() if count},
        model,
    )


def _refuse_chosen(model: pd.DataFrame, key: np.ndarray, models: Sequence[str], labelled: np.ndarray) -> None:
    """Refuse tasks of people about which a model is far less or more certain than about others."""
    if PROBABILITY not in model:
        return
    doubt, names = doubt_of(model[PROBABILITY]), model["judge_id"].astype(str).to_numpy()
    of_people = labelled.reshape(-1, 2).any(axis=1)
    n = len(labelled) // 2
    pairs = np.arange(n)
    for name in models:
        mask = (names == name) & np.isfinite(doubt)
        pair = key[mask] // 2
        with np.errstate(invalid="ignore"):
            each = np.bincount(pair, doubt[mask], n) / np.bincount(pair, minlength=n)
        refuse_chosen(name, each, pairs, pairs[of_people], pairs[~of_people], "tasks")


def _keys(rows: pd.DataFrame) -> np.ndarray:
    """Number rows by pair and position, shape (n,)."""
    position = rows["position"].astype("string")
    is_invalid = ~position.isin(POSITIONS).to_numpy()
    if is_invalid.any():
        raise InputError(
            f"Column 'position' has {position[is_invalid].iloc[0]!r} in {int(is_invalid.sum()):,} rows; give "
            f"{' or '.join(POSITIONS)}, with the same positions for people and models."
        )
    pair = pd.factorize(rows[PAIR].astype("string"))[0].astype(np.int64)
    if (pair < 0).any():
        raise InputError(f"Column {PAIR!r} is missing in {int((pair < 0).sum()):,} rows; fill it in.")
    return np.asarray(2 * pair + position.eq(POSITIONS[1]).to_numpy(dtype=np.int64))


def _answers(model: pd.DataFrame, key: np.ndarray, outcome: str, models: Sequence[str], n: int) -> np.ndarray:
    """Mean answer of each model to each task and position, (J, n), over prompts and samples."""
    # A missing answer counts as the model's mean, in labelled and other tasks alike.
    answers = np.full((len(models), n), np.nan)
    values = model[outcome].to_numpy(dtype=float, na_value=np.nan)
    name = model["judge_id"].astype(str).to_numpy()
    for number, judge in enumerate(models):
        mask = name == judge
        has_answer = mask & ~np.isnan(values)
        if not has_answer.any():
            raise InputError(f"{judge!r} has no usable answer; name another model.")
        filled = np.where(has_answer, values, values[has_answer].mean())
        count = np.bincount(key[mask], minlength=n)
        with np.errstate(invalid="ignore"):
            answers[number] = np.where(count > 0, np.bincount(key[mask], filled[mask], n) / count, np.nan)
    return answers


def clusterings_of(request: EstimateRequest, tasks: CorrectionTasks) -> dict[str, RowClusters]:
    """Clusters of people's rows and, in the same numbers, of the models' other rows."""
    # A column that names people has no values of use in models' rows; these are clustered by pair instead.
    names = list(request.clusters)
    if tasks.weight is not None and PAIR not in names:
        names.append(PAIR)
    clusterings = {}
    pairs = RowClusters.numbered(tasks.key_of_other // 2)
    for name in names:
        if name not in tasks.human:
            raise InputError(f"There is no column {name!r}; name another id.")
        people = tasks.human[name].astype("string")
        model_values = tasks.other[name].astype("string")
        levels = model_values.drop_duplicates()
        if levels.count() <= len(tasks.models) and not levels.isin(people.drop_duplicates()).any():
            codes, values = pd.factorize(people, sort=True, use_na_sentinel=False)
            joint_codes = np.concatenate([codes, len(values) + pairs.code])
            clusterings[name] = RowClusters(joint_codes.astype(np.int64), len(values) + pairs.n)
            continue
        codes, values = pd.factorize(pd.concat([people, model_values]), sort=True, use_na_sentinel=False)
        clusterings[name] = RowClusters(codes.astype(np.int64), len(values))
    return clusterings


@dataclass(frozen=True)
class Plans:
    """Regressions of people's answers and of each model's, to the same and to other tasks."""

    human: EstimationPlan
    labelled: tuple[EstimationPlan, ...]
    other: tuple[EstimationPlan, ...]
    clusterings: Mapping[str, RowClusters]  # of people's rows above the other rows
    weights: str | None  # column of weights that models' rows have, too


def people_plan(
    request: EstimateRequest, tasks: CorrectionTasks, make_plan: MakePlan
) -> tuple[EstimationPlan, dict[str, RowClusters], str | None]:
    """Build the regression of people's answers, with errors that suit so many clusters of people."""
    # With it come the clusters of people's rows above the other rows, and the column of models' weights.
    use_cr2 = len(request.clusters) == 1 and not request.weights and request.family == "gaussian"
    use_cr2 = use_cr2 and tasks.human[request.clusters[0]].nunique() <= MOST_REDUCED and tasks.weight is None
    if request.vcov == "CR2" and tasks.weight is not None:
        raise InputError(f"CR2 is defined without weights, but {SAMPLING!r} gives weights; omit vcov.")
    kind = request.vcov if request.vcov != "survey" else "CR2" if use_cr2 else "CR1"
    human, people_request = tasks.human, replace(request, vcov=kind)
    clusterings = clusterings_of(request, tasks)
    if tasks.weight is not None:
        weight = tasks.weight
        if request.weights:
            weight = weight * human[request.weights].to_numpy(dtype=float)
        human = human.assign(**{SAMPLING: weight})
        people_request = replace(people_request, weights=SAMPLING)
    return make_plan(people_request, human), clusterings, _weights_of_models(request, tasks)


def plans_of(request: EstimateRequest, tasks: CorrectionTasks, make_plan: MakePlan) -> Plans:
    """Build the regressions of people's and models' answers."""
    plan, clusterings, weights = people_plan(request, tasks, make_plan)
    alone = replace(request, clusters=(), weights=weights, vcov=plan.request.vcov)
    filled = tasks.other.assign(**{request.formula.outcome: tasks.of_other[0]})
    model_plan = make_plan(alone, filled)
    if not plan.keys.astype(str).equals(model_plan.keys.astype(str)):
        raise InputError(
            f"{listed(map(repr, tasks.models))} answered no further task in some of the groups of "
            f"{listed(map(repr, request.by))}; ask about them, or omit the groups."
        )
    return Plans(
        plan,
        tuple(with_outcome(plan, answers) for answers in tasks.of_human),
        tuple(with_outcome(model_plan, answers) for answers in tasks.of_other),
        clusterings,
        weights,
    )


def _weights_of_models(request: EstimateRequest, tasks: CorrectionTasks) -> str | None:
    """Column of weights if models' rows have it, too; without it, weights must be those of people."""
    name = request.weights
    if name is None or tasks.other[name].notna().all():
        return name
    if (tasks.human.groupby(request.clusters[0], observed=True)[name].nunique(dropna=False) > 1).any():
        raise InputError(
            f"Weights {name!r} differ between a person's tasks and are missing in the models' rows; give "
            "them for every task, or the same to all tasks of a person."
        )
    return None


def with_outcome(plan: EstimationPlan, answers: np.ndarray) -> EstimationPlan:
    """The same regressions of a model's answers, on the rows that it was asked about."""
    has_answer = ~np.isnan(answers)
    cells: AttributeCells = replace(
        plan.cells,
        weight=np.where(has_answer, plan.cells.weight, 0.0),
        outcome=np.where(has_answer, answers, 0.0),
    )
    return replace(plan, cells=cells)


def with_maps(plans: Plans, tasks: CorrectionTasks, fold: np.ndarray) -> Plans:
    """Let each model count twice: by its answers, and by a cross-fitted map of them to people's."""
    cells, of_people, beside = plans.human.cells, list(plans.labelled), list(plans.other)
    for of_human, of_other, plan in zip(tasks.of_human, tasks.of_other, plans.other, strict=True):
        has_both, is_asked = ~np.isnan(of_human) & (cells.weight > 0), ~np.isnan(of_other)
        people = cells.outcome[has_both], cells.weight[has_both]
        scores = map_where_useful(of_human[has_both], *people, of_other[is_asked], fold[has_both])
        of_people.append(with_outcome(plans.human, _filled(has_both, scores.labelled)))
        beside.append(with_outcome(plan, _filled(is_asked, scores.unlabelled)))
    return replace(plans, labelled=tuple(of_people), other=tuple(beside))


def _filled(mask: np.ndarray, values: np.ndarray) -> np.ndarray:
    filled = np.full(len(mask), np.nan)
    filled[mask] = values
    return filled


def coefficients_of(fits: Sequence[Regression]) -> np.ndarray:
    """Coefficients of all regressions, shape (K,)."""
    return np.concatenate([fit.coef for fit in fits])


def stack_models(by_model: Iterable[np.ndarray]) -> np.ndarray:
    """Influences (U, K) of J models as one array, (U, J, K)."""
    return np.stack(list(by_model), axis=1)


def determined_coefficients(plans: Plans) -> np.ndarray:
    """1 for coefficients that people's and all models' answers determine, else 0, shape (K,)."""
    mask = np.ones(plans.human.slices[-1].stop, dtype=bool)
    for plan in (*plans.labelled, *plans.other):
        mask &= ~(np.abs(plan.null_space(plan.cells.cell_weight * plan.used)) > 1e-9).any(axis=1)
    return mask.astype(float)
