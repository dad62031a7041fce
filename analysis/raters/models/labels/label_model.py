"""The label model: Dawid and Skene's confusion matrices, hierarchical, with true classes summed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ....numerics.intervals import check_alpha
from ....numerics.types import Codes, Floats
from ..model_checks import diagnostics, sampler_state, sentence_on_fit, verdict
from ..model_fit import ModelFit, Prior, Priors, override_priors, with_predictive
from ..posterior_sampling import TARGET_ACCEPT, Progress, library, sample
from .label_tables import (
    REPLICATIONS,
    check_labels,
    confusion_tables,
    item_table,
    label_draws,
    new_people,
    notes_on_classes,
    notes_on_nonfollowers,
    replacement_table,
    shared_errors,
    subsample_posterior,
    summary,
)
from .panel_labels import ATTENTIVE, PEOPLE_SD, PanelLabels, by_attention, confusion_of, read_labels

CONDITIONAL = (
    "The true class is inferred from all judges under the assumption of independent errors: judges with "
    "shared errors, such as models, bias it towards their labels (see the check of agreement)."
)
AT_FIRST = 0.97  # attention at which chains begin, since all would label at random near 0
SAMPLED = ["prevalence", "wrong", "spread", "careless", "attention", "person"]


@any_frame
def label_model(
    judgments: pd.DataFrame,
    *,
    dimension: str | None = None,
    labels: Sequence[object] | None = None,
    min_count: int | None = None,
    priors: Mapping[str, Any] | None = None,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 2,
    seed: int = 0,
    sampler: str = "nutpie",
    progress: Progress = False,
    alpha: float = 0.05,
    target_accept: float = TARGET_ACCEPT,
) -> ModelFit:
    """Estimate true classes, and how people and models confuse them, from labels alone.

    Every item has one true class, drawn by prevalence. A judge who sees an item of class k gives label l
    with the probability in row k of the judge's confusion matrix. People's matrices are drawn around the
    mean of their panel, normally on the scale of logits of each wrong label against the right one; a model
    has a matrix of its own, with the prior of a panel's mean. True classes are summed out.

    Each person has an attention between 0 and 1. With an attention of 1 the logits are about those of the
    panel; with an attention of 0 they vary widely about zero, as of a person who guesses or always gives the
    same label. Nearly all people have an attention close to 1, except for a small share of careless people,
    for whom all values are equally probable. One who labels at random is therefore not estimated to be like
    the panel, nor does such a person widen the differences between the others; a note names people who do
    not follow their panel.

    Parameters
    ----------
    judgments : DataFrame
        One row a label: ``judge_id, judge_kind, item_id, value``; see `ratings.read_ratings`. Several
        samples of a model on one item (column ``sample``) are independent answers, given the class.
    dimension : str, optional
        Which dimension of the judgments.
    labels : sequence, optional
        All labels in the order of the tables; by default those that occur, in alphabetical order.
    min_count : int, optional
        Judgments with a label that occurs less often, and in less than 0.5% of all judgments, are set aside
        with a note, since chains do not agree on the shares and confusions of a class so rare; 10 by default,
        and 0 where ``labels`` are named.
    priors : mapping, optional
        In place of the defaults: ``prevalence`` (dirichlet), ``wrong`` (normal: logit of one wrong label
        against the right one, for the mean of a panel and for a model), ``people`` (half-normal: SD of
        these logits between the people of a panel) and ``careless`` (beta: share of careless people).
    draws, tune, chains, seed, sampler, progress
        As in `sampling.sample`.
    alpha : float
        One minus the mass of the intervals.
    target_accept : float
        Acceptance rate to adapt the sampler's steps to: raise it to 0.95 or 0.99 where draws diverge.

    Returns
    -------
    ModelFit
        ``frame`` has a row for the prevalence of each label, the accuracy of each judge and of a fresh
        person of each panel (probability of the right label for a random item), and the agreement of a
        new person with another and with each model: ``quantity, group, judge, label, estimate,
        std_error, lower, upper, rhat, ess_bulk, ess_tail, n_items, n_ratings``. ``extra`` contains

        - ``confusion``: of a new person (the mean over people) and each model, ``group, truth, label``;
        - ``raters``: the same of each judge;
        - ``items``: ``item_id, label, probability`` of each class, ``most_probable``, ``n_ratings``;
        - ``replacement``: each model's accuracy less that of a new person, and the probability that the
          model is the better annotator;
        - ``check`` and ``agreement``: what the fitted model makes beside what was seen;
        - ``prior_check`` and ``prior_agreement``: the same of what its priors alone make.

    Raises
    ------
    InputError
        For one judge, one label, numbers with many values, or labels that are not among ``labels``.
    MissingDependency
        Without the extra ``bayes``.

    Notes
    -----
    The likelihood does not change when classes trade their names. The prior keeps them apart: its mean has
    every judge right three times out of four. Where a chain names the classes otherwise nonetheless, or a
    class is mostly called by another's name, a note states so.

    References
    ----------
    Dawid, A. P. and Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM
    algorithm. Applied Statistics 28(1), 20-28. doi:10.2307/2346806

    Paun, S., Carpenter, B., Chamberlain, J., Hovy, D., Kruschwitz, U. and Poesio, M. (2018). Comparing
    Bayesian models of annotation. Transactions of the ACL 6, 571-585. doi:10.1162/tacl_a_00040

    Examples
    --------
    >>> judges = {"ann": "human", "bob": "human", "cy": "human", "gpt": "model"}
    >>> rows = [(name, kind, item, "funny" if item % 2 else "dull")
    ...         for name, kind in judges.items() for item in range(20)]
    >>> table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    >>> fit = label_model(table, draws=20, tune=20, seed=1)
    >>> fit.extra["replacement"][["model", "group"]].values.tolist()
    [['gpt', 'human']]
    """
    check_alpha(alpha)
    data = read_labels(judgments, dimension, labels, min_count)
    assumed = assumed_priors(len(data.labels), priors)
    tree = sample(
        build(data, assumed),
        draws=draws,
        tune=tune,
        chains=chains,
        seed=seed,
        sampler=sampler,
        progress=progress,
        target_accept=target_accept,
        what="Label model",
        keep=SAMPLED if data.n_panels else SAMPLED[:2],
    )
    posterior = label_draws(data, tree["posterior"], seed)
    frame = summary(data, posterior, alpha)
    rng, alone = np.random.default_rng([seed, 2]), np.random.default_rng([seed, 3])
    fitted = check_labels(data, *subsample_posterior(posterior, rng), rng, alpha)
    prior = check_labels(data, *draw_parameters(data, assumed, alone, REPLICATIONS), alone, alpha)
    state = sampler_state(tree)
    notes = (
        *data.notes,
        *notes_on_classes(data, posterior),
        *notes_on_nonfollowers(data, posterior, alpha),
        CONDITIONAL,
        *shared_errors(fitted.agreement),
        sentence_on_fit(fitted.shares, "shares of labels", alpha),
    )
    settings = {
        "model": "label_model",
        "dimension": dimension,
        "labels": list(data.labels),
        "min_count": min_count,
        "draws": draws,
        "tune": tune,
        "chains": chains,
        "seed": seed,
        "sampler": state.sampler,
        "alpha": alpha,
        "target_accept": target_accept,
        "seconds": state.seconds,
        "priors": {name: prior.in_words() for name, prior in assumed.items()},
    }
    extra = {
        **confusion_tables(data, posterior, alpha),
        "items": item_table(data, posterior),
        "replacement": replacement_table(data, posterior, alpha),
        "check": fitted.shares,
        "agreement": fitted.agreement,
        "prior_check": prior.shares,
        "prior_agreement": prior.agreement,
    }
    names = ("quantity", "group", "judge", "label")
    return ModelFit(
        frame,
        "label_model",
        notes,
        settings,
        {name: table for name, table in extra.items() if len(table)},
        data=_with_predictive(tree, data, fitted.made, prior.made),
        diagnostics=diagnostics(tree),
        verdict=verdict(frame, state, name=names),
        priors=assumed,
    )


def _with_predictive(tree: Any, data: PanelLabels, fitted: Codes, prior: Codes) -> Any:
    """Add labels, as positions among ``labels``, that were given, that the model and its priors make."""
    ratings = data.ratings
    coords = {
        "judge_of_judgment": ("judgment", np.array(ratings.judges)[ratings.judge]),
        "item_of_judgment": ("judgment", np.array(ratings.items)[ratings.item]),
    }
    observed, replications, prior_replications = (
        codes.astype(np.int8) for codes in (data.label, fitted, prior)
    )
    named = {"labels": list(data.labels)}
    return with_predictive(tree, observed, replications, prior_replications, ("judgment",), coords, named)


def default_priors(n_labels: int) -> dict[str, Prior]:
    """Priors that have judges right three times out of four, give or take a lot."""
    wrong = float(np.log(0.25 / 0.75 / (n_labels - 1)))
    return {
        "prevalence": Prior("dirichlet", (1.0,), "shares of the true classes"),
        "wrong": Prior(
            "normal",
            (wrong, 1.0),
            "logit of a wrong label relative to the correct one, for a panel's mean and each model",
        ),
        "people": Prior("log_normal", (PEOPLE_SD, 0.6), "SD of these logits between the people of a panel"),
        "careless": Prior("beta", (1.0, 9.0), "share of people who may label with little attention"),
    }


def assumed_priors(n_labels: int, changes: Mapping[str, Any] | None) -> dict[str, Prior]:
    """The priors that a fit uses; InputError where the prevalence has no Dirichlet prior."""
    priors = override_priors(default_priors(n_labels), changes)
    if priors["prevalence"].family != "dirichlet":
        raise InputError("Prior 'prevalence' of label_model must be dirichlet; change its number.")
    return priors


def draw_parameters(
    data: PanelLabels, priors: Priors, rng: np.random.Generator, size: int
) -> tuple[Floats, Floats]:
    """Draw prevalence and everyone's confusion matrix from the priors."""
    n_labels = len(data.labels)
    n_wrong = n_labels * (n_labels - 1)
    prevalence = priors["prevalence"].draws(rng, (size, n_labels))
    unit = priors["wrong"].draws(rng, (size, len(data.units), n_wrong))
    rows = unit[:, data.unit]
    if data.n_panels:
        panel = data.unit[data.person]
        spread = priors["people"].draws(rng, (size, data.n_panels))
        careless = priors["careless"].draws(rng, (size, data.n_panels))
        rows[:, data.person] = new_people(unit[:, panel], spread[:, panel], careless[:, panel], rng)
    return prevalence, confusion_of(rows, n_labels)


def build(data: PanelLabels, priors: Priors) -> Any:
    """The PyMC model; people's logits are partly centred, each by how much is known of the person."""
    pm, pt = library("pymc"), library("pytensor.tensor")
    from ..operation import LogLikelihood
    from .label_kernel import log_likelihood

    size = len(data.labels)
    wrong = [f"{label} for {truth}" for truth in data.labels for label in data.labels if label != truth]
    judges = data.ratings.judges
    coords = {
        "label": data.labels,
        "unit": data.units,
        "panel": data.units[: data.n_panels],
        "who": [judges[place] for place in data.person],
        "wrong_label": wrong,
    }
    with pm.Model(coords=coords) as model:
        (concentration,) = priors["prevalence"].values
        prevalence = pm.Dirichlet("prevalence", np.full(size, concentration), dims="label")
        logits = priors["wrong"].variable("wrong", dims=("unit", "wrong_label"))
        row = data.unit.copy()
        if data.n_panels:
            spread = priors["people"].variable("spread", dims="panel")
            careless = priors["careless"].variable("careless", dims="panel")
            panel, centring_weight = data.unit[data.person], data.centring[:, None]
            share = careless[panel]
            attention = pm.Mixture(
                "attention",
                w=pt.stack([share, 1 - share], axis=-1),
                comp_dists=[pm.Beta.dist(1.0, 1.0), pm.Beta.dist(ATTENTIVE, 1.0)],
                dims="who",
                initval=np.full(len(data.person), AT_FIRST),
            )
            mean, sd = by_attention(logits[panel], spread[panel][:, None], attention[:, None])
            person = pm.Normal(
                "person", centring_weight * mean, sd**centring_weight, dims=("who", "wrong_label")
            )
            person_logits = mean + sd ** (1 - centring_weight) * (person - centring_weight * mean)
            row[data.person] = len(data.units) + np.arange(len(data.person))
            logits = pt.concatenate([logits, person_logits])
        patterns = data.patterns
        value, *_ = LogLikelihood(log_likelihood, 2)(
            pt.log(prevalence), logits, row, patterns.answer, patterns.count
        )
        pm.Potential("answers", value)
    return model
