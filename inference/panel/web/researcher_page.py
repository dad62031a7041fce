"""The researcher's page, behind a token: who started and finished, quotas, cost, balance, agreement."""

from __future__ import annotations

import hmac
import math
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock

import pandas as pd
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...study.panel_section import Question
from ..status import PanelFigures
from ..visits import Visits
from .languages import Catalogue, choose_language, load_catalogues
from .page_templates import field_label
from .security import Buckets, ServerLimits, address_of, form_token, new_session, read_form
from .visit_pages import PageContext, render

LANGUAGES = ("en", "es")
SECONDS = 15  # between two looks at the figures
AGE = 5.0  # seconds for which figures are kept
STRAIGHT = 10  # people listed for equal answers in a row
SIGNED_IN = "researcher"


@dataclass(frozen=True)
class Bar:
    """One row of a chart: its label, its length from 0 to 100, and the number beside it."""

    label: str
    length: float
    number: str
    kind: str = "first"


@dataclass
class Researcher:
    """Requests of the researcher."""

    visits: Visits
    secret: bytes
    limits: ServerLimits
    buckets: Buckets
    _kept: tuple[float, PanelFigures] | None = None
    _lock: Lock = field(default_factory=Lock)
    _languages: dict[str, Catalogue] = field(default_factory=lambda: load_catalogues(LANGUAGES))

    async def show(self, request: Request) -> Response:
        """Show the figures to the researcher, and a form for the token to anybody else."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":  # other schemes are those of a proxy
            if not await self._is_token(request, bearer.strip()):
                raise HTTPException(403)
        elif not await self._is_signed_in(request):
            return self._sign_in(request, wrong=False)
        live = request.query_params.get("refresh") != "no"
        html = await run_in_threadpool(self._page, request, live)
        return HTMLResponse(html, headers={"Refresh": str(SECONDS)} if live else None)

    async def sign(self, request: Request) -> Response:
        """Sign in with the token, or out."""
        form = await read_form(request, self.secret)
        if form.get("sign_out"):
            if await self._is_signed_in(request):
                await run_in_threadpool(self.visits.end_researcher_sessions)
            request.session.pop(SIGNED_IN, None)
        elif not await self._is_token(request, str(form.get("researcher_token", "")).strip()):
            return self._sign_in(request, wrong=True)
        else:
            request.session[SIGNED_IN] = await run_in_threadpool(self.visits.researcher_session)
        return RedirectResponse("/researcher", status_code=303)

    async def _is_signed_in(self, request: Request) -> bool:
        """Whether a cookie is of a session that nobody has signed out."""
        cookie = request.session.get(SIGNED_IN)
        session_name = await run_in_threadpool(self.visits.researcher_session)
        return isinstance(cookie, str) and bool(session_name) and hmac.compare_digest(cookie, session_name)

    async def _is_token(self, request: Request, token: str) -> bool:
        """Whether a token is right, which it may be at any time; wrong ones of an address are limited."""
        if await run_in_threadpool(self.visits.is_researcher, token[:200]):
            return True
        if not self.buckets.allow("sign_in", address_of(request.scope), self.limits.sign_in):
            raise HTTPException(429)
        return False

    def _sign_in(self, request: Request, wrong: bool) -> Response:
        if "id" not in request.session:
            request.session["id"] = new_session()
        html = render("sign_in.html.j2", self._common(request), wrong=wrong)
        return HTMLResponse(html, status_code=403 if wrong else 200)

    def _common(self, request: Request) -> PageContext:
        code = choose_language(request.headers.get("accept-language", ""), LANGUAGES)
        session = str(request.session.get("id", ""))
        return PageContext(self._languages[code], form_token(self.secret, session) if session else "")

    def _figures(self) -> PanelFigures:
        """Return figures that are at most some seconds old."""
        with self._lock:
            if self._kept is None or time.monotonic() - self._kept[0] > AGE:
                self._kept = (time.monotonic(), self.visits.figures())
            return self._kept[1]

    def _page(self, request: Request, live: bool) -> str:
        figures, page, study = self._figures(), self._common(request), self.visits.plan.study
        labels = {question.id: question for question in self.visits.plan.section.questions}
        quotas = [
            (
                "; ".join(labels[name].label for name in quota.answers),
                "; ".join(_option_label(labels[name], option) for name, option in quota.answers.items()),
                _bar(f"{quota.people:,} / {quota.limit:,}", quota.people, quota.limit),
            )
            for quota in figures.quotas
        ]
        return render(
            "researcher.html.j2",
            page,
            study=study,
            figures=figures,
            live=live,
            seconds=SECONDS,
            time=datetime.now(UTC).strftime("%H:%M:%S"),
            tiles=tiles(figures, page.text),
            ends=ends(figures, page.text),
            quotas=quotas,
            balance=balance(figures.balance, study.feature_labels, study.level_labels),
            agreement=agreement(figures.agreement),
            straight=figures.straight.sort_values("longest", ascending=False, kind="stable")
            .head(STRAIGHT)
            .to_dict("records"),
        )


def _option_label(question: Question, option: str) -> str:
    return next(level.label for level in question.options if level.id == option)


def tiles(figures: PanelFigures, text: Catalogue) -> list[tuple[str, str]]:
    """Single figures in words."""
    entries = [
        (text("researcher.wanted"), f"{figures.slots:,}"),
        (text("researcher.started"), f"{figures.started:,}"),
        (text("researcher.active"), f"{figures.active:,}"),
        (text("researcher.finished"), f"{figures.finished:,}"),
        (text("researcher.left"), f"{figures.left:,}"),
    ]
    if figures.median_minutes is not None and math.isfinite(figures.median_minutes):
        entries.append((text("researcher.median"), f"{figures.median_minutes:.1f}"))
    if figures.checks_answered:
        checks = {"failed": f"{figures.checks_failed:,}", "answered": f"{figures.checks_answered:,}"}
        entries.append((text("researcher.checks"), text("researcher.checks_of", **checks)))
    if figures.cost is not None:
        entries.append((text("researcher.cost"), f"{figures.cost:,.2f} {figures.currency or ''}".strip()))
    if figures.hourly is not None:
        entries.append((text("researcher.hourly"), f"{figures.hourly:,.2f} {figures.currency or ''}".strip()))
    return entries


def ends(figures: PanelFigures, text: Catalogue) -> list[Bar]:
    """People by end, as bars."""
    most = max(figures.ended.values(), default=0)
    return [
        _bar(f"{count:,}", count, most, text(f"researcher.end_names.{name}"))
        for name, count in figures.ended.items()
        if count
    ]


def balance(
    table: pd.DataFrame, attributes: dict[str, str], levels: dict[str, dict[str, str]]
) -> list[tuple[str, list[tuple[str, list[Bar]]]]]:
    """Levels of each attribute with a bar for each position; the longest bar is the largest share."""
    if table.empty:
        return []
    table = table.assign(share=table["share"].fillna(0.0))  # before anything is answered
    top = float(table["share"].max()) or 1.0
    charts = []
    for attribute, attribute_rows in table.groupby("attribute", sort=False):
        name = str(attribute)
        rows = []
        for level, shares in attribute_rows.groupby("level", sort=False):
            bars = [
                _bar(
                    f"{row.shown:,} ({row.share:.0%})",
                    float(str(row.share)),
                    top,
                    str(row.position),
                    "first" if number == 0 else "second",
                )
                for number, row in enumerate(shares.itertuples())
            ]
            rows.append((levels.get(name, {}).get(str(level), str(level)), bars))
        charts.append((attributes.get(name, field_label(name)), rows))
    return charts


def agreement(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Measures of agreement, their estimates and numbers of units."""
    return [
        (
            field_label(str(row["measure"])),
            "" if pd.isna(row["estimate"]) else f"{row['estimate']:.2f}".replace("-", "\u2212"),
            f"{int(row['units']):,}",
        )
        for row in table.to_dict("records")
    ]


def _bar(number: str, value: float, most: float, label: str = "", kind: str = "first") -> Bar:
    return Bar(label, round(100 * min(value / most, 1.0), 1) if most else 0.0, number, kind)
