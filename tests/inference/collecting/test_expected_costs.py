"""Costs that are expected before a run, as dry runs show them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from fakes.studies import RATINGS, towns, write_study

from conjury.inference.collecting import Asking
from conjury.inference.collecting.asked_judge import find_judge, find_prompts
from conjury.inference.collecting.jobs import BUILT, Job, expected_costs, plan
from conjury.inference.collecting.prices import TOKENS_PER_PART, Budget, read_prices
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.design.run_design import draw_design
from conjury.inference.study import Study, load_study


def costs_of(study: Study, pairs: int = 5, swapped: float = 0.0) -> pd.DataFrame:
    return expected_costs(study, draw_design(study, pairs, swapped, seed=1), read_prices())


def of(costs: pd.DataFrame, judge: str = "judge", shown: str = "text") -> dict[str, Any]:
    (row,) = costs[(costs["judge"] == judge) & (costs["shown"] == shown)].to_dict("records")
    return {str(name): value for name, value in row.items()}


@pytest.mark.parametrize(
    ("name", "judge"), [("towns", "judge"), pytest.param("moderation", "gpt4o", marks=pytest.mark.long)]
)
def test_text_costs_what_a_dry_run_shows(name, judge, study, tmp_path):
    known = load_study("moderation" if name == "moderation" else study)
    if name == "moderation":
        known = known.model_copy(update={"design": known.design.model_copy(update={"pairs": 3 * BUILT})})
    folder, prices = RunFolder(tmp_path / "run"), read_prices()
    row = of(expected_costs(known, folder.draw(known, None, None, None, keep=False), prices), judge)
    content = folder.content(known, keep=False)
    ask = find_judge(known, judge, Asking())
    prompts = find_prompts(known, None, False, judge)
    job = Job(known, judge, ask, prompts, content.subjects, content.count, folder.media(known, None))
    planned = plan(job, None, Budget(prices.of(ask.model), prices.per))
    assert row["requests"] == planned.total
    assert planned.tokens.prompt > planned.tokens.completion > 0
    assert row["prompt_tokens"] == pytest.approx(planned.tokens.prompt * planned.total)
    assert row["cost"] == pytest.approx(planned.cost)
    assert row["batch_cost"] == pytest.approx(planned.cost / 2)


@pytest.mark.long
def test_pictures_cost_their_own_tokens_and_people_and_own_models_nothing():
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
    own = of(costs, "qwen2_2b")
    assert pd.isna(own["cost"])
    assert own["requests"] == 22 * 3
    assert "human" not in set(costs["judge"])


def test_unknown_prices_stay_unknown_and_single_profiles_are_counted_once(tmp_path):
    content = towns()
    content["judges"][1]["ask"]["model"] = "no-such-model"
    costs = costs_of(load_study(write_study(tmp_path / "towns", content)))
    assert pd.isna(of(costs)["cost"])
    assert of(costs)["as_of"] == ""
    assert "silent" not in set(costs["judge"])
    content["collect"]["form"], content["response"] = "single", RATINGS
    study = load_study(write_study(tmp_path / "single", content))
    assert of(costs_of(study, 30, 0.5))["requests"] == 60 * 2


def test_prompts_that_write_out_what_is_shown_are_for_text_alone(tmp_path):
    content = towns() | {"vignette": {"layout": "table"}}
    content["prompts"][0]["user"] = "user.j2"
    folder = write_study(tmp_path / "towns", content)
    (folder / "user.j2").write_text("{{ question }} {{ A }} or {{ B }}?", encoding="utf-8")
    costs = costs_of(load_study(folder))
    assert (of(costs)["prompts"], of(costs, shown="images")["prompts"]) == (2, 1)
