"""Simulated raters: how each judge of a truth table values the levels, and how it errs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from ...errors import InputError
from ...study.models import Study
from ...study.study_yaml import suggestion
from ...tables.schema import OPTION_LABELS
from ..truth_table import (
    HUMAN,
    MODEL,
    Floats,
    Integers,
    ParameterRule,
    TruthRow,
    Values,
    read_rows,
    selected_judges,
)

COLUMNS = ["judge", "judge_kind", "prompt_id", "parameter", "feature", "level", "value"]
EVERY_ROW = ("judge", "judge_kind", "prompt_id")
RULES = {
    "part_worth": ParameterRule(-np.inf, np.inf, needed=("feature", "level")),
    "heterogeneity_sd": ParameterRule(0, np.inf, HUMAN, needed=("feature", "level")),
    "position_bias": ParameterRule(-np.inf, np.inf),
    "inattention": ParameterRule(0, 0.99, HUMAN),
    "reliability": ParameterRule(0.5, 1, HUMAN),
    "noise": ParameterRule(0, 0.5, MODEL),
    "stimulus_sd": ParameterRule(0, np.inf, needed=("feature",), allowed=("level",)),
    "facet_bias": ParameterRule(-np.inf, np.inf, MODEL, needed=("feature", "level")),
    "drift": ParameterRule(-np.inf, np.inf, MODEL, needed=("feature", "level")),
    "wordy": ParameterRule(0, 1, MODEL),
}
FACETS = ("option_labels", "occasion")  # on which position bias may depend


@dataclass(frozen=True)
class RaterModel:
    """A simulated judge: a human panel, or a model under one prompt."""

    # judge, kind, prompt: `prompt` is empty for a panel.
    judge: str
    kind: str
    prompt: str
    # utilities on the logit scale; interactions as `("slur:identity", "racism:black_male")`. Levels that are
    # not listed have part-worth 0
    part_worth: Mapping[tuple[str, str], float]
    # standard deviation of the level's part-worth between respondents
    heterogeneity_sd: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # standard deviation between stimuli on the utility scale: `("text", "")` for the intercept of a stimulus
    # factor, `("text:slur", "racism")` for a level's part-worth that varies between stimuli, `("text:slur",
    # "")` for all levels but the reference
    stimulus_sd: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # added to the utility of the profile in position A
    position_bias: float = 0.0
    # share of respondents who answer every task at random
    inattention: float = 0.0
    # probability that a respondent of the panel names the same profile twice, position bias aside
    reliability: float = 1.0
    # probability with which any single answer of a model departs from its stable pick
    noise: float = 0.0
    # added to the position bias of a model under a level of `option_labels`, or on an `occasion`
    facet_bias: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # change of a model's part-worth from one occasion to the next, terms as in `part_worth`
    drift: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # share of a model's answers that are a sentence instead of the option alone
    wordy: float = 0.0

    @property
    def attentive_reliability(self) -> float:
        """Probability ``R_a`` that an attentive respondent names the same profile twice."""
        # A panel with reliability `R` and a share `pi` of inattentive respondents, who agree with themselves
        # half of the time, has `R = (1 - pi) R_a + pi / 2`.
        attentive = (self.reliability - self.inattention / 2) / (1 - self.inattention)
        return round(attentive, 12)

    @property
    def response_error(self) -> float:
        """Probability ``tau`` that an answer departs from the stable pick of a model or attentive person."""
        # A model's is its `noise`; a panel's follows from `R_a = (1 - tau)^2 + tau^2`.
        if self.kind == MODEL:
            return self.noise
        return float((1 - np.sqrt(2 * self.attentive_reliability - 1)) / 2)


def attribute_codes(study: Study, table: pd.DataFrame) -> Integers:
    """Codes of levels in the order of the study, shape (n, attributes)."""
    columns = [table[attribute.id].cat.codes for attribute in study.attributes]
    return np.column_stack(columns).astype(np.int64)


def utilities(rater: RaterModel, study: Study, codes: Integers) -> Floats:
    """Mean utility of profiles, shape (n,), from attribute codes of shape (n, attributes)."""
    return _sum_part_worths(rater.part_worth, study, codes)


def drifts(rater: RaterModel, study: Study, codes: Integers) -> Floats:
    """Change of the utility of profiles from one occasion to the next, shape (n,), as `utilities`."""
    return _sum_part_worths(rater.drift, study, codes)


def _sum_part_worths(terms: Mapping[tuple[str, str], float], study: Study, codes: Integers) -> Floats:
    total = np.zeros(len(codes))
    column = {attribute.id: index for index, attribute in enumerate(study.attributes)}
    for (feature, level), value in terms.items():
        holds = np.ones(len(codes), dtype=bool)
        for name, part in zip(feature.split(":"), level.split(":"), strict=True):
            holds &= codes[:, column[name]] == study.levels(name).index(part)
        total[holds] += value
    return total


def level_spread(rater: RaterModel, study: Study) -> list[Floats]:
    """Give the standard deviation of every level's part-worth, one array per attribute."""
    return [
        np.array([rater.heterogeneity_sd.get((attribute.id, level.id), 0.0) for level in attribute.levels])
        for attribute in study.attributes
    ]


def read_truth_table(source: Path | pd.DataFrame, study: Study) -> list[RaterModel]:
    """Read the raters of a truth table, in the order of their first row."""

    def check(row: TruthRow) -> None:
        _check_prompt(row)
        _check_term(row, study)

    table = read_rows(source, COLUMNS, RULES, {"prompt_id": study.prompt_labels}, EVERY_ROW, check)
    if not table.rows:
        raise InputError(f"{table.place}: the table has no rows; add the part-worths of at least one judge.")
    raters = table.values(EVERY_ROW, ("feature", "level"))
    return [
        _rater(table.place, judge, kind, prompt, values) for (judge, kind, prompt), values in raters.items()
    ]


def select_raters(
    raters: Sequence[RaterModel], judges: Sequence[str] | None, prompts: Sequence[str] | None
) -> list[RaterModel]:
    """Keep the named judges and, for models, the named prompts; None keeps all."""
    chosen = selected_judges(sorted({rater.judge for rater in raters}), judges)
    prompt_ids = sorted({rater.prompt for rater in raters} - {""})
    for name in prompts or ():
        if name not in prompt_ids:
            raise InputError(f"Truth table: {suggestion(name, prompt_ids)}")
    return [
        rater
        for rater in raters
        if rater.judge in chosen and (prompts is None or rater.kind == HUMAN or rater.prompt in prompts)
    ]


def _check_prompt(row: TruthRow) -> None:
    kind, prompt = row.cells["judge_kind"], row.cells.get("prompt_id")
    if kind == HUMAN and prompt:
        raise InputError(f"{row.at}: a human panel has no prompt; leave prompt_id empty.")
    if kind == MODEL and not prompt:
        raise InputError(f"{row.at}: a model answers under a prompt; fill in prompt_id.")


def _check_term(row: TruthRow, study: Study) -> None:
    at, feature, level = row.at, row.cells.get("feature", ""), row.cells.get("level", "")
    if row.parameter == "stimulus_sd":
        _check_stimulus_term(at, study, feature, level)
        return
    if row.parameter == "facet_bias":
        _check_facet(at, feature, level)
        return
    features, levels = ([] if not text else text.split(":") for text in (feature, level))
    if len(features) != len(levels) or (row.parameter == "heterogeneity_sd" and len(features) > 1):
        raise InputError(f"{at}: '{feature}' and '{level}' do not match; give one level for each feature.")
    attributes = [attribute.id for attribute in study.attributes]
    for name, part in zip(features, levels, strict=True):
        if name not in attributes:
            raise InputError(f"{at}: {suggestion(name, attributes)}")
        if part not in study.levels(name):
            raise InputError(f"{at}: {suggestion(part, study.levels(name))}")


def _check_facet(at: str, facet: str, level: str) -> None:
    if facet not in FACETS:
        raise InputError(f"{at}: {suggestion(facet, FACETS)}")
    if facet == "occasion" and not level.isdecimal():
        raise InputError(f"{at}: the occasion is '{level}'; write its number, such as 2.")
    if facet == "option_labels" and level not in OPTION_LABELS:
        raise InputError(f"{at}: {suggestion(level, OPTION_LABELS)}")


def _check_stimulus_term(at: str, study: Study, term: str, level: str) -> None:
    stimulus, colon, feature = term.partition(":")
    for name, ids in (
        (stimulus, [part.id for part in study.stimuli]),
        (feature, [attribute.id for attribute in study.attributes] if colon else [""]),
    ):
        if name not in ids:
            raise InputError(f"{at}: {suggestion(name, ids)}")
    if level and not colon:
        raise InputError(
            f"{at}: the intercept of '{stimulus}' has no level; leave it empty or write '{stimulus}:FEATURE'."
        )
    if level and level not in study.levels(feature):
        raise InputError(f"{at}: {suggestion(level, study.levels(feature))}")


def _rater(place: str, judge: str, kind: str, prompt: str, values: Values) -> RaterModel:
    scalar = {name: of.get(("", ""), 0.0) for name, of in values.items()}
    rater = RaterModel(
        judge,
        kind,
        prompt,
        part_worth=values.get("part_worth", {}),
        heterogeneity_sd=values.get("heterogeneity_sd", {}),
        stimulus_sd=values.get("stimulus_sd", {}),
        position_bias=scalar.get("position_bias", 0.0),
        inattention=scalar.get("inattention", 0.0),
        reliability=scalar.get("reliability", 1.0 - scalar.get("inattention", 0.0) / 2),
        noise=scalar.get("noise", 0.0),
        facet_bias=values.get("facet_bias", {}),
        drift=values.get("drift", {}),
        wordy=scalar.get("wordy", 0.0),
    )
    if not 0.5 <= rater.attentive_reliability <= 1:
        raise InputError(
            f"{place}: a reliability of {rater.reliability:g} cannot be reached with {rater.inattention:.1%} "
            f"inattentive respondents in panel {judge}; change one of the two."
        )
    return rater
