"""Checks of what a study file says about the posts of its profiles and about how they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .collecting_parts import Content
from .columns import did_you_mean, listed
from .marked_yaml import Location
from .paths import LAYOUTS
from .study_checks import Problem, missing_file, suggestion

if TYPE_CHECKING:
    from .study import Study


def content_problems(study: Study) -> Iterator[Problem]:
    """Report what is wrong with the sections ``content`` and ``vignette``, and with cues of prompts."""
    if study.content is None:
        yield from _fields(study)
    else:
        yield from _files(study, study.content)
        yield from _roles(study, study.content)
        yield from _cues(study, study.content)
    yield from _layout(study)


def _fields(study: Study) -> Iterator[Problem]:
    shown = [attribute.id for attribute in study.attributes]
    for position, name in enumerate(study.collect.fields or ()):
        if name not in shown:
            yield Problem(("collect", "fields", position), f"fields: {suggestion(name, shown)}")


def _files(study: Study, content: Content) -> Iterator[Problem]:
    for field in ("texts", "people", "insults"):
        yield from missing_file(study, ("content", field), "content", getattr(content, field))
    yield from missing_file(study, ("content", "faces"), "content", content.faces, or_folder=True)


def _roles(study: Study, content: Content) -> Iterator[Problem]:
    at: Location = ("content", "roles")
    stimuli = [stimulus.id for stimulus in study.stimuli]
    known = [attribute.id for attribute in study.attributes]
    for role in ("text", "author"):
        if getattr(content.roles, role) not in stimuli:
            yield Problem((*at, role), f"content: {suggestion(getattr(content.roles, role), stimuli)}")
    for role in ("insult", "intensifier", "reply", "likes"):
        if getattr(content.roles, role) not in known:
            yield Problem((*at, role), f"content: {suggestion(getattr(content.roles, role), known)}")


def _cues(study: Study, content: Content) -> Iterator[Problem]:
    roles = content.roles
    attribute = next((part.attribute for part in study.stimuli if part.id == roles.author), None)
    levels = study.levels(attribute) if attribute in study.features else []
    if not levels or roles.anonymous in levels:
        return
    for position, prompt in enumerate(study.prompts):
        if prompt.cues != "both":
            yield Problem(
                ("prompts", position, "cues"),
                f"{prompt.id}: cues '{prompt.cues}' need anonymous authors, and {attribute} has no level "
                f"'{roles.anonymous}'{did_you_mean(roles.anonymous, levels)}; name one of {listed(levels)} "
                "as content.roles.anonymous, or remove cues.",
            )


def _layout(study: Study) -> Iterator[Problem]:
    if study.vignette is None:
        return
    name, shipped = study.vignette.layout, sorted(path.stem for path in LAYOUTS.glob("*.yaml"))
    if name not in shipped and not (study.folder / name).is_file():
        yield Problem(
            ("vignette", "layout"),
            f"vignette: there is no layout '{name}'{did_you_mean(name, shipped)}; use {listed(shipped)}, "
            "or a layout file beside the study file.",
        )
