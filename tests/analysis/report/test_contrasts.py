"""Two studies whose numbers contrast, from judgments to sentences, which are computed here by other code.

Judges are ahead, behind and neither, the best is not the first, sizes and shares of answers are unequal, and
one class is absent.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.results import write_items
from scipy import stats
from snapshots import shown
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis import benchmark, raters
from conjury.analysis.benchmark.cards import length_effects
from conjury.analysis.frames.passport import Situation, coverage_notes
from conjury.analysis.report import Report
from conjury.analysis.report.exhibits import EXHIBITS
from conjury.analysis.results import Result

pytestmark = pytest.mark.long

GOLD = ["calm"] * 30 + ["angry"] * 18 + ["odd"] * 12
CLASSES = ("calm", "angry", "odd", "mixed")  # the last is never gold
RIGHT = {"middling": (16, 10, 6), "strong": (26, 16, 9), "weak": (6, 4, 1), "silent": (6, 3, 1)}
NAMES: dict[Any, str] = {
    f"{name}_model": f"{name.capitalize()} model" for name in (*RIGHT, "ahead", "level", "behind", "brief")
}
WORDS: dict[str, Any] = {
    "judges": NAMES | {"human": "People"},
    "prompts": {"plain": "Plain"},
    "levels": {"dimension": {"fun": "Overall fun", "wit": "Wit", "clear": "Clarity"}},
}


def report_of(folder: Path, results: dict[str, Result], *kinds: str) -> str:
    """What the report of these results prints."""
    report = Report(write_items(folder, results, labels=WORDS))
    printed = shown(report, *(kinds or [one.kind for one in results.values()]))
    return printed.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")


@cache
def answers() -> pd.DataFrame:
    """Labels of four judges, one of them asked about fewer items and one that mostly refuses."""
    rows = []
    for name, counts in RIGHT.items():
        left = dict(zip(CLASSES, counts, strict=False))
        for place, gold in enumerate(GOLD):
            right = left[gold] > 0
            left[gold] -= right
            wrong = "odd" if name == "weak" and gold != "odd" else CLASSES[CLASSES.index(gold) - 1]
            value: str | None = gold if right else wrong
            status = "ok"
            if not right and (name == "silent" or (name == "middling" and place % 20 == 19)):
                value, status = None, "refused" if place % 3 else "empty"
            if name != "strong" or place >= 4:
                rows.append((f"{name}_model", f"j{place:02d}", value, status, gold))
    table = pd.DataFrame(rows, columns=["judge_id", "item_id", "value", "status", "gold"])
    return table.assign(judge_kind="model", dimension="tone", prompt_id="plain", rule="label/strict@1")


@cache
def scored() -> benchmark.Scored:
    gold = pd.DataFrame({"item_id": [f"j{k:02d}" for k in range(60)], "label_set": "tone", "label": GOLD})
    return benchmark.score(answers().drop(columns="gold"), gold, classes=list(CLASSES))


def against_most_frequent(own: pd.DataFrame) -> tuple[float, float]:
    """Bonett and Price's interval of the accuracy of answers minus that of always "calm"."""
    right, other, n = own["value"].eq(own["gold"]), own["gold"].eq("calm"), len(own) + 2
    more, less = ((right & ~other).sum() + 1) / n, ((other & ~right).sum() + 1) / n
    half = stats.norm.ppf(0.975) * np.sqrt((more + less - (more - less) ** 2) / n)
    return more - less - half, more - less + half


def test_scores_name_the_best_judge_and_count_those_below_and_above_the_most_frequent_label(
    tmp_path: Path,
) -> None:
    found = benchmark.scores(scored(), metrics=["accuracy", "macro_f1", "missing_rate"], draws=50)
    text = report_of(tmp_path, {"scores": found})
    shares, limits = {}, []
    for name, own in answers().groupby("judge_id", sort=False):
        shares[name] = own["value"].eq(own["gold"]).agg(["sum", "size"])
        limits.append(against_most_frequent(own))
    best = max(shares, key=lambda name: shares[name]["sum"] / shares[name]["size"])
    low, high = proportion_confint(*shares[best], method="wilson")
    below, above = sum(b < 0 for _, b in limits), sum(a > 0 for a, _ in limits)
    assert (best, below, above) == ("strong_model", 2, 1)
    cell = f"{shares[best]['sum'] / shares[best]['size']:.2f} [{low:.2f}, {high:.2f}]"
    cell += f", {shares[best]['size']} answers"
    second = sorted(right / n for right, n in shares.values())[-2]
    before = rf", before [\w ]+ \({second:.2f}\)"
    assert re.search(
        re.escape(f"The highest share of correct answers is that of {NAMES[best]} ({cell})") + before, text
    )
    constant = r"always answering the most frequent label \(0\.\d\d\)"
    more = f"; of {len(shares)} judges, {NAMES[best]} is correct more often than {constant}"
    assert re.search(rf"{more}, [\w ]+ and [\w ]+ less often; [\w ]+ could be either", text)
    assert "Comparisons with the most frequent label are by 95% intervals, item by item." in text
    for name, (right, n) in shares.items():
        low, high = proportion_confint(right, n, method="wilson")
        row = next(line for line in text.splitlines() if line.startswith(f"{NAMES[name]} |"))
        assert f"| {right / n:.2f} [{low:.2f}, {high:.2f}]" in row


def test_readings_name_who_gives_fewest_labels_and_bounds_who_lacks_answers(tmp_path: Path) -> None:
    results = {
        "readings": benchmark.readings(answers().drop(columns="gold")),
        "bounds": benchmark.bounds(scored(), metrics=["accuracy"], missing="missing", draws=50),
    }
    text = report_of(tmp_path, results)
    given = answers().groupby("judge_id")["value"].agg(["count", "size"])
    share = (given["count"] / given["size"]).sort_values()
    assert share.index[:2].tolist() == ["silent_model", "middling_model"]
    assert share.iloc[1] < share.iloc[2] == 1
    most = f"{NAMES[share.index[0]]}, Plain ({100 - 100 * share.iloc[0]:.0f}%)"
    assert f"Most answers without a label: {most}" in text
    lacking = "; ".join(
        f"{NAMES[name]} gave {n} of {asked} labels ({100 * n / asked:.1f}%)"
        for name, (n, asked) in given.loc[share.index[:2]].iterrows()
    )
    assert f"Of 4 judges, 2 lack answers: {lacking}; the others answered all." in text
    excluding, turning = 0, 0
    for _, own in answers().groupby("judge_id"):
        right, answered, asked = own["value"].eq(own["gold"]).sum(), own["value"].notna().sum(), len(own)
        low, high = proportion_confint(right, answered, method="wilson")
        excluding += not low <= 0.25 <= high
        worst = proportion_confint(right, asked, method="wilson")[0]
        turning += low > 0.25 > worst
    assert (excluding, turning) == (3, 1)
    start = f"Of {excluding} intervals that exclude the value of random answers, {turning} would contain it"
    assert start in text
    assert NAMES["silent_model"] in text.split("The smallest tipping share is")[1].split("):")[0]


def test_mistakes_name_who_gives_a_label_too_often_and_the_most_frequent_confusions(tmp_path) -> None:
    items = pd.DataFrame({"item_id": [f"j{k:02d}" for k in range(60)], "genre": ["pun", "rant"] * 30})
    gold = items[["item_id"]].assign(label_set="tone", label=GOLD)
    by_genre = benchmark.score(answers().drop(columns="gold"), gold, classes=list(CLASSES), items=items)
    items["text"] = ["x" * (number + 1) for number in range(60)]
    results = {
        "by_label": benchmark.by_label(scored(), draws=200),
        "confusion": benchmark.confusion(scored()),
        "differences": benchmark.differences(scored(), metrics=["accuracy"], draws=50),
        "errors": length_effects(by_genre, items, by=["genre"], metrics=["accuracy"], draws=50),
    }
    text = report_of(tmp_path, results)
    table = answers()
    right = table["value"].eq(table["gold"])[table["judge_id"].eq("weak_model")].to_numpy()
    change = right[46::2].mean() - right[0:15:2].mean()  # of 15 items each, those of one genre
    assert f"the largest: {NAMES['weak_model']}, Pun {change:.2f} [" in text
    ratio = (table["value"] == "odd").groupby(table["judge_id"]).sum() / 12
    assert ratio.idxmax() == "weak_model"
    assert ratio.drop("weak_model").max() < 1.5 < ratio.max()
    assert "1 of 4 judges gives a label too often" in text
    assert f"the largest of each: {NAMES['weak_model']}, Odd ({ratio.max():.1f})." in text
    wrong = table[table["value"].ne(table["gold"]) & table["value"].notna()]
    counts = wrong.groupby(["judge_id", "gold", "value"]).size().sort_values()
    (_, gold, value), times = counts.index[-1], counts.iloc[-1]
    share = f"{100 * times / GOLD.count(gold):.0f}%"
    assert f"{gold.capitalize()} | {value.capitalize()} | {times} | {share}" in text
    assert re.search("[1-6] of 6 differences in accuracy between judges have an adjusted p below", text)


def test_perturbed_items_have_their_significant_differences_named(tmp_path: Path) -> None:
    """One judge loses under both conditions, one gains under one of them, one stays as it is."""
    changes = {"strong": (-20, -24), "middling": (1, -1), "weak": (2, 25)}
    rows = []
    for name, (typos, dialect) in changes.items():
        right = np.arange(60) < {"strong": 50, "middling": 30, "weak": 10}[name]
        for condition, moved in (("none", 0), ("typos", typos), ("dialect", dialect)):
            now = np.arange(60) < right.sum() + moved
            rows += [(f"{name}_model", f"j{k:02d}", condition, bool(own)) for k, own in enumerate(now)]
    table = pd.DataFrame(rows, columns=["judge_id", "item", "condition", "right"])
    suffix = table["condition"].where(table["condition"] != "none", "")
    judged = table.assign(
        item_id=table["item"] + suffix, base_item_id=table["item"], judge_kind="model", dimension="tone",
        value=np.where(table["right"], "yes", "no"),
    )  # fmt: skip
    gold = pd.DataFrame({"item_id": table["item"].unique(), "label_set": "tone", "label": "yes"})
    other = pd.DataFrame({"item_id": ["extra"], "label_set": "tone", "label": "no"})
    whole = benchmark.score(judged.drop(columns=["item", "right"]), pd.concat([gold, other]))
    found = benchmark.robustness(whole, metrics=["accuracy"], draws=200)
    text = report_of(tmp_path, {"robustness": found})
    wide = table.pivot(index=["judge_id", "item"], columns="condition", values="right").astype(float)
    apart = wide[["typos", "dialect"]].sub(wide["none"], axis=0).groupby("judge_id")
    t = apart.mean() / apart.sem()
    p = 2 * stats.t.sf(t.abs().to_numpy().ravel(), 59)
    clear = multipletests(p, method="holm")[0]
    n, negative = clear.sum(), (clear & (t.to_numpy().ravel() < 0)).sum()
    assert (n, negative) == (3, 2)
    _, _, listed = text.partition("Accuracy of perturbed items minus that of the originals (clear: ")
    cells = re.findall(r"([+-])[\d.]+ \[[^]]*\] \([^)]*\), clear", listed)
    assert (len(cells), cells.count("-")) == (n, negative)


@cache
def ratings() -> pd.DataFrame:
    """Ratings by five people and four models, of whom one is closer to people, one is not, one is brief."""
    rng, rows = np.random.default_rng(4), []
    quality = rng.normal(50, 12, 60)
    spread = {"behind_model": 40.0, "level_model": 11.0, "ahead_model": 2.0, "brief_model": 25.0}
    spread |= dict.fromkeys(("ann", "bob", "eva", "ian", "zoe"), 9.0)
    sign = {"fun": 1.0, "wit": 0.4, "clear": -0.9}
    for dimension, weight in sign.items():
        for name, noise in spread.items():
            own = weight * (quality - 50) + rng.normal(0, noise, 60)
            asked = 12 if name == "brief_model" else 60
            kind = "model" if name.endswith("_model") else "human"
            value = np.round(50 + own)[:asked].clip(0, 100)
            rows += [(name, kind, f"i{k:02d}", dimension, one) for k, one in enumerate(value)]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "dimension", "value"])
    lost = table["judge_id"].eq("level_model") & (table.index % 3 == 0)
    lost |= table["judge_id"].eq("zoe") & (table.index % 10 == 0)
    return table.assign(value=table["value"].mask(lost), status=np.where(lost, "refused", "ok"))


def wide(dimension: str = "fun") -> pd.DataFrame:
    """Ratings of one dimension, judges as columns."""
    own = ratings()[ratings()["dimension"] == dimension]
    return own.pivot(index="item_id", columns="judge_id", values="value")


PEOPLE = ["ann", "bob", "eva", "ian", "zoe"]


def winning_rate(model: str, epsilon: float = 0.1) -> float:
    """The share of people against whom a model wins, by loops over items (Calderon and others)."""
    table, p = wide(), []
    for person in PEOPLE:
        others = [name for name in PEOPLE if name != person]
        apart = []
        for _, row in table.dropna(subset=[person, model]).iterrows():
            rest = row[others].dropna()
            far = [np.sqrt(((row[name] - rest) ** 2).mean()) for name in (person, model)]
            apart.append(float(far[0] <= far[1]) - float(far[1] <= far[0]))
        p.append(stats.ttest_1samp(apart, epsilon, alternative="less").pvalue)
    return float(multipletests(p, alpha=0.05, method="fdr_by")[0].mean())


def test_replacement_tests_name_the_models_that_pass_and_count_those_without_a_test(tmp_path: Path) -> None:
    found = raters.alt_test(ratings(), dimension="fun", draws=20)
    text = report_of(tmp_path, {"alt_test": found}, "alt_test")
    rates = {name: winning_rate(f"{name}_model") for name in ("behind", "level", "ahead")}
    passed = [NAMES[f"{name}_model"] for name, rate in rates.items() if rate >= 0.5]
    assert passed == ["Ahead model"]
    assert f"1 of 3 replacement tests with epsilon 0.1 is passed: {passed[0]}" in text
    assert "1 model could not be tested." in text
    for name, rate in rates.items():
        row = next(line for line in text.splitlines() if line.startswith(f"{NAMES[f'{name}_model']} |"))
        assert f"| {rate:.2f} |" in row
        assert f"| {'yes' if rate >= 0.5 else 'no'} |" in row


def test_correlations_name_the_closest_model_and_the_strongest_correlate_of_either_sign(
    tmp_path: Path,
) -> None:
    results = {
        "correlations": raters.correlations(ratings(), draws=50),
        "dimension_correlations": raters.dimension_correlations(ratings(), main="fun", draws=50),
    }
    text = report_of(tmp_path, results)
    report = Report(tmp_path)
    (record,) = report.of_kind("correlations")
    write = EXHIBITS["correlations"].headline
    assert write is not None
    headline = write(report.read(record), record, report).replace("\N{NO-BREAK SPACE}", " ")
    overall = results["correlations"].frame.assign(kind="overall")
    strata = [
        overall.assign(kind=kind, estimate=shift + overall["estimate"])
        for kind, shift in (("x", -0.5), ("y", -0.2))
    ]
    settings = {**results["correlations"].settings, "by": ["kind"]}
    note = coverage_notes("gaps of ratings", [("gap of means of human", "gap", Situation(10, 0.2, 10))], 0.05)
    nested = Result(pd.concat([overall, *strata], ignore_index=True), "correlations", tuple(note), settings)
    report_of(tmp_path / "nested", {"correlations": nested, "means": raters.means(ratings(), draws=0)})
    within, (record,) = Report(tmp_path / "nested"), Report(tmp_path / "nested").of_kind("correlations")
    on_fun = overall.loc[overall["coefficient"] == "pearson"].query("dimension == 'fun'")["estimate"]
    ends = f"between {on_fun.min() - 0.5:.2f} and {on_fun.max() - 0.2:.2f}.".replace("-", "\N{MINUS SIGN}")
    sentence = write(within.read(record), record, within)
    assert sentence.endswith(f", correlations within one level of Kind at a time are {ends}")
    assert "Treat it as too short." in within.limits()
    r_of: dict[tuple[str, str], float] = {
        (dimension, name): stats.pearsonr(*paired(wide(dimension), f"{name}_model")).statistic
        for name in ("behind", "level", "ahead", "brief")
        for dimension in ("fun", "wit", "clear")
    }
    called = WORDS["levels"]["dimension"]
    best = {on: max((r, name) for (of, name), r in r_of.items() if of == on) for on in called}
    assert {name for _, name in best.values()} == {"ahead"}
    first = "On Overall fun, the correlations with people's mean rating (Pearson's r) of Ahead model"
    assert headline.startswith(f"{first} ({best['fun'][0]:.2f} [")
    of_brief = r_of["fun", "brief"]
    assert f"Brief model ({of_brief:.2f}; difference {best['fun'][0] - of_brief:.2f} [" in headline
    tested = results["correlations"].extra["differences"]
    signs = {"estimate": -tested["estimate"], "lower": -tested["upper"], "upper": -tested["lower"]}
    turned = tested.rename(columns={"left": "right", "right": "left"}).assign(**signs)
    other_way = replace(results["correlations"], extra={"differences": turned})
    assert write(other_way, record, report).replace("\N{NO-BREAK SPACE}", " ") == headline
    assert (
        "Ahead model and Brief model on Wit and Clarity. Those named together do not differ clearly."
        in headline
    )
    for row in results["correlations"].extra["differences"].to_dict("records"):
        names = [row[side].removesuffix("_model") for side in ("left", "right")]
        difference = r_of[row["dimension"], names[0]] - r_of[row["dimension"], names[1]]
        assert row["estimate"] == pytest.approx(difference)
    sentence = text.split("Overall fun is most strongly correlated (Spearman's \N{GREEK SMALL LETTER RHO}) ")[
        1
    ]
    for group in ("human", "behind_model", "ahead_model"):
        mean = {
            one: wide(one)[PEOPLE if group == "human" else [group]].mean(axis=1)
            for one in ("fun", "wit", "clear")
        }
        r = {one: stats.spearmanr(mean["fun"], mean[one]).statistic for one in ("wit", "clear")}
        strongest = max(r, key=lambda one: abs(r[one]))
        of_group = (
            rf"with {called[strongest]} for [^.]*(?:\.\d[^.]*)*{WORDS['judges'][group]} \({r[strongest]:.2f} "
        )
        assert re.search(of_group, sentence)
    assert "with Clarity for People (-0." in sentence


def paired(table: pd.DataFrame, model: str) -> tuple[pd.Series, pd.Series]:
    """Mean ratings by people, and those by a model, of items that both rated."""
    own = table.dropna(subset=model)
    return own[PEOPLE].mean(axis=1), own[model]


def test_ratings_that_are_missing_are_counted_by_who_lacks_them(tmp_path: Path) -> None:
    found = raters.bounds(ratings(), scale=range(101), dimensions="fun", draws=20)
    text = report_of(tmp_path, {"bounds": found})
    own = ratings()[ratings()["dimension"] == "fun"]
    group = own["judge_id"].where(own["judge_kind"] == "model", "human")
    given = own.groupby(group)["value"].agg(["count", "size"])
    share = (given["count"] / given["size"]).sort_values()
    lacking = "; ".join(
        f"{WORDS['judges'][name]} gave {given['count'][name]} of {given['size'][name]} ratings "
        f"({100 * share[name]:.1f}%)"
        for name in share.index[share < 1]
    )
    assert share.index[:2].tolist() == ["level_model", "human"]
    assert f"Of 5 groups of judges, 2 lack answers: {lacking}; the others answered all." in text


def test_orders_of_tiers_are_shares_of_topics_with_those_of_chance(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(6), []
    for topic in range(12):
        for tier in ("high", "mid", "low"):
            best = {"high": 3, "mid": 2, "low": 1}[tier]
            for name, kind, noise in (
                ("behind_model", "model", 9),
                ("ann", "human", 1),
                ("ahead_model", "model", 0.5),
            ):
                rows.append((name, kind, f"t{topic}{tier}", best + noise * rng.normal(), f"t{topic}", tier))
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value", "topic", "tier"])
    options: dict[str, Any] = {"levels": ["high", "mid", "low"], "column": "tier", "within": "topic"}
    text = report_of(tmp_path, {"tier_accuracy": raters.tier_accuracy(table, draws=20, **options)})
    shares = {}
    for name, own in table.groupby("judge_id"):
        of_topics = own.pivot(index="topic", columns="tier", values="value")
        shares[name] = ((of_topics["high"] > of_topics["mid"]) & (of_topics["mid"] > of_topics["low"])).mean()
    assert shares["ahead_model"] > shares["behind_model"]
    order = "the order High, Mid, Low, ties broken at random: "
    sentence = text.split(f"Share of 12 topics in which ratings are in {order}")[1].split("\n")[0]
    for name in ("ahead_model", "behind_model"):
        assert f"{NAMES[name]} {100 * shares[name]:.1f}% [" in sentence
    assert f"People {100 * shares['ann']:.1f}% [" in sentence
    chance = 1 / len(list(permutations(options["levels"])))
    assert sentence.endswith(f"; by chance {100 * chance:.1f}%.")
