"""Whole visits of the experiment in jsPsych, in a real Chromium, on a static host and in a stand-in of JATOS.

jsPsych comes from a folder with its ``node_modules``, which CONJURY_JSPSYCH names: run ``npm install`` in a
folder that ``conjury export --to jspsych`` wrote. The tests download nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browsing import wait
from made_up.exports import HOSTILE, drawn, write_study

from conjury.inference.panel.elsewhere.fielded_visits import read_elsewhere
from conjury.inference.panel.elsewhere.study_export import Exported, export_study
from conjury.inference.panel.elsewhere.task_html import answers_of

pytestmark = pytest.mark.browser
JATOS = Path(__file__).with_name("jatos.js").read_text(encoding="utf-8")


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without messages."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def packages() -> Path:
    """A folder with jsPsych and its plugins."""
    named = os.environ.get("CONJURY_JSPSYCH")
    if not named:
        pytest.skip("jsPsych is not here; CONJURY_JSPSYCH may name a folder with its node_modules")
    folder = Path(named) / "node_modules"
    if not (folder / "jspsych").is_dir():
        pytest.skip(f"{folder} contains no jsPsych")
    return folder


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """A Chromium that saves downloads."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    saved = tmp_path / "saved"
    saved.mkdir()
    options.add_experimental_option("prefs", {"download.default_directory": str(saved)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def serve(packages: Path) -> Iterator[Any]:
    """Serve a folder with jsPsych in it; return its address."""
    servers = []

    def start(folder: Path) -> str:
        shutil.copytree(packages, folder / "node_modules")
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class Person:
    """Answers page by page, as `drawn` decides."""

    def __init__(self, driver: Any, written: Exported, slot: str, keys: bool = False) -> None:
        self.driver, self.written, self.slot, self.keys = driver, written, slot, keys
        self.task = 0
        self.texts: list[str] = []

    def go(self, pages: int = 60) -> None:
        """Answer pages until none is left."""
        before = ""
        for _ in range(pages):
            page = self._next(before)
            if page is None:
                return
            before = page
            self.texts.append(self.driver.find_element("css selector", "body").text)
            self._answer()
        raise AssertionError("the visit does not end")

    def _next(self, before: str) -> str | None:
        """Wait for the next page; None at the end."""
        for _ in range(200):
            state: str = self.driver.execute_script(
                "const box = document.querySelector('#jspsych-html-button-response-btngroup button, form');"
                "if (!box) { return document.querySelector('#end') ? 'end' : ''; }"
                "window.pages = window.pages || new WeakMap(); window.count = window.count || 0;"
                "const root = box.closest('form') || box.closest('#jspsych-html-button-response-btngroup');"
                "if (!window.pages.has(root)) { window.count += 1; window.pages.set(root, window.count); }"
                "return String(window.pages.get(root));"
            )
            if state == "end" and before:
                return None
            if state not in ("", "end", before):
                return state
            time.sleep(0.02)
        raise AssertionError(self.driver.find_element("css selector", "body").text)

    def _answer(self) -> None:
        find = self.driver.find_elements
        buttons = find("css selector", "#jspsych-html-button-response-btngroup button")
        practice = bool(find("css selector", ".note"))
        if buttons:
            if not find("css selector", ".pair"):
                buttons[0].click()
                return
            place = drawn(self.slot, self.task, "choice", among=2) if not practice else 0
            self.task += not practice
            if self.keys:
                find("css selector", "body")[0].send_keys("ab"[place])
            else:
                buttons[place].click()
            return
        names = (one.get_attribute("name") for one in find("css selector", "form input"))
        fields = list(dict.fromkeys(name for name in names if name))
        fixed = {"adult": "yes", "answer": "blue", "age": "44"}
        is_task = not set(fields) & set(fixed)
        for name in fields:
            self._fill(name, fixed.get(name), practice)
        self.task += is_task and not practice
        find("css selector", "form [type=submit]")[0].click()

    def _fill(self, name: str, value: str | None, practice: bool) -> None:
        boxes = self.driver.find_elements("css selector", f"form input[name='{name}']")
        if boxes[0].get_attribute("type") == "radio":
            if value is None:
                place = 0 if practice else drawn(self.slot, self.task, name, among=len(boxes))
                boxes[place].click()
            else:
                next(box for box in boxes if box.get_attribute("value") == value).click()
        else:
            low, high = int(boxes[0].get_attribute("min")), int(boxes[0].get_attribute("max"))
            place = 0 if practice else drawn(self.slot, self.task, name, among=high - low + 1)
            boxes[0].send_keys(value if value is not None else str(low + place))


def saved(folder: Path) -> Path:
    """The file that the browser has saved."""
    for _ in range(200):
        files = list(folder.glob("*.json"))
        if files:
            return files[0]
        time.sleep(0.02)
    raise AssertionError("nothing was saved")


def check(written: Exported, path: Path, slot: str) -> None:
    """The tables contain what the person answered."""
    read = read_elsewhere(path, "jspsych", written.plan)
    plan = written.plan
    (own,) = (one for one in plan.slots if one.name == slot)
    assert read.respondents[["judge_id", "state"]].to_numpy().tolist() == [[slot, "finished"]]
    assert read.respondents["age"].astype(str).tolist() == ["44"]
    for number, task in enumerate(own.tasks):
        rows = read.answers[read.answers["task"] == number + 1]
        for answer in answers_of(plan.study, plan.shown.of(task.subjects[0])):
            among = len(answer.options) or answer.maximum - answer.minimum + 1
            place = drawn(slot, number, answer.id, among=among)
            if plan.design is not None:
                assert rows["profile_id"].astype(str).tolist() == list(task.subjects)
                assert rows["chosen"].tolist() == [int(place == 0), int(place == 1)]
            else:
                value = answer.options[place].value if answer.options else str(answer.minimum + place)
                assert rows.loc[rows["dimension"] == answer.id, "value"].astype(str).tolist() == [value]


@pytest.mark.parametrize("kind", ["hotel", "ratings", "labels", "lines"])
def test_a_whole_visit_on_a_static_host_ends_in_the_tables(tmp_path, kind, browser, serve):
    written = export_study(write_study(tmp_path / kind, kind), "jspsych", out=tmp_path / "run")
    slot = written.plan.slots[2].name
    browser.get(f"{serve(written.folder)}?slot=3&PROLIFIC_PID=abc")
    person = Person(browser, written, slot, keys=kind == "hotel")
    person.go()
    body = browser.find_element("css selector", "body")
    assert "DONE42" in body.text
    assert "Your answers have been saved" in body.text
    path = saved(tmp_path / "saved")
    check(written, path, slot)
    trials = json.loads(path.read_text())
    assert {trial["PROLIFIC_PID"] for trial in trials} == {"abc"}
    assert all(trial["rt"] > 0 for trial in trials if trial["part"] == "task")
    messages = [one["message"] for one in browser.get_log("browser") if "jatos.js" not in one["message"]]
    assert messages == []


def test_an_item_that_is_html_shows_as_text(tmp_path, browser, serve):
    written = export_study(write_study(tmp_path / "ratings", "ratings"), "jspsych", out=tmp_path / "run")
    hostile = "cat_pun"
    slot = next(
        number
        for number, slot in enumerate(written.plan.slots, start=1)
        if hostile in [task.name for task in slot.tasks]
    )
    browser.get(f"{serve(written.folder)}?slot={slot}")
    person = Person(browser, written, written.plan.slots[slot - 1].name)
    person.go()
    assert any(HOSTILE in text for text in person.texts)
    assert any("<b>no HTML</b>" in text for text in person.texts)


def test_jatos_gives_out_a_slot_that_nobody_has_and_saves_each_page(tmp_path, browser, serve):
    written = export_study(write_study(tmp_path / "hotel", "hotel"), "jspsych", out=tmp_path / "run")
    address = serve(written.folder)
    (written.folder / "jatos.js").write_text(JATOS)
    browser.get(address)
    Person(browser, written, "human_0003").go()
    lines = browser.execute_script("return window.sent")
    path = tmp_path / "results.txt"
    path.write_text("".join(lines))
    check(written, path, "human_0003")  # the first was taken, the second by somebody at the same time
    end = browser.execute_script("return document.documentElement.dataset.end")
    assert end == "https://example.org/complete?cc=DONE42"
    assert not list((tmp_path / "saved").iterdir())


def test_jatos_gives_out_the_slot_of_a_person_who_declines_again(tmp_path, browser, serve):
    written = export_study(write_study(tmp_path / "hotel", "hotel"), "jspsych", out=tmp_path / "run")
    address = serve(written.folder)
    (written.folder / "jatos.js").write_text(JATOS)
    browser.get(address)
    Person(browser, written, "")._next("")
    taken = "return Object.keys(window.jatos.batchSession.taken)"
    assert browser.execute_script(taken) == ["slot_human_0001", "slot_human_0002", "slot_human_0003"]
    browser.find_elements("css selector", "#jspsych-html-button-response-btngroup button")[1].click()
    wait(browser, "document.documentElement.dataset.end")
    assert browser.execute_script(taken) == ["slot_human_0001", "slot_human_0002"]


def test_who_declines_sees_the_end_page_and_nothing_is_saved(tmp_path, browser, serve):
    written = export_study(write_study(tmp_path / "hotel", "hotel"), "jspsych", out=tmp_path / "run")
    browser.get(serve(written.folder))
    person = Person(browser, written, "")
    person._next("")
    browser.find_elements("css selector", "#jspsych-html-button-response-btngroup button")[1].click()
    wait(browser, "document.body.textContent.includes('You do not take part')")
    assert not list((tmp_path / "saved").iterdir())
