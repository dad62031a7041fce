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

    judgments, labels = public.judgments("published"), public.labels("raw")
    items = pd.read_parquet(public.FOLDER / "items.parquet")
    languages = [pd.read_parquet(public.FOLDER / f"completions_{one}.parquet") for one in ("en", "es")]
    completions = pd.concat(languages)
    same = {"model": "judge_id", "run": "sample", "raw_completion": "text"}
    responses = completions.rename(columns=same)[["judge_id", "item_id", "sample", "text"]].assign(
        prompt_id=completions["task"].map(public.PROMPTS), judge_kind="model", study="multiturn"
    )
    responses = responses.assign(request_key=[f"k{k}" for k in range(len(responses))]).reset_index(drop=True)

    def run(names: tuple[str, ...], late: int = 0, alone: bool = False) -> dict[str, Check]:
        own = judgments
        if late:  # as the published evaluation pairs answers with jokes
            own = judgments[judgments["dimension"] == "joke_type"]
            moved = own.groupby(["judge_id", "sample", "language"], sort=False)["value"].shift(late)
            own = own.assign(value=moved)
        study = load_any_study("multiturn")
        tables = {"items": items} if alone else {"judgments": own, "responses": responses}
        data = CollectedData(study=study, labels=labels, **tables)  # type: ignore[arg-type]
        return {check.name: check for check in run_checks(data, checks=names)}

    return run


@pytest.mark.long
def test_answers_that_the_published_evaluation_moves_by_one_joke_are_found(jokes):
    assert jokes(("shifted_answers",))["shifted_answers"].verdict == "pass"
    found = jokes(("shifted_answers",), late=1)["shifted_answers"]
    assert found.verdict == "error"
    assert found.table.loc[found.table["p_adjusted"] < 0.05, "lag"].unique().tolist() == [-1]


@pytest.mark.slow
def test_runs_that_are_copies_blank_gold_labels_and_weak_judges_are_found(jokes):
    found = jokes(CHECKS)
    assert found["copied_runs"].verdict == "error"
    assert found["missing_as_right"].verdict == "error"
    assert "56 gold labels are blank" in found["missing_as_right"].finding
    assert found["strict_lenient"].verdict == "error"
    assert found["below_majority"].verdict == "warning"
    table = found["below_majority"].table
    assert (table["estimate"] < table["baseline"]).sum() >= 5


@pytest.mark.long
def test_items_with_other_numbers_of_labels_than_lines_and_repeated_texts_are_found(jokes):
    names = ("lengths", "items_in_strata", "hidden_instructions", "mangled_text", "unchanged_copies")
    found = jokes(names, alone=True)
    assert found["lengths"].verdict == found["items_in_strata"].verdict == "error"
    differ = "differs from the number of lines in 173 of 214 items of English (80.8%)"
    assert differ in found["lengths"].finding
    lengths = found["lengths"].table.set_index("label")
    assert lengths.loc["gold labels and lines of Spanish", ["n", "n_differ"]].tolist() == [173, 0]
    assert found["items_in_strata"].table["n"].tolist() == [4, 1, 0, 2]  # alike, nearly, across, other gold
    assert found["hidden_instructions"].verdict == found["mangled_text"].verdict == "pass"
    assert found["unchanged_copies"].verdict == "not_applicable"  # no texts of perturbed jokes
