"""Results of judges as instruments, of people who rate few items, and of checks of published tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.analysis import instrument
from conjury.analysis.benchmark import score, scores
from conjury.analysis.raters import means, prediction_powered
from conjury.analysis.results import Result
from made_up.choices import crossed_choices
from made_up.ratings import MODELS, crossed_ratings, items_in_strata, ratings_by_few_people

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


@cache
def few_people_means(
    dimensions: Sequence[str] = ("overall_fun",), *, strata: bool = False, models: int = 1
) -> Result:
    """Mean ratings among people, with one model or two."""
    table = ratings_by_few_people(dimensions=dimensions, models=MODELS[:models], labelled=18)
    options = {"by": "stratum", "overall": True} if strata else {}
    return means(table, items_in_strata(), correct="ppi", **options)  # type: ignore[arg-type]


@cache
def few_people_shares() -> Result:
    """Shares of labels among people."""
    return prediction_powered(ratings_by_few_people(labels=True, dimensions=("tone",)), statistic="share")


@cache
def few_people_scores() -> Result:
    """Scores of a model against people's labels, with the help of another model."""
    table = ratings_by_few_people(labels=True, dimensions=("tone",), models=MODELS)
    labels = {
        name: table[table["judge_id"] == name]
        .rename(columns={"dimension": "label_set", "value": "label"})
        .drop_duplicates("item_id")
        for name in ("person_0", "gemini")
    }
    judged = table[table["judge_id"] == "gpt_4_1"]
    people, model = (score(judged, labels[name]) for name in ("person_0", "gemini"))
    return scores(people, correct="ppi", model={"gemini": model}, missing=["wrong"])


FOLDER = Path(__file__).parents[2] / "fixtures" / "made_up"
CHECKED: dict[str, Any] = {
    "files": ["ratings.csv", "scores.csv"],
    "titles": {"ratings.csv": "Ratings of jokes by people and models", "scores.csv": "Scores of models"},
    "sources": {"ratings.csv": "Made up (2026), table 1", "scores.csv": ""},
    "rows": {"ratings.csv": 8, "scores.csv": 3},
    "checks": {
        "mean_sd": "Means and standard deviations of ratings",
        "scores": "Scores of one confusion matrix",
        "counts": "Counts that sum to a total",
    },
}


def checked_numbers() -> Result:
    """Published numbers of two files with every verdict, in the columns that `check_tables` gives."""
    numbers, pairs = (
        pd.read_csv(FOLDER / f"checked_{name}.csv", keep_default_na=False, dtype={"published": str})
        for name in ("numbers", "pairs")
    )
    by_number = numbers.rename(columns={"check": "checks"}).drop(
        columns=["nearest", "n_definitions", "finding"]
    )
    notes = ("Counts that sum to a total: 1 group of ratings.csv not checked, since total is missing.",)
    return Result(numbers, "published_numbers", notes, CHECKED, {"numbers": by_number, "pairs": pairs})
