"""Runs to be viewed: answers of every kind, people's answers, pictures; and browsers of their pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fakes.studies import RATINGS, items, requests_of, towns, write_study
from PIL import Image
from starlette.testclient import TestClient

from conjury.inference.collecting.past_runs import write_tables
from conjury.inference.collecting.prices import read_prices
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome
from conjury.inference.panel.view.blind_labelling import DesignPairs, Event, label_tables
from conjury.inference.panel.view.filters import CheckAlarm, Collection
from conjury.inference.panel.view.run_sources import open_sources
from conjury.inference.panel.view.view_app import make_app
from conjury.inference.panel.view.viewed_answers import gather
from conjury.inference.study import load_any_study
from conjury.inference.tables import write_table
from made_up.panels import HERE, SECRET, hidden, in_thread

TEXTS = [
    "A",
    "B",
    '{"choice": "A"}',
    "I'm sorry, but I can't help with that.",
    "",
    "Neither of them, I think.",
]


def completion(text: str) -> bytes:
    """Body of an answer."""
    message = {"role": "assistant", "content": text}
    return json.dumps({"model": "m-1", "choices": [{"message": message, "finish_reason": "stop"}]}).encode()


def answer_run(study: Path, run: Path, texts: Sequence[str], judges: Sequence[str] = ("judge",)) -> None:
    """Answer all requests of a study by texts in turn, and write the tables of the run."""
    known, folder = load_any_study(study), RunFolder(run)
    content = folder.content(known)
    with Ledger.open(folder.ledger) as ledger:
        ledger.set("inputs", {"study": known.name, "judges": {}, "prompts": {}})
        for shift, judge in enumerate(judges):
            requests = requests_of(study, ledger, run, judge, takes=["image"])
            for number, request in enumerate(ledger.pending(requests)):
                ledger.record(Outcome(request.key, completion(texts[(number + shift) % len(texts)])))
        ledger.flush()
        write_tables(known, ledger, folder, content, read_prices(None), "default")


def write_people(study: Path, run: Path, choices: dict[str, dict[str, str]]) -> None:
    """Write answers of people to tasks, by person and task, as a panel exports them."""
    known, design = load_any_study(study), RunFolder(run).design
    pairs = None if design is None else DesignPairs(design.asked("all"), design.profiles)
    made: dict[str, list[pd.DataFrame]] = {}
    for person, given in choices.items():
        events = [
            Event(number, "label", task, 1.7e9 + number, 1, {"choice": position}, {"response_ms": 900.0})
            for number, (task, position) in enumerate(given.items(), start=1)
        ]
        for name, table in label_tables(known, person, events, pairs).items():
            made.setdefault(name, []).append(table)
    for name, tables in made.items():
        write_table(pd.concat(tables, ignore_index=True), run / "people" / f"{name}.parquet")


def town_run(
    folder: Path, texts: Sequence[str] = TEXTS, hostile: str = "Small <b>", pairs: int = 12, **changes: Any
) -> tuple[Path, Path]:
    """Write a conjoint of towns with two judges, people, and a level in hostile words."""
    content = towns() | changes
    content["attributes"][0]["levels"][0]["label"] = hostile
    content["design"] |= {"pairs": pairs}
    content["collect"] |= {"swapped_share": 0.5}
    study, run = write_study(folder / "towns", content), folder / "runs" / "towns"
    answer_run(study, run, texts, ("judge", "other"))
    tasks = sorted(RunFolder(run).design.tasks["task_id"].unique())[:6]
    write_people(study, run, {f"human_000{n}": dict.fromkeys(tasks, "AB"[n == 3]) for n in (1, 2, 3)})
    return study, run


def picture_run(folder: Path) -> tuple[Path, Path]:
    """Write a study of pictures that are rated, with a run."""
    content = items(RATINGS, takes=["image"])
    study = write_study(folder / "posts", content, ["one", "two", "three"])
    for number in range(3):
        Image.new("RGB", (32, 20), (60 * number, 120, 160)).save(study / f"picture_{number}.png")
    table = pd.DataFrame(
        {
            "item_id": [f"post_{n}" for n in range(3)],
            "modality": "image",
            "text": [None, "With a text", None],
            "media": [f"picture_{n}.png" for n in range(3)],
            "genre": ["joke", "joke", "news"],
        }
    )
    table.to_csv(study / "items.csv", index=False)
    run = folder / "runs" / "posts"
    answer_run(study, run, ['{"threat": 1, "hate": 3}', "threat: 2", "no"])
    return study, run


def collection_of(study: Path, *runs: Path, fired: Sequence[CheckAlarm] = ()) -> Collection:
    """Open runs as the command does."""
    sources = open_sources([str(run) for run in runs], str(study / "study.yaml"))
    return Collection(sources, gather(sources.runs), tuple(fired))


def client_of(collection: Collection, **options: Any) -> TestClient:
    """Return a browser without scripts."""
    app = make_app(collection, secret=SECRET, **options)
    return TestClient(app, raise_server_exceptions=False, **HERE)


@contextmanager
def served(collection: Collection, **options: Any) -> Iterator[str]:
    """Serve the pages in a thread; yield their address."""
    apps: list[Any] = []

    def app_at(port: int) -> Any:
        apps.append(make_app(collection, secret=SECRET, port=port, **options))
        return apps[0]

    try:
        with in_thread(app_at) as address:
            yield address
    finally:
        apps[0].state.pages.close()


def send_label(client: TestClient, fields: dict[str, str], **changed: str) -> Any:
    """Answer the page of the present task; return the response that follows."""
    html = client.get("/label").text
    own = {"token": hidden(html, "token"), "step": hidden(html, "step")}
    return client.post("/label", data={**own, **{f"a.{k}": v for k, v in fields.items()}, **changed})


def many_answers(folder: Path, n: int) -> tuple[Path, Path]:
    """Write a run with so many answers of two judges under two prompts, without a ledger."""
    content = towns()
    study, run = write_study(folder / "towns", content), folder / "runs" / "towns"
    known = load_any_study(study)
    design = RunFolder(run).draw(known, n // 4, 0.0, None)  # type: ignore[arg-type]
    tasks = design.tasks["task_id"].iloc[::2].to_numpy()
    rng = np.random.default_rng(1)
    text = rng.choice(["A", "B", "I would choose B, since it is large.", ""], n, p=[0.45, 0.45, 0.05, 0.05])
    value = pd.Series(text).map({"A": "A", "B": "B", "I would choose B, since it is large.": "B"})
    asked = pd.DataFrame(
        {
            "judge_id": np.repeat(["judge", "other"], n // 2),
            "judge_kind": "model",
            "task_id": np.tile(np.repeat(tasks, 2), 2),
            "prompt_id": np.tile(["plain", "strict"], n // 2),
            "sample": 1,
            "request_key": [f"{number:032x}" for number in range(n)],
        }
    )
    created = pd.Timestamp("2026-01-01", tz="UTC")
    write_table(asked.assign(study="towns", text=text, created=created), run / "responses.parquet")
    status = pd.Series(np.where(value.isna(), "empty", "ok"))
    judged = asked.assign(dimension="choice", value=value, status=status, rule="choice/lenient@2")
    write_table(judged, run / "judgments.parquet")
    return study, run
