"""Simulated raters: how each judge of a truth table values the levels, and how it errs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError
from ...study.checks import suggestion
from ...study.models import Study
from ..truth_table import read_truth_file

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COLUMNS = ["judge", "judge_kind", "prompt_id", "parameter", "feature", "level", "value"]
BY_LEVEL = ("part_worth", "heterogeneity_sd", "stimulus_sd")
RANGES = {
    "part_worth": (-np.inf, np.inf),
    "heterogeneity_sd": (0.0, np.inf),
    "position_bias": (-np.inf, np.inf),
    "inattention": (0.0, 0.99),
    "reliability": (0.5, 1.0),
    "noise": (0.0, 0.5),
    "stimulus_sd": (0.0, np.inf),
}
MEANT_FOR = {
    "noise": "model",
    "heterogeneity_sd": "human",
    "inattention": "human",
    "reliability": "human",
}


@dataclass(frozen=True)
class RaterModel:
    """A simulated judge: a human panel, or a model under one prompt.

    Attributes
    ----------
    judge, kind, prompt : str
        ``prompt`` is empty for a panel.
    part_worth : mapping of (feature, level) to float
        Utilities on the logit scale; interactions as ``("slur:identity", "racism:black_male")``.
        Levels that are not listed have part-worth 0.
    heterogeneity_sd : mapping of (feature, level) to float
        Standard deviation of the level's part-worth between respondents.
    stimulus_sd : mapping of (term, level) to float
        Standard deviation between stimuli on the utility scale: ``("text", "")`` for the intercept of a
        stimulus factor, ``("text:slur", "racism")`` for a level's part-worth that varies between stimuli,
        ``("text:slur", "")`` for all levels but the reference.
    position_bias : float
        Added to the utility of the profile in position A.
    inattention : float
        Share of respondents who answer every task at random.
    reliability : float
        Probability that a respondent of the panel names the same profile twice, position bias aside.
    noise : float
        Probability with which any single answer of a model departs from its stable pick.
    """

    judge: str
    kind: str
    prompt: str
    part_worth: Mapping[tuple[str, str], float]
    heterogeneity_sd: Mapping[tuple[str, str], float] = field(default_factory=dict)
    stimulus_sd: Mapping[tuple[str, str], float] = field(default_factory=dict)
    position_bias: float = 0.0
    inattention: float = 0.0
    reliability: float = 1.0
    noise: float = 0.0

    @property
    def attentive_reliability(self) -> float:
        """Probability ``R_a`` that an attentive respondent names the same profile twice.

        A panel with reliability ``R`` and a share ``pi`` of inattentive respondents, who agree with
        themselves half of the time, has ``R = (1 - pi) R_a + pi / 2``.
        """
        attentive = (self.reliability - self.inattention / 2) / (1 - self.inattention)
        return round(attentive, 12)

    @property
    def response_error(self) -> float:
        """Probability ``tau`` that an answer departs from the stable pick of a model or attentive person.

        A model's is its ``noise``; a panel's follows from ``R_a = (1 - tau)^2 + tau^2``.
        """
        if self.kind == "model":
            return self.noise
        return float((1 - np.sqrt(2 * self.attentive_reliability - 1)) / 2)


def utilities(rater: RaterModel, study: Study, codes: Integers) -> Floats:
    """Mean utility of profiles, shape (n,), from attribute codes of shape (n, attributes)."""
    total = np.zeros(len(codes))
    column = {attribute.id: index for index, attribute in enumerate(study.attributes)}
    for (feature, level), value in rater.part_worth.items():
        holds = np.ones(len(codes), dtype=bool)
        for name, part in zip(feature.split(":"), level.split(":"), strict=True):
            holds &= codes[:, column[name]] == study.levels(name).index(part)
        total[holds] += value
    return total


def level_spread(rater: RaterModel, study: Study) -> list[Floats]:
    """Give the standard deviation of every level's part-worth, one array an attribute."""
    return [
        np.array([rater.heterogeneity_sd.get((attribute.id, level.id), 0.0) for level in attribute.levels])
        for attribute in study.attributes
    ]


def read_truth_table(source: Path | pd.DataFrame, study: Study) -> list[RaterModel]:
    """Read the raters of a truth table, in the order of their first row."""
    table, place = _read(source)
    values: dict[tuple[str, str, str], dict[str, dict[tuple[str, str], float]]] = {}
    for row, (judge, kind, prompt, parameter, feature, level, text) in enumerate(
        table[COLUMNS].astype(str).itertuples(index=False, name=None)
    ):
        at = f"{place}:{row + 2}" if isinstance(source, Path) else f"{place}, row {row + 1}"
        value = _checked(at, study, (judge, kind, prompt), parameter, (feature, level), text)
        group = values.setdefault((judge, kind, prompt), {}).setdefault(parameter, {})
        if (feature, level) in group:
            raise InputError(
                f"{at}: {parameter} of {judge} {prompt} {feature} {level} is given twice; keep one."
            )
        group[feature, level] = value
    return [_rater(place, *key, parameters) for key, parameters in values.items()]


def select_raters(
    raters: Sequence[RaterModel], judges: Sequence[str] | None, prompts: Sequence[str] | None
) -> list[RaterModel]:
    """Keep the named judges and, for models, the named prompts; None keeps all."""
    for names, known in ((judges, {r.judge for r in raters}), (prompts, {r.prompt for r in raters} - {""})):
        for name in names or ():
            if name not in known:
                raise InputError(f"Truth table: {suggestion(name, sorted(known))}")
    return [
        rater
        for rater in raters
        if (judges is None or rater.judge in judges)
        and (prompts is None or rater.kind == "human" or rater.prompt in prompts)
    ]


def _read(source: Path | pd.DataFrame) -> tuple[pd.DataFrame, str]:
    table, place = read_truth_file(source, COLUMNS)
    if table.empty:
        raise InputError(f"{place}: the table has no rows; add the part-worths of at least one judge.")
    return table, place


def _checked(
    at: str, study: Study, key: tuple[str, str, str], parameter: str, term: tuple[str, str], text: str
) -> float:
    _, kind, prompt = key
    if kind not in ("human", "model"):
        raise InputError(f"{at}: judge_kind is '{kind}'; write human or model.")
    if parameter not in RANGES:
        raise InputError(f"{at}: {suggestion(parameter, RANGES)}")
    if MEANT_FOR.get(parameter, kind) != kind:
        raise InputError(
            f"{at}: {parameter} belongs to a {MEANT_FOR[parameter]}, not a {kind}; remove the row."
        )
    if kind == "human" and prompt:
        raise InputError(f"{at}: a human panel has no prompt; leave prompt_id empty.")
    if kind == "model" and prompt not in study.prompt_labels:
        raise InputError(f"{at}: {suggestion(prompt, study.prompt_labels)}")
    _check_term(at, study, parameter, *term)
    lowest, highest = RANGES[parameter]
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not (np.isfinite(value) and lowest <= value <= highest):
        raise InputError(
            f"{at}: {parameter} is '{text}'; give a finite number between {lowest:g} and {highest:g}."
        )
    return value


def _check_term(at: str, study: Study, parameter: str, feature: str, level: str) -> None:
    if parameter not in BY_LEVEL:
        if feature or level:
            raise InputError(f"{at}: {parameter} has no feature and level; leave both empty.")
        return
    if parameter == "stimulus_sd":
        _check_stimulus_term(at, study, feature, level)
        return
    features, levels = feature.split(":"), level.split(":")
    if len(features) != len(levels) or (parameter == "heterogeneity_sd" and len(features) > 1):
        raise InputError(f"{at}: '{feature}' and '{level}' do not match; give one level for each feature.")
    attributes = [attribute.id for attribute in study.attributes]
    for name, part in zip(features, levels, strict=True):
        if name not in attributes:
            raise InputError(f"{at}: {suggestion(name, attributes)}")
        if part not in study.levels(name):
            raise InputError(f"{at}: {suggestion(part, study.levels(name))}")


def _check_stimulus_term(at: str, study: Study, term: str, level: str) -> None:
    stimulus, colon, feature = term.partition(":")
    for name, known in (
        (stimulus, [part.id for part in study.stimuli]),
        (feature, [attribute.id for attribute in study.attributes] if colon else [""]),
    ):
        if name not in known:
            raise InputError(f"{at}: {suggestion(name, known)}")
    if level and not colon:
        raise InputError(
            f"{at}: the intercept of '{stimulus}' has no level; leave it empty or write '{stimulus}:FEATURE'."
        )
    if level and level not in study.levels(feature):
        raise InputError(f"{at}: {suggestion(level, study.levels(feature))}")


def _rater(
    place: str,
    judge: str,
    kind: str,
    prompt: str,
    parameters: dict[str, dict[tuple[str, str], float]],
) -> RaterModel:
    scalar = {name: found.get(("", ""), 0.0) for name, found in parameters.items()}
    rater = RaterModel(
        judge,
        kind,
        prompt,
        part_worth=parameters.get("part_worth", {}),
        heterogeneity_sd=parameters.get("heterogeneity_sd", {}),
        stimulus_sd=parameters.get("stimulus_sd", {}),
        position_bias=scalar.get("position_bias", 0.0),
        inattention=scalar.get("inattention", 0.0),
        reliability=scalar.get("reliability", 1.0 - scalar.get("inattention", 0.0) / 2),
        noise=scalar.get("noise", 0.0),
    )
    if not 0.5 <= rater.attentive_reliability <= 1:
        raise InputError(
            f"{place}: a reliability of {rater.reliability:g} cannot be reached with {rater.inattention:.1%} "
            f"inattentive respondents in panel {judge}; change one of the two."
        )
    return rater
