"""Results with made-up numbers of every kind that has a figure, in the columns that the analyses give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from conjury import automate, combine_judges, compare_systems
from conjury.analysis.audit import compare_moderation
from conjury.analysis.conjoint import (
    afcp,
    amce,
    choice_level,
    choice_shares,
    importance,
    power,
    preference_cycles,
    share_preferring,
    substitution,
)
from conjury.analysis.correction import label_plan
from conjury.analysis.instrument.pairs import compare_pairs
from conjury.analysis.raters.labelling import label as start_labels
from conjury.analysis.raters.validation import compare_runs, judge
from conjury.analysis.results import Result
from made_up import label_results as benchmark
from made_up import trials
from made_up.analysis_results import (
    INSTRUMENT,
    checked_numbers,
    few_people_means,
    few_people_scores,
    few_people_shares,
)
from made_up.choices import tasks
from made_up.results import (
    ATTRIBUTES,
    GROUPS,
    amce_frame,
    bounded,
    corrected,
    difference_frame,
    engines_summary,
    frequencies_frame,
)

DIMENSIONS = ("novelty", "empathy", "overall_fun")
MODELS = ("gpt_4_1", "gemini")
RATERS = ("human", *MODELS)
STRATA = ("high", "mid_level", "low")
FILLER = "neighborhood with a mix of offices, apartments/houses and small shops"
HUMAN = amce_frame({"human": [""]})
EFFECTS = HUMAN[HUMAN["std_error"].notna()].reset_index(drop=True)
JUDGES = amce_frame()
Labels = Mapping[str | tuple[str, str], str]


@dataclass(frozen=True)
class Example:
    """A result to draw, and the options of its figure."""

    result: Any
    options: Mapping[str, Any] = field(default_factory=dict)


def long(name: str) -> str:
    """Name an identifier in sixty letters."""
    return f"{name.replace('_', ' ').capitalize()} {FILLER}"[:60].strip()


def long_labels(named: Callable[[str], str] = long) -> Labels:
    """Labels of sixty letters, or others, for every identifier of the made-up results."""
    found: dict[str | tuple[str, str], str] = {}
    for feature, levels in {**ATTRIBUTES, **GROUPS}.items():
        found[feature] = named(feature)
        found |= {(feature, level): named(level) for level in levels}
    found |= {("by", group): named(group) for group in GROUPS["identity"]}
    found |= {name: named(name) for name in ("human", "model_x", "text", "baseline", "context")}
    judges = (*RATERS, *benchmark.JUDGES, *(f"person_{k:03d}" for k in range(8)))
    found |= {("judges", name): named(name) for name in judges}
    found |= {("dimension", name): named(name) for name in DIMENSIONS}
    found |= {("response_type", name): named(name) for name in STRATA}
    found |= {("label", name): named(name) for name in ("yes", "no")}
    return found | {("task", name): named(name) for name in benchmark.TASKS}


def intervals(keys: Mapping[str, Sequence[Any]], seed: int = 1, low: float = 0.1, high: float = 0.8,
              wide: float = 0.05, **more: Any) -> pd.DataFrame:  # fmt: skip
    """One row for each combination of keys, with an estimate between ``low`` and ``high``."""
    frame = pd.DataFrame(list(product(*keys.values())), columns=list(keys))
    estimate = np.random.default_rng(seed).uniform(low, high, len(frame))
    return frame.assign(
        estimate=estimate, std_error=wide / 2, lower=estimate - wide, upper=estimate + wide, **more
    )


def plain(kind: str, keys: Mapping[str, Sequence[Any]], by: Sequence[str] | None = None,
          **how: Any) -> Callable[[], Result]:  # fmt: skip
    """A result of one table with a row for each combination of keys."""
    settings = {} if by is None else {"by": list(by)}
    return lambda: Result(intervals(keys, **how), kind, settings={"alpha": 0.05, **settings})


def means() -> Result:
    frame = intervals({"dimension": DIMENSIONS, "group": RATERS, "response_type": STRATA}, high=4.0)
    return Result(frame, "means", settings={"by": ["response_type"], "alpha": 0.05})


def distributions() -> Result:
    frame = pd.DataFrame(list(product(DIMENSIONS, RATERS, range(5))), columns=["dimension", "group", "value"])
    return Result(
        frame.assign(estimate=(frame["value"] + 1) / 15, n_ratings=frame["value"] + 1), "distributions"
    )


def pairs_of_dimensions(second: str) -> pd.DataFrame:
    """Correlations of each pair of dimensions for each group, from -0.4 to 0.9."""
    keys = [(g, *pair) for g in RATERS for pair in combinations(DIMENSIONS, 2)]
    frame = pd.DataFrame(keys, columns=["group", "dimension", second])
    return frame.assign(estimate=np.linspace(-0.4, 0.9, len(frame)))


def dimension_correlations() -> Result:
    settings = {"main": DIMENSIONS[-1], "coefficient": "spearman"}
    return Result(pairs_of_dimensions("other"), "dimension_correlations", settings=settings)


def dimension_model() -> Result:
    frame = pairs_of_dimensions("other_dimension").assign(quantity="correlation", level="total")
    frame = frame.assign(lower=frame["estimate"] - 0.1, upper=frame["estimate"] + 0.1)
    strongest = intervals({"group": RATERS, "dimension": DIMENSIONS[:2]}, level="total", main=DIMENSIONS[-1])
    strongest = strongest.assign(probability=strongest["estimate"])
    return Result(frame, "dimension_model", settings={"main": DIMENSIONS[-1]}, extra={"strongest": strongest})


def rating_lines() -> Result:
    keys = {"dimension": DIMENSIONS[-1:], "judge": MODELS, "response_type": STRATA}
    random = np.random.default_rng(1)
    points = intervals({**keys, "item": range(12)})
    points = points.assign(human=random.uniform(0, 4, len(points)), model=random.integers(0, 5, len(points)))
    bands = intervals({**keys, "x": (0.0, 2.0, 4.0)}, high=3.0)
    extra = {"points": points.drop(columns=["estimate", "std_error", "lower", "upper"]), "bands": bands}
    return Result(intervals(keys), "rating_lines", extra=extra)


def agreement() -> Result:
    who = pd.DataFrame({"among": ["human", "model", "human"], "against": [None, None, "gpt_4_1"]})
    keys = {"dimension": DIMENSIONS[:2], "coefficient": ("krippendorff", "gwet"), "weights": ("ordinal",)}
    frame = intervals(keys).merge(who, how="cross")
    first = ["dimension", "among", "against", "coefficient", "weights", "estimate", "lower", "upper"]
    pairs = pd.DataFrame(combinations(["person_000", "person_001", *MODELS], 2), columns=["judge", "other"])
    kinds = {f"{one}_kind": np.where(pairs[one].str[0] == "p", "human", "model") for one in pairs}
    like = {"coefficient": "cohen", "weights": "ordinal", "n_items": 40}
    pairs = pairs.assign(**kinds, **like, estimate=np.linspace(-0.1, 0.8, len(pairs)))
    pairs.insert(0, "dimension", DIMENSIONS[0])
    settings = {"cluster": "topic_id", "alpha": 0.05}
    return Result(frame[first], "agreement", settings=settings, extra={"pairs": pairs})


def alt_test() -> Result:
    frame = intervals({"model": MODELS, "dimension": DIMENSIONS[:2], "scoring": ("neg_rmse", "accuracy")})
    rates = {
        f"{rate}{end}": frame[name]
        for rate in ("winning_rate", "advantage_probability")
        for end, name in (("", "estimate"), ("_lower", "lower"), ("_upper", "upper"))
    }
    frame = frame.assign(**rates, passes=frame["estimate"] > 0.5, n_annotators=4, epsilon=0.1)
    people = [f"person_{k:03d}" for k in range(4)]
    keys = {"model": MODELS, "dimension": DIMENSIONS[:2], "scoring": ("neg_rmse",), "annotator": people}
    each = intervals(keys, low=-0.2, high=0.3, epsilon=0.1, n_items=60)
    reasons = [None, "10 items, fewer than 30"] + [None] * (len(each) - 2)
    each = each.assign(difference=each["estimate"], wins=each["estimate"] < 0.1)
    each["left_out"] = pd.Series(reasons, dtype="string")
    return Result(frame.drop(columns=["estimate"]), "alt_test", extra={"annotators": each})


def epsilon_curve() -> Result:
    keys = {"model": MODELS, "dimension": DIMENSIONS[:2], "scoring": ("neg_rmse",)}
    frame = intervals({**keys, "epsilon": (0.0, 0.1, 0.2, 0.3)})
    frame = frame.assign(winning_rate=frame["epsilon"] * 3)
    smallest = intervals(keys).assign(smallest_epsilon=[0.15, 0.2, np.nan, 0.0])
    return Result(frame, "epsilon_curve", extra={"smallest": smallest})


def alt_power() -> Result:
    keys = {"scenario": ("as stated", "at the margin"), "annotators": (3, 5), "instances": (30, 100, 300),
            "epsilon": (0.1, 0.2)}  # fmt: skip
    frame = intervals(keys, human_agreement=0.4, model_agreement=0.4)
    needed = pd.DataFrame(
        {"annotators": [3, 5], "epsilon": 0.1, "model_agreement": 0.4, "instances": [np.nan, 300]}
    )
    needed = needed.astype({"instances": "Int64"})
    return Result(frame.assign(pass_rate=frame["estimate"]), "alt_power", settings={"target": 0.8},
                  extra={"needed": needed})  # fmt: skip


def shares(groups: Sequence[str] = RATERS, **keys: Sequence[Any]) -> pd.DataFrame:
    frame = intervals({"group": groups, **(keys or {"category": [float(k) for k in range(4)]})})
    return frame.assign(observed=frame["estimate"] + 0.01, expected=frame["estimate"])


def rater_model() -> Result:
    quantities = ("latent_correlation_rating", "correlation", "better_than_human", "closer_than_human")
    frame = intervals({"group": RATERS, "quantity": quantities})
    frame = frame.assign(judge_kind=frame["group"].map(lambda name: "human" if name == "human" else "model"))
    people = [f"person_{k:03d}" for k in range(8)]
    judges = intervals({"judge": [*people, *MODELS], "quantity": ("severity_points", "discrimination")})
    judges = judges.assign(group=judges["judge"].where(judges["judge"].isin(MODELS), "human"))
    return Result(frame, "rater_model", extra={"judges": judges, "frequencies": shares()})


def label_model() -> Result:
    cells = intervals({"group": RATERS, "truth": ("yes", "no"), "label": ("yes", "no")})
    right = cells["truth"] == cells["label"]
    estimate = np.where(right, 0.8, 0.2)
    cells = cells.assign(estimate=estimate, lower=estimate - 0.05, upper=estimate + 0.05)
    random = np.random.default_rng(1)
    items = pd.DataFrame({"item_id": np.arange(60), "label": random.choice(["yes", "no"], 60),
                          "probability": random.uniform(0.5, 1.0, 60), "most_probable": True})  # fmt: skip
    check = shares(label=("yes", "no"))
    return Result(pd.DataFrame(), "label_model", extra={"confusion": cells, "items": items, "check": check})


def choice_model() -> Result:
    keys = pd.DataFrame(
        [(f, v) for f, levels in ATTRIBUTES.items() for v in levels[1:]], columns=["feature", "level"]
    )
    worth = keys.assign(quantity="part-worth", estimate=np.linspace(-1, 1, len(keys)))
    worth = worth.assign(lower=worth["estimate"] - 0.2, upper=worth["estimate"] + 0.2)
    spread = worth.assign(quantity="SD between raters", estimate=np.linspace(0.1, 0.9, len(keys)))
    raters = pd.concat(
        [worth.assign(judge=str(k), estimate=worth["estimate"] + k / 20) for k in range(-9, 10)]
    )
    check = keys.assign(judge="human", observed=0.3, expected=0.28, lower=0.2, upper=0.35)
    return Result(pd.concat([worth, spread], ignore_index=True), "choice_model",
                  extra={"raters": raters, "check": check})  # fmt: skip


def published_scores() -> Result:
    frame = pd.DataFrame({"metric": ["accuracy", "accuracy", "macro_f1"], "printed": [0.1, 0.4, 0.3]})
    return Result(frame.assign(recomputed=[0.11, 0.4, 0.32], aligned=[0.12, 0.41, 0.33]), "published_scores")


def readings() -> Result:
    compared = pd.DataFrame({"judge": benchmark.FEW, "status": ["agree", "different", "neither"]})
    compared = compared.assign(prompt="joke", n=[10, 4, 3])
    return Result(benchmark.readings().frame, "readings", extra={"compared": compared})


Made = Callable[[], Any] | tuple[Callable[[], Any], dict[str, Any]]  # a result, and the options of its figure
BENCHMARK: dict[str, Made] = {
    "scores": benchmark.scores,
    "scores, policies": (benchmark.harm, {"part": "policies"}),
    "scores, recalls": (benchmark.harm, {"part": "recalls"}),
    "bounds, scores": lambda: bounded(
        benchmark.scores()
        .frame.query("missing == 'wrong' and judge_kind == 'model' and metric == 'accuracy'")
        .assign(null=0.1),
        ("judge",),
        null=None,
        counted="labels",
        by=["language"],
    ),
    "calibration": benchmark.calibration,
    "calibration, one judge": lambda: benchmark.calibration(benchmark.FEW[:1]),
    "passes": benchmark.passes,
    "confusion": lambda: benchmark.confusion(benchmark.LABELS[:6], benchmark.FEW),
    "by_label": lambda: benchmark.by_label(benchmark.LABELS[:5], benchmark.FEW),
    "robustness": benchmark.robustness,
    "differences": benchmark.differences,
    "differences, many judges": lambda: benchmark.differences([f"judge_{k}" for k in range(10)]),
    "gaps": lambda: Result(
        intervals({"judge": RATERS, "dimension": DIMENSIONS[-1:], "left": ["high"], "right": STRATA[1:]}),
        "gaps",
        settings={"between": "response_type", "by": [], "alpha": 0.05},
    ),
    "gaps, many judges": lambda: Result(
        intervals(
            {"judge": [f"judge_{k}" for k in range(9)], "metric": ["accuracy"], "left": ["high"]}
        ).assign(prompt="", task=next(iter(benchmark.TASKS)), right="low"),
        "gaps",
        settings={"between": "response_type", "by": [], "alpha": 0.05},
    ),
    "readings": readings,
    "readings, compared": (readings, {"part": "compared"}),
    "annotators": plain(
        "annotators",
        {"dimension": ["safe_vs_harmful"], "language": ["en", "es"], "coefficient": ["percent", "fleiss"]},
        by=["language"],
    ),
    "errors": plain(
        "errors",
        {"judge": benchmark.FEW, "task": list(benchmark.TASKS), "metric": ["accuracy", "missing_rate"]}
        | {"length": [120.0, 800.0, 4000.0]},
        by=[],
    ),
    "mixed": lambda: Result(
        benchmark.differences().frame.assign(odds_ratio=lambda table: np.exp(table["estimate"])),
        "mixed",
        settings={"by": []},
    ),
    "published_scores": published_scores,
    "rates": plain(
        "rates",
        {"class": ["harmful", "safe"], "language": ["en", "es"]}
        | {"method": ["naive", "human", "rogan_gladen", "efficient", "mle"]},
        by=["language"],
        n_labelled=40,
        n_unlabelled=400,
    ),
}
OF_MODELS = {"dimension": DIMENSIONS, "judge": MODELS}
RATINGS: dict[str, Made] = {
    "means": means,
    "means, radar": (means, {"part": "radar"}),
    "bounds, ratings": lambda: bounded(means().frame, ("group",), null=None, counted="judgments"),
    "prediction_powered_items": few_people_means,
    "prediction_powered_items, strata": lambda: few_people_means(DIMENSIONS, strata=True, models=2),
    "prediction_powered_items, dimensions": lambda: few_people_means(DIMENSIONS),
    "prediction_powered_items, labels": few_people_shares,
    "prediction_powered_items, scores": few_people_scores,
    "correlations": plain(
        "correlations",
        OF_MODELS | {"response_type": ["overall", *STRATA], "coefficient": ["pearson", "spearman"]},
    ),
    "biases": plain(
        "biases", OF_MODELS | {"quantity": ["difference", "sd_ratio_one_person", "own", "own_minus_other"]}
    ),
    "distributions": distributions,
    "dimension_correlations": dimension_correlations,
    "dimension_model": dimension_model,
    "rating_lines": rating_lines,
    "tier_accuracy": plain(
        "tier_accuracy",
        {"dimension": DIMENSIONS[-1:], "judge": ["one person", *MODELS]}
        | {"quantity": ["complete_order", "ordered_pairs"], "ties": ["wrong", "split", "right"]},
        chance=0.2,
    ),
    "agreement": agreement,
    "agreement, pairs": (agreement, {"part": "pairs"}),
    "alt_test": alt_test,
    "alt_test, annotators": (alt_test, {"show": "annotators", "model": "gpt_4_1"}),
    "epsilon_curve": epsilon_curve,
    "alt_power": alt_power,
    "both_answers": plain(
        "both_answers",
        {"model": MODELS, "dimension": DIMENSIONS[:2]}
        | {"quantity": ["winning_rate", "advantage_probability", "closer_than_human", "better_than_human"]},
    ),
    "rater_model": rater_model,
    "rater_model, judges": (rater_model, {"part": "judges"}),
    "rater_model, check": (rater_model, {"part": "check"}),
    "label_model": label_model,
    "label_model, certainty": (label_model, {"part": "certainty"}),
    "label_model, check": (label_model, {"part": "check"}),
    "choice_model": choice_model,
    "choice_model, check": (choice_model, {"part": "check"}),
    "recovery": lambda: Result(
        intervals({"quantity": ["expected_rating", "accuracy"], "judge": RATERS}).assign(
            truth=lambda table: table["estimate"] + 0.02, inside=True
        ),
        "recovery",
    ),
}


def conjoint(frame: pd.DataFrame, kind: str, **settings: Any) -> Callable[[], Result]:
    """A table of a conjoint, as the kind that its verb gives it."""
    return lambda: Result(frame, kind, settings={"alpha": 0.05, "interval": "normal", **settings})


def contrasts() -> pd.DataFrame:
    pairs = list(combinations(ATTRIBUTES["slur"], 2))
    frame = pd.DataFrame(pairs, columns=["reference", "level"])
    return frame.assign(feature="slur", estimate=np.linspace(-0.2, 0.3, len(frame)), p=0.04, p_adjusted=0.2)


def marginal_means() -> pd.DataFrame:
    centre = {"estimate": 0.5, "lower": 0.45, "upper": 0.55}
    return HUMAN.assign(statistic="mm", **{end: at + HUMAN["estimate"] / 4 for end, at in centre.items()})


def errors(n_choices: int) -> pd.DataFrame:
    parts = [
        EFFECTS.assign(choice=f"text {k}", clusters="text", method="CR1", ratio=1.0 + k / 9)
        for k in range(n_choices)
    ]
    return pd.concat(parts, ignore_index=True)


def equivalence() -> pd.DataFrame:
    bounds = {"equivalence_lower": EFFECTS["lower"], "equivalence_upper": EFFECTS["upper"]}
    return EFFECTS.assign(**bounds, bound_lower=-0.03, bound_upper=0.03, verdict="different")


def proportions() -> pd.DataFrame:
    cells = pd.MultiIndex.from_product(
        [ATTRIBUTES["slur"], ATTRIBUTES["identity"]], names=["slur", "identity"]
    )
    return cells.to_frame(index=False).assign(proportion=1 / len(cells))


def reliability() -> Result:
    frame = pd.DataFrame({"judge": ["human", "model_x"], "prompt": ""})
    position = frame.assign(same_profile=0.885, always_a=0.06, always_b=0.055)
    frame = frame.assign(
        sides="swapped", agreement=0.885, lower=0.871, upper=0.898, n_compared=2300, n_unanswered=12
    )
    return Result(frame, "reliability", extra={"position": position})


def design() -> pd.DataFrame:
    rows = [(f, v, k == 0, 1 / len(levels)) for f, levels in ATTRIBUTES.items() for k, v in enumerate(levels)]
    table = pd.DataFrame(rows, columns=["feature", "level", "reference", "probability"])
    share = table["probability"]
    return table.assign(derived=False, drawn=share, shown=(100 * share).astype(int))


@cache
def powers() -> Any:
    return power({"slur": 4, "identity": 3, "curse": 2}, pairs=30000, power=[0.8, 0.9])


def plan_of_labels(**options: Any) -> Callable[[], Result]:
    """A plan of people with a model, from correlations and standard deviations."""
    keys = EFFECTS[["feature", "level"]].astype("string")
    rows = np.arange(len(keys))
    table = keys.assign(rho=0.3 + 0.5 * rows / len(rows), sd=0.4 + 0.02 * rows)
    return lambda: label_plan(table, tasks=10, other=5000, **options)


def sequence(frame: pd.DataFrame, **settings: Any) -> Callable[[], Result]:
    """Estimates at four looks, with limits at the later three that are wider than those of one look."""

    def made() -> Result:
        looks = []
        for k, n_units in enumerate((100, 400, 900, 1600)):
            half = (frame["upper"] - frame["lower"]) * 20 / np.sqrt(n_units)
            wide = half * 1.6 if k else np.inf
            fixed = {"fixed_lower": frame["estimate"] - half, "fixed_upper": frame["estimate"] + half}
            limits = {"lower": frame["estimate"] - wide, "upper": frame["estimate"] + wide}
            looks.append(frame.assign(**fixed, **limits, n_units=n_units))
        return Result(pd.concat(looks, ignore_index=True), "confidence_sequence", settings=settings)

    return made


@cache
def paired(ties: bool = False) -> pd.DataFrame:
    """Choices between profiles of the made-up attributes, one task in eight a tie where there are ties."""
    weight = np.array([0.0, 0.12, 0.2, 0.28])

    def choice(one: Any, other: Any) -> np.ndarray:
        gain = weight[one["slur"]] - weight[other["slur"]]
        return 0.5 + gain - 0.05 * (one["curse"] - other["curse"])

    found = tasks(ATTRIBUTES, choice, 1_600, seed=1)
    return found.assign(chosen=found["chosen"].mask(found["pair_id"] % 8 == 0, 0)) if ties else found


@cache
def effects_of_pairs() -> Any:
    return amce(paired(), "chosen ~ slur + identity + curse", id="judge_id", vcov="CR1")


def profiles() -> dict[str, dict[str, str]]:
    return {
        f"profile_{k}": {name: own[k % len(own)] for name, own in ATTRIBUTES.items()} for k in range(1, 4)
    }


def people_of_a_panel(names: tuple[str, ...] = ("screened out", "left", "failed checks")) -> Result:
    """People who started, left for reasons, finished, were excluded, and are analysed."""
    left = [("not finished", name, 3 + k) for k, name in enumerate(names)]
    rows = [("started", "", 60), *left, ("finished", "", 48), ("excluded", "too fast to have read", 5)]
    frame = pd.DataFrame([*rows, ("analysed", "", 43)], columns=["step", "reason", "n"])
    return Result(frame, "people_flow")


def steps_of_a_study() -> Result:
    """What is judged by whom."""
    steps = [
        ("Items", "Response: High, By GPT-4.1 (serious)\nTopic: Text, Picture"),
        ("People", "100 raters"),
    ]
    return Result(pd.DataFrame(steps, columns=["step", "text"]), "study_flow")


PREFERENCES: dict[str, Made] = {
    "people_flow": people_of_a_panel,
    "choice_level": lambda: choice_level(
        paired(), "chosen ~ slur", [("sexism", "generic"), (["racism", "none"], "generic")], same="curse"
    ),
    "choice_level, ties": lambda: choice_level(paired(ties=True), "chosen ~ slur"),
    "choice_level, amce": lambda: choice_level(paired(), "chosen ~ slur", estimand="amce"),
    "afcp": lambda: afcp(paired(), "chosen ~ slur", id="judge_id"),
    "preference_cycles": lambda: preference_cycles(paired(), "chosen ~ slur", id="judge_id"),
    "importance": lambda: importance(effects_of_pairs()),
    "choice_shares": lambda: choice_shares(paired(), "chosen ~ slur + identity + curse", profiles()),
    "substitution": lambda: substitution(
        effects_of_pairs(), "slur", dict(zip(ATTRIBUTES["slur"], (1, 2, 3, 4), strict=True))
    ),
    "share_preferring": lambda: share_preferring(effects_of_pairs()),
}


def _two_judges() -> Result:
    """People and a model, with differences of which two are significant."""
    effects = amce_frame({"human": [""], "model_x": ["baseline"]})
    people, model = (
        effects[effects["judge"] == name].reset_index(drop=True) for name in ("human", "model_x")
    )
    gap = (model["estimate"] - people["estimate"]).rename("estimate")
    differences = model.assign(estimate=gap, lower=gap - 0.05, upper=gap + 0.05, p_adjusted=0.3)
    differences.loc[[2, 5], "p_adjusted"] = 0.01
    return Result(effects, "amce", extra={"differences": differences[model["std_error"].notna()]})


CONJOINT: dict[str, Made] = {
    "amce": conjoint(HUMAN, "amce"),
    "amce, judges": conjoint(JUDGES, "amce"),
    "amce, two judges": _two_judges,
    "amce, columns": conjoint(amce_frame({name: [""] for name in ("human", "model_x", *MODELS)}), "amce"),
    "mm": conjoint(marginal_means(), "mm", null=0.5),
    "confidence_sequence": sequence(EFFECTS, verb="amce", unit="pair_id", alpha=0.05),
    "confidence_sequence, means": sequence(
        intervals({"dimension": DIMENSIONS[:2], "group": RATERS[:2]}), verb="means", unit="topic_id"
    ),
    "truth": conjoint(EFFECTS.assign(true=EFFECTS["estimate"] - 0.01), "truth"),
    "target": lambda: Result(EFFECTS.assign(statistic="pamce"), "target", extra={"design": EFFECTS}),
    "prediction_powered": lambda: corrected(HUMAN),
    "prediction_powered, two models": lambda: corrected(HUMAN, MODELS),
    "prediction_powered, groups": lambda: corrected(
        difference_frame().query("judge == 'human'"), by=["identity"]
    ),
    "bounds": lambda: bounded(HUMAN),
    "bounds, judges": lambda: bounded(amce_frame({f"model_{k}": [""] for k in range(12)})),
    "frequencies": conjoint(frequencies_frame().query("judge == 'human'"), "cj_freqs"),
    "interaction": (conjoint(difference_frame(), "interaction"), {"feature": "slur", "by": "identity"}),
    "contrast": conjoint(contrasts(), "contrast"),
    "contrast, groups": conjoint(
        pd.concat([contrasts().assign(by=group) for group in GROUPS["identity"]]), "contrast"
    ),
    "significance": conjoint(JUDGES.assign(p_adjusted=JUDGES["p"]), "significance"),
    "equivalence": conjoint(equivalence(), "equivalence"),
    "error_choices": conjoint(errors(2), "error_choices"),
    "error_choices, eight": conjoint(errors(8), "error_choices"),
    "detectable": conjoint(EFFECTS.assign(effect_design=0.02, effect_found=0.03), "detectable"),
    "cj_props": conjoint(proportions(), "cj_props"),
    "published": lambda: Result(compare_moderation(EFFECTS, HUMAN), "published"),
    "reliability": reliability,
    "power": powers,
    "plan": (
        lambda: powers().at(pairs=30000, power=0.8), {"part": "plan", "effect": 0.02, "plan": 30000}
    ),
    "label_plan": plan_of_labels(effect=0.05),
    "label_plan, widths": plan_of_labels(people=[100]),
    "design_shares": lambda: Result(design(), "design_shares"),
    "engines": lambda: Result(engines_summary(), "engines"),
}  # fmt: skip


def check(name: str, **columns: Any) -> Callable[[], Result]:
    """The table of a check with a row for each effect."""
    return lambda: Result(EFFECTS.assign(**columns), name)


def shares_of(name: str, low: float, high: float) -> Callable[[], Result]:
    """The table of a check with a share for each judge."""
    judges = {"judge": ["human", "model_x"], "prompt": ["baseline"]}
    return lambda: Result(intervals(judges, low=low, high=high), name)


def counted(name: str, **columns: Any) -> Callable[[], Result]:
    """The table of a check of people."""
    return lambda: Result(pd.DataFrame({"judge": "human", "prompt": "", **columns}), name)


def _answers() -> Result:
    rows = [("human", "", "ok", 0.9), ("human", "", "refused", 0.1), ("model_x", "baseline", "ok", 1.0)]
    return Result(pd.DataFrame(rows, columns=["judge", "prompt", "answer", "share"]), "answers")


FEATURES = pd.DataFrame(list(combinations(ATTRIBUTES, 2)), columns=["feature", "partner"])
RUNS = {"respondents": [0, 9, 30, 12, 3, 1], "expected": [0.1, 10.0, 28.0, 11.0, 4.0, 1.2]}
SECONDS = np.exp(np.random.default_rng(1).normal(3, 0.4, 80))
CHECKS: dict[str, Made] = {
    "design_card": check("design_card"),
    "position_balance": check("position_balance"),
    "respondent_balance": check("respondent_balance"),
    "design_probabilities": check("design_probabilities"),
    "attribute_independence": counted(
        "attribute_independence", **FEATURES, estimate=1.0, lower=0.9, upper=1.1
    ),
    "impossible_profiles": counted("impossible_profiles", rule=["both the same"], n=3),
    "position_share": shares_of("position_share", 0.4, 0.6),
    "profile_order": check("profile_order"),
    "task_order": check("task_order", test="first half"),
    "carry_over": check("carry_over", test="same level as in the task before"),
    "attention_filters": check("attention_filters", filter="attention"),
    "repeat_agreement": shares_of("repeat_agreement", 0.6, 0.9),
    "straight_lining": counted("straight_lining", run=range(1, 7), **RUNS),
    "response_times": counted("response_times", seconds=SECONDS, fast=SECONDS < 9, slow=SECONDS > 45),
    "answers": _answers,
    "missing_choices": check("missing_choices"),
    "shared_tasks": shares_of("shared_tasks", 0.4, 0.6),
    "stimuli": check("stimuli", stimulus="text"),
    "clusters": check("clusters", unit="text"),
}

# drawn by one function
ALIKE = set(CHECKS) - {"design_card", "position_balance", "straight_lining", "response_times", "answers"}


def _general() -> Result:
    """The table of a check without a figure of its own, in two panels."""
    rows = {"judge": ["human", "model_x"], "prompt": ["baseline"], "label": ["high", FILLER, "low"]}
    frame = intervals({"panel": ["novelty", "empathy"], **rows}, low=0.1, high=0.4)
    settings = {"name": "made_up", "axis": "Share of answers that were repeated", "percent": True}
    return Result(frame, "check", settings=settings)


def _battery() -> Result:
    """Checks of all kinds and verdicts, more than a line of one kind."""
    codes = [f"CJ{kind}{n:02}" for kind, size in enumerate((9, 4, 23, 6, 8), 1) for n in range(1, size + 1)]
    verdicts = np.resize(["pass", "not_applicable", "pass", "warning", "pass", "error", "pass"], len(codes))
    reasons = np.where(np.arange(len(codes)) % 9 == 3, "It is known.", "")
    return Result(pd.DataFrame({"code": codes, "verdict": verdicts, "suppressed": reasons}), "battery")


def answers_of(rates: Mapping[str, float], n: int, seed: int, *labels: str) -> pd.DataFrame:
    """Labels of a judge and of people, who give the true one or say that there is harm."""
    random = np.random.default_rng(seed)
    truth = random.choice(labels, n)
    return pd.DataFrame({name: np.where(random.random(n) < p, truth, "harm") for name, p in rates.items()})


def _judging() -> Result:
    """A judge next to three people, with subgroups."""
    frame = answers_of({"judge": 0.8, "ann": 0.9, "ben": 0.85, "eva": 0.95}, 150, 5, "no harm", "harm")
    frame["language"] = np.where(np.arange(150) % 2 == 0, "English", "German")
    return judge(frame, "judge", ["ann", "ben", "eva"], by="language")


def _runs() -> Result:
    """Two runs of a judge."""
    frame = answers_of({"judge": 0.7, "other": 0.8, "ann": 0.95}, 120, 6, "no harm", "harm", "unclear")
    return compare_runs(frame, frame.assign(judge=frame["other"]), "judge", "ann")


def _systems() -> Result:
    """Three systems, of which the judge favours the last."""
    random = np.random.default_rng(9)
    common, parts = random.normal(size=120), []
    for place, name in enumerate(("baseline", "retrieval", "a much longer name of a system")):
        rating = common + 0.3 * place + random.normal(0, 0.6, 120)
        score = rating + 0.3 * (place == 2) + random.normal(0, 0.3, 120)
        people = np.where(np.arange(120) < 40, rating, np.nan)
        parts.append(pd.DataFrame({"prompt": range(120), "system": name, "judge": score, "ann": people}))
    return compare_systems(pd.concat(parts), "judge", "ann", id="prompt")


def _table_of_judges() -> pd.DataFrame:
    """Three judges of two systems, of whom two err alike."""
    random = np.random.default_rng(10)
    common, parts = random.normal(size=120), []
    for name in ("baseline", "retrieval"):
        rating, family = common + random.normal(0, 0.6, 120), random.normal(0, 0.5, 120)
        scores = {key: rating + family + random.normal(0, 0.3, 120) for key in ("gpt", "gpt-mini")}
        scores["a judge with a much longer name"] = rating + random.normal(0, 0.5, 120)
        people = np.where(np.arange(120) < 40, rating, np.nan)
        parts.append(pd.DataFrame({"prompt": range(120), "system": name, "ann": people, **scores}))
    return pd.concat(parts, ignore_index=True)


THREE_JUDGES = ("gpt", "gpt-mini", "a judge with a much longer name")


def _judges_of_systems() -> Result:
    return compare_systems(_table_of_judges(), THREE_JUDGES, "ann", id="prompt")


def _together() -> Result:
    return combine_judges(_table_of_judges(), THREE_JUDGES, "ann", id="prompt")


def _paired() -> Result:
    """Verdicts on pairs of systems, of which one has a long name, in both orders."""
    random = np.random.default_rng(8)
    names = ["base", "tuned", "a system that was tuned on the verdicts of forty people", "small"]
    rows = []
    for prompt in range(150):
        first, second = random.choice(4, 2, replace=False)
        for a, b in ((first, second), (second, first)):
            wins = random.random() < 1 / (1 + np.exp(0.5 * (a - b) - 0.3))
            rows.append((prompt, names[a], names[b], names[a] if wins else names[b]))
    table = pd.DataFrame(rows, columns=["prompt_id", "model_a", "model_b", "winner"])
    return compare_pairs(table)


def _two_systems() -> Result:
    """Verdicts on pairs of two systems in both orders, with people's on some, but of one kind."""
    random = np.random.default_rng(9)
    verdicts = random.choice(["a", "b", "tie"], (3, 200), p=[0.5, 0.4, 0.1])
    kind = np.repeat(["chat", "code", "law"], [90, 90, 20])
    human = np.where((np.arange(200) % 2 == 0) & (kind != "law"), verdicts[2], None)
    table = {
        "prompt_id": range(200),
        "kind": kind,
        "ab": verdicts[0],
        "ba": np.where(np.arange(200) % 3, *verdicts[:2]),
    }
    return compare_pairs(pd.DataFrame(table | {"human": human}), by="kind")


def _automation() -> Result:
    """Verdicts of a judge who is more often right where it is sure, and more so where it says "pass"."""
    random = np.random.default_rng(4)
    sure, label = random.uniform(0, 1, 900), np.where(random.random(900) < 0.6, "pass", "fail")
    wrong = random.random(900) < 0.4 * (1 - sure) ** 2
    verdict = np.where(wrong, np.where(label == "pass", "fail", "pass"), label)
    return automate(pd.DataFrame({"verdict": verdict, "ann": label, "sure": sure}), "verdict", "ann", "sure")


def _labelled(systems: bool = False) -> Result:
    """Labels of one or two systems, of which the judge is often right, in batches."""
    random, n = np.random.default_rng(6), 300
    label = np.where(random.random(n) < 0.6, "pass", "fail")
    verdict = np.where(random.random(n) < 0.2, random.permutation(label), label)
    names = (
        np.where(np.arange(n) % 2, "new", "an old one with a name that is very long") if systems else "all"
    )
    table = pd.DataFrame({"verdict": verdict, "version": names, "prompt": np.arange(n) // 2})
    queue = start_labels(table, "verdict", id="prompt", system="version" if systems else None)
    return queue.run(lambda row: str(label[row.name]), "ann", 160)


VALIDATION: dict[str, Made] = {
    "judging": _judging,
    "judging, confusion": (_judging, {"part": "confusion"}),
    "run_comparison": _runs,
    "system_comparison": _systems,
    "system_comparison, judges": (_judges_of_systems, {"part": "judges"}),
    "combined_judges": _together,
    "automation": _automation,
    "label_sequence": _labelled,
    "label_sequence, of systems": lambda: _labelled(systems=True),
    "pair_comparison": _paired,
    "pair_comparison, of two": _two_systems,
}
OF_ALL_CHECKS: dict[str, Made] = {"check": _general, "battery": _battery}
TRIALS: dict[str, Made] = {
    "trial": trials.result,
    "passport": trials.passport,
    **{f"trial, {part}": (trials.result, {"part": part}) for part in ("bias", "power", "nested_loop", "zip")},
}
PUBLISHED: dict[str, Made] = {
    "study_flow": steps_of_a_study,
    "published_numbers": checked_numbers,
    "published_numbers, means": (checked_numbers, {"part": "means"}),
}
EXAMPLES = CONJOINT | PREFERENCES | CHECKS | OF_ALL_CHECKS | RATINGS | BENCHMARK | TRIALS | INSTRUMENT
EXAMPLES |= PUBLISHED | VALIDATION


@cache
def example(name: str) -> Example:
    """The made-up result called ``name``."""
    made = EXAMPLES[name]
    build, options = made if isinstance(made, tuple) else (made, {})
    return Example(_built(build), options)


@cache
def _built(build: Callable[[], Result]) -> Result:
    """One result for all parts of its figure."""
    return build()
