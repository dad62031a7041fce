"""Attacks on the pages of transcripts, each of which is tried and fails."""

from __future__ import annotations

import hashlib
import re

import pytest
from hostile import TAKEN, in_lines, payloads
from made_up.panels import HERE, SECRET, hidden
from made_up.runs import client_of, collection_of, town_run
from starlette.testclient import TestClient

from conjury.inference.ledger import Ledger
from conjury.inference.panel.view.view_app import make_app


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A run whose answers and levels are hostile texts."""
    folder = tmp_path_factory.mktemp("hostile")
    texts = payloads(folder)
    answers = [*texts.values(), in_lines(texts), "A\ud7ff\u202e\x00\x1b[31mB"]
    return texts, town_run(folder, answers, texts["script"], pairs=6)


@pytest.mark.long
def test_hostile_filters_and_numbers_of_an_address_are_answered_without_an_error(hostile):
    client = client_of(collection_of(*hostile[1]))
    for text in hostile[0].values():
        names = ("judge", "level", "mark", "status", "check", "prompt", "order", "page", "task")
        for given in ({"text": text}, dict.fromkeys(names, text)):
            answer = client.get("/", params=given)
            assert answer.status_code == 200
            assert f"<script>document.title='{TAKEN}'" not in answer.text
    for number in ("-1", "99999999", "1e3", "%00", "..%2f..%2fetc%2fpasswd", "9" * 400, "٣"):
        assert client.get(f"/answer/{number}").status_code == 404
    assert client.get("/?page=999999999").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1]", "10.0.0.1"]
)
def test_a_host_of_another_name_is_refused_against_rebinding(town_client, host):
    for path in ("/", "/answer/0", "/media/x.png"):
        answer = town_client.get(path, headers={"Host": host})
        assert answer.status_code == 400
        assert "Town" not in answer.text
    assert town_client.get("/", headers={"Host": "localhost:8000"}).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "../../study.yaml", "..%2f..%2fstudy.yaml", "%2e%2e%2fstudy.yaml", "/etc/passwd", "%2fetc%2fpasswd",
        "picture_0.png", "study.yaml", "0-" + "0" * 64, "9-" + "a" * 64, "0-" + "g" * 64, "0-../x",
        "x" * 5000, "%00",
    ],
)  # fmt: skip
def test_no_name_of_a_request_leads_to_a_file_outside_the_media(picture_client, name):
    picture_client.get("/answer/0")
    assert picture_client.get(f"/media/{name}").status_code == 404


def test_pictures_that_a_transcript_shows_are_sent_with_their_type(picture_collection):
    client = client_of(picture_collection)
    html = client.get("/answer/0").text
    names = set(re.findall(r'src="/media/([^"]+)"', html))
    assert len(names) == 2  # that of the study, and that of the request
    for name in names:
        answer = client.get(f"/media/{name}")
        assert answer.headers["content-type"] == "image/png"
        assert answer.content.startswith(b"\x89PNG")


def test_a_stored_medium_of_another_type_is_not_sent(run):
    page = b"<script>1</script>"
    name = hashlib.sha256(page).hexdigest()
    with Ledger.open(run[1] / "ledger.sqlite") as ledger:
        ledger.put_media(name, "text/html", page)
    client = client_of(collection_of(*run))
    assert client.get(f"/media/0-{name}").status_code == 404


PATHS = ("/", "/answer/0", "/media/x.png", "/label", "/view/view.css", "/static/panel.css", "/nothing")


@pytest.mark.parametrize("path", PATHS)
def test_nobody_sees_a_page_without_the_address_that_was_printed(town_collection, path):
    client = client_of(town_collection, token="right")
    for address in (path, f"{path}?token=", f"{path}?token=wrong", f"{path}?token=righ\u0142"):
        answer = client.get(address)
        assert answer.status_code == 403
        assert "Open the whole address" in answer.text
        assert "transcript" not in answer.text
    assert client.post("/labelling", data={"name": "anna"}).status_code == 403
    first = client.get(f"{path}?token=right&judge=a%26b", follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, f"{path}?judge=a%26b")
    assert client.get(path).status_code == client_of(town_collection).get(path).status_code
    assert client_of(town_collection, token="right").get(path).status_code == 403


def test_an_address_with_the_token_leads_to_no_other_host(town_collection):
    client = client_of(town_collection, token="right")
    answer = client.get("http://127.0.0.1//example.org/x?token=right", follow_redirects=False)
    assert answer.headers["location"] == "/example.org/x"


@pytest.mark.parametrize("path", ["/answer/0", "/answer/0?judge=judge", "/?judge=judge"])
def test_a_person_who_labels_sees_no_transcript_first_whatever_page_is_opened(run, path):
    client = client_of(collection_of(*run), label="anna", token="right")
    for address in (f"{path}{'&' if '?' in path else '?'}token=right", path):
        html = client.get(address).text
        assert "was received" not in html
        assert "/answer/" not in html


@pytest.mark.long
@pytest.mark.parametrize("token", ["", "0" * 64, "é"])
def test_a_label_without_the_token_of_its_session_is_not_written(run, token):
    client = client_of(collection_of(*run), label="anna")
    html = client.get("/").text
    data = {"step": hidden(html, "step"), "a.choice": "A"}
    assert client.post("/label", data=data | {"token": token}).status_code == 403
    other = TestClient(client.app, raise_server_exceptions=False, **HERE)
    theirs = hidden(other.get("/").text, "token")
    assert client.post("/label", data=data | {"token": theirs}).status_code == 403
    crossed = {"Sec-Fetch-Site": "cross-site"}
    own = data | {"token": hidden(html, "token")}
    assert client.post("/label", data=own, headers=crossed).status_code == 403
    assert client.app.state.pages.labelling("anna").events == []
    assert client.post("/label", data=own).status_code == 200
    assert len(client.app.state.pages.labelling("anna").events) == 1
    client.app.state.pages.close()


def test_get_changes_nothing_and_a_large_form_is_refused(run):
    client = client_of(collection_of(*run), label="anna")
    client.get("/")
    client.get("/label?step=1&a.choice=A&do=undo")
    wrong = client.get("/labelling?name=x")
    assert wrong.status_code == 405
    assert "This page takes no such request" in wrong.text
    assert wrong.headers["allow"] == "POST"
    plain = client.post("/label", content="x", headers={"Content-Type": "text/plain"})
    assert plain.status_code == 415
    assert "What was sent cannot be read" in plain.text
    assert "Nothing was changed" in plain.text
    assert client.app.state.pages.labelling("anna").events == []
    assert client.post("/label", data={"token": "x" * 300_000}).status_code == 413
    client.app.state.pages.close()


def test_the_cookie_is_for_this_port_this_site_and_no_script(town_collection):
    app = make_app(town_collection, secret=SECRET, port=4321)
    cookie = TestClient(app, **HERE).get("/").headers["set-cookie"]
    assert cookie.startswith("conjury_view_4321=")
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    with pytest.raises(ValueError, match="fewer than 16 bytes"):
        make_app(town_collection, secret=b"short")
