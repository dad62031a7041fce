"""``conjury skill``: every stop check and state of the procedure is as the commands end on a made file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.frames.kinds import claims_of, procedures

Run = Callable[..., Any]
SYSTEMS = "compare-systems made.csv --system system --judge score --human ann"
JUDGE = "judge made.csv --judge verdict --human ann"


def answers(shift: float = 1.0, labelled: int = 60, noise: float = 0.3, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    common, parts = rng.normal(0, 0.8, 150), []
    for place, name in enumerate(("old", "new")):
        quality = common + rng.normal(0, noise, 150) + shift * place
        people = np.where(np.arange(150) < labelled, quality, np.nan)
        score = quality + rng.normal(0, 0.3, 150)
        parts.append(pd.DataFrame({"prompt": range(150), "system": name, "score": score, "ann": people}))
    return pd.concat(parts, ignore_index=True)


def verdicts(n: int = 160, labelled: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    good = rng.random(n) < 0.6
    verdict = np.where(rng.random(n) < 0.85, good, ~good)
    columns = [np.where(part, "pass", "fail").astype(object) for part in (verdict, good)]
    columns[1][labelled:] = None
    return pd.DataFrame({"row": range(n), "verdict": columns[0], "ann": columns[1]})


def follow(table: pd.DataFrame) -> pd.DataFrame:
    drawn = np.where(table["verdict"] == "fail", 1, table["row"] % 6 == 0).astype(bool)
    return table.assign(ann=verdicts(labelled=160)["ann"].where(drawn))


# Tables and commands of each stop check and state; `labels` is a second file.
TRAPS: dict[tuple[str, str], tuple[Callable[[], pd.DataFrame], str]] = {
    ("systems", "no_labels"): (lambda: answers(labelled=0), f"{SYSTEMS} --id prompt"),
    ("systems", "model_labels"): (lambda: answers().assign(label_by="model gpt-5"), f"{SYSTEMS} --id prompt"),
    ("systems", "self_selected_labels"): (answers, f"{SYSTEMS} --id prompt --labelled sampled=chosen"),
    ("systems", "judge_saw_labels"): (answers, f"{SYSTEMS} --id prompt --labelled judge_saw=yes"),
    ("systems", "two_versions"): (
        lambda: answers().assign(judge_version=["v1", "v2"] * 150), f"{SYSTEMS} --id prompt"
    ),
    ("systems", "repeated_prompts"): (
        lambda: answers().assign(prompt=lambda t: t["prompt"] // 2), f"{SYSTEMS} --id prompt"
    ),
    ("systems", "conflicting_labels"): (
        lambda: answers().drop(columns="ann"), f"{SYSTEMS} --id prompt --labels labels.csv"
    ),
    ("systems", "clear"): (answers, f"{SYSTEMS} --id prompt"),
    ("systems", "equivalent"): (lambda: answers(0.0, noise=0.1), f"{SYSTEMS} --id prompt --margin 0.5"),
    ("systems", "undecided"): (lambda: answers(0.0), f"{SYSTEMS} --id prompt --margin 0.01"),
    ("systems", "borrowed"): (
        lambda: answers().assign(ann=lambda t: t["ann"].mask(t["system"] == "new")), f"{SYSTEMS} --id prompt"
    ),
    ("systems", "no level"): (lambda: answers(labelled=3), f"{SYSTEMS} --id prompt"),
    ("judges", "model_labels"): (lambda: verdicts().assign(label_by="llm"), JUDGE),
    ("judges", "self_selected_labels"): (lambda: verdicts().assign(label_sampled="volunteered"), JUDGE),
    ("judges", "judge_saw_labels"): (lambda: verdicts().assign(judge_saw_label="yes"), JUDGE),
    ("judges", "two_versions"): (lambda: verdicts().assign(judge_version=["v1", "v2"] * 80), JUDGE),
    ("judges", "repeated_prompts"): (
        lambda: verdicts().assign(row=lambda t: t["row"] // 4).rename(columns={"row": "prompt_id"}), JUDGE
    ),
    ("judges", "labels_follow_judge"): (lambda: follow(verdicts()), JUDGE),
    ("judges", "labelled rows"): (lambda: verdicts().assign(label_sampled="chosen"), JUDGE),
    ("judges", "all rows"): (verdicts, JUDGE),
}  # fmt: skip
STOPS = [(task, stop) for task in ("systems", "judges") for stop in procedures()[task].stops]
STATES = [(task, state) for task in ("systems", "judges") for state in procedures()[task].states.values()]


def ended(place: Path, conjury: Run, task: str, name: str) -> Any:
    build, command = TRAPS[task, name]
    build().to_csv(place / "made.csv", index=False)
    labels = answers().dropna(subset="ann").assign(prompt=lambda t: "other " + t["prompt"].astype(str))
    labels[["prompt", "system", "ann"]].to_csv(place / "labels.csv", index=False)
    return conjury(f"{command} --json", cwd=place)


@pytest.mark.parametrize(("task", "stop"), STOPS, ids=lambda entry: getattr(entry, "name", entry))
def test_a_stop_check_ends_as_the_procedure_says(tmp_path: Path, conjury: Run, task: str, stop: Any) -> None:
    result = ended(tmp_path, conjury, task, stop.name)
    expected_code = stop.expect.get("code", 0)
    assert result.code == expected_code, result.err
    if expected_code:
        assert stop.expect["text"] in " ".join(result.err.split())
        return
    record = json.loads(result.out)
    reasons = [row.get("reason", "") for row in record.get("labels", [])]
    assert any(stop.expect["text"] in text for text in [*record["verdict"], *record["notes"], *reasons])
    if "state" in stop.expect:
        assert record["settings"]["state"] == stop.expect["state"]


@pytest.mark.parametrize(("task", "state"), STATES, ids=lambda entry: getattr(entry, "name", entry))
def test_a_state_has_its_first_sentence_and_none_that_must_not_be_written(
    tmp_path: Path, conjury: Run, task: str, state: Any
) -> None:
    record = json.loads(ended(tmp_path, conjury, task, state.name).out)
    assert record["settings"]["state"] == state.name
    assert any(re.search(state.pattern, text) for text in record["verdict"]), record["verdict"]
    for text, pattern in state.never:
        assert not any(re.search(pattern, sentence) for sentence in record["verdict"]), text
    claims = claims_of(record["kind"], record["settings"])
    assert claims is not None
    assert claims.must_not == tuple(text for text, _ in state.never)


def test_the_procedure_has_the_claims_of_its_kinds_and_all_stops_and_states(
    tmp_path: Path, conjury: Run
) -> None:
    text = " ".join(conjury("skill", cwd=tmp_path).out.split())
    for procedure in procedures().values():
        claims = claims_of(procedure.kind, {})
        assert claims is not None
        for part in (claims.says, claims.does_not_say, procedure.command):
            assert " ".join(part.split()) in text
        assert all(stop.say in text for stop in procedure.stops)
        assert all(never in text for state in procedure.states.values() for never, _ in state.never)


def test_one_task_and_json_are_printed_and_another_is_refused(tmp_path: Path, conjury: Run) -> None:
    only = conjury("skill judges", cwd=tmp_path).out
    assert "## Judges" in only
    assert "## Systems" not in only
    record = json.loads(conjury("skill systems --json", cwd=tmp_path).out)
    assert set(record["procedures"]) == {"systems"}
    refused = conjury("skill system", cwd=tmp_path)
    assert refused.code == 2
    assert "did you mean 'systems'?" in " ".join(refused.err.split())
