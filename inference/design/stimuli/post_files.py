"""Posts of a study: the files they are made of and the insult lexicon, read and checked."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from ...errors import InputError, did_you_mean, listed
from ...study.asking import Content, Roles
from ...study.models import Study
from ...study.study_yaml import suggestion
from ...tables.contained_paths import require_inside
from ...tables.limits import read_text
from ..profiles import stimulus_ids
from .posts import PostKit, load_people
from .wording import FORMS, REPLIES, load_texts

COLUMNS = ("category", *FORMS)


def load_insults(path: Path, categories: Sequence[str]) -> dict[str, dict[str, str]]:
    """Read a lexicon of insults."""
    lexicon: dict[str, dict[str, str]] = {}
    lines: dict[str, int] = {}
    for line, row in _rows(path):
        category = row["category"]
        if category not in categories:
            raise InputError(f"{path}:{line}: category {suggestion(category, categories)}")
        if category in lines:
            raise InputError(
                f"{path}:{line}: category '{category}' is also on line {lines[category]}; keep one row."
            )
        for form in FORMS:
            if not row[form]:
                raise InputError(f"{path}:{line}: {category} has no {form} form; write one.")
        lines[category] = line
        lexicon[category] = {form: row[form] for form in FORMS}
    for category in categories:
        if category not in lexicon:
            raise InputError(f"{path}:1: category '{category}' is missing; add a row for it.")
    return lexicon


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        text = read_text(path)
        reader = csv.reader(io.StringIO(text, newline=""))
        header = [name.strip() for name in next(reader, [])]
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: cannot be read ({error}); correct that line.") from None
    if header != list(COLUMNS):
        raise InputError(f"{path}:1: the columns must be {', '.join(COLUMNS)}; correct the header.")
    for line, row in rows:
        if len(row) != len(COLUMNS):
            raise InputError(f"{path}:{line}: the row has {len(row)} cells; write {len(COLUMNS)}.")
    return [(line, dict(zip(COLUMNS, row, strict=True))) for line, row in rows]


Values = Mapping[str, Sequence[str]]


def profile_values(study: Study) -> dict[str, list[str]]:
    """List what each column of the profiles of a study may contain: level ids, and ids of stimuli.

    Parameters
    ----------
    study : Study
        A conjoint study.

    Returns
    -------
    dict of str to list of str
        Values by column, in the order of the study file.

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
    folder : Path
        The folder of the study file, against which the paths of ``content`` are taken.
    content : Content
        The section ``content`` of the study file.
    values : mapping of str to list of str
        What each column of the profiles may contain; see :func:`profile_values`.

    Returns
    -------
    PostKit
        The parts of posts, which write the post of each profile.

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
        texts=load_texts(require_inside(folder / content.texts, folder), values[roles.text]),
        people=load_people(require_inside(folder / content.people, folder), values[roles.author]),
        insults=load_insults(require_inside(folder / content.insults, folder), categories),
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
