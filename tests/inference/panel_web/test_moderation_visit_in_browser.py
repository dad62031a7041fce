"""A visit as the paper on moderation describes it, in Chromium: from the small screen to the tables."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from browsing import press, violations, wait
from made_up.panels import served

from conjury.analysis.pipeline.fitting import work_of
from conjury.analysis.pipeline.loading import read_choices_of
from conjury.analysis.pipeline.runner import FitOptions
from conjury.inference.panel.plan import make_plan
from conjury.inference.panel.visits import Visits
from conjury.inference.study import load_study
from conjury.inference.tables.files import STUDIES

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PAGE = Path(__file__).parents[3] / "docs" / "howto" / "collecting" / "panel.md"
STEP = "document.getElementById('step')?.dataset.step"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped study with the section that the page shows, four tasks and no faces."""
    folder = tmp_path_factory.mktemp("paper") / "moderation"
    shutil.copytree(STUDIES / "moderation", folder)
    section = PAGE.read_text(encoding="utf-8").partition("## As in the paper on moderation")[2]
    panel = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)[0])["panel"]
    content = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
    content["panel"] = panel
    content["design"] |= {"respondents": 3, "tasks": 3}
    (folder / "study.yaml").write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    return folder / "study.yaml"


def screen(browser: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "screenWidth": width, "screenHeight": height}
    settings = {**size, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)


def go_on(browser: Any) -> None:
    step = browser.execute_script(f"return {STEP}")
    browser.find_element("id", "go-on").click()
    wait(browser, f"document.readyState === 'complete' && ({STEP} ?? 'end') !== '{step}'")


def choose(browser: Any, name: str, value: str) -> None:
    selector = f'input[name="a.{name}"][value="{value}"]'
    label = browser.find_element("css selector", f"label:has({selector})")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", label)
    label.click()


def begin(browser: Any, address: str) -> None:
    """Agree, and answer the questions that come before the tasks."""
    browser.get(address)
    browser.find_element("id", "go-on").click()
    wait(browser, f"{STEP} === '1'")
    browser.find_element("css selector", "button[value=yes]").click()
    wait(browser, f"{STEP} === '2'")
    for name, value in (("race", "white"), ("race", "black"), ("sex", "female")):
        choose(browser, name, value)
    go_on(browser)


def answer_instructions(browser: Any, real: str) -> None:
    go_on(browser)
    choose(browser, "what", "review")
    choose(browser, "real", real)
    go_on(browser)


def answer_tasks(browser: Any) -> int:
    """Answer checks and tasks: the post A is to be reviewed first, and B is more offensive."""
    tasks = 0
    while not browser.find_elements("name", "a.age"):
        if browser.find_elements("name", "a.choice"):
            tasks += not browser.find_elements("css selector", ".note")
            choose(browser, "choice", "A")
            choose(browser, "offensive", "B")
        else:
            text = browser.find_element("css selector", "legend").text
            choose(browser, "answer", "b" if "Post B" in text else "a")
        go_on(browser)
    return tasks


def test_a_visit_as_in_the_paper_ends_in_the_tables_of_the_paper(fresh, study, tmp_path):
    from selenium.webdriver.common.keys import Keys

    visits = Visits.open(make_plan(study, out=tmp_path / "run"))
    with served(visits) as address:
        screen(fresh, 1024, 700)
        fresh.get(address)
        assert "Reviewing posts" in fresh.page_source
        assert "People and models" not in fresh.page_source
        fresh.find_element("id", "go-on").click()
        wait(fresh, "document.body.textContent.includes('RETURNED')")
        assert "1280 pixels wide" in fresh.page_source
        screen(fresh, 1280, 720)
        begin(fresh, address)
        answer_instructions(fresh, "real")
        assert "Not all of your answers were right" in fresh.page_source
        answer_instructions(fresh, "made_up")
        wait(fresh, "document.getElementById('open-at-hand')?.checkVisibility()")
        wait(fresh, "performance.now() > 300")
        press(fresh, "?")
        wait(fresh, "document.getElementById('at-hand').open")
        assert "attacks or demeans people" in fresh.find_element("id", "at-hand").text
        assert violations(fresh) == []
        press(fresh, "a", Keys.ESCAPE)
        assert not fresh.execute_script("return document.getElementById('at-hand').open")
        assert not fresh.find_elements("css selector", ":checked")
        in_view = "return document.getElementById('go-on').getBoundingClientRect().bottom <= innerHeight"
        assert fresh.execute_script(in_view)
        tops = """const row = k => [...document.querySelectorAll('.card')].map(
            card => card.querySelectorAll('.post-row')[k].getBoundingClientRect().top);
            return [0, 1, 2, 3].map(row).every(([a, b]) => Math.abs(a - b) < 1)"""
        assert fresh.execute_script(tops)
        assert violations(fresh) == []
        assert answer_tasks(fresh) == 4
        fresh.find_element("name", "a.age").send_keys("30")
        go_on(fresh)
        assert "Support" in fresh.page_source
        assert violations(fresh) == []
        fresh.find_element("css selector", "button[value=no]").click()
        wait(fresh, "document.body.textContent.includes('FINISHED')")
        fresh.delete_all_cookies()
        begin(fresh, address)
        answer_instructions(fresh, "made_up")
        answer_tasks(fresh)
        fresh.find_element("name", "a.age").send_keys("50")
        go_on(fresh)
        fresh.find_element("css selector", "button[value=yes]").click()
        wait(fresh, "document.body.textContent.includes('WITHDRAWN')")
    tables = visits.tables()
    visits.close()
    assert tables.respondents["state"].tolist() == ["finished", "withdrawn"]
    assert tables.respondents["comprehension_attempts"].fillna(0).tolist() == [2, 0]
    assert tables.respondents["attention_passed"].tolist() == [2, 0]
    assert tables.choices is not None
    assert tables.choices.groupby("position", observed=True)[
        ["chosen", "offensive"]
    ].sum().to_numpy().tolist() == [[4, 0], [0, 4]]
    tables.write(tmp_path / "people")
    loaded = read_choices_of(load_study(study), [tmp_path / "people" / "choices.parquet"])
    planned = {step.name: step for step in work_of(loaded, FitOptions(draws=0)).plan.steps}
    assert {"amce", "amce_offensive", "question_reliability", "participants"} <= set(planned)
    agreement = planned["question_reliability"].call().frame["agreement"]
    assert agreement.tolist() == [0.0, 0.0]  # the swapped repeat was answered by position
    people = planned["participants"].call().frame
    assert people.loc[people["variable"] == "Race", "n"].tolist() == [1, 1, 0]
