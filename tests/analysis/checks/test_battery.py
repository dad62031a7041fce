"""The battery as a whole: which checks are run, one error rate for all that test, suppression."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.checks import Check, run_checks
from conjury.analysis.checks.check_runner import check_collected, control_error_rate, load_checks, pick_codes
from conjury.analysis.checks.registry import CHECKS, Question, Verdict, check, exceeds
from conjury.inference.errors import InputError
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_any_study

ASK = Question("CJ199", "made_up", "Made up", "Is it?", "It follows.", "Do it.", "test")


def answer(p: float | None, verdict: Verdict = "warning", least: Verdict = "pass") -> Check:
    table = pd.DataFrame({"judge": ["a"], "prompt": ["b"], "estimate": [0.1]})
    return ASK.answer(table, verdict, "It was found.", p=p, least=least)


def verdicts(*checks: Check) -> list[str]:
    return [one.verdict for one in control_error_rate(checks, 0.05)]


def test_an_alarm_that_does_not_survive_all_tests_passes_and_says_so() -> None:
    alarm, *rest = control_error_rate([answer(0.02), answer(0.4, "pass"), answer(0.9, "pass")], 0.05)
    assert (alarm.verdict, alarm.consequence, alarm.remedy) == ("pass", "", "")
    assert alarm.finding == "It was found. Adjusted over all checks, p = 0.060, so the test passes."
    assert [one.verdict for one in rest] == ["pass", "pass"]
    assert answer(0.4).figure
    assert not ASK.answer(answer(0.4).table.drop(columns="estimate"), "pass", "No numbers.").figure


def test_alarms_are_rejected_step_by_step() -> None:
    assert verdicts(answer(0.012), answer(0.024), answer(0.04)) == ["warning"] * 3
    assert verdicts(answer(0.012), answer(0.026), answer(0.04)) == ["warning", "pass", "pass"]


def test_checks_without_a_p_value_neither_change_nor_cost_power() -> None:
    rules = [answer(None, "error"), answer(np.nan, "warning")]
    assert verdicts(answer(0.04), *rules) == ["warning", "error", "warning"]


def test_what_a_rule_gives_without_the_test_remains() -> None:
    tests = [answer(0.04, "pass"), answer(0.9, "pass")]
    [kept, *_] = control_error_rate([answer(0.04, "error", "warning"), *tests], 0.05)
    assert (kept.verdict, kept.remedy) == ("warning", "Do it.")
    assert "so the test passes" in kept.finding
    [only, *_] = control_error_rate([answer(0.5, "warning", "warning"), *tests], 0.05)
    assert (only.verdict, only.finding) == ("warning", "It was found.")


@pytest.mark.parametrize(
    ("selectors", "first", "last"),
    [(["CJ102"], "CJ102", "CJ102"), (["CJ1"], "CJ101", None), (["design_card", "CJ3"], "CJ101", None)],
)
def test_checks_are_chosen_by_code_beginning_or_name(selectors, first, last) -> None:
    found = pick_codes(selectors)
    assert found[0] == first
    assert last is None or found == (last,)
    assert set(found) <= {question.code for question, _ in CHECKS.values()}
    assert list(found) == sorted(found)


@pytest.mark.parametrize("selector", ["CJ999", "desing_card", "", "C", "cj101"])
def test_unknown_checks_are_refused(selector: str) -> None:
    with pytest.raises(InputError, match=f"--select: there is no check '{selector}'"):
        pick_codes([selector], "--select")


def test_a_share_among_few_does_not_exceed_a_limit_by_a_single_case() -> None:
    assert not exceeds(1, 50, 0.01)
    assert exceeds(4, 50, 0.01)
    assert not exceeds(0, 0, 0.01)
    assert exceeds(5, 5, 0.01)


def test_two_checks_cannot_have_one_code() -> None:
    with pytest.raises(ValueError, match="have the same code, CJ101"):
        check(Question("CJ101", "another", "A", "A?", "B.", "C.", "rule"))(lambda: answer(None))
    assert "another" not in CHECKS


def test_a_check_without_what_it_needs_does_not_apply() -> None:
    found = run_checks(CollectedData())
    assert {one.verdict for one in found} <= {"not_applicable", "pass"}
    position = next(one for one in found if one.name == "position_share")
    assert (position.verdict, position.finding) == ("not_applicable", "There are no choices of a conjoint.")


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InputError, match="alpha is 2"):
        run_checks(CollectedData(), alpha=2)
    with pytest.raises(InputError, match="seed is -1"):
        run_checks(CollectedData(), seed=-1)


@pytest.mark.long
def test_random_designs_are_those_of_seed_1_unless_another_is_named(study: Study) -> None:
    choices = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=40, truth=False).choices
    data = CollectedData(study=study, choices=choices)
    usual, first, second = (
        run_checks(data, checks=["attribute_independence"], **seed)[0].table
        for seed in ({}, {"seed": 1}, {"seed": 2})
    )
    pd.testing.assert_frame_equal(usual, first)
    assert (usual["upper"] != second["upper"]).any()


@pytest.fixture
def with_checks(tmp_path: Path, study: Study):
    """Write a study file with a section about checks."""

    def write(section: str) -> Path:
        folder = tmp_path / "suppressing"
        shutil.copytree(study.folder, folder, dirs_exist_ok=True)
        text = (study.folder / "study.yaml").read_text(encoding="utf-8")
        (folder / "study.yaml").write_text(f"{text}\n{section}\n", encoding="utf-8")
        return folder / "study.yaml"

    return write


@pytest.mark.long
def test_a_suppressed_check_is_run_and_carries_its_reason(with_checks, study: Study) -> None:
    file = with_checks('checks: {ignore: [{code: CJ108, because: "Ten texts are all there are."}]}')
    choices = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=200, truth=False).choices
    [found] = run_checks(CollectedData(study=load_any_study(file), choices=choices), checks=["CJ108"])
    assert found.verdict == "warning"
    assert found.suppressed == "Ten texts are all there are."
    assert not found.alarming
    [again] = run_checks(
        CollectedData(study=study, choices=choices), checks=["CJ108"], ignore={"CJ108": "Known."}
    )
    assert (again.verdict, again.suppressed) == ("warning", "Known.")


TWICE = "{code: CJ108, because: x}, {code: CJ108, because: y}"
UNKNOWN = "checks:\n  ignore:\n    - {code: CJ101, because: x}\n    - {code: CJ198, because: y}"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("checks: {ignore: [{code: CJ108}]}", r"because is missing; add it"),
        ('checks: {ignore: [{code: CJ108, because: "  "}]}', r"checks.ignore.0.because"),
        ("checks: {ignore: [{code: stimuli, because: x}]}", r"checks.ignore.0.code"),
        (f"checks: {{ignore: [{TWICE}]}}", r"check 'CJ108' is given twice"),
        ("checks: {skip: [CJ108]}", r"'skip' is unknown here; .*ignore"),
        (UNKNOWN, "there is no check CJ198"),
    ],
)
def test_a_bad_suppression_is_refused_with_its_line(with_checks, section: str, message: str) -> None:
    file = with_checks(section)
    line = len(file.read_text(encoding="utf-8").splitlines())
    with pytest.raises(InputError, match=rf"study.yaml:{line}: .*{message}"):
        check_collected(file)


OWN = """
from conjury.analysis.checks.registry import Question, check

ASK = Question("MY301", "highest_rating", "Highest", "Is it?", "It follows.", "Do it.", "rule")

@check(ASK)
def highest_rating(judgments):
    table = judgments[["judge_id"]].drop_duplicates().rename(columns={"judge_id": "judge"})
    table.insert(1, "prompt", "")
    return ASK.answer(table, "warning", f"{len(judgments)} judgments.")
"""


@pytest.fixture
def own_checks() -> Iterator[None]:
    """Checks that a test registers are gone after it."""
    before = dict(CHECKS)
    yield
    CHECKS.registered.clear()
    CHECKS.registered.update(before)


def test_a_check_of_a_users_file_is_run_selected_and_suppressed_like_others(
    own_checks: None, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    assert load_checks(tmp_path / "mine.py") == ("MY301",)
    assert load_checks(tmp_path / "mine.py") == ("MY301",)  # again, as in a notebook
    judgments = pd.DataFrame({"judge_id": ["a", "b"], "judge_kind": "human", "item_id": "i", "value": [1, 2]})
    collected = CollectedData(judgments=judgments)
    for selector in ("MY301", "MY", "highest_rating"):
        (found,) = run_checks(collected, checks=[selector])
        assert (found.code, found.verdict, found.finding) == ("MY301", "warning", "2 judgments.")
    assert [one.code for one in run_checks(collected, checks=["MY3", "CJ312"])] == ["CJ312", "MY301"]
    (found,) = run_checks(collected, checks=["MY3"], ignore={"MY301": "known"})
    assert not found.alarming
    assert pick_codes(None)[-1] == "MY301"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("1 / 0", "ZeroDivisionError: division by zero; correct the file"),
        ("x = 1", "no check is registered"),
        (OWN.replace("MY301", "CJ301"), "answers and highest_rating have the same code, CJ301"),
    ],
)
def test_a_users_file_without_a_check_is_refused(
    own_checks: None, tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_checks(file)
    assert pick_codes(None) == tuple(sorted(question.code for question, _ in CHECKS.values()))
