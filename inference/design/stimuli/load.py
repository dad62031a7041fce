"""Posts of a study: the files they are made of, read and checked against the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from ...errors import InputError, did_you_mean, listed
from ...study.asking import Content, Roles
from ...study.models import Study
from ..profiles import stimulus_ids
from .insults import load_insults
from .people import load_people
from .posts import PostKit
from .wording import REPLIES, load_texts

Values = Mapping[str, Sequence[str]]


def profile_values(study: Study) -> dict[str, list[str]]:
    """Return what each column of the profiles of a study may contain: level ids, and ids of stimuli.

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> profile_values(load_study("moderation"))["text"][:2]
    ['everyday_00', 'everyday_01']
    """
    levels = {attribute.id: study.levels(attribute.id) for attribute in study.attributes}
    return levels | {stimulus.id: stimulus_ids(study, stimulus) for stimulus in study.stimuli}


def load_posts(folder: Path, content: Content, values: Values) -> PostKit:
    """Read the files that a study's posts are made of, and check them against the study.

    Parameters
    ----------
    folder : the folder of the study file, against which the paths of ``content`` are taken
    content : the section ``content`` of the study file
    values : what each column of the profiles may contain; see :func:`profile_values`

    Raises
    ------
    InputError
        A file is malformed or does not contain what the study requires; names file, line and remedy.

    Examples
    --------
    >>> from conjury.inference.design.profiles import enumerate_profiles
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> kit = load_posts(study.folder, study.content, profile_values(study))
    >>> print(kit.posts(enumerate_profiles(study).head(1), seed=1)["text"].item()[:47])
    Some idiot upstairs started vacuuming at six in
    """
    roles = content.roles
    _check_roles(roles, values)
    categories = [level for level in values[roles.insult] if level != roles.no_insult]
    return PostKit(
        texts=load_texts(folder / content.texts, values[roles.text]),
        people=load_people(folder / content.people, values[roles.author]),
        insults=load_insults(folder / content.insults, categories),
        likes=_likes(content.likes, roles.likes, values[roles.likes]),
        days=_days(content.posted),
        roles=roles,
    )


def _check_roles(roles: Roles, values: Values) -> None:
    for role, attribute in (("no_insult", roles.insult), ("with_intensifier", roles.intensifier)):
        level, levels = getattr(roles, role), values[attribute]
        if level not in levels:
            raise InputError(
                f"content.roles.{role} of the study file is '{level}'{did_you_mean(level, levels)}; "
                f"name a level of {attribute}: {listed(levels)}."
            )
    if not set(REPLIES) & set(values[roles.reply]):
        raise InputError(
            f"No level of {roles.reply}, which content.roles of the study file names for replies, is called "
            f"{' or '.join(REPLIES)}; rename those of posts with a reply."
        )


def _likes(
    ranges: Mapping[str, Sequence[int]], attribute: str, levels: Sequence[str]
) -> dict[str, tuple[int, int]]:
    if set(ranges) != set(levels):
        raise InputError(
            f"content.likes of the study file is given for {listed(ranges)}; give a range for each level of "
            f"{attribute}: {listed(levels)}."
        )
    for level, bounds in ranges.items():
        if len(bounds) != 2 or not 0 <= bounds[0] <= bounds[1]:
            raise InputError(
                f"content.likes.{level} of the study file is {list(bounds)}; write the fewest and the most "
                "likes, such as [0, 5]."
            )
    return {level: (ranges[level][0], ranges[level][1]) for level in levels}


def _days(posted: Sequence[str]) -> tuple[date, date]:
    try:
        first, last = (date.fromisoformat(day) for day in posted)
    except ValueError:
        first, last = date.max, date.min
    if first > last:
        raise InputError(
            f"content.posted of the study file is {listed(posted)}; write the first and the last day, "
            "such as [2025-01-01, 2025-06-30]."
        )
    return first, last
