"""``conjury label``: blind, interrupted at any time, in a terminal or a browser; others read its labels."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.panels import HERE, SECRET, hidden
from starlette.testclient import TestClient

from conjury.analysis.raters.labelling import label
from conjury.cli.commands.judges.queued_rows import QueuedRows
from conjury.inference.panel.view.row_labelling import make_row_app

Run = Callable[..., Any]
OPTIONS = "--judge verdict --annotator kim"


@pytest.fixture
def place(tmp_path: Path, conjury: Run) -> Path:
    """A folder with comments, of which three people labelled some."""
    assert conjury("example judge", cwd=tmp_path).code == 0
    return tmp_path


@pytest.fixture
def typed(place: Path, conjury: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run the command with lines that a person types."""

    def run(options: str, lines: list[str]) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return conjury(f"label comments.csv {OPTIONS} {options}", cwd=place)

    return run


def test_people_see_texts_alone_in_an_order_that_says_nothing(typed: Run, place: Path) -> None:
    ended = typed("--batch-size 6", ["ok"] * 6)
    assert ended.code == 0, ended.err
    rows = pd.read_csv(place / "comments.csv").set_index("comment")["verdict"]
    shown = re.findall(r"^  comment: (.*)$", ended.out, re.M)
    assert len(shown) == 7
    assert set(shown) <= set(rows.index)
    assert "shown: 'comment'; hidden: all other columns" in ended.out
    assert not re.search(r"^  (id|language|verdict|ann|ben|eva):", ended.out, re.M)


def test_lines_are_labels_numbers_of_labels_or_keys(typed: Run, place: Path) -> None:
    ended = typed("--batch-size 3", ["1", "maybe", "7", "", "s", "toxic", "u", "2", "x", "q"])
    assert ended.code == 0, ended.err
    assert "'maybe' is no label; give one of 'ok', 'toxic'." in ended.out
    frame = pd.read_csv(place / "comments.labelled.csv")
    drawn = frame.dropna(subset="label_batch")
    assert sorted(drawn["label"].fillna("-")) == ["-", "ok", "toxic"]
    assert drawn["label_by"].eq("person kim").all()
    assert len(frame) == 240
    added = ["label", "sampling_probability", "label_batch", "label_by", "label_blind", "label_sampled"]
    assert list(frame)[-6:] == added


def test_it_goes_on_whatever_ended_it_and_the_next_command_reads_the_labels(
    typed: Run, place: Path, conjury: Run
) -> None:
    first = typed("--batch-size 10", ["ok"] * 4)
    assert "Batch 1 has 4 of 10 labels; they count, and join comments.labelled.csv, when it is" in first.out
    assert not (place / "comments.labelled.csv").exists()
    second = typed("--batch-size 10", ["toxic", "ok"] * 8)
    assert "240 rows, 4 labels so far" in second.out
    assert "after 20 labels (95% interval, valid at every batch" in second.out
    command = re.search(r"Next: conjury (.*)", second.out)
    assert command is not None
    assert command[1] == "judge comments.labelled.csv --judge verdict --human label"
    ended = conjury(f"{command[1]} --json", cwd=place)
    assert ended.code == 0, ended.err
    record = json.loads(ended.out)
    assert any("weighted by 'sampling_probability'" in note for note in record["notes"])
    refusal = typed("--batch-size 10 --positive ok", [])
    assert refusal.code == 2
    assert "were begun with another positive" in refusal.err


@pytest.mark.long
def test_a_typed_label_is_relabelled_as_those_of_the_judge_are(typed: Run, place: Path, conjury: Run) -> None:
    options = "--relabel ok=fine --relabel toxic=bad --batch-size 4"
    assert typed(options, ["Toxic", "ok"]).code == 0
    ended = typed("--batch-size 4", ["fine", "1"])  # options of reading are those of the journal
    assert "Label: 1 bad, 2 fine" in ended.out
    labels = pd.read_csv(place / "comments.labelled.csv")["label"].dropna()
    assert sorted(labels) == ["bad", "bad", "fine", "fine"]
    command = re.search(r"Next: conjury (.*)", ended.out)
    assert command is not None
    assert command[1].endswith("--human label --relabel 'ok=fine' --relabel 'toxic=bad'")
    record = json.loads(conjury(f"{command[1]} --json", cwd=place).out)
    assert record["settings"]["classes"] == ["bad", "fine"]


@pytest.mark.long
def test_it_stops_when_the_rule_is_met_and_json_and_a_page_have_all(typed: Run, place: Path) -> None:
    ended = typed("--json --until 'level < 0.4' --batch-size 20 --html page.html", ["ok"] * 100)
    assert ended.code == 0, ended.err
    record = json.loads(ended.out)
    assert record["stopped"] == "the rule is met (level: half the width of its interval below 0.4)"
    assert record["labels"] == record["estimates"][-1]["n_labels"] < 100
    assert record["claim"].startswith("The intervals are about what people would say of the 240 rows")
    assert {"comments.labelled.csv", "page.html"} <= set(record["files"])
    page = (place / "page.html").read_text(encoding="utf-8")
    last = record["estimates"][-1]
    assert "<svg" in page
    assert "The share of &#x27;toxic&#x27; is" in page
    interval = f"{last['lower']:.3f} to {last['upper']:.3f}"
    cells = [str(last["n_labels"]), f"{last['estimate']:.3f}", interval, f"{last['half_width']:.3f}"]
    assert re.findall("<td[^>]*>(.*?)</td>", page)[-4:] == cells


def test_hand_picked_labels_are_asked_about(typed: Run) -> None:
    ended = typed("--human ann", [])
    assert ended.code == 2
    assert "160 rows have a label in 'ann' that was not drawn here" in ended.err
    ended = typed("--human ann --hand-picked --batch-size 5", ["ok"] * 5)
    assert ended.code == 0, ended.err
    assert "160 labels were hand-picked: they count for their own rows alone" in ended.out


def test_a_table_without_texts_and_a_file_in_the_way_are_asked_about(
    typed: Run, place: Path, conjury: Run
) -> None:
    conjury("example systems", cwd=place)
    ended = conjury("label assistants.csv --judge grade --range 0,10 --annotator kim", cwd=place)
    assert ended.code == 2
    assert "no column has texts that a person could judge; name those that are shown with --show" in ended.err
    ended = conjury("label assistants.csv --judge grade --show prompt --annotator kim", cwd=place)
    assert ended.code == 2
    assert "state them, such as --range" in ended.err
    (place / "comments.labelled.csv").write_text("mine\n")
    assert "the file exists, and its journal" in typed("", []).err
    assert (place / "comments.labelled.csv").read_text() == "mine\n"
    assert "cannot be; name a file" in conjury("label - --annotator kim", cwd=place).err


def test_a_browser_shows_the_row_alone_and_saves_each_label_once(place: Path) -> None:
    out = place / "labels.csv"
    queue = label(place / "comments.csv", "verdict", out=out, batch=4, show="comment")
    client = TestClient(make_row_app(QueuedRows(queue, "kim"), secret=SECRET), **HERE)

    def send(**fields: str) -> Any:
        html = client.get("/").text
        return client.post("/", data={name: hidden(html, name) for name in ("token", "step")} | fields)

    html = client.get("/").text
    row = queue.reading.frame.iloc[queue.row]
    assert row["comment"].split(",")[0][:12] in html.replace("&#39;", "'")
    assert "Batch 1, row 1 of 4" in html
    assert row["id"] not in html
    fields = {name: hidden(html, name) for name in ("token", "step")} | {"label": "ok"}
    client.post("/", data=fields)
    client.post("/", data=fields)  # sent twice
    assert queue.n_labelled == 1
    assert "Choose a label" in send().text
    assert send(do="undo").status_code == 200
    assert queue.n_labelled == 0
    send(do="later")
    send(do="nobody")
    for _ in range(3):
        send(label="toxic")
    assert queue.n_labelled == 4
    assert pd.read_csv(out)["label_batch"].notna().sum() == 4
    assert "after 4 labels" in client.get("/").text
    assert client.post("/", data={"label": "ok"}).status_code == 403


def test_a_page_needs_the_address_that_was_printed(place: Path) -> None:
    queue = label(place / "comments.csv", "verdict", show="comment")
    app = make_row_app(QueuedRows(queue, "kim"), secret=SECRET, token="secret-token")
    client = TestClient(app, **HERE)
    assert client.get("/").status_code == 403
    assert "row 1 of" in client.get("/?token=secret-token").text
    assert "Begin from the first page" in client.put("/").text  # it has no list


@pytest.mark.long
def test_ratings_of_two_systems_are_labelled_together(place: Path, conjury: Run, monkeypatch: Any) -> None:
    rng = np.random.default_rng(1)
    quality = rng.normal(5, 1, 40)
    table = pd.DataFrame({"prompt": np.tile(np.arange(40), 2), "system": np.repeat(["a", "b"], 40)})
    table["text"] = [f"An answer to prompt {prompt}, at some length." for prompt in table["prompt"]]
    table["score"] = np.concatenate([quality, quality + 0.5]).round(2)
    table.to_csv(place / "graded.csv", index=False)
    options = "--judge score --system system --id prompt --range 0,10 --annotator kim --batch-size 10"
    monkeypatch.setattr(sys, "stdin", io.StringIO("11\n" + "5.5\n" * 10))
    ended = conjury(f"label graded.csv {options}", cwd=place)
    assert ended.code == 0, ended.err
    assert "'11' is no rating; give a number from 0 to 10." in ended.out
    assert "The difference b minus a in the mean rating is" in ended.out
    assert "Each of the 3 holds by itself" in " ".join(ended.out.split())
    next_command = (
        "compare-systems graded.labelled.csv --system system --id prompt --judge score --human label"
    )
    assert f"Next: conjury {next_command}" in ended.out
    assert conjury(next_command, cwd=place).code == 0


def in_reverse(cells: pd.Series[Any]) -> Any:
    return cells.to_numpy()[::-1]


@pytest.mark.parametrize(
    ("change", "options"),
    [
        # rows that the judge answered alike, with texts in another order
        (lambda frame: frame.assign(comment=frame.groupby("verdict")["comment"].transform(in_reverse)), ""),
        (lambda frame: frame.assign(label=["ok"] * 9 + [None] * (len(frame) - 9)), "--hand-picked"),
        (lambda frame: frame, "--levels toxic,ok"),
    ],
)
def test_labels_are_refused_to_go_on_with_other_texts_labels_or_classes(
    typed: Run, place: Path, change: Callable[[pd.DataFrame], pd.DataFrame], options: str
) -> None:
    frame = pd.read_csv(place / "comments.csv").drop(columns="id")
    frame.to_csv(place / "comments.csv", index=False)
    assert typed("--batch-size 5", ["ok"] * 5).code == 0
    change(frame).to_csv(place / "comments.csv", index=False)
    refusal = typed(f"--batch-size 5 {options}", ["ok"] * 5)
    assert refusal.code == 2
    assert "others than those of the labels in comments.labelled.csv.journal.jsonl; restore" in refusal.err


def test_a_table_that_was_not_written_any_more_is_written_when_labelling_goes_on(
    typed: Run, place: Path
) -> None:
    typed("--batch-size 5", ["ok"] * 5)
    before = (place / "comments.labelled.csv").read_bytes()
    typed("--batch-size 5", ["ok"] * 5)
    after = (place / "comments.labelled.csv").read_bytes()
    assert before != after
    (place / "comments.labelled.csv").write_bytes(before)  # as if it ended after the label, before the table
    typed("--batch-size 5", [])
    assert (place / "comments.labelled.csv").read_bytes() == after


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--alpha 5", "alpha is 5 (did you mean 0.05?); give a number between 0 and 1"),
        ("--range 1,5", "answers are classes, and --range is of ratings; omit it"),
    ],
)
def test_levels_and_ranges_that_cannot_be_meant_are_refused_before_the_first_label(
    typed: Run, place: Path, options: str, sentence: str
) -> None:
    refusal = typed(options, ["ok"] * 20)
    assert refusal.code == 2
    assert sentence in refusal.err
    assert not (place / "comments.labelled.csv.journal.jsonl").exists()
