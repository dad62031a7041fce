"""Average marginal component effects (AMCEs)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from conjury.inference.tables.frames import any_frame

from ...correction.correction_methods import Correct, EffectOptions
from ...frames.variables import Formula
from ..estimates import Estimates
from ..estimation import estimate, estimate_as
from ..request import Family, LevelOrder, Vcov, make_request
from ..rows import Data


@any_frame
def amce(
    data: Data,
    formula: str | Formula,
    id: str | Sequence[str] | None = None,
    *,
    weights: str | None = None,
    strata: str | None = None,
    engine: str = "native",
    family: Family = "gaussian",
    vcov: Vcov = "survey",
    alpha: float = 0.05,
    reference: Mapping[str, Any] | None = None,
    feature_order: Sequence[str] | None = None,
    feature_labels: Mapping[str, str] | None = None,
    level_order: LevelOrder = "ascending",
    correct: Correct | None = None,
    **options: Unpack[EffectOptions],
) -> Estimates:
    """Estimate average marginal component effects.

    The AMCE of a level is the change in the outcome, averaged over the distribution
    of all other attributes, when an attribute moves from its reference level to that
    level. It is estimated by (weighted) least squares on dummies of all features.

    Parameters
    ----------
    data : DataFrame, path or Ibis table
        One row per profile, or a file in any format that `conjury.read` reads, with the levels that
        `conjoint` gives it; of a Parquet file only the columns that are needed are read. A table of Ibis,
        and a folder, glob or address of Parquet files, stay where they are, and queries are sent there; the
        numbers are the same. Rows of
        repeated pairs (column ``repeat``) are excluded with a warning, see `include_repeats`, unless
        the call names that column.
    formula : str
        ``outcome ~ a + b * c``. ``*`` says that two features restrict each other
        (some combinations never occur); their AMCEs average, with equal weight, over
        the partner levels that occur both with the level and with the reference.
    id : str or sequence of str, optional
        Cluster column, or several that cross, such as ``["pair_id", "text", "user"]``.
        Without it rows are taken as independent.
    weights : str, optional
        Column of probability weights.
    strata : str, optional
        Column of strata from which the clusters were sampled, each on its own, as in R's
        ``svydesign(strata = )``: clusters vary around the mean of their stratum, with a factor n/(n-1) for
        its n clusters. Clusters lie within strata, and each stratum has two or more. For
        vcov="survey" with one cluster column, by the engines native and survey.
    engine : {"native", "survey", "cregg", "statsmodels", "linearmodels", "bayes"}
        "bayes" samples the posterior of a hierarchical logit of forced choices in pairs (column
        ``pair_id``), as `conjury.analysis.conjoint.choice_model` does; ``id`` names the
        raters whose part-worths differ, or the pairs where one judge made all choices. Estimates are
        posterior means, errors posterior standard deviations, intervals equal-tailed; there are no z
        and p.
    family : {"gaussian", "quasibinomial"}
        "quasibinomial" gives differences on the logit scale.
    vcov : str
        "survey" is cregg's convention: factor G/(G-1), normal distribution. The others use
        Student's t. With clusters: "CR0" (no factor), "CR1" (G/(G-1)), "CR1S" (Stata's factor
        G(n-1)/((G-1)(n-k))), each with G-1 degrees of freedom, and "CR2" (bias-reduced, with
        Satterthwaite degrees of freedom: for few clusters), and "CV3" (the jackknife over clusters:
        coefficients without each of them, around those of all, with G-1 degrees of freedom). Without:
        "HC0" to "HC3". Crossed
        clusters add up as Cameron, Gelbach and Miller (2011) have it, with the least of the
        columns' Satterthwaite degrees of freedom; where the sum is not positive semi-definite,
        its negative eigenvalues become zero, with a warning.
    alpha : float
        One minus the confidence level.
    reference : mapping, optional
        Reference level of a feature, in place of its first one.
    feature_order, feature_labels, level_order
        Order of features in the table, their labels, and "descending" to list levels backwards.
    correct : PredictThenDebias, DesignBased, CovariateAdjustment or SwappingErrors, optional
        A method of `conjury.analysis.correction`. The first three estimate the effects among the people in
        the data with the help of models that judged the same tasks; "ppi", "dsl" and "covariate" are these
        methods with ``options``. The last corrects for answers that depart from the judge's stable choice;
        its ``tau`` may be given alone: a number, "reliability", "by_level" or a result of `reliability`.
        ``["ppi", "reliability"]`` is ``PredictThenDebias(reliability=True)``.
    **options
        Of a method that is named by a string: ``human, model, tuning, folds, seed, calibration``. With
        engine="bayes" of sampling, as in `conjury.analysis.conjoint.choice_model`: ``draws, tune, chains,
        seed, sampler, progress, priors, correlated, target_accept``.

    Returns
    -------
    Estimates
        Statistic "amce"; a row for every level, reference levels with estimate 0. Where a
        level is seen in few clusters, or one cluster has most of its rows, a `FewClusters` warning
        says what to do.

    Raises
    ------
    InputError
        For input that no estimate can be made from.

    References
    ----------
    Hainmueller, J., Hopkins, D. J., Yamamoto, T. (2014). Causal inference in conjoint
    analysis. Political Analysis 22(1), 1-30. doi:10.1093/pan/mpt024

    Cameron, A. C., Gelbach, J. B., Miller, D. L. (2011). Robust inference with multiway
    clustering. Journal of Business & Economic Statistics 29(2). doi:10.1198/jbes.2010.07136

    MacKinnon, J. G., Nielsen, M. O., Webb, M. D. (2023). Fast and reliable jackknife and bootstrap methods
    for cluster-robust inference. Journal of Applied Econometrics 38(5), 671-694. doi:10.1002/jae.2969

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"chosen": [1, 0, 1, 0, 0, 1], "pair": [1, 1, 2, 2, 3, 3],
    ...                      "tone": ["rude", "kind", "rude", "kind", "rude", "kind"]})
    >>> amce(data, "chosen ~ tone", id="pair").frame["estimate"].round(3).tolist()
    [0.0, 0.333]
    """
    request = make_request(
        "amce",
        formula,
        id=id,
        weights=weights,
        strata=strata,
        engine=engine,
        family=family,
        vcov=vcov,
        alpha=alpha,
        reference=reference,
        feature_order=feature_order,
        feature_labels=feature_labels,
        level_order=level_order,
    )
    return estimate_as(request, data, correct, options)


@any_frame
def amce_by_reference(
    data: Data,
    formula: str | Formula,
    variable: str,
    id: str | Sequence[str] | None = None,
    **options: Any,
) -> Estimates:
    """Estimate AMCEs with each level of one feature as its reference in turn.

    Parameters
    ----------
    data, formula
        As in `amce`.
    variable : str
        The feature whose levels take turns as reference.
    id
        As in `amce`.
    **options
        As in `amce`.

    Returns
    -------
    Estimates
        The whole table of `amce` for each reference, with a first column ``reference``.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0], "tone": ["a", "b", "c", "a"]})
    >>> amce_by_reference(data, "y ~ tone", "tone").frame["reference"].nunique()
    3
    """
    return estimate(make_request("amce_by_reference", formula, id=id, variable=variable, **options), data)
