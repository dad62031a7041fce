"""What the checks find in the public answers to the multi-turn jokes, whose defects are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from conjury.analysis.checks import Check, run_checks
from conjury.inference.readers.collected import CollectedData
from conjury.inference.study import load_any_study

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.shared
CHECKS = ("shifted_answers", "copied_runs", "missing_as_right", "strict_lenient", "below_majority")


@pytest.fixture(scope="module")
def jokes() -> Callable[..., dict[str, Check]]:
    import multiturn_tables as public

    judgments = public.judgments("published")
    completions = pd.concat(
        [pd.read_parquet(public.FOLDER / f"completions_{one}.parquet") for one in ("en", "es")]
    )
    responses = pd.DataFrame(
        {
            "study": "multiturn",
            "judge_id": completions["model"],
            "judge_kind": "model",
            "item_id": completions["item_id"],
            "prompt_id": completions["task"].map(public.PROMPTS),
            "sample": completions["run"],
            "text": completions["raw_completion"],
            "request_key": [f"k{k}" for k in range(len(completions))],
        }
    ).reset_index(drop=True)

    def run(names: tuple[str, ...], late: int = 0) -> dict[str, Check]:
        own = judgments
        if late:  # as the published evaluation pairs answers with jokes
            own = judgments[judgments["dimension"] == "joke_type"]
            moved = own.groupby(["judge_id", "sample", "language"], sort=False)["value"].shift(late)
            own = own.assign(value=moved)
        study = load_any_study("multiturn")
        labels = public.labels("raw")
        data = CollectedData(study=study, judgments=own, responses=responses, labels=labels)  # type: ignore[arg-type]
        return {check.name: check for check in run_checks(data, checks=names)}

    return run


@pytest.mark.long
def test_answers_that_the_published_evaluation_moves_by_one_joke_are_found(jokes):
    assert jokes(("shifted_answers",))["shifted_answers"].verdict == "pass"
    found = jokes(("shifted_answers",), late=1)["shifted_answers"]
    assert found.verdict == "error"
    assert found.table.loc[found.table["p_adjusted"] < 0.05, "lag"].unique().tolist() == [-1]


@pytest.mark.long
def test_runs_that_are_copies_blank_gold_labels_and_weak_judges_are_found(jokes):
    found = jokes(CHECKS)
    assert found["copied_runs"].verdict == "error"
    assert found["missing_as_right"].verdict == "error"
    assert "56 gold labels are blank" in found["missing_as_right"].finding
    assert found["strict_lenient"].verdict == "error"
    assert found["below_majority"].verdict == "warning"
    table = found["below_majority"].table
    assert (table["estimate"] < table["baseline"]).sum() >= 5
