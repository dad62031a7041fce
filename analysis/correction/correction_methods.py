"""Methods by which estimates are corrected, one record each, and what ``correct`` of a verb means."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypedDict

from conjury.inference.errors import InputError, UnknownOption, did_you_mean, listed

from ..results import Result
from .debias import FOLDS, Tuning

Names = str | Sequence[str]
PPI, DSL, COVARIATE, RELIABILITY = "ppi", "dsl", "covariate", "reliability"
WITH_RELIABILITY = [PPI, RELIABILITY]


@dataclass(frozen=True)
class PredictThenDebias:
    """Correct people's estimates by models' answers to their tasks and to others (``correct="ppi"``).

    The estimate from people's answers is moved by what the models' answers say about the difference between
    people's tasks, items or units and others, with a weight that is near 0 where a model does not answer as
    people do (predict-then-debias). It estimates what people alone estimate, whatever the models answer, if
    what people answered is a random sample. The probabilities of an unequal sample are in a column
    ``sampling_probability``. A model's answers under several prompts or in several samples count with their
    mean.

    Parameters
    ----------
    human, model : str or sequence of str
        Values of ``judge_id``, ``panel`` or ``judge_kind``; by default all people and all models. For
        `conjury.analysis.benchmark.scores`, ``model`` is the same judgments scored against the labels of a
        model, or a mapping of several by name, and ``human`` is not used.
    tuning : {"coefficient", "scalar", "matrix", "none"}
        Whether the weight of the models is chosen for each estimate (default), for all together, as a matrix
        over all estimates, or is 1.
    folds : int
        Folds of the clusters of people's answers: the weights that a fold is given come from the others. With
        1 they come from all, and intervals are too short where clusters are few.
    seed : int
        Assigns clusters to folds.
    reliability : bool
        Whether effects of conjoints are also corrected for the swapping errors of the people, from their
        repeated tasks (``correct=["ppi", "reliability"]``).
    calibration : bool
        Whether each model counts twice, with a weight each: by its answers, and by a monotone map of them to
        people's (isotonic regression), cross-fitted on the folds by which the weights are chosen. Intervals
        are shorter where a model's scale is bent, as of ratings or of shares of its samples; each weight
        costs a degree of freedom. Not of labels and their scores.

    References
    ----------
    Kluger, D. M., Lu, K., Zrnic, T., Wang, S., Bates, S. (2025). Prediction-powered inference with imputed
    covariates and nonuniform sampling. doi:10.48550/arXiv.2501.18577

    Angelopoulos, A. N., Duchi, J. C., Zrnic, T. (2023). PPI++: Efficient prediction-powered inference.
    doi:10.48550/arXiv.2311.01453

    Examples
    --------
    >>> PredictThenDebias(model=["gpt", "claude"], folds=10).name
    'ppi'
    """

    human: Names = "human"
    model: Any = "model"
    tuning: Tuning = "coefficient"
    folds: int = FOLDS
    seed: int = 1
    reliability: bool = False
    calibration: bool = False

    @property
    def name(self) -> str | list[str]:
        """What settings call it."""
        return WITH_RELIABILITY if self.reliability else PPI


@dataclass(frozen=True)
class DesignBased:
    """Outcomes of all the models' tasks from people's sampled ones (``correct="dsl"``).

    People's tasks were sampled with known probabilities (column ``sampling_probability``; without it they are
    a simple random sample). Each task has the answer that the models predict, plus, where people answered it,
    the prediction's error over the probability (design-based supervised learning). For linear regressions on
    choices.

    Parameters
    ----------
    human, model, folds, seed
        As in `PredictThenDebias`; predictions for a fold come from the others.

    References
    ----------
    Egami, N., Hinck, M., Stewart, B. M., Wei, H. (2023). Using imperfect surrogates for downstream inference.
    NeurIPS 36. doi:10.48550/arXiv.2306.04746

    Examples
    --------
    >>> DesignBased(model="gpt").name
    'dsl'
    """

    name: ClassVar[str] = DSL
    human: Names = "human"
    model: Names = "model"
    folds: int = FOLDS
    seed: int = 1


@dataclass(frozen=True)
class CovariateAdjustment:
    """Models' answers as covariates of people's, from people's tasks alone (``correct="covariate"``).

    What a model's answers predict from the other profile of a pair is a covariate, centred, with a slope for
    each level; with fewer than 20 rows for each column of the regression the slope is common. For linear
    regressions on choices.

    Parameters
    ----------
    human, model : str or sequence of str
        As in `PredictThenDebias`.

    References
    ----------
    Lin, W. (2013). Agnostic notes on regression adjustments to experimental data: Reexamining Freedman's
    critique. Annals of Applied Statistics 7(1), 295-318. doi:10.1214/12-AOAS583

    Examples
    --------
    >>> CovariateAdjustment().model
    'model'
    """

    name: ClassVar[str] = COVARIATE
    human: Names = "human"
    model: Names = "model"


@dataclass(frozen=True)
class SwappingErrors:
    """Correct for answers that depart from a judge's stable choice with probability tau.

    Effects are divided by ``1 - 2 tau``. Estimates come from first answers. In place of the record, a verb
    takes its ``tau`` alone, as in ``correct=0.1`` and ``correct="reliability"``.

    Parameters
    ----------
    tau : float, str or Reliability
        "reliability" estimates tau from the table's repeated tasks, "by_level" from those whose profiles
        differ in the levels compared (where there are 100 of them), "by_group" for each group that is
        compared, as groups of judges need it. A result of `conjury.analysis.conjoint.reliability` has the
        repeats of another table. A number is a tau without standard error.

    References
    ----------
    Clayton, K., Horiuchi, Y., Kaufman, A. R., King, G., Komisarchik, M. (2025). Correcting measurement error
    bias in conjoint survey experiments. American Journal of Political Science.
    https://gking.harvard.edu/conjointE

    Examples
    --------
    >>> SwappingErrors(tau=0.1)
    SwappingErrors(tau=0.1)
    """

    tau: float | str | Result = RELIABILITY


ByModels = PredictThenDebias | DesignBased | CovariateAdjustment
Correction = ByModels | SwappingErrors
Correct = (
    Correction | float | str | Sequence[str] | Result
)  # what verbs take; a result is one of `reliability`
_BY_NAME: dict[str, type[ByModels]] = {
    PPI: PredictThenDebias,
    COVARIATE: CovariateAdjustment,
    DSL: DesignBased,
}
ALL_METHODS = (*_BY_NAME.values(), SwappingErrors)


class MethodOptions(TypedDict, total=False):
    """Options of a method that a verb of ratings or labels names by a string: fields of its record."""

    human: Names
    model: Any
    tuning: Tuning
    folds: int
    calibration: bool


class EffectOptions(MethodOptions, total=False):
    """The same for verbs of choices, which have no seed of their own."""

    seed: int


OPTIONS = (*MethodOptions.__annotations__, "seed")


def correction_of(
    correct: Any,
    options: Mapping[str, Any],
    offered: Collection[type] = (PredictThenDebias,),
    option_names: Sequence[str] = OPTIONS,
) -> Correction | None:
    """The method that ``correct`` and the options beside it mean; None where nothing is corrected."""
    stray = next((name for name in options if name not in option_names), None)
    if stray is not None:
        beside = f"; with correct='ppi' there are {listed(option_names)}" if correct is not None else ""
        text = f"There is no option {stray!r}{did_you_mean(stray, option_names)}{beside}; help() lists all."
        raise UnknownOption(text, stray)
    if options and isinstance(correct, Correction):
        name = type(correct).__name__
        raise InputError(f"{next(iter(options))} has no effect beside {name}(...); give it to {name}.")
    method = correct if isinstance(correct, Correction | None) else _named_method(correct, options)
    if options and isinstance(method, SwappingErrors | None):
        raise InputError(f"{next(iter(options))} applies to correct='ppi'; give both, or omit it.")
    if method is not None and type(method) not in offered:
        raise _refusal(correct, offered)
    if isinstance(method, PredictThenDebias) and method.reliability and SwappingErrors not in offered:
        raise _refusal(correct, offered)
    return method


def _named_method(correct: Any, options: Mapping[str, Any]) -> Correction:
    """The method of a string, a number or a list of two strings."""
    if isinstance(correct, list | tuple):
        if sorted(correct) != WITH_RELIABILITY:
            raise _refusal(correct, ALL_METHODS)
        return PredictThenDebias(**options, reliability=True)
    method = _BY_NAME.get(correct) if isinstance(correct, str) else None
    if method is None:
        return SwappingErrors(correct)
    names = {field.name for field in fields(method)}
    untuned = next((name for name in options if name not in names), None)
    if untuned is not None:
        raise InputError(f"correct={correct!r} has no weights to tune; omit {untuned}.")
    return method(**options)


def _refusal(correct: Any, offered: Collection[type]) -> InputError:
    names: list[Any] = [name for name, method in _BY_NAME.items() if method in offered]
    names += [WITH_RELIABILITY] if SwappingErrors in offered else []
    return InputError(f"correct is {correct!r}; give {' or '.join(map(repr, names))}, or omit it.")


def pop_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a method that is named by a string out of the options of a verb."""
    return {name: options.pop(name) for name in OPTIONS if name in options}
