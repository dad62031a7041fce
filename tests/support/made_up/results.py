"""A small results folder with made-up numbers, in the shape that `conjury fit` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conjury.analysis.frames.notes import record_notes
from conjury.analysis.pipeline.manifest import UNITS_OF_FILES, entry_of
from conjury.analysis.pipeline.recovery import effect_recovery
from conjury.analysis.pipeline.runner import NamedResult, tables_of
from conjury.analysis.results import Result
from conjury.inference.tables import write_table

ATTRIBUTES = {
    "slur": ["generic", "sexism", "racism", "none"],
    "identity": ["anonymous", "black_male", "white_female"],
    "curse": ["no_curse", "curse"],
}
GROUPS = {"identity": ATTRIBUTES["identity"], "topic": ["everyday", "sport"]}
JUDGES = {"human": [""], "model_x": ["baseline", "context"]}
LEVEL_WITH_MARKUP = "<script>document.title='taken'</script>"


def amce_frame(judges: dict[str, list[str]] | None = None, seed: int = 3) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    rows = []
    for judge, prompts in (judges or JUDGES).items():
        for prompt in prompts:
            for feature, levels in ATTRIBUTES.items():
                for position, level in enumerate(levels):
                    key = (judge, prompt, "", "chosen", "amce", feature, level)
                    estimate, error = (0.0, np.nan) if position == 0 else (random.normal(0, 0.2), 0.02)
                    z = estimate / error
                    bounds = (estimate - 1.96 * error, estimate + 1.96 * error)
                    rows.append((*key, estimate, error, z, 0.0004 if abs(z) > 3.5 else 0.2, *bounds))
    names = "judge prompt variant outcome statistic feature level estimate std_error z p lower upper"
    frame = pd.DataFrame(rows, columns=names.split())
    every_level = [level for levels in ATTRIBUTES.values() for level in levels]
    return frame.assign(
        feature=pd.Categorical(frame["feature"], categories=list(ATTRIBUTES)),
        level=pd.Categorical(frame["level"], categories=every_level),
        boot_std_error=frame["std_error"] + 0.0011,
        boot_p=frame["p"] + 0.006,
        boot_lower=frame["lower"] - 0.001,
        boot_upper=frame["upper"] + 0.001,
    )


def difference_frame(by: str = "identity") -> pd.DataFrame:
    slurs = amce_frame().query("feature == 'slur' and std_error.notna() and prompt != 'context'")
    base, *others = GROUPS[by]
    shifted = [slurs.assign(by=f"{who} - {base}", statistic="amce_difference", **{by: who}) for who in others]
    return pd.concat(shifted, ignore_index=True)


def corrected(frame: pd.DataFrame, models: tuple[str, ...] = ("model_x",), **settings: Any) -> Result:
    """Estimates among people that models make more precise, by gains from 0.9 to 2."""
    strange = [name for name in frame if name.startswith("boot_")]
    human = frame.drop(columns=["judge", "prompt", "variant", *strange]).reset_index(drop=True)

    def moved(factor: float, error: Any) -> pd.DataFrame:
        estimate, error = human["estimate"] * factor, human["std_error"] * error
        return human.assign(
            estimate=estimate, std_error=error, lower=estimate - 2 * error, upper=estimate + 2 * error
        )

    gain = pd.Series(np.linspace(0.9, 2.0, len(human))).where(human["std_error"].notna())
    alone = [moved(1.5 + k, 0.5).assign(judge=name) for k, name in enumerate(models)]
    weights = {"weight" if len(models) == 1 else f"weight_{name}": gain / 3 for name in models}
    numbers = ["estimate", "std_error", "z", "p", "lower", "upper"]
    gains = human.drop(columns=numbers).assign(rho=gain / 3, **weights, gain=gain, n_effective=120 * gain)
    extra = {"human": human, "models": pd.concat(alone, ignore_index=True), "gains": gains}
    known = {
        "alpha": 0.05, "feature": "slur", "model": list(models), "tuning": "coefficient", "folds": 5,
        "seed": 1, "vcov": "CR2", "n_labelled": 1440, "n_other": 4560,
    }  # fmt: skip
    found = moved(1.1, 1 / np.sqrt(gain))
    return Result(found, "prediction_powered", ("One model was <slow>.",), {**known, **settings}, extra)


def bounded(frame: pd.DataFrame, keys: tuple[str, ...] = ("judge", "prompt"), **settings: Any) -> Result:
    """Estimates with bounds around them, wider from judge to judge; one conclusion in three holds."""
    place = frame.groupby(list(keys), sort=False, observed=True).ngroup()
    half = np.where(frame["std_error"].isna(), 0.0, 0.02 + 0.01 * place)
    rows = np.arange(len(frame))
    tested = frame["std_error"].notna().to_numpy()
    turns = tested & (rows % 3 > 0)
    known = frame.drop(columns=[name for name in frame if name.startswith("boot_")])
    estimate, lower, upper = (frame[name] for name in ("estimate", "lower", "upper"))
    table = known.assign(bound_lower=estimate - half, bound_upper=estimate + half)
    table = table.assign(ci_lower=lower - half, ci_upper=upper + half, tipping_estimate=0.5)
    table["tipping_interval"] = np.where(turns, (1 + rows) / (2 + len(rows)), np.nan)
    table["conclusion"] = np.where(turns, "turns", np.where(tested, "holds", "none"))
    before = list(table.columns).index("estimate")
    table.insert(before, "n_answered", 90 - 5 * place)
    table.insert(before + 1, "n_asked", 100)
    counts = table[list(keys)].drop_duplicates().astype("string").reset_index(drop=True)
    counts = counts.assign(n_answered=900 - 50 * counts.index, n_asked=1000)
    whole = counts.iloc[[0]].assign(**{keys[0]: "complete", "n_answered": 1000})
    extra = {"answered": pd.concat([counts, whole], ignore_index=True)}
    base = {"alpha": 0.05, "null": 0.0, "counted": "choices", "direction": None}
    return Result(table, "bounds", ("One model was silent.",), {**base, **settings}, extra)


def engines_summary() -> pd.DataFrame:
    rows = [("survey", True, 0.01, 0.0, 0.0, ""), ("native", True, 0.8, 3e-15, 4e-13, "")]
    rows.append(("cregg", False, None, None, None, "R is missing"))  # type: ignore[arg-type]
    largest = ["max_abs_difference_estimate", "max_rel_difference_std_error"]
    return pd.DataFrame(rows, columns=["engine", "available", "seconds", *largest, "note"])


def frequencies_frame() -> pd.DataFrame:
    shown = amce_frame()[["judge", "prompt", "variant", "feature", "level"]]
    return shown.assign(statistic="frequencies", estimate=np.arange(len(shown)) + 100.0)


def truth_frame(table: pd.DataFrame, error: float) -> pd.DataFrame:
    keys = ["judge", "prompt", "statistic", "feature", "level"]
    true = table["estimate"] - error
    return table[keys].astype(str).assign(analysis="amce", by="", estimate=true)


def write_simulated_results(folder: Path, error: float = 0.03) -> Path:
    """Results of simulated choices, every estimate ``error`` above its true value."""
    write_results(folder)
    main = amce_frame()
    truth = truth_frame(main, error)
    tables = {"amce": main, "truth": truth, "recovery": effect_recovery(truth, {"amce": main})}
    for name, table in tables.items():
        table.to_parquet(folder / "tables" / f"{name}.parquet")
    write_manifest(folder, simulated=True)
    return folder


def write_results(folder: Path) -> Path:
    main = amce_frame()
    right = main[main["judge"] == "model_x"]
    printed = right[(right["prompt"] == "baseline") & right["std_error"].notna()]
    as_published = right[right["prompt"] == "baseline"].assign(variant="as_published")
    means = main.assign(statistic="mm", estimate=0.5 + main["estimate"] / 4, std_error=0.01)
    engines = main.head(9)[["feature", "level"]].assign(
        estimate_native=main["estimate"], std_error_native=main["std_error"],
        estimate_survey=main["estimate"], std_error_survey=main["std_error"],
    )  # fmt: skip
    tables = {
        "amce": pd.concat([main, as_published], ignore_index=True),
        "amce_slur": main[main["level"] != "none"],
        "amce_by_identity": difference_frame(),
        "mm": means.assign(lower=means["estimate"] - 0.02, upper=means["estimate"] + 0.02),
        "frequencies": frequencies_frame(),
        "answers": pd.DataFrame(
            {"judge": "model_x", "prompt": "baseline", "status": ["ok", "refused"], "n": [1990, 10]}
        ),
        "published": printed[["judge", "feature", "level", "estimate", "lower", "upper"]].assign(
            estimate=printed["estimate"] + 0.004, source="made up"
        ),
        "engines": engines,
        "engines_summary": engines_summary(),
    }
    (folder / "tables").mkdir(parents=True)
    for name, table in tables.items():
        table.to_parquet(folder / "tables" / f"{name}.parquet")
    write_manifest(folder)
    return folder


ANALYSES = {
    "amce": ("amce", "Effects of all attributes", {}),
    "amce_slur": ("amce", "Kinds of insult", {"exclude": {"slur": ["none"]}}),
    "amce_by_identity": ("amce_diffs", "Effects by author", {"by": ["identity"], "feature": "slur"}),
    "mm": ("mm", "Marginal means", {"h0": 0.5}),
    "frequencies": ("cj_freqs", "How often each level was shown", {"id": None, "n_clusters": None}),
}


def record(name: str, verb: str, title: str, **given: object) -> dict[str, object]:
    """An analysis as a manifest has it."""
    return {
        "name": name, "verb": verb, "title": title, "id": "judge_id or pair_id",
        "formula": "chosen ~ slur + identity + curse", "by": [], "engine": "native", "alpha": 0.05,
        "interval": "percentile", "draws": 500, "seed": 7, "unit": "pair_id", "n_rows": 4000,
        "n_used": 3980, "n_clusters": 1990, "n_dropped": 20, "exclude": {},
        "groups": [{"judge": "human"}, {"judge": "model_x"}], "seconds": 0.1,
        "table": f"tables/{name}.parquet", **given,
    }  # fmt: skip


SOFTWARE = {
    "units": UNITS_OF_FILES, "created": "2025-01-02T03:04:05+00:00", "conjury": "0.1.0", "commit": None,
    "python": "3.12", "packages": {"numpy": "2.4"}, "r": None,
}  # fmt: skip
FILE = {"name": "choices", "file": "choices.parquet", "sha256": "0f" * 32, "rows": 4000, "variant": ""}
COMPARED = {
    "analysis": "amce", "title": "Effects of all attributes", "verb": "amce", "by": [],
    "formula": "chosen ~ slur + identity", "judge": "model_x", "prompt": "context", "id": "pair_id",
    "alpha": 0.1, "engines": ["survey", "native", "cregg"], "reference_engine": "survey", "n_rows": 1200,
    "command": "conjury compare moderation", "data": [FILE | {"file": "other.csv", "rows": 1200}],
    "simulated": False, "notes": ["Cregg was <slow>."], **SOFTWARE, "created": "2025-03-04T03:04:05+00:00",
}  # fmt: skip


def manifest(**given: object) -> dict[str, object]:
    return {
        "study": "moderation", "title": "Made-up <b>numbers</b>", **SOFTWARE,
        "command": "conjury fit moderation --data choices.parquet", "data": [FILE],
        "analyses": [record(name, verb, title, **more) for name, (verb, title, more) in ANALYSES.items()],
        "notes": ["10 answers were <refused>."], "refusal": "missing", "compared": COMPARED,
        "labels": {
            "features": {"slur": "Insult"},
            "levels": {"slur": {"generic": "Generic insult", "racism": LEVEL_WITH_MARKUP}},
            "judges": {"model_x": "Model X"}, "prompts": {"context": "Context matters"},
        },
        **given,
    }  # fmt: skip


def write_manifest(folder: Path, **given: object) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest(**given)), encoding="utf-8")


CHECKS = pd.DataFrame(
    [
        ("design_card", "Design card", "What was varied?", "pass", "All was varied.", "", False),
        ("position_share", "Preference for a position", "Is A chosen as often?", "fail",
         f"Not so {LEVEL_WITH_MARKUP}.", "Show pairs *twice*.", True),
        ("answers", "Answers' ties", "One chosen?", "look", "Two ties.", "Drop them.", False),
        ("response_times", "Response times", "Too fast?", "not_applicable", "No times.", "", False),
    ],
    columns=["name", "title", "question", "verdict", "finding", "remedy", "figure"],
)  # fmt: skip
POSITION_SHARE = pd.DataFrame(
    {
        "judge": ["human", "model_x"], "prompt": ["", "context"], "estimate": [0.5, 0.6],
        "lower": [0.45, 0.55], "upper": [0.55, 0.65],
    }
)  # fmt: skip
DIAGNOSED = {
    "alpha": 0.01, "seed": 9, "created": "2025-05-06T07:08:09+00:00",
    "command": "conjury check moderation",
    "data": [{"name": "choices", "file": "other.csv", "sha256": "0e" * 32, "rows": 123, "variant": ""}],
    "notes": ["One <note>."], "checks": list(CHECKS["name"]), "simulated": True,
}  # fmt: skip


BATTERY = pd.DataFrame(
    {
        "code": ["CJ101", "CJ303", "CJ301", "CJ203", "CJ399"],
        "name": [*CHECKS["name"], "made_up"],
        "title": [*CHECKS["title"], "A check <of> answers"],
        "question": [*CHECKS["question"], "Are answers repeated?"],
        "verdict": ["pass", "error", "warning", "not_applicable", "warning"],
        "finding": [*CHECKS["finding"], f"Two answers are repeated {LEVEL_WITH_MARKUP}."],
        "consequence": ["", "Effects are biased.", "Pairs are missing.", "", "Answers count twice."],
        "remedy": [*CHECKS["remedy"], "Exclude copies."],
        "suppressed": ["", "", "Refusals are the *outcome*.", "", ""],
        "alarms": ["never", "test", "rule", "rule", "rule"],
        "axis": ["", "", "", "", "Share of answers"],
        "p": pd.array([None, 0.001, None, None, None], dtype="Float64"),
        "figure": [False, True, False, False, True],
        "percent": [False, False, False, False, True],
    }
)
EVIDENCE = pd.DataFrame({"judge_id": "model_x", "item_id": [f"i{k}" for k in range(12)], "row": range(1, 13)})


def write_checked(folder: Path) -> Path:
    """Results of `conjury check`."""
    (folder / "tables").mkdir(parents=True)
    tables = {
        "battery": BATTERY,
        "checked_position_share": POSITION_SHARE,
        "checked_made_up": POSITION_SHARE.assign(label=["twice", LEVEL_WITH_MARKUP]),
        "checked_made_up_evidence": EVIDENCE,
    }
    for name, table in tables.items():
        table.to_parquet(folder / "tables" / f"{name}.parquet")
    settings = {"alpha": 0.05, "seed": 1, "false_alarms": "Sound data alarm in 2% of studies."}
    entry = {"name": "battery", "kind": "battery", "title": "Checks", "settings": settings, "part": "checked"}
    run = {**DIAGNOSED, **settings, "command": "conjury check runs/moderation --out results"}
    made = manifest() | {"format": 2, "results": [entry], "parts": {"checked": run}}
    (folder / "manifest.json").write_text(json.dumps(made), encoding="utf-8")
    return folder


def robustness_tables() -> dict[str, pd.DataFrame]:
    """Reliability, standard errors by stimuli and power of two judges, as `conjury check` writes them."""
    effects = amce_frame().query("feature == 'slur' and std_error.notna() and prompt != 'baseline'")
    keys = effects[["judge", "prompt", "feature", "level", "estimate"]]
    choices = {"pair_id (survey)": ("survey", 1.0), "text (CR2)": ("CR2", 1.6), "mixed model": ("mixed", 1.8)}
    errors = [
        keys.assign(
            choice=choice, method=method, ratio=ratio + 0.01 * np.arange(len(keys)), n_clusters=12,
            clusters="text, text:slur" if method == "mixed" else "text", std_error=0.02 * ratio,
            lower=keys["estimate"] - 0.04 * ratio, upper=keys["estimate"] + 0.04 * ratio,
        )
        for choice, (method, ratio) in choices.items()
    ]  # fmt: skip
    judges = pd.DataFrame({"judge": ["human", "model_x"], "prompt": ["", "context"]})
    reliability = judges.assign(
        sides="swapped", n_repeats=60, n_compared=58, n_unanswered=2, agreement=[0.8, 0.7], lower=[0.7, 0.6],
        upper=[0.9, 0.8], tau=[0.1, 0.2], verdict="Above chance.",
    )  # fmt: skip
    position = judges.assign(
        same_profile=[0.8, 0.7], always_a=[0.1, 0.2], always_b=0.1, net_bias=[0.0, 0.1],
        net_lower=[-0.1, 0.0], net_upper=[0.1, 0.2], net_p=[1.0, 0.0004], share_a=[0.5, 0.6],
        n_compared=58, share_lower=[0.4, 0.5],
        share_upper=[0.6, 0.7], same_lower=[0.7, 0.6], same_upper=[0.9, 0.8],
    )  # fmt: skip
    power = keys.assign(
        pairs=2000, alpha=0.05, power=0.8, effect_design=0.06, effect_found=0.1, errors="text", std_error=0.02
    )
    return {
        "errors": pd.concat(errors, ignore_index=True),
        "reliability": reliability,
        "position": position,
        "corrected": pd.concat([effects.assign(source="observed"), effects.assign(source="corrected")]),
        "power": power,
    }


def write_diagnosed(folder: Path, **given: Any) -> Path:
    """Results with a diagnosis."""
    write_results(folder)
    tables = {"diagnosis": CHECKS, "check_position_share": POSITION_SHARE, **robustness_tables()}
    for name, table in tables.items():
        table.to_parquet(folder / "tables" / f"{name}.parquet")
    robustness = sorted(robustness_tables())
    write_manifest(folder, diagnosed={**DIAGNOSED, "robustness": robustness, **given})
    return folder


def write_items(folder: Path, results: Mapping[str, Result], **given: Any) -> Path:
    """A results folder of ratings or labels; titles are those of kinds."""
    records = []
    for name, result in results.items():
        named = NamedResult(name, name.replace("_", " ").capitalize(), result, 0.1)
        for table, frame in tables_of(named).items():
            write_table(frame, folder / "tables" / f"{table}.parquet")
        records.append(entry_of(named))
    whole = {
        "format": 2, "study": "jokes", "title": "Jokes", **SOFTWARE, "command": "conjury fit jokes",
        "data": [],
        "notes": [], "files": [], "results": records,
        "labels": {"judges": {"gpt_4_1": "GPT-4.1"}, "levels": {"dimension": {"fun": "Overall fun"}}},
        **given,
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(record_notes(whole)), encoding="utf-8")
    return folder
