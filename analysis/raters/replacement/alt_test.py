"""The alternative annotator test: whether a model may replace a person of the panel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...frames.passport import coverage_notes, situation_of_ratings
from ...frames.vocabulary import PASSING
from ...numerics.bootstrap import notes_on_equal_draws
from ...numerics.intervals import inference
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments, Ratings
from ..reading import read_dimensions
from .annotator_panel import (
    AnnotatorPanel,
    Comparisons,
    Mask,
    Scoring,
    compare,
    models_of,
    name_of,
    pair_score,
    panel_of,
    scorings_of,
    units_of,
    weighted_sums,
)
from .decide import (
    FEW_INSTANCES,
    Evidence,
    Multiplicity,
    PercentileLimits,
    ReplacementPlan,
    ReplacementVerdict,
    Resample,
    Samples,
    bounds,
    draw,
    evidence,
    mask_annotators,
    notes_on_exact_matches,
    notes_on_missing_models,
    notes_on_repeats,
    notes_on_scoring,
    notes_on_unequal_items,
    notes_on_weak_tests,
    smallest_epsilon,
    verdict,
    with_curve,
)

if TYPE_CHECKING:
    from ..rated_study import RatedStudy


@any_frame
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

    Each annotator is excluded in turn. On every item that they rated, they and the model are scored by how
    close they come to the other annotators of the item; in a tie both win. A one-sided t test asks whether
    the person's advantage over the model is smaller than ``epsilon``; p values of the annotators are
    adjusted together. The model passes where it wins against at least half of the annotators.

    Parameters
    ----------
    judgments : DataFrame or path
        ``judge_id, judge_kind, item_id, value``, as `read_dimensions` takes it.
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
        Annotators with fewer items are excluded of the tests (as others' reference they stay).
    multiplicity : {"by", "bh", "holm", "none"}
        Adjustment for several annotators; the authors' is Benjamini-Yekutieli.
    samples : {"each", "first"}
        Several samples of a model for an item: compare each and average the comparisons, which estimates
        how one call of the model fares with less noise; or use the first alone. Of a person who rated an
        item several times the first rating counts.
    items : DataFrame, optional
        Table of items with the column ``cluster``, where the judgments do not carry it.
    cluster : str, optional
        Column that states which items belong together, such as questions on one text: tests and intervals
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
    the study, which can lie outside since draws hold fewer distinct items, is missing where it would have no
    width, and is no test of passing. In simulations with 3 to 12 annotators of unequal skill and 50 to 200
    items, intervals of 95% with items drawn held the expected advantage probability in 92 to 95%, the
    expected winning rate in 93 to 95%.

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
    plan = ReplacementPlan(
        epsilon,
        q_fdr,
        min_humans,
        min_instances,
        multiplicity,
        samples,
        cluster,
        draws,
        resample,
        alpha,
        seed,
    )
    rows, people, notes = [], [], []
    coded = read_dimensions(judgments, dimension, items=items, columns=names_of(cluster))
    for ratings in coded:
        models = models_of(ratings, model)
        panel = panel_of(ratings, models, first_sample=samples == "first", cluster=cluster)
        dimension_notes = [
            *ratings.notes,
            *(notes_on_missing_models(ratings) if model is None else []),
            *notes_on_repeats(panel, samples),
            *notes_on_scoring(scoring, ratings),
        ]
        for rule in scorings_of(scoring, ratings):
            compared = compare(panel, pair_score(rule, ratings), min_humans)
            table, each, more = _test(panel, compared, plan)
            keys: dict[str, str | float] = {
                "dimension": ratings.dimension,
                "scoring": name_of(rule),
                "epsilon": epsilon,
            }
            rows.append(_with_keys(table, keys))
            people.append(_with_keys(each, keys))
            more += _coverage(ratings, panel, compared, plan)
            dimension_notes += [
                note
                for note in [*more, *notes_on_exact_matches(rule, ratings)]
                if note not in dimension_notes
            ]
        notes += [ratings.note(note) if len(coded) > 1 else note for note in dimension_notes]
    frame, annotators = pd.concat(rows, ignore_index=True), pd.concat(people, ignore_index=True)
    return AltTest(frame, "alt_test", tuple(notes), {**vars(plan)}, {"annotators": annotators})


def _test(
    panel: AnnotatorPanel, compared: Comparisons, plan: ReplacementPlan
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Tables of models and of annotators, and notes, of one scoring."""
    units = units_of(panel, compared)
    estimates = evidence(weighted_sums(units, np.ones((1, panel.n_clusters)))[0])
    mask = (estimates.n >= plan.min_instances) & (estimates.clusters > 1)
    if not mask.any():
        raise InputError(
            f"No annotator rated {plan.min_instances} items together with another annotator and a model (the "
            f"most is {estimates.n.max():.0f}); collect more, or lower min_instances."
        )
    tested = mask_annotators(estimates, mask)
    tests = verdict(tested, plan.epsilon, plan.q_fdr, plan.multiplicity)
    draws = (
        draw(units, mask, plan.epsilon, plan.q_fdr, plan.multiplicity, plan.draws, plan.resample, plan.seed)
        if plan.draws
        else None
    )
    limits = bounds(draws, len(panel.models), plan.alpha)
    frame = model_rows(panel, compared, tested, mask, tests, limits, plan)
    notes = [*notes_on_weak_tests(panel, estimates, mask, plan.min_instances), *notes_on_unequal_items(frame)]
    if draws is not None:
        alike = frame["winning_rate_lower"].isna() & frame["winning_rate"].notna()
        notes += [f"Winning rates: {note}" for note in notes_on_equal_draws(alike)]
    return frame, annotator_rows(panel, estimates, mask, tests, plan), notes


def _coverage(
    ratings: Ratings, panel: AnnotatorPanel, compared: Comparisons, plan: ReplacementPlan
) -> list[str]:
    """State which intervals were measured to cover too rarely with ratings like these."""
    if not plan.draws or not ratings.numeric:
        return []
    is_used = np.logical_or.reduce(list(compared.used))
    values = np.array(ratings.categories, dtype=float)[panel.value[is_used]]
    situation = situation_of_ratings(values, panel.cluster[np.unique(panel.item[is_used])])
    quantities = [(name, name, situation) for name in ("winning_rate", "advantage_probability")]
    return coverage_notes("replacement test", quantities, plan.alpha)


def _with_keys(table: pd.DataFrame, keys: Mapping[str, str | float]) -> pd.DataFrame:
    for at, (name, value) in enumerate(keys.items()):
        table.insert(at, name, value)
    return table


@dataclass(frozen=True, repr=False)
class AltTest(Result):
    """The alternative annotator test of one or several models.

    Parameters
    ----------
    frame : DataFrame
        One row per dimension, scoring and model, as `alt_test` returns it. If there is a single row, its
        numbers are attributes as well.
    kind, notes, settings
        As in `conjury.analysis.results.Result`.
    extra : mapping of str to DataFrame
        ``annotators``: one row per dimension, scoring, model and annotator.
    real_judges
        As in `conjury.analysis.results.Result`.

    Examples
    --------
    >>> from conjury.analysis.raters import alt_test
    >>> judges = {"ann": "human", "bob": "human", "cy": "human", "gpt": "model"}
    >>> table = pd.DataFrame([(name, kind, item, "ab"[item % 2]) for name, kind in judges.items()
    ...     for item in range(40)], columns=["judge_id", "judge_kind", "item_id", "value"])
    >>> found = alt_test(table, "gpt")
    >>> found.passes, found.extra["annotators"]["annotator"].tolist()
    (True, ['ann', 'bob', 'cy'])
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
    panel: AnnotatorPanel,
    compared: Comparisons,
    estimates: Evidence,
    mask: Mask,
    tests: ReplacementVerdict,
    limits: PercentileLimits,
    plan: ReplacementPlan,
) -> pd.DataFrame:
    """One row per model."""
    n_kept = mask.sum(axis=1)
    with np.errstate(invalid="ignore"):
        advantage = np.where(mask, estimates.rho_model, 0.0).sum(axis=1) / np.where(
            n_kept > 0, n_kept, np.nan
        )
    return pd.DataFrame(
        {
            "model": list(panel.models),
            "winning_rate": tests.winning_rate,
            "winning_rate_lower": np.minimum(limits.rate_lower, tests.winning_rate),
            "winning_rate_upper": np.maximum(limits.rate_upper, tests.winning_rate),
            "advantage_probability": advantage,
            "advantage_probability_std_error": limits.advantage_error,
            "advantage_probability_lower": limits.advantage_lower,
            "advantage_probability_upper": limits.advantage_upper,
            "passes": pd.array(
                [bool(rate >= PASSING) if np.isfinite(rate) else pd.NA for rate in tests.winning_rate],
                dtype="boolean",
            ),
            "pass_share": limits.pass_share,
            "smallest_epsilon": smallest_epsilon(estimates, plan.q_fdr, plan.multiplicity),
            "n_annotators": n_kept,
            "n_left_out": (~mask).sum(axis=1),
            "n_items": [len(np.unique(panel.item[is_used])) for is_used in compared.used],
            "n_ratings": compared.used.sum(axis=1),
        }
    )


def annotator_rows(
    panel: AnnotatorPanel, estimates: Evidence, mask: Mask, tests: ReplacementVerdict, plan: ReplacementPlan
) -> pd.DataFrame:
    """One row per model and annotator, those excluded with the reason."""
    each = {
        name: getattr(estimates, name).ravel()
        for name in ("rho_model", "rho_human", "difference", "std_error")
    }
    n, clusters, is_tested = estimates.n.ravel(), estimates.clusters.ravel(), mask.ravel()
    df = np.maximum(clusters - 1, 1)
    against = inference(each["difference"], each["std_error"], plan.alpha, plan.epsilon, df)
    wins = pd.array(tests.wins.ravel(), dtype="boolean")
    wins[~is_tested] = pd.NA
    reasons = [
        pd.NA if ok else _reason_for_exclusion(k, plan.min_instances)
        for k, ok in zip(n, is_tested, strict=True)
    ]
    return pd.DataFrame(
        {
            "model": np.repeat(np.array(panel.models, dtype=object), len(panel.people)),
            "annotator": np.tile(np.array(panel.people, dtype=object), len(panel.models)),
            **each,
            "lower": against.lower,
            "upper": against.upper,
            "statistic": against.z,
            "df": np.where(is_tested, clusters - 1, np.nan),
            "p": tests.p.ravel(),
            "p_adjusted": tests.p_adjusted.ravel(),
            "wins": wins,
            "n_items": n.astype(np.int64),
            "n_clusters": clusters.astype(np.int64),
            "left_out": pd.array(reasons, dtype="string"),
        }
    )


def _reason_for_exclusion(n: float, min_instances: int) -> str:
    if not n:
        return "no item shared with the model and another annotator"
    if n >= min_instances:
        return "one cluster of items only"
    return f"{n:.0f} items, fewer than {min_instances}"


@analysis("raters", order=100, when=lambda rated: rated.has_both_kinds)
def _steps(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    settings = {"epsilon": rated.epsilon, "items": rated.items, "cluster": rated.study.cluster, **options}
    title = "May a model replace a person of the panel?"
    yield AnalysisStep("alt_test", title, lambda: with_curve(alt_test(rated.coded, **settings)))
