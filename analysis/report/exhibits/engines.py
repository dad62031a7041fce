"""The report on engines: the same analysis by several programs, told from the record of the comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError

from ...figures import engines_alt, engines_plot
from ...figures.conjoint.engines import yardstick_of
from ...figures.labels import Labels
from ..data import ReportData
from ..markdown import captioned, picture, table_blocks
from ..methods import code, describe_comparison, note_list, plain
from ..tables import number, styled_table
from .conjoint import opened, simulated
from .conjoint_tables import VERSIONS, versions_table

if TYPE_CHECKING:
    from great_tables import GT


class EngineReport(ReportData):
    """What ``conjury compare`` wrote into a results folder, as the report on engines prints it.

    Parameters and errors are those of `ReportData`; a folder without a comparison is refused, too.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        if not self.compared:
            raise InputError(f"{self.path} holds no comparison of engines; run `conjury compare` first.")

    @property
    def compared(self) -> dict[str, Any]:
        """The record of the comparison."""
        found: dict[str, Any] = self.manifest.get("compared") or {}
        return found

    @property
    def yardstick(self) -> str:
        """The engine that the others are compared with."""
        return str(self.compared.get("yardstick") or yardstick_of(self.table("engines_summary")))

    @property
    def subject(self) -> str:
        """What was compared, for captions: title of the analysis, judge and prompt, as plain text."""
        named = [self.label(kind, self.compared.get(key)) for kind, key in NAMED if self.compared.get(key)]
        title = self.compared.get("title") or self.title({"name": self.compared.get("analysis", "analysis")})
        return plain(f"{title} ({', '.join(named)})" if named else title)

    def opening(self) -> str:
        """Say what was compared, when, and whether its choices are simulated."""
        told = f"{opened(self.manifest | self.compared, self.manifest)} Compared: **{self.subject}**."
        return " ".join(filter(None, [told, simulated(self, self.compared)]))

    def disagreement(self) -> None:
        """Print the figure and the table of the largest disagreements."""
        self.say(self._disagreement)

    def _disagreement(self) -> str:
        summary, yardstick = self.table("engines_summary"), self.yardstick
        drawn = picture(
            "engines", engines_plot(summary, yardstick=yardstick), engines_alt(summary, yardstick=yardstick)
        )
        about = f"the {plain(yardstick)} engine"
        caption = (
            f"Largest differences from {about} over all levels, on a logarithmic scale: {self.subject}. "
            "Exact agreement is drawn at 1e-17."
        )
        return (
            f"@fig-engines shows how far each engine lies from {about} at worst, and @tbl-engines-summary "
            "gives the numbers with the seconds that each engine took.\n"
            + captioned("fig-engines", drawn, caption)
            + table_blocks(
                "engines_summary",
                [engines_summary_table(summary)],
                f"Time and largest difference from {about}, by engine: {self.subject}.",
            )
        )

    def estimates_by_engine(self) -> None:
        """Print the table of every estimate by every engine."""
        self.say(
            lambda: (
                "@tbl-engines lists what each engine found, with standard errors in parentheses.\n"
                + table_blocks(
                    "engines",
                    [engines_table(self.table("engines"), Labels(self.labels), self.groups)],
                    f"Estimates and standard errors by engine: {self.subject}.",
                )
            )
        )

    @property
    def groups(self) -> str:
        """Column of the groups between which the compared estimates differ; empty without groups."""
        by = self.compared.get("by") or []
        return by if isinstance(by, str) else str(by[0]) if len(by) == 1 else ""

    def methods(self) -> str:
        """Tell what every engine was given."""
        judge, prompt = (
            self.label(kind, self.compared[key]) if self.compared.get(key) else "" for kind, key in NAMED
        )
        name = code(self.compared.get("analysis", ""))
        return f"**{self.subject}**, analysis {name}. {describe_comparison(self.compared, judge, prompt)}"

    def notes(self) -> str:
        """List the notes that the comparison left, in Markdown."""
        return note_list(self.compared.get("notes"))

    def data_and_versions(self) -> None:
        """Print the table of data, software and command of the comparison."""
        print(table_blocks("versions", [versions_table(self.compared)], VERSIONS))


NAMED = (("judges", "judge"), ("prompts", "prompt"))


def engines_summary_table(summary: pd.DataFrame) -> GT:
    """Show the time and the largest disagreement of each engine."""
    shown = pd.DataFrame(
        {
            "Engine": summary["engine"].astype(str),
            "Available": ["yes" if found else "no" for found in summary["available"]],
            "Seconds": summary["seconds"].map(number),
            "Estimates (absolute)": summary["max_abs_difference_estimate"].map(scientific),
            "Standard errors (relative)": summary["max_rel_difference_std_error"].map(scientific),
            "Note": summary["note"].astype("string").fillna("") if "note" in summary else "",
        }
    )
    return styled_table(shown, name="engines-summary")


def engines_table(engines: pd.DataFrame, labels: Labels, groups: str = "") -> GT:
    """Set each engine's estimates, with standard errors in parentheses, side by side.

    Differences say between which levels of ``groups`` they are.
    """
    names = [
        column.removeprefix("estimate_")
        for column in map(str, engines.columns)
        if column.startswith("estimate_")
    ]
    shown = pd.DataFrame(
        {
            "Attribute": [labels.feature(feature) for feature in engines["feature"]],
            "Level": [labels.level(f, v) for f, v in zip(engines["feature"], engines["level"], strict=True)],
        }
    )
    if "by" in engines:
        told = [
            " minus ".join(labels.level(groups, level) for level in str(pair).split(" - "))
            for pair in engines["by"]
        ]
        shown["Level"] = [f"{level}, {pair}" for level, pair in zip(shown["Level"], told, strict=True)]
    for engine in names:
        pairs = zip(engines[f"estimate_{engine}"], engines[f"std_error_{engine}"], strict=True)
        shown[engine] = [_estimate(value, error) for value, error in pairs]
    return styled_table(shown, name="engines", groups="Attribute")


def _estimate(value: float, error: float) -> str:
    """An estimate with its standard error; a zero without one is that of a reference level."""
    if number(error):
        return f"{number(value, 6)} ({number(error, 6)})"
    return "reference" if value == 0 else number(value, 6)


def scientific(value: float) -> str:
    """Show a small difference as a power of ten; an empty string where it is missing."""
    return "" if pd.isna(value) else f"{value:.1e}"
