"""A plan of labels in words: people that effects need, intervals, the split of a budget, tasks by stratum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from conjury.inference.design.sampling import BETWEEN
from conjury.inference.errors import money
from conjury.inference.study.models import Study

from ..frames.word_table import WordTable
from ..results import Result

MOST_STRATA = 30  # in a printed table


def labelling_blocks(
    study: Study, title: str, plan: Result, effects: Sequence[float], currency: str
) -> Iterator[str | WordTable]:
    """People that effects need, intervals, and the split of a budget; ``title`` is that of the analysis."""
    settings, effect, alpha = plan.settings, effects[0], float(plan.settings["alpha"])
    names = " and ".join(study.judge_labels.get(name, name) for name in settings["model"])
    yield (
        f"{study.title}\n{title}: {settings['people']:,.0f} people with {settings['tasks']:.3g} tasks each, "
        f"corrected by {names} with answers to {settings['other']:,.0f} other pairs\n"
        f"Two-sided tests at alpha {alpha:.3g}"
    )
    tables = (plan.extra["rows"], plan.extra["needed"], plan.frame)
    rows, needed, frame = (_labelled(table, study) for table in tables)
    ranked_rows = rows.sort_values("sd", ascending=False, kind="stable").drop_duplicates("feature")
    hardest, first = ranked_rows.sort_index(), ranked_rows["For"].iloc[0]
    needed = needed[["For", "effect", "people_human", "people", "cost_human", "cost"]]
    needed = pd.concat([hardest.merge(needed[needed["effect"] == value]) for value in effects])
    yield f"\nPeople needed for power {settings['power']:g}, hardest level of each attribute"
    yield _table(
        ("Effect", _texts(needed["effect"], "g")),
        ("Attribute", needed["Attribute"]),
        ("rho", _texts(needed["rho"], ".2f")),
        ("95%\ninterval", map("{:.2f}, {:.2f}".format, needed["rho_lower"], needed["rho_upper"])),
        ("saving\nat most", _texts(1 - 1 / needed["saving_limit"], ".0%")),
        ("people\nalone", _texts(needed["people_human"], endless="no number")),
        ("with\nmodel", _texts(needed["people"], endless="no number")),
        *_costs(needed),
        words=2,
    )
    frame = frame[(frame["For"] == first) & (frame["effect"] == effect)]
    yield f"\n{100 * (1 - alpha):g}% interval of {first}, and power for an effect of {effect:g}"
    yield _table(
        ("People", _texts(frame["people"])),
        ("width\nalone", _texts(frame["width_human"], ".3f")),
        ("with\nmodel", _texts(frame["width"], ".3f")),
        ("power\nalone", _texts(frame["power_human"], ".2f")),
        ("with\nmodel", _texts(frame["power"], ".2f")),
        *_costs(frame),
    )
    if "split" in plan.extra:
        budget = f"{currency} {money(settings['budget'])}".strip()
        split = plan.extra["split"].astype({"overall": bool})
        n_people = f"{split['people_alone'].iloc[0]:,.0f}"
        overall = split[split["overall"]].assign(For="All effects together")
        split = pd.concat([overall, hardest[["For"]].merge(_labelled(split[~split["overall"]], study))])
        yield (
            f"\nBest split of {budget}, enough for {n_people} people without a model; the model also answers "
            "their tasks"
        )
        yield _table(
            ("For", split["For"]),
            ("people", _texts(split["people"])),
            ("other\npairs", _texts(split["other"], endless="unlimited")),
            ("standard\nerror", _texts(split["std_error"], ".4f")),
            ("people\nalone", _texts(split["std_error_human"], ".4f")),
        )


def strata_blocks(
    study: Study, column: str, strata: pd.DataFrame, file: Path | None
) -> Iterator[str | WordTable]:
    """How many tasks to give to people in each stratum, the largest shares first; ``file`` has all."""
    people, labels = int(strata["people"].iloc[0]), study.level_labels.get(column, {})
    ranked_strata = strata.sort_values("share", ascending=False, kind="stable")
    first = ranked_strata.head(MOST_STRATA)
    names = first["stratum"].astype(str).str.split(BETWEEN, regex=False)
    yield f"\nTasks of {people:,} people by {study.feature_labels.get(column, column)} of both profiles"
    yield _table(
        ("Stratum", [" | ".join(labels.get(level, level) for level in levels) for levels in names]),
        ("tasks of\nmodel", _texts(first["tasks_model"])),
        ("of both", _texts(first["tasks_both"])),
        ("residual\nsd", _texts(first["residual_sd"], ".3f")),
        ("share", _texts(first["share"], ".1%")),
        ("tasks for\npeople", _texts(first["tasks"])),
    )
    if len(ranked_strata) > MOST_STRATA:
        yield f"and {len(ranked_strata) - MOST_STRATA:,} strata with smaller shares"
    hint = "" if file is not None else " (--out writes FILE)"
    yield (
        f"Next: conjury design {study.here} --people {people} --sample strata --strata {column} --allocation "
        f"{file or 'FILE'} --out FOLDER{hint}"
    )


def _labelled(table: pd.DataFrame, study: Study) -> pd.DataFrame:
    """A table with the labels of its attributes, and of these with their levels."""
    keys = table[["feature", "level"]].astype(str).to_numpy()
    features = [study.feature_labels[feature] for feature, _ in keys]
    levels = [study.level_labels[feature].get(level, level) for feature, level in keys]
    return table.assign(Attribute=features, For=list(map("{}: {}".format, features, levels)))


def _texts(values: Iterable[float], spec: str = ",.0f", endless: str = "inf") -> list[str]:
    """Numbers as texts; nothing where one is missing."""
    return [
        "" if math.isnan(value) else endless if math.isinf(value) else format(value, spec) for value in values
    ]


def _costs(frame: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """Columns of costs, if they are known."""
    if frame["cost"].isna().all():
        return []
    return [("cost\nalone", _texts(frame["cost_human"])), ("with\nmodel", _texts(frame["cost"]))]


def _table(*columns: tuple[str, Iterable[str]], words: int = 1) -> WordTable:
    """A table of columns with their headings; the first ``words`` are names."""
    heads, texts = zip(*columns, strict=True)
    return WordTable("", heads, list(zip(*texts, strict=True)), words=range(words))
