"""Requests, built lazily and always alike: subjects x prompts x facets x samples, put to one model."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from ..design.factorial import FactorialCell, asked_cells
from ..design.subjects import PresentedSubject, Subject, takes, write_fields
from ..errors import InputError
from ..ledger.exchanges import TOKEN_LIMITS, Body, Request, request_key
from ..study.asking import (
    Choice,
    FreeText,
    Label,
    LineLabels,
    Medium,
    Ratings,
    Response,
    Sampling,
    with_answer,
)
from ..study.models import ItemStudy, Study
from ..study.study_fields import Prompt
from ..tables.schema import OPTION_LABELS, OPTION_ORDERS, PAIR_KIND, POSITIONS, SCALE_DIRECTIONS
from .templates import Templates

Media = Callable[[PresentedSubject, Collection[Medium]], list[dict[str, Any]]]
ALIKE = {"question", "options", "scales", "labels"}  # values that say nothing of a subject
SHOWS = {  # values of templates by which a prompt shows the level of a facet
    "option_order": "{{ labels }}",
    "option_labels": "{{ options[0] }} and {{ options[1] }}",
    "scale_direction": "{{ scale.first }} and {{ scale.last }}",
}
USUAL = ("", OPTION_ORDERS[0], OPTION_LABELS[0], SCALE_DIRECTIONS[0])
OPTION_NAMES = {"letters": ("A", "B"), "numbers": ("1", "2"), "first_second": ("First", "Second")}


class Builder:
    """Turns subjects into requests to one judge."""

    def __init__(
        self,
        study: Study | ItemStudy,
        judge_id: str,
        ask: Sampling,
        prompts: Sequence[Prompt],
        media: Media,
    ) -> None:
        self._study, self._judge, self._prompts, self._media = study, judge_id, prompts, media
        self._ask = ask
        self._asked = {prompt.id: prompt.response or study.response for prompt in prompts}
        self._ways = {name: with_answer(ask, response).answer for name, response in self._asked.items()}
        self._templates = Templates(study.folder)
        names = {name for prompt in prompts for name in (prompt.template, prompt.user) if name is not None}
        self._compiled = {name: self._templates.load(name) for name in sorted(names)}
        self._alike = {name for name in names if self._templates.names(name) <= ALIKE}
        self._filled: dict[tuple[str, ...], str] = {}
        cells = asked_cells(study, ask.samples)
        self._cells = {prompt.id: [cell for cell in cells if cell.prompt == prompt.id] for prompt in prompts}

    def requests(self, subjects: Iterable[Subject]) -> Iterator[Request]:
        """Yield one request for each subject and combination of facets, samples varying fastest."""
        # Raises InputError where a prompt reads the same under two levels of a facet.
        checked = self._study.instrument is None
        for subject in subjects:
            written: dict[str, dict[str, str]] = {}
            if not checked:
                self._check_facets(subject)
                checked = True
            for prompt in self._prompts:
                if not takes(prompt, subject.strata):
                    continue
                for cell in cells_of(self._study, subject, self._cells[prompt.id]):
                    if cell.option_labels not in written:
                        written[cell.option_labels] = self._written(subject, cell)
                    order = self._option_order(subject, prompt, cell)
                    values = self._values(subject, prompt, order, cell, written[cell.option_labels])
                    yield self._request(subject, prompt, cell, order, values)

    def _check_facets(self, subject: Subject) -> None:
        """Refuse prompts whose messages are the same under two levels of a facet."""
        for prompt in self._prompts:
            self._check_options(prompt)
            read: dict[str, FactorialCell] = {}
            for cell in cells_of(self._study, subject, self._cells[prompt.id]):
                order = self._option_order(subject, prompt, cell)
                values = self._values(subject, prompt, order, cell, self._written(subject, cell))
                messages = json.dumps(self._messages(subject, prompt, order, values))
                first_cell = read.setdefault(messages, cell)
                for name, level in cell.facets.items():
                    if first_cell.facets[name] != level:
                        raise self._alike_error(prompt, name, first_cell.facets[name], level)

    def _check_options(self, prompt: Prompt) -> None:
        """Refuse templates that name options by themselves where options are called differently."""
        labels = {cell.option_labels for cell in self._cells[prompt.id]}
        files = [name for name in (prompt.template, prompt.user) if name is not None]
        if len(labels) > 1 and not any("options" in self._templates.names(name) for name in files):
            raise self._alike_error(prompt, "option_labels", *sorted(labels)[:2])

    def _alike_error(self, prompt: Prompt, facet: str, *levels: str) -> InputError:
        place = self._study.folder / (prompt.template or prompt.user or "study.yaml")
        return InputError(
            f"{place}: prompt {prompt.id} does not show whether {facet} is {' or '.join(levels)}; use "
            f"{SHOWS[facet]} in its templates."
        )

    def _request(
        self, subject: Subject, prompt: Prompt, cell: FactorialCell, order: list[str], values: dict[str, Any]
    ) -> Request:
        body: Body = {
            "model": self._ask.model,
            "messages": self._messages(subject, prompt, order, values),
            **self._settings(subject, prompt, cell),
            **self._answer_form(prompt, order),
        }
        arrangement = {**subject.arrangement, "options": order} if order else subject.arrangement
        if self._study.instrument is not None:
            put = {**cell.facets, **({"option_order": subject.order} if subject.order else {})}
            arrangement = {**arrangement, **put, PAIR_KIND: subject.kind}
        key = request_key(self._judge, prompt.id, subject.name, cell.sample, body)
        return Request(key, self._judge, prompt.id, subject.name, cell.sample, body, arrangement)

    def _option_order(self, subject: Subject, prompt: Prompt, cell: FactorialCell) -> list[str]:
        """Return the answers that can be given, in the order in which this request names them."""
        response = self._asked[prompt.id]
        options = answer_options(response)
        if isinstance(response, Choice) and cell.option_labels not in ("", "letters"):
            return list(OPTION_NAMES[cell.option_labels])
        if isinstance(response, Label | LineLabels) and cell.option_order == OPTION_ORDERS[1]:
            return options[::-1]
        if self._study.collect.shuffle_options and isinstance(response, Label | LineLabels | Ratings):
            seed = f"{self._study.collect.seed}:{subject.id}:{cell.sample}"
            random.Random(seed).shuffle(options)
        return options

    def _settings(self, subject: Subject, prompt: Prompt, cell: FactorialCell) -> dict[str, Any]:
        """Return the judge's settings with a seed of this request, so that no two share their noise."""
        # Asked again on a later occasion, a request has the seed of the first.
        settings = dict(self._ask.settings)
        if isinstance(settings.get("seed"), int):
            put = [level for level in (cell.option_labels, cell.scale_direction) if level not in USUAL]
            if not subject.order and cell.option_order not in USUAL:
                put.append(cell.option_order)
            name = ":".join([f"{settings['seed']}:{subject.id}:{prompt.id}:{cell.sample}", *put])
            settings["seed"] = zlib.crc32(name.encode()) >> 1
        return settings

    def _answer_form(self, prompt: Prompt, order: list[str]) -> dict[str, Any]:
        """Return the fields of a body that ask for an answer in the form that the judge can give."""
        how, logprobs = self._ways[prompt.id], {}
        if self._ask.logprobs:
            logprobs = logprobs_fields(self._ask.logprobs, self._ask.top_logprobs)
        if how == "token":
            limited = set(TOKEN_LIMITS) & set(self._ask.settings)
            return logprobs if limited else {"max_tokens": 1, **logprobs}
        if how == "choice":
            return {"structured_outputs": {"choice": order}, **logprobs}
        if how == "json":
            form = answer_schema(self._asked[prompt.id], order)
            schema = {"name": "answer", "strict": True, "schema": form}
            return {"response_format": {"type": "json_schema", "json_schema": schema}}
        return {}

    def _messages(
        self, subject: Subject, prompt: Prompt, order: list[str], values: dict[str, Any]
    ) -> list[dict[str, Any]]:
        content = self._user_content(subject, prompt, order, values)
        if prompt.template is None:
            return [{"role": "user", "content": content}]
        instructions = self._fill(prompt, prompt.template, order, values)
        if self._ask.system:
            return [{"role": "system", "content": instructions}, {"role": "user", "content": content}]
        if isinstance(content, str):
            return [{"role": "user", "content": f"{instructions}\n\n{content}"}]
        return [{"role": "user", "content": [{"type": "text", "text": instructions}, *content]}]

    def _fill(self, prompt: Prompt, name: str, order: list[str], values: dict[str, Any]) -> str:
        """Fill a template, once for all subjects where it uses none of their values."""
        if name not in self._alike:
            return self._templates.fill(self._compiled[name], name, values)
        key = (prompt.id, name, *order, *(str(scale.first) for scale in values.get("scales", ())))
        if key not in self._filled:
            self._filled[key] = self._templates.fill(self._compiled[name], name, values)
        return self._filled[key]

    def _user_content(
        self, subject: Subject, prompt: Prompt, order: list[str], values: dict[str, Any]
    ) -> Any:
        pictured = [stimulus.under(prompt) for stimulus in subject.shown if stimulus.media is not None]
        if prompt.user is not None:
            text = self._fill(prompt, prompt.user, order, values)
        else:
            text = "\n\n".join(f"{name}\n{text}" for name, text in values["shown"].items())
        if not pictured:
            return text
        parts = [{"type": "text", "text": text}] if text or prompt.user is not None else []
        return [*parts, *(part for stimulus in pictured for part in self._media(stimulus, self._ask.takes))]

    def _written(self, subject: Subject, cell: FactorialCell) -> dict[str, str]:
        """Write what is shown of a subject, by what it is called."""
        collect = self._study.collect
        return {
            _title(collect.noun, stimulus.position, cell): write_fields(stimulus, collect.show, subject.id)
            for stimulus in subject.shown
            if stimulus.fields or stimulus.media is None
        }

    def values(self, subject: Subject, prompt: Prompt) -> dict[str, Any]:
        """Return what the templates of a prompt may use for a subject."""
        cell = cells_of(self._study, subject, self._cells[prompt.id])[0]
        order = self._option_order(subject, prompt, cell)
        return self._values(subject, prompt, order, cell, self._written(subject, cell))

    def _values(
        self, subject: Subject, prompt: Prompt, order: list[str], cell: FactorialCell, written: dict[str, str]
    ) -> dict[str, Any]:
        """Return what a template may use."""
        response = self._asked[prompt.id]
        positions = dict(
            zip((stimulus.position or "item" for stimulus in subject.shown), written.values(), strict=False)
        )
        values: dict[str, Any] = {"question": self._study.question, "shown": written, **positions}
        if subject.strata:
            values["strata"] = dict(subject.strata)
        if isinstance(response, Choice):
            values["options"] = order
        elif isinstance(response, Ratings):
            scales = {scale.id: scale for scale in response.scales}
            descending = cell.scale_direction == SCALE_DIRECTIONS[1]
            values["scales"] = [scales[name].descending() if descending else scales[name] for name in order]
        elif isinstance(response, Label | LineLabels):
            labels = {label.id: label for label in response.labels}
            values["labels"] = [labels[name] for name in order]
        return values


def cells_of(
    study: Study | ItemStudy, subject: Subject, cells: Sequence[FactorialCell]
) -> Sequence[FactorialCell]:
    """Select the combinations of facets that a subject is asked under: for a pair those of its order."""
    if study.instrument is None or not study.instrument.swaps or not subject.order:
        return cells
    return [cell for cell in cells if cell.option_order == subject.order]


def _title(noun: str, position: str, cell: FactorialCell) -> str:
    """Name what is shown in a position, as the options are called: Profile A, Profile 1, First profile."""
    if position not in POSITIONS or cell.option_labels in USUAL:
        return f"{noun} {position}".strip()
    name = OPTION_NAMES[cell.option_labels][POSITIONS.index(position)]
    return f"{name} {noun.lower()}" if cell.option_labels == OPTION_LABELS[2] else f"{noun} {name}"


def logprobs_fields(logprobs: bool | int, most: int) -> dict[str, Any]:
    """Return the fields that ask for log-probabilities: those of chat completions, or of the old ones."""
    return {"logprobs": True, "top_logprobs": most} if logprobs is True else {"logprobs": logprobs}


def answer_options(response: Response) -> list[str]:
    """Return the options, labels or scales of a response form, in the order of the study file."""
    if isinstance(response, Choice):
        return list(response.options)
    if isinstance(response, Ratings):
        return [scale.id for scale in response.scales]
    if isinstance(response, FreeText):
        return []
    return [label.id for label in response.labels]


def answer_schema(response: Response, order: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of an answer, its options in the given order."""
    # Reasoning that is asked for stands behind the label.
    if isinstance(response, Choice):
        return _object({"choice": {"type": "string", "enum": list(order)}})
    if isinstance(response, Label | LineLabels):
        label_schema: dict[str, Any] = {"type": "string", "enum": list(order)}
        answer = label_schema if isinstance(response, Label) else {"type": "array", "items": label_schema}
        reasoning = {} if response.reasoning is None else {response.reasoning: {"type": "string"}}
        return _object({response.json_key: answer, **reasoning})
    if isinstance(response, Ratings):
        scales = {scale.id: scale for scale in response.scales}
        ranges = {
            name: {"type": "integer", "minimum": scales[name].minimum, "maximum": scales[name].maximum}
            for name in order
        }
        return _object(ranges)
    return _object({"text": {"type": "string"}})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
