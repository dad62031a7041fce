"""The alternative annotator test: whether a model may replace a person of the panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...numerics.cluster_draws import without_spread
from ...numerics.intervals import check_alpha, check_draws, inference
from ...numerics.types import Floats
from ...results import Result
from ..items import names_of
from ..ratings import Judgments, read_dimensions
from .decide import (
    FEW_INSTANCES,
    PASSING,
    Bounds,
    Evidence,
    Multiplicity,
    Resample,
    Verdict,
    bounds,
    check_multiplicity,
    coarse,
    draw,
    evidence,
    only,
    repeats,
    smallest_epsilon,
    unequal,
    verdict,
    weaknesses,
    without,
)
from .panel import Comparisons, Panel, compare, models_of, panel_of, units_of, weighted_sums
from .scoring import Mask, Scoring, name_of, pair_score, scorings_of

Samples = Literal["each", "first"]


def alt_test(
    judgments: Judgments,
    model: str | Sequence[str] | None = None,
    *,
    dimension: str | Sequence[str] | None = None,
    scoring: Scoring | Sequence[Scoring] | None = None,
    epsilon: float = 0.1,
    q_fdr: float = 0.05,
    min_humans: int = 2,
    min_instances: int = FEW_INSTANCES,
    multiplicity: Multiplicity = "by",
    samples: Samples = "each",
    items: pd.DataFrame | None = None,
    cluster: str | None = None,
    resample: Resample = "items",
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> AltTest:
    """Test whether models may replace a person of the panel (alternative annotator test).

    Each annotator is left out in turn. On every item that they rated, they and the model are scored by how
    close they come to the other annotators of the item; in a tie both win. A one-sided t test asks whether
    the person's advantage over the model is smaller than ``epsilon``; p values of the annotators are
    adjusted together. The model passes where it wins against at least half of the annotators.

    Parameters
    ----------
    judgments : DataFrame
        ``judge_id, judge_kind, item_id, value``, as `read_ratings` takes it.
    model : str or sequence of str, optional
        Which models to test; by default all.
    dimension : str or sequence of str, optional
        Which dimensions; by default all, each by itself.
    scoring : {"accuracy", "neg_rmse", "neg_mae"}, function, or a sequence of them, optional
        How close an answer is to those of the others: the share that equals it, the negative root mean
        squared error or mean absolute error, or the mean of ``function(answer, other)``, higher for answers
        that are more alike. By default accuracy for labels, negative RMSE for numbers.
    epsilon : float
        Advantage that people must have to be worth their cost; the authors advise 0.2 where they are
        experts, 0.15 where they are skilled, 0.1 for crowd workers.
    q_fdr : float
        False discovery rate among annotators.
    min_humans : int
        Items with fewer people are not used; at least 2.
    min_instances : int
        Annotators with fewer items are left out of the tests (as others' reference they stay).
    multiplicity : {"by", "bh", "holm", "none"}
        Adjustment for several annotators; the authors' is Benjamini-Yekutieli.
    samples : {"each", "first"}
        Several samples of a model for an item: compare each and average the comparisons, which estimates
        how one call of the model fares with less noise; or use the first alone. Of a person who rated an
        item several times the first rating counts.
    items : DataFrame, optional
        Table of items with the column ``cluster``, where the judgments do not carry it.
    cluster : str, optional
        Column that says which items belong together, such as questions on one text: tests and intervals
        then take clusters, not items, as independent.
    resample : {"items", "both"}
        Draw clusters of items, for conclusions about this panel; or people as well, for conclusions about
        people like them, which needs a panel of six or more.
    alpha : float
        One minus the level of the intervals.
    draws : int
        Bootstrap draws for intervals; 0 for none.
    seed : int
        Of the draws.

    Returns
    -------
    AltTest
        ``frame``: ``dimension, scoring, epsilon, model, winning_rate, advantage_probability, passes,
        pass_share`` (share of draws in which the model passes), ``smallest_epsilon`` (with which it passes;
        missing above 1), bounds and counts. ``extra["annotators"]``: the comparison with each annotator.

    Raises
    ------
    InputError
        For fewer than two people, an unknown model, a scoring that does not fit the values, or where no
        annotator has ``min_instances`` items.

    Notes
    -----
    Intervals are percentiles of the winning rates and advantage probabilities of bootstrap draws. That of
    the winning rate is for the rate to be expected of a study of this size; it is widened to hold the rate of
    the study, which can lie outside since draws hold fewer distinct items, and is no test of passing. In
    simulations with 3 to 12 annotators of unequal skill and 50 to 200 items, intervals of 95% with items
    drawn held the expected advantage probability in 92 to 95%, the expected winning rate in 93 to 95%.

    References
    ----------
    Calderon, N., Reichart, R., & Dror, R. (2025). The alternative annotator test for LLM-as-a-judge: How to
    statistically justify replacing human annotators with LLMs. ACL 2025, 16051-16081. arXiv:2501.10970

    Examples
    --------
    >>> judges = {"ann": "human", "bob": "human", "cy": "human", "gpt": "model"}
    >>> rows = [(name, kind, item, "funny" if item % 2 else "dull")
    ...         for name, kind in judges.items() for item in range(40)]
    >>> table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    >>> found = alt_test(table, "gpt")
    >>> found.winning_rate, found.advantage_probability, found.passes
    (1.0, 1.0, True)
    """
    _check(epsilon, q_fdr, min_humans, min_instances, samples, resample)
    check_multiplicity(multiplicity)
    check_alpha(alpha)
    check_draws(draws, seed)
    plan = _Plan(epsilon, q_fdr, min_instances, multiplicity, draws, resample, alpha, seed)
    rows, people, notes = [], [], []
    coded = read_dimensions(judgments, dimension, items=items, columns=names_of(cluster))
    for ratings in coded:
        models = models_of(ratings, model)
        panel = panel_of(ratings, models, first_sample=samples == "first", cluster=cluster)
        of_one = [*ratings.notes, *(without(ratings) if model is None else []), *repeats(panel, samples)]
        for one in scorings_of(scoring, ratings):
            compared = compare(panel, pair_score(one, ratings), min_humans)
            table, each, more = _test(panel, compared, plan)
            keys = {"dimension": ratings.dimension, "scoring": name_of(one), "epsilon": epsilon}
            rows.append(_keyed(table, keys))
            people.append(_keyed(each, keys))
            of_one += [note for note in [*more, *coarse(one, ratings)] if note not in of_one]
        notes += [ratings.note(note) if len(coded) > 1 else note for note in of_one]
    settings = {
        "epsilon": epsilon, "q_fdr": q_fdr, "min_humans": min_humans, "min_instances": min_instances,
        "multiplicity": multiplicity, "samples": samples, "cluster": cluster, "draws": draws,
        "resample": resample, "alpha": alpha, "seed": seed,
    }  # fmt: skip
    frame, annotators = pd.concat(rows, ignore_index=True), pd.concat(people, ignore_index=True)
    return AltTest(frame, "alt_test", tuple(notes), settings, {"annotators": annotators})


@dataclass(frozen=True)
class _Plan:
    epsilon: float
    q_fdr: float
    min_instances: int
    multiplicity: Multiplicity
    draws: int
    resample: Resample
    alpha: float
    seed: int


def _test(panel: Panel, made: Comparisons, plan: _Plan) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    units = units_of(panel, made)
    found = evidence(weighted_sums(units, np.ones((1, panel.n_clusters)))[0])
    kept = (found.n >= plan.min_instances) & (found.clusters > 1)
    if not kept.any():
        raise InputError(
            f"No annotator rated {plan.min_instances} items together with another annotator and a model (the "
            f"most is {found.n.max():.0f}); collect more, or lower min_instances."
        )
    tested = only(found, kept)
    said = verdict(tested, plan.epsilon, plan.q_fdr, plan.multiplicity)
    drawn = None
    if plan.draws:
        drawn = draw(units, kept, epsilon=plan.epsilon, q_fdr=plan.q_fdr, multiplicity=plan.multiplicity,
                     draws=plan.draws, resample=plan.resample, seed=plan.seed)  # fmt: skip
    counts = np.array([[len(np.unique(panel.item[used])), used.sum()] for used in made.used])
    frame = model_rows(
        panel.models, tested, kept, said, bounds(drawn, len(panel.models), plan.alpha),
        smallest_epsilon(tested, plan.q_fdr, plan.multiplicity), counts,
    )  # fmt: skip
    alike = (
        []
        if drawn is None
        else without_spread(frame["winning_rate_lower"].isna() & frame["winning_rate"].notna())
    )
    people = annotator_rows(
        panel.models, panel.people, found, kept, said, plan.epsilon, plan.min_instances, plan.alpha
    )
    notes = [*weaknesses(panel, found, kept, plan.min_instances), *unequal(frame)]
    return frame, people, notes + [f"Winning rates: {note}" for note in alike]


def _keyed(table: pd.DataFrame, keys: Mapping[str, str | float]) -> pd.DataFrame:
    for at, (name, value) in enumerate(keys.items()):
        table.insert(at, name, value)
    return table


def _check(
    epsilon: float, q_fdr: float, min_humans: int, min_instances: int, samples: str, resample: str
) -> None:
    for name, value in (("epsilon", epsilon), ("q_fdr", q_fdr)):
        if not isinstance(value, Real):
            raise InputError(f"{name} is {value!r}; give a number, such as 0.1.")
    for name, value in (("min_humans", min_humans), ("min_instances", min_instances)):
        if not isinstance(value, Integral):
            raise InputError(f"{name} is {value!r}; give a whole number.")
    if not -1 <= epsilon <= 1:
        raise InputError(f"epsilon is {epsilon!r}; give a difference of shares, such as 0.1.")
    if not 0 < q_fdr < 1:
        raise InputError(f"q_fdr is {q_fdr!r}; give a number between 0 and 1, such as 0.05.")
    if min_humans < 2:
        raise InputError(f"min_humans is {min_humans!r}; an item needs 2 people, one to compare with.")
    if min_instances < 2:
        raise InputError(f"min_instances is {min_instances!r}; a test needs 2 items at least, better 30.")
    if samples not in get_args(Samples):
        raise InputError(f"samples is {samples!r}; use each or first.")
    if resample not in get_args(Resample):
        raise InputError(f"resample is {resample!r}; use items or both.")


@dataclass(frozen=True, repr=False)
class AltTest(Result):
    """The alternative annotator test of one or several models.

    ``frame`` has one row a dimension, scoring and model; ``extra["annotators"]`` one row a dimension,
    scoring, model and annotator. For a single row its numbers are attributes as well.
    """

    @property
    def winning_rate(self) -> float:
        """Share of annotators against whom the model wins, of the one model tested."""
        return float(self._row()["winning_rate"])

    @property
    def advantage_probability(self) -> float:
        """How often the model is at least as close to the others as a person, of the one model tested."""
        return float(self._row()["advantage_probability"])

    @property
    def passes(self) -> bool:
        """Whether the one model tested wins against at least half of the annotators."""
        return bool(self._row()["passes"])

    def _row(self) -> pd.Series[Any]:
        if len(self.frame) != 1:
            raise InputError(
                f"The result has {len(self.frame)} rows ({self.frame['model'].nunique()} models); read them "
                "in its frame, or ask for one model, dimension and scoring."
            )
        return self.frame.iloc[0]


def model_rows(
    models: Sequence[str],
    found: Evidence,
    kept: Mask,
    said: Verdict,
    bounded: Bounds,
    smallest: Floats,
    counts: Floats,
) -> pd.DataFrame:
    """One row a model; ``counts`` has shape (M, 2): items and ratings of people compared."""
    n_kept = kept.sum(axis=1)
    with np.errstate(invalid="ignore"):
        advantage = np.where(kept, found.rho_model, 0.0).sum(axis=1) / np.where(n_kept > 0, n_kept, np.nan)
    return pd.DataFrame(
        {
            "model": list(models),
            "winning_rate": said.winning_rate,
            "winning_rate_lower": np.minimum(bounded.rate_lower, said.winning_rate),
            "winning_rate_upper": np.maximum(bounded.rate_upper, said.winning_rate),
            "advantage_probability": advantage,
            "advantage_probability_std_error": bounded.advantage_error,
            "advantage_probability_lower": bounded.advantage_lower,
            "advantage_probability_upper": bounded.advantage_upper,
            "passes": pd.array(
                [bool(rate >= PASSING) if np.isfinite(rate) else pd.NA for rate in said.winning_rate],
                dtype="boolean",
            ),
            "pass_share": bounded.pass_share,
            "smallest_epsilon": smallest,
            "n_annotators": n_kept,
            "n_left_out": (~kept).sum(axis=1),
            "n_items": counts[:, 0].astype(np.int64),
            "n_ratings": counts[:, 1].astype(np.int64),
        }
    )


def annotator_rows(
    models: Sequence[str],
    people: Sequence[str],
    found: Evidence,
    kept: Mask,
    said: Verdict,
    epsilon: float,
    min_instances: int,
    alpha: float,
) -> pd.DataFrame:
    """One row a model and annotator, those left out with the reason."""
    shape = found.n.shape
    tests = inference(found.difference.ravel(), found.std_error.ravel(), alpha, epsilon,
                      np.maximum(found.clusters.ravel() - 1, 1))  # fmt: skip
    shown = kept.ravel()
    wins = pd.array(said.wins.ravel(), dtype="boolean")
    wins[~shown] = pd.NA
    return pd.DataFrame(
        {
            "model": np.repeat(np.array(models, dtype=object), shape[1]),
            "annotator": np.tile(np.array(people, dtype=object), shape[0]),
            "rho_model": found.rho_model.ravel(),
            "rho_human": found.rho_human.ravel(),
            "difference": found.difference.ravel(),
            "std_error": found.std_error.ravel(),
            "lower": tests.lower,
            "upper": tests.upper,
            "statistic": tests.z,
            "df": np.where(shown, found.clusters.ravel() - 1, np.nan),
            "p": said.p.ravel(),
            "p_adjusted": said.p_adjusted.ravel(),
            "wins": wins,
            "n_items": found.n.ravel().astype(np.int64),
            "n_clusters": found.clusters.ravel().astype(np.int64),
            "left_out": pd.array(
                [_why(n, min_instances) if not ok else pd.NA for n, ok in zip(found.n.ravel(), shown,
                                                                              strict=True)],
                dtype="string",
            ),
        }
    )  # fmt: skip


def _why(n: float, min_instances: int) -> str:
    if not n:
        return "no item shared with the model and another annotator"
    if n >= min_instances:
        return "one cluster of items only"
    return f"{n:.0f} items, fewer than {min_instances}"
