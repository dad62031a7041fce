"""Costs that a design card expects are those that a dry run tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.studies import towns, write_study

from conjury.inference.collecting import Asking
from conjury.inference.collecting.expected_costs import BUILT, expected_costs
from conjury.inference.collecting.jobs import Job, plan
from conjury.inference.collecting.options import find_judge, find_prompts
from conjury.inference.collecting.prices import TOKENS_PER_PART, Budget, Prices, read_prices
from conjury.inference.collecting.runs import RunFolder
from conjury.inference.design.drawn import DrawnDesign, draw_design
from conjury.inference.study import Study, load_study


def planned(study: Study, folder: Path, judge: str, prices: Prices) -> tuple[float, float, int]:
    """Cost, tokens and requests as ``conjury collect --dry-run`` plans them."""
    run = RunFolder(folder)
    content = run.content(study, keep=False)
    ask = find_judge(study, judge, Asking())
    prompts = find_prompts(study, None, False, judge)
    order = Job(study, judge, ask, prompts, content.subjects, content.count, run.media(study, None))
    found = plan(order, None, Budget(prices.of(ask.model), prices.per))
    return found.cost, found.tokens.prompt, found.total


def of(costs: pd.DataFrame, judge: str, shown: str = "text") -> dict[str, Any]:
    (row,) = costs[(costs["judge"] == judge) & (costs["shown"] == shown)].to_dict("records")
    return {str(name): value for name, value in row.items()}


@pytest.mark.parametrize("name", ["moderation", "towns"])
def test_text_costs_what_a_dry_run_says(name, tmp_path):
    study = (
        load_study("moderation")
        if name == "moderation"
        else load_study(write_study(tmp_path / "towns", towns()))
    )
    if name == "moderation":
        study = study.model_copy(update={"design": study.design.model_copy(update={"pairs": 3 * BUILT})})
    judge = "gpt4o" if name == "moderation" else "judge"
    prices = read_prices()
    design = RunFolder(tmp_path / "run").draw(study, None, None, None, keep=False)
    row = of(expected_costs(study, design, prices), judge)
    cost, prompt_tokens, requests = planned(study, tmp_path / "run", judge, prices)
    assert row["requests"] == requests
    assert row["prompt_tokens"] == pytest.approx(prompt_tokens * requests)
    assert row["cost"] == pytest.approx(cost)
    assert row["batch_cost"] == pytest.approx(cost / 2)


def test_pictures_cost_their_own_tokens_and_bring_their_own_prompts():
    study = load_study("moderation")
    costs = expected_costs(study, draw_design(study, 20, 0.1, seed=1), read_prices())
    text, images = of(costs, "gpt4o"), of(costs, "gpt4o", "images")
    assert (text["prompts"], images["prompts"]) == (3, 5)
    assert (text["requests"], images["requests"]) == (22 * 3, 22 * 5)
    assert images["prompt_tokens"] / images["requests"] > 2 * TOKENS_PER_PART["image_url"]
    mini = of(costs, "gpt4o_mini", "images")
    more = (mini["prompt_tokens"] - images["prompt_tokens"]) / images["requests"]
    assert more == pytest.approx(2 * (25_501 - 765))
    assert of(costs, "gpt4o_mini")["prompt_tokens"] == text["prompt_tokens"]


def test_models_of_the_users_own_have_no_price_and_people_no_row():
    study = load_study("moderation")
    costs = expected_costs(study, draw_design(study, 5, 0.0, seed=1), read_prices())
    own = of(costs, "qwen2_2b")
    assert pd.isna(own["cost"])
    assert own["requests"] == 15
    assert "human" not in set(costs["judge"])


def test_unknown_prices_stay_unknown(tmp_path):
    content = towns()
    content["judges"][1]["ask"]["model"] = "no-such-model"
    study = load_study(write_study(tmp_path / "towns", content))
    costs = expected_costs(study, draw_design(study, 5, 0.0, seed=1), read_prices())
    assert pd.isna(of(costs, "judge")["cost"])
    assert of(costs, "judge")["as_of"] == ""
    assert "silent" not in set(costs["judge"])


def test_profiles_judged_one_at_a_time_are_counted_once(tmp_path):
    content = towns()
    content["collect"]["form"] = "single"
    content["response"] = {
        "form": "ratings",
        "scales": [{"id": "nice", "label": "Nice", "minimum": 0, "maximum": 4}],
    }
    study = load_study(write_study(tmp_path / "towns", content))
    design: DrawnDesign = draw_design(study, 30, 0.5, seed=1)
    assert of(expected_costs(study, design, read_prices()), "judge")["requests"] == 60 * 2


def test_prompts_that_write_out_what_is_shown_are_for_text_alone(tmp_path):
    content = towns() | {"vignette": {"layout": "table"}}
    content["prompts"][0]["user"] = "user.j2"
    folder = write_study(tmp_path / "towns", content)
    (folder / "user.j2").write_text("{{ question }} {{ A }} or {{ B }}?", encoding="utf-8")
    study = load_study(folder)
    costs = expected_costs(study, draw_design(study, 5, 0.0, seed=1), read_prices())
    assert of(costs, "judge")["prompts"] == 2
    assert of(costs, "judge", "images")["prompts"] == 1
