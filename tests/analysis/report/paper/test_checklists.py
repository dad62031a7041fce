"""Checklists: filled from study, run and results, with fields for the author, whatever a study contains."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from made_up.results import write_diagnosed, write_results

from conjury.analysis.pipeline.manifest import RecordedResult
from conjury.analysis.report.paper.checklists import checklists_of, in_markdown
from conjury.analysis.report.paper.checklists.checklist_items import RESULTS, RUN, STUDY, Item
from conjury.analysis.report.paper.distribution import dependent_attributes
from conjury.analysis.report.paper.facts import Facts, RunFacts
from conjury.analysis.report.paper.preregistration import registration
from conjury.analysis.report.paper.registration_text import in_words
from conjury.analysis.report.report_data import ReportData
from conjury.inference.study import list_studies, load_any_study
from conjury.inference.study.study_fields import Combination
from conjury.inference.tables import write_table

pytestmark = pytest.mark.long

SERVED = {
    "judge_id": "gpt4o", "model_returned": "gpt-4o-2024-08-06", "system_fingerprint": "fp_1", "n": 1200,
    "first": "2026-03-01T10:00:00+00:00", "last": "2026-03-02T10:00:00+00:00",
}  # fmt: skip


def run_facts(**changed: object) -> RunFacts:
    who = {"judge_id": "gpt4o", "prompt_id": "baseline"}
    tokens = {"prompt_tokens": 90_000, "completion_tokens": 1200}
    how = {"model": "gpt-4o-2024-08-06", "backend": "openai", "answer": "token", "top_logprobs": 20}
    known = {
        "judges": {"gpt4o": {**how, "settings": {"temperature": 0}}},
        "served": [SERVED],
        "counts": pd.DataFrame([{**who, "state": "answered", "n": 1200, **tokens}]),
        "statuses": pd.DataFrame({**who, "status": ["ok", "refused"], "n": [1188, 12]}),
        "rules": ["choice@1"],
    }
    return RunFacts("run", **{**known, **changed})  # type: ignore[arg-type]


def items_of(facts: Facts, title: str = "GUIDE-LLM") -> dict[str, Item]:
    return {one.code: one for each in checklists_of(facts) if each.title == title for one in each.items}


@pytest.fixture(scope="module")
def moderation():
    return load_any_study("moderation")


def test_a_run_fills_versions_dates_settings_statuses_and_tokens_and_shows_who_answered(moderation) -> None:
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
    done = ("A.1", "B.1", "B.2", "B.3", "B.5", "E.2", "O.6", "O.8")
    assert {items[code].state for code in done} == {"done"}
    assert items["A.1"].answer.startswith("1 model answered as judges")
    assert items["A.2"].state == items["D.1"].state == "planned"
    assert items["A.2"].answer.startswith("Models answered automatically; people are to judge")
    people = pd.DataFrame({"state": ["finished", "left"]})
    items = items_of(Facts(moderation, run_facts(people=people)))
    assert items["A.2"].state == items["D.1"].state == "done"
    assert "people judged as well" in items["A.2"].answer
    assert items["A.2"].source == RUN


def written(
    folder: Path, answers: list[tuple[str, str, int]], groups: list[dict[str, object]], **manifest: object
) -> ReportData:
    """Results of the study moderation, with its answers and the groups of its first analysis."""
    (folder / "tables").mkdir(parents=True)
    entry = vars(RecordedResult("amce", "amce", "Effects", {"vcov": "survey"})) | {"groups": groups}
    made = {"format": 2, "study": "moderation", "results": [entry], "data": [], **manifest}
    (folder / "manifest.json").write_text(json.dumps(made), encoding="utf-8")
    table = pd.DataFrame(answers, columns=["judge", "prompt", "n"]).assign(status="ok")
    write_table(table, folder / "tables" / "answers.parquet")
    return ReportData(folder)


@pytest.mark.parametrize("name", list_studies())
def test_nothing_is_done_where_only_a_study_file_exists(name: str) -> None:
    facts = Facts(load_any_study(name))
    items = [one for each in checklists_of(facts) for one in each.items]
    assert {one.state for one in items} <= {"planned", "not done", "not applicable", "author"}
    assert {one.source for one in items if one.state == "planned"} == {STUDY}
    text = in_markdown(facts, checklists_of(facts))
    for claim in ("answered as judges", "answered automatically", "was retained", "Compared: "):
        assert claim not in text
    assert "| planned in the study file |" in text
    assert re.search(r"\d+ items planned in the study file", text)


def test_people_who_answered_in_the_results_alone_are_shown_by_run_and_results(moderation, tmp_path) -> None:
    data = written(tmp_path / "r", [("gpt4o", "baseline", 600), ("human", "", 900)], [])
    item = items_of(Facts(moderation, run_facts(), data))["A.2"]
    assert (item.source, item.state) == (f"{RUN}, {RESULTS}", "done")
    item = items_of(Facts(moderation, None, data))["A.2"]
    assert (item.source, item.state) == (STUDY, "planned")


def test_answers_are_simulated_by_the_backend_the_model_or_the_results(moderation, tmp_path) -> None:
    how = {"model": "gpt-4o", "backend": "simulated", "answer": "token", "settings": {}}
    answers = [("gpt4o", "baseline", 600)]
    real, made_up = (
        written(tmp_path / str(is_made_up), answers, [], simulated=is_made_up) for is_made_up in (False, True)
    )
    for facts, is_simulated in (
        (Facts(moderation), False),
        (Facts(moderation, run_facts()), False),
        (Facts(moderation, run_facts(judges={"gpt4o": how})), True),
        (Facts(moderation, run_facts(served=[SERVED, {**SERVED, "model_returned": "simulated"}])), True),
        (Facts(moderation, run_facts(), real), False),
        (Facts(moderation, run_facts(), made_up), True),
    ):
        assert facts.is_simulated is is_simulated


def test_requests_without_answers_are_no_answers(moderation) -> None:
    pending = run_facts().counts.assign(state="pending")
    items = items_of(Facts(moderation, run_facts(counts=pending, served=[], rules=[])))
    assert {items[code].state for code in ("A.1", "B.1", "B.3", "B.5", "E.2")} == {"planned"}


def test_the_sample_size_is_that_of_the_results(moderation, tmp_path) -> None:
    groups: list[dict[str, object]] = [
        {"judge": "gpt4o", "prompt": "baseline", "variant": "", "n_rows": 600, "id": "pair_id"},
        {"judge": "gpt4o", "prompt": "context", "variant": "", "n_rows": 590, "id": "pair_id"},
        {"judge": "gpt4o", "prompt": "context", "variant": "as_published", "n_rows": 10, "id": "pair_id"},
        {"judge": "human", "prompt": "", "variant": "", "n_rows": 1800, "n_clusters": 60, "id": "judge_id"},
    ]
    plan = "30,000 pairs per model; 1,854 respondents with 15 tasks each."
    before = items_of(Facts(moderation), "Conjoint practice")["5"]
    assert (before.state, before.answer) == ("planned", plan)
    data = written(tmp_path / "r", [("gpt4o", "baseline", 600)], groups)
    after = items_of(Facts(moderation, None, data), "Conjoint practice")["5"]
    assert (after.state, after.source) == ("done", RESULTS)
    assert after.answer == (
        "Analysed: 1 model with 295 to 300 pairs under each prompt; Human panel: 900 tasks of 60 "
        f"respondents. Planned: {plan}"
    )
    counted = written(tmp_path / "s", [("gpt4o", "baseline", 600), ("human", "", 9)], [])
    answer = items_of(Facts(moderation, None, counted), "Conjoint practice")["5"].answer
    assert answer.startswith("Answers to pairs, repeats included: GPT-4o 600, Human panel 9.")


def restricted(study, *rules: dict[str, list[str]]):
    """A study in which some combinations of levels are excluded."""
    design = study.design.model_copy(update={"restrictions": [Combination(levels=rule) for rule in rules]})
    changed = study.model_copy(update={"design": design})
    changed._file = study._file
    return changed


def test_attributes_that_restrictions_tie_are_not_called_independent(moderation) -> None:
    study = restricted(moderation, {"identity": ["anonymous"], "topic": ["politics"]})
    authors, topics = study.levels("identity"), study.levels("topic")
    left = [pair for pair in product(authors, topics) if pair != ("anonymous", "politics")]
    share = Counter(author for author, _ in left)["anonymous"] / len(left)
    answer, excluded = (items_of(Facts(study), "Conjoint practice")[code].answer for code in "34")
    assert excluded.startswith("Never shown: Author Anonymous with Topic Politics. ")
    free = items_of(Facts(moderation), "Conjoint practice")["4"].answer
    assert free == "No combination of levels is excluded."
    assert answer.startswith("Author and Topic restrict each other, so they are not independent.")
    assert f"Author: Anonymous {share:.3g}, " in answer
    assert "0.167" in answer
    assert "0.208" in answer
    assert answer.endswith("Levels of other attributes are equally likely.")
    text = in_words(registration(study, template="dce"))
    without = in_words(registration(moderation, template="dce"))
    assert ("drawn again" in text, "drawn again" in without) == (True, False)
    assert "Author and Topic restrict each other, so they are not independent." in text
    assert "Anonymous 0.167" in text
    assert "drawn independently" not in text


def test_attributes_that_are_tied_through_others_are_one_group(moderation) -> None:
    chain = restricted(
        moderation,
        {"slur": [moderation.levels("slur")[0]], "topic": ["politics"]},
        {"curse": [moderation.levels("curse")[0]], "engagement": [moderation.levels("engagement")[0]]},
        {"identity": ["anonymous"], "topic": ["politics"]},
    )
    assert dependent_attributes(chain) == [["slur", "identity", "topic"], ["curse", "engagement"]]
    assert dependent_attributes(moderation) == []


def test_checks_reliability_and_power_of_results_answer_the_conjoint_list(moderation, tmp_path) -> None:
    before = items_of(
        Facts(moderation, None, ReportData(write_results(tmp_path / "fit"))), "Conjoint practice"
    )
    after = items_of(
        Facts(moderation, None, ReportData(write_diagnosed(tmp_path / "full"))), "Conjoint practice"
    )
    assert before["22"].state == "not done"
    assert "conjury check" in before["22"].answer
    assert after["22"].state == "done"
    assert re.search(r"\d% of \d+ repeated tasks answered alike", after["22"].answer)
    assert after["9"].answer.startswith("Under one prompt of each judge, the largest effect is")


def test_a_single_uneven_attribute_is_named_in_the_distribution(moderation) -> None:
    assert "equally likely" in items_of(Facts(moderation), "Conjoint practice")["3"].answer
    first, *others = moderation.attributes
    shares = zip(first.levels, [0.4] + [0.1] * 6, strict=True)
    levels = [level.model_copy(update={"probability": share}) for level, share in shares]
    attributes = [first.model_copy(update={"levels": levels}), *others]
    uneven = moderation.model_copy(update={"attributes": attributes})
    uneven._file = moderation._file
    answer = items_of(Facts(uneven), "Conjoint practice")["3"].answer
    assert "Generic insult 0.4, Sexist slur 0.1" in answer


def test_text_of_a_study_cannot_act_in_a_checklist(moderation) -> None:
    hostile = moderation.model_copy(
        update={"title": "<script>|*x*|</script>", "question": "a | b `c` $d$ @e"}
    )
    hostile._file = moderation._file
    text = in_markdown(Facts(hostile), checklists_of(Facts(hostile)))
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
