"""A visit by pages without scripts: to the end, back, twice, in two tabs, after a restart of the server."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from made_up.panels import (
    HOSTILE,
    answers_of,
    arabic_panel,
    client_of,
    go_to_end,
    hidden,
    picture_panel,
    plan_of,
    rating_panel,
    send,
    start,
    town_panel,
    visits_of,
)
from starlette.datastructures import FormData

from conjury.inference.panel.plan import labelling_study, make_plan
from conjury.inference.panel.visits import Timing
from conjury.inference.panel.web.panel_app import timing_of
from conjury.inference.panel.web.visit_pages import scale_field, task_fields
from conjury.inference.study import load_any_study
from conjury.inference.study.asking import Scale


@pytest.fixture(scope="module")
def towns_plan(tmp_path_factory):
    return make_plan(town_panel(tmp_path_factory.mktemp("towns")), out=tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def rated_plan(tmp_path_factory):
    return make_plan(rating_panel(tmp_path_factory.mktemp("rated")), out=tmp_path_factory.mktemp("run"))


@pytest.fixture
def towns(towns_plan, tmp_path):
    visits = visits_of(towns_plan, tmp_path / "run")
    yield visits
    visits.close()


@pytest.fixture
def rated(rated_plan, tmp_path):
    visits = visits_of(rated_plan, tmp_path / "run")
    yield visits
    visits.close()


def test_a_visit_goes_from_the_consent_to_the_code_and_shows_levels_that_are_html_as_text(towns):
    client = client_of(towns)
    pages = go_to_end(client, start(client))
    assert "<h1>About this study</h1>" in pages[0]
    assert "<em>made-up</em>" in pages[0]
    assert "C0FFEE" in pages[-1]
    assert 'href="https://example.org/submissions?cc=C0FFEE"' in pages[-1]
    assert any("&lt;b&gt;bold&lt;/b&gt;" in page for page in pages)
    assert not any("<b>bold" in page or "<script>" in page for page in pages)
    tables = towns.tables()
    assert len(tables.respondents) == 1
    assert tables.choices is not None
    assert len(tables.choices) == 2 * sum('name="a.choice"' in page for page in pages) - 2  # without practice
    assert set(tables.choices["judge_kind"]) == {"human"}


def test_people_see_the_fields_that_the_study_names_and_no_other(tmp_path):
    visits = visits_of(plan_of(tmp_path, collect={"fields": ["sea"]}), tmp_path / "run")
    client = client_of(visits)
    pages = [page for page in go_to_end(client, start(client)) if 'name="a.choice"' in page]
    assert pages
    assert all("Sea" in page and "Size" not in page for page in pages)
    visits.close()


@pytest.mark.long
def test_items_are_rated_on_each_scale_and_those_that_are_html_are_shown_as_text(rated):
    client = client_of(rated)
    pages = go_to_end(client, start(client))
    rated_pages = [page for page in pages if 'name="a.threat"' in page]
    assert len(rated_pages) == 4
    assert all(page.count('name="a.hate"') == 7 for page in rated_pages)
    html = "".join(pages)
    assert "<script>" not in html.replace('<script src="/static', "")
    assert "&lt;script&gt;document.title" in html
    assert HOSTILE not in html
    judgments = rated.tables().judgments
    assert sorted(judgments["dimension"].unique()) == ["hate", "threat"]
    assert (judgments.loc[judgments["dimension"] == "hate", "value"].astype(float) == 7).all()


def test_a_second_tab_goes_on_where_the_person_is(towns):
    client = client_of(towns)
    page = send(client, start(client), {"consent": "yes"}).text
    other_tab = client.get("/visit").text
    assert client.get("/").text == other_tab == page  # also the address of the study leads to where they are
    page = send(client, page, answers_of(page)).text
    assert send(client, other_tab, answers_of(other_tab)).text == page


def test_missing_answers_are_named_and_the_others_stay(rated):
    client = client_of(rated)
    page = start(client)
    while 'name="a.threat"' not in page:
        page = send(client, page, answers_of(page)).text
    refused = send(client, page, {"threat": "2"})
    assert refused.status_code == 422
    assert "Please answer this." in refused.text
    assert 'id="why-hate"' in refused.text
    assert 'id="why-threat"' not in refused.text
    assert 'name="a.threat" value="2" required checked' in refused.text
    assert send(client, refused.text, {"threat": "2", "hate": "3"}).status_code == 200


@pytest.mark.parametrize(
    ("question", "element"),
    [
        ({"options": [{"id": f"o{n}", "label": f"O{n}"} for n in range(10)]}, "select"),
        ({"options": [{"id": f"o{n}", "label": f"O{n}"} for n in range(9)]}, "fieldset"),
        ({"form": "text"}, "textarea"),
        ({"form": "number", "minimum": 1}, "input"),
    ],
)
def test_a_refused_field_stays_required_and_names_its_reason(tmp_path, question, element):
    asked = {"id": "why", "label": "Why", "first": True, **question}
    visits = visits_of(
        town_panel(tmp_path / "study", consent=None, questions=[asked], quotas=[]), tmp_path / "r"
    )
    client = client_of(visits)
    page = send(client, start(client), {})
    assert page.status_code == 422
    parser = Attributes()
    parser.feed(page.text)
    named = [given for tag, given in parser.found if tag == element and "aria-describedby" in given]
    assert [given["aria-describedby"].split()[-1] for given in named] == ["why-why"]
    required = [given for _, given in parser.found if given.get("name") == "a.why" and "required" in given]
    assert required
    visits.close()


class Attributes(HTMLParser):
    """Elements of a page with their attributes, as a browser reads them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.long
@pytest.mark.parametrize("study", [town_panel, rating_panel])
def test_the_researchers_page_shows_zeros_before_any_answer(tmp_path, study):
    visits = visits_of(study(tmp_path / "study"), tmp_path / "run")
    header = {"Authorization": f"Bearer {visits.researcher_token()}"}
    page = client_of(visits).get("/researcher", headers=header)
    assert page.status_code == 200
    assert "(nan%)" not in page.text
    assert ("0 (0%)" in page.text) == (study is town_panel)
    visits.close()


def test_a_visit_goes_on_after_the_server_was_started_again(towns_plan, tmp_path):
    visits = visits_of(towns_plan, tmp_path / "run")
    client = client_of(visits)
    page = send(client, start(client), {"consent": "yes"}).text
    visits.close()
    again = visits_of(towns_plan, tmp_path / "run")
    later = client_of(again)
    later.cookies = client.cookies
    assert later.get("/visit").text == page
    again.close()


def test_parameters_of_platforms_are_read_from_the_address(towns):
    address = "/?PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=x&other=1"
    first = client_of(towns)
    assert "p.other" not in first.get(address).text
    page = send(first, start(first, address), {"consent": "yes"}).text
    second = client_of(towns)  # another browser of the same person
    assert _without_token(start(second, address)) == _without_token(page)
    third = client_of(towns)
    assert "About this study" in start(third, "/?PROLIFIC_PID=p2")
    assert "Where do you live" in page


def test_another_person_at_the_same_browser_begins_a_visit_of_their_own(towns):
    client = client_of(towns)
    send(client, start(client, "/?PROLIFIC_PID=p1"), {"consent": "yes"})
    assert "About this study" in start(client, "/?PROLIFIC_PID=p2")


@pytest.mark.long
def test_times_and_device_are_stored(towns):
    client = client_of(towns)
    page = start(client, device="phone", width="390", height="800", touch="yes")
    while 'name="a.choice"' not in page:
        page = send(client, page, answers_of(page)).text
    page = send(client, page, {"choice": "A"}).text  # practice
    measured = {"response_ms": "2345.5", "focus_lost": "2", "focus_lost_ms": "800", "first_input_ms": "900"}
    send(client, page, {"choice": "B"}, **measured)
    tables = towns.tables()
    assert tables.respondents["device"].tolist() == ["phone"]
    assert tables.respondents["width"].tolist() == [390]
    assert tables.respondents["focus_lost"].tolist() == [2]


def test_a_time_that_cannot_be_is_missing():
    assert timing_of(FormData({"response_ms": "0", "first_input_ms": "0"})) == Timing(0.0, first_input_ms=0.0)
    for nonsense in ("NaN", "-5", "1e300", "abc", "inf", ""):
        names = ("response_ms", "focus_lost", "focus_lost_ms", "first_input_ms")
        assert timing_of(FormData(dict.fromkeys(names, nonsense))) == Timing()


def test_pages_are_in_the_language_of_the_browser_or_the_one_that_is_chosen(tmp_path):
    visits = visits_of(town_panel(tmp_path / "s", languages=["en", "es"]), tmp_path / "run")
    client = client_of(visits)
    assert '<html lang="en"' in client.get("/").text
    assert "Empezar" in client.get("/", headers={"Accept-Language": "es-AR,es;q=0.9"}).text
    page = start(client, "/?language=es&PROLIFIC_PID=p1")
    assert "No quiero participar" in page
    assert '<html lang="es"' in client.get("/visit", headers={"Accept-Language": "en"}).text
    visits.close()


@pytest.mark.long
def test_a_study_adds_a_language_from_right_to_left(tmp_path):
    visits = visits_of(arabic_panel(tmp_path / "s"), tmp_path / "run")
    client = client_of(visits)
    pages = go_to_end(client, start(client))
    assert all('<html lang="ar" dir="rtl">' in page for page in pages)
    assert "شكرا" in pages[-1]
    visits.close()


def test_pictures_have_their_descriptions_and_those_of_the_next_task_are_named(tmp_path):
    visits = visits_of(picture_panel(tmp_path / "s"), tmp_path / "run")
    client = client_of(visits)
    pages = [page for page in go_to_end(client, start(client)) if 'src="/media/' in page]
    assert len(pages) == 3
    assert sum('alt="A blue field"' in page for page in pages) == 1
    following = pages[0].partition('data-next="')[2].partition('"')[0]
    assert f'src="/media/{following}"' in pages[1]
    assert client.get(f"/media/{following}").headers["content-type"] == "image/png"
    visits.close()


def test_kinds_of_an_answer_stand_below_it():
    study = labelling_study(load_any_study("harm_or_humor"))
    (field,) = task_fields(study, None, str)
    below = [(option.value, option.under) for option in field.options]
    assert below == [("safe", ""), ("implicit", "Harmful"), ("explicit", "Harmful")]


@pytest.mark.parametrize(("maximum", "form", "n_buttons"), [(10, "scale", 11), (11, "number", 0)])
def test_scales_of_up_to_eleven_ratings_have_buttons(maximum, form, n_buttons):
    scale = Scale(id="wit", label="Wit", maximum=maximum)
    field = scale_field(scale, lambda name, **limits: f"{name} {limits}")
    assert (field.form, len(field.options)) == (form, n_buttons)
    assert (field.minimum, field.maximum) == ((0, 11) if form == "number" else (None, None))


def _without_token(html: str) -> str:
    return html.replace(hidden(html, "token"), "")
