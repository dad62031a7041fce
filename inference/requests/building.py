"""Requests, built lazily and always alike: subjects x prompts x samples, put to one model."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from ..design.subjects import Shown, Subject, takes, write_fields
from ..ledger.exchanges import Body, Request, request_key
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
from ..study.parts import Prompt
from .templates import Templates

Media = Callable[[Shown, Collection[Medium]], list[dict[str, Any]]]
ALIKE = {"question", "options", "scales", "labels"}  # values that say nothing of a subject


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

    def requests(self, subjects: Iterable[Subject]) -> Iterator[Request]:
        """Yield one request for each subject, prompt and sample, samples varying fastest."""
        samples = range(1, self._ask.samples + 1)
        for subject in subjects:
            written = self._written(subject)
            for prompt in self._prompts:
                if not takes(prompt, subject.strata):
                    continue
                for sample in samples:
                    order = self._option_order(subject, prompt, sample)
                    values = self._values(subject, prompt, order, written)
                    yield self._request(subject, prompt, sample, order, values)

    def _request(
        self, subject: Subject, prompt: Prompt, sample: int, order: list[str], values: dict[str, Any]
    ) -> Request:
        body: Body = {
            "model": self._ask.model,
            "messages": self._messages(subject, prompt, order, values),
            **self._settings(subject, prompt, sample),
            **self._answer_form(prompt, order),
        }
        arrangement = {**subject.arrangement, "options": order} if order else subject.arrangement
        key = request_key(self._judge, prompt.id, subject.id, sample, body)
        return Request(key, self._judge, prompt.id, subject.id, sample, body, arrangement)

    def _option_order(self, subject: Subject, prompt: Prompt, sample: int) -> list[str]:
        """Return the answers that can be given, in the order in which this request names them."""
        response = self._asked[prompt.id]
        options = answer_options(response)
        if self._study.collect.shuffle_options and isinstance(response, Label | LineLabels | Ratings):
            seed = f"{self._study.collect.seed}:{subject.id}:{sample}"
            random.Random(seed).shuffle(options)
        return options

    def _settings(self, subject: Subject, prompt: Prompt, sample: int) -> dict[str, Any]:
        """Return the judge's settings with a seed of this request, so that no two share their noise."""
        settings = dict(self._ask.settings)
        if isinstance(settings.get("seed"), int):
            name = f"{settings['seed']}:{subject.id}:{prompt.id}:{sample}"
            settings["seed"] = zlib.crc32(name.encode()) >> 1
        return settings

    def _answer_form(self, prompt: Prompt, order: list[str]) -> dict[str, Any]:
        """Return the fields of a body that ask for an answer in the form that the judge can give."""
        how, logprobs = self._ways[prompt.id], {"logprobs": True, "top_logprobs": self._ask.top_logprobs}
        if how == "token":
            limited = {"max_tokens", "max_completion_tokens"} & set(self._ask.settings)
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
        messages: list[dict[str, Any]] = []
        if prompt.template is not None:
            messages.append({"role": "system", "content": self._fill(prompt, prompt.template, order, values)})
        content = self._user_content(subject, prompt, order, values)
        return [*messages, {"role": "user", "content": content}]

    def _fill(self, prompt: Prompt, name: str, order: list[str], values: dict[str, Any]) -> str:
        """Fill a template, once for all subjects where it uses none of their values."""
        if name not in self._alike:
            return self._templates.fill(self._compiled[name], name, values)
        asked = (prompt.id, name, *order)
        if asked not in self._filled:
            self._filled[asked] = self._templates.fill(self._compiled[name], name, values)
        return self._filled[asked]

    def _user_content(
        self, subject: Subject, prompt: Prompt, order: list[str], values: dict[str, Any]
    ) -> Any:
        pictured = [shown.under(prompt) for shown in subject.shown if shown.media is not None]
        if prompt.user is not None:
            text = self._fill(prompt, prompt.user, order, values)
        else:
            text = "\n\n".join(f"{name}\n{text}" for name, text in values["shown"].items())
        if not pictured:
            return text
        parts = [{"type": "text", "text": text}] if text or prompt.user is not None else []
        return [*parts, *(part for shown in pictured for part in self._media(shown, self._ask.takes))]

    def _written(self, subject: Subject) -> dict[str, str]:
        """Write what is shown of a subject, by what it is called."""
        collect = self._study.collect
        return {
            f"{collect.noun} {shown.position}".strip(): write_fields(shown, collect.show, subject.id)
            for shown in subject.shown
            if shown.fields or shown.media is None
        }

    def _values(
        self, subject: Subject, prompt: Prompt, order: list[str], written: dict[str, str]
    ) -> dict[str, Any]:
        """Return what a template may use."""
        response = self._asked[prompt.id]
        positions = dict(
            zip((shown.position or "item" for shown in subject.shown), written.values(), strict=False)
        )
        values: dict[str, Any] = {"question": self._study.question, "shown": written, **positions}
        if subject.strata:
            values["strata"] = dict(subject.strata)
        if isinstance(response, Choice):
            values["options"] = order
        elif isinstance(response, Ratings):
            scales = {scale.id: scale for scale in response.scales}
            values["scales"] = [scales[name] for name in order]
        elif isinstance(response, Label | LineLabels):
            labels = {label.id: label for label in response.labels}
            values["labels"] = [labels[name] for name in order]
        return values


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
    """Return the JSON schema of an answer, its options in the given order.

    A choice is ``{"choice": ...}``, a label has the name of its dimension or a key of its own, ratings have
    one whole number a scale, line labels are the list ``labels``, free text is ``text``. Reasoning that is
    asked for stands behind the label.
    """
    if isinstance(response, Choice):
        return _object({"choice": {"type": "string", "enum": list(order)}})
    if isinstance(response, Label | LineLabels):
        one: dict[str, Any] = {"type": "string", "enum": list(order)}
        given = one if isinstance(response, Label) else {"type": "array", "items": one}
        reasoning = {} if response.reasoning is None else {response.reasoning: {"type": "string"}}
        return _object({response.json_key: given, **reasoning})
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
