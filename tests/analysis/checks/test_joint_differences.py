"""The verdict on differences of effects and the difference that is named as its reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.checks import Check
from conjury.analysis.checks.answers.order.carry_over import REMEDIES, SHOWN, SIDE
from conjury.analysis.checks.group_effects import difference_frame, judge_differences
from conjury.analysis.checks.judged import JudgedChoices, split
from conjury.analysis.checks.registry import Question
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

QUESTION = Question("CJ304", "order", "Order", "Are they the same?", "They differ.", "Do both.", "test")


@pytest.fixture(scope="module")
def group() -> JudgedChoices:
    study = load_study("moderation")
    made = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=20, truth=False)
    return split(study, made.choices)[0]


def of_judge(
    group: JudgedChoices, judge: str, differences: dict[str, float], errors: list[float]
) -> tuple[JudgedChoices, pd.DataFrame]:
    keys = pd.DataFrame({"feature": "f", "level": list(differences)})
    estimate = np.array(list(differences.values()))
    return replace(group, judge=judge), difference_frame(
        keys, estimate, np.diag(errors) ** 2, clusters=1000, alpha=0.05
    )


def named(check: Check) -> tuple[float, list[str], str]:
    values = check.finding.values
    return round(values["estimate"], 3), values["level"], values["who2"].judge


def test_the_difference_named_is_one_that_causes_the_failure(group: JudgedChoices) -> None:
    precise = of_judge(group, "precise", {"true": 0.09, "null": 0.001}, [0.01, 0.01])
    noisy = of_judge(group, "noisy", {"chance": -0.3, "null": 0.01}, [0.2, 0.2])
    found = judge_differences(QUESTION, [precise, noisy], [], 0.05, "differences")
    assert found.verdict == "error"
    assert named(found) == (0.09, ["f", "true"], "precise")


def test_the_difference_named_lies_where_a_joint_test_rejects(group: JudgedChoices) -> None:
    precise = of_judge(group, "precise", {"true": 0.04, "null": 0.001}, [0.005, 0.005])
    noisy = of_judge(group, "noisy", {"chance": -0.3, "null": 0.01}, [0.2, 0.2])
    found = judge_differences(QUESTION, [precise, noisy], [], 0.05, "differences")
    assert found.verdict == "warning"
    assert named(found) == (0.04, ["f", "true"], "precise")


def test_without_a_rejection_the_largest_of_all_is_named(group: JudgedChoices) -> None:
    noisy = of_judge(group, "noisy", {"chance": -0.3, "null": 0.01}, [0.2, 0.2])
    found = judge_differences(QUESTION, [noisy], [], 0.05, "differences")
    assert found.verdict == "pass"
    assert named(found) == (-0.3, ["f", "chance"], "noisy")
    assert found.finding.startswith("0 of 1 joint test finds")


def test_the_remedy_is_that_of_the_test_that_rejects(group: JudgedChoices) -> None:
    judge, side = of_judge(group, "panel", {"same": 0.1}, [0.01])
    _, shown = of_judge(group, "panel", {"before": 0.001}, [0.01])
    table = pd.concat([side.assign(test=SIDE), shown.assign(test=SHOWN)])
    found = judge_differences(QUESTION, [(judge, table)], [], 0.05, "traces", "test", REMEDIES)
    assert found.remedy == REMEDIES[SIDE]
