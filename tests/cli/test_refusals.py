"""What commands cannot do ends with exit code 2, one sentence, and nothing written."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from cases import cases
from fakes import vignettes
from fakes.studies import RATINGS, items, towns, write_study
from made_up import exports, panels
from made_up.choices import model_and_people
from made_up.ratings import ratings_by_few_people, write_rated_study
from made_up.results import write_results
from made_up.runs import town_run

from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import write_table
from conjury.inference.tables.files import EXAMPLES

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def choices(place: Path) -> None:
    made = simulate(
        load_study("moderation"), 1, pairs=60, judges=["gpt4o"], prompts=["baseline"], truth=False
    )
    made.choices.to_csv(place / "choices.csv", index=False)
    (place / "data.csv").write_text("judge_id,judge_kind,item_id,value\n", encoding="utf-8")


def completions(place: Path) -> None:
    columns = ("language", "task", "perturbation", "model", "run", "item_id", "prompt_no", "raw_completion")
    rows = [("en", 1, "none", "qwen3-8b", 1, "j1", 1, '{"category": "Pun"}')]
    pd.DataFrame(rows, columns=columns).to_parquet(place / "completions.parquet")
    table = pd.DataFrame({"item_id": ["j1"], "language": "en", "text": "One.\nTwo.", "kind": "Witty"})
    table.to_parquet(place / "items.parquet")
    (place / "lines.csv").write_text("item_id,line_no\nj1,1\n", encoding="utf-8")


def studies(place: Path) -> None:
    write_study(place / "towns", towns())
    write_study(place / "posts", items(RATINGS))
    (place / "plan.csv").write_text("stratum,share\nsmall | small,1\n", encoding="utf-8")
    with (place / "towns" / "truth.csv").open("a", encoding="utf-8") as file:
        file.write("human,human,,part_worth,size,large,2.0\n")


def designed(place: Path) -> None:
    studies(place)
    known = load_study(place / "towns" / "study.yaml")
    RunFolder(place / "runs" / "towns").draw(known, 30, 0.0, None)


def comments(place: Path) -> None:
    shutil.copytree(EXAMPLES / "judge", place, dirs_exist_ok=True)
    label = ["no", "yes"] * 15
    pd.DataFrame({"judge": label, "human": ["no", *label[:-1]]}).to_csv(place / "a.csv", index=False)


def people(place: Path) -> None:
    """A model on 600 pairs, people on 150 of them, and the model's other pairs alone."""
    models, panel = model_and_people()
    tables = {"models": models, "people": panel, "others": models.iloc[len(panel) :]}
    for name, table in tables.items():
        write_table(table, place / f"{name}.parquet")
    shutil.copytree(load_study("moderation").folder, place / "short")
    content = yaml.safe_load((place / "short" / "study.yaml").read_text(encoding="utf-8"))
    content["analyses"] = content["analyses"][:1]
    (place / "short" / "study.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")


def rated(place: Path, done: Callable[..., str]) -> None:
    table = ratings_by_few_people(labelled=18, dimensions=("warmth", "wit"))
    write_rated_study(place, table)
    table.assign(value=np.where(table.index == 7, 9, table["value"])).to_csv(place / "outside.csv")
    table.head(1).to_csv(place / "other.csv", index=False)
    done("fit study.yaml --data judgments.csv --draws 0 --out res", cwd=place, figures=())


def published(place: Path) -> None:
    (place / "small.csv").write_text("group,mean\nA,2.30\n", encoding="utf-8")
    described = "groups: [{check: mean_sd, numbers: {mean: mean}, settings: {scale: [1, 5], n: 10}}]"
    (place / "small.yaml").write_text(described, encoding="utf-8")


def texts(place: Path) -> None:
    table = pd.DataFrame({"item_id": ["j2", "j1"], "language": ["es", "en"], "text": ["Hola.", "Hi."]})
    write_table(table, place / "items.parquet")


def responses(place: Path) -> None:
    row = "m,model,nowhere,funny,1,text,A joke"
    head = "judge_id,judge_kind,item_id,prompt_id,sample,dimension,value"
    (place / "texts.csv").write_text(f"{head}\n{row}\n", encoding="utf-8")
    (place / "posts.csv").write_text("topic_id,response,prompt_id,value\na,b,c,d\n", encoding="utf-8")


def semicolons(place: Path) -> None:
    (place / "answers.csv").write_text("id;verdict;human\n1;spam;spam\n2;NA;ok\n", encoding="utf-8")


def systems(place: Path) -> None:
    """Grades of several systems in one file, without their labels, and the labels alone; one system alone."""
    table = pd.read_csv(EXAMPLES / "systems" / "assistants.csv")
    table.assign(target=table["prompt"] % 9, model=table["system"]).to_csv(place / "all.csv", index=False)
    table.drop(columns="ann").to_csv(place / "graded.csv", index=False)
    table.dropna(subset="ann")[["system", "prompt", "ann"]].to_csv(place / "labels.csv", index=False)
    table[table["system"] == "baseline"].drop(columns="system").to_csv(place / "one.csv", index=False)


PLACES: dict[str, Callable[..., Any]] = {
    "nothing": lambda place: None,
    "choices": choices,
    "completions": completions,
    "studies": studies,
    "designed": designed,
    "comments": comments,
    "people": people,
    "rated": rated,
    "published": published,
    "texts": texts,
    "hotel": lambda place: exports.write_study(place, "hotel"),
    "vignettes": lambda place: vignettes.write_towns(place / "towns"),
    "panel": lambda place: panels.write_towns(place / "study"),
    "results": lambda place: write_results(place / "results"),
    "viewed": town_run,
    "responses": responses,
    "semicolons": semicolons,
    "systems": systems,
}
CASES = [
    pytest.param(place, *row[:2], marks=[getattr(pytest.mark, lane) for lane in row[2:]], id=row[0])
    for place in PLACES
    for row in cases(__file__, place)
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, done: Callable[..., str]) -> Callable[[str], Path]:
    """A folder with the files of a place, which is made once."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            write = partial(rated, done=done) if name == "rated" else PLACES[name]
            write(made[name])
        return made[name]

    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    """Files of a folder, less those of runs, in which a design may have been drawn before the refusal."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if path.relative_to(folder).parts[0] != "runs"}


@pytest.mark.parametrize(("place", "command", "says"), CASES)
def test_a_command_that_is_refused_ends_with_one_sentence(
    place: str,
    command: str,
    says: str | list[str],
    template: Callable[[str], Path],
    tmp_path: Path,
    here: Any,
) -> None:
    shutil.copytree(template(place), tmp_path, dirs_exist_ok=True)
    before = contents(tmp_path)
    ended = here(command.replace("FIXTURES", str(FIXTURES)))
    assert ended.code == 2, ended.out
    assert re.fullmatch(r"conjury: .*[.?]\n|Usage: .*", ended.err, re.DOTALL), ended.err
    assert ended.err.startswith("Usage: ") or ended.err.count("\n") == 1
    sentence = " ".join(ended.err.split())
    assert [part for part in ([says] if isinstance(says, str) else says) if part not in sentence] == []
    assert contents(tmp_path) == before
