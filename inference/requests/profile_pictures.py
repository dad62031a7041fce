"""Pictures of a design's profiles, as prompts show them: files of posts, or those that were drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from ..design.run_design import DrawnDesign
from ..errors import InputError
from ..inference_wings import WINGS
from ..study.models import Study
from ..study.study_fields import Prompt


@dataclass(frozen=True)
class Pictures:
    """Pictures by the cues in them.

    Parameters
    ----------
    root : Path
        Folder inside which files lie.
    media : mapping of str to Series
        For each kind of cues the file or address of each profile, by ``profile_id``.
    drawn : mapping of str to str
        For each kind of cues the hash of its job; empty for pictures of the user.
    links : bool
        Whether judges receive the addresses of pictures instead of the files.

    Examples
    --------
    >>> pictures = Pictures(Path(), {"both": pd.Series(["a.png", "b.png"], index=[1, 2])})
    >>> pictures.of(pd.Series([2, 3]))
    {'both': ['b.png', '']}
    """

    root: Path
    media: Mapping[str, pd.Series[str]]
    drawn: Mapping[str, str] = field(default_factory=dict)
    links: bool = False

    def of(self, profile_ids: pd.Series[int]) -> dict[str, list[str]]:
        """Return the picture of each profile, by cues, in the given order; "" where it has none."""
        return {cues: media.reindex(profile_ids).fillna("").tolist() for cues, media in self.media.items()}


def find_pictures(
    study: Study,
    design: DrawnDesign,
    prompts: Sequence[Prompt],
    root: Path,
    *,
    pairs: int | None = None,
    tasks: str = "models",
    links: bool = False,
    run: Path | None = None,
) -> Pictures:
    """Find the pictures of a design, or of its first ``pairs``, under each of the prompts.

    These are the files in a column ``media`` of the posts, inside the folder of the study, or the pictures
    that ``conjury render`` has drawn.

    Parameters
    ----------
    study : Study
        A conjoint study.
    design : DrawnDesign
        The design of the run.
    prompts : sequence of Prompt
        Prompts under which judges are asked.
    root : Path
        Folder in which ``conjury render`` stores pictures.
    pairs : int, optional
        Only the first pairs of the design.
    tasks : {"models", "panel", "all"}
        Whether those of the pairs of models, the tasks of people, or both.
    links : bool
        Whether judges receive the addresses of uploaded pictures instead of the files.
    run : Path, optional
        Folder of the run, if it is not the usual one; for advice.

    Returns
    -------
    Pictures
        Files or addresses of the pictures, by cues.

    Raises
    ------
    InputError
        A profile has no picture, or no address, with the cues that a prompt shows.

    Examples
    --------
    >>> from conjury.inference.design.run_design import draw_design
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> design = draw_design(study, 2, 0.0, seed=1)
    >>> find_pictures(study, design, study.prompts[:1], Path("nowhere"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    conjury.inference.errors.InputError: nowhere: 4 of 4 profiles have no picture with the cues 'both', ...
    """
    cue_names = list(dict.fromkeys(prompt.cues for prompt in prompts))
    if "media" in design.posts:
        first = next((prompt for prompt in prompts if prompt.cues != "both"), None)
        if first is not None:
            raise InputError(
                f"Prompt {first.id} shows the cues '{first.cues}', and the column 'media' of the posts names "
                "one picture per profile; exclude the prompt with --prompt, or remove the column and run "
                f"`conjury render {study.here} --cues {first.cues}`."
            )
        return Pictures(study.folder, {"both": design.posts.set_index("profile_id")["media"]})
    manifests = WINGS.find("manifests_of_pictures")
    profile_ids = design.first_pairs(pairs, tasks)["profile_id"].drop_duplicates()
    of_run = "" if run is None else f" --run {run}"
    source = "url" if links else "file"
    media: dict[str, pd.Series[str]] = {}
    for cues in cue_names:
        column: pd.Series[str] = pd.Series(dtype="string")
        if manifests.JobFolder(root, study.name, cues).manifest.is_file():
            table = manifests.read_manifest(root, study.name, cues, ["profile_id", source])
            column = table.set_index("profile_id")[source]
        remedy = f"conjury render {study.here}{of_run} --cues {cues} --out {root}"
        _check_complete(column.dropna(), profile_ids, cues, root, links, remedy)
        media[cues] = column
    return Pictures(
        root, media, {cues: manifests.job_hash(root, study.name, cues) for cues in cue_names}, links
    )


def _check_complete(
    locations: pd.Series[str], profile_ids: pd.Series[int], cues: str, root: Path, links: bool, remedy: str
) -> None:
    missing = profile_ids[~profile_ids.isin(locations.index)]
    if missing.empty:
        return
    what = "address" if links else "picture"
    sent = " --upload ... --address ..." if links else ""
    raise InputError(
        f"{root}: {len(missing):,} of {len(profile_ids):,} profiles have no {what} with the cues "
        f"'{cues}', the first is profile {missing.iloc[0]}; run `{remedy}{sent}`."
    )
