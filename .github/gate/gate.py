"""The step of ``action.yml``: runs a command with limits and says pass, fail, inconclusive or broken."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

LIMIT_MISSED = 1  # exit code
MARKS = {"pass": "✅", "fail": "❌", "inconclusive": "❔", "broken": "⚠️"}
MOST_SENTENCES = 8
NO_WIDTH = "\N{ZERO WIDTH SPACE}"


def state_of(code: int, document: dict[str, Any]) -> str:
    """What an exit code and a document amount to."""
    if code not in (0, LIMIT_MISSED) or not document:
        return "broken"
    if code == 0:
        return "pass"
    missed = [gate for gate in document.get("gates", ()) if not gate["passes"]]
    return "inconclusive" if missed and all(_may_be_met(gate, document) for gate in missed) else "fail"


def _may_be_met(gate: dict[str, Any], document: dict[str, Any]) -> bool:
    """Whether a limit lies within the interval of its estimate, so that more labels could meet it."""
    rows: list[dict[str, Any]] = document.get("estimates", [])
    row = next((row for row in rows if row.get("name") == gate["name"]), {})
    lower, upper = row.get("lower"), row.get("upper")
    if gate["limit"] not in ("lower", "upper") or lower is None or upper is None:
        return False
    return bool(lower <= gate["bound"] <= upper)


def summary_of(state: str, title: str, document: dict[str, Any], error: str) -> str:
    """What was found, in Markdown."""
    lines = [f"### {MARKS[state]} {title}: {state}", ""]
    answer = document.get("answer") or {}
    sentences = [*filter(None, [answer.get("reason")]), *document.get("verdict", ())]
    lines += [f"- {_escaped(sentence)}" for sentence in sentences[:MOST_SENTENCES]]
    lines += [f"- {_escaped(line)}" for line in error.splitlines() if state == "broken"]
    gates = document.get("gates", ())
    if gates:
        lines += ["", "| limit | value | passes |", "|---|---|---|"]
        for gate in gates:
            passes = "yes" if gate["passes"] else "no"
            lines.append(f"| `{gate['gate']}` | {_number(gate['value'])} | {passes} |")
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "no value" if value is None else f"{value:.4g}"


def _escaped(text: str) -> str:
    """Text from a file, which neither makes a link nor calls anybody."""
    # GitHub looks for names, numbers of issues and addresses in the finished text, where escapes are gone.
    for letter in "\\`*_[]<>|~":
        text = text.replace(letter, f"\\{letter}")
    for begin in ("@", "#", "://", "www."):
        text = text.replace(begin, f"{begin}{NO_WIDTH}")
    return text


def main() -> int:
    """Run the command that the environment describes, and write outputs, summary and document."""
    name = os.environ.get("COMMAND") or "judge"
    files = [line.strip() for line in os.environ["FILE"].splitlines() if line.strip()]
    words = ["conjury", name, *files, *shlex.split(os.environ.get("OPTIONS", "")), "--json"]
    ended = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=False)
    try:
        document = json.loads(ended.stdout)
    except ValueError:
        document = {}
    state = state_of(ended.returncode, document)
    title = f"{name} {' '.join(Path(file).name for file in files)}"
    folder = Path(os.environ.get("RUNNER_TEMP", "."))
    summary, record = folder / "conjury-summary.md", folder / "conjury.json"
    summary.write_text(summary_of(state, title, document, ended.stderr), encoding="utf-8")
    record.write_text(ended.stdout, encoding="utf-8")
    _append("GITHUB_OUTPUT", f"state={state}\nsummary={summary}\ndocument={record}\n")
    _append("GITHUB_STEP_SUMMARY", summary.read_text(encoding="utf-8"))
    print(ended.stderr, file=sys.stderr, end="")
    print(f"{name} {' '.join(files)}: {state}")
    return int(state in os.environ.get("FAILS", "fail broken").split())


def _append(variable: str, text: str) -> None:
    if os.environ.get(variable):
        with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main())
