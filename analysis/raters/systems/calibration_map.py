"""A map of a judge's scores to people's scale in a file, for later answers, and what it is bound to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from conjury.inference.errors import InputError, counted, did_you_mean, listed
from conjury.inference.tables.files import hash_of, read_sealed
from conjury.inference.tables.reading.cell_rules import key_of, number_of

from ...correction.monotone_calibration import MonotoneMap
from ...numerics.types import Floats

FORMAT, VERSION = "conjury calibration map", 2
STALE_AFTER = 60  # days
RATE = "rate"  # what is compared of classes: the share of one
NO_PROMPT = "none"  # of judges that have none, such as reward models
REMEDY = "give the .json that `conjury compare-systems --save-map` wrote"


@dataclass(frozen=True)
class LabelMeanings:
    """What texts of answers mean: labels that the judge gives, and texts that were relabelled."""

    labels: tuple[str, ...] = ()  # none of ratings
    relabel: Mapping[str, str] = field(default_factory=dict)

    def of(self, text: str) -> str | None:
        """The label that a text means; None where no answer has it, as far as is known."""
        relabelled = {key_of(name): label for name, label in self.relabel.items()}
        name = key_of(text)
        if name in relabelled:
            return relabelled[name]
        is_label = name in map(key_of, self.labels) if self.labels else number_of(text) is not None
        return text if is_label else None

    def conflict(self, now: LabelMeanings) -> tuple[str, str, str] | None:
        """A text that means another label now, with both labels."""
        for text in dict.fromkeys([*self.relabel, *now.relabel]):
            before, after = self.of(text), now.of(text)
            if before is not None and after is not None and key_of(before) != key_of(after):
                return text, before, after
        return None


@dataclass(frozen=True)
class JudgeOrigin:
    """Which judge scored answers, with which prompt, and when; and how its answers were read."""

    version: str  # model and version, in the words of the user; empty where unknown
    prompt: str  # SHA-256 of the judge's prompt, or "none"; empty where unknown
    day: date
    meanings: LabelMeanings = LabelMeanings()


@dataclass(frozen=True)
class ScoreMap:
    """The map of one judge, and those that lack one group of prompts each."""

    judge: str  # its column
    monotone: MonotoneMap
    without: tuple[MonotoneMap, ...]
    # lowest, highest: of the labelled scores
    lowest: float
    highest: float


@dataclass(frozen=True)
class CalibrationMap:
    """Maps of all judges of a comparison, fitted to the labels of all its systems."""

    origin: JudgeOrigin
    maps: tuple[ScoreMap, ...]
    measure: str  # "mean" of ratings, or "rate" of a class
    positive: str | None  # that class
    labels: int
    prompts: int  # labelled
    spread: float  # standard deviation of labels about maps that were fitted to others
    digest: str = ""  # SHA-256 of the file's content
    label_digest: str = ""  # SHA-256 of the labelled rows, which cannot audit the map; "" where unknown

    def values(self, scores: Mapping[str, Floats]) -> Floats:
        """Scores of each judge, (n,), on people's scale; the mean over judges."""
        return np.asarray(np.mean([part.monotone.of(scores[part.judge]) for part in self.maps], axis=0))

    def values_without(self, scores: Mapping[str, Floats]) -> Floats:
        """The same by maps that lack one of G groups of prompts each, (G, n)."""
        groups = range(len(self.maps[0].without))
        return np.array(
            [np.mean([part.without[k].of(scores[part.judge]) for part in self.maps], axis=0) for k in groups]
        )

    def record(self) -> dict[str, Any]:
        """What is written, with the hash of it all."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "conjury": version("conjury"),
            "judge": {
                "columns": [part.judge for part in self.maps],
                "version": self.origin.version,
                "prompt_sha256": self.origin.prompt,
            },
            "date": self.origin.day.isoformat(),
            "judged": {
                "labels": list(self.origin.meanings.labels),
                "relabel": dict(self.origin.meanings.relabel),
            },
            "measure": self.measure,
            "positive": self.positive,
            "labels": self.labels,
            "prompts": self.prompts,
            "spread": self.spread,
            "labels_sha256": self.label_digest,
            "maps": [
                {
                    "judge": part.judge,
                    "range": [part.lowest, part.highest],
                    "map": _points(part.monotone),
                    "without_a_group": [_points(monotone) for monotone in part.without],
                }
                for part in self.maps
            ],
        }
        return {**content, "sha256": hash_of(content)}


@dataclass(frozen=True)
class MapRequest:
    """A map of a judge's scores that is to be used, or written, and what binds it.

    Parameters
    ----------
    use, save : path, optional
        A file with a map to be used, and one to be written.
    version : str
        Model and version of the judge, or the column that has them.
    prompt : str
        SHA-256 of the judge's prompt, or "none" for a judge without one; see
        `conjury.inference.tables.files.file_hash`.
    day : date
        On which answers were scored; by default today.
    stale_after : int
        Days after which a map is not used without labels that confirm it.

    Examples
    --------
    >>> MapRequest(save="october.json", version="gpt-5.1", prompt="none").stale_after
    60
    """

    use: str | Path | None = None
    save: str | Path | None = None
    version: str = ""
    prompt: str = ""
    day: date = field(default_factory=date.today)
    stale_after: int = STALE_AFTER

    def __post_init__(self) -> None:
        if self.stale_after < 1:
            raise InputError(f"stale_after is {self.stale_after}; give days, such as {STALE_AFTER}.")
        what = "a map is bound to its judge"
        if (self.use or self.save) and not self.version:
            raise InputError(f"{what}; state its model and version with --judge-version TEXT (or a column).")
        if (self.use or self.save) and not self.prompt:
            raise InputError(
                f"{what} and to the judge's prompt; give the file of the prompt with --judge-prompt FILE, or "
                f"--judge-prompt {NO_PROMPT} for a judge without one."
            )


def map_request(maps: MapRequest | Mapping[str, Any] | None) -> MapRequest | None:
    """A request for maps, which may be stated by the names of its fields."""
    if not isinstance(maps, Mapping):
        return maps
    names = [part.name for part in fields(MapRequest)]
    stray = next((name for name in maps if name not in names), None)
    if stray is not None:
        raise InputError(f"maps has no {stray!r}{did_you_mean(stray, names)}; it takes {listed(names)}.")
    return MapRequest(**maps)


def read_map(path: str | Path) -> CalibrationMap:
    """Read a map; refuse a file that is none, that was changed, or that a later version wrote."""
    content = read_sealed(Path(path), FORMAT, "map of a judge's scores", REMEDY)
    if content.get("version") != VERSION:
        raise InputError(
            f"{path} has version {content.get('version')!r} of the format, and this conjury reads version "
            f"{VERSION}; write the map again with --save-map."
        )
    try:
        return _of_record(content)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} lacks a part of a map, or has one of another form; {REMEDY}.") from error


def _of_record(content: Mapping[str, Any]) -> CalibrationMap:
    judge = content["judge"]
    meanings = LabelMeanings(tuple(content["judged"]["labels"]), dict(content["judged"]["relabel"]))
    day = date.fromisoformat(content["date"])
    origin = JudgeOrigin(judge["version"], judge["prompt_sha256"], day, meanings)
    maps = tuple(
        ScoreMap(part["judge"], _map(part["map"]), tuple(map(_map, part["without_a_group"])), *part["range"])
        for part in content["maps"]
    )
    return CalibrationMap(
        origin, maps, content["measure"], content["positive"], content["labels"], content["prompts"],
        content["spread"], content["sha256"], content["labels_sha256"],
    )  # fmt: skip


def refuse_other_judge(
    path: str | Path, saved: CalibrationMap, now: JudgeOrigin, measure: str, positive: str | None,
    judges: tuple[str, ...],
) -> None:  # fmt: skip
    """Refuse a map of another judge, prompt, class or later day than those of the answers."""
    columns = tuple(part.judge for part in saved.maps)
    what = f"{path} is a map of"
    if set(columns) != set(judges):
        raise InputError(
            f"{what} {listed(map(repr, columns))}, and answers are scored by {listed(map(repr, judges))}; "
            "name the same columns with --judge, or rename them."
        )
    if saved.origin.version != now.version:
        raise InputError(
            f"{what} the judge '{saved.origin.version}', and these answers were scored by '{now.version}'; "
            "label some of them and write a map of the new judge."
        )
    if saved.origin.prompt != now.prompt:
        raise InputError(
            f"{what} a judge with another prompt (SHA-256 {_short(saved.origin.prompt)}, now "
            f"{_short(now.prompt)}); label some of these answers and write a new map."
        )
    if (saved.measure, saved.positive) != (measure, positive):
        named = [f"the share of '{name}'" if name else "means" for name in (saved.positive, positive)]
        raise InputError(
            f"{what} scores to {named[0]}, and here it is {named[1]}; name that with --positive."
        )
    _refuse_other_labels(what, saved.origin.meanings, now.meanings, measure)
    if now.day < saved.origin.day:
        days = counted((saved.origin.day - now.day).days, "day")
        raise InputError(
            f"{path} was fitted {days} after these answers were scored ({now.day}); state when with --date."
        )


def _refuse_other_labels(what: str, saved: LabelMeanings, now: LabelMeanings, measure: str) -> None:
    """Refuse answers of which a text means another label, or labels that the map has not seen."""
    conflict = saved.conflict(now)
    if conflict is not None:
        text, before, after = conflict
        raise InputError(
            f"{what} scores in which '{text}' means {before}, and here it means {after}; give the same "
            f"--relabel as then ({_pairs(saved.relabel) or 'none'})."
        )
    unseen = [name for name in now.labels if key_of(name) not in set(map(key_of, saved.labels))]
    if measure == RATE and saved.labels and unseen:
        raise InputError(
            f"{what} the labels {listed(map(repr, saved.labels), 8)}, and here the judge gives "
            f"{listed(map(repr, unseen), 8)}, too; say what it counts as with --relabel, or write a new map."
        )


def _pairs(relabel: Mapping[str, str]) -> str:
    return ", ".join(f"{text}={label}" for text, label in relabel.items())


def _short(prompt: str) -> str:
    return prompt[:12] if prompt != NO_PROMPT else "of none"


def _points(monotone: MonotoneMap) -> list[list[float]]:
    return [list(pair) for pair in zip(monotone.score.tolist(), monotone.value.tolist(), strict=True)]


def _map(points: list[list[float]]) -> MonotoneMap:
    score, value = np.array(points, dtype=float).T
    return MonotoneMap(score, value)
