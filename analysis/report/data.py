"""What a report reads: the manifest and the tables of a results folder, with names in words."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.study.models import list_studies
from conjury.inference.tables.files import read_table
from conjury.inference.tables.schema import PROBABILITY

from ..figures.conjoint.choose import SERIES, series_in_words
from ..figures.labels import LabelKey, Labels, one_prompt, words
from ..frames.formula import parse
from ..pipeline.manifest import FIGURES, as_before
from ..pipeline.results_folder import ResultsFolder
from .methods import bounds_name, plain


@dataclass(frozen=True)
class Interaction:
    """Differences between groups: estimates, the feature they are about, and the column of groups."""

    frame: pd.DataFrame
    feature: str
    by: str


class ReportData:
    """A folder written by ``conjury fit`` or ``conjury compare``."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().resolve()
        self.manifest: dict[str, Any] = as_before(ResultsFolder(self.path).manifest)
        file = self.path / "manifest.json"
        if not isinstance(self.manifest, dict):
            raise InputError(f"{file} holds no mapping; run `conjury fit` again.")
        if not self.manifest:
            raise InputError(f"There is no {file}; write a results folder with `conjury fit` first.")

    @cached_property
    def labels(self) -> dict[LabelKey, str]:
        """Labels of attributes and levels, from the manifest."""
        given = self.manifest.get("labels") or {}
        found: dict[LabelKey, str] = {
            str(name): str(text) for name, text in given.get("features", {}).items()
        }
        for feature, levels in given.get("levels", {}).items():
            found |= {(str(feature), str(level)): str(text) for level, text in levels.items()}
        return found

    @property
    def study_argument(self) -> str:
        """How commands name the study: as it ships, or its file without the folder, which is not known."""
        known = self.manifest.get("study_argument")
        if known:
            return shlex.quote(str(known))
        study = str(self.manifest.get("study"))
        return study if study in list_studies() else "STUDY"

    def label(self, kind: str, name: object) -> str:
        """Label of a judge or a prompt (``kind`` is ``"judges"`` or ``"prompts"``)."""
        known = (self.manifest.get("labels") or {}).get(kind, {})
        return str(known.get(name, name))

    def has(self, name: str) -> bool:
        """Whether the folder holds the table ``name``."""
        return (self.path / "tables" / f"{name}.parquet").is_file()

    def table(self, name: str) -> pd.DataFrame:
        """Read a table; raise InputError where it is absent or damaged."""
        folder = self.path / "tables"
        if not self.has(name):
            held = sorted(path.stem for path in folder.glob("*.parquet"))
            raise InputError(f"{self.path} has no table {name!r}; it has: {', '.join(held) or 'none'}.")
        return read_table(folder / f"{name}.parquet")

    def estimates(self, name: str, *, every_prompt: bool = False) -> pd.DataFrame:
        """Estimates under the study's own join, with judges and prompts named in words.

        Where the analysis has groups that are not differences, each group stands behind its judge's name.
        """
        frame = self.table(name)
        if "variant" in frame.columns:
            frame = frame[frame["variant"].fillna("").astype(str) == ""]
        frame = self.named(frame if every_prompt else one_prompt(frame))
        groups = [column for column in self.by(name) if column in frame.columns]
        if groups and "by" not in frame.columns:
            told = series_in_words(frame, groups, Labels(self.labels))
            judges = frame["judge"] if "judge" in frame else [""] * len(frame)
            joined = [", ".join(filter(None, pair)) for pair in zip(judges, told, strict=True)]
            frame = frame.assign(judge=pd.Series(joined, index=frame.index, dtype="string"))
        return frame

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Name judges and prompts in words."""
        named = {
            column: frame[column]
            .astype("string")
            .fillna("")
            .map(lambda name, kind=kind: self.label(kind, name))
            for column, kind in (("judge", "judges"), ("prompt", "prompts"))
            if column in frame.columns
        }
        return frame.assign(**named).reset_index(drop=True)

    @property
    def simulated(self) -> bool:
        """Whether choices behind the results are marked as simulated."""
        return bool(self.manifest.get("simulated"))

    @property
    def real_judges(self) -> list[str]:
        """Judges whose choices are their own, where those of others are simulated."""
        return [str(name) for name in self.manifest.get("real_judges") or []] if self.simulated else []

    def beside_print(self) -> pd.DataFrame:
        """Main estimates of judges that may be compared with print: those who are not simulated."""
        ours = self.table(self.main)
        return ours[ours["judge"].isin(self.real_judges)] if self.simulated else ours

    @property
    def outcome(self) -> str:
        """What the estimates are about, in words."""
        formula = self.analysis(self.main).get("formula")
        named = parse(str(formula)).outcome if formula else ""
        return "the probability of being chosen" if named == PROBABILITY else "the choice"

    def analysis(self, name: str) -> dict[str, Any]:
        """What the manifest says about an analysis; empty where it says nothing."""
        analyses: list[dict[str, Any]] = self.manifest.get("analyses") or []
        return next((item for item in analyses if item.get("name") == name), {})

    def analyses(self, kind: str) -> list[dict[str, Any]]:
        """Analyses whose figure is of a kind, such as ``"interaction"``."""
        return [item for item in self.manifest.get("analyses") or [] if figure_kind(item) == kind]

    @property
    def main(self) -> str:
        """Name of the effects that a report opens with: the first that leave no level out."""
        found = self.analyses("coefficients")
        complete = [item for item in found if not item.get("exclude")]
        return str((complete or found)[0]["name"]) if found else "amce"

    def by(self, name: str) -> list[str]:
        """Columns of groups of an analysis."""
        by = self.analysis(name).get("by") or []
        return [by] if isinstance(by, str) else [str(column) for column in by]

    def interaction(self, name: str) -> Interaction:
        """Differences between groups, for the first feature of the formula that has any."""
        frame, groups = self.estimates(name), self.by(name)
        for column in groups:
            if column not in frame.columns:
                raise InputError(f"The table {name!r} has no column {column!r}, by which it should differ.")
        if not groups:
            raise InputError(f"The manifest does not say between which groups the table {name!r} differs.")
        present = set(frame.loc[frame["estimate"].notna(), "feature"].astype(str))
        analysis = self.analysis(name)
        named = [str(analysis["feature"])] if analysis.get("feature") else []
        named += parse(str(analysis["formula"])).features if analysis.get("formula") else []
        feature = next((candidate for candidate in named if candidate in present), None)
        if feature is None:
            raise InputError(f"The table {name!r} has no difference for a feature of its formula.")
        if len(groups) == 1:
            return Interaction(frame, feature, groups[0])
        told = series_in_words(frame, groups, Labels(self.labels))
        return Interaction(frame.assign(**{SERIES: told}), feature, SERIES)

    def reference(self, name: str, feature: str) -> str:
        """Label of the reference level of a feature in an analysis; empty where the manifest has none."""
        levels = ((self.manifest.get("labels") or {}).get("levels") or {}).get(feature) or {}
        left_out = (self.analysis(name).get("exclude") or {}).get(feature) or []
        return next((str(text) for level, text in levels.items() if level not in left_out), "")

    def title(self, analysis: Mapping[str, Any]) -> str:
        """Title of an analysis, from its name where it has none."""
        return str(analysis.get("title") or words(analysis.get("name", "Analysis")))

    def bounds(self, name: str, kind: str = "normal") -> str:
        """Name an interval of an analysis: ``95% normal interval``."""
        return bounds_name(self.analysis(name), kind)

    def lines(self, name: str) -> str:
        """Name the lines of a figure of an analysis: ``95% normal intervals``."""
        found = self.bounds(name)
        return found and f"{found}s"

    @contextmanager
    def section(self, heading: str) -> Iterator[None]:
        """Print a heading, with its lead, before what is printed inside; nothing where that is nothing."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            yield
        if printed.getvalue().strip():
            print(f"\n{heading.strip()}\n\n{printed.getvalue()}")

    def say(self, made: Callable[[], str]) -> None:
        """Print Markdown, or a sentence that says why there is none."""
        try:
            if shown := made():
                print(shown)
        except ConjuryError as error:
            print(f"\n*Not shown: {plain(str(error).replace(str(self.path), 'the results folder'))}*\n")


def figure_kind(analysis: Mapping[str, Any]) -> str:
    """Kind of figure of an analysis, by its verb where the manifest names none; empty for no figure."""
    return str(analysis.get("figure") or FIGURES.get(str(analysis.get("verb")), ""))
