"""``conjury power``: what it prints, writes and refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import power
from conjury.analysis.conjoint.power import design_card_page
from conjury.analysis.pipeline.labelling import _cost_in_run
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study
from conjury.inference.tables.files import write_table

Told = Callable[..., str]
HUMAN = "power moderation --judge human"


@pytest.fixture(scope="module")
def study() -> Study:
    return load_study("moderation")


def row_of(out: str, start: str) -> list[str]:
    (found,) = (line for line in out.splitlines() if re.match(rf"{start}\s\s", line))
    return re.split(r"\s{2,}", found.strip())


@pytest.mark.long
def test_the_planned_design_gets_detectable_effects_sizes_and_costs(ran: Told, study: Study) -> None:
    out = ran("power moderation --effect 0.02 --out power.csv --figure power.png")
    human = power(study, respondents=1854, tasks=15, power=0.8, features=["slur"]).frame["effect"].max()
    model = power(study, pairs=30_000, power=0.8, features=["slur"]).frame["effect"].max()
    assert row_of(out, "Insult") == ["Insult", "7", f"{human:.4f}", f"{model:.4f}"]
    assert row_of(out, r"0.02\s+Insult")[2:] == ["2,290", "9,160", "0.71", "34,315", "86", "0.75"]
    for sentence in (
        "Human panel: USD 7,416.00",
        "GPT-4o: USD 75.50 (batch prices of October 2024)",
        "SmolLM2 135M: not known, give --cost-per-pair",
        "Stimuli (10 of each topic and 10 of each identity) are treated as fixed",
        "Curse word, Likes",
    ):
        assert sentence in out
    table = pd.read_csv("power.csv")
    assert len(table) == 15 * 3 * 23
    assert set(table["judge"]) == set(study.judge_labels)
    paid = table[(table["judge"] == "gpt4o") & (table["question"] == "detectable effect")]
    assert paid["cost"].tolist() == [75.5] * 23
    assert table.loc[table["judge"] == "qwen2_2b", "cost"].isna().all()
    assert Path("power.png").read_bytes().startswith(b"\x89PNG")


def test_options_change_sizes_prices_and_judges(ran: Told, study: Study) -> None:
    out = ran("power moderation --judge gemma3_4b --pairs 5000 --cost-per-pair 0.01 --effect 0.05 --tests 18")
    assert "Human panel" not in out
    assert "Gemma 3 4B: USD 50.00" in out
    assert "at alpha 0.00278" in out
    pairs = power(study, amce=0.05, power=0.8, tests=18, features=["reply"]).frame["pairs"]
    assert row_of(out, r"0.05\s+Reply")[2] == f"{-(-pairs.max() // 1):,.0f}"


def test_repeats_are_shown_paid_for_and_used_by_corrected_effects(ran: Told, study: Study) -> None:
    out = ran(f"{HUMAN} --effect 0.05 --reliability 0.8 --repeated-tasks 4 --out power.csv")
    needed = power(
        study,
        amce=0.05,
        power=0.8,
        features=["slur"],
        tasks=15,
        reliability=0.8,
        repeats=4,
        estimand="corrected",
    ).frame
    respondents = int(-(-needed["respondents"].max() // 1))
    row = row_of(out, r"0.05\s+Insult")
    assert row[2:4] == [f"{respondents:,}", f"{respondents * 4 * 19 / 16:,.0f}"]
    assert "1,854 x (15 + 4) pairs" in out
    assert "reliability estimated from 4 repeated tasks per respondent" in out
    table = pd.read_csv("power.csv")
    assert (table["tasks_shown"] == 19).all()
    assert table["pairs_shown"].tolist() == pytest.approx((table["respondents"] * 19).tolist())


@pytest.mark.long
def test_repeats_of_the_study_are_paid_for_and_serve_no_observed_effect(ran: Told) -> None:
    out = ran(f"{HUMAN} --reliability 0.8")
    assert "Human panel: USD 7,416.00" in out
    assert "1,854 x (15 + 1) pairs" in out
    assert out.count("only corrected effects use repeats") == 1
    out = ran(f"{HUMAN} --repeated-tasks 0")
    assert "Human panel: USD 6,952.50" in out
    assert "repeats" not in out
    assert "Human panel: USD 11,124.00" in ran(f"{HUMAN} --repeated-tasks 5 --cost-per-respondent 6")


def test_the_limit_of_few_stimuli_is_told(ran: Told) -> None:
    out = ran("power moderation --judge gpt4o --effect 0.02 --stimulus-sd 0.03")
    assert "No number of pairs brings the power for identity and topic above 0.29" in out
    assert row_of(out, r"0.02\s+Author, Topic")[2] == "no number"


def both_judged(study: Study, people: int) -> None:
    """Write choices of people and a model that agrees with them in four of five of their tasks."""
    drawn = simulate(
        study, seed=1, respondents=people, pairs=600, judges=["human", "gpt4o"], prompts=["baseline"]
    ).choices
    human = drawn[(drawn["judge_kind"] == "human") & ~drawn["repeat"].astype(bool)]
    model = drawn[drawn["judge_kind"] == "model"].iloc[0]
    pairs = human["pair_id"].unique()
    other = pd.Series(np.random.default_rng(1).random(len(pairs)) > 0.8, index=pairs)
    differs = human["pair_id"].map(other).to_numpy(bool)
    asked = human.assign(
        judge_id=model["judge_id"],
        judge_kind="model",
        panel=pd.NA,
        prompt_id="baseline",
        task=pd.NA,
        chosen=np.where(differs, 1 - human["chosen"], human["chosen"]),
    )
    both = pd.concat([drawn, asked.astype(drawn.dtypes.to_dict())], ignore_index=True)
    write_table(both, Path("choices.parquet"))


@pytest.mark.slow
def test_people_needed_with_a_model_are_planned_from_choices_of_both(
    ran: Told, refused: Told, study: Study
) -> None:
    both_judged(study, 40)
    command = "power moderation --with gpt4o --data choices.parquet --effect 0.05"
    out = " ".join(ran(f"{command} --budget 2000 --out plan.csv --figure plan.png").split())
    for sentence in (
        "40 people with 15 tasks each, corrected by GPT-4o with answers to 600 other pairs",
        "People needed for power 0.8, hardest level of each attribute",
        "Best split of USD 2,000.00, enough for 500 people without a model",
    ):
        assert sentence in out
    plan = pd.read_csv("plan.csv")
    assert set(plan["people"]) == {25, 50, 100, 200, 400, 800, 1600, 1854}
    assert plan["cost_human"].tolist() == (4.0 * plan["people"]).tolist()
    assert (plan["width"] < plan["width_human"]).mean() > 0.5
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")
    assert "no such model" in refused(command.replace("gpt4o", "gpt4"))
    assert "--icc cannot be combined with --with" in refused(f"{command} --icc 0.1")


@pytest.mark.long
def test_a_plan_with_few_people_says_that_it_is_uncertain(ran: Told, study: Study) -> None:
    both_judged(study, 5)
    command = "power moderation --with gpt4o --data choices.parquet --effect 0.05 --out plan.csv"
    out = " ".join(ran(command).split())
    assert set(pd.read_csv("plan.csv")["people"]) >= {25, 1854}
    assert not Path("plan_strata.csv").exists()
    assert "5 people with 15 tasks each, corrected by GPT-4o with answers to 600 other pairs" in out
    assert "rho is estimated from 5 people, so it is uncertain" in out


@pytest.mark.slow
def test_tasks_of_people_are_shared_out_among_strata_and_drawn(
    ran: Told, refused: Told, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(design_card_page, "_draw", lambda *arguments: {})
    both_judged(study, 40)
    command = "power moderation --with gpt4o --data choices.parquet --effect 0.05 --respondents 20"
    out = " ".join(ran(f"{command} --strata reply --out plan.csv").split())
    assert "Tasks of 20 people by Reply of both profiles" in out
    assert "Reply agrees | Reply disagrees" in out
    design = (
        "conjury design moderation --people 20 --sample strata --strata reply --allocation plan_strata.csv"
    )
    assert f"Next: {design} --out FOLDER" in out
    strata = pd.read_csv("plan_strata.csv").set_index("stratum")
    assert strata["share"].sum() == pytest.approx(1)
    assert strata["tasks"].sum() == pytest.approx(300)
    drawn = f"{design.removeprefix('conjury ')} --pairs 1000 --out run"
    assert "with the planned share of each stratum of reply" in " ".join(ran(drawn).split())
    tasks = pd.read_csv("run/design/panel_tasks.csv").query("position == 'A' and repeat == False")
    assert len(tasks) == 300
    weighted = (1 / tasks["sampling_probability"]).sum()
    assert weighted == pytest.approx(1000, rel=0.1)
    assert "the choices have no column mood" in refused(f"{command} --strata mood")
    assert "name the shares of strata with --allocation" in refused(drawn.replace("plan_", "no_"))


@pytest.mark.parametrize(
    ("lacking", "cost", "note"),
    [
        (4, 0.002, "10 of 40 pairs have an answer of gpt4o without a cost and are excluded"),
        (1, None, "Every pair has an answer of gpt4o without a cost in choices_responses.parquet"),
    ],
)
def test_pairs_without_a_stated_cost_do_not_count_in_the_price(
    tmp_path: Path, lacking: int, cost: float | None, note: str
) -> None:
    responses = pd.DataFrame({"task_id": [f"pair_{number}" for number in range(40)], "cost": 0.002})
    responses["cost"] = responses["cost"].mask(responses.index % lacking == 0)
    again = responses.head(1).assign(task_id="pair_0_swapped", cost=0.002)
    table = pd.concat([responses, again], ignore_index=True).assign(judge_id="gpt4o", judge_kind="model")
    empty = dict.fromkeys(["model_returned", "logprobs", "error", "created"])
    table = table.assign(study="s", prompt_id="p", sample=1, text="A", finish_reason="stop", **empty)
    table["request_key"] = [f"k{number}" for number in range(len(table))]
    write_table(table, tmp_path / "choices_responses.parquet")
    found, notes = _cost_in_run([tmp_path / "choices.parquet"], "gpt4o")
    assert found == (None if cost is None else pytest.approx(cost))
    assert notes[-1].startswith(note)
    assert _cost_in_run([tmp_path / "other.parquet"], "gpt4o") == (None, [])
