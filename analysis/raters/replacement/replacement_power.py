"""Power of the alternative annotator test: what a panel must have, and how often a worse model passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.errors import InputError, check_share, listed

from ...frames.vocabulary import PASSING
from ...numerics.intervals import check_alpha, wilson
from ...numerics.types import Codes, Floats
from ...results import Result
from .annotator_panel import ACCURACY, NAMED, NEG_RMSE, Mask
from .decide import Multiplicity, check_multiplicity, evidence, verdict

STATED, MARGIN = "as stated", "at the margin"
AT_ONCE = 1_000_000  # ratings held in memory together
MARGIN_ITEMS = 60_000
LOADINGS = np.linspace(0, 1, 13)


def alt_test_power(
    *,
    annotators: int | Sequence[int] = 3,
    instances: int | Sequence[int] = (30, 50, 100, 200),
    epsilon: float | Sequence[float] = 0.1,
    human_agreement: float | Sequence[float] = 0.5,
    model_agreement: float | Sequence[float] | None = None,
    kind: Kind = "labels",
    categories: int | Sequence[float] = 4,
    per_item: int | None = None,
    scoring: str | None = None,
    q_fdr: float = 0.05,
    multiplicity: Multiplicity = "by",
    margin: bool = True,
    target: float = 0.8,
    simulations: int = 1000,
    alpha: float = 0.05,
    seed: int = 1,
) -> Result:
    """Simulate how often a model passes the alternative annotator test.

    Parameters
    ----------
    annotators : int or sequence of int
        People on the panel.
    instances : int or sequence of int
        Items rated.
    epsilon : float or sequence of float
        As in `alt_test`.
    human_agreement : float or sequence of float
        Agreement of two people beyond chance: Cohen's kappa of labels, the correlation of the normal values
        behind ratings (polychoric).
    model_agreement : float or sequence of float, optional
        The same between the model and a person; at most the root of ``human_agreement``. By default that
        of two people.
    kind : {"labels", "ratings"}
        What the raters give.
    categories : int or sequence of float
        Number of categories, equally frequent, or how often each occurs.
    per_item : int, optional
        How many of the annotators, drawn at random, rate an item; by default all.
    scoring : {"accuracy", "neg_rmse", "neg_mae"}, optional
        By default accuracy for labels, negative RMSE for ratings.
    q_fdr, multiplicity
        As in `alt_test`.
    margin : bool
        Add the model that is just not good enough, behind people by epsilon: that it passes is an error.
    target : float
        Power for the table of items needed.
    simulations : int
        Studies a row.
    alpha : float
        One minus the level of the intervals, which bound the error of simulation (Wilson).
    seed : int
        Seed of the simulated judgments.

    Returns
    -------
    Result
        ``frame``: ``scenario`` ("as stated" or "at the margin"), ``annotators, per_item, instances,
        epsilon, human_agreement, model_agreement, difference`` (of a person's and the model's probability
        to be at least as close to the others), ``pass_rate, std_error, lower, upper, winning_rate,
        advantage_probability, n_simulations``. ``extra["needed"]``: the fewest of the ``instances`` with
        which the model as stated passes with probability ``target``; missing where none suffices.

    Raises
    ------
    InputError
        For agreement that cannot be, fewer than two annotators, or a scoring of numbers asked of labels.

    Notes
    -----
    Annotators are exchangeable: a model is ahead of all of them or of none, so that the pass rate at the
    margin is the largest rate of false passing in such a world.

    Examples
    --------
    >>> found = alt_test_power(instances=[30, 100], epsilon=0.2, simulations=200, margin=False)
    >>> found.frame["pass_rate"].is_monotonic_increasing
    True
    """
    grid = [
        _parse_numbers(value, name) for value, name in ((annotators, "annotators"), (instances, "instances"))
    ]
    sizes, items = ([int(value) for value in values] for values in grid)
    epsilons, humans = _parse_numbers(epsilon, "epsilon"), _parse_numbers(human_agreement, "human_agreement")
    models = None if model_agreement is None else _parse_numbers(model_agreement, "model_agreement")
    scored = _scoring(scoring, kind)
    _check(sizes, items, epsilons, per_item, q_fdr, target, simulations)
    check_multiplicity(multiplicity)
    check_alpha(alpha)
    shares = _shares(categories)
    rows: list[dict[str, Any]] = []
    notes = _advice(sizes, items)
    for people, human in product(sizes, humans):
        world = AnswerModel(kind, shares, _root(human), people, min(per_item or people, people), scored)
        for value, scenario, which in _scenarios(world, human, models, epsilons, margin, seed, notes):
            result = _simulate_tests(
                world, value / world.human, items, which, simulations, q_fdr, multiplicity, seed
            )
            head = {"scenario": scenario, "annotators": people, "per_item": world.per_item}
            rows += [{**head, "human_agreement": human, "model_agreement": value, **row} for row in result]
    frame = _bounded(pd.DataFrame(rows), simulations, alpha)
    settings = {
        "kind": kind, "categories": shares.tolist(), "scoring": scored, "q_fdr": q_fdr, "target": target,
        "multiplicity": multiplicity, "simulations": simulations, "alpha": alpha, "seed": seed,
    }  # fmt: skip
    return Result(frame, "alt_power", tuple(notes), settings, {"needed": _required_instances(frame, target)})


def _scenarios(
    world: AnswerModel,
    human: float,
    models: Sequence[float] | None,
    epsilons: Sequence[float],
    margin: bool,
    seed: int,
    notes: list[str],
) -> Iterator[tuple[float, str, Sequence[float]]]:
    """Agreements of the model to simulate, what they stand for, and the epsilons to test with."""
    for value in [human] if models is None else models:
        if not 0 <= value <= world.human:
            raise InputError(
                f"model_agreement is {value:g}; where two people agree to {human:g}, a model that knew the "
                f"truth would agree with each to {world.human:.2f}: give a number from 0 to that."
            )
        yield value, STATED, epsilons
    if margin:
        limits = margins(world, epsilons, seed)
        for epsilon, loading in zip(epsilons, limits, strict=True):
            if np.isfinite(loading):
                yield float(loading * world.human), MARGIN, [epsilon]
            else:
                notes.append(
                    f"Epsilon {epsilon:g} with {world.people} annotators of agreement {human:g}: even a "
                    "model that answers at random is not worse than people by epsilon; choose a smaller one."
                )


def margins(world: AnswerModel, epsilons: Sequence[float], seed: int) -> Floats:
    """Loadings with which the model is behind people by each epsilon; NaN where any model is ahead."""
    # One large study with the same random numbers for every loading.
    rng = np.random.default_rng([seed, 7, world.people])
    large = draw_studies(world, 1, min(MARGIN_ITEMS, AT_ONCE // world.people), rng)
    behind = []
    for loading in LOADINGS:
        result = compare_with_people(world, large, float(loading))
        behind.append((result.human_wins.sum() - result.model_wins.sum()) / result.used.sum())
    falling = np.minimum.accumulate(np.array(behind))
    targets = np.array(epsilons, dtype=float)
    loadings = np.interp(-targets, -falling, LOADINGS)
    return np.where((targets <= falling[0]) & (targets >= falling[-1]), loadings, np.nan)


def _simulate_tests(
    world: AnswerModel,
    loading: float,
    instances: Sequence[int],
    epsilons: Sequence[float],
    simulations: int,
    q_fdr: float,
    multiplicity: Multiplicity,
    seed: int,
) -> list[dict[str, Any]]:
    """Run the test on simulated studies; smaller studies are the first items of larger ones."""
    most = max(instances)
    at_once = max(1, AT_ONCE // (most * world.people))
    sums: dict[int, list[Floats]] = {size: [] for size in instances}
    rng = np.random.default_rng([seed, world.people])
    for start in range(0, simulations, at_once):
        result = compare_with_people(
            world, draw_studies(world, min(at_once, simulations - start), most, rng), loading
        )
        for size in instances:
            sums[size].append(_sums(result, size))
    rows = []
    for size in instances:
        estimates = evidence(np.concatenate(sums[size]))
        counts = estimates.n.sum()
        difference = float(np.nansum(estimates.difference * estimates.n) / counts)
        for epsilon in epsilons:
            rate = np.nan_to_num(verdict(estimates, epsilon, q_fdr, multiplicity).winning_rate)
            rows.append({
                "instances": size, "epsilon": epsilon, "difference": difference,
                "pass_rate": float((rate >= PASSING).mean()), "winning_rate": float(rate.mean()),
                "advantage_probability": float(np.nanmean(estimates.rho_model)),
            })  # fmt: skip
    return rows


def _sums(result: Outcomes, size: int) -> Floats:
    """Sums of `evidence` over the first items, shape (S, m, 7)."""
    n = result.used[:, :size].sum(axis=1, dtype=float)
    wins = result.model_wins[:, :size].sum(axis=1, dtype=float)
    difference = result.human_wins[:, :size].sum(axis=1, dtype=float) - wins
    squares = (result.human_wins[:, :size] ^ result.model_wins[:, :size]).sum(axis=1, dtype=float)
    return np.stack([n, wins, difference, squares, difference, n, n], axis=-1)


def _bounded(frame: pd.DataFrame, simulations: int, alpha: float) -> pd.DataFrame:
    share = frame["pass_rate"].to_numpy(dtype=float)
    lower, upper = wilson(share, np.full(len(share), float(simulations)), alpha)
    result = frame.assign(
        std_error=np.sqrt(share * (1 - share) / simulations),
        lower=lower,
        upper=upper,
        n_simulations=simulations,
    )
    order = [
        "scenario", "annotators", "per_item", "instances", "epsilon", "human_agreement", "model_agreement",
        "difference", "pass_rate", "std_error", "lower", "upper", "winning_rate", "advantage_probability",
        "n_simulations",
    ]  # fmt: skip
    return result[order]


def _required_instances(frame: pd.DataFrame, target: float) -> pd.DataFrame:
    keys = ["annotators", "per_item", "epsilon", "human_agreement", "model_agreement"]
    rows = []
    for names, group in frame[frame["scenario"] == STATED].groupby(keys, sort=False):
        enough = group[group["pass_rate"] >= target].sort_values("instances")
        fewest = enough["instances"].iloc[0] if len(enough) else pd.NA
        rows.append({**dict(zip(keys, names, strict=True)), "target": target, "instances": fewest})
    return pd.DataFrame(rows).astype({"instances": "Int64"})


def _advice(sizes: Sequence[int], items: Sequence[int]) -> list[str]:
    notes = []
    if min(sizes) < 3:
        notes.append(
            "The authors advise at least 3 annotators; with 2, each is compared with the other alone."
        )
    if min(items) < 30:
        notes.append("The authors advise at least 30 items; with fewer, alt_test excludes annotators.")
    return notes


def _parse_numbers(value: float | Sequence[float], name: str) -> list[float]:
    values = [float(number) for number in np.atleast_1d(np.array(value, dtype=float))]
    if not values:
        raise InputError(f"{name} is empty; give one or more numbers.")
    return list(dict.fromkeys(values))


def _root(human: float) -> float:
    if not 0 < human <= 1:
        raise InputError(f"human_agreement is {human:g}; give numbers above 0, up to 1.")
    return float(np.sqrt(human))


def _scoring(scoring: str | None, kind: str) -> str:
    if kind not in get_args(Kind):
        raise InputError(f"kind is {kind!r}; use labels or ratings.")
    if scoring is None:
        return ACCURACY if kind == "labels" else NEG_RMSE
    if scoring not in NAMED or (kind == "labels" and scoring != ACCURACY):
        fits = [ACCURACY] if kind == "labels" else list(NAMED)
        raise InputError(f"scoring is {scoring!r}; simulated {kind} take {listed(fits)}.")
    return scoring


def _shares(categories: int | Sequence[float]) -> Floats:
    if isinstance(categories, int):
        if categories < 2:
            raise InputError(f"categories is {categories}; give two or more.")
        return np.full(categories, 1 / categories)
    shares = np.array(list(categories), dtype=float)
    if len(shares) < 2 or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise InputError("categories are shares above 0 that sum to 1; give two or more.")
    return shares


def _check(
    sizes: Sequence[int],
    items: Sequence[int],
    epsilons: Sequence[float],
    per_item: int | None,
    q_fdr: float,
    target: float,
    simulations: int,
) -> None:
    if min(sizes) < 2:
        raise InputError(
            f"annotators is {min(sizes)}; the test needs at least 2 people, preferably 3 or more."
        )
    if min(items) < 2:
        raise InputError(f"instances is {min(items)}; a test needs at least 2 items, preferably 30.")
    if per_item is not None and per_item < 2:
        raise InputError(f"per_item is {per_item}; an item needs at least 2 people.")
    if not all(-1 <= value <= 1 for value in epsilons):
        raise InputError("epsilon is a difference of shares; give numbers between -1 and 1, such as 0.1.")
    for name, value in (("q_fdr", q_fdr), ("target", target)):
        check_share(f"{name} is", value, "give a number between 0 and 1")
    if simulations < 2:
        raise InputError(f"simulations is {simulations!r}; give about 1000.")


Kind = Literal["labels", "ratings"]


@dataclass(frozen=True)
class AnswerModel:
    """How people and a model answer: two raters agree beyond chance to the product of their loadings."""

    kind: Kind  # {"labels", "ratings"}
    shares: Floats  # shape (K,): how often each category occurs
    human: float  # loading of people, between 0 and 1
    people: int  # size of the panel
    per_item: int  # how many of them, drawn at random, rate an item
    scoring: str  # accuracy, neg_rmse or neg_mae


@dataclass(frozen=True)
class Studies:
    """S studies of n items with m people, before a model answers."""

    people: Codes  # shape (S, n, m): codes of their answers
    used: Mask  # shape (S, n, m): who rates which item
    scores: Floats  # shape (S, n, m): sum of the scores of each answer against the others of the item
    against_all: Floats  # shape (S, n, K): sum of the scores of each category against all ratings of the item
    alike: Floats  # shape (K, K): score of one category against another
    truth: Floats  # shape (S, n): uniform numbers: of the item, and of the model's answer
    luck: Floats  # shape (S, n)
    drawn: Floats  # shape (S, n)


@dataclass(frozen=True)
class Outcomes:
    """Comparisons of a model in S studies of n items with m people; every array has shape (S, n, m)."""

    used: Mask
    model_wins: Mask
    human_wins: Mask


def draw_studies(world: AnswerModel, n_studies: int, n_items: int, rng: np.random.Generator) -> Studies:
    """Draw items, people and their answers."""
    shape, size = (n_studies, n_items), (n_studies, n_items, world.people)
    truth, luck, noise = rng.random(shape), rng.random(shape), rng.random(shape)
    people = answer_codes(world, truth[..., None], rng.random(size), rng.random(size), world.human)
    is_rated = np.ones(size, dtype=bool)
    if world.per_item < world.people:
        is_rated = rng.random(size).argsort(axis=-1).argsort(axis=-1) < world.per_item
    counts = np.stack(
        [((people == code) & is_rated).sum(axis=-1) for code in range(len(world.shares))], axis=-1
    )
    alike = _similarity(world)
    against_all = counts @ alike
    scores = np.take_along_axis(against_all, people, -1) - np.diag(alike)[people]
    return Studies(people, is_rated, scores, against_all, alike, truth, luck, noise)


def compare_with_people(world: AnswerModel, result: Studies, loading: float) -> Outcomes:
    """Let a model of some loading answer the items of studies, and compare it with each person."""
    model = answer_codes(world, result.truth, result.luck, result.drawn, loading)[..., None]
    scores = np.take_along_axis(result.against_all, model, -1) - result.alike[result.people, model]
    return Outcomes(
        result.used, result.used & (scores >= result.scores), result.used & (result.scores >= scores)
    )


def answer_codes(world: AnswerModel, truth: Floats, luck: Floats, noise: Floats, loading: float) -> Codes:
    """Codes of answers from uniform numbers: the item's, whether it is known, and the rater's own."""
    inner = np.cumsum(world.shares)[:-1]
    if world.kind == "labels":
        return np.asarray(np.searchsorted(inner, np.where(luck < loading, truth, noise), side="right"))
    value = loading * ndtri(truth) + np.sqrt(1 - loading**2) * ndtri(noise)
    return np.asarray(np.searchsorted(ndtri(inner), value, side="right"))


def _similarity(world: AnswerModel) -> Floats:
    n = len(world.shares)
    if world.scoring == ACCURACY:
        return np.eye(n)
    distances: Floats = np.abs(np.arange(n)[:, None] - np.arange(n)).astype(float)
    return -(distances**2) if world.scoring == NEG_RMSE else -distances
