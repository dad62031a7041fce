"""Checklists: filled from study, run and results, with fields for the author, whatever a study contains."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from made_up_results import write_diagnosed, write_results

from conjury.analysis.report.data import ReportData
from conjury.analysis.report.paper.checklists import checklists_of, in_markdown
from conjury.analysis.report.paper.checklists.items import Item
from conjury.analysis.report.paper.facts import MARK, Facts, RunFacts
from conjury.inference.study import list_studies, load_any_study

SERVED = {
    "judge_id": "gpt4o", "model_returned": "gpt-4o-2024-08-06", "system_fingerprint": "fp_1", "n": 1200,
    "first": "2026-03-01T10:00:00+00:00", "last": "2026-03-02T10:00:00+00:00",
}  # fmt: skip


def run_facts(**changed: object) -> RunFacts:
    counts = pd.DataFrame(
        [("gpt4o", "baseline", "answered", 1200, 90_000, 1200)],
        columns=["judge_id", "prompt_id", "state", "n", "prompt_tokens", "completion_tokens"],
    )
    statuses = pd.DataFrame(
        {"judge_id": "gpt4o", "prompt_id": "baseline", "status": ["ok", "refused"], "n": [1188, 12]}
    )
    how = {"model": "gpt-4o-2024-08-06", "backend": "openai", "answer": "token", "top_logprobs": 20}
    asked = {"gpt4o": {**how, "settings": {"temperature": 0}}}
    known = {
        "judges": asked,
        "served": [SERVED],
        "counts": counts,
        "statuses": statuses,
        "rules": ["choice@1"],
    }
    return RunFacts("run", **{**known, **changed})  # type: ignore[arg-type]


def items_of(facts: Facts, title: str = "GUIDE-LLM") -> dict[str, Item]:
    return {one.code: one for each in checklists_of(facts) if each.title == title for one in each.items}


@pytest.fixture(scope="module")
def moderation():
    return load_any_study("moderation")


def test_guide_has_its_fourteen_core_and_eight_optional_items(moderation) -> None:
    codes = list(items_of(Facts(moderation)))
    core = ["A.1", "A.2", "B.1", "B.2", "B.3", "B.4", "B.5", "C.1", "C.2", "D.1", "E.1", "E.2", "F.1", "G.1"]
    assert codes == [*core, *(f"O.{k}" for k in range(1, 9))]


def test_a_run_fills_versions_dates_settings_statuses_and_tokens(moderation) -> None:
    items = items_of(Facts(moderation, run_facts()))
    assert (
        "gpt-4o-2024-08-06, fingerprint fp_1, 1,200 answers from 2026-03-01 to 2026-03-02"
        in items["B.1"].answer
    )
    assert items["B.1"].source == "record of the run"
    assert items["B.3"].answer.startswith("GPT-4o: temperature 0, ")
    assert "ok 1,188, refused 12" in items["E.2"].answer
    assert items["O.8"].answer == "1,200 requests, 90,000 tokens in and 1,200 tokens out."
    assert "Gemini" not in items["B.1"].answer


def test_without_a_run_nothing_is_claimed_about_one(moderation) -> None:
    items = items_of(Facts(moderation))
    assert items["B.1"].source == "study file"
    assert items["O.8"].answer == ""
    assert items["O.6"].author
    assert items["E.1"].state == "author"


def test_what_only_the_author_knows_is_marked(moderation) -> None:
    facts = Facts(moderation, run_facts())
    text = in_markdown(facts, checklists_of(facts))
    open_fields = sum(bool(one.author) for each in checklists_of(facts) for one in each.items)
    assert text.count(f"**{MARK}:") == open_fields > 8
    for code in ("G.1", "B.4", "D.1", "A.1"):
        assert items_of(facts)[code].author


def test_checks_reliability_and_power_of_results_answer_the_conjoint_list(moderation, tmp_path) -> None:
    before = items_of(
        Facts(moderation, None, ReportData(write_results(tmp_path / "fit"))), "Conjoint practice"
    )
    after = items_of(
        Facts(moderation, None, ReportData(write_diagnosed(tmp_path / "full"))), "Conjoint practice"
    )
    assert before["22"].state == "not done"
    assert "conjury diagnose" in before["22"].answer
    assert after["22"].state == "done"
    assert re.search(r"\d% of \d+ repeated tasks answered alike", after["22"].answer)
    assert after["9"].answer.startswith("The largest effect is")


def test_a_single_uneven_attribute_is_named_in_the_distribution(moderation) -> None:
    assert "equally likely" in items_of(Facts(moderation), "Conjoint practice")["3"].answer
    attribute = moderation.attributes[0]
    shares = [0.4] + [0.1] * 6
    levels = [
        level.model_copy(update={"probability": share})
        for level, share in zip(attribute.levels, shares, strict=True)
    ]
    uneven = moderation.model_copy(
        update={"attributes": [attribute.model_copy(update={"levels": levels}), *moderation.attributes[1:]]}
    )
    uneven._file = moderation._file
    answer = items_of(Facts(uneven), "Conjoint practice")["3"].answer
    assert "Generic insult 0.4, Sexist slur 0.1" in answer


def test_prompts_are_printed_in_full_with_what_they_include(moderation) -> None:
    facts = Facts(moderation)
    texts = dict(checklists_of(facts)[0].texts)
    assert len(texts) == len({prompt.template for prompt in moderation.prompts})
    assert not [text for text in texts.values() if "{% include" in text]
    assert all(text in in_markdown(facts, checklists_of(facts)) for text in texts.values())


def test_text_of_a_study_cannot_act_in_a_checklist(moderation) -> None:
    hostile = moderation.model_copy(
        update={"title": "<script>|*x*|</script>", "question": "a | b `c` $d$ @e"}
    )
    hostile._file = moderation._file
    text = in_markdown(Facts(hostile), checklists_of(Facts(hostile)))
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


@pytest.mark.parametrize("name", list_studies())
def test_every_study_that_ships_has_checklists(name: str) -> None:
    facts = Facts(load_any_study(name))
    text = in_markdown(facts, checklists_of(facts))
    assert text.startswith("# Checklists: ")
    assert "None" not in re.sub(r"~~~~.*?~~~~", "", text, flags=re.S)


def test_simulated_answers_are_called_so(moderation, tmp_path: Path) -> None:
    asked = {"gpt4o": {**run_facts().judges["gpt4o"], "backend": "simulated"}}
    facts = Facts(moderation, run_facts(judges=asked))
    assert "Answers are simulated" in in_markdown(facts, checklists_of(facts))
    real = Facts(moderation, run_facts())
    assert "Answers are simulated" not in in_markdown(real, checklists_of(real))
