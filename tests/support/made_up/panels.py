"""Small studies that people take part in; plans, visits and pages of them; a person who answers."""

from __future__ import annotations

import atexit
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
import uvicorn
import yaml
from fakes.studies import RATINGS, items, towns, write_study
from PIL import Image
from starlette.testclient import TestClient

from conjury.inference.panel.demo import random_fields
from conjury.inference.panel.pages.steps import (
    AttentionStep,
    ComprehensionStep,
    EndStep,
    QuestionsStep,
    Step,
    TaskStep,
    TextStep,
)
from conjury.inference.panel.plan import PanelPlan, make_plan
from conjury.inference.panel.storage.database_state import read_stored
from conjury.inference.panel.visits import Refused, Timing, Visits
from conjury.inference.panel.web.languages import SHIPPED
from conjury.inference.panel.web.panel_app import make_app
from conjury.inference.panel.web.panel_server import open_socket
from conjury.inference.tables.columns import stream
from made_up.exports import STUDIES

_PLANS: dict[str, PanelPlan] = {}
YES_NO = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
ADULT = {"id": "adult", "label": "Adult?", "options": YES_NO, "first": True, "screen_out": ["no"]}
CHECK = {
    "id": "check",
    "after": 1,
    "text": "Choose B.",
    "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}],
    "right": "b",
}
TIMING = Timing(1500.0, 1, 400.0, 700.0)
SECRET = b"s" * 32
HOSTILE = "<script>document.title='taken over'</script><b>bold</b> \" onmouseover='x'"
HERE = {"base_url": "http://127.0.0.1"}
ARABIC_TEXTS = ["مرحبا بكم في مدينتنا الصغيرة.", "هذا منشور سيئ.", "لا شيء هنا.", "المنشور الأخير."]

PANEL: dict[str, Any] = STUDIES["pages_panel"]


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def advance(self, minutes: float) -> None:
        self.time += timedelta(minutes=minutes)


def write_towns(folder: Path, panel: Mapping[str, Any] | None = None, **changes: Any) -> Path:
    """Write a small conjoint: two attributes, two tasks and the repeat of the first."""
    section = {"consent": "consent.md", "instructions": "instructions.md", **(panel or {})}
    section = {name: given for name, given in section.items() if given is not None}
    return _write(folder, {**STUDIES["towns"], "panel": section, **changes})


def write_jokes(folder: Path, response: Mapping[str, Any], panel: Mapping[str, Any], n: int = 4) -> Path:
    """Write a small study of items."""
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(
        {"item_id": [f"j{i}" for i in range(n)], "text": [f"One {i}\nTwo {i}" for i in range(n)]}
    ).to_csv(folder / "items.csv", index=False)
    return _write(folder, {**STUDIES["jokes"], "response": dict(response), "panel": dict(panel)})


def _write(folder: Path, content: Mapping[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "consent.md").write_text("# Information\n", encoding="utf-8")
    (folder / "instructions.md").write_text("# What to do\n", encoding="utf-8")
    (folder / "study.yaml").write_text(yaml.safe_dump(dict(content), sort_keys=False), encoding="utf-8")
    return folder / "study.yaml"


def plan_of(
    folder: Path, people: int = 3, panel: Mapping[str, Any] | None = None, **changes: Any
) -> PanelPlan:
    """The plan of the small conjoint for so many people; each is drawn once, whatever the folder."""
    key = json.dumps([people, panel, changes])
    if key not in _PLANS:
        kept = Path(tempfile.mkdtemp(prefix="plan"))
        study = write_towns(kept / "study", panel, **changes)
        _PLANS[key] = make_plan(study, out=kept / "run", people=people)
        atexit.register(shutil.rmtree, kept, ignore_errors=True)
    return replace(_PLANS[key], folder=folder / "run")


def answer(step: Step, seed: int = 1, **given: str) -> dict[str, str]:
    """Valid fields of a page: ``given`` where it has such fields, else what goes on, or chance."""
    if isinstance(step, TextStep):
        if step.withdrawal:
            return {"withdraw": given.get("withdraw", "no")}
        return {"consent": given.get("consent", "yes")} if step.kind == "consent" else {}
    if isinstance(step, ComprehensionStep):
        return {question.id: given.get(question.id, question.right) for question in step.questions}
    if isinstance(step, AttentionStep):
        return {"answer": given.get("answer", step.check.right)}
    if isinstance(step, QuestionsStep):
        usual = {"options": "yes", "several": "yes", "number": "30", "text": "fine"}
        return {question.id: given.get(question.id, usual[question.form]) for question in step.questions}
    assert isinstance(step, TaskStep)
    return {"choice": "AB"[int(stream(seed, step.task.name).random() < 0.5)]}


def take_part(
    visits: Visits,
    visit: str,
    *,
    until: Callable[[Step], bool] = lambda step: False,
    study: Any = None,
    **given: str,
) -> Step:
    """Answer page after page, to the end or to the first page that ``until`` is true of; return it."""
    step = visits.step(visit)
    while not isinstance(step, EndStep) and not until(step):
        fields = (
            answer(step, **given)
            if study is None or not isinstance(step, TaskStep)
            else random_fields(study, len(step.shown[0].lines), stream(1, step.task.name))
        )
        moved = visits.submit(visit, step.number, fields, TIMING)
        assert not isinstance(moved, Refused), moved
        step = moved
    return step


def arrive(visits: Visits, person: str = "", **device: str) -> str:
    """Arrive as a person of a platform; the visit must begin."""
    visit = visits.arrive({"PROLIFIC_PID": person} if person else {}, device, "en")
    assert isinstance(visit, str), visit
    return visit


def is_task(step: Any) -> bool:
    """Whether a page is a task that is no practice."""
    return isinstance(step, TaskStep) and not step.practice


def answered(visits: Visits) -> list[tuple[int, int]]:
    """Visit and page of every answer that is stored."""
    stored = read_stored(visits._database).answers
    return list(zip(stored["visit"], stored["page"], strict=True))


def write_panel(folder: Path, content: dict[str, Any], texts: list[str] | None = None, **panel: Any) -> Path:
    """Write a study with a section ``panel``."""
    write_study(folder, {**content, "panel": {**PANEL, **panel}}, texts)
    consent = "# About this study\n\nYou see *made-up* things.\n\n- One\n- Two\n\n<script>x</script>\n"
    (folder / "consent.md").write_text(consent, encoding="utf-8")
    (folder / "instructions.md").write_text("Choose what **you** like.\n", encoding="utf-8")
    return folder


def town_panel(folder: Path, **panel: Any) -> Path:
    """Write a conjoint of towns, one town of which is hostile."""
    content = towns()
    content["attributes"][1]["levels"][1]["label"] = HOSTILE
    content["design"]["respondents"] = 4
    return write_panel(folder, content, **panel)


def rating_panel(folder: Path, texts: list[str] | None = None, **panel: Any) -> Path:
    """Write a study of items that are rated on two scales."""
    return write_panel(folder, items(RATINGS), texts or [HOSTILE, "Two.\nLines.", "Three.", "Four."], **panel)


def picture_panel(folder: Path, **panel: Any) -> Path:
    """Write a study of items that are pictures, one with a text."""
    write_panel(folder, items(RATINGS), **panel)
    for number in range(3):
        Image.new("RGB", (320, 200), (60 * number, 120, 160)).save(folder / f"picture_{number}.png")
    rows = {
        "item_id": [f"post_{n}" for n in range(3)],
        "modality": "image",
        "text": [None, "With a text", None],
        "media": [f"picture_{n}.png" for n in range(3)],
        "alt": ["A blue field", None, "A purple field"],
    }
    pd.DataFrame(rows).to_csv(folder / "items.csv", index=False)
    return folder


def arabic_panel(folder: Path) -> Path:
    """Write a study of Arabic items, with the strings of the pages in Arabic in its own folder."""
    content = items(RATINGS)
    content["question"] = "ما مدى سوء هذا المنشور؟"
    write_panel(folder, content, ARABIC_TEXTS, languages=["ar"])
    (folder / "consent.md").write_text("# حول هذه الدراسة\n\nسترى منشورات مختلقة.\n", encoding="utf-8")
    (folder / "instructions.md").write_text("قيّم كل منشور.\n", encoding="utf-8")
    strings = yaml.safe_load((SHIPPED / "en.yaml").read_text(encoding="utf-8"))
    del strings["researcher"]
    strings |= {"name": "العربية", "direction": "rtl", "continue": "متابعة"}
    strings["welcome"]["start"] = "ابدأ"
    strings["consent"] |= {"agree": "أوافق وأريد المشاركة", "decline": "لا أريد المشاركة"}
    strings["ends"]["finished"] = {"title": "شكرا لكم", "text": "تم حفظ إجاباتكم."}
    (folder / "languages").mkdir()
    (folder / "languages" / "ar.yaml").write_text(
        yaml.safe_dump(strings, allow_unicode=True), encoding="utf-8"
    )
    return folder


def visits_of(study: Path | PanelPlan, out: Path) -> Visits:
    """Open the panel of a study, or of a plan that was made before, with a database in ``out``."""
    if isinstance(study, PanelPlan):
        out.mkdir(parents=True, exist_ok=True)
        return Visits.open(study, f"sqlite:///{out}/panel.sqlite")
    return Visits.open(make_plan(study, out=out))


@contextmanager
def in_thread(app_at: Callable[[int], Any]) -> Iterator[str]:
    """Serve an application, made for a free port, in a thread; yield its address."""
    with open_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app_at(port), log_level="warning", proxy_headers=False))
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()


def served(visits: Visits, **options: Any) -> AbstractContextManager[str]:
    """Serve the pages of a panel in a thread; give their address."""
    return in_thread(lambda port: make_app(visits, secret=SECRET, **options))


def client_of(visits: Visits, **options: Any) -> TestClient:
    """Return a browser without scripts."""
    return TestClient(make_app(visits, secret=SECRET, **options), raise_server_exceptions=False, **HERE)


def hidden(html: str, name: str) -> str:
    """Value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', html)
    assert found is not None, f"no field {name} in {html[:2000]}"
    return found[1]


def start(client: TestClient, address: str = "/", **fields: str) -> str:
    """Open the address of a study and start; return the first page."""
    html = client.get(address).text
    parameters = dict(re.findall(r'name="(p\.[^"]+)" value="([^"]*)"', html))
    sent = {"token": hidden(html, "token"), "language": hidden(html, "language"), **parameters, **fields}
    return client.post("/start", data=sent).text


def send(client: TestClient, html: str, answers: Mapping[str, str], **changed: str) -> Any:
    """Answer a page; return the response that follows."""
    fields = {"token": hidden(html, "token"), "step": hidden(html, "step")}
    named = {f"a.{name}": value for name, value in answers.items()}
    return client.post("/visit", data={**fields, **named, **changed})


def answers_of(html: str) -> dict[str, str]:
    """Answers that a page accepts: the last option of each question."""
    if 'name="a.consent"' in html:
        return {"consent": "yes"}
    found = dict(re.findall(r'type="radio" name="a\.([^"]+)" value="([^"]+)"', html))
    found |= dict.fromkeys(re.findall(r'type="number"[^>]* name="a\.([^"]+)"', html), "30")
    return found


def go_to_end(client: TestClient, html: str) -> list[str]:
    """Answer all pages; return them, the end page last."""
    pages = [html]
    while 'name="step"' in pages[-1]:
        answer = send(client, pages[-1], answers_of(pages[-1]))
        assert answer.status_code == 200, answer.text
        pages.append(answer.text)
        assert len(pages) < 60
    return pages
