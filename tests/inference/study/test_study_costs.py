from pathlib import Path

import pytest
import yaml

from conjury.inference.errors import InputError
from conjury.inference.study import Study, load_study


def with_costs(folder: Path, costs: object) -> Study:
    source = load_study("moderation").folder
    content = yaml.safe_load((source / "study.yaml").read_text(encoding="utf-8"))
    content["prompts"] = []
    del content["content"], content["collect"]
    content["costs"] = costs
    if costs is None:
        del content["costs"]
    (folder / "study.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return load_study(folder)


def test_the_moderation_study_knows_what_respondents_and_one_model_cost():
    costs = load_study("moderation").costs
    assert (costs.currency, costs.per_respondent) == ("USD", 4.0)
    assert costs.per_pair("gpt4o") == pytest.approx(75.5 / 30_000)
    assert costs.per_pair("gemma3_27b") is None
    assert costs.judges[0].note == "batch prices of October 2024"


def test_a_study_needs_no_costs(tmp_path):
    assert with_costs(tmp_path, None).costs is None


def test_a_cost_without_pairs_is_that_of_one_pair(tmp_path):
    study = with_costs(tmp_path, {"currency": "EUR", "judges": [{"judge": "gpt4o", "cost": "1/4"}]})
    assert (study.costs.per_pair("gpt4o"), study.costs.per_respondent) == (0.25, None)


@pytest.mark.parametrize(
    ("costs", "remedy"),
    [
        ({"currency": "USD", "judges": [{"judge": "gpt4", "cost": 1}]}, "did you mean 'gpt4o'"),
        ({"currency": "USD", "judges": [{"judge": "human", "cost": 1}]}, "give their cost as per_respondent"),
        ({"currency": "USD", "judges": [{"judge": "gpt4o", "cost": 1}] * 2}, "'gpt4o' is given twice"),
        (
            {"currency": "USD", "judges": [{"judge": "gpt4o", "cost": -1}]},
            "a number of at least 0 belongs here",
        ),
        ({"currency": "USD", "per_respondent": float("inf")}, "finite number"),
        ({"currency": "USD", "per_task": 1}, "'per_task' is unknown"),
        ({"per_respondent": 4}, "costs.currency is missing"),
    ],
)
def test_wrong_costs_are_refused_with_a_remedy(tmp_path, costs, remedy):
    with pytest.raises(InputError, match=remedy) as refused:
        with_costs(tmp_path, costs)
    assert f"{tmp_path / 'study.yaml'}:" in str(refused.value)
