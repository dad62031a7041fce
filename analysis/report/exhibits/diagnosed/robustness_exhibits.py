"""Exhibits of reliability, of standard errors that account for stimuli, and of power."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ....figures.conjoint.error_choices_figure import ratio_ranges
from ....figures.labels import LevelLabels, display_order
from ....figures.note_labels import note_text
from ....pipeline.manifest import NO_ERRORS, NO_REPEATS, NO_ROBUSTNESS, notes_of, runs_of
from ....results import Result
from ...method_sentences import plain
from ...report_data import ReportData
from ...sentences.diagnostic_sentences import (
    RepeatVerdict,
    detectability,
    detectability_in_words,
    find_largest_ratios,
    reliability_in_words,
    widest_in_words,
)
from ...table_format import NO_BREAK, interval, number, p_value, styled_table, whole
from ..exhibit_registry import Drawn, Exhibit, Laid, exhibit

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

MOST_FIGURES = 2
BY_STIMULI = ("CR1", "CR2", "wild", "pigeonhole", "mixed")
SOURCES = {"observed": "As observed", "corrected": "Corrected"}
NO_STIMULI = (
    "There are no standard errors by stimuli: the study names no texts, pictures or other stimuli that "
    "profiles share, or these choices do not contain them."
)
STIMULI = """\
Standard errors clustered by pair or respondent are valid for other answers to the same stimuli. To generalise
to new stimuli, treat stimuli as random as well. Intervals around each estimate under up to four assumptions
about what is random are in {figure} (a vertical line marks zero where it is near); below them are the ratios
of the standard errors of every choice to those of independent rows. {table has|have} these for all judges."""
STIMULI_METHODS = """\
CR1 multiplies clustered variances by G/(G-1); CR2 also corrects for few clusters, with Satterthwaite's
degrees of freedom. The wild bootstrap has no standard error, only an interval. The pigeonhole bootstrap draws
each kind of stimulus separately and counts the noise of single answers three times with two kinds, so its
intervals are too wide where that noise is large. The mixed model has an effect for each stimulus{slopes}."""
POWER = """\
An effect is *detectable* if a test at the {alpha} level would reject zero with a probability of {power}. The
planned value uses only the number of answers: it treats stimuli as fixed and assumes that no other attribute
explains the choices. The observed value uses standard errors that treat the units in the last column of
{{table}} as random: it is larger where stimuli of one level differ, and can be smaller where other attributes
explain much. Both are in {{figure}}, with the size of each estimate."""


def _absent(report: ReportData, kind: str) -> str:
    """Why a diagnosis did not compute what is missing; notes of a kind say so. Empty without a diagnosis."""
    diagnosed = runs_of(report.manifest).get("diagnosed")
    if not diagnosed:
        return ""
    notes = [note for note in notes_of(diagnosed) if note.is_of(kind) or note.is_of(NO_ROBUSTNESS)]
    return (
        plain(note_text(notes[0], report.labels))
        if notes
        else "The last diagnosis did not compute this; its notes give the reason."
    )


def _by_judge(
    kind: str, frame: pd.DataFrame, caption: str, legend: str, options: Mapping[str, Any] | None = None
) -> list[Drawn]:
    """A figure for each of the first judges; ``legend`` says what its points and lines are."""
    keys = frame["judge"].astype("string") + "|" + frame["prompt"].astype("string").fillna("")
    parts = [frame[keys == key].reset_index(drop=True) for key in list(dict.fromkeys(keys))[:MOST_FIGURES]]
    return [
        Drawn(
            Result(part, kind),
            f"{caption}: {plain(judge_of(part.iloc[0]))}. {legend}",
            str(place),
            options=options or {},
        )
        for place, part in enumerate(parts, start=1)
    ]


@exhibit("reliability", absent=partial(_absent, kind=NO_REPEATS))
def reliability(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Agreement of repeated answers and the position bias of swapped pairs."""
    agreement, position = report.named(result.frame), report.named(report.table("position"))
    judges = agreement.drop_duplicates(["judge", "prompt"])
    lead = (
        "Some pairs were shown to the same judge again. {figure shows} how often the same profile was "
        "chosen, and the decomposition of swapped repeats: a judge who follows the position of a profile "
        "always chooses A or always B. {table} give the numbers of agreement and of positions."
    )
    caption = (
        "Agreement of repeated answers with bootstrap intervals (left), and answers to pairs whose positions "
        "were swapped (right)."
    )
    return Exhibit(
        lead,
        [Drawn(Result(agreement, "reliability", extra={"position": position}), caption)],
        [
            Laid([reliability_table(agreement)], "Agreement of repeated answers."),
            Laid([position_table(position)], "Positions and repeated answers.", "position"),
        ],
        verdicts(judges),
    )


def verdicts(judges: pd.DataFrame) -> str:
    """What reliability says of each judge, judges with the same verdict together."""
    return " ".join(
        reliability_in_words(
            RepeatVerdict(
                str(verdict),
                tuple(judge_of(row) for row in rows.to_dict("records")),
                rows["judge"].nunique(),
                len(judges),
            )
        )
        for verdict, rows in judges.groupby("verdict", sort=False, observed=True)
    )


@exhibit("corrected")
def corrected(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Effects corrected for unreliable answers."""
    frame = report.named(result.frame)
    frame = frame.assign(source=frame["source"].astype("string").map(SOURCES))
    lead = (
        "Unreliable answers bias all effects towards zero. The observed effects and effects corrected for "
        "this bias are in {figure}; intervals of corrected effects include the uncertainty of the correction."
    )
    what = "Effects as observed and corrected for unreliable answers"
    legend = "Points: AMCEs; lines: intervals."
    return Exhibit(lead, _by_judge("amce", frame, what, legend, {"group": "source"}))


@exhibit("standard_errors", absent=partial(_absent, kind=NO_ERRORS))
def standard_errors(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Effects under each assumption about what is random."""
    frame, labels = report.named(result.frame), LevelLabels(report.labels)
    if not frame["method"].isin(BY_STIMULI).any():
        return Exhibit(NO_STIMULI)
    caption = "Standard errors divided by those of independent rows, range over the levels of each attribute."
    methods = STIMULI_METHODS.format(slopes=_slopes(frame, labels))
    names = pd.Series([_ratio_of(row, labels) for row in frame.to_dict("records")], dtype=object)
    return Exhibit(
        STIMULI,
        _by_judge(
            "standard_errors",
            frame,
            "Effects under each assumption about what is random",
            "Points: estimates; lines: intervals, as distances from the estimate behind each level; cells: "
            "ratios of standard errors to those of independent rows.",
        ),
        [Laid([errors_table(frame, labels)], caption)],
        f"{widest_in_words(find_largest_ratios(frame, names))}\n\n{methods}",
    )


@exhibit("detectable", absent=partial(_absent, kind=NO_ERRORS))
def detectable(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The smallest detectable effects."""
    frame, first = report.named(result.frame), result.frame.iloc[0]
    lead = POWER.format(alpha=f"{100 * float(first['alpha']):g}%", power=f"{100 * float(first['power']):g}%")
    main = next(iter(report.of_kind("amce")), None)
    tests = pd.DataFrame() if main is None else report.table(main.name)
    reading = detectability_in_words(detectability(result.frame, tests, float(first["alpha"])))
    return Exhibit(
        lead,
        _by_judge(
            "detectable",
            frame,
            "Effects and minimum detectable effects",
            "Points: sizes of effects, without their signs.",
        ),
        [
            Laid(
                [power_table(frame, LevelLabels(report.labels))],
                "Minimum detectable effects, range over the levels of each attribute.",
            )
        ],
        reading,
    )


def _ratio_of(row: dict[Any, Any], labels: LevelLabels) -> str:
    """The judge, level and choice that a ratio of standard errors belongs to."""
    level = plain(labels.both(row["feature"], row["level"]))
    return f"{plain(judge_of(row))}, {level}, {plain(row['choice'])}"


def _slopes(frame: pd.DataFrame, labels: LevelLabels) -> str:
    names = frame.loc[frame["method"] == "mixed", "clusters"].unique()
    slopes = [name.split(":")[1] for clusters in names for name in clusters.split(", ") if ":" in name]
    if not slopes:
        return ""
    return f" and lets the effects of *{plain(labels.feature(slopes[0]))}* differ between stimuli"


SIDES = {"swapped": "Positions swapped", "same": "As before", "either": "Both kinds"}


def judge_of(row: dict[Any, Any] | pd.Series[Any]) -> str:
    """Name the judge and prompt of a row."""
    return ", ".join(filter(None, (str(row["judge"]), str(row["prompt"]))))


def reliability_table(agreement: pd.DataFrame) -> GT:
    """Lay agreement out by judge and kind of repeat."""
    rows = pd.DataFrame(
        {
            "Judge": [judge_of(row).replace(" ", NO_BREAK) for row in agreement.to_dict("records")],
            "Repeats": agreement["sides"].astype(str).map(SIDES),
            "Compared": agreement["n_compared"].map(whole),
            "Unanswered": agreement["n_unanswered"].map(whole),
            "Agreement": agreement["agreement"].map(number),
            "Bootstrap interval": _intervals(agreement, "lower", "upper"),
            "Swapping error": agreement["tau"].map(number),
        }
    )
    return styled_table(rows, n_left=2)


def position_table(position: pd.DataFrame) -> GT:
    """Position bias and noise by judge, from swapped repeats."""
    rows = pd.DataFrame(
        {
            "Judge": [judge_of(row).replace(" ", NO_BREAK) for row in position.to_dict("records")],
            "Same profile": position["same_profile"].map(number),
            "Always A": position["always_a"].map(number),
            "Always B": position["always_b"].map(number),
            "A minus B": position["net_bias"].map(number),
            "Interval": _intervals(position, "net_lower", "net_upper"),
            "p": position["net_p"].map(p_value),
            "A, all first answers": position["share_a"].map(number),
        }
    )
    return styled_table(rows)


def errors_table(frame: pd.DataFrame, labels: LevelLabels) -> GT:
    """Range of ratios of errors by judge and choice, attributes as columns."""
    rows = []
    keys = frame[["judge", "prompt"]].astype("string").fillna("")
    for judge, prompt in keys.drop_duplicates().itertuples(index=False):
        judge_rows = frame[(keys["judge"] == judge) & (keys["prompt"] == prompt)]
        ranges = ratio_ranges(judge_rows)
        for choice in ranges.index:
            cells = {
                labels.feature(name): _range(*(ranges.loc[choice, (name, edge)] for edge in ("min", "max")))
                for name in display_order(judge_rows["feature"])
            }
            rows.append({"judge": ", ".join(filter(None, (judge, prompt))), "Random": choice, **cells})
    return styled_table(pd.DataFrame(rows), groups="judge")


def power_table(frame: pd.DataFrame, labels: LevelLabels) -> GT:
    """Detectable effects by judge and attribute: planned, and with the observed standard errors."""
    rows = []
    for _, group in frame.groupby(["judge", "prompt", "feature"], sort=False, observed=True, dropna=False):
        first = group.iloc[0]
        rows.append(
            {
                "judge": judge_of(first),
                "Attribute": labels.feature(first["feature"]),
                "Pairs": whole(first["pairs"]),
                "Planned": _range(group["effect_design"].min(), group["effect_design"].max(), 3),
                "Observed": _range(group["effect_found"].min(), group["effect_found"].max(), 3),
                "Estimates": _range(group["estimate"].min(), group["estimate"].max(), 3),
                "Random in the observed value": str(first["errors"]),
            }
        )
    return styled_table(pd.DataFrame(rows), groups="judge")


def _range(low: float, high: float, digits: int = 1) -> str:
    first, second = number(low, digits), number(high, digits)
    return first if first == second else f"{first} to {second}"


def _intervals(frame: pd.DataFrame, lower: str, upper: str) -> list[str]:
    pairs = zip(frame[lower].astype(float), frame[upper].astype(float), strict=True)
    return [interval(low, high) if np.isfinite([low, high]).all() else "" for low, high in pairs]
