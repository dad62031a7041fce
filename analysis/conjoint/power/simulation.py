"""Power by simulation: studies drawn from a truth table, analysed by any estimator, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame, value_in_words

from ...frames.cells import is_repeat
from ...numerics import performance
from ...numerics.intervals import check_alpha
from ...numerics.workers import workers_of
from ...results import Result
from ..estimates import Estimates
from ..verbs.amce import amce

if TYPE_CHECKING:
    from conjury.inference.simulation.conjoint.judges import RaterModel
    from conjury.inference.study.models import Study

Estimator = Callable[[pd.DataFrame], Estimates]
NUMBERS = ["estimate", "std_error", "p", "lower", "upper"]
CHUNKS = 8  # per process, so that none waits long for the slowest


@dataclass(frozen=True)
class PowerPlan:
    """What every process needs to draw and analyse a study."""

    study: Study
    truth: pd.DataFrame
    judge: str
    prompt: str | None
    profiles: pd.DataFrame
    respondents: int | None
    pairs: int | None
    options: Mapping[str, Any]
    estimator: Estimator


@any_frame
def power_by_simulation(
    study: Study,
    judge: str,
    *,
    prompt: str | None = None,
    feature: str | None = None,
    level: str | None = None,
    effect: float | None = None,
    pairs: int | None = None,
    respondents: int | None = None,
    estimator: Estimator | None = None,
    n_sims: int = 500,
    alpha: float = 0.05,
    seed: int = 1,
    workers: int = 1,
    truth: Path | pd.DataFrame | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Draw a study many times and count how often an estimator finds its effects.

    Parameters
    ----------
    study : Study
        The study, with its design and stimuli.
    judge : str
        A judge of the truth table: its part-worths, noise, heterogeneity and position bias are drawn.
    prompt : str, optional
        The prompt of a model; by default its first.
    feature, level, effect : str, str and float, optional
        Scale the part-worth of one level so that its AMCE, in the observed choices, is ``effect``; by
        default effects are those of the truth table.
    pairs, respondents : int, optional
        Size of the study for a model or a panel; by default the study's design.
    estimator : callable, optional
        Takes the choices (repeated tasks included) and returns estimates. With several workers it must be
        a function of a module or a `functools.partial` of one. By default AMCEs of all attributes with the
        clusters that the study states, repeats excluded.
    n_sims : int
        Number of simulated data sets.
    alpha : float
        Significance level; the level of the intervals is the estimator's own.
    seed : int
        Same seed, same result, whatever the number of workers.
    workers : int
        Processes that draw side by side.
    truth : Path or DataFrame, optional
        Truth table; by default ``truth.csv`` beside the study file.
    options : mapping, optional
        Further arguments of `conjury.inference.simulation.simulate`, such as ``swapped_share``, ``samples``
        or ``stimulus_seed``; without the last, every study draws its stimuli anew.
    progress : callable, optional
        Called with the number of finished and of all studies.

    Returns
    -------
    Result
        One row per level: ``statistic, feature, level``, ``effect`` (the true value; missing where it
        is not known), ``n_sims`` (studies with an estimate), ``power`` (share of p values below alpha),
        ``bias``, ``sd`` (of the estimates), ``std_error`` (mean of the estimated ones), ``coverage`` of
        the intervals, ``type_s``, ``type_m``; ``power_mc, bias_mc, coverage_mc`` are Monte Carlo standard
        errors. ``extra["draws"]`` has one row per study and level: ``sim, statistic, feature, level,
        estimate, std_error, p, lower, upper``.

    Raises
    ------
    InputError
        For an unknown judge or level, or an effect that no part-worth reaches.

    References
    ----------
    Morris, T. P., White, I. R., Crowther, M. J. (2019). Using simulation studies to evaluate statistical
    methods. Statistics in Medicine 38(11), 2074-2102. doi:10.1002/sim.8086

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> found = power_by_simulation(
    ...     study, "gpt4o", feature="reply", level="agree", effect=0.1, pairs=300, n_sims=2)
    >>> row = found.frame.set_index("level").loc["agree"]
    >>> int(row["n_sims"]), round(float(row["effect"]), 6)
    (2, 0.1)
    """
    from conjury.inference.design.profiles import enumerate_profiles
    from conjury.inference.simulation.conjoint.judges import read_truth_table

    check_alpha(alpha)
    check_study(study)
    for name, number in (("n_sims", n_sims), ("workers", workers)):
        if number < 1:
            raise InputError(f"{name} is {number}; give a whole number of at least 1.")
    table = rows_of(study, judge, prompt, study.file("truth.csv") if truth is None else truth)
    if not (feature is None) == (level is None) == (effect is None):
        raise InputError("A scaled effect needs its feature, level and size; give all three or none.")
    if feature is not None and level is not None and effect is not None:
        table = scaled_table(study, table, feature, level, effect)
    rater = read_truth_table(table, study)[0]
    plan = PowerPlan(
        study,
        table,
        judge,
        rater.prompt or None,
        enumerate_profiles(study),
        respondents,
        pairs,
        dict(options or {}),
        estimator or default_estimator(study, rater.kind, alpha),
    )
    draws = _draw_all(plan, n_sims, seed, workers, progress)
    table = summarise(draws, true_effects(study, rater, draws), alpha)
    settings = {"seed": seed, "alpha": alpha, "n_sims": n_sims}
    return Result(table, "simulated_power", settings=settings, extra={"draws": draws})


def default_estimator(study: Study, kind: str, alpha: float = 0.05) -> Estimator:
    """AMCEs of all attributes, clustered as the study states, repeated tasks excluded."""
    formula = f"{study.outcome} ~ {' + '.join(attribute.id for attribute in study.attributes)}"
    unit = study.clusters.human if kind == "human" else study.clusters.model
    return partial(_amce_of_first_answers, formula=formula, id=unit, alpha=alpha)


def _amce_of_first_answers(choices: pd.DataFrame, **options: Any) -> Estimates:
    return amce(choices[~is_repeat(choices)], **options)


def _draw_all(
    plan: PowerPlan, n_sims: int, seed: int, workers: int, progress: Callable[[int, int], None] | None
) -> pd.DataFrame:
    seeds = list(enumerate(np.random.SeedSequence(seed).generate_state(n_sims).tolist()))
    size = max(1, min(25, -(-n_sims // (workers * CHUNKS))))
    chunks = [seeds[start : start + size] for start in range(0, n_sims, size)]
    frames: dict[int, pd.DataFrame] = {}
    with workers_of(_draw_chunk, plan, workers) as run:
        for number, frame in run(chunks):
            frames[number] = frame
            if progress is not None:
                progress(sum(len(chunks[index]) for index in frames), n_sims)
    return pd.concat([frames[number] for number in sorted(frames)], ignore_index=True)


def _draw_chunk(plan: PowerPlan, chunk: Sequence[tuple[int, int]]) -> pd.DataFrame:
    return pd.concat([_one_study(plan, seed).assign(sim=sim) for sim, seed in chunk], ignore_index=True)


def _one_study(plan: PowerPlan, seed: int) -> pd.DataFrame:
    """Draw one study and return its estimates that have a standard error."""
    from conjury.inference.simulation.conjoint.conjoint_simulation import simulate

    simulation = simulate(
        plan.study,
        seed,
        respondents=plan.respondents,
        pairs=plan.pairs,
        judges=[plan.judge],
        prompts=None if plan.prompt is None else [plan.prompt],
        profiles=plan.profiles,
        raters=plan.truth,
        truth=False,
        **plan.options,
    )
    frame = plan.estimator(simulation.choices).frame
    absent = [name for name in (*KEYS, *NUMBERS) if name not in frame]
    if absent:
        raise InputError(f"The estimator's table has no column '{absent[0]}'; return a result of estimates.")
    tidy = frame[[*KEYS, *NUMBERS]].dropna(subset=["std_error"])
    return tidy.astype(dict.fromkeys(KEYS, str) | dict.fromkeys(NUMBERS, float))


KEYS = ["statistic", "feature", "level"]
WIDEST = 12.0


def rows_of(study: Study, judge: str, prompt: str | None, source: Path | pd.DataFrame) -> pd.DataFrame:
    """The truth table's rows of one judge under one prompt."""
    from conjury.inference.simulation.conjoint.judges import COLUMNS, read_truth_table, select_raters
    from conjury.inference.simulation.truth_table import read_truth_file

    raters = select_raters(read_truth_table(source, study), [judge], None if prompt is None else [prompt])
    table, _ = read_truth_file(source, COLUMNS)
    table = table[COLUMNS].fillna("").astype(str)
    subset = table[(table["judge"] == judge) & (table["prompt_id"] == raters[0].prompt)]
    return subset.reset_index(drop=True)


def scaled_table(study: Study, table: pd.DataFrame, feature: str, level: str, effect: float) -> pd.DataFrame:
    """The truth table with the part-worth of one level for which its AMCE is ``effect``."""
    from scipy.optimize import brentq

    from conjury.inference.simulation.conjoint.judges import read_truth_table

    attributes = [attribute.id for attribute in study.attributes]
    if feature not in attributes or level not in study.levels(feature)[1:]:
        raise InputError(
            f"'{level}' of '{feature}' cannot be scaled; name a level other than the first of one of "
            f"{', '.join(attributes)}."
        )
    mask = (table["parameter"] == "part_worth") & (table["feature"] == feature) & (table["level"] == level)
    first = table.iloc[[0]].assign(parameter="part_worth", feature=feature, level=level)
    template = pd.concat([table[~mask], first], ignore_index=True)

    def with_worth(worth: float) -> pd.DataFrame:
        scaled = template.copy()
        scaled.loc[len(scaled) - 1, "value"] = repr(float(worth))
        return scaled

    def excess(worth: float) -> float:
        rater = read_truth_table(with_worth(worth), study)[0]
        return _effects(study, rater)["amce", feature, level] - effect

    at, direction = 0.0, -float(np.sign(excess(0.0)))
    if direction == 0:
        return with_worth(at)
    step = min(8 * abs(effect) + 0.1, WIDEST)
    while excess(at + direction * step) * direction < 0:
        at, step = at + direction * step, 2 * step
        if abs(at) + step > 2 * WIDEST:
            raise InputError(
                f"No part-worth gives {level} of {feature} an AMCE of {effect:g} here; ask for a smaller one."
            )
    return with_worth(float(brentq(excess, at, at + direction * step, xtol=1e-8)))


def _effects(study: Study, rater: RaterModel) -> dict[tuple[str, str, str], float]:
    """True AMCEs and marginal means of all attributes in the observed choices."""
    from conjury.inference.design.profiles import attribute_cells
    from conjury.inference.simulation.conjoint.stimulus_effects import cell_choice
    from conjury.inference.simulation.conjoint.true_effects import level_effects, level_means

    cells = attribute_cells(study)
    names = [attribute.id for attribute in study.attributes]
    choice = cell_choice(study, cells, rater)
    return {
        (statistic, name, str(level)): float(value)
        for statistic, measure in (("amce", level_effects), ("mm", level_means))
        for name, values in measure(cells, choice, names).items()
        for level, value in zip(cells[name].cat.categories, values, strict=True)
    }


def true_effects(study: Study, rater: RaterModel, draws: pd.DataFrame) -> pd.Series[float]:
    """True value of everything that was estimated, by statistic, feature and level; else missing."""
    effects = _effects(study, rater)
    keys = draws[KEYS].drop_duplicates()
    values = [effects.get(tuple(key), np.nan) for key in keys.itertuples(index=False, name=None)]
    return pd.Series(values, index=pd.MultiIndex.from_frame(keys), dtype=float)


def summarise(draws: pd.DataFrame, true: pd.Series[float], alpha: float) -> pd.DataFrame:
    """Operating characteristics by level, with their Monte Carlo errors."""
    rows = []
    for key, effect in true.items():
        name = dict(zip(KEYS, key, strict=True))  # type: ignore[call-overload]
        subset = draws[(draws[KEYS] == pd.Series(name)).all(axis=1)]
        numbers = {column: subset[column].to_numpy(float) for column in NUMBERS}
        sample = performance.Draws(truth=np.full(len(subset), effect), alpha=alpha, **numbers)
        measures = {measure: compute(sample) for measure, compute in performance.MEASURES.items()}
        rows.append(
            {
                **name,
                "effect": effect,
                "n_sims": len(subset),
                "power": measures["power"].value,
                "power_mc": measures["power"].mc_error,
                "bias": measures["bias"].value,
                "bias_mc": measures["bias"].mc_error,
                "sd": float(subset["estimate"].std(ddof=1)),
                "std_error": subset["std_error"].mean(),
                "coverage": measures["coverage"].value,
                "coverage_mc": measures["coverage"].mc_error,
                "type_s": measures["type_s"].value,
                "type_m": measures["type_m"].value,
            }
        )
    return pd.DataFrame(rows)


def check_study(design: object) -> None:
    """Raise InputError for a design that cannot be drawn, since it is no study."""
    if not hasattr(design, "attributes"):
        raise InputError(
            f"Simulations draw from a study, in which all levels combine freely, but the design is "
            f"{value_in_words(design)}; plan a table of cells with power(), which needs no simulation."
        )
