"""Sections of reports on benchmarks: a sentence that reads the result, its figure, its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from conjury.inference.errors import InputError

from ...benchmark.confusion import use_of_labels
from ...benchmark.pass_at_k import with_copies
from ...figures.benchmark import alt_of, figure_of, further_figures, is_drawn
from ...figures.benchmark.by_label import shown_labels
from ...figures.benchmark.confusion import label_in_words
from ...figures.benchmark.curves import level_of
from ...figures.benchmark.panels import judges_in_words, panels_in_words, placed, strata_of
from ...figures.benchmark.scores import policy_of
from ...figures.benchmark.terms import metric_in_words
from ...figures.labels import LabelKey
from ...figures.raters.naming import Names
from ...vocabulary import BASELINE, FEWEST_GOLD
from ..captions import caption
from ..markdown import captioned, picture, slug, table_blocks, table_references
from ..methods import plain
from ..tables import NO_BREAK, interval, number, whole
from .benchmark_layouts import lay_out
from .cards import cards_markdown
from .ratings import ended

if TYPE_CHECKING:
    from ...results import Result
    from ..ratings_report import BenchmarkReport

LEADS = {
    "readings": "{figure} and {table} show what became of the answers when they were read.",
    "scores": (
        "{figure} shows scores with their intervals; lines mark what a judge reaches who always gives the "
        "most frequent label (of each stratum, where strata are scored together), or a label at random. The "
        "numbers are in {table}."
    ),
    "probabilities": "{figure} and {table} score the probabilities that judges gave the labels.",
    "passes": (
        "{figure} and {table} show what several answers to the same item are worth [@chen2021]: at least one "
        "right (which guessing reaches too, if it may guess often enough), the most frequent one right, all "
        "right."
    ),
    "confusion": "{figure} shows what is called what, and {table} the most frequent mistakes.",
    "by_label": "{figure} and {table} show which labels are given too often or too rarely.",
    "errors": (
        "{figure} shows scores over the length of the items, and {table} how the longest differ from the "
        "shortest."
    ),
    "differences": "{figure} and {table} compare judges on the same items.",
    "mixed": (
        "{figure} and {table} compare the odds of a right answer with those of one judge, where items "
        "differ in how hard they are: each has an intercept of its own, drawn from a normal distribution."
    ),
    "robustness": "{figure} and {table} show what perturbed items change.",
    "annotators": ("{figure} and {table} show how far the people agree whose votes are the gold labels."),
}
MOST_NAMED = 5  # judges that a sentence names
MOST_PLACES = 4  # tasks and strata that are told one by one
ONCE = ("policies",)  # further figures, and tables after the first, that the first result of a kind has
FURTHER = {  # the sentence that leads to a further figure, and what its caption adds
    "compared": ("{figure} compares the two readings of each answer.", "Two rules."),
    "policies": (
        "{figure} shows how much depends on what a missing answer counts as.",
        "What missing answers count as.",
    ),
    "recalls": (
        "{figure} shows how often each kind of gold label is found.",
        "By kind of gold label.",
    ),
}


def section(report: BenchmarkReport, name: str) -> str:
    """Show a result: what it says in words, its figure, its tables."""
    result, title = report.result(name), ended(plain(report.records[name]["title"]))
    labels = report.words
    told = Names(labels)
    if result.kind == "cards":
        return cards_markdown(result, told)
    figure, why_not = _drawn(result, name, labels)
    is_first = report.of_kind(result.kind)[0] == name
    tables = lay_out(result, name, labels)[: None if is_first else 1]
    lead = LEADS.get(result.kind, "{figure} and {table} show the results.")
    lead = lead if figure else f"{why_not} The numbers are in {{table}}.".strip()
    parts = [
        lead.format(
            figure=f"@fig-{slug(name)}" if figure else "The figure",
            table=table_references(name, len(tables)) if tables else "the folder",
        ),
        reading(result, told),
    ]
    if figure:
        parts.append(captioned(f"fig-{slug(name)}", figure, caption(title, result.kind, result.settings)))
    wanted = [part for part in further_figures(result) if is_first or part not in ONCE]
    parts += _further(result, name, title, labels, wanted)
    if tables:
        parts.append(table_blocks(name, tables, title))
    return "\n\n".join(filter(None, parts))


def _drawn(result: Result, name: str, labels: Mapping[LabelKey, str]) -> tuple[str, str]:
    """The figure of a result, or why there is none."""
    if not is_drawn(result):
        return "", ""
    try:
        return picture(name, figure_of(result, labels=labels), alt_of(result, labels)), ""
    except InputError as error:
        return "", plain(error).replace("{", "{{").replace("}", "}}")


def _further(
    result: Result, name: str, title: str, labels: Mapping[LabelKey, str], wanted: Sequence[str]
) -> list[str]:
    """Further figures of a result, each after the sentence that leads to it."""
    made = []
    for part in wanted:
        own = f"{name}_{part}"
        lead, what = FURTHER[part]
        made.append(lead.format(figure=f"@fig-{slug(own)}"))
        drawn = picture(own, figure_of(result, part=part, labels=labels), alt_of(result, labels, part))
        told = caption(f"{title} {what}", part, result.settings)
        made.append(captioned(f"fig-{slug(own)}", drawn, told))
    return made


def reading(result: Result, told: Names) -> str:
    """What a result says, in sentences made from its numbers; empty where nothing is to be said."""
    reader = READINGS.get(result.kind)
    return reader(result, told) if reader is not None else ""


def _read_scores(result: Result, told: Names) -> str:
    """The best judge of each place, and how many judges stay below the constant answer."""
    frame = result.frame[result.frame["metric"] == "accuracy"]
    if frame.empty:
        return ""
    frame = frame[frame["missing"].astype(str) == policy_of(frame, None)]
    frame, places = placed(frame, result.settings, told)
    if len(places) > MOST_PLACES:
        return ""
    said: list[str] = []
    for place in places:
        own = frame[frame["_where"] == place]
        judges = own[own["judge_kind"] != BASELINE].dropna(subset="estimate")
        if judges.empty:
            continue
        best = judges.iloc[int(judges["estimate"].to_numpy(float).argmax())]
        share = f"{number(best['estimate'], 2)}{NO_BREAK}{interval(best['lower'], best['upper'], 2)}".strip()
        text = f"{plain(place) + ': ' if place else ''}the highest share of right answers is that of "
        text += f"{plain(best['_who'])} ({share})"
        found = text + _beside_baseline(result, place, told, short=bool(said))
        said.append(f"{found[:1].upper()}{found[1:]}.")
    if said and "over_baseline" in result.extra:
        level = level_of(result.settings)
        said.append(f"Counted are differences on the same items whose {level} interval does not hold 0.")
    return " ".join(said)


def _beside_baseline(result: Result, place: str, told: Names, *, short: bool) -> str:
    """How many judges are right less often, and more often, than the most frequent label would be.

    The ``short`` form is for places after the first.
    """
    over = result.extra.get("over_baseline")
    if over is None:
        return ""
    over = over[over["missing"].astype(str) == policy_of(over, None)]
    over = placed(over, result.settings, told)[0]
    own = over[over["_where"] == place]
    strata = [told.column(name).lower() for name in result.settings.get("strata") or []]
    always = f"the most frequent label{' of each ' + ' and '.join(strata) if strata else ''}"
    below, above = int((own["upper"] < 0).sum()), int((own["lower"] > 0).sum())
    if short:
        return f"; {whole(below)} of {whole(len(own))} judges are below that label, {whole(above)} above it"
    return (
        f"; {whole(below)} of {whole(len(own))} judges are right less often than always giving {always} "
        f"would be, {whole(above)} more often"
    )


def _read_passes(result: Result, told: Names) -> str:
    """Whether repeated answers are copies of each other."""
    samples = result.extra.get("samples")
    if samples is None:
        return ""
    keys = samples.columns[: samples.columns.get_loc("stratum")].tolist()
    cells = samples.assign(_copied=with_copies(samples)).groupby(keys, observed=True)["_copied"].any()
    if not cells.any():
        return ""
    return (
        f"**Some answers are copies of each other**: in {whole(int(cells.sum()))} of {whole(len(cells))} "
        "cells at least two runs are the same, answer by answer, in all items or in those of a stratum. More "
        "answers add less there than they seem to; @sec-notes lists them."
    )


def _read_labels(result: Result, told: Names) -> str:
    """The label that each judge gives far too often, and how many labels are never given."""
    frame, task = shown_labels(result, None)
    frame = frame.assign(_who=judges_in_words(frame, told))
    often = frame[use_of_labels(frame, float(result.settings.get("alpha", 0.05))) > 0]
    if often.empty:
        return (
            f"No judge gives a label too often, among labels that are gold in at least {FEWEST_GOLD} units "
            "and after adjustment for the number of labels and judges."
        )
    top = often.loc[often.groupby("_who", sort=False)["ratio"].idxmax()]
    top = top.sort_values("ratio", ascending=False, kind="stable")
    said = [
        f"{plain(row['_who'])}: {plain(label_in_words(task, str(row['label']), told))} "
        f"({number(row['ratio'], 1)} times as often as it is gold)"
        for row in top.head(MOST_NAMED).to_dict("records")
    ]
    judges = f"{whole(len(top))} of {whole(frame['_who'].nunique())} judges give"
    few = len(top) <= MOST_NAMED
    return (
        f"{judges if len(top) > 1 else judges.replace('give', 'gives')} a label too often, among labels that "
        f"are gold in at least {FEWEST_GOLD} units and after adjustment for the number of labels and judges"
        f"{': ' if few else f'; the {MOST_NAMED} largest ratios: '}{'; '.join(said)}."
    )


def _read_readings(result: Result, told: Names) -> str:
    """Who leaves most answers without a label, and what the lenient rule adds."""
    frame = result.frame
    rules = list(dict.fromkeys(frame["rule"].astype("string").fillna("").map(_rule)))
    last = frame[frame["rule"].astype("string").fillna("").map(_rule) == rules[-1]]
    counts = last.assign(ok=last["n"].where(last["status"].astype(str) == "ok", 0))
    shares = counts.groupby(["prompt", "judge"], sort=False, observed=True)[["ok", "n"]].sum()
    share = (shares["ok"] / shares["n"]).sort_values()
    (prompt, judge), least = share.index[0], float(share.iloc[0])
    text = (
        f"Fewest answers with a label: {plain(told.of('judge', judge))}, "
        f"{plain(told.of('prompts', prompt))}, {number(100 * least, 0)}%."
    )
    compared = result.extra.get("compared")
    if compared is None:
        return text
    n = compared.groupby(compared["status"].astype(str), sort=False)["n"].sum()
    lenient, strict, total = n.get("only_lenient", 0), n.get("only_strict", 0), n.sum()
    return (
        f"{text} Of {whole(total)} judgments {number(100 * lenient / total, 1)}% have a label by the lenient "
        f"rule only, {number(100 * strict / total, 1)}% by the strict rule only, and "
        f"{number(100 * n.get('different', 0) / total, 1)}% a different one."
    )


def _rule(name: str) -> str:
    return str(name).rpartition("/")[2]


def _read_lengths(result: Result, told: Names) -> str:
    """For each task, how many judges are right less often and more often on the longest items."""
    ends = result.extra["ends"]
    ends = ends[ends["metric"] == "accuracy"]
    tasks = panels_in_words(ends, ["task"], told)
    strata = [told.column(name).lower() for name in strata_of(result.settings, ends)]
    compared = f"comparisons of a judge within a {' and '.join(strata)}" if strata else "judges"
    said = []
    for task, own in ends.groupby(tasks, sort=False):
        stands = own["p_adjusted"] < float(result.settings.get("alpha", 0.05))
        less, more = (int((stands & side).sum()) for side in (own["estimate"] < 0, own["estimate"] > 0))
        text = (
            f"{plain(str(task)) + ': r' if task else 'R'}ight less often on the longest than on the shortest "
            f"items in {whole(less)} of {whole(len(own))} {compared}, more often in {whole(more)}, after "
            "adjustment for their number"
        )
        unknown = int(own["p_adjusted"].isna().sum())
        said.append(f"{text}; {whole(unknown)} cannot be computed." if unknown else f"{text}.")
    return " ".join(said)


def _read_robustness(result: Result, told: Names) -> str:
    first = str(result.frame["metric"].iloc[0])
    frame = result.frame[result.frame["metric"] == first].dropna(subset="estimate")
    differences = f"differences in {metric_in_words(first).lower()}"
    p = frame["p_adjusted"] if "p_adjusted" in frame else frame["p"]
    holds = frame[p < float(result.settings.get("alpha", 0.05))]
    if holds.empty:
        return f"None of {whole(len(frame))} {differences} stands out after adjustment for their number."
    return (
        f"{whole(len(holds))} of {whole(len(frame))} {differences} stand out after adjustment for their "
        f"number, {whole(int((holds['estimate'] < 0).sum()))} of them downwards."
    )


READINGS: dict[str, Callable[[Result, Names], str]] = {
    "by_label": _read_labels,
    "errors": _read_lengths,
    "passes": _read_passes,
    "readings": _read_readings,
    "robustness": _read_robustness,
    "scores": _read_scores,
}
