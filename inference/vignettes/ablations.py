"""A check before pictures are drawn: leaving out a name or a face must move nothing else."""

from __future__ import annotations

import pandas as pd

from ..errors import InputError
from .jobs import Desk
from .placing import Box
from .records import vignette_records


def check_ablation(desk: Desk, profiles: pd.DataFrame) -> None:
    """Compare where things stand with all cues and with those of a job, for each author and kind of reply.

    Nothing is drawn. A name that takes more lines than the one that stands in for it would move what is
    below, and pictures would differ in more than the cue.

    Parameters
    ----------
    profiles : DataFrame
        The profiles to be drawn, as from ``design.enumerate_profiles``.

    Raises
    ------
    InputError
        Something else moves; names profile, part, layout and remedy.
    """
    job = desk.job
    if job.cues == "both" or job.study.content is None:
        return
    roles = job.study.content.roles
    firsts = profiles.drop_duplicates([roles.author, roles.reply])
    whole = vignette_records(job.study, firsts, "both", job.seed, desk.faces)
    full = {row: desk.painter.place(record) for row, record in desk.in_order(whole)}
    for row, record in desk.in_order(desk.records(firsts)):
        boxes, size = desk.painter.place(record)
        before, size_before = full[row]
        moved = _first_moved(before, boxes)
        if moved is not None or size != size_before:
            name, handle = whole[["name", "handle"]].iloc[row]
            raise InputError(
                f"profile {record['profile_id']}: with cues {job.cues} more would change in layout "
                f"{job.layout} than the cue ({moved or 'the height'} moves), perhaps since '{name}' or "
                f"'@{handle}' takes several lines; give both more room there, or shorten them."
            )


def _first_moved(before: tuple[Box, ...], now: tuple[Box, ...]) -> str | None:
    """Name the first box without a cue that stands elsewhere."""
    kept, left = (
        [(box.name, box.x, box.y, box.width, box.height) for box in boxes if box.cue is None]
        for boxes in (before, now)
    )
    if len(kept) != len(left):
        return "a part"
    return next((str(one[0]) for one, other in zip(kept, left, strict=True) if one != other), None)
