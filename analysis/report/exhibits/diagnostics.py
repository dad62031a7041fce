"""The report on diagnostics: every check with its verdict, told from the tables of ``conjury diagnose``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import ConjuryError, InputError

from ...figures.diagnostics.captions import caption
from ...figures.diagnostics.checks import draw, only_zeros
from ...figures.labels import LabelKey
from ..markdown import captioned, picture, slug, table_blocks
from ..methods import note_list, plain
from ..tables import styled_table
from .conjoint import opened, simulated
from .conjoint_tables import VERSIONS, versions_table
from .robustness import RobustnessReport

if TYPE_CHECKING:
    from great_tables import GT

VERDICTS = {
    "fail": "Fails",
    "look": "Needs a look",
    "pass": "Passes",
    "not_applicable": "Does not apply",
}
COUNTED = {
    "fail": ("fails", "fail"),
    "look": ("needs a look", "need a look"),
    "pass": ("passes", "pass"),
    "not_applicable": ("does not apply", "do not apply"),
}


class DiagnosticsReport(RobustnessReport):
    """What ``conjury diagnose`` wrote into a results folder, as the report on diagnostics prints it.

    Parameters and errors are those of `ReportData`; a folder without a diagnosis is refused, too.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        if not self.diagnosed:
            run = f"conjury diagnose {self.study_argument} --results FOLDER"
            raise InputError(f"{self.path} holds no diagnosis; run `{run}` first.")

    @property
    def diagnosed(self) -> dict[str, Any]:
        """The record of the diagnosis."""
        found: dict[str, Any] = self.manifest.get("diagnosed") or {}
        return found

    @property
    def words(self) -> dict[LabelKey, str]:
        """Labels of attributes, levels, judges and prompts."""
        given = self.manifest.get("labels") or {}
        return {
            str(name): str(text)
            for kind in ("prompts", "judges")
            for name, text in given.get(kind, {}).items()
        } | self.labels

    def opening(self) -> str:
        """Say what was diagnosed, when, and how the checks came out."""
        told = opened(self.manifest | self.diagnosed, self.manifest)
        if self.has("diagnosis"):
            verdicts = self.table("diagnosis")["verdict"].astype(str)
            counts = {verdict: int((verdicts == verdict).sum()) for verdict in COUNTED}
            said = [f"{n} {COUNTED[verdict][n != 1]}" for verdict, n in counts.items() if n]
            told += f" Of {len(verdicts)} checks, {', '.join(said)}."
        return " ".join(filter(None, [told, simulated(self, self.diagnosed)]))

    def summary(self) -> None:
        """Print all checks with their verdicts, the gravest first."""
        self.say(
            lambda: table_blocks(
                "diagnosis",
                [diagnosis_table(self.table("diagnosis"))],
                "Checks by verdict.",
            )
        )

    def checks(self) -> None:
        """Print every check: question, verdict, finding, figure, remedy."""
        self.say(self._checks)

    def _checks(self) -> str:
        found = self.table("diagnosis")
        return "\n".join(self._check({str(k): v for k, v in row.items()}) for row in found.to_dict("records"))

    def _check(self, check: dict[str, Any]) -> str:
        name = str(check["name"])
        parts = [
            f"\n### {plain(check['title'])} {{#sec-check-{slug(name)}}}\n",
            f"*{plain(check['question'])}*\n",
            f"**{VERDICTS[str(check['verdict'])]}.** {plain(check['finding'])}\n",
        ]
        if check["figure"]:
            parts.append(self._check_figure(name, str(check["title"]), str(check["finding"])))
        if check["remedy"]:
            parts.append(f'::: {{.callout-tip title="What to do"}}\n{plain(check["remedy"])}\n:::\n')
        return "\n".join(parts)

    def _check_figure(self, name: str, title: str, finding: str) -> str:
        try:
            table = self.table(f"check_{name}")
            if only_zeros(name, table):
                return ""
            figure = draw(name, table, labels=self.words)
        except ConjuryError as error:
            return f"*The figure is not shown: {plain(str(error).replace(str(self.path), 'the results'))}*\n"
        label = f"fig-check-{slug(name)}"
        return captioned(
            label, picture(f"check-{name}", figure, plain(finding)), plain(self._caption(name, title))
        )

    def _caption(self, name: str, title: str) -> str:
        return caption(name, title, float(self.diagnosed.get("alpha") or 0.05))

    def methods(self) -> str:
        """Say at which level the tests were made, and from which seed."""
        made = self.diagnosed
        level = f"{100 * float(made['alpha']):g}%" if made.get("alpha") else "stated"
        return (
            f"Tests are made at the {level} level; p values of one check are adjusted by Holm's procedure "
            "over all judges, prompts and attributes. What is drawn at random starts from seed "
            f"{made.get('seed')}."
        )

    def notes(self) -> str:
        """List the notes that the diagnosis left, in Markdown."""
        return note_list(self.diagnosed.get("notes"))

    def data_and_versions(self) -> None:
        """Print the table of data, software and command of the diagnosis."""
        print(table_blocks("versions", [versions_table(self.manifest | self.diagnosed)], VERSIONS))


def diagnosis_table(found: pd.DataFrame) -> GT:
    """Lay checks out by verdict, the gravest first, with what was found."""
    shown = pd.DataFrame(
        {
            "verdict": found["verdict"].astype(str),
            "Check": found["title"].astype(str),
            "What was found": found["finding"].astype(str),
        }
    )
    place = shown["verdict"].map(list(VERDICTS).index)
    ordered = shown.iloc[place.argsort(kind="stable")]
    told = ordered.assign(verdict=ordered["verdict"].map(VERDICTS)).reset_index(drop=True)
    return styled_table(told, name="diagnosis", groups="verdict", left=2)
