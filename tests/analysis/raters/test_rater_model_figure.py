"""The figures of the rater model: parts, names and words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.figures import alt as alt_of
from conjury.analysis.figures import draw as figure_of
from conjury.analysis.figures.raters.models import MOST_PEOPLE
from conjury.analysis.raters import Result
from conjury.inference.errors import InputError

LABELS = {("judges", f"person_{k:03d}"): f"Person {k}" for k in range(100)} | {
    ("judges", "gpt_4_1"): "GPT-4.1",
    ("judges", "gemini_2_5_pro"): "Gemini 2.5 Pro",
    ("judges", "claude_sonnet_4"): "Claude Sonnet 4",
}
MODELS = ("gpt_4_1", "gemini_2_5_pro", "claude_sonnet_4")


def made_up(n_people: int = 100, seed: int = 1) -> Result:
    """Tables like those of ``rater_model``, with numbers of no fit."""
    rng = np.random.default_rng(seed)

    def told(estimate: float, spread: float) -> dict[str, float]:
        return {"estimate": estimate, "lower": estimate - 2 * spread, "upper": estimate + 2 * spread}

    people = {"group": "human", "judge_kind": "human"}
    groups = [
        {**people, "quantity": "latent_correlation_rating", **told(0.7, 0.01)},
        {**people, "quantity": "correlation", **told(0.66, 0.01)},
    ]
    for k, model in enumerate(MODELS):
        for quantity, spread in (("latent_correlation_rating", 0.02), ("correlation", 0.02),
                                 ("better_than_human", 0.08), ("closer_than_human", 0.01)):  # fmt: skip
            groups.append({"group": model, "judge_kind": "model", "quantity": quantity,
                           **told(0.45 + 0.12 * k, spread)})  # fmt: skip
    judges = []
    for name in (*(f"person_{k:03d}" for k in range(n_people)), *MODELS):
        group = name if name in MODELS else "human"
        for quantity, centre in (("severity_points", 0.0), ("discrimination", 0.9)):
            judges.append({"judge": name, "group": group, "quantity": quantity,
                           **told(centre + rng.normal(0, 0.3), 0.1)})  # fmt: skip
    shares = [{"group": group, "category": float(k), "observed": 0.2 + 0.01 * (k - 2), "expected": 0.2,
               "lower": 0.18, "upper": 0.22} for group in ("human", *MODELS) for k in range(5)]  # fmt: skip
    extra = {"judges": pd.DataFrame(judges), "frequencies": pd.DataFrame(shares)}
    return Result(pd.DataFrame(groups), "rater_model", extra=extra)


@pytest.mark.parametrize("part", ["agreement", "judges", "check"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_part_is_drawn_without_identifiers(part: str, theme: str) -> None:
    figure = figure_of(made_up(), part=part, theme=theme, labels=LABELS)
    texts = [text.get_text() for axes in figure.axes for text in axes.get_yticklabels()]
    texts += [axes.get_title(loc="left") for axes in figure.axes]
    assert not [text for text in texts if "_" in text]
    assert "GPT-4.1" in texts


def test_of_many_people_only_some_are_shown_with_all_models() -> None:
    figure = figure_of(made_up(), part="judges")
    assert len(figure.axes[0].get_yticks()) == MOST_PEOPLE + len(MODELS)


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(InputError, match="no part 'trace'"):
        figure_of(made_up(), part="trace")


def test_the_description_names_each_model_with_its_numbers() -> None:
    told = alt_of(made_up())
    assert "latent correlation with the consensus 0.57 [0.53, 0.61]" in told
    assert told.count("agrees better than a random person") == len(MODELS)
