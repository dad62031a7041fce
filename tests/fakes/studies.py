"""Small studies for tests of collecting: a conjoint of towns, and items in each response form."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from conjury.cli.commands.collecting.collect import collect_and_show
from conjury.inference.collecting import Asking, Running
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Request
from conjury.inference.ledger.writer import unpack
from conjury.inference.requests.building import Builder
from conjury.inference.study import load_any_study

MODEL = "gpt-4o-mini"  # a model with a price
PAIRS = 40

FAKES = Path(__file__).parent
TRUTH = (FAKES / "towns_truth.csv").read_text(encoding="utf-8")
RATINGS = {
    "form": "ratings",
    "scales": [
        {"id": "threat", "label": "Threat", "maximum": 4},
        {"id": "hate", "label": "Hate", "minimum": 1, "maximum": 7},
    ],
}
LABELS = [
    {"id": "hateful", "label": "Hateful", "aliases": ["hate"]},
    {"id": "offensive", "label": "Offensive"},
    {"id": "fine", "label": "Fine"},
]
TEXTS = ["Hello.\nSecond line.", "A bad word.\nAnother.", "Nothing here.\nOr there.", "Last one.\nEnd."]


def towns() -> dict[str, Any]:
    """Return the content of a conjoint study with two prompts and two judges."""
    return dict(yaml.safe_load((FAKES / "towns.yaml").read_text(encoding="utf-8")))


def items(response: dict[str, Any], **ask: Any) -> dict[str, Any]:
    """Return the content of a study of items."""
    return {
        "name": "posts",
        "title": "How bad are these posts?",
        "kind": "items",
        "question": "How bad is this post?",
        "items": "items.csv",
        "response": response,
        "collect": {"noun": "Post"},
        "prompts": [{"id": "plain", "label": "Plain", "template": "plain.j2"}],
        "judges": [_judge("judge", **{"answer": "json", **ask})],
    }


def _judge(name: str, **ask: Any) -> dict[str, Any]:
    return {"id": name, "label": name.title(), "kind": "model", "ask": {"model": MODEL, **ask}}


def write_study(folder: Path, content: dict[str, Any], texts: list[str] | None = None) -> Path:
    """Write a study with its prompts, truth table and items; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    (folder / "rules.j2").write_text("Say nothing else.", encoding="utf-8")
    (folder / "plain.j2").write_text('{{ question }} {% include "rules.j2" %}', encoding="utf-8")
    (folder / "strict.j2").write_text("Be strict. {{ question }}", encoding="utf-8")
    if content["kind"] == "conjoint":
        (folder / "truth.csv").write_text(TRUTH, encoding="utf-8")
    else:
        texts = TEXTS if texts is None else texts
        table = {"item_id": [f"post_{n}" for n in range(len(texts))], "modality": "text", "text": texts}
        pd.DataFrame(table).to_csv(folder / "items.csv", index=False)
    return folder


def change_study(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Apply ``change`` to the content of a study file."""
    path = folder / "study.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def collect(
    study: Path, out: Path, judge: str = "judge", prompts: list[str] | None = None, **options: Any
) -> int:
    """Collect as the command does; options are those of ``Asking`` and ``Running``."""
    dry_run, until = options.pop("dry_run", False), options.pop("until", None)
    asking = Asking(**{name: options.pop(name) for name in tuple(options) if name in vars(Asking())})
    call = {"prompts": prompts, "out": out, "asking": asking, "running": Running(**options)}
    return collect_and_show(str(study), judge, dry_run=dry_run, until=until, **call)


def requests_of(
    folder: Path, ledger: Ledger | None = None, run: Path | None = None, judge: str = "judge", **ask: Any
) -> list[Request]:
    """Build all requests of a study to one judge, its way of asking changed."""
    study = load_any_study(folder)
    asked = next(known.ask for known in study.judges if known.id == judge).model_copy(update=ask)
    made = RunFolder(run or folder.parent / "run")
    builder = Builder(study, judge, asked, study.prompts, made.media(study, ledger))
    return list(builder.requests(made.content(study).subjects()))


def write_media(folder: Path, modality: str, *names: str, takes: list[str] | None = None, **how: Any) -> Path:
    """Write a study of images or clips that one judge takes in some way; ``how`` changes its collection."""
    content = items({"form": "label", "labels": LABELS}, **({} if takes is None else {"takes": takes}))
    content["collect"] |= how
    write_study(folder, content, list(names))
    rows = "".join(f"post_{n},{modality},{name}\n" for n, name in enumerate(names))
    (folder / "items.csv").write_text(f"item_id,modality,media\n{rows}", encoding="utf-8")
    return folder


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(run / f"{name}.parquet")


def verdicts(run: Path, name: str = "choices") -> pd.DataFrame:
    """Return a table of a run in a fixed order, without what tells one run from another."""
    found = table(run, name)
    passing = ["created", "latency", "attempts", "round", "batch", "rule"]
    found = found.drop(columns=[column for column in passing if column in found])
    keys = [
        column
        for column in ("judge_id", "prompt_id", "pair_id", "task_id", "item_id", "sample", "position")
        if column in found
    ]
    keys += ["dimension"] if "dimension" in found else []
    return found.sort_values(keys).reset_index(drop=True)


def everything_said(folder: Path) -> bytes:
    """Return all bytes of a folder, and what its tables and ledgers hold in compressed form."""
    found = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    found += [pd.read_parquet(path).to_csv().encode() for path in folder.rglob("*.parquet")]
    for path in folder.rglob("ledger.sqlite"):
        with Ledger.open(path, write=False) as ledger:
            for answered in chain.from_iterable(ledger.answers()):
                found.append(json.dumps(ledger.request_body(answered.key)).encode())
                found += ledger.answer_bodies(answered.key)
        db = sqlite3.connect(path)
        found.append("\n".join(db.iterdump()).encode())
        bodies = db.execute("SELECT body FROM attempts WHERE body IS NOT NULL")
        found += [unpack(body) for (body,) in bodies]
        db.close()
    return b"\n".join(found)
