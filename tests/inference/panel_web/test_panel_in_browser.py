"""Whole visits in Chromium: by mouse, by keys, at phone size, from right to left; every page by axe-core."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import PHONE, press, theme, violations, wait
from made_up.panels import arabic_panel, picture_panel, rating_panel, served, town_panel, visits_of

from conjury.inference.panel.plan import make_plan
from conjury.inference.panel.visits import Visits

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], Any]:
    known: dict[Any, Any] = {}

    def plan(write: Callable[[Path], Path]) -> Any:
        if write not in known:
            study = write(tmp_path_factory.mktemp("study"))
            known[write] = make_plan(study, out=tmp_path_factory.mktemp("run"))
        return known[write]

    return plan


@pytest.fixture
def panel(plans: Any, tmp_path: Path) -> Iterator[Callable[..., tuple[Visits, str]]]:
    open_panels: list[Any] = []

    def serve(write: Callable[[Path], Path]) -> tuple[Visits, str]:
        visits = visits_of(plans(write), tmp_path / str(len(open_panels)))
        context = served(visits)
        address = context.__enter__()
        open_panels.append((visits, context))
        return visits, address

    yield serve
    for visits, context in open_panels:
        context.__exit__(None, None, None)
        visits.close()


READY = "document.readyState === 'complete' && document.querySelector('h1') && %s"
STEP = "document.getElementById('step')?.dataset.step"


def next_page(browser: Any, step: str | None) -> str | None:
    """Wait for another page than that of a step; return the step of the new one, None at the end."""
    wait(browser, READY % f"({STEP} ?? 'end') !== '{step or 'none'}' && location.pathname === '/visit'")
    time.sleep(0.06)  # two frames, after which the page answers to keys
    return browser.execute_script(f"return {STEP}")


def begin(browser: Any, address: str) -> str | None:
    browser.get(address)
    browser.find_element("id", "go-on").click()
    return next_page(browser, None)


def by_mouse(browser: Any) -> None:
    """Answer a page by clicks: the last option of each question."""
    consent = browser.find_elements("css selector", "button[value=yes]")
    if consent:
        consent[0].click()
        return
    for group in browser.find_elements("css selector", "[data-keys]"):
        group.find_elements("css selector", "label.option")[-1].click()
    for number in browser.find_elements("css selector", "input[type=number]"):
        number.send_keys("30")
    browser.find_element("id", "go-on").click()


def by_keys(browser: Any) -> None:
    """Answer a page by keys alone: A or 1, text where there is a field, and Enter."""
    from selenium.webdriver.common.keys import Keys

    if browser.find_elements("css selector", "button[value=yes]"):
        press(browser, Keys.TAB)
        assert browser.switch_to.active_element.get_attribute("value") == "yes"
        press(browser, Keys.ENTER)
        return
    for _ in browser.find_elements("css selector", "[data-keys] fieldset, fieldset[data-keys]"):
        press(browser, "2")
    if browser.find_elements("css selector", "input[data-key=a]"):
        press(browser, "a")
    if browser.find_elements("css selector", "input[type=number]"):
        press(browser, Keys.TAB, "30")
    press(browser, Keys.ENTER)


def go_to_end(browser: Any, address: str, answer: Callable[[Any], None], look: Any = None) -> int:
    step, pages = begin(browser, address), 1
    while step is not None:
        if look is not None:
            look(browser)
        answer(browser)
        step, pages = next_page(browser, step), pages + 1
        assert pages < 40
    if look is not None:
        look(browser)
    return pages


def quiet(browser: Any, address: str) -> None:
    """Fail where a page wrote a message or asked another site."""
    messages = [one for one in browser.get_log("browser") if "Password forms" not in one["message"]]
    assert messages == []
    asked = {
        message["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"] == "Network.requestWillBeSent"
    }
    others = {url for url in asked if not url.startswith((address, "data:", "chrome"))}
    assert others == set()


@pytest.mark.long
def test_a_conjoint_is_answered_to_the_end_by_mouse(fresh, panel):
    visits, address = panel(town_panel)
    go_to_end(fresh, address, by_mouse)
    assert "C0FFEE" in fresh.page_source
    quiet(fresh, address)
    tables = visits.tables()
    assert tables.respondents["state"].tolist() == ["finished"]
    chosen = tables.choices[tables.choices["chosen"] == 1]
    assert set(chosen["position"]) == {"B"}
    assert tables.respondents["device"].tolist() == ["computer"]
    assert tables.respondents["width"].tolist() == [1100]
    assert (tables.respondents["task_seconds"] > 0).all()


@pytest.mark.slow
def test_a_conjoint_is_answered_to_the_end_by_keys_alone(fresh, panel):
    from selenium.webdriver.common.keys import Keys

    visits, address = panel(town_panel)
    fresh.get(address)
    press(fresh, Keys.TAB, Keys.ENTER)
    step = next_page(fresh, None)
    while step is not None:
        by_keys(fresh)
        step = next_page(fresh, step)
    chosen = visits.tables().choices.query("chosen == 1")
    assert set(chosen["position"]) == {"A"}


@pytest.mark.slow
def test_items_are_rated_to_the_end_by_keys_alone(fresh, panel):
    visits, address = panel(rating_panel)
    go_to_end(fresh, address, by_keys)
    assert set(visits.tables().judgments["value"].astype(float)) == {2.0}


@pytest.mark.long
def test_keys_can_be_turned_off(fresh, panel):
    _, address = panel(town_panel)
    step = begin(fresh, address)
    while not fresh.find_elements("css selector", "input[data-key=a]"):
        by_mouse(fresh)
        step = next_page(fresh, step)
    fresh.find_element("id", "keys").click()
    press(fresh, "a")
    assert not fresh.execute_script("return document.querySelector(':checked')")
    fresh.find_element("id", "keys").click()
    press(fresh, "b")
    assert fresh.execute_script("return document.querySelector(':checked').value") == "B"


@pytest.mark.long
@pytest.mark.parametrize("write", [pytest.param(town_panel, marks=pytest.mark.slow), picture_panel])
def test_a_phone_shows_each_page_without_scrolling_sideways(fresh, panel, write):
    visits, address = panel(write)
    fresh.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    fresh.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def fits(browser: Any) -> None:
        assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0
        small = """return [...document.querySelectorAll('button, a, label.option, input[type=number]')]
            .filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect())
            .filter(box => box.width < 24 || box.height < 24).length"""
        assert browser.execute_script(small) == 0

    go_to_end(fresh, address, by_mouse, fits)
    assert visits.tables().respondents["touch"].tolist() == [True]
    assert visits.tables().respondents["width"].tolist() == [360]


@pytest.mark.slow
def test_arabic_pages_run_from_right_to_left(fresh, panel):
    visits, address = panel(arabic_panel)
    starts: list[bool] = []

    def right(browser: Any) -> None:
        heading = """const h = document.querySelector('h1'), range = document.createRange();
            range.selectNodeContents(h);
            return Math.abs(range.getBoundingClientRect().right - h.getBoundingClientRect().right) < 2"""
        starts.append(
            browser.execute_script(heading)
            or not browser.execute_script(
                "return getComputedStyle(document.querySelector('h1')).direction === 'rtl'"
            )
        )
        assert browser.execute_script("return document.documentElement.dir") == "rtl"

    go_to_end(fresh, address, by_mouse, right)
    assert all(starts)
    assert "شكرا" in fresh.page_source
    assert len(visits.tables().judgments) == 8


@pytest.mark.slow
def test_every_page_passes_axe_in_both_themes(fresh, panel):
    found: dict[str, list[str]] = {}

    def check(browser: Any) -> None:
        if browser.find_elements("css selector", "#step") and browser.title in found:
            return
        problems = []
        for scheme in ("light", "dark"):
            theme(browser, scheme)
            problems += [f"{scheme} {one}" for one in violations(browser)]
        found[browser.title] = problems

    for write in (town_panel, picture_panel, arabic_panel):
        _, address = panel(write)
        fresh.execute_cdp_cmd("Network.clearBrowserCookies", {})
        fresh.get(address)
        check(fresh)
        go_to_end(fresh, address, by_mouse, check)
        fresh.get(address + "/nothing")
        check(fresh)
    assert {title: problems for title, problems in found.items() if problems} == {}
    assert len(found) > 10


@pytest.mark.long
def test_missing_answers_pass_axe_and_have_the_focus(fresh, panel):
    _, address = panel(rating_panel)
    step = begin(fresh, address)
    by_mouse(fresh)
    next_page(fresh, step)
    fresh.execute_script("document.getElementById('step').noValidate = true")
    fresh.find_element("id", "go-on").click()
    wait(fresh, "document.querySelector('.problem') === document.activeElement && document.activeElement")
    for scheme in ("light", "dark"):
        theme(fresh, scheme)
        assert violations(fresh) == []


@pytest.mark.slow
def test_the_researchers_page_passes_axe_and_needs_no_script(fresh, panel):
    visits, address = panel(town_panel)
    token = visits.researcher_token()
    go_to_end(fresh, address, by_mouse)
    fresh.get(address + "/researcher")
    assert violations(fresh) == []
    fresh.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        fresh.find_element("id", "researcher_token").send_keys(token)
        fresh.find_element("css selector", "button").click()
        wait(fresh, "document.querySelector('.tiles') !== null")
    finally:
        fresh.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    fresh.get(address + "/researcher?refresh=no")
    for scheme in ("light", "dark"):
        theme(fresh, scheme)
        assert violations(fresh) == []
    assert fresh.execute_script("return document.querySelectorAll('svg.bar').length") > 10
    quiet(fresh, address)


def test_an_answer_is_sent_again_when_the_connection_was_lost(fresh, panel):
    visits, address = panel(town_panel)
    step = begin(fresh, address)
    lost = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    fresh.execute_cdp_cmd("Network.enable", {})
    fresh.execute_cdp_cmd("Network.emulateNetworkConditions", lost)
    by_mouse(fresh)
    wait(fresh, "document.getElementById('status').textContent.includes('lost')")
    assert visits.tables().respondents["state"].tolist() == ["active"]
    fresh.execute_cdp_cmd("Network.emulateNetworkConditions", {**lost, "offline": False})
    assert next_page(fresh, step) == "2"


@pytest.mark.long
def test_the_back_button_leads_to_where_the_person_is(fresh, panel):
    _, address = panel(town_panel)
    step = begin(fresh, address)
    by_mouse(fresh)
    assert next_page(fresh, step) == "2"
    fresh.back()
    wait(fresh, f"{STEP} === '2'")
    fresh.refresh()
    wait(fresh, f"{STEP} === '2'")


@pytest.mark.slow
def test_the_clock_starts_when_the_picture_is_there(fresh, panel):
    visits, address = panel(picture_panel)
    step = begin(fresh, address)
    while not fresh.find_elements("css selector", ".item img"):
        by_mouse(fresh)
        step = next_page(fresh, step)
    wait(fresh, "document.querySelector('.item.ready img').naturalWidth === 320")
    begun = time.monotonic()
    time.sleep(0.6)
    while step is not None:
        by_mouse(fresh)
        step = next_page(fresh, step)
        waited = time.monotonic() - begun
    slowest = visits.tables().judgments["seconds"].max()
    assert 0.5 < slowest < waited
