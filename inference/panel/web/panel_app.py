"""The web application of a panel: arrival, one address for the page that a person is on, pictures, errors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from ...study.panel_section import SEVERAL
from ..displayed_fields import title_of
from ..pages.steps import EndStep
from ..visits import Refused, Timing, UnknownVisit, Visits
from .languages import Catalogue, choose_language, load_catalogues
from .page_templates import STATIC, pair_layout
from .researcher_page import Researcher
from .security import (
    BodyLimit,
    Buckets,
    ProtectedPages,
    RateLimit,
    ServerLimits,
    address_of,
    cookie_name,
    disconnected,
    form_token,
    new_session,
    read_form,
    visit_name,
)
from .visit_pages import PageContext, RefusedForm, render, render_step

COOKIE_AGE = 30 * 24 * 60 * 60  # seconds
ANSWER, PARAMETER = "a.", "p."  # what begins the names of answers and of parameters in forms
LONGEST_PARAMETER = 256
DEVICE = ("device", "width", "height", "touch", "screen_width", "screen_height")
KEPT = "private, max-age=86400, immutable"
ERROR_HEADERS = {429: {"Retry-After": "5"}}
MESSAGES = {403: "refused", 404: "not_found", 413: "too_large", 415: "refused", 429: "too_many"}


def make_app(
    visits: Visits,
    *,
    secret: bytes,
    secure: bool = False,
    trusted_proxies: Sequence[str] = (),
    limits: ServerLimits | None = None,
) -> Starlette:
    """Return the web application of a panel.

    Parameters
    ----------
    visits : Visits
        Visits of the panel.
    secret : bytes
        Signs cookies and forms; the same in all processes of one panel, at least 16 bytes.
    secure : bool
        Whether people reach it by HTTPS: cookies are then sent by HTTPS alone.
    trusted_proxies : sequence of str
        Addresses or networks of reverse proxies, whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are
        believed; nobody else's are.
    limits : ServerLimits, optional
        Limits of size and rate.

    Returns
    -------
    Starlette
        An ASGI application.

    Raises
    ------
    InputError
        Where a language of the study has no catalogue.

    Examples
    --------
    >>> import tempfile
    >>> from starlette.testclient import TestClient
    >>> from conjury.inference.panel.plan import make_plan
    >>> visits = Visits.open(make_plan("moderation", people=2, out=tempfile.mkdtemp()))
    >>> TestClient(make_app(visits, secret=b"0" * 32)).get("/").status_code
    200
    >>> visits.close()
    """
    if len(secret) < 16:
        raise ValueError("the secret has fewer than 16 bytes")
    limits = limits or ServerLimits()
    buckets = Buckets()
    plan = visits.plan
    catalogues = load_catalogues(plan.section.languages, plan.study.folder)
    layout = pair_layout(plan.shown.shown.values())
    pages = VisitPages(visits, catalogues, secret, limits, buckets, layout)
    researcher = Researcher(visits, secret, limits, buckets)
    routes = [
        Route("/", pages.welcome, methods=["GET"]),
        Route("/start", pages.start, methods=["POST"]),
        Route("/visit", pages.visit, methods=["GET"]),
        Route("/visit", pages.submit, methods=["POST"]),
        Route("/media/{name}", pages.media, methods=["GET"]),
        Route("/researcher", researcher.show, methods=["GET"]),
        Route("/researcher", researcher.sign, methods=["POST"]),
        Mount("/static", KeptFiles(directory=STATIC)),
    ]
    too_large, too_many = pages.refusal(413), pages.refusal(429)
    middleware = [
        Middleware(ProxyHeadersMiddleware, trusted_hosts=list(trusted_proxies)),
        Middleware(
            SessionMiddleware,
            secret_key=secret.hex(),
            session_cookie=cookie_name(secret),
            max_age=COOKIE_AGE,
            same_site="lax",
            https_only=secure,
        ),
        Middleware(RateLimit, limits=limits, buckets=buckets, refuse=too_many),
        Middleware(BodyLimit, most=limits.body, refuse=too_large),
    ]
    handlers = {
        HTTPException: pages.http_error,
        ClientDisconnect: disconnected,
        Exception: pages.failure,
    }
    return ProtectedPages(secure=secure, routes=routes, middleware=middleware, exception_handlers=handlers)


class KeptFiles(StaticFiles):
    """The stylesheet and the script, which browsers may keep: their addresses change with their content."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        """Return a file that browsers keep."""
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = KEPT
        return response


@dataclass(frozen=True)
class VisitPages:
    """Requests of people, answered with pages."""

    visits: Visits
    catalogues: Mapping[str, Catalogue]
    secret: bytes
    limits: ServerLimits
    buckets: Buckets
    layout: str

    @cached_property
    def codes(self) -> list[str]:
        """Languages of the study, the first by default."""
        return list(self.catalogues)

    # ---- arrival ----

    async def welcome(self, request: Request) -> Response:
        """Show what a person comes to; somebody who is on the way goes on."""
        recruiting = self.visits.plan.section.recruiting
        parameters = {name: request.query_params.get(name, "").strip() for name in recruiting.parameters}
        parameters = {name: value[:LONGEST_PARAMETER] for name, value in parameters.items() if value}
        person = parameters.get(recruiting.person)
        session = request.session
        if session.get("visit") and (person is None or session.get("person") == _person_hash(person)):
            return RedirectResponse("/visit", status_code=303)
        if "id" not in session:
            session["id"] = new_session()
        text = self._language(request)
        links = {code: "/?" + urlencode({**parameters, "language": code}) for code in self.codes}
        section = self.visits.plan.section
        return HTMLResponse(
            render(
                "welcome.html.j2",
                self._page(request, text),
                title=title_of(self.visits.plan.study),
                parameters=parameters,
                links=links,
                minutes=section.minutes,
                complete=person is not None or not recruiting.required,
            )
        )

    async def start(self, request: Request) -> Response:
        """Begin a visit."""
        form = await read_form(request, self.secret)
        if not self.buckets.allow("arrivals", address_of(request.scope), self.limits.arrivals):
            raise HTTPException(429)
        parameters = answers_in(form, PARAMETER)
        device = {name: text_of(form, name) for name in DEVICE}
        if not device["device"]:
            device = {"device": _kind_of_device(request.headers.get("user-agent", ""))}
        language = text_of(form, "language")
        person = parameters.get(self.visits.plan.section.recruiting.person, "")
        visit = visit_name(self.secret, request.session["id"], person)
        arrived = await run_in_threadpool(self.visits.arrive, parameters, device, language, visit)
        if isinstance(arrived, EndStep):
            page = self._page(request, self.catalogues.get(language) or self._language(request))
            return HTMLResponse(render_step(self.visits.plan.study, arrived, page, screen=device))
        language = await run_in_threadpool(self.visits.language, arrived)
        request.session.clear()
        request.session.update({"id": new_session(), "visit": arrived, "language": language})
        if person:
            request.session["person"] = _person_hash(person)
        return RedirectResponse("/visit", status_code=303)

    # ---- the page that a person is on ----

    async def visit(self, request: Request) -> Response:
        """Show the page that a person is on."""
        visit = request.session.get("visit")
        if visit is None:
            return RedirectResponse("/", status_code=303)
        page = self._page(request, self._language(request))
        return await run_in_threadpool(self._shown, request, visit, page)

    def _shown(self, request: Request, visit: str, page: PageContext) -> Response:
        try:
            step = self.visits.step(visit)
        except UnknownVisit:
            request.session.clear()
            return RedirectResponse("/", status_code=303)
        return HTMLResponse(render_step(self.visits.plan.study, step, page))

    async def submit(self, request: Request) -> Response:
        """Store the answers of a page and go on; a page that was sent before changes nothing."""
        visit = request.session.get("visit")
        if visit is None:
            return RedirectResponse("/", status_code=303)
        form = await read_form(request, self.secret)
        page = self._page(request, self._language(request))
        return await run_in_threadpool(self._stored, request, visit, form, page)

    def _stored(self, request: Request, visit: str, form: FormData, page: PageContext) -> Response:
        number, answers = text_of(form, "step"), answers_in(form, ANSWER)
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise HTTPException(403)
        try:
            following = self.visits.submit(visit, int(number), answers, timing_of(form))
            if not isinstance(following, Refused):
                return RedirectResponse("/visit", status_code=303)
            step = self.visits.step(visit)
        except UnknownVisit:
            request.session.clear()
            return RedirectResponse("/", status_code=303)
        answered = RefusedForm(answers, following.fields)
        return HTMLResponse(render_step(self.visits.plan.study, step, page, answered), status_code=422)

    async def media(self, request: Request) -> Response:
        """Send a picture or clip of the study, by its name, to those who take part."""
        entry = self.visits.plan.shown.files.get(request.path_params["name"])
        if entry is None or request.session.get("visit") is None:
            raise HTTPException(404)
        path, kind = entry
        return FileResponse(path, media_type=kind, headers={"Cache-Control": KEPT})

    # ---- what goes wrong ----

    def refusal(self, status: int) -> Response:
        """Return the page of an error that comes before any route."""
        page = PageContext(self.catalogues[self.codes[0]])
        return HTMLResponse(
            self._message(status, page), status_code=status, headers=ERROR_HEADERS.get(status)
        )

    async def http_error(self, request: Request, error: Exception) -> Response:
        """Show an error as a page."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        page = self._page(request, self._language(request))
        return HTMLResponse(
            self._message(status, page), status_code=status, headers=ERROR_HEADERS.get(status)
        )

    async def failure(self, request: Request, error: Exception) -> Response:
        """Show a page without anything of the error; the server's log has it."""
        return HTMLResponse(self._message(500, self._page(request, self._language(request))), status_code=500)

    def _message(self, status: int, page: PageContext) -> str:
        kind = MESSAGES.get(status, "not_found" if status < 500 else "failed")
        title = page.text(f"messages.{kind}.title")
        return render("message.html.j2", page, title=title, kind=kind, again=status != 404)

    # ---- what requests have in common ----

    def _page(self, request: Request, text: Catalogue) -> PageContext:
        session = str(request.scope.get("session", {}).get("id", ""))
        token = form_token(self.secret, session) if session else ""
        return PageContext(text, token, tuple(self.catalogues.values()), self.layout)

    def _language(self, request: Request) -> Catalogue:
        query_code = request.query_params.get("language", "")
        visiting = request.scope.get("session", {}).get("language", "")
        for code in (query_code if not visiting else "", visiting):
            if code in self.catalogues:
                return self.catalogues[code]
        return self.catalogues[choose_language(request.headers.get("accept-language", ""), self.codes)]


def timing_of(form: FormData) -> Timing:
    """Read what the browser measured; what is no number, or a number that cannot be, is missing."""
    return Timing(
        response_ms=_milliseconds(form, "response_ms"),
        first_input_ms=_milliseconds(form, "first_input_ms"),
        focus_lost=int(_milliseconds(form, "focus_lost") or 0),
        focus_lost_ms=_milliseconds(form, "focus_lost_ms") or 0.0,
    )


def _milliseconds(form: FormData, name: str) -> float | None:
    try:
        value = float(text_of(form, name))
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None


def text_of(form: FormData, name: str) -> str:
    """A field of a form, empty where it is missing."""
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def answers_in(form: FormData, before: str) -> dict[str, str]:
    """Fields of a form whose names begin with ``before``, without it and without characters of no text."""
    values: dict[str, list[str]] = {}
    for name, value in form.multi_items():
        if name.startswith(before) and isinstance(value, str):
            values.setdefault(name[len(before) :], []).append(value.replace("\x00", ""))
    return {name: SEVERAL.join(texts) for name, texts in values.items()}


def _kind_of_device(agent: str) -> str:
    if "iPad" in agent or "Tablet" in agent or ("Android" in agent and "Mobile" not in agent):
        return "tablet"
    return "phone" if "Mobi" in agent else "computer"


def _person_hash(person: str) -> str:
    return hashlib.sha256(person.encode()).hexdigest()[:16]


__all__ = ["make_app"]
