"""Sections of a report on how far results reach: reliability, stimuli, power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.study.models import list_studies

from ...figures.conjoint.coefficients import coefficient_alt, coefficient_plot
from ...figures.conjoint.detectable import detectable_alt, detectable_plot
from ...figures.conjoint.error_choices import errors_alt, errors_plot
from ...figures.conjoint.reliability import reliability_alt, reliability_plot
from ...figures.labels import Labels
from ..data import ReportData
from ..markdown import captioned, picture, slug, table_blocks
from ..methods import code, plain
from ..tables import number, whole
from .robustness_tables import errors_table, named, position_table, power_table, reliability_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_FIGURES = 2
BY_STIMULI = ("CR1", "CR2", "wild", "pigeonhole", "mixed")
NO_STIMULI = (
    "There are no errors by stimuli: the study names no texts, pictures or other stimuli that profiles "
    "share, or these choices do not hold them."
)
SOURCES = {"observed": "As observed", "corrected": "Corrected"}
CAPTIONS = {
    "errors": "Effects under each choice of errors",
    "corrected": "Effects as observed and corrected for unstable answers",
    "power": "Effects beside the smallest detectable ones",
}
STIMULI = """\
Errors by pair or respondent hold for other answers about these very stimuli; whoever speaks about stimuli
like these has to count them as drawn at random, too. {figures} shows intervals around each estimate
under up to four choices of what is random (an upright line marks zero where it is near), and below, for every
choice, how many times larger standard errors are than those of independent rows. @tbl-errors has these
numbers for all judges. {finding}

CR1 corrects clustered errors by G/(G-1); CR2 also corrects for few clusters, with Satterthwaite's degrees of
freedom. The wild bootstrap has no error, only an interval. The pigeonhole bootstrap draws each kind of
stimulus on its own and counts the noise of single answers three times with two kinds, so it errs on the wide
side where that noise is large. The mixed model gives each stimulus an effect of its own{slopes}.
"""
RELIABILITY = """\
Some pairs were shown to the same judge again. @fig-reliability shows how often the same profile was chosen,
and what swapped repeats decompose into: a judge who follows the side on which a profile stands chooses always
A or always B. @tbl-reliability gives the numbers, and @tbl-position those of the sides. {verdicts}
"""
CORRECTED = """
Answers that depart from a stable pick pull all effects towards zero. {figures} sets effects corrected for
that beside the observed ones; the intervals of corrected effects hold the uncertainty of the correction.
"""
POWER = """\
An effect is *detectable* if a test at the {alpha} level would find it with a probability of {power}. The plan
knows only the number of answers; it takes the stimuli as given and lets no other attribute explain the
choices. The errors found take the units in the last column of @tbl-power as random: with them only larger
effects are detectable than by the plan where stimuli of one level differ, and smaller ones too where the
other attributes explain much. {figures} sets both beside the size of each estimate. {finding}
"""


@dataclass(frozen=True)
class Shown:
    """A figure with its description and, where it is about one judge, that judge's name."""

    figure: Figure
    alt: str
    judge: str = ""


class RobustnessReport(ReportData):
    """A results folder whose reliability, stimuli and power a report prints, where it holds them.

    Parameters and errors are those of `ReportData`.
    """

    def reliability(self) -> None:
        """Print agreement, position bias and corrected effects."""
        self.say(lambda: self._reliability() if self.holds("reliability") else self._absent("Reliability"))

    def stimuli(self) -> None:
        """Print effects under each choice of errors."""
        self.say(lambda: self._stimuli() if self.holds("errors") else self._absent("Errors"))

    def power(self) -> None:
        """Print which effects could have been found."""
        self.say(lambda: self._power() if self.holds("power") else self._absent("Power"))

    def holds(self, name: str) -> bool:
        """Whether the last diagnosis wrote the table ``name``."""
        made = (self.manifest.get("diagnosed") or {}).get("robustness") or []
        return name in made and self.has(name)

    def figure_names(self) -> list[str]:
        """Names of the figures: ``reliability``, and ``errors_1``, ``power_2`` and so on by judge."""
        names = ["reliability"] if self.holds("reliability") else []
        return names + [name for table in CAPTIONS for name in self._by_judge(table)]

    def robustness_figure(self, name: str) -> Shown:
        """Draw a figure by its name."""
        if name == "reliability":
            agreement, position = (self.named(self.table(part)) for part in ("reliability", "position"))
            drawn = reliability_plot(agreement, position, labels=self.labels)
            return Shown(drawn, reliability_alt(agreement))
        table, _, place = name.rpartition("_")
        frame = _judges(self.named(self.table(table)))[int(place) - 1]
        judge = named(frame.iloc[0])
        if table == "corrected":
            shown = frame.assign(source=frame["source"].astype("string").map(SOURCES))
            drawn = coefficient_plot(shown, labels=self.labels, group="source")
            return Shown(drawn, coefficient_alt(shown, labels=self.labels, group="source"), judge)
        plot, alt = PLOTS[table]
        return Shown(plot(frame, labels=self.labels), alt(frame, labels=self.labels), judge)

    def _by_judge(self, table: str) -> list[str]:
        if not self.holds(table):
            return []
        return [f"{table}_{k}" for k in range(1, len(_judges(self.table(table))) + 1)]

    def _figures(self, table: str) -> str:
        """The figures of a table, one for each of the first judges."""
        return "\n".join(self._figure(name, CAPTIONS[table]) for name in self._by_judge(table))

    def _figure(self, name: str, caption: str) -> str:
        shown = self.robustness_figure(name)
        told = f"{caption}: {plain(shown.judge)}." if shown.judge else caption
        return captioned(f"fig-{slug(name)}", picture(name, shown.figure, shown.alt), told)

    def _references(self, table: str) -> str:
        first, *others = [f"@fig-{slug(name)}" for name in self._by_judge(table)]
        return f"{first} (and {', '.join(others)} for another judge)" if others else first

    def _reliability(self) -> str:
        agreement, position = (self.named(self.table(name)) for name in ("reliability", "position"))
        judges = agreement.drop_duplicates(["judge", "prompt"])
        verdicts = [f"{plain(named(row))}: {plain(row['verdict'])}" for row in judges.to_dict("records")]
        caption = (
            "Agreement of repeated answers with bootstrap intervals (left), and answers to pairs whose sides "
            "were swapped (right)."
        )
        told = (
            RELIABILITY.format(verdicts=" ".join(verdicts))
            + self._figure("reliability", caption)
            + table_blocks("reliability", [reliability_table(agreement)], "Agreement of repeated answers.")
            + table_blocks("position", [position_table(position)], "Sides and repeated answers.")
        )
        if not self.holds("corrected"):
            return told
        return told + CORRECTED.format(figures=self._references("corrected")) + self._figures("corrected")

    def _stimuli(self) -> str:
        frame, labels = self.named(self.table("errors")), Labels(self.labels)
        if not frame["method"].isin(BY_STIMULI).any():
            return NO_STIMULI
        told = STIMULI.format(
            figures=self._references("errors"), finding=_widest(frame, labels), slopes=_slopes(frame, labels)
        )
        caption = "Standard errors over those of independent rows, range over the levels of each attribute."
        return told + self._figures("errors") + table_blocks("errors", [errors_table(frame, labels)], caption)

    def _power(self) -> str:
        frame, first = self.named(self.table("power")), self.table("power").iloc[0]
        small = int((frame["estimate"].abs() < frame["effect_found"]).sum())
        told = POWER.format(
            alpha=f"{100 * float(first['alpha']):g}%",
            power=f"{100 * float(first['power']):g}%",
            figures=self._references("power"),
            finding=f"Of {whole(len(frame))} estimates {whole(small)} are smaller than their errors could "
            "find; that such an effect is not told from zero says little.",
        )
        table = power_table(frame, Labels(self.labels))
        caption = "Smallest detectable effects, range over the levels of each attribute."
        command = code(f"conjury power {self.study_argument}")
        where = ", run in the folder of that study file" if self.study_argument not in list_studies() else ""
        more = f"\nFor other sizes, their cost, and designs yet to come there is {command}{where}.\n"
        return told + self._figures("power") + table_blocks("power", [table], caption) + more

    def _absent(self, what: str) -> str:
        """Say which command makes what is not there, or why it made nothing."""
        diagnosed = self.manifest.get("diagnosed")
        if not diagnosed:
            run = code(f"conjury diagnose {self.study_argument} --results FOLDER")
            return f"These results do not hold this yet: run {run} with the folder of these results."
        notes = [str(note) for note in diagnosed.get("notes") or [] if what.lower() in str(note).lower()]
        return plain(notes[0]) if notes else "The last diagnosis left this out; its notes say why."


PLOTS: dict[str, tuple[Callable[..., Figure], Callable[..., str]]] = {
    "errors": (errors_plot, errors_alt),
    "power": (detectable_plot, detectable_alt),
}


def _judges(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Rows of the first judges, as many as get a figure."""
    keys = frame["judge"].astype("string") + "|" + frame["prompt"].astype("string").fillna("")
    return [frame[keys == key].reset_index(drop=True) for key in list(dict.fromkeys(keys))[:MOST_FIGURES]]


def _widest(frame: pd.DataFrame, labels: Labels) -> str:
    """Name the largest ratios of standard errors, of clustered ones and of all, and the fewest clusters."""
    clustered = frame[frame["method"].isin(["CR1", "CR2"]) & frame["ratio"].notna()].reset_index(drop=True)
    if clustered.empty:
        return "The choices hold no stimuli, so no errors by them are shown."
    known = frame[frame["ratio"].notna()]
    worst, most = (rows.iloc[int(rows["ratio"].to_numpy(float).argmax())] for rows in (clustered, known))
    told = f"Among clustered standard errors the largest ratio is {_ratio(worst, labels)}"
    if number(most["ratio"], 1) != number(worst["ratio"], 1):
        wide = ", which errs on the wide side" if most["method"] == "pigeonhole" else ""
        told += f"; among all standard errors it is {_ratio(most, labels)}{wide}"
    return f"{told}. Clustering by stimuli rests on as few as {whole(clustered['n_clusters'].min())} of them."


def _ratio(row: pd.Series[Any], labels: Labels) -> str:
    """A ratio of standard errors, with the judge, level and choice that it belongs to."""
    level = plain(labels.both(row["feature"], row["level"]))
    return f"{number(row['ratio'], 1)} ({plain(named(row))}, {level}, {plain(row['choice'])})"


def _slopes(frame: pd.DataFrame, labels: Labels) -> str:
    names = frame.loc[frame["method"] == "mixed", "clusters"].unique()
    slopes = [name.split(":")[1] for clusters in names for name in clusters.split(", ") if ":" in name]
    if not slopes:
        return ""
    return f" and lets the effects of *{plain(labels.feature(slopes[0]))}* differ between stimuli"
