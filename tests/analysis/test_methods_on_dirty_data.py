"""Methods that take several kinds of data, on small dirty tables: numbers, notes and settings are stored.

``CONJURY_SNAPSHOTS=write`` stores them anew; look at the difference before you commit it.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.corrections import CORRECTIONS

from conjury.analysis import benchmark, conjoint, raters
from conjury.analysis.benchmark import score
from conjury.analysis.conjoint import amce, amce_diffs, mm
from conjury.analysis.instrument import variance_components

FILE = Path(__file__).parents[1] / "fixtures" / "methods_on_dirty_data.json"
TOLERANCE = 1e-9  # processors round differently, and optimisers stop at another place


def choices() -> pd.DataFrame:
    """Choices of pairs with a rare level, missing answers, and a judge who has most of them."""
    rng, n = np.random.default_rng(7), 260
    judge = np.where(rng.random(n) < 0.6, "j0", rng.choice([f"j{k}" for k in range(1, 9)], n))
    first, answered = rng.integers(0, 2, n), rng.random(n) > 0.12
    rows = []
    for position in (0, 1):
        chosen = np.where(answered, (first == position).astype(float), np.nan)
        columns = {"pair_id": [f"p{k}" for k in range(n)], "position": "AB"[position], "judge_id": judge}
        levels = {"tone": ["kind", "rude", "vile"], "topic": ["art", "law"]}
        drawn = {
            name: rng.choice(values, n, p=[0.5, 0.46, 0.04][: len(values)] if len(values) > 2 else None)
            for name, values in levels.items()
        }
        rows.append(pd.DataFrame(columns | drawn | {"chosen": chosen, "wave": np.arange(n) % 2}))
    return pd.concat(rows).sort_values("pair_id", kind="stable", ignore_index=True)


def outcomes() -> pd.DataFrame:
    """Single ratings of profiles, 1 to 5, with gaps: no forced choice."""
    table, rng = choices(), np.random.default_rng(3)
    value = pd.Series(rng.integers(1, 6, len(table)) + (table["tone"] == "kind").to_numpy(float))
    value = value.clip(1, 5).where(rng.random(len(table)) > 0.08)
    return table.drop(columns=["chosen", "pair_id", "position"]).assign(rating=value)


def ratings(n: int = 220) -> pd.DataFrame:
    """Ratings 0 to 3 of items in clusters of very unequal size by people and models, one of them silent."""
    rng, rows = np.random.default_rng(11), []
    for name, kind in (("ann", "human"), ("bob", "human"), ("gpt", "model"), ("mute", "model")):
        value = rng.integers(0, 4, n).astype(float)
        value[rng.random(n) < (1.0 if name == "mute" else 0.1)] = np.nan
        rows.append(pd.DataFrame({"judge_id": name, "judge_kind": kind, "value": value}))
    table = pd.concat([part.assign(item_id=[f"i{k:03d}" for k in range(n)]) for part in rows])
    cluster = np.where(np.arange(n) < n // 2, 0, np.arange(n) % 7)
    return table.assign(
        cluster=np.tile(cluster.astype(str), 4), topic=np.tile(np.arange(n) % 2, 4).astype(str)
    )


def scored() -> benchmark.Scored:
    """Labels of three classes, one of them rare, by two models and one that is silent."""
    rng, n = np.random.default_rng(5), 60
    gold = rng.choice(["a", "b", "c"], n, p=[0.6, 0.35, 0.05])
    items, rows = [f"i{k:02d}" for k in range(n)], []
    for name, quality in (("good", 0.85), ("weak", 0.5), ("mute", 0.0)):
        value = np.where(rng.random(n) < quality, gold, rng.choice(["a", "b", "c"], n)).astype(object)
        value[rng.random(n) < (0.1 if quality else 1.0)] = None
        rows.append(pd.DataFrame({"judge_id": name, "judge_kind": "model", "item_id": items, "value": value}))
    judged = pd.concat(rows).assign(dimension="task")
    topics = pd.DataFrame({"item_id": items, "topic": [str(k % 2) for k in range(n)]})
    return score(judged, pd.DataFrame({"item_id": items, "label_set": "task", "label": gold}), items=topics)


def decisions(balanced: bool) -> pd.DataFrame:
    """Ratings of items by two judges under three prompts, with effects of both; a fifth is missing."""
    rng = np.random.default_rng(2)
    index = pd.MultiIndex.from_product(
        [["m", "n"], range(12), list("pqr"), [1, 2]], names=["judge_id", "item_id", "prompt_id", "sample"]
    )
    item, prompt, both = rng.normal(size=12), rng.normal(size=3), rng.normal(size=(12, 3))
    table = index.to_frame(index=False).assign(judge_kind="model")
    code = table["prompt_id"].map("pqr".index).to_numpy()
    value = item[table["item_id"]] + prompt[code] + both[table["item_id"], code] + rng.normal(size=len(table))
    table = table.assign(value=value, item_id=table["item_id"].astype(str))
    return table if balanced else table[rng.random(len(table)) > 0.2]


ALL = "chosen ~ tone + topic"
CASES: dict[str, Callable[[], Any]] = {
    "bounds amce": lambda: conjoint.bounds(amce, choices(), ALL, id="judge_id"),
    "bounds amce for": lambda: conjoint.bounds(amce, choices(), ALL, id="judge_id", direction="for"),
    "bounds amce CR2": lambda: conjoint.bounds(amce, choices(), ALL, id="judge_id", vcov="CR2"),
    "bounds mm against": lambda: conjoint.bounds(mm, choices(), ALL, id="judge_id", direction="against"),
    "bounds of a level in one cluster": lambda: conjoint.bounds(
        mm, choices().query("judge_id == 'j0' or tone != 'vile'"), ALL, id="judge_id"
    ),
    "bounds amce_diffs": lambda: conjoint.bounds(amce_diffs, choices(), ALL, id="judge_id", by="wave"),
    "bounds of two ways": lambda: conjoint.bounds(amce, choices(), ALL, id=["judge_id", "wave"]),
    "bounds of ratings of profiles": lambda: conjoint.bounds(
        mm, outcomes(), "rating ~ tone + topic", id="judge_id", limits=(1, 5), h0=3.0
    ),
    "bounds means": lambda: raters.bounds(ratings(), scale=range(4), cluster="cluster", draws=200),
    "bounds means by": lambda: raters.bounds(
        ratings(40), scale=range(4), by="topic", overall=True, direction="for", null=1.0, draws=200
    ),
    "bounds proportions": lambda: raters.bounds(
        ratings(40), statistic="proportion", at_least=[2, 3], direction="against", null=0.5, draws=200
    ),
    "bounds shares": lambda: raters.bounds(
        ratings(40).assign(value=lambda table: table["value"].map(dict(enumerate("wxyz")))),
        statistic="share", draws=200,
    ),
    "bounds means one cluster": lambda: raters.bounds(
        ratings(20).assign(cluster="a"), scale=range(4), cluster="cluster", draws=200
    ),
    "bounds scores": lambda: benchmark.bounds(scored(), draws=200),
    "bounds scores by": lambda: benchmark.bounds(
        scored(), by=["topic"], metrics=["accuracy", "recall_b"], direction="for", draws=200
    ),
    "bounds scores null": lambda: benchmark.bounds(
        scored(), metrics=["accuracy", "share_c"], direction="against", null=0.5, missing="missing", draws=200
    ),
    "sequence amce": lambda: conjoint.sequential(
        amce, choices(), ALL, id="pair_id", looks=[50, 120, 220, 900]
    ),
    "sequence mm": lambda: conjoint.sequential(
        mm, choices(), ALL, id="pair_id", target=100, looks=[99, 200]
    ),
    "sequence of few clusters": lambda: conjoint.sequential(mm, choices(), ALL, id="judge_id", looks=[4, 9]),
    "sequence means": lambda: raters.sequential(raters.means, ratings(), looks=[40, 150, 220], draws=200),
    "sequence means of clusters": lambda: raters.sequential(
        raters.means, ratings(), cluster="cluster", looks=[3, 7], draws=200
    ),
    "sequence agreement": lambda: raters.sequential(
        raters.agreement, ratings(180).query("judge_kind == 'human'"), looks=[90, 180], draws=0,
        coefficients="gwet",
    ),
    "mixed": lambda: conjoint.mixed(outcomes(), "rating ~ tone + topic", random=["judge_id", "wave"]),
    "mixed of one factor": lambda: conjoint.mixed(choices(), ALL, random="judge_id"),
    "mixed logit": lambda: benchmark.mixed_logit(scored(), missing="missing"),
    "mixed logit by": lambda: benchmark.mixed_logit(scored(), by=["topic"], errors="model", reference="weak"),
    "components anova": lambda: variance_components(decisions(True), draws=200),
    "components reml": lambda: variance_components(decisions(False), draws=200),
    **CORRECTIONS,
}  # fmt: skip


def numbers_of(result: Any) -> dict[str, Any]:
    """The table of a result, and its notes and settings where it has them."""
    frame = result.frame.astype(
        {name: str for name, kind in result.frame.dtypes.items() if kind == "category"}
    )
    content = {
        "frame": frame.to_dict("list"),
        "notes": list(getattr(result, "notes", ())),
        "settings": getattr(result, "settings", {}),
        "extra": {name: table.to_dict("list") for name, table in getattr(result, "extra", {}).items()},
    }
    return dict(json.loads(json.dumps(content, default=lambda value: value.item())))


def leaves(content: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value in dictionaries and lists, with its place."""
    if not isinstance(content, dict | list):
        yield place, content
        return
    for name, part in content.items() if isinstance(content, dict) else enumerate(content):
        yield from leaves(part, f"{place}/{name}")


@pytest.mark.parametrize("name", CASES)
def test_numbers_notes_and_settings_are_those_stored(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = numbers_of(CASES[name]())
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if os.environ.get("CONJURY_SNAPSHOTS") == "write":
        stored[name] = content
        text = json.dumps(stored, separators=(",", ":")).replace('},"', '},\n"')
        FILE.write_text(f"{text}\n", encoding="utf-8")
    expected = stored[name]
    assert list(content["frame"]) == list(expected["frame"])
    found, wanted = dict(leaves(content)), dict(leaves(expected))
    numbers = [place for place, value in wanted.items() if isinstance(value, float)]
    assert {place: found.pop(place) for place in numbers} == pytest.approx(
        {place: wanted.pop(place) for place in numbers}, rel=TOLERANCE, abs=TOLERANCE, nan_ok=True
    )
    assert found == wanted
