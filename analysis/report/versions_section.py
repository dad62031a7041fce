"""The section on data files, software and commands of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..pipeline.manifest import rows_in_words
from .blocks import table_blocks
from .method_sentences import plain
from .table_format import styled_table, whole

if TYPE_CHECKING:
    from great_tables import GT


def versions_blocks(manifest: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tables of data files with software, and of the commands where several were run."""
    files = {
        (file.get("sha256"), file.get("file"), file.get("variant")): file
        for run in runs
        for file in run.get("data") or []
    }
    packages: dict[str, str] = {}
    for run in runs:
        packages |= run.get("packages") or {}
    base = {**manifest, **runs[0], "data": list(files.values()), "packages": packages}
    # The command that made the folder is that of the folder and of its first part.
    rows = list(dict.fromkeys((_when(run.get("created")), str(run.get("command") or "")) for run in runs))
    if len(rows) == 1:
        caption = "Data files, software and the command that was run."
        return [table_blocks("versions", [_versions_table(base)], caption)]
    base |= {"command": None, "created": None}
    table = styled_table(pd.DataFrame(rows, columns=["Finished", "Command"]), n_left=2)
    return [
        table_blocks("versions", [_versions_table(base)], "Data files and software."),
        table_blocks("commands", [table], "Commands that were run, in order (times in UTC)."),
    ]


def _versions_table(run: Mapping[str, Any]) -> GT:
    """Data files with checksums, software with versions, and the command of a run."""
    rows = [("Data", _file_name(item), _fingerprint(item)) for item in run.get("data") or []]
    rows += [("Answers", plain(str(each["judge"])), _account(each)) for each in run.get("answers") or []]
    software = {"conjury": run.get("conjury"), "commit": run.get("commit"), "Python": run.get("python")}
    software |= run.get("packages") or {}
    software |= {f"R: {name}": version for name, version in (run.get("r") or {}).items()}
    rows += [("Software", name, str(version)) for name, version in software.items() if version]
    command = {"command": run.get("command"), "finished": run.get("created")}
    rows += [("Run", name, str(value)) for name, value in command.items() if value]
    frame = pd.DataFrame(rows, columns=["part", "Item", "Value"])
    return styled_table(frame, groups="part", n_left=2)


def _account(answers: Mapping[str, Any]) -> str:
    """What became of the requests to a judge: missing ones by kind, and answers by what they are."""
    missing = [f"{each['n']:,} {each['kind']}" for each in answers["without_answer"]]
    without = f" ({', '.join(missing)})" if missing else ""
    names = {"refused": "refused", "truncated": "truncated", "empty": "empty", "unparsed": "not parsed"}
    parts = [f"{whole(answers[name])} {words}" for name, words in names.items() if answers.get(name)]
    if answers.get("reasoning_only"):
        parts.append(f"{whole(answers['reasoning_only'])} with text in the field for reasoning only")
    if answers.get("logprobs_asked"):
        parts.append(f"{whole(answers['with_logprobs'])} with log-probabilities")
    first = f"{whole(answers['answered'])} of {whole(answers['requests'])} requests answered{without}"
    return "; ".join([first, ", ".join([f"{whole(answers['read'])} parsed", *parts])])


def _when(created: object) -> str:
    return str(created or "").replace("T", " ").removesuffix("+00:00")


def _file_name(item: Mapping[str, Any]) -> str:
    variant = f" ({item['variant']})" if item.get("variant") else ""
    return f"{item.get('name', '')}{variant}"


def _fingerprint(item: Mapping[str, Any]) -> str:
    file = str(item.get("file") or "")
    parts = [f"{file} in {item['folder']}" if item.get("folder") else file]
    parts.append(rows_in_words([item]))
    parts.append(f"SHA-256 {str(item['sha256'])[:16]}" if item.get("sha256") else "")
    return ", ".join(filter(None, parts))
