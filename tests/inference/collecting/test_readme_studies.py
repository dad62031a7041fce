"""The studies and templates that docs/study-file.md prints work as printed."""

from __future__ import annotations

import re
from pathlib import Path

from fakes.studies import LABELS, collect, items, write_study

from conjury.cli.commands.card import draw_card as draw
from conjury.inference.collecting.runs import RunFolder
from conjury.inference.requests.building import Builder
from conjury.inference.study import load_any_study

PAGE = (Path(__file__).parents[3] / "docs" / "study-file.md").read_text(encoding="utf-8")
FILE = re.compile(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", re.DOTALL)


def written(heading: str, folder: Path) -> Path:
    """Write the files that a section of the page prints."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    folder.mkdir()
    for name, content in FILE.findall(section):
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def first_messages(folder: Path, run: Path) -> list[str]:
    study = load_any_study(folder)
    ask = study.judges[0].ask
    subjects = RunFolder(run).content(study, keep=False).subjects()
    builder = Builder(study, study.judges[0].id, ask, study.prompts, str)
    return [message["content"] for message in next(builder.requests(subjects)).body["messages"]]


def test_the_printed_study_of_items_is_complete(tmp_path, capsys):
    folder = written("A minimal study of items", tmp_path / "comments")
    assert {path.name for path in folder.iterdir()} == {"study.yaml", "items.csv", "prompt.j2"}
    assert collect(folder, tmp_path / "run", "mini", dry_run=True) == 0
    assert "2 to send" in capsys.readouterr().out
    system, user = first_messages(folder, tmp_path / "run")
    assert '- "friendly": Friendliness, from 0 to 4' in system
    assert user.startswith('Item\n{"text": ')


def test_the_printed_conjoint_is_complete(tmp_path, capsys):
    folder = written("A minimal conjoint", tmp_path / "flats")
    assert {path.name for path in folder.iterdir()} == {"study.yaml", "system.j2", "user.j2"}
    draw(str(folder), tmp_path / "run", None, None, None)
    assert collect(folder, tmp_path / "run", "mini", dry_run=True) == 0
    assert "8 to send" in capsys.readouterr().out
    system, user = first_messages(folder, tmp_path / "run")
    assert "the letter A or the letter B" in system
    assert re.search(r'First flat \(A\): {"Size": "\d0 square metres", "Street": ', user)


def test_the_printed_template_names_item_and_labels(tmp_path):
    content = items({"form": "label", "labels": LABELS})
    content["prompts"][0]["user"] = "user.j2"
    folder = write_study(tmp_path / "posts", content)
    printed = re.search(r"A user template for labels:\n\n```jinja\n(.*?)```", PAGE, re.DOTALL)
    (folder / "user.j2").write_text(printed[1], encoding="utf-8")
    user = first_messages(folder, tmp_path / "run")[-1]
    assert '"text": ' in user
    assert user.splitlines()[-3:] == [f'- "{label["id"]}" ({label["label"]})' for label in LABELS]
