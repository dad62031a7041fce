"""The parts of a study file that say how judgments are collected: answers, content, requests."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from ..tables.limits import SAMPLES
from .base import Amount, Count, Identifier, Part, Share, Text


class Choice(Part):
    """A forced choice between the two profiles of a pair; the first option means position A."""

    form: Literal["choice"]
    options: list[Text] = Field(default=["A", "B"], min_length=2, max_length=2)


class Anchor(Part):
    """What one rating of a scale means."""

    value: int
    text: Text


class Scale(Part):
    """One rating scale, from ``minimum`` to ``maximum`` in whole numbers.

    ``description`` states what is rated, ``anchors`` what some of the ratings mean; prompts may use both.
    """

    id: Identifier
    label: Text
    minimum: int = 0
    maximum: int
    description: Text | None = None
    anchors: list[Anchor] | None = None

    @property
    def first(self) -> int:
        """The rating that is listed first."""
        return self.minimum

    @property
    def last(self) -> int:
        """The rating that is listed last."""
        return self.maximum

    def descending(self) -> Scale:
        """Return the scale as it is listed from its highest rating to its lowest."""
        anchors = None if self.anchors is None else self.anchors[::-1]
        return _DescendingScale(**{**dict(self), "anchors": anchors})


class _DescendingScale(Scale):
    @property
    def first(self) -> int:
        return self.maximum

    @property
    def last(self) -> int:
        return self.minimum


class Ratings(Part):
    """Whole numbers on one or several named scales."""

    form: Literal["ratings"]
    scales: list[Scale] = Field(min_length=1)


class LabelLevel(Part):
    """One label that an answer may give; ``aliases`` are other words for it."""

    id: Identifier
    label: Text
    aliases: list[str] = Field(default_factory=list)


class Label(Part):
    """One label out of several, for the dimension ``id``.

    ``key`` is the key of the label in a JSON answer, by default the dimension; ``reasoning`` that of a text
    next to it, where one is asked for.
    """

    form: Literal["label"]
    id: Identifier = "label"
    labels: list[LabelLevel] = Field(min_length=2)
    key: Text | None = None
    reasoning: Text | None = None

    @property
    def json_key(self) -> str:
        """The key of the label in a JSON answer."""
        return self.key or self.id


class LineLabels(Part):
    """One label for each line of the column ``lines`` of an item, a text or a list of texts.

    Its dimensions are ``line_1``, ``line_2`` and so on; ``key`` and ``reasoning`` are as for one label, with
    "labels" as default key.
    """

    form: Literal["line_labels"]
    labels: list[LabelLevel] = Field(min_length=2)
    lines: Identifier = "text"
    key: Text | None = None
    reasoning: Text | None = None

    @property
    def json_key(self) -> str:
        """The key of the list of labels in a JSON answer."""
        return self.key or "labels"


class FreeText(Part):
    """Text that the model writes."""

    form: Literal["text"]


Response = Annotated[Choice | Ratings | Label | LineLabels | FreeText, Field(discriminator="form")]


DATE = r"^\d{4}-\d{2}-\d{2}$"
KEY_VARIABLE = r"^[A-Z][A-Z0-9_]*$"


def _as_date(value: object) -> object:
    return value.isoformat() if hasattr(value, "isoformat") else value


Date = Annotated[str, BeforeValidator(_as_date), Field(pattern=DATE)]


class Roles(Part):
    """Which attributes and stimuli of the design are which part of a post.

    ``anonymous`` is the level of the author's attribute whose names and faces show nothing of identity; they
    stand in where a name or a face is not to be shown.
    """

    text: str = "text"
    author: str = "user"
    insult: str = "slur"
    no_insult: str = "none"
    intensifier: str = "curse"
    with_intensifier: str = "curse"
    reply: str = "reply"
    likes: str = "engagement"
    anonymous: str = "anonymous"


class Content(Part):
    """What the levels of a design look like: files of texts, people and insults next to the study file.

    ``faces`` is a file that states how faces are drawn, or a folder with a folder of images for each group.
    """

    texts: Text
    people: Text
    insults: Text
    faces: Text | None = None
    likes: dict[str, list[int]]
    posted: list[Date] = Field(min_length=2, max_length=2)
    roles: Roles = Roles()


class Vignette(Part):
    """The picture of a profile: a layout that ships, or a file next to the study, and its theme."""

    layout: Text
    theme: Text = "light"


Cues = Literal["both", "name", "face", "none"]  # what of an author's identity a picture shows


class Video(Part):
    """How clips are shown to judges that do not take them whole: as frames, and the sound with them.

    A clip that has more frames than ``most_frames`` at this rate is shown by so many, evenly spread. Frames
    are scaled down to ``longest_side`` pixels. ``audio`` goes to judges that take it, with clips or frames.
    """

    frames_per_second: Annotated[Amount, Field(gt=0, le=60)] = 10.0
    most_frames: Annotated[int, Field(gt=0, le=1000)] = 64
    longest_side: Annotated[int, Field(ge=16, le=4096)] = 512
    audio: Literal["if_taken", "never"] = "if_taken"


class Collecting(Part):
    """How subjects are put to models.

    ``pair`` shows both profiles of a task, ``single`` one profile at a time. Judged text is shown as JSON or
    between delimiters that it cannot contain. ``noun`` is what a subject is called, by default "Profile" in a
    conjoint and "Item" in a study of items; ``swapped_share`` is the share of pairs that come again with
    their positions swapped.
    """

    form: Literal["pair", "single"] = "pair"
    show: Literal["json", "delimited"] = "json"
    noun: Text = ""
    fields: list[Identifier] | None = None
    swapped_share: Share = 0.0
    shuffle_options: bool = False
    seed: int = Field(default=1, ge=0)
    media_hosts: list[Text] = Field(default_factory=list)
    video: Video | None = None


def _as_json(value: dict[str, Any]) -> dict[str, Any]:
    """Bring settings to the form that a ledger and a request give them."""
    try:
        return dict(json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"settings go into requests as JSON ({error})") from None


Settings = Annotated[dict[str, Any], AfterValidator(_as_json)]


Medium = Literal["image", "video", "audio"]


class Sampling(Part):
    """How a model is asked: where it is reached, and the settings that change its answers.

    ``answer`` is "auto" for the way that suits the response form; :func:`with_answer` puts that in its place.
    ``takes`` lists inputs other than text that the model accepts: clips (video), frames (image), and sound.
    ``settings`` go with every request (temperature, max_tokens, ...); where they name a ``seed``, every
    request gets one of its own, drawn from it. ``engine`` goes to the engine that loads the model.
    """

    model: Text
    backend: Literal["openai", "vllm", "ray", "simulated", "replay"] = "openai"
    base_url: Text | None = None
    key_variable: Annotated[str, Field(pattern=KEY_VARIABLE)] = "OPENAI_API_KEY"
    answer: Literal["auto", "token", "choice", "json", "free"] = "auto"
    top_logprobs: Annotated[int, Field(ge=0, le=20)] = 20
    takes: list[Medium] = Field(default=["image"])
    samples: Annotated[Count, Field(le=SAMPLES)] = 1
    settings: Settings = Field(default_factory=dict)
    engine: Settings = Field(default_factory=dict)


def with_answer(ask: Sampling, *responses: Response) -> Sampling:
    """Put the way that suits all response forms in place of the answer "auto"; it stays where none does.

    Choices are asked for as one token, text as the model writes it, everything else as JSON.
    """
    if ask.answer != "auto":
        return ask
    suited = {"choice": "token", "text": "free"}
    ways = {suited.get(response.form, "json") for response in responses}
    return ask.model_copy(update={"answer": ways.pop()}) if len(ways) == 1 else ask
