"""What a report asks for: tables, figures and sentences from a results folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .exhibits import conjoint as sections
from .exhibits.conjoint_figures import drawers
from .exhibits.conjoint_tables import VERSIONS, lay_out, versions_table
from .exhibits.diagnostics import DiagnosticsReport
from .exhibits.engines import EngineReport
from .exhibits.people import people_section
from .exhibits.published import published_section, truth_section
from .exhibits.robustness import RobustnessReport
from .markdown import table_blocks
from .methods import code, describe_analysis, note_list, plain
from .missing import load
from .ratings_report import BenchmarkReport, RatingsReport

if TYPE_CHECKING:
    from great_tables import GT
    from matplotlib.figure import Figure

__all__ = ["BenchmarkReport", "DiagnosticsReport", "EngineReport", "RatingsReport", "Results", "load"]

REFUSALS = {
    "missing": "An answer without a choice is a missing choice and leaves the estimates.",
    "not_chosen": "An answer without a choice counts as not chosen for both profiles of the pair.",
}


class Results(RobustnessReport):
    """A folder written by ``conjury fit``, as a report prints it.

    What prints is for cells with ``output: asis``; what cannot be shown becomes a sentence that says why.
    Parameters and errors are those of `ReportData`.
    """

    def build_figure(self, name: str, *, theme: str = "light") -> Figure:
        """Draw the table of an analysis by its name, or ``recovery`` or ``published``."""
        return drawers(self, name)[0](theme)

    def alt(self, name: str) -> str:
        """Describe a figure in words, from its numbers."""
        return drawers(self, name)[1]()

    def great_tables(self, name: str, *, interval: str = "normal") -> list[GT]:
        """Lay a table out; many judges are shared between tables.

        Parameters
        ----------
        name : str
            An analysis, or ``answers``, ``recovery`` or ``published``.
        interval : {"normal", "bootstrap"}
            Where the errors, p values and limits beside estimates come from.
        """
        return lay_out(self, name, interval)

    def gt(self, name: str, caption: str, *, interval: str = "normal") -> None:
        """Print a table, in labelled blocks: ``tbl-NAME``, and ``tbl-NAME-2`` where judges are many."""
        self.say(lambda: table_blocks(name, self.great_tables(name, interval=interval), caption))

    def effects(self) -> None:
        """Print the effects of all attributes."""
        if self.analyses("coefficients"):
            self.say(lambda: sections.effects(self))

    def people(self) -> None:
        """Print how models differ from people."""
        if self.analyses("people"):
            self.say(lambda: people_section(self))

    def further_effects(self) -> None:
        """Print the effects of every other analysis of effects."""
        self._each(
            [item for item in self.analyses("coefficients") if item["name"] != self.main],
            sections.further_effects,
        )

    def differences(self) -> None:
        """Print the differences between groups."""
        self._each(self.analyses("interaction"), sections.differences)

    def means(self) -> None:
        """Print the marginal means."""
        self._each(self.analyses("marginal_means"), sections.means)

    def frequencies(self) -> None:
        """Print how often levels were shown."""
        self._each(self.analyses("frequencies"), sections.frequencies)

    def prompts(self) -> None:
        """Print one captioned figure for each judge that answered under several prompts, if any did."""
        self.say(self._prompts)

    def _prompts(self) -> str:
        frame = self.estimates(self.main, every_prompt=True)
        several = frame.groupby("judge", sort=False)["prompt"].nunique() > 1
        judges = enumerate(several[several].index, start=1)
        shown = [sections.prompts(self, frame, str(judge), position) for position, judge in judges]
        return "\n".join(shown)

    def truth(self) -> None:
        """Print the comparison with true values, or a sentence where choices are not marked as simulated."""
        self.say(lambda: truth_section(self))

    def published(self) -> None:
        """Print the comparison with printed numbers, or a sentence where there is none."""
        self.say(lambda: published_section(self))

    def methods(self) -> str:
        """Tell what was run, one paragraph an analysis, in Markdown."""
        analyses = self.manifest.get("analyses") or []
        told = [f"**{plain(self.title(item))}.** {describe_analysis(item)}" for item in analyses]
        return "\n\n".join(told) or "The manifest lists no analysis."

    def refusal_policy(self) -> str:
        """Say what an answer without a choice counts as."""
        policy = self.manifest.get("refusal")
        if policy is None:
            return "The manifest does not say what an answer without a choice counts as."
        return REFUSALS.get(str(policy), f"The study's rule for answers without a choice is {code(policy)}.")

    def notes(self) -> str:
        """List the notes that the analysis left, in Markdown."""
        return note_list(self.manifest.get("notes"))

    def data_and_versions(self) -> None:
        """Print the table of data files with their checksums, and of software with its versions."""
        print(table_blocks("versions", [versions_table(self.manifest)], VERSIONS))

    def opening(self) -> str:
        """Say which results these are, and whether their choices are simulated."""
        told = sections.opened(self.manifest, self.manifest)
        probable = sections.PROBABLE if self.outcome != "the choice" else ""
        return " ".join(filter(None, [told, sections.simulated(self, self.manifest), probable]))

    def _each(
        self, analyses: Sequence[Mapping[str, Any]], section: Callable[[Results, Mapping[str, Any]], str]
    ) -> None:
        for analysis in analyses:
            self.say(partial(section, self, analysis))
