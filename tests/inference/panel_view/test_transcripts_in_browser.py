"""Transcripts in Chromium: keys, a session of labelling, hostile texts, axe-core, phones, 60,000 answers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from browsing import DESK, PHONE, press, theme, violations, wait
from hostile import HANDLERS, TAKEN, check_seen, in_lines, look, payloads
from made_up.runs import collection_of, many_answers, served, town_run

from conjury.inference.panel.view.one_file import write_file

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A run whose answers and levels are hostile texts, and the folder in which none may act."""
    folder = tmp_path_factory.mktemp("hostile")
    texts = payloads(folder)
    return (*town_run(folder, [*texts.values(), in_lines(texts), "A", "B"], texts["image"]), folder)


def fits(browser: Any) -> bool:
    width = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
    return bool(width <= 0)


OPEN = "for (const one of document.querySelectorAll('details')) one.open = true"
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
READY = "document.readyState === 'complete' && %s"


@pytest.mark.slow
def test_keys_move_through_the_list_and_the_transcripts(fresh, town_collection):
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.select import Select

    with served(town_collection) as address:
        fresh.get(f"{address}/?judge=other")
        wait(fresh, READY % "document.querySelector('[data-row]')")
        press(fresh, "j", "j", "k", "j")
        second = fresh.execute_script("return document.querySelectorAll('[data-row]')[1].href")
        assert fresh.execute_script("return document.activeElement.href") == second
        press(fresh, Keys.ENTER)
        wait(fresh, READY % f"location.href === '{second}'")
        third = fresh.find_element("css selector", "a[rel=next]").get_attribute("href")
        press(fresh, "j")
        wait(fresh, READY % f"location.href === '{third}'")
        press(fresh, "k")
        wait(fresh, READY % f"location.href === '{second}'")
        press(fresh, "u")
        wait(fresh, READY % "location.pathname === '/' && document.querySelector('[data-row]')")
        assert "judge=other" in fresh.current_url
        press(fresh, "/", "neither", Keys.ENTER)
        wait(fresh, READY % "location.search.includes('text=neither')")
        assert "judge=other" in fresh.current_url
        fresh.get(f"{address}/?mark=judges&mark=flips")
        wait(fresh, READY % "document.getElementById('f-mark-2')")
        Select(fresh.find_element("id", "f-mark")).select_by_value("")
        wait(fresh, READY % "location.search === '?mark=flips'")
        assert fresh.get_log("browser") == []


@pytest.mark.long
def test_a_person_labels_by_keys_undoes_and_goes_on_on_pages_that_pass_axe_core(fresh, tmp_path):
    study, run = town_run(tmp_path, pairs=4)
    with served(collection_of(study, run), label="anna") as address:
        fresh.get(address)
        for done, key in enumerate("aba"):
            wait(fresh, READY % f"document.body.textContent.includes('{done} of 4 labelled')")
            time.sleep(0.1)  # two frames, after which the page answers to keys
            assert violations(fresh) == []
            fresh.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
            assert fits(fresh)
            fresh.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", DESK)
            press(fresh, key)
        wait(fresh, READY % "document.body.textContent.includes('3 of 4 labelled')")
        fresh.find_element("css selector", "button[value=undo]").click()
        wait(fresh, READY % "document.body.textContent.includes('2 of 4 labelled')")
        time.sleep(0.1)
        press(fresh, "b")
        wait(fresh, READY % "document.body.textContent.includes('3 of 4 labelled')")
    with served(collection_of(study, run), label="anna") as address:
        fresh.execute_cdp_cmd("Network.clearBrowserCookies", {})
        fresh.get(address)
        wait(fresh, READY % "document.body.textContent.includes('3 of 4 labelled')")
        time.sleep(0.1)
        press(fresh, "b")
        wait(fresh, READY % "document.querySelector('h1').textContent === 'All tasks are labelled'")
    judgments = pd.read_parquet(run / "labels" / "anna" / "judgments.parquet")
    assert judgments["value"].tolist() == ["A", "B", "B", "B"]
    assert (judgments["seconds"] > 0).all()


@pytest.mark.slow
def test_hostile_texts_do_not_act_on_any_page_or_in_the_file(fresh, hostile, tmp_path):
    study, run, folder = hostile
    collection = collection_of(study, run)
    with served(collection) as address:
        for path in ("/", "/?order=length&descending=yes", *(f"/answer/{n}" for n in range(0, 60, 3))):
            fresh.get(address + path)
            wait(fresh, READY % "true")
            assert fresh.title != TAKEN
            assert fresh.execute_script(HANDLERS) == 0
            own = "return [...document.scripts].every(one => one.src.startsWith(location.origin))"
            assert fresh.execute_script(own)
            sources = fresh.execute_script(
                "return [...document.querySelectorAll('[src], a')].map(one => one.src ?? one.href)"
            )
            assert all(one.startswith(address) for one in sources)
        assert fresh.get_log("browser") == []
    write_file(collection, tmp_path / "all.html")
    seen = look(fresh, tmp_path / "all.html")
    check_seen(seen, folder, scripts=1)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_passes_axe_core_in_both_themes_and_fits_a_phone(
    fresh, town_files, picture_files, tmp_path, scheme
):
    for study, run in (town_files, picture_files):
        collection = collection_of(study, run)
        write_file(collection, tmp_path / "all.html", most=3)
        with served(collection) as address:
            theme(fresh, scheme)
            pages = [address, f"{address}/answer/0", f"{address}/answer/2", f"{address}/nothing"]
            for page in (*pages, f"{address}/?status=error", (tmp_path / "all.html").as_uri()):
                fresh.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", DESK)
                fresh.get(page)
                wait(fresh, READY % "true")
                fresh.execute_script(OPEN)
                assert violations(fresh) == [], page
                fresh.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
                assert fits(fresh), page


@pytest.mark.long
def test_the_file_filters_by_itself(fresh, town_collection, tmp_path):
    write_file(town_collection, tmp_path / "all.html")
    fresh.get((tmp_path / "all.html").as_uri())
    wait(fresh, READY % "!document.getElementById('alone').hidden")
    shown = "return [...document.querySelectorAll('article')].filter(one => !one.hidden).length"
    everything = fresh.execute_script(shown)
    assert everything == len(town_collection.answers)
    from selenium.webdriver.support.select import Select

    Select(fresh.find_element("id", "f-judge")).select_by_value("people")
    people = (town_collection.answers.frame["judge_kind"] == "human").sum()
    assert fresh.execute_script(shown) == people
    Select(fresh.find_element("id", "f-judge")).select_by_value("")
    fresh.find_element("id", "f-text").send_keys("neither of them")
    assert 0 < fresh.execute_script(shown) < everything
    assert fresh.get_log("browser") == []


@pytest.mark.slow
def test_the_first_view_of_60_000_answers_is_there_within_a_second(fresh, tmp_path):
    study, run = many_answers(tmp_path, 60_000)
    times = []
    for _ in range(3):  # the machine may be busy, so the best of three
        collection = collection_of(study, run)
        assert len(collection.answers) == 60_000
        with served(collection) as address:
            fresh.execute_cdp_cmd("Network.clearBrowserCache", {})
            fresh.get(address)
            wait(fresh, READY % f"{LOADED} > 0")
            assert fresh.execute_script("return document.querySelectorAll('[data-row]').length") == 50
            times.append(fresh.execute_script(f"return {LOADED}"))
            for path in ("/?mark=judges&page=100", "/?size=large&text=coast&order=length", "/answer/59999"):
                fresh.get(address + path)
                wait(fresh, READY % "true")
    assert min(times) < 1000, times
