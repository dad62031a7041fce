"""Results of judges as instruments, of people who rate few items, and of checks of published tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
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


TITLES = {"ratings.csv": "Ratings of jokes by people and models", "scores.csv": "Scores of models"}
CHECKS = {
    "mean_sd": "Means and standard deviations of ratings",
    "scores": "Scores of one confusion matrix",
    "counts": "Counts that sum to a total",
}
ROWS = [
    (
        "ratings.csv",
        "mean_sd",
        ("mean", "sd"),
        ["consistent"] * 5 + ["conditional", "inconsistent", "untested"],
    ),
    ("ratings.csv", "counts", ("total", "yes", "no"), ["consistent"] * 3),
    ("scores.csv", "scores", ("accuracy", "macro_f1"), ["inconsistent", "inconsistent", "conditional"]),
]
UNDER = {"conditional": "truncated; n = 39"}
NEAREST = {"inconsistent": "2.34 or 2.36"}


def checked_numbers() -> Result:
    frame = pd.DataFrame(
        [
            {
                "file": file,
                "table": "",
                "place": f"group {group}",
                "row": group + 2,
                "column": role,
                "quantity": role,
                "published": f"2.{group}{place}",
                "check": check,
                "verdict": verdict,
                "under": UNDER.get(verdict, ""),
                "nearest": NEAREST.get(verdict, ""),
                "n_definitions": 1 if verdict == "consistent" else 6,
                "chance": 0.25 if verdict != "untested" else 1.0,
                "reason": f"The numbers of group {group} were looked at.",
                "finding": 100 * number + group,
            }
            for number, (file, check, roles, verdicts) in enumerate(ROWS)
            for group, verdict in enumerate(verdicts)
            for place, role in enumerate(roles)
        ]
    )
    numbers = frame.rename(columns={"check": "checks"}).drop(columns=["nearest", "n_definitions", "finding"])
    means = [0.4, 1.0, 1.6, 2.2, 2.8, 3.1, 3.4, 2.5]
    pairs = pd.DataFrame(
        [
            {
                "file": "ratings.csv",
                "group": group,
                "place": f"group {place}",
                "mean": mean,
                "sd": 0.9 - 0.1 * (place % 3),
                "lowest": 0.0,
                "highest": 4.0,
                "step": step,
                "verdict": verdict,
            }
            for (group, step), (place, (mean, verdict)) in product(
                [("ratings by models", 1.0), ("mean ratings by four people", 0.25), ("", 1.0)],
                enumerate(zip(means, ROWS[0][3], strict=True)),
            )
        ]
    )
    settings = {
        "files": list(TITLES),
        "titles": TITLES,
        "sources": {"ratings.csv": "Made up (2026), table 1", "scores.csv": ""},
        "rows": {"ratings.csv": 8, "scores.csv": 3},
        "checks": CHECKS,
    }
    notes = ("Counts that sum to a total: 1 group of ratings.csv not checked, since total is missing.",)
    return Result(frame, "published_numbers", notes, settings, {"numbers": numbers, "pairs": pairs})
