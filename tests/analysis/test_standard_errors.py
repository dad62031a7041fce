"""Every published standard error is that of the delete-one jackknife, or of a reference that is named.

Units (items, pairs, respondents) are of four or six kinds, each many times. Whichever unit of a kind is left
out, the estimate is the same, so that one of each kind is enough. The studies are so large that the jackknife
and linearised errors agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import isfunction, unwrap
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pandas as pd
import pytest
from public_names import public_modules
from shared_folder import REPOSITORY

from conjury import compare_pairs
from conjury.analysis import benchmark, conjoint, correction, instrument, raters
from conjury.analysis.checks.answers.missing_choices import missing_at_random
from conjury.analysis.checks.design.position_balance import marginal_homogeneity
from conjury.analysis.conjoint import amce, mm
from conjury.analysis.numerics.intervals import weighted_items
from conjury.analysis.raters.models import model_checks
from conjury.analysis.raters.validation import compare_runs, judge
from conjury.analysis.results import Result
from conjury.analysis.trial import performance

pytestmark = pytest.mark.filterwarnings("ignore:No standard error")
TIMES = (36, 27, 15, 24, 18, 30)  # units of each kind
LEVELS = {"tone": ("rude", "kind"), "price": ("5", "7", "9"), "place": ("edge", "centre", "beach")}
FORMULA = "chosen ~ tone + price + place"
CLASSES = ("calm", "angry", "odd")
WITHOUT = "without"  # column of the study without a unit of a kind, where one call estimates all
Frame = pd.DataFrame


def repeated(kinds: Frame, unit: str) -> Frame:
    """Units of each kind as often as `TIMES` has it, under names of their own, with a column ``kind``."""
    parts = [
        own.assign(**{unit: f"{name}_{k}"}, kind=name)
        for (name, own), times in zip(kinds.groupby(unit, sort=False), TIMES, strict=False)
        for k in range(times)
    ]
    return pd.concat(parts, ignore_index=True)


@cache
def labels() -> Frame:
    """Three answers of two judges to items with a gold label, some missing, with probabilities."""
    rng, gold = np.random.default_rng(3), np.array(["calm", "calm", "angry", "angry", "odd", "odd"], object)
    rows = []
    for name, right in (("gpt", 0.7), ("gemini", 0.5)):
        for sample in (1, 2, 3):
            value = np.where(rng.random(6) < right, gold, rng.choice(CLASSES, 6)).astype(object)
            value[rng.integers(6)] = None
            own = {"judge_id": name, "sample": sample, "value": value, "gold": gold}
            stated = rng.dirichlet([1, 1, 1], 6).T
            own |= {f"probability_{one}": part for one, part in zip(CLASSES, stated, strict=True)}
            rows.append(pd.DataFrame({"item_id": [f"i{k}" for k in range(6)], **own}))
    table = pd.concat(rows, ignore_index=True).assign(judge_kind="model", dimension="tone")
    return repeated(table.assign(status=np.where(table["value"].isna(), "refused", "ok")), "item_id")


def scored(table: Frame) -> Any:
    """The labels with their gold labels."""
    items = table.drop_duplicates("item_id")
    gold = items[["item_id"]].assign(label_set="tone", label=items["gold"])
    more = items[["item_id", *items.columns.intersection([WITHOUT, "place"])]]
    judged = table.drop(columns=["gold", WITHOUT, "place"], errors="ignore")
    return benchmark.score(judged, gold, classes=list(CLASSES), items=more)


def first_sample() -> Frame:
    return labels().query("sample == 1")


def placed() -> Frame:
    """The first sample of items of two places."""
    return first_sample().assign(place=lambda table: np.where(table["kind"].isin(["i1", "i3"]), "in", "out"))


def perturbed() -> Frame:
    """The first two samples as answers to items as they were, and to copies of them."""
    table = labels().query("sample < 3")
    copied = table["sample"].eq(2)
    return table.assign(
        base_item_id=table["item_id"],
        condition=np.where(copied, "typos", "none"),
        item_id=table["item_id"].where(~copied, table["item_id"] + "x"),
        sample=1,
    )


@cache
def ratings() -> Frame:
    """Ratings of two dimensions by three people and two models."""
    rng = np.random.default_rng(5)
    quality, rows = np.array([1.2, 4.4, 2.6, 3.1, 3.9, 2.0]), []
    for dimension, noise in (("fun", 0.6), ("wit", 1.0)):
        for name in ("ann", "bob", "eva", "gpt", "gemini"):
            value = np.clip(np.round(quality + noise * rng.normal(size=6)), 1, 5)
            kind = "model" if name.startswith("g") else "human"
            own = {"judge_id": name, "judge_kind": kind, "dimension": dimension, "value": value}
            rows.append(pd.DataFrame({"item_id": [f"i{k}" for k in range(6)], **own, "status": "ok"}))
    table = pd.concat(rows, ignore_index=True)
    place = table["item_id"].str[1].astype(int)
    author = np.array(["human", "gpt", "human", "gemini", "human", "gpt"])[place]
    table = table.assign(author=author, related=~place.isin([0, 5]))
    return repeated(table, "item_id")


def ragged() -> Frame:
    """The ratings, two of them missing."""
    table = ratings()
    lost = table["kind"].isin(["i1", "i4"]) & table["judge_id"].isin(["ann", "gpt"])
    return table.assign(
        value=table["value"].mask(lost), status=np.where(lost, "refused", table["status"])
    ).drop(columns=["author", "related"])


@cache
def tiers() -> Frame:
    """Ratings of the three tiers of each topic."""
    rng = np.random.default_rng(8)
    keys = [(f"t{k}", tier, name) for k in range(4) for tier in range(3) for name in ("ann", "bob", "gpt")]
    table = pd.DataFrame(keys, columns=["topic", "tier", "judge_id"])
    value = np.clip(np.round(4 - table["tier"] + rng.normal(0, 1.2, len(table))), 1, 5)
    kind = np.where(table["judge_id"] == "gpt", "model", "human")
    table = repeated(table.assign(value=value, judge_kind=kind), "topic")
    return table.assign(item_id=table["topic"] + table["tier"].astype(str))


@cache
def verdicts() -> Frame:
    """Labels by two runs of a judge and by three people, one row per item; and ratings by the same."""
    rng, gold = np.random.default_rng(7), np.array(["no", "maybe", "yes", "no"], object)
    table = pd.DataFrame({"item": [f"v{k}" for k in range(4)], "group": list("abab")})
    quality = rng.normal(size=4)
    for name, right in (("judge", 0.5), ("other", 0.6), ("ann", 0.9), ("bob", 0.8), ("eva", 0.7)):
        table[name] = np.where(rng.random(4) < right, gold, rng.choice(["no", "maybe", "yes"], 4))
        table[f"{name}_rating"] = quality + rng.normal(size=4)
    return repeated(table, "item")


@cache
def choices() -> Frame:
    """Four respondents, of nine choices each, who like kind tones, low prices and beaches."""
    rng, rows = np.random.default_rng(11), []
    for name in range(4):
        for task in range(9):
            shown = {one: rng.choice(own, 2) for one, own in LEVELS.items()}
            worth = (shown["tone"] == "kind") + 0.5 * (shown["place"] == "beach")
            worth = worth - 0.4 * (shown["price"] == "9") + rng.gumbel(size=2)
            for k in (0, 1):
                levels = [own[k] for own in shown.values()]
                rows.append((f"r{name}", task, "AB"[k], *levels, float(worth[k] > worth[1 - k])))
    table = pd.DataFrame(rows, columns=["judge_id", "task", "position", *LEVELS, "chosen"])
    return coded(repeated(table, "judge_id"))


def coded(table: Frame) -> Frame:
    """Choices with categories, pairs and profiles."""
    typed = {name: pd.Categorical(table[name], levels) for name, levels in LEVELS.items()}
    return table.assign(
        **typed,
        judge_kind="human",
        pair_id=table["judge_id"] + "_" + table["task"].astype(str),
        profile_id=table["judge_id"] + table[list(LEVELS)].agg("-".join, axis=1),
        wave=np.where(table["task"] % 2, "second", "first"),
    )


def with_missing() -> Frame:
    """The choices, two of them missing."""
    table = choices()
    lost = table["task"].eq(2) & table["kind"].isin(["r1", "r3"])
    return table.assign(chosen=table["chosen"].mask(lost))


def with_ties() -> Frame:
    """The choices, one in six a tie."""
    table = choices()
    return table.assign(chosen=table["chosen"].mask(table["task"].eq(1), 0.5))


@cache
def crossed() -> Frame:
    """Choices of a model, each pair in both orders under two prompts, twice."""
    rng, rows = np.random.default_rng(13), []
    tones, lengths = rng.integers(0, 2, (2, 6, 2))
    tones[:4] = [[0, 1], [1, 0], [0, 1], [1, 1]]
    lengths[:4] = [[0, 1], [0, 0], [1, 0], [1, 0]]
    for pair in range(6):
        for prompt in ("plain", "long"):
            for order in ("given", "swapped"):
                for sample in (0, 1):
                    shown = [0, 1] if order == "given" else [1, 0]
                    worth = tones[pair, shown] + np.array([0.5, 0.0])
                    first = rng.random() < 1 / (1 + np.exp(worth[1] - worth[0]))
                    for side, k in enumerate(shown):
                        tone, length = ("rude", "kind")[tones[pair, k]], ("short", "long")[lengths[pair, k]]
                        chosen = int(first) if side == 0 else 1 - int(first)
                        rows.append((f"p{pair}", prompt, order, sample, "AB"[side], k, tone, length, chosen))
    names = "pair_id prompt_id option_order sample position profile_id tone length chosen"
    table = repeated(pd.DataFrame(rows, columns=names.split()), "pair_id")
    table = table.assign(profile_id=table["pair_id"] + table["profile_id"].astype(str))
    return table.assign(judge_id="gpt", judge_kind="model")


@cache
def paired(systems: str) -> Frame:
    """Verdicts with ties on all pairs of systems in both orders; people's, and lengths."""
    rng, rows = np.random.default_rng(19), []
    for prompt in range(3):
        size = dict(zip(systems, rng.integers(40, 400, len(systems)), strict=True))
        for pair in combinations(systems, 2):
            human = rng.choice([*pair, "tie"], p=[0.4, 0.3, 0.3])
            for first, second in (pair, pair[::-1]):
                names = [first, second, rng.choice([first, second, "tie"], p=[0.5, 0.25, 0.25]), human]
                rows.append((f"q{prompt}", *names, size[first], size[second]))
    names = "question_id model_a model_b winner human length_a length_b"
    return repeated(pd.DataFrame(rows, columns=names.split()), "question_id")


def of_pairs(ties: str) -> Callable[[Frame, int], Frame]:
    """All but differences of strengths, which are of the better system minus the worse."""

    def call(table: Frame, _: int) -> Frame:
        frame = compare_pairs(table, ties=ties).frame.sort_values("name")
        return frame[~frame["measure"].isin(["rank", "strength_difference"])]

    return call


@cache
def occasions() -> Frame:
    """Ratings of items on two occasions, twice each, some items on one occasion only."""
    rng, rows = np.random.default_rng(17), []
    for k in range(6):
        for occasion in ("june", "july"):
            if (k, occasion) in ((2, "july"), (5, "june")):
                continue
            rows += [(f"i{k}", sample, occasion, float(rng.integers(1, 6))) for sample in (0, 1)]
    table = pd.DataFrame(rows, columns=["item_id", "sample", "occasion", "value"])
    place = table["item_id"].str[1].astype(int)
    people, words = np.array([2, 3, 2, 3, 2, 3])[place], np.array([40, 25, 15, 30, 20, 45])[place]
    author = np.array(["m", "m", "n", "n", "n", "m"])[place]
    table = table.assign(people=people, words=words, author=author, judge_id="m", judge_kind="model")
    return repeated(table, "item_id")


def in_june() -> Frame:
    """Each item as on the first of its occasions."""
    return occasions().drop_duplicates(["item_id", "sample"]).drop(columns="occasion")


@cache
def labelled(classes: str = "aaabbb") -> Frame:
    """Units with a judge's label, a part of which people labelled at random."""
    known = {"aaabbb": ("aabbaa---", "abbabbabb"), "three": ("aabbcc---", "abbacbabc")}[classes]
    human, judged = (list(one) for one in known)
    times = {
        "aaabbb": (60, 18, 36, 12, 24, 18, 144, 108, 144),
        "three": (60, 18, 36, 12, 30, 15, 180, 135, 75),
    }[classes]
    rows = [
        {"unit": f"u{k}_{n}", "kind": k, "label": None if one == "-" else one, "judged": judged[k]}
        for k, one in enumerate(human)
        for n in range(times[k])
    ]
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Published:
    """Standard errors: of which functions, data and units, and the call; draws are 0 for none.

    With ``at_once``, groups of the column ``without`` are estimated by one call. Errors differ by less than
    the share ``within``; it is larger for the slopes of logistic regressions, which are skewed.
    """

    functions: str
    part: str
    data: Callable[[], Frame]
    unit: str
    call: Callable[[Frame, int], Frame]
    at_once: bool = False
    within: float = 0.025


def grouped(table: Frame) -> dict[str, Any]:
    return {"by": [WITHOUT]} if WITHOUT in table else {}


def renamed(table: Frame, *names: str) -> Frame:
    """Columns of an estimate and its standard error under the usual names."""
    return table[list(names)].set_axis(["estimate", "std_error"], axis=1)


def of_labels(table: Frame, draws: int) -> Frame:
    found = benchmark.by_label(scored(table), draws=draws, **grouped(table)).frame
    keys = found[[WITHOUT]] if WITHOUT in found else found[[]]
    parts = [
        keys.assign(estimate=found[name], std_error=found.get(f"{name}_std_error", np.nan))
        for name in ("precision", "recall", "f1", "ratio")
    ]
    return pd.concat(parts, ignore_index=True)


def of_calibration(table: Frame, draws: int) -> Frame:
    found = benchmark.calibration(scored(table), draws=draws, **grouped(table)).frame
    names = ["calibration_intercept", "calibration_slope", "calibration_in_the_large", "brier"]
    return found[found["metric"].isin(names)]  # others have bins, or no slope where half of the events happen


METRICS = ["accuracy", "balanced_accuracy", "macro_f1", "mcc", "recall_calm", "precision_odd", "f1_angry"]


def of_answers(estimator: Callable[..., Result], **options: Any) -> Callable[[Frame, int], Frame]:
    """A table of labels by an estimator that groups them."""
    return lambda table, draws: estimator(scored(table), draws=draws, **grouped(table), **options).frame


def of_scores(table: Frame, draws: int, **options: Any) -> Frame:
    made = benchmark.scores(
        scored(table), metrics=METRICS, missing=["wrong"], draws=draws, **grouped(table), **options
    ).frame
    return made[made["judge_kind"] == "model"]


def of_ratings(estimator: Callable[..., Result], **options: Any) -> Callable[[Frame, int], Frame]:
    """A table of ratings by an estimator that groups items."""

    def call(table: Frame, draws: int) -> Frame:
        extra = table.columns.intersection(["author", "related", WITHOUT])
        items = table.drop_duplicates("item_id")[["item_id", *extra]]
        return estimator(table.drop(columns=extra), items, draws=draws, **grouped(table), **options).frame

    return call


def of_biases(table: Frame, draws: int) -> Frame:
    given = {"generator": "author", "unrelated": ("related", "False"), "dimensions": "fun"}
    table = table.assign(related=table["related"].astype(str))
    found = of_ratings(raters.biases, **given)(table, draws)
    return found[found["bias"] != "self_preference"]  # which needs items of many qualities


def of_tiers(table: Frame, draws: int) -> Frame:
    items = table.drop_duplicates("item_id")[["item_id", "topic", "tier"]].astype({"tier": str})
    options: dict[str, Any] = {"levels": ["0", "1", "2"], "column": "tier", "within": "topic"}
    found = raters.tier_accuracy(table.drop(columns=["topic", "tier"]), items, draws=draws, **options).frame
    return found[found["judge"] != "one person"]  # whose ratings are drawn again without a topic


def of_judge(suffix: str) -> Callable[[Frame, int], Frame]:
    names = {f"{name}{suffix}": name for name in ("judge", "ann", "bob", "eva")}

    def call(table: Frame, _: int) -> Frame:
        shown = table[[*names, "group"]].rename(columns=names).reset_index(drop=True)
        return judge(shown, "judge", ["ann", "bob", "eva"], by="group").frame

    return call


def of_runs(suffix: str) -> Callable[[Frame, int], Frame]:
    names = {f"{name}{suffix}": name for name in ("judge", "ann", "bob", "eva")}

    def call(table: Frame, _: int) -> Frame:
        first = table[[*names, "group"]].rename(columns=names).reset_index(drop=True)
        second = first.assign(judge=table[f"other{suffix}"].to_numpy())
        return compare_runs(first, second, "judge", ["ann", "bob", "eva"], by="group").frame

    return call


def of_choices(call: Callable[..., Result | Frame], **options: Any) -> Callable[[Frame, int], Frame]:
    """A table of choices by an estimator, or by a function of a fit."""

    def made(table: Frame, draws: int) -> Frame:
        more = {name: draws if value == "draws" else value for name, value in options.items()}
        found = call(table, **more)
        return found if isinstance(found, pd.DataFrame) else found.frame

    return made


def stacked(*tables: Frame) -> Frame:
    """The numbers of several tables in one, with the column of the unit that is left out."""
    names = ["estimate", "std_error", *({WITHOUT} & set(tables[0]))]
    return pd.concat([one[names] for one in tables], ignore_index=True)


def of_instrument(*parts: str, **options: Any) -> Callable[[Frame, int], Frame]:
    """Tables of an analysis of judges, each study by a judge of its own: ``frame`` and others by name."""
    estimator = options.pop("estimator")

    def call(table: Frame, _: int) -> Frame:
        if WITHOUT in table:
            table = table.assign(judge_id=table[WITHOUT]).drop(columns=WITHOUT)
        made = estimator(table, **options)
        tables = [made.frame, *(made.extra[name] for name in parts)]
        tables = [
            one.rename(columns={"mean": "estimate"}).assign(**{WITHOUT: one["judge"]}) for one in tables
        ]
        return stacked(*tables)

    return call


def of_rates(table: Frame, _: int) -> Frame:
    found = correction.rates(table, by=[WITHOUT] if WITHOUT in table else [])
    return stacked(found.frame, found.extra["informedness"])


def of_fit(table: Frame, _: int) -> Frame:
    fit, means = amce(table, **BY_PERSON), mm(table, **BY_PERSON)
    important, offset = conjoint.importance(fit).frame, conjoint.substitution(fit, "price", PRICES)
    return stacked(
        conjoint.contrast(fit, "price").frame,
        conjoint.contrast(means, "place").frame,
        important,
        renamed(important, "range", "range_std_error"),
        offset.frame,
        offset.extra["slope"],
        conjoint.wild(fit, draws=99, seed=1).frame,
    )


def of_bootstrap(table: Frame, draws: int) -> Frame:
    fit = amce(table, **BY_PERSON)
    if draws:
        fit = conjoint.bootstrap(amce, table, FORMULA, unit="judge_id", draws=draws, seed=1)
    return stacked(fit.frame, conjoint.importance(fit).frame)


def of_shares(table: Frame, _: int) -> Frame:
    found = conjoint.choice_shares(table, profiles=PROFILES, **BY_PERSON)
    return stacked(found.frame, found.extra["pairs"])


def of_bounds(table: Frame, _: int) -> Frame:
    found = conjoint.bounds(amce, table, **BY_PERSON).frame
    ends = [renamed(found, f"bound_{end}", f"bound_{end}_error") for end in ("lower", "upper")]
    return stacked(found, *ends)


def of_ties(table: Frame, _: int) -> Frame:
    found = conjoint.choice_level(table, "chosen ~ place", id="judge_id").extra["tasks"]
    return renamed(found, "ties", "std_error")


def by_respondent(table: Frame, _: int) -> Frame:
    found = conjoint.errors_under_choices(table, FORMULA, pair="judge_id", stimuli=[], draws=9, seed=1).frame
    return found[found["clusters"] == "judge_id"]


PROFILES = {
    "A": {"tone": "kind", "price": "9", "place": "edge"},
    "B": {"tone": "rude", "price": "5", "place": "beach"},
    "C": {"tone": "kind", "price": "7", "place": "centre"},
}
TARGET = {"tone": {"kind": 0.7, "rude": 0.3}, "place": {"edge": 0.5, "centre": 0.3, "beach": 0.2}}
DESIGN = {name: dict.fromkeys(levels, 1 / len(levels)) for name, levels in LEVELS.items()}
PRICES = {"5": 5, "7": 7, "9": 9}
ON_TARGET: dict[str, Any] = {"formula": FORMULA, "target": TARGET, "id": "judge_id", "design": DESIGN}
BY_PERSON: dict[str, Any] = {"formula": FORMULA, "id": "judge_id"}
TONES = "chosen ~ tone + length"
BY_ITEM, BY_PAIR, BY_JUDGE = "item_id", "pair_id", "judge_id"

DRAWN = 0.06  # of 1,000 draws, or without the factor G / (G - 1)
TABLE = [
    Published("benchmark.scores", "by metric", first_sample, BY_ITEM, of_scores, True, DRAWN),
    Published("benchmark.scores", "bootstrap", first_sample, BY_ITEM,
              lambda t, n: of_scores(t, n, interval="bootstrap"), True, DRAWN),
    Published("benchmark.differences", "", first_sample, BY_ITEM,
              of_answers(benchmark.differences, metrics=METRICS, tests=["bootstrap", "mcnemar exact"]),
              True, DRAWN),
    Published("benchmark.score_gaps", "", placed, BY_ITEM,
              of_answers(benchmark.score_gaps, between="place", metrics=METRICS[:2]), True, DRAWN),
    Published("benchmark.by_label", "", first_sample, BY_ITEM, of_labels, True, DRAWN),
    Published("benchmark.passes", "", labels, BY_ITEM, of_answers(benchmark.passes), True, DRAWN),
    Published("benchmark.robustness", "", perturbed, "base_item_id",
              of_answers(benchmark.robustness, metrics=METRICS[:4]), True, DRAWN),
    Published("benchmark.bounds", "", first_sample, BY_ITEM,
              of_answers(benchmark.bounds, missing="missing"), True, DRAWN),
    Published("benchmark.probabilities", "", first_sample, BY_ITEM,
              of_answers(benchmark.probabilities), True, DRAWN),
    Published("benchmark.mixed_logit", "", labels, BY_ITEM,
              lambda t, _: benchmark.mixed_logit(scored(t), **grouped(t)).frame, True, DRAWN),
    Published("benchmark.calibration", "", first_sample, BY_ITEM, of_calibration, True, 0.15),
    Published("raters.means", "", ratings, BY_ITEM, of_ratings(raters.means), True, DRAWN),
    Published("raters.bounds", "", ragged, BY_ITEM,
              of_ratings(raters.bounds, scale=range(1, 6)), True, DRAWN),
    Published("raters.correlations", "", ratings, BY_ITEM, of_ratings(raters.correlations), True, 0.1),
    Published("raters.dimension_correlations", "", ratings, BY_ITEM,
              of_ratings(raters.dimension_correlations), True, 0.1),
    Published("raters.rating_lines", "", ratings, BY_ITEM, of_ratings(raters.rating_lines), True, DRAWN),
    Published("raters.biases", "", ratings, BY_ITEM, of_biases, within=0.1),
    Published("raters.tier_accuracy", "", tiers, "topic", of_tiers, within=0.08),
    Published("raters.judge", "labels", verdicts, "item", of_judge(""), within=DRAWN),
    Published("raters.judge", "ratings", verdicts, "item", of_judge("_rating"), within=0.08),
    Published("raters.compare_runs", "labels", verdicts, "item", of_runs(""), within=DRAWN),
    Published("raters.compare_runs", "ratings", verdicts, "item", of_runs("_rating"), within=DRAWN),
    Published("instrument.order_effects", "", crossed, BY_PAIR,
              of_instrument("effects", estimator=instrument.order_effects, formula=TONES), True),
    Published("instrument.flips", "", crossed, BY_PAIR, of_instrument(estimator=instrument.flips), True),
    Published("instrument.specifications", "", crossed, BY_PAIR,
              of_instrument("summary", estimator=instrument.specifications, formula=TONES, draws=100), True),
    Published("instrument.drift", "", occasions, BY_ITEM, of_instrument(estimator=instrument.drift), True),
    Published("instrument.preferences_beyond_quality", "", in_june, BY_ITEM,
              of_instrument(estimator=instrument.preferences_beyond_quality, attribute="words",
                            human="people"), True),
    Published("instrument.self_preference", "", in_june, BY_ITEM,
              of_choices(instrument.self_preference, author="author", human="people")),
    *(
        Published("instrument.compare_pairs", f"{names}, {ties}", lambda names=names: paired(names),
                  "question_id", of_pairs(ties), within=0.04)
        for names, ties in (("xy", "half"), ("xyz", "modelled"))
    ),
    Published("correction.rates", "two classes", labelled, "unit", of_rates, True, DRAWN),
    Published("correction.rates", "three classes", lambda: labelled("three"), "unit", of_rates, True, DRAWN),
    Published("conjoint.conditional_amce", "", choices, BY_JUDGE,
              of_choices(conjoint.conditional_amce, feature="price", given="tone", **BY_PERSON)),
    Published("conjoint.mm_diffs", "", choices, BY_JUDGE,
              of_choices(conjoint.mm_diffs, by="wave", **BY_PERSON)),
    Published("conjoint.interaction", "amie", choices, BY_JUDGE,
              of_choices(conjoint.interaction, first="tone", second="price", kind="amie",
                         distribution="uniform", **BY_PERSON)),
    Published("conjoint.contrast conjoint.importance conjoint.substitution conjoint.wild", "",
              choices, BY_JUDGE, of_fit),
    Published("conjoint.bootstrap conjoint.importance", "", choices, BY_JUDGE, of_bootstrap, within=0.08),
    Published("conjoint.choice_level", "ties", with_ties, BY_JUDGE, of_ties),
    Published("conjoint.choice_shares", "logit", choices, BY_JUDGE, of_shares),
    Published("conjoint.choice_shares", "average", choices, BY_JUDGE,
              of_choices(conjoint.choice_shares, profiles=PROFILES, rule="average", **BY_PERSON)),
    Published("conjoint.pamce", "", choices, BY_JUDGE, of_choices(conjoint.pamce, **ON_TARGET)),
    Published("conjoint.pmm", "", choices, BY_JUDGE, of_choices(conjoint.pmm, **ON_TARGET)),
    Published("conjoint.target_sensitivity", "", choices, BY_JUDGE,
              of_choices(conjoint.target_sensitivity, **ON_TARGET)),
    Published("conjoint.bounds", "", with_missing, BY_JUDGE, of_bounds),
    Published("conjoint.errors_under_choices", "", choices, BY_JUDGE, by_respondent),
]  # fmt: skip


def jackknife(published: Published) -> np.ndarray:
    """Standard errors by leaving out one unit of each kind, counted as often as the kind occurs."""
    frame, unit = published.data(), published.unit
    units = frame.drop_duplicates(unit)
    first, times = units.drop_duplicates("kind"), units["kind"].value_counts(sort=False).to_numpy(float)
    rest = [frame[frame[unit] != one].drop(columns="kind") for one in first[unit]]
    if published.at_once:
        names = frame.columns.intersection(["item_id", unit])
        parts = [one.assign(**{WITHOUT: f"w{k}"}, **(one[names] + f"w{k}")) for k, one in enumerate(rest)]
        together = published.call(pd.concat(parts, ignore_index=True), 0)
        found = [together.loc[together[WITHOUT] == f"w{k}", "estimate"] for k in range(len(rest))]
    else:
        found = [published.call(one, 0)["estimate"] for one in rest]
    estimates, n = np.array(found, dtype=float), times.sum()
    centred = estimates - times @ estimates / n
    return np.asarray(np.sqrt((n - 1) / n * (times @ centred**2)))


ABOVE_A_SECOND = ("instrument.order_effects", "benchmark.calibration")  # on a busy processor


@pytest.mark.parametrize(
    "published",
    [pytest.param(one, marks=pytest.mark.long if one.functions in ABOVE_A_SECOND else ()) for one in TABLE],
    ids=lambda one: f"{one.functions}-{one.part}".rstrip("-"),
)
def test_standard_errors_are_those_of_the_jackknife(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = published.call(published.data().drop(columns="kind"), 1000)["std_error"].to_numpy(float)
    monkeypatch.setattr(weighted_items, "LEAST", 2)  # intervals and p without a unit do not count
    monkeypatch.setattr(weighted_items, "DRAWN", 0)
    monkeypatch.setattr(import_module(raters.tier_accuracy.__module__), "SHUFFLES", 9)
    expected = jackknife(published)
    compared = np.isfinite(found) & (expected > 1e-9)
    assert compared.any()
    np.testing.assert_allclose(found[compared] / expected[compared], 1, atol=published.within)


GOLDEN = "conjoint/test_golden.py::test_native_engine_gives_the_numbers_of_cregg"
REFERENCES = {  # tests of standard errors that stand elsewhere, against other programs, tables or a jackknife
    "benchmark.mixed_logit": "benchmark/test_mixed_logit.py::test_fit_is_that_of_glmer_with_25_nodes",
    "conjoint.adjust": "conjoint/comparisons/test_multiplicity.py::"
    "test_scores_and_draws_have_the_covariance_of_the_estimates",
    "conjoint.afcp": "conjoint/preferences/test_afcp.py::test_afcps_equal_those_of_afcp_in_both_directions",
    "conjoint.amce": GOLDEN,
    "conjoint.amce_by_reference": "conjoint/comparisons/test_contrast.py::"
    "test_every_contrast_equals_the_amce_with_that_reference",
    "conjoint.amce_diffs": GOLDEN,
    "conjoint.choice_level": "conjoint/preferences/test_choice_level.py::test_means_equal_those_of_projoint",
    "conjoint.cj": GOLDEN,
    "conjoint.equivalence": "conjoint/comparisons/test_multiplicity.py::"
    "test_both_one_sided_tests_equal_those_of_scipy",
    "conjoint.interaction": "conjoint/comparisons/test_interaction.py::"
    "test_effects_against_baselines_equal_those_of_club_sandwich",
    "conjoint.mixed": "conjoint/standard_errors/test_mixed.py::"
    "test_estimates_and_variances_equal_those_of_lme4",
    "conjoint.mm": GOLDEN,
    "conjoint.people_diffs": "conjoint/test_people.py::"
    "test_shared_pairs_give_the_errors_of_scores_summed_by_respondent_and_by_pair",
    "conjoint.power": "conjoint/power/test_power_restricted.py::"
    "test_the_variance_is_the_sandwich_of_all_pairs",
    "conjoint.power_by_simulation": "conjoint/power/test_power_simulation.py::"
    "test_monte_carlo_errors_are_those_of_the_draws",
    "conjoint.preference_cycles": "conjoint/preferences/test_afcp.py::"
    "test_direct_and_indirect_preferences_and_their_tests_equal_those_of_afcp",
    "conjoint.projoint": "conjoint/reliability/test_correction.py::"
    "test_projoints_conventions_are_those_of_its_formulas",
    "conjoint.reliability": "conjoint/reliability/test_reliability.py::"
    "test_both_kinds_of_repeats_weigh_the_same_from_thirty_of_each_on",
    "conjoint.sequential": "conjoint/standard_errors/test_sequential.py::"
    "test_each_look_has_the_estimates_of_the_clusters_so_far",
    "correction.label_plan": "correction/test_label_plan.py::"
    "test_the_loss_by_tuning_is_that_of_simulated_weights",
    "raters.agreement": "raters/test_agreement_references.py::test_coefficients_are_those_of_gwets_example",
    "raters.alt_test": "raters/test_alt_test.py::test_clusters_of_items_widen_errors_as_a_sandwich_does",
    "raters.prediction_powered": "correction/test_items.py::test_means_with_weight_one_are_those_of_ppi_py",
    "raters.combine_judges": "raters/test_several_judges.py::"
    "test_levels_are_those_of_calibrated_judgments_of_several_models",
    "raters.compare_rater_models": "raters/models/test_ordinal_model.py::"
    "test_models_are_compared_with_the_best_by_the_spread_of_their_differences_within_items",
    "raters.compare_systems": "raters/test_systems.py::"
    "test_levels_and_differences_are_those_of_means_corrected_by_a_model",
    "raters.rating_gaps": "raters/descriptive/test_descriptive_tables.py::"
    "test_gaps_of_means_are_paired_where_topics_have_both_levels",
    "raters.sequential": "raters/test_sequential.py::"
    "test_means_at_a_look_are_those_of_its_items_with_the_limits_of_the_boundary",
    "trial.performance": "numerics/test_performance.py::"
    "test_measures_and_their_errors_are_those_computed_by_hand",
    **dict.fromkeys(
        ("conjoint.choice_model", "raters.dimension_model", "raters.label_model", "raters.rater_model"),
        "test_standard_errors.py::test_errors_of_posteriors_are_the_standard_deviations_of_draws",
    ),
    "raters.alt_test_power": "test_standard_errors.py::test_errors_of_simulated_shares_are_binomial",
}
NONE = {  # results without a standard error
    "audit": {"check_table", "check_tables", "compare_harm", "compare_multiturn", "published_protocol",
              "shipped_checks"},
    "benchmark": {"confusion", "readings"},
    "checks": {"summary"},
    "conjoint": {"cj_anova", "cj_freqs", "cj_props", "cj_table", "share_preferring", "wald"},
    "instrument": {"decision_study", "determinism", "variance_components"},
    "raters": {"automate", "coverage", "distributions", "epsilon_curve"},
    "trial": {"passport", "run_trial"},
}  # fmt: skip


def estimators() -> Iterator[str]:
    """Public functions that return a result, as room and name."""
    names = [name for name in public_modules() if name.startswith("conjury.analysis.")]
    modules = [import_module(name) for name in names]
    functions = [unwrap(getattr(one, name)) for one in modules for name in one.__all__]
    kinds, new = {"Result", "Fit"}, [Result]
    while new:
        new = [one for kind in new for one in kind.__subclasses__()]
        kinds |= {one.__name__ for one in new}
    for one in functions:
        if isfunction(one) and (one.__annotations__.get("return") in kinds or one is performance):
            yield f"{one.__module__.split('.')[2]}.{one.__name__}"


def test_every_result_with_standard_errors_stands_in_the_table_or_has_a_reference() -> None:
    tested, known = {name for one in TABLE for name in one.functions.split()}, set(REFERENCES)
    without = {f"{room}.{name}" for room, names in NONE.items() for name in names}
    assert set(estimators()) == tested | known | without
    assert not without & (tested | known)
    for place in REFERENCES.values():
        path, name = place.split("::")
        text = (REPOSITORY / "tests/analysis" / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), place


def test_errors_of_posteriors_are_the_standard_deviations_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(1).normal(size=(2, 30, 3)) * [1, 2, 3]
    monkeypatch.setattr(model_checks, "convergence", lambda values: pd.DataFrame())
    found = model_checks.posterior_table(pd.DataFrame({"quantity": list("abc")}), draws)
    for name, own in zip("abc", draws.reshape(60, 3).T.tolist(), strict=True):
        row = found.set_index("quantity").loc[name]
        assert (row["estimate"], row["std_error"]) == pytest.approx((fmean(own), stdev(own)))


def test_errors_of_simulated_shares_are_binomial() -> None:
    found = raters.alt_test_power(instances=[30], simulations=50, margin=False).frame.iloc[0]
    passed = round(50 * found["pass_rate"])
    assert 0 < passed < 50
    assert found["std_error"] == pytest.approx((passed * (50 - passed) / 50**3) ** 0.5)


def test_errors_of_checks_are_the_spread_of_their_differences_under_the_hypothesis() -> None:
    """Sides exchanged at random, and as many answers missing of random pairs."""
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 3, 400), rng.choice(3, 400, p=[0.5, 0.3, 0.2])
    found = marginal_homogeneity(first, second, 3)
    turned = rng.random((4_000, 400)) < 0.5
    sides = np.where(turned, second, first), np.where(turned, first, second)
    for level in range(3):
        a, b = ((side == level).mean(axis=1) for side in sides)
        shares = np.array([(first == level).mean(), (second == level).mean()])
        scale = np.sqrt((shares * (1 - shares)).mean())
        assert found.std_error[level] == pytest.approx((a - b).std() / scale, rel=0.05)
    covariates, flag = rng.poisson(1.5, (400, 2)).astype(float), np.arange(400) < 90
    missing = missing_at_random(flag, covariates, np.zeros(400, dtype=int), rng)
    centred = covariates - covariates.mean(axis=0)
    drawn = np.array([centred[rng.permutation(flag)].sum(axis=0) for _ in range(4_000)])
    assert np.sqrt(missing.variance) == pytest.approx(drawn.std(axis=0), rel=0.05)
