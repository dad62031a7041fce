"""Results of judges as instruments with made-up numbers, in the columns that the analyses give."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd
from made_up_judge import crossed_choices, crossed_ratings

from conjury.analysis import instrument
from conjury.analysis.results import Result

FORMULA = "chosen ~ tone + length"


@cache
def choices() -> pd.DataFrame:
    """Choices by two models, every pair in both orders under three prompts."""
    prompts = ("baseline", "context", "policy")
    one = crossed_choices(80, lean=0.8, prompts=prompts, samples=2, by_prompt=-0.8)
    other = crossed_choices(80, lean=0.1, prompts=prompts, samples=2, seed=2)
    return pd.concat([one.assign(judge_id="gpt_4_1"), other.assign(judge_id="gemini")])


def order_effects() -> Result:
    return instrument.order_effects(choices(), FORMULA)


def variance_components() -> Result:
    return instrument.variance_components(choices(), draws=200)


def decision_study() -> Result:
    return instrument.decision_study(variance_components())


def flips() -> Result:
    return instrument.flips(choices())


def specifications() -> Result:
    return instrument.specifications(choices(), FORMULA, draws=200)


def drift() -> Result:
    first = crossed_ratings(30, 2, 1, seed=3).assign(judge_id="gpt_4_1")
    later = first.assign(value=first["value"] + 0.4).iloc[:40]
    return instrument.drift(pd.concat([first.assign(occasion="first"), later.assign(occasion="second")]))


def beyond_quality() -> Result:
    data = crossed_ratings(40, 2, 1, seed=4).assign(judge_id="gpt_4_1")
    data = data.assign(people=data["value"].round(), words=range(len(data)))
    return instrument.preferences_beyond_quality(data, "words", "people")


INSTRUMENT: dict[str, Callable[[], Any] | tuple[Callable[[], Any], dict[str, Any]]] = {
    "order_effects": order_effects,
    "order_effects, effects": (order_effects, {"part": "effects"}),
    "variance_components": variance_components,
    "decision_study": decision_study,
    "flips": flips,
    "specifications": specifications,
    "drift": drift,
    "beyond_quality": beyond_quality,
}
