"""What the reports on ratings ask for: results from a folder, as text, figures and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError

from ..figures.labels import LabelKey
from ..pipeline.saved import read_result
from ..results import Result
from .cells import in_words
from .data import ReportData
from .exhibits import rating_published as beside_print
from .exhibits import ratings as sections
from .exhibits import recovery as comparisons
from .exhibits import replacement as answers
from .exhibits.benchmark import section
from .exhibits.benchmark_published import printed, printed_checks
from .exhibits.conjoint import opened
from .exhibits.conjoint_tables import versions_table
from .exhibits.recovery import truth
from .markdown import table_blocks
from .methods import note_list, plain
from .tables import styled_table

MOST_TITLES = 3  # results that a note names


def labels_of(manifest: Mapping[str, Any]) -> dict[LabelKey, str]:
    """Words for dimensions, strata, levels, judges and prompts, as figures take them."""
    given = manifest.get("labels") or {}
    found: dict[LabelKey, str] = {str(name): str(text) for name, text in given.get("features", {}).items()}
    for feature, levels in given.get("levels", {}).items():
        found |= {(str(feature), str(level)): str(text) for level, text in levels.items()}
    for kind in ("judges", "prompts"):
        found |= {(kind, str(name)): str(text) for name, text in given.get(kind, {}).items()}
    return found


class RatingsReport(ReportData):
    """A folder with results on ratings, as a report prints it.

    What prints is for cells with ``output: asis``; what cannot be shown becomes a sentence that says why.
    Parameters and errors are those of `ReportData`; a folder without results on ratings is refused.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        if not self.records:
            raise InputError(
                f"{self.path} holds no results on ratings; run `conjury fit` with a study of items, or "
                "`conjury raters`, `conjury alt-test` or `conjury agreement` first."
            )

    @property
    def parts(self) -> list[dict[str, Any]]:
        """What was run, in order: the fit, then what was added to it."""
        added = [part for part in self.manifest.values() if isinstance(part, dict) and "results" in part]
        own = [self.manifest] if "results" in self.manifest else []
        return own + sorted(added, key=lambda part: str(part.get("created")))

    @property
    def records(self) -> dict[str, dict[str, Any]]:
        """What the manifest says of each result, by name; later runs take the place of earlier ones."""
        return {str(made["name"]): made for part in self.parts for made in part["results"]}

    @property
    def words(self) -> dict[LabelKey, str]:
        """Labels as figures take them."""
        return labels_of(self.manifest)

    def result(self, name: str) -> Result:
        """Read a result; InputError where there is none of that name."""
        if name not in self.records:
            raise InputError(f"These results hold no {name.replace('_', ' ')}.")
        return read_result(self.path, self.records[name])

    def of_kind(self, kind: str) -> list[str]:
        """Names of the results of a kind."""
        return [name for name, made in self.records.items() if made["kind"] == kind]

    def opening(self) -> str:
        """Say which results these are, and whether their judgments are simulated."""
        told = opened(self.manifest, self.manifest)
        return " ".join(filter(None, [told, sections.simulated(self.manifest)]))

    def show(self, *kinds: str) -> None:
        """Print every result of some kinds; nothing where there is none."""
        for name in (name for kind in kinds for name in self.of_kind(kind)):
            self.say(partial(sections.section, self, name))

    def published(self) -> None:
        """Print the comparison with printed numbers, or why there is none."""
        self.say(lambda: beside_print.published(self))

    def checks(self) -> None:
        """Print what the printed numbers of the Oogiri study say of each other."""
        self.say(lambda: comparisons.checks(self))

    def truth(self) -> None:
        """Print the comparison with true values, or why there is none."""
        self.say(lambda: comparisons.truth(self))

    def both_answers(self) -> None:
        """Print what the replacement test and the rater models say of the same models, side by side."""
        self.say(lambda: answers.both_answers(self))

    def methods(self) -> str:
        """Tell what was run, one paragraph a result, in Markdown."""
        told = [
            f"**{sections.ended(plain(made['title']))}** {sections.method(made)}"
            for made in self.records.values()
            if sections.method(made)
        ]
        return "\n\n".join(told)

    def notes(self) -> str:
        """List the notes of all runs in Markdown, each once, with the results that it is about."""
        about: dict[str, list[str]] = {}
        for part in self.parts:
            for note in part.get("notes") or []:
                about.setdefault(str(note), [])
            for made in part["results"]:
                for note in made.get("notes") or []:
                    about.setdefault(str(note), []).append(str(made["title"]).rstrip("."))
        return note_list([self._note(note, titles) for note, titles in about.items()])

    def _note(self, note: str, titles: Sequence[str]) -> str:
        told = in_words(note, self.words)
        if not titles:
            return told
        few = dict.fromkeys(titles if len(titles) <= MOST_TITLES + 1 else titles[:MOST_TITLES])
        more = f"; and {len(titles) - len(few)} more" if len(titles) > len(few) else ""
        return f"{told} ({'; '.join(few)}{more})"

    def data_and_versions(self) -> None:
        """Print the table of the data files of all runs, with checksums, and of software."""
        files = [file for part in self.parts for file in part.get("data") or []]
        told = {
            **self.manifest,
            "data": list({file["sha256"]: file for file in files}.values()),
            "packages": {name: version for part in self.parts for name, version in _packages(part)},
            "command": None,
            "created": None,
        }
        print(table_blocks("versions", [versions_table(told)], "Data files and software."))

    def commands(self) -> None:
        """Print the table of all commands that were run, in order."""
        rows = [(_when(part.get("created")), str(part.get("command") or "")) for part in self.parts]
        shown = pd.DataFrame(rows, columns=["Finished", "Command"])
        caption = "Commands that were run, in order (times in UTC)."
        print(table_blocks("commands", [styled_table(shown, name="commands", left=2)], caption))


def _packages(part: Mapping[str, Any]) -> list[tuple[str, str]]:
    return list((part.get("packages") or {}).items())


def _when(created: object) -> str:
    return str(created or "").replace("T", " ").removesuffix("+00:00")


OF_LABELS = (
    "The truth is about what items are; where votes are the gold labels, they err now and then, and tied "
    "items have none, so that estimates can be off by more than chance."
)


class BenchmarkReport(RatingsReport):
    """A folder with results of a benchmark, as a report prints it.

    What prints is for cells with ``output: asis``; what cannot be shown becomes a sentence that says why.
    Parameters and errors are those of `RatingsReport`.
    """

    def show(self, *kinds: str) -> None:
        """Print every result of some kinds; nothing where there is none."""
        for name in (name for kind in kinds for name in self.of_kind(kind)):
            self.say(partial(section, self, name))

    def published(self) -> None:
        """Print the comparison with printed numbers, or why there is none."""
        self.say(lambda: printed(self))

    def truth(self) -> None:
        """Print estimates beside the true values of a simulation, or why there are none."""
        self.say(lambda: truth(self, OF_LABELS))

    def checks(self) -> None:
        """Print what the printed numbers of the study say of each other; no data are needed for it."""
        self.say(lambda: printed_checks(self))
