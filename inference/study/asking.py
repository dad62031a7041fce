"""The parts of a study file that say how judgments are collected: answers, content, requests."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from ..tables.limits import SAMPLES
from .study_yaml import Amount, Count, Identifier, Named, Part, Share, Text


class Choice(Part):
    """A forced choice between the two profiles of a pair; the first option means position A."""

    form: Literal["choice"]
    """A forced choice between two profiles."""
    options: list[Text] = Field(default=["A", "B"], min_length=2, max_length=2)
    """What a judge answers for position A and for position B."""


class Anchor(Part):
    """What one rating of a scale means."""

    value: int
    """A rating of the scale."""
    text: Text
    """What this rating means."""


class Scale(Named):
    """One rating scale, from ``minimum`` to ``maximum`` in whole numbers."""

    minimum: int = 0
    """Lowest rating."""
    maximum: int
    """Highest rating."""
    description: Text | None = None
    """What is rated; prompts may use it."""
    anchors: list[Anchor] | None = None
    """What some of the ratings mean; prompts may use them."""

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
    """Ratings on one or several scales."""
    scales: list[Scale] = Field(min_length=1)
    """The scales; each is a dimension of judgments."""


class LabelLevel(Named):
    """One label that an answer may give."""

    aliases: list[str] = Field(default_factory=list)
    """Other words for it in answers and in gold labels."""
    text: Text | None = None
    """What it means, as reports put it in brackets behind the name where they first use it."""


class Label(Part):
    """One label out of several, for the dimension ``id``."""

    form: Literal["label"]
    """One label out of several."""
    id: Identifier = "label"
    """Dimension of judgments and label set of gold labels."""
    labels: list[LabelLevel] = Field(min_length=2)
    """Labels that an answer may give."""
    key: Text | None = None
    """Key of the label in a JSON answer; by default the dimension."""
    reasoning: Text | None = None
    """Key of a text next to the label in a JSON answer, where one is asked for."""

    @property
    def json_key(self) -> str:
        """The key of the label in a JSON answer."""
        return self.key or self.id


class LineLabels(Part):
    """One label for each line of an item, for the dimensions ``line_1``, ``line_2`` and so on."""

    form: Literal["line_labels"]
    """One label for each line of a text."""
    labels: list[LabelLevel] = Field(min_length=2)
    """Labels that an answer may give."""
    lines: Identifier = "text"
    """Column of items that has the lines: a text or a list of texts."""
    key: Text | None = None
    """Key of the list of labels in a JSON answer; by default labels."""
    reasoning: Text | None = None
    """Key of a text next to the labels in a JSON answer, where one is asked for."""

    @property
    def json_key(self) -> str:
        """The key of the list of labels in a JSON answer."""
        return self.key or "labels"


class FreeText(Part):
    """Text that the model writes."""

    form: Literal["text"]
    """A text that the model writes."""


Response = Annotated[Choice | Ratings | Label | LineLabels | FreeText, Field(discriminator="form")]


DATE = r"^\d{4}-\d{2}-\d{2}$"
KEY_VARIABLE = r"^[A-Z][A-Z0-9_]*$"


def _as_date(value: object) -> object:
    return value.isoformat() if hasattr(value, "isoformat") else value


Date = Annotated[str, BeforeValidator(_as_date), Field(pattern=DATE)]


class Roles(Part):
    """Which attributes and stimuli of the design are which part of a post."""

    text: str = "text"
    """Stimulus of the texts of posts."""
    author: str = "user"
    """Stimulus of the authors."""
    insult: str = "slur"
    """Attribute of the insult."""
    no_insult: str = "none"
    """Level of a post without an insult."""
    intensifier: str = "curse"
    """Attribute of the curse word."""
    with_intensifier: str = "curse"
    """Level of a post with a curse word."""
    reply: str = "reply"
    """Attribute of the reply."""
    likes: str = "engagement"
    """Attribute of the likes."""
    anonymous: str = "anonymous"
    """Level of authors whose names and faces show nothing of identity; they stand in where a name or a face
    is not to be shown."""


class Content(Part):
    """What the levels of a design look like: files of texts, people and insults next to the study file."""

    texts: Text
    """File of the texts by level and number (YAML)."""
    people: Text
    """File of the authors by level and number (YAML)."""
    insults: Text
    """File of the insults by level (CSV)."""
    faces: Text | None = None
    """File that states how faces are drawn, or a folder with a folder of images for each group."""
    likes: dict[str, list[int]]
    """Lowest and highest number of likes, by level."""
    posted: list[Date] = Field(min_length=2, max_length=2)
    """First and last date of posts, as 2025-01-31."""
    roles: Roles = Roles()
    """Which attributes and stimuli are which part of a post."""


class Vignette(Part):
    """The picture of a profile: a layout that ships, or a file next to the study, and its theme."""

    layout: Text
    """A layout that ships (post, product, profile, table), or a file next to the study."""
    theme: Text = "light"
    """Theme of the layout, such as light or dark."""


Cues = Literal["both", "name", "face", "none"]  # what of an author's identity a picture shows


class Video(Part):
    """How clips are shown to judges that do not take them whole: as frames, and the sound with them."""

    frames_per_second: Annotated[Amount, Field(gt=0, le=60)] = 10.0
    """Frames that are shown of each second."""
    most_frames: Annotated[int, Field(gt=0, le=1000)] = 64
    """Frames of a clip at most; of longer clips so many are shown, evenly spread."""
    longest_side: Annotated[int, Field(ge=16, le=4096)] = 512
    """Pixels to which frames are scaled down."""
    audio: Literal["if_taken", "never"] = "if_taken"
    """Whether sound goes to judges that take it, with clips or frames."""


class Reasoning(Part):
    """What opens and closes the reasoning in answers, where a model has marks of its own."""

    start: Text
    """What opens reasoning."""
    end: Text
    """What closes it; an answer that opens with reasoning and never closes it has no text."""


class Collecting(Part):
    """How subjects are put to models."""

    form: Literal["pair", "single"] = "pair"
    """Whether both profiles of a task are shown (pair), or one profile at a time (single)."""
    show: Literal["json", "delimited"] = "json"
    """Whether judged text is shown as JSON, or between delimiters that it cannot contain."""
    noun: Text = ""
    """What a subject is called, as in Profile A; by default Profile in a conjoint and Item in a study of
    items."""
    fields: list[Identifier] | None = None
    """Which fields are shown, in this order; all by default."""
    swapped_share: Share = 0.0
    """Share of the pairs that are repeated with their positions swapped."""
    shuffle_options: bool = False
    """Whether labels or scales are listed in an order drawn for each request."""
    seed: int = Field(default=1, ge=0)
    """Seed of the design and of the order of options."""
    media_hosts: list[Text] = Field(default_factory=list)
    """Hosts whose addresses of pictures and clips are accepted."""
    video: Video | None = None
    """How clips are shown to judges that do not take them whole."""
    reasoning: Reasoning | None = None
    """Marks around the reasoning in answers, besides those that are known (<think> and many more)."""

    @property
    def reasoning_marks(self) -> tuple[tuple[str, str], ...]:
        """The marks as pairs; none where the study states none."""
        return () if self.reasoning is None else ((self.reasoning.start, self.reasoning.end),)


def _as_json(value: dict[str, Any]) -> dict[str, Any]:
    """Bring settings to the form that a ledger and a request give them."""
    try:
        return dict(json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"settings go into requests as JSON ({error})") from None


Settings = Annotated[dict[str, Any], AfterValidator(_as_json)]


Medium = Literal["image", "video", "audio"]
PAID = ("openai", "anthropic", "google")  # backends whose answers cost money
BATCH_ONLY = ("anthropic", "google")  # backends that are asked in batches only
MAX_TOKENS = {"anthropic": 4096}  # limit of an answer, by backend, where the judge's settings state none
THINKING = re.compile(r"(?:models/)?gemini-(?:2\.5-(?!flash-lite)|[3-9])")  # models that think by default


class Sampling(Part):
    """How a model is asked: where it is reached, and the settings that change its answers."""

    # :func:`with_answer` puts the way that suits the response form in place of the answer "auto".

    model: Text
    """Name of the model where it is served."""
    backend: Literal["openai", "anthropic", "google", "vllm", "ray", "simulated", "replay"] = "openai"
    """How the model is reached: openai for any server with OpenAI's protocol; anthropic and google for the
    batch interfaces of these providers."""
    base_url: Text | None = None
    """Address of the server; by default the provider's."""
    key_variable: Annotated[str, Field(pattern=KEY_VARIABLE)] = "OPENAI_API_KEY"
    """Environment variable that contains the key; by default ANTHROPIC_API_KEY for anthropic and
    GEMINI_API_KEY for google."""
    answer: Literal["auto", "token", "choice", "json", "free"] = "auto"
    """Form of the answer: auto is the one that suits the response of the study."""
    top_logprobs: Annotated[int, Field(ge=0, le=20)] = 20
    """Log-probabilities that are asked for with each token."""
    api: Literal["chat", "responses"] = "chat"
    """Interface of the server: chat completions, or OpenAI's Responses, which some of its models need and
    which has no seeds."""
    logprobs: bool | Annotated[int, Field(ge=2, le=20)] = True
    """Whether log-probabilities are asked for where the answer is one token or one of several options; a
    number asks for so many in the form of the old completions, which Together needs to list rivals."""
    system: bool = True
    """Whether instructions go into a message of their own; without, in front of the user's message, for
    servers and models that refuse or ignore system prompts."""
    takes: list[Medium] = Field(default=["image"])
    """Inputs other than text that the model accepts: clips (video), frames (image), sound (audio)."""
    samples: Annotated[Count, Field(le=SAMPLES)] = 1
    """Answers to each request."""
    settings: Settings = Field(default_factory=dict)
    """Settings of every request, such as temperature and max_tokens; from a seed each request gets one of its
    own."""
    engine: Settings = Field(default_factory=dict)
    """Settings of the engine that loads the model."""


def with_answer(ask: Sampling, *responses: Response) -> Sampling:
    """Put the way that suits all response forms in place of the answer "auto"; it stays where none does."""
    # Choices are asked for as one token, as JSON where there are no log-probabilities (Anthropic) or the
    # model thinks before it answers (Google); text as the model writes it, everything else as JSON.
    if ask.answer != "auto":
        return ask
    no_token = ask.backend == "anthropic" or thinks_at_google(ask)
    suited = {"choice": "json" if no_token else "token", "text": "free"}
    ways = {suited.get(response.form, "json") for response in responses}
    return ask.model_copy(update={"answer": ways.pop()}) if len(ways) == 1 else ask


def thinks_at_google(ask: Sampling) -> bool:
    """Whether a model of Google thinks before it answers, which counts towards the limit of its answer."""
    config = ask.settings.get("thinkingConfig")
    off = isinstance(config, dict) and config.get("thinkingBudget") == 0
    return ask.backend == "google" and THINKING.match(ask.model) is not None and not off
