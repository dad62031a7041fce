"""Attacks on the pages of a panel, each of which is tried and fails."""

from __future__ import annotations

import asyncio
import logging
import os
import stat

import pytest
from made_up.panels import (
    HERE,
    SECRET,
    client_of,
    go_to_end,
    hidden,
    picture_panel,
    plan_of,
    rating_panel,
    send,
    start,
    visits_of,
)
from starlette.requests import Request
from starlette.testclient import TestClient

from conjury.inference.errors import InputError
from conjury.inference.panel.plan import make_plan
from conjury.inference.panel.visits import Visits
from conjury.inference.panel.web import security
from conjury.inference.panel.web.panel_app import make_app
from conjury.inference.panel.web.panel_server import addresses, open_socket, panel_secret
from conjury.inference.panel.web.security import Buckets, RequestRate, ServerLimits, address_of, cookie_name

COOKIE = cookie_name(SECRET)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return make_plan(picture_panel(tmp_path_factory.mktemp("study")), out=tmp_path_factory.mktemp("run"))


@pytest.fixture
def visits(plan, tmp_path):
    visits = visits_of(plan, tmp_path)
    yield visits
    visits.close()


def test_a_changed_cookie_is_no_session(visits):
    client = client_of(visits)
    page = send(client, start(client), {"consent": "yes"}).text
    value = client.cookies[COOKIE]
    # not its last character, of which two bits mean nothing
    signed = value.rindex(".") + 1
    other_signature = value[:signed] + ("A" if value[signed] != "A" else "B") + value[signed + 1 :]
    for changed in (other_signature, "e30=.x.y", value.split(".")[0]):
        other = client_of(visits)
        other.cookies.set(COOKIE, changed)
        assert other.get("/visit", follow_redirects=False).headers["location"] == "/"
        assert send(other, page, {"region": "north"}).url.path == "/"
    signed_elsewhere = TestClient(make_app(visits, secret=b"x" * 32))
    signed_elsewhere.cookies.set(COOKIE, value)
    assert signed_elsewhere.get("/visit", follow_redirects=False).headers["location"] == "/"


def test_the_cookie_is_for_this_site_and_no_script_alone(visits):
    plain = client_of(visits).get("/").headers["set-cookie"].lower()
    assert "httponly" in plain
    assert "samesite=lax" in plain
    assert "secure" not in plain
    answer = client_of(visits, secure=True).get("/")
    assert "; secure" in answer.headers["set-cookie"].lower()
    assert "max-age" in answer.headers["strict-transport-security"]


@pytest.mark.parametrize("token", ["", "0" * 64, "é"])
def test_a_form_without_the_token_of_its_session_or_from_another_site_changes_nothing(visits, token):
    client = client_of(visits)
    page = start(client)
    answer = send(client, page, {"consent": "yes"}, token=token)
    assert answer.status_code == 403
    assert client.get("/visit").text == page
    assert client.post("/start", data={"token": token}).status_code == 403
    theirs = hidden(start(client_of(visits)), "token")
    assert send(client, page, {"consent": "yes"}, token=theirs).status_code == 403
    client.headers["Sec-Fetch-Site"] = "cross-site"
    assert send(client, page, {"consent": "yes"}).status_code == 403


def test_requests_beyond_the_rate_of_a_session_are_refused(visits):
    client = client_of(visits, limits=ServerLimits(session=RequestRate(0.001, 5)))
    start(client)
    statuses = [client.get("/visit").status_code for _ in range(7)]
    assert statuses == sorted(statuses)
    assert statuses[-1] == 429
    assert client.get("/visit").headers["retry-after"] == "5"


def test_requests_beyond_the_rate_of_an_address_are_refused(visits):
    app = make_app(visits, secret=SECRET, limits=ServerLimits(address=RequestRate(0.001, 3)))
    for _ in range(3):
        assert TestClient(app, client=("10.0.0.1", 1)).get("/").status_code == 200
    assert TestClient(app, client=("10.0.0.1", 1)).get("/").status_code == 429
    assert TestClient(app, client=("10.0.0.2", 1)).get("/").status_code == 200


def test_visits_begun_from_one_address_are_limited(visits):
    app = make_app(visits, secret=SECRET, limits=ServerLimits(arrivals=RequestRate(0.001, 2)))
    begun = [start(TestClient(app, raise_server_exceptions=False)) for _ in range(3)]
    assert [("Too many requests" in page) for page in begun] == [False, False, True]


def test_a_laboratory_of_200_people_behind_one_address_is_not_limited():
    limits, buckets = ServerLimits(), Buckets(clock=lambda: 0.0)
    assert all(buckets.allow("arrivals", "10.0.0.1", limits.arrivals) for _ in range(200))
    # the welcome, stylesheet, script, icon, form, redirect, and a pair of pictures now and next
    assert all(buckets.allow("address", "10.0.0.1", limits.address) for _ in range(200 * 10))


def test_rates_recover_and_their_memory_is_bounded():
    now = [0.0]
    buckets, rate = Buckets(clock=lambda: now[0], most=10), RequestRate(2.0, 4)
    assert [buckets.allow("session", "a", rate) for _ in range(5)] == [True] * 4 + [False]
    now[0] = 1.0
    assert [buckets.allow("session", "a", rate) for _ in range(3)] == [True, True, False]
    for number in range(50):
        buckets.allow("session", str(number), rate)
    assert len(buckets._levels) == 10


def test_addresses_of_one_ipv6_network_count_together_however_they_are_written():
    short = ["2001:db8::1", "2001:db8::2", "2001:db8::1:2:3:4", "2001:DB8:0:0:5:6:7:8", "2001:db8::1%eth0"]
    assert {address_of({"client": (host, 1)}) for host in short} == {"2001:db8::/64"}
    assert address_of({"client": ("2001:db8:0:1::1", 1)}) == "2001:db8:0:1::/64"
    assert address_of({"client": ("::ffff:10.0.0.1", 1)}) == "10.0.0.1"
    assert [address_of({"client": one}) for one in (("testclient", 1), None)] == ["testclient", ""]


def test_bodies_that_are_too_large_are_refused(visits):
    client = client_of(visits, limits=ServerLimits(body=2_000))
    page = start(client)
    assert send(client, page, {"consent": "y" * 3_000}).status_code == 413

    def pieces():  # without a stated length
        for _ in range(100):
            yield b"a=" + b"x" * 500 + b"&"

    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/visit", content=pieces(), headers=form).status_code == 413
    for stated in ("-5", "2001"):
        answer = client.post("/visit", content=b"", headers={"Content-Length": stated})
        assert answer.status_code in (400, 413)
    assert client.get("/visit").text == page


def test_files_cannot_be_sent(visits):
    client = client_of(visits)
    page = start(client)
    fields = {"token": hidden(page, "token"), "step": "1"}
    answer = client.post("/visit", data=fields, files={"a.consent": ("x.txt", b"yes")})
    assert answer.status_code == 415
    assert client.get("/visit").text == page


@pytest.mark.parametrize("address", ["/start", "/visit", "/researcher"])
@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x; charset=punycode", "text/plain", ""])
def test_a_body_that_is_no_form_of_a_page_is_not_parsed(visits, monkeypatch, address, kind):
    client = client_of(visits)
    start(client)
    monkeypatch.setattr(Request, "form", lambda *_, **__: pytest.fail("it was parsed"))
    monkeypatch.setattr(security, "_parsed", lambda _: pytest.fail("it was parsed"))
    body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n' + b"b" * 200_000 + b"\r\n--x--\r\n"
    assert client.post(address, content=body, headers={"Content-Type": kind}).status_code == 415


def test_a_form_without_a_session_is_not_parsed(visits, monkeypatch):
    monkeypatch.setattr(security, "_parsed", lambda _: pytest.fail("it was parsed"))
    for address in ("/start", "/researcher"):
        assert client_of(visits).post(address, data={"token": "x"}).status_code == 403


def test_a_form_of_too_many_fields_is_refused_at_once(visits):
    client = client_of(visits)
    client.get("/")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    statuses = [
        client.post("/start", content=b"&a" * n, headers=form).status_code for n in (4_999, 5_000, 100_000)
    ]
    assert statuses == [403, 413, 413]


def test_every_response_has_the_headers_of_protection(visits):
    client = client_of(visits)
    start(client)
    for address in ("/", "/visit", "/nothing", "/researcher", "/static/panel.css", "/media/x"):
        check_headers(address, client.get(address).headers)


def check_headers(address: str, headers) -> None:
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert ("no-store" in headers["cache-control"]) == (not address.startswith("/static"))


OTHER_FILES = [
    *("../study.yaml", "..%2fstudy.yaml", "%2e%2e/%2e%2e/etc/passwd", "....//study.yaml", "/etc/passwd"),
    *("picture_0.png", "..%5cstudy.yaml", "%00", "panel.sqlite"),
]


def test_no_path_leads_to_another_file(visits):
    client = client_of(visits)
    start(client)
    for folder in ("media", "static"):
        for path in OTHER_FILES:
            answer = client.get(f"/{folder}/{path}")
            assert answer.status_code in (404, 405), path
            assert "There is no such page" in answer.text


def test_pictures_are_for_those_who_take_part(visits):
    name = next(iter(visits.plan.shown.files))
    assert client_of(visits).get(f"/media/{name}").status_code == 404
    client = client_of(visits)
    start(client)
    assert client.get(f"/media/{name}").status_code == 200


def test_an_error_shows_nothing_of_the_program(visits, monkeypatch):
    client = client_of(visits)
    start(client)

    def fail(*_: object) -> None:
        raise RuntimeError("a secret of the program")

    monkeypatch.setattr(visits, "step", fail)
    answer = client.get("/visit")
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert not [word for word in ("secret", "Traceback", "RuntimeError", ".py") if word in answer.text]
    check_headers("/visit", answer.headers)


def test_the_forwarded_address_counts_from_trusted_proxies_alone(visits):
    limits = ServerLimits(address=RequestRate(0.001, 2))
    proxied = make_app(visits, secret=SECRET, limits=limits, trusted_proxies=["10.1.0.0/16"])

    def status(peer: str, forwarded: str) -> int:
        client = TestClient(proxied, client=(peer, 1))
        return client.get("/", headers={"X-Forwarded-For": forwarded}).status_code

    assert [status("10.1.2.3", f"192.0.2.{n}") for n in range(4)] == [200] * 4
    # Somebody who is no proxy stays who they are, whatever they claim.
    assert [status("198.51.100.7", f"192.0.2.{n}") for n in range(4)] == [200, 200, 429, 429]
    # A client behind the proxy cannot claim another address either: the last hop that is not trusted counts.
    claims = [status("10.1.2.3", f"192.0.2.{n}, 203.0.113.9") for n in range(4)]
    assert claims == [200, 200, 429, 429]


@pytest.mark.long
def test_the_researchers_page_needs_the_token(visits):
    token = visits.researcher_token()
    assert visits.researcher_token() is None
    client = client_of(visits)
    page = client.get("/researcher").text
    assert "Participation" not in page
    sent = {"token": hidden(page, "token")}
    assert client.post("/researcher", data={**sent, "researcher_token": "wrong"}).status_code == 403
    assert "Participation" not in client.get("/researcher").text
    assert client.post("/researcher", data={"researcher_token": token}).status_code == 403  # no form token
    shown = client.post("/researcher", data={**sent, "researcher_token": token})
    assert "Participation" in shown.text
    assert shown.headers["refresh"] == "15"
    assert "refresh" not in client.get("/researcher?refresh=no").headers
    client.post("/researcher", data={**sent, "sign_out": "yes"})
    assert "Participation" not in client.get("/researcher").text
    header = {"Authorization": f"Bearer {token}"}
    assert "Participation" in client_of(visits).get("/researcher", headers=header).text
    assert client_of(visits).get("/researcher", headers={"Authorization": "Bearer x"}).status_code == 403
    assert "Participation" not in client_of(visits).get(f"/researcher?token={token}").text


def test_the_right_token_may_be_sent_as_often_as_figures_are_wanted(visits):
    client = client_of(visits, limits=ServerLimits(sign_in=RequestRate(0.001, 3)))
    right = {"Authorization": f"bearer {visits.researcher_token()}"}
    assert {client.get("/researcher", headers=right).status_code for _ in range(8)} == {200}
    wrong = {"Authorization": "Bearer x"}
    statuses = [client.get("/researcher", headers=wrong).status_code for _ in range(4)]
    assert statuses == [403, 403, 403, 429]


def test_a_right_token_passes_whatever_strangers_sent_from_the_same_address(visits):
    client = client_of(visits, limits=ServerLimits(sign_in=RequestRate(0.001, 3)))
    stranger = TestClient(client.app, raise_server_exceptions=False, **HERE)
    sent = {"token": hidden(stranger.get("/researcher").text, "token"), "researcher_token": "x"}
    statuses = [stranger.post("/researcher", data=sent).status_code for _ in range(5)]
    assert statuses == [403, 403, 403, 429, 429]
    token = visits.researcher_token()
    right = {"token": hidden(client.get("/researcher").text, "token"), "researcher_token": token}
    assert "Participation" in client.post("/researcher", data=right).text
    header = {"Authorization": f"Bearer {token}"}
    assert "Participation" in stranger.get("/researcher", headers=header).text
    assert stranger.post("/researcher", data=sent).status_code == 429


@pytest.mark.long
@pytest.mark.parametrize("how", ["sign out", "sign out elsewhere", "new token"])
def test_the_cookie_of_a_session_that_has_ended_is_worth_nothing(visits, how):
    token = visits.researcher_token()
    client, elsewhere = client_of(visits), client_of(visits)
    for one in (client, elsewhere):
        sent = {"token": hidden(one.get("/researcher").text, "token")}
        assert "Participation" in one.post("/researcher", data={**sent, "researcher_token": token}).text
    stolen = client.cookies[COOKIE]
    if how == "new token":
        following = visits.researcher_token(new=True)
        assert following != token
        assert not visits.is_researcher(token)
        token = following
    else:
        one = client if how == "sign out" else elsewhere
        sent = {"token": hidden(one.get("/researcher?refresh=no").text, "token")}
        assert "Participation" not in one.post("/researcher", data={**sent, "sign_out": "yes"}).text
    thief = client_of(visits)
    thief.cookies.set(COOKIE, stolen)
    assert "Participation" not in thief.get("/researcher").text
    sent = {"token": hidden(client.get("/researcher").text, "token")}
    assert "Participation" in client.post("/researcher", data={**sent, "researcher_token": token}).text


def test_a_database_without_a_name_of_sessions_lets_the_researcher_in(visits):
    token = visits.researcher_token()
    with visits._database.write() as connection:
        connection.exec_driver_sql("delete from facts where name = 'researcher_session'")
    client = client_of(visits)
    sent = {"token": hidden(client.get("/researcher").text, "token"), "researcher_token": token}
    assert "Participation" in client.post("/researcher", data=sent).text


def test_somebody_who_is_not_signed_in_signs_nobody_out(visits):
    token = visits.researcher_token()
    client, stranger = client_of(visits), client_of(visits)
    sent = {"token": hidden(client.get("/researcher").text, "token"), "researcher_token": token}
    client.post("/researcher", data=sent)
    out = {"token": hidden(stranger.get("/researcher").text, "token"), "sign_out": "yes"}
    stranger.post("/researcher", data=out)
    assert "Participation" in client.get("/researcher").text


def test_a_connection_that_ends_within_a_form_is_no_failure(visits, caplog):
    client = client_of(visits)
    client.get("/")
    begun = [{"type": "http.request", "body": b"token=", "more_body": True}, {"type": "http.disconnect"}]
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return begun.pop(0)

    async def send_(message: dict[str, object]) -> None:
        sent.append(message)

    headers = {
        "host": "127.0.0.1",
        "content-type": "application/x-www-form-urlencoded",
        "cookie": f"{COOKIE}={client.cookies[COOKIE]}",
    }
    scope = {
        **{"type": "http", "method": "POST", "path": "/start", "raw_path": b"/start", "query_string": b""},
        **{"scheme": "http", "http_version": "1.1", "root_path": "", "client": ("127.0.0.1", 1)},
        **{"server": ("127.0.0.1", 80)},
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(client.app(scope, receive, send_))
    assert sent[0]["status"] == 400
    assert caplog.text == ""


def test_what_a_proxy_sends_as_authorization_changes_nothing(visits):
    client, basic = client_of(visits), {"Authorization": "Basic abc"}
    sent = {"token": hidden(client.get("/researcher", headers=basic).text, "token")}
    signed_in = {**sent, "researcher_token": visits.researcher_token()}
    assert "Participation" in client.post("/researcher", data=signed_in, headers=basic).text
    assert "Participation" in client.get("/researcher", headers=basic).text
    assert "Participation" not in client_of(visits).get("/researcher", headers=basic).text


def test_panels_of_one_host_have_cookies_of_their_own(visits):
    client, other = client_of(visits), TestClient(make_app(visits, secret=b"x" * 32), **HERE)
    page = start(client)
    jar = dict(client.cookies)  # of one browser, which sends them to all ports of a host
    for one, address in ((other, "/"), (client, "/visit")):
        one.cookies.clear()
        answer = one.get(address, headers={"Cookie": "; ".join(f"{k}={v}" for k, v in jar.items())})
        jar |= dict(one.cookies)
    assert answer.text == page


@pytest.mark.long
@pytest.mark.parametrize("people", [1, 3])
def test_a_start_that_is_sent_twice_is_one_visit(tmp_path, people):
    visits = Visits.open(plan_of(tmp_path, people, {"consent": None, "instructions": None}))
    client = client_of(visits)
    sent = {"token": hidden(client.get("/").text, "token")}
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    pages = []
    for _ in range(2):
        client.cookies.clear()
        client.post("/start", data=sent, headers={"Cookie": cookies}, follow_redirects=False)
        pages.append(client.get("/visit").text)
    assert pages[0].replace(hidden(pages[0], "token"), "") == pages[1].replace(hidden(pages[1], "token"), "")
    figures = visits.figures()
    assert (figures.started, figures.active) == (1, 1)
    visits.close()


def test_a_person_who_takes_part_is_no_researcher(visits):
    client = client_of(visits)
    go_to_end(client, start(client))
    assert "Participation" not in client.get("/researcher").text


def test_the_token_is_printed_once_and_stored_and_logged_nowhere(visits, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    with open_socket("127.0.0.1", 0) as listening:
        first = "\n".join(addresses(visits, listening, "127.0.0.1", False))
        again = "\n".join(addresses(visits, listening, "127.0.0.1", False))
    token = first.partition("this once: ")[2].split()[0]
    assert len(token) > 30
    assert token not in again
    client = client_of(visits)
    sent = {"token": hidden(client.get("/researcher").text, "token"), "researcher_token": token}
    assert "Participation" in client.post("/researcher", data=sent).text
    assert token not in caplog.text
    assert not [path for path in tmp_path.iterdir() if token.encode() in path.read_bytes()]


def test_the_secret_is_made_once_and_is_its_owners_alone(tmp_path):
    secret = panel_secret(tmp_path / "run")
    assert len(secret) == 32
    assert panel_secret(tmp_path / "run") == secret
    path = tmp_path / "run" / "panel.secret"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    path.write_text("short", encoding="ascii")
    with pytest.raises(InputError, match="no secret"):
        panel_secret(tmp_path / "run")


@pytest.mark.parametrize("name", ["consent.md", "consent.es.md", "instructions.en.md", "languages/es.yaml"])
def test_no_text_of_a_page_is_read_through_a_link_out_of_the_study(tmp_path, name):
    study = rating_panel(tmp_path / "study", languages=["en", "es"])
    secret = tmp_path / "secret.yaml"
    secret.write_text("name: a secret\n", encoding="utf-8")
    (study / name).parent.mkdir(exist_ok=True)
    (study / name).unlink(missing_ok=True)
    (study / name).symlink_to(secret)
    with pytest.raises(InputError, match="folder of the study") as refused:
        client_of(visits_of(study, tmp_path / "run"))
    assert "a secret" not in str(refused.value)
