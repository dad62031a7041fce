"""Studies, visits and clients for tests of the pages."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
import uvicorn
import yaml
from fakes.studies import RATINGS, items, towns, write_study
from PIL import Image
from starlette.testclient import TestClient

from conjury.inference.panel.plan import PanelPlan, make_plan
from conjury.inference.panel.visits import Visits
from conjury.inference.panel.web.app import make_app
from conjury.inference.panel.web.languages import SHIPPED
from conjury.inference.panel.web.serving import opened

SECRET = b"s" * 32
HOSTILE = "<script>document.title='taken over'</script><b>bold</b> \" onmouseover='x'"
HERE = {"base_url": "http://127.0.0.1"}
ARABIC_TEXTS = ["مرحبا بكم في مدينتنا الصغيرة.", "هذا منشور سيئ.", "لا شيء هنا.", "المنشور الأخير."]

PANEL: dict[str, Any] = {
    "people": 4,
    "consent": "consent.md",
    "instructions": "instructions.md",
    "minutes": 30,
    "attention": [
        {
            "id": "reading",
            "after": 1,
            "text": "Please choose blue.",
            "options": [{"id": "red", "label": "Red"}, {"id": "blue", "label": "Blue"}],
            "right": "blue",
        }
    ],
    "questions": [
        {
            "id": "region",
            "label": "Where do you live?",
            "options": [{"id": "north", "label": "North"}, {"id": "south", "label": "South"}],
            "first": True,
        },
        {"id": "age", "label": "How old are you?", "form": "number", "minimum": 18, "maximum": 99},
        {"id": "remarks", "label": "Anything else?", "form": "text", "required": False},
    ],
    "quotas": [{"question": "region", "option": "north", "people": 3}],
    "pay": {"amount": 2.5, "currency": "EUR"},
    "completion": {"code": "C0FFEE", "redirect": "https://example.org/submissions?cc=C0FFEE"},
}


def write_panel(folder: Path, content: dict[str, Any], texts: list[str] | None = None, **panel: Any) -> Path:
    """Write a study with a section ``panel``."""
    write_study(folder, {**content, "panel": {**PANEL, **panel}}, texts)
    consent = "# About this study\n\nYou see *made-up* things.\n\n- One\n- Two\n\n<script>x</script>\n"
    (folder / "consent.md").write_text(consent, encoding="utf-8")
    (folder / "instructions.md").write_text("Choose what **you** like.\n", encoding="utf-8")
    return folder


def conjoint(folder: Path, **panel: Any) -> Path:
    """Write a conjoint of towns, one town of which is hostile."""
    content = towns()
    content["attributes"][1]["levels"][1]["label"] = HOSTILE
    content["design"]["respondents"] = 4
    return write_panel(folder, content, **panel)


def ratings(folder: Path, texts: list[str] | None = None, **panel: Any) -> Path:
    """Write a study of items that are rated on two scales."""
    return write_panel(folder, items(RATINGS), texts or [HOSTILE, "Two.\nLines.", "Three.", "Four."], **panel)


def pictures(folder: Path, **panel: Any) -> Path:
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


def arabic(folder: Path) -> Path:
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
def served(visits: Visits, **options: Any) -> Iterator[str]:
    """Serve the pages of a panel in a thread; yield their address."""
    with opened("127.0.0.1", 0) as listening:
        app = make_app(visits, secret=SECRET, **options)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", proxy_headers=False))
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


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
