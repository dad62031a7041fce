"""From verdicts to the committed table of scores, the page of the site, and the list of survivors."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mutants.trying import NOTICED

SAMPLE = 2100
COLUMNS = ("room", "mutants", "killed", "survived", "not_reached", "equivalent", "score", "lower", "upper")
SURVIVORS = ("verdict", "file", "line", "text", "becomes", "tests", "reaching", "cut")
BEGIN, END = "<!-- scores -->", "<!-- end of scores -->"
ALL = "all"
Row = dict[str, Any]
Key = tuple[str, str, str]


def equivalents(path: Path) -> dict[Key, str]:
    """Changes that cannot change a result: file, line, and what it becomes, with the reason."""
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["file"], row["line"], row["becomes"]): row["reason"] for row in csv.DictReader(file)}


def counted(verdicts: Iterable[Mapping[str, Any]], known: Mapping[Key, str]) -> list[Row]:
    """Count verdicts by room; equivalent mutants and those that did not run have no part in the score."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for told in verdicts:
        kind = told["verdict"]
        noticed = kind in NOTICED
        if not noticed and (told["file"], told["text"], told["becomes"]) in known:
            kind = "equivalent"
        for room in (told["room"], ALL):
            rooms[room]["killed" if noticed else kind] += 1
    return [_row(room, rooms[room]) for room in sorted(rooms, key=lambda room: (room == ALL, room))]


def unneeded(verdicts: Iterable[Mapping[str, Any]]) -> str:
    """List the tests whose mutants others notice, too, with how many: what remains of a cover by fewest."""
    noticed: dict[str, set[str]] = defaultdict(set)
    for told in verdicts:
        for test in told.get("failed", [told["by"]] if "by" in told else []):
            noticed[test.partition("[")[0]].add(told["id"])
    rest, needed = set[str]().union(*noticed.values()), set[str]()
    while rest:
        test = max(noticed, key=lambda name: len(noticed[name] & rest))
        needed.add(test)
        rest -= noticed[test]
    lines = [f"{len(noticed[test]):5} {test}" for test in sorted(noticed) if test not in needed]
    return "\n".join([*lines, f"{len(needed)} tests notice all that {len(noticed)} notice"])


def _row(room: str, counts: Counter[str]) -> Row:
    import numpy as np

    from conjury.analysis.numerics.intervals.interval_limits import wilson

    judged = counts["killed"] + counts["survived"] + counts["not reached"]
    row = {
        "room": room,
        "mutants": judged + counts["equivalent"],
        "killed": counts["killed"],
        "survived": counts["survived"],
        "not_reached": counts["not reached"],
        "equivalent": counts["equivalent"],
    }
    if not judged:
        return {**row, "score": "", "lower": "", "upper": ""}
    score = counts["killed"] / judged
    lower, upper = wilson(np.array([score]), np.array([float(judged)]), 0.05)
    return {**row, "score": f"{score:.3f}", "lower": f"{lower[0]:.3f}", "upper": f"{upper[0]:.3f}"}


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns), extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The scores as a table of Markdown."""
    if not rows:
        return "The sample has not been tried as a whole with the present tests."
    lines = [
        "| Room | Mutants | Noticed | Survived | Not reached | Equivalent | Score | 95% interval |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        numbers = " | ".join(str(row[name]) for name in COLUMNS[1:6])
        score, limits = "", ""
        if row["score"] != "":
            score = f"{float(row['score']):.0%}"
            limits = f"{float(row['lower']):.0%} to {float(row['upper']):.0%}"
        name = row["room"] if row["room"] == ALL else f"`{row['room']}`"
        lines.append(f"| {name} | {numbers} | {score} | {limits} |")
    tried = int(rows[-1]["mutants"])
    if tried < 0.99 * SAMPLE:
        lines += [
            "",
            f"Tried so far: {tried:,} of {SAMPLE:,} mutants, in the order of the draw, which is random.",
        ]
    return "\n".join(lines)


def with_table(page: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the page with the table in the place of the one before."""
    between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return between.sub(lambda _: f"{BEGIN}\n\n{table(rows)}\n\n{END}", page)
