"""Runs that end when enough is known: which tasks a rule sees, and what a later run goes on with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from fakes.server import FakeServer
from fakes.studies import collect, table, towns, write_study

from conjury.cli.commands.collecting import collection_progress as command
from conjury.inference.backends.base import Recorder, completion
from conjury.inference.collecting import Asking, Running, Tally, preview
from conjury.inference.collecting import collect as run_study
from conjury.inference.collecting.stopping import StoppingCheck
from conjury.inference.errors import InputError
from conjury.inference.ledger import Answered
from conjury.inference.ledger.exchanges import Outcome, Request

SIMULATED: dict[str, Any] = {"backend": "simulated", "prompts": ["plain"]}
PAIRS, TASKS = 1_100, 1_210  # a tenth shown again; simulated answers run ahead of a rule by up to 1,000


@pytest.fixture
def study(tmp_path: Path) -> Path:
    content = towns()
    content["design"]["pairs"] = PAIRS
    return write_study(tmp_path / "towns", content)


def answers(folder: Path, judge: str = "judge") -> pd.DataFrame:
    found = table(folder, "judgments")
    return found[found["judge_id"] == judge]


@pytest.mark.slow
def test_a_run_ends_when_its_rule_is_met_and_a_later_one_asks_the_rest(study, run, capsys):
    assert collect(study, run, until="ci(size) < 0.9", **SIMULATED) == 0
    asked = set(answers(run)["task_id"])
    assert 100 <= len(asked) < TASKS
    said = " ".join(capsys.readouterr().out.split())
    assert "Stopped (--until was met): after" in said
    assert (
        f"{TASKS - len(asked):,} requests were not sent; the same command without --until sends them." in said
    )
    assert collect(study, run, until="ci(size) < 0.9", **SIMULATED) == 0
    assert set(answers(run)["task_id"]) == asked
    assert collect(study, run, **SIMULATED) == 0
    later = answers(run)
    assert len(later) == TASKS == later["task_id"].nunique()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("until", "pairs", "answered", "told"),
    [
        (
            "ci(size) < 0.0001 and ci(place) < 9",
            None,
            TASKS,
            "was not met: after 1,210 complete tasks ci(size) is 0.",
        ),
        ("ci(size) < 5", 120, 133, "was met, but stopped nothing: after 133 complete tasks"),
    ],
)
def test_a_run_that_its_rule_does_not_stop_asks_all_and_says_why(
    study, run, capsys, until, pairs, answered, told
):
    assert collect(study, run, until=until, pairs=pairs, **SIMULATED) == 0
    assert len(answers(run)) == answered
    assert f"--until {told}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_the_rule_of_a_judge_ignores_the_answers_of_others(study, run):
    assert collect(study, run, **SIMULATED) == 0
    assert collect(study, run, judge="other", until="ci(size) < 0.0001", pairs=20, **SIMULATED) == 0
    seen: list[set[str]] = []

    def rule(judgments: pd.DataFrame, choices: pd.DataFrame | None, n_designed: int) -> tuple[bool, str]:
        seen.append(set(judgments["judge_id"]))
        assert choices is not None
        assert set(choices["judge_id"]) == {"other"}
        assert n_designed == TASKS
        return len(judgments) > 100, "enough"

    done = run_study(
        study, "other", prompts=["plain"], out=run, asking=Asking(backend="simulated"), until=rule
    )
    assert done.tally.stopped == "until"
    assert seen[0] == {"other"}
    assert len(answers(run, "other")) < TASKS


def outcome(subject: str, kind: str = "", prompt: str = "plain", sample: int = 1) -> Answered:
    body = None if kind else {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}
    key = f"{subject}{prompt}{sample}"
    return Answered(key, "judge", prompt, subject, sample, {}, 1, body, kind, "", None, 0.1, 1, "")


@pytest.mark.parametrize("samples", [1, 2])
def test_a_rule_sees_the_first_tasks_of_which_all_requests_have_ended(study, run, samples):
    made = preview(
        study, "judge", out=run, asking=Asking(backend="simulated", samples=samples), running=Running(pairs=8)
    )
    job, content = made.job, made.folder.content(made.job.study, 8, keep=False)
    order = [subject.id for subject in job.subjects()]
    given: list[Answered] = []
    ledger = SimpleNamespace(answers=lambda judge: iter([given]))
    seen: list[set[str]] = []

    def rule(judgments: pd.DataFrame, choices: pd.DataFrame | None, n_designed: int) -> tuple[bool, str]:
        seen.append(set(judgments["task_id"]))
        return False, ""

    stopping = StoppingCheck(rule, job, ledger, content, "default")  # type: ignore[arg-type]
    both = [(prompt, sample) for prompt in ("plain", "strict") for sample in range(1, samples + 1)]
    given += [outcome(name, "", *which) for name in order[1:] for which in both]
    stopping.check()
    assert seen == []  # the first task is slow
    given += [outcome(order[0], "", *which) for which in both[:-1]]
    stopping.check()
    assert seen == []
    given.append(outcome(order[0], "timeout", *both[-1]))
    given[:] = [one for one in given if one.key != outcome(order[5], "", *both[0]).key]
    given.append(outcome(order[5], "pending", *both[0]))
    given.append(outcome(order[5], "", "another", 1))
    stopping.check()
    assert seen == [set(order[:5])]
    assert stopping.n_tasks == 5


def test_a_rule_is_checked_when_there_are_five_per_cent_more_outcomes(study, run):
    made = preview(study, "judge", out=run, asking=Asking(backend="simulated"))
    content = made.folder.content(made.job.study, keep=False)
    checked = []
    stopping = StoppingCheck(lambda *tables: (False, ""), made.job, None, content, "default")  # type: ignore[arg-type]

    def check() -> None:
        checked.append(stopping._ended + stopping._new)
        stopping._ended, stopping._new = checked[-1], 0

    stopping.check = check  # type: ignore[method-assign]
    for _ in range(5_000):
        stopping.count(1)
    assert checked[:3] == [50, 100, 150]
    assert all(late >= 1.05 * early for early, late in pairwise(checked))


@pytest.mark.long
def test_live_answers_stop_soon_after_the_rule_is_met(study, run):
    with FakeServer() as server:
        server.configure(latency=0.05)  # so that the rule is examined in time on a busy machine
        ask = {"prompts": ["plain"], "base_url": server.url, "concurrency": 8, "pairs": 300}
        assert collect(study, run, until="ci(size) < 5", **ask) == 0
        arrivals = len(server.counts()["arrivals"])
    asked = answers(run)
    assert 100 <= len(asked) <= arrivals < 250


@pytest.mark.parametrize("options", [{"batch": True}, {"export": Path("x.jsonl")}])
def test_requests_that_go_out_at_once_have_no_rule(study, run, options):
    with pytest.raises(InputError, match="--until stops a run while answers arrive"):
        collect(study, run, until="ci(size) < 0.1", prompts=["plain"], **options)
    assert not run.exists()


def test_progress_shows_what_is_known(monkeypatch):
    told: list[str] = []

    @contextmanager
    def bar(total: int) -> Iterator[Any]:
        yield lambda done, description: told.append(description)

    monkeypatch.setattr(command, "show_requests", bar)
    with command.request_progress(10) as watch:
        watch(Tally(passed=3, answered=2, known="ci(size) is 0.3 (wanted: < 0.1)", n_tasks=2))
        watch(Tally(passed=3, answered=2))
    assert told == ["2 answers, 0 failures, ci(size) is 0.3 (wanted: < 0.1)", "2 answers, 0 failures"]


class HeldBack:
    """A backend whose server asks to wait before each answer."""

    def settings(self) -> dict[str, Any]:
        return {"backend": "held_back"}

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        for request in requests:
            recorder.note_wait(300.0)
            recorder.record(Outcome(request.key, completion(request.key, "A", model="m")))


def test_progress_says_how_long_the_server_holds_requests_back(tmp_path, study, monkeypatch):
    lines: list[str] = []

    @contextmanager
    def bar(total: int) -> Iterator[Any]:
        yield lambda done, description: lines.append(description)

    monkeypatch.setattr(command, "show_requests", bar)
    call = {"prompts": ["plain"], "out": tmp_path / "run", "watch": command.request_progress}
    run_study(study, "judge", backend=HeldBack(), running=Running(pairs=2), **call)
    assert lines[0] == "0 answers, 0 failures, the server asks to wait 5 min"
    assert lines[-1].startswith("2 answers, 0 failures")
    assert "wait" not in lines[-1]


def test_the_time_left_follows_the_rate_of_the_last_minute_in_logs_too(monkeypatch, capsys):
    moment = [0.0]
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: moment[0]))
    with command.request_progress(3000) as watch:
        for seconds, answered in ((0, 0), (30, 100), (60, 200), (90, 800), (120, 1400), (150, 3000)):
            moment[0] = float(seconds)
            watch(Tally(passed=answered, answered=answered))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "3,000 requests: 200 answers, 0 failures, 200 per minute, 14 min left",
        "3,000 requests: 1,400 answers, 0 failures, 1,200 per minute, 80 s left",
    ]
    with command.request_progress(900) as watch:
        for seconds, done in ((200, 0), (260, 150), (320, 300)):
            moment[0] = float(seconds)
            watch(Tally(waiting=900, done=done))
    last = capsys.readouterr().err.splitlines()[-1]
    state = "0 answers, 0 failures, 900 in batches, of which 300 are done"
    assert last == f"900 requests: {state}, 150 per minute, 4 min left"
