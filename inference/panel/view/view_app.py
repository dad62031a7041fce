"""The web application: lists, transcripts, media, and blind labelling, for browsers on this machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ...errors import InputError
from ..pages.reading_answers import read_answers
from ..pages.steps import TaskStep
from ..plan import PlannedTask
from ..web.page_templates import medium_address, pair_layout
from ..web.panel_app import ANSWER, KEPT, answers_in, text_of, timing_of
from ..web.security import (
    read_form,
)
from ..web.visit_pages import PageContext, RefusedForm, task_page
from .blind_labelling import Labelling
from .filters import NAMES, ORDERS, Collection, Filter, Query
from .guarded_app import GuardedPages, guarded_app
from .transcript_pages import (
    ORDER_LABELS,
    PAGE,
    TranscriptRenderer,
    address_of_query,
    english,
    filter_choices,
    served_address,
    view_environment,
)
from .transcripts import Transcripts
from .viewed_answers import Mask, Numbers

IN_LEDGER = re.compile(r"([0-9]{1,6})-([0-9a-f]{64})")
SERVED = ("image/png", "image/jpeg", "image/webp", "image/gif", "video/mp4", "video/webm")
SOUND = ("audio/wav", "audio/x-wav", "audio/mpeg")
NUMBER = re.compile(r"[0-9]{1,9}")


def make_app(
    collection: Collection,
    *,
    secret: bytes,
    port: int = 0,
    filters: Sequence[Filter] = (),
    label: str | None = None,
    seed: int = 1,
    token: str | None = None,
) -> Starlette:
    """Return the web application.

    Parameters
    ----------
    collection : Collection
    secret : bytes
        Signs cookies and forms, at least 16 bytes.
    port : int
        Part of the name of the cookie, so that two applications on one machine do not share it.
    filters : sequence of (str, str)
        Filters of the command line: the list begins with them, and labelling is of their tasks alone.
    label : str, optional
        The person who labels from the first page on.
    seed : int
        Seed of the order in which tasks are labelled.
    token : str, optional
        What the first address of a browser has to contain, as ``?token=...``; nobody else sees a page.

    Raises
    ------
    InputError
        Where ``label`` cannot label these tasks.
    """
    if len(secret) < 16:
        raise ValueError("the secret has fewer than 16 bytes")
    pages = ViewPages(collection, secret, tuple(filters), label or "", seed)
    if label is not None:
        pages.labelling(label)
    routes = [
        Route("/", pages.list, methods=["GET"]),
        Route("/answer/{number}", pages.answer, methods=["GET"]),
        Route("/media/{name}", pages.medium, methods=["GET"]),
        Route("/label", pages.label_page, methods=["GET"]),
        Route("/label", pages.label, methods=["POST"]),
        Route("/labelling", pages.begin, methods=["POST"]),
    ]
    app = guarded_app(pages, routes, port, token)
    app.state.pages = pages
    return app


@dataclass
class ViewPages(GuardedPages):
    """Requests of a browser, answered with pages."""

    collection: Collection
    secret: bytes
    filters: tuple[Filter, ...]
    default: str  # who labels in a new session
    seed: int
    renderer: TranscriptRenderer = field(init=False)
    _open: dict[str, Labelling] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        environment = view_environment(served_address, medium_address)
        self.renderer = TranscriptRenderer(Transcripts(self.collection), environment)
        self._choices = filter_choices(self.collection)

    def fill(self, template: str, **values: Any) -> str:
        """Fill a template."""
        return self.renderer.page(template, **values)

    def close(self) -> None:
        """Close all labels."""
        for labelling in self._open.values():
            labelling.close()

    # ---- viewing ----

    async def list(self, request: Request) -> Response:
        """Show a page of the list; somebody who comes to label begins with that."""
        self.begin_session(request)
        if self.default and "label" not in request.session:
            request.session["label"] = self.default
            return RedirectResponse("/label", status_code=303)
        if self.filters and not request.query_params and "filtered" not in request.session:
            request.session["filtered"] = True
            address = "/?" + address_of_query(Query(self.filters))
            return RedirectResponse(address, status_code=303)
        return await run_in_threadpool(self._list, request)

    def _list(self, request: Request, problem: str = "") -> Response:
        query = self._query(request)
        numbers, hidden = self._numbers(request, query)
        pages = max(-(-len(numbers) // PAGE), 1)
        page = min(_number(request.query_params.get("page", "1")) or 1, pages)
        rows = self.renderer.rows(numbers[(page - 1) * PAGE : page * PAGE].tolist())
        html = self.fill(
            "list.html.j2",
            query=query,
            query_text=address_of_query(query),
            choices=self._choices,
            orders=ORDER_LABELS,
            rows=rows,
            found=len(numbers),
            total=len(self.collection.answers),
            hidden=hidden,
            page=page,
            pages=pages,
            **self._labelling_values(request, problem),
        )
        return HTMLResponse(html, status_code=422 if problem else 200)

    async def answer(self, request: Request) -> Response:
        """Show one transcript with its neighbours in the list."""
        self.begin_session(request)
        return await run_in_threadpool(self._answer, request)

    def _answer(self, request: Request) -> Response:
        number = _number(request.path_params["number"])
        if number is None or number >= len(self.collection.answers):
            raise HTTPException(404)
        query = self._query(request)
        numbers, _ = self._numbers(request, query)
        at = np.flatnonzero(numbers == number)
        if not len(at):
            query = Query()
            numbers, _ = self._numbers(request, query)
            at = np.flatnonzero(numbers == number)
        if not len(at):
            raise HTTPException(404, "Answers to this task are hidden until you have labelled it.")
        place = int(at[0])
        back = address_of_query(query, place // PAGE + 1)
        html = self.fill(
            "answer.html.j2",
            query_text=address_of_query(query),
            back="/?" + back if back else "/",
            before=int(numbers[place - 1]) if place else None,
            after=int(numbers[place + 1]) if place + 1 < len(numbers) else None,
            place=place + 1,
            found=len(numbers),
            own=self._own_label(request, number),
            **self.renderer.transcript(number),
        )
        return HTMLResponse(html)

    def _own_label(self, request: Request, number: int) -> str:
        """What the person who labels gave as label of the task of an answer; empty where there is none."""
        name = self._person(request)
        if not name or not self._of_labelled(name)[number]:
            return ""
        label = self._open[name].label_of(str(self.collection.answers.frame["subject"].iat[number]))
        return "" if label is None else ", ".join(f"{field} {value}" for field, value in label.items())

    async def medium(self, request: Request) -> Response:
        """Send a picture or clip of the study or of a ledger, by its name, and no other file."""
        return await run_in_threadpool(self._medium, request.path_params["name"])

    def _medium(self, name: str) -> Response:
        headers = {"Cache-Control": KEPT}
        match = IN_LEDGER.fullmatch(name)
        if match is None:
            entry = self.renderer.transcripts.contents.files.get(name)
            if entry is None:
                raise HTTPException(404)
            path, kind = entry
            return FileResponse(path, media_type=kind, headers=headers)
        runs, number = self.collection.sources.runs, int(match[1])
        ledger = runs[number].ledger if number < len(runs) else None
        try:
            if ledger is None:
                raise HTTPException(404)
            kind, content = ledger.media(match[2])
        except InputError:
            raise HTTPException(404) from None
        if kind not in (*SERVED, *SOUND):
            raise HTTPException(404)
        return Response(content, media_type=kind, headers=headers)

    def _query(self, request: Request) -> Query:
        """Filters and order of an address; those of the command where it has none."""
        parameters = request.query_params
        fields = [(name, value[:1000]) for name, value in parameters.multi_items() if name in NAMES and value]
        named = tuple(dict.fromkeys(fields))
        order = parameters.get("order", ORDERS[0])
        return Query(named, order if order in ORDERS else ORDERS[0], parameters.get("descending") == "yes")

    def _numbers(self, request: Request, query: Query) -> tuple[Numbers, int]:
        """Numbers of the answers that are shown, and how many are hidden from a person who labels."""
        numbers = self.collection.numbers(query)
        name = self._person(request)
        if not name:
            return numbers, 0
        is_visible = self._of_labelled(name)
        return numbers[is_visible[numbers]], int((~is_visible).sum())

    def _of_labelled(self, name: str) -> Mask:
        """Which answers are to tasks that a person has labelled, in all runs with these tasks."""
        frame = self.collection.answers.frame
        is_labelled = frame["subject"].isin(self._open[name].labelled) & (frame["run"] == 0)
        return np.asarray(frame["task"].isin(frame["task"][is_labelled]).to_numpy(dtype=bool))

    # ---- labelling ----

    def labelling(self, name: str) -> Labelling:
        """Open the labels of a person."""
        with self._lock:
            if name not in self._open:
                run, frame = self.collection.sources.runs[0], self.collection.answers.frame
                numbers = self.collection.numbers(Query(self.filters))
                chosen = frame.iloc[numbers]
                subjects = chosen["subject"][(chosen["run"] == 0).to_numpy()]
                judges = self.collection.sources.judges_besides(name)
                tasks = self.renderer.transcripts.contents.first_tasks(0, subjects.unique())
                self._open[name] = Labelling.open(
                    run.root, name, self.collection.study, tasks, self.seed, run.design, judges
                )
            return self._open[name]

    async def begin(self, request: Request) -> Response:
        """Begin to label under a name, or stop."""
        form = await read_form(request, self.secret)
        if form.get("stop"):
            request.session["label"] = ""
            return RedirectResponse("/", status_code=303)
        name = text_of(form, "name").strip()
        try:
            await run_in_threadpool(self.labelling, name)
        except InputError as error:
            return await run_in_threadpool(self._list, request, str(error))
        request.session["label"] = name
        return RedirectResponse("/label", status_code=303)

    async def label_page(self, request: Request) -> Response:
        """Show the task to label, or that all are labelled."""
        self.begin_session(request)
        if not self._person(request):
            return RedirectResponse("/", status_code=303)
        return await run_in_threadpool(self._label_page, request, None)

    def _label_page(self, request: Request, answered: RefusedForm | None) -> Response:
        name = self._person(request)
        labelling = self._open[name]
        progress = labelling.progress
        values = {
            "name": name,
            "labelled": f"{progress.labelled:,}",
            "tasks": f"{progress.tasks:,}",
            "can_undo": progress.last is not None,
        }
        token = self.token_of(request)
        if progress.task is None:
            folder = str(labelling.folder)
            html = self.fill("labelled.html.j2", token=token, step=progress.step, folder=folder, **values)
            return HTMLResponse(html)
        values |= {"labelled": progress.labelled, "tasks": progress.tasks}
        step = self._step(labelling)
        template, task = task_page(labelling.study, step, english())
        task |= {"title": f"Task {progress.labelled + 1:,} of {progress.tasks:,}"}
        page = PageContext(english(), token, (), pair_layout(step.shown), "/label", at_once=True)
        html = self.fill(
            "labelling.html.j2",
            parent=template,
            page=page,
            step=step,
            study=labelling.study,
            answered=answered or RefusedForm(),
            **values,
            **task,
        )
        return HTMLResponse(html, status_code=422 if answered else 200)

    def _step(self, labelling: Labelling) -> TaskStep:
        """The present task as a page of a panel shows it."""
        progress = labelling.progress
        assert progress.task is not None
        displays = self.renderer.transcripts.contents.of(0, progress.task).shown
        names = tuple(str(place) for place in range(len(displays)))
        index, tasks = progress.labelled + 1, progress.tasks
        planned = PlannedTask(progress.task, names)
        return TaskStep(progress.step, tasks + 1, planned, displays, practice=False, index=index, tasks=tasks)

    async def label(self, request: Request) -> Response:
        """Write a label, skip a task, or take the last label back."""
        form = await read_form(request, self.secret)
        if not self._person(request):
            return RedirectResponse("/", status_code=303)
        return await run_in_threadpool(self._label, request, form)

    def _label(self, request: Request, form: FormData) -> Response:
        labelling = self._open[self._person(request)]
        step, action = _number(text_of(form, "step")), text_of(form, "do")
        if step is None:
            raise HTTPException(403)
        if action in ("skip", "undo"):
            getattr(labelling, action)(step)
        elif labelling.progress.task is not None and step == labelling.progress.step:
            fields = answers_in(form, ANSWER)
            answers, refused = read_answers(labelling.study, self._step(labelling), fields)
            if refused:
                return self._label_page(request, RefusedForm(fields, refused))
            labelling.label(step, answers, vars(timing_of(form)))
        return RedirectResponse("/label", status_code=303)

    # ---- what requests have in common ----

    def _person(self, request: Request) -> str:
        """Who labels in a session; empty where nobody does."""
        name = str(request.session.get("label", self.default))
        return name if name in self._open else ""

    def _labelling_values(self, request: Request, problem: str) -> dict[str, object]:
        name = self._person(request)
        progress = self._open[name].progress if name else None
        return {
            "can_label": self.collection.study is not None,
            "name": name,
            "token": self.token_of(request),
            "labelled": f"{progress.labelled:,}" if progress else "",
            "tasks": f"{progress.tasks:,}" if progress else "",
            "problem": problem,
        }


def _number(text: str) -> int | None:
    return int(text) if NUMBER.fullmatch(text) else None
