"""Pictures of a design's profiles as prompts show them, and the sizes that providers accept.

Read on 22 November 2026 in copies of the pages that ``LIMITS`` names, the youngest of September 2026. All
accept PNG and WebP. Requests have limits of their own: 512 MB and 1,500 pictures (OpenAI, where 50 MB were
enforced in September 2026), 32 MB and 100 pictures (Anthropic), 100 MB (Gemini); a pair of posts has about
0.2 MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..design.run_design import DrawnDesign
from ..errors import InputError
from ..study.models import Study
from ..study.study_fields import Prompt

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

BASE64 = 4 / 3  # bytes sent per byte of a file
MB = 1_000_000
OPENAI = "https://developers.openai.com/api/docs/guides/images-vision"
ANTHROPIC = "https://platform.claude.com/docs/en/build-with-claude/vision"
GEMINI = "https://firebase.google.com/docs/ai-logic/input-file-requirements"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a provider does with large pictures; None where its page states nothing."""

    provider: str
    source: str  # the page
    encoded: int | None = None  # bytes in base64 beyond which a picture is refused
    side: int | None = None  # pixels of a side beyond which it is refused
    longest: int | None = None  # pixels of the longer side beyond which it is scaled down
    shortest: int | None = None  # pixels of the shorter side beyond which it is scaled down
    patch: int = 1  # side of the squares into which it is cut
    patches: int | None = None  # squares beyond which it is scaled down

    def refuses(self, width: Integers, height: Integers, size: Integers) -> Flags:
        """Return which pictures of these pixels and bytes are refused."""
        return _exceeds(size * BASE64, self.encoded) | _exceeds(np.maximum(width, height), self.side)

    def scales(self, width: Integers, height: Integers) -> Flags:
        """Return which pictures of these pixels are scaled down before a model sees them."""
        longer, shorter = np.maximum(width, height), np.minimum(width, height)
        squares = -(-width // self.patch) * -(-height // self.patch)
        return (
            _exceeds(longer, self.longest)
            | _exceeds(shorter, self.shortest)
            | _exceeds(squares, self.patches)
        )


LIMITS = (
    Limit("OpenAI (GPT-4o, GPT-4.1, o models; detail high)", OPENAI, longest=2048, shortest=768),
    Limit("OpenAI (GPT-5 mini and others by patches)", OPENAI, longest=2048, patch=32, patches=1536),
    Limit(
        "Anthropic (models before Opus 4.7)", ANTHROPIC, 10 * MB, 8000, longest=1568, patch=28, patches=1568
    ),
    Limit("Anthropic (Opus 4.7 and later)", ANTHROPIC, 10 * MB, 8000, longest=2576, patch=28, patches=4784),
    Limit("Anthropic on Bedrock and Vertex", ANTHROPIC, 5 * MB, 8000),
    Limit("Gemini", GEMINI, longest=3072),
)


def provider_notes(width: Integers, height: Integers, size: Integers) -> Iterator[str]:
    """Yield a sentence for each provider that refuses some of n pictures or scales them down.

    Parameters
    ----------
    width, height : ndarray of int, shape (n,)
        Pixels.
    size : ndarray of int, shape (n,)
        Bytes.

    Yields
    ------
    str
        What a provider does with how many of the pictures.

    Examples
    --------
    >>> print(*provider_notes(np.array([1050, 1050]), np.array([620, 880]), np.array([50_000, 60_000])))
    OpenAI (GPT-4o, GPT-4.1, o models; detail high) scales down 1 of 2 pictures, those with a longer side of
    more than 2,048 pixels or a shorter side of more than 768 pixels.
    """
    for limit in LIMITS:
        weight = None if limit.encoded is None else f"{limit.encoded / BASE64 / MB:g} MB"
        refusing = {"more than {}": weight, "a side of more than {}": _pixels(limit.side)}
        scaling = {
            "a longer side of more than {}": _pixels(limit.longest),
            "a shorter side of more than {}": _pixels(limit.shortest),
            "more than {}": limit.patches and f"{limit.patches:,} squares of {limit.patch} pixels",
        }
        for verb, bounds, which in (
            ("refuses", refusing, limit.refuses(width, height, size)),
            ("scales down", scaling, limit.scales(width, height)),
        ):
            if which.any():
                listed = " or ".join(phrase.format(bound) for phrase, bound in bounds.items() if bound)
                share = f"{int(which.sum()):,} of {len(which):,} pictures"
                yield f"{limit.provider} {verb} {share}, those with {listed}."
                break


def _pixels(bound: int | None) -> str | None:
    return None if bound is None else f"{bound:,} pixels"


def _exceeds(values: NDArray[np.number], bound: int | None) -> Flags:
    return np.zeros(len(values), dtype=bool) if bound is None else np.asarray(values > bound)


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
    from .jobs.picture_manifest import JobFolder, job_hash, read_manifest

    profile_ids = design.first_pairs(pairs, tasks)["profile_id"].drop_duplicates()
    of_run = "" if run is None else f" --run {run}"
    source = "url" if links else "file"
    media: dict[str, pd.Series[str]] = {}
    for cues in cue_names:
        column: pd.Series[str] = pd.Series(dtype="string")
        if JobFolder(root, study.name, cues).manifest.is_file():
            table = read_manifest(root, study.name, cues, ["profile_id", source])
            column = table.set_index("profile_id")[source]
        remedy = f"conjury render {study.here}{of_run} --cues {cues} --out {root}"
        _check_complete(column.dropna(), profile_ids, cues, root, links, remedy)
        media[cues] = column
    return Pictures(root, media, {cues: job_hash(root, study.name, cues) for cues in cue_names}, links)


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
