"""What programs rely on: one JSON document per command, exit codes, and a log of JSON lines."""

from __future__ import annotations

import errno
import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from fakes.server import FakeServer

from conjury.cli import automation
from conjury.cli.main import LazyCommands, main
from conjury.inference.tables import read_table

Run = Callable[..., Any]
BASE, QUICK, LONG, BAYES, EXAMPLES = (
    dict(cases(__file__, lane)) for lane in ("base", "quick", "long", "bayes", "examples")
)
SIMULATED = BASE["collect"]
PEOPLE = "--judge verdict --human ann,ben,eva"
PAPER = ("paper methods", "paper checklist", "paper metadata")
FITTED = (*PAPER, "compare", "tables", "report")  # read results
OF_THEIR_KIND = (
    "check",
    "judge",
    "compare-runs",
    "compare-systems",
    "automate",
    "compare-pairs",
    "check-table",
)  # documents that existed before


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield a command, or each command of a group, by its full name."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for part, each in command.commands.items():
        yield from leaves(each, f"{name} {part}")


def all_commands() -> dict[str, Any]:
    return {leaf: each for name, command in LazyCommands().items() for leaf, each in leaves(command, name)}


def named(line: str) -> str:
    """Return the full name of the command that a line begins with."""
    return next(name for name in all_commands() if f"{line} ".startswith(f"{name} "))


def document(ended: Any, code: int = 0) -> dict[str, Any]:
    """Return the one document on standard output."""
    assert ended.code == code, ended.err
    content = json.loads(ended.out)
    assert isinstance(content, dict)
    return content


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, conjury: Run) -> tuple[Path, dict[str, Any]]:
    """A study that was collected, and what each command printed with --json."""
    place, ended = tmp_path_factory.mktemp("automation"), {}
    for name, line in BASE.items():
        ended[name] = conjury(f"{line} --json", cwd=place, figures=())
        if name == "init":
            files = document(ended["init"])["files"]
            assert all((place / file).is_file() for file in files)
            shutil.copytree(place / "flats", place, dirs_exist_ok=True)
    return place, ended


@pytest.fixture(scope="module")
def once(base: tuple[Path, dict[str, Any]], conjury: Run) -> Callable[[str], Any]:
    """Run a command in the folder of the study; one that ran before is not run again."""
    place, ended = base
    lines = {f"{line} --json": ended[name] for name, line in BASE.items()}

    def run(line: str) -> Any:
        if line not in lines:
            lines[line] = conjury(line, cwd=place, figures=(), everything=False)
        return lines[line]

    return run


def check(name: str, place: Path, ended: Any) -> dict[str, Any]:
    if "which is not installed" in ended.err or "which are not installed" in ended.err:
        pytest.skip(ended.err)
    content = document(ended)
    if name not in OF_THEIR_KIND:
        assert list(content)[:4] == ["command", "version", "exit_code", "files"]
        assert (content["command"], content["exit_code"]) == (name, 0)
        assert [file for file in content["files"] if not (place / file).is_file()] == []
    return content


def test_every_option_has_a_help_and_every_command_has_json_once():
    for name, command in all_commands().items():
        assert [option.name for option in command.params if not option.help] == [], name
        flags = [flag for option in command.params for flag in option.opts if flag == "--json"]
        assert flags == ["--json"], name
    options = [option for command in all_commands().values() for option in command.params]
    names = [option for option in options if option.opts[0].startswith("--") and not option.hidden]
    texts = {(option.opts[0], option.help) for option in names}
    flags = {flag for flag, _ in texts}
    assert len(flags) <= 300
    # Commands explain an option alike, unless they take something else for it; never raise this number.
    assert len(texts) - len(flags) <= 164


def test_every_command_is_run_here_with_json():
    assert sorted([*BASE, *QUICK, *LONG, *BAYES]) == sorted(all_commands())


@pytest.mark.parametrize("name", BASE)
def test_commands_that_begin_a_study_print_one_document(name, base):
    place, ended = base
    content = check(name, place, ended[name])
    assert len(content["files"]) >= 2


@pytest.mark.parametrize(
    "name",
    [
        *QUICK,
        *(pytest.param(name, marks=pytest.mark.slow) for name in LONG),
        *(pytest.param(name, marks=pytest.mark.bayes) for name in BAYES),
    ],
)
def test_with_json_a_command_prints_one_document_and_names_files_that_exist(name, base, once, conjury):
    place, _ = base
    if name in EXAMPLES and not (place / (QUICK | LONG | BAYES)[name].split()[1]).is_file():
        assert conjury(EXAMPLES[name], cwd=place).code == 0
    if name in FITTED:
        document(once(f"{LONG['fit']} --json"))
    before = {path for path in place.rglob("*") if path.is_file()}
    content = check(name, place, once(f"{(QUICK | LONG | BAYES)[name]} --json"))
    new = {path for path in place.rglob("*") if path.is_file()} - before
    tables = {path for path in new if path.suffix in (".csv", ".parquet", ".html", ".md", ".bib")}
    if name != "demo":  # of which the report and the figures are named
        named = {str(Path(file)) for file in content.get("files", [])}
        assert {str(path.relative_to(place)) for path in tables} <= named


def test_the_document_has_the_numbers_of_the_tables(base, once):
    place, ended = base
    collected = document(ended["collect"])
    choices = read_table(place / "runs/minimal/choices.parquet")
    assert collected["done"]["answered"] == choices[["pair_id", "repeat"]].drop_duplicates().shape[0]
    assert collected["plan"]["requests"]["remaining"] == collected["done"]["answered"]
    power = document(once(f"{QUICK['power']} --json"))
    levels = pd.read_csv(place / "power.csv")
    assert [row["effect"] for row in power["levels"]] == pytest.approx(levels["effect"].tolist(), nan_ok=True)


@pytest.mark.long
def test_the_document_of_a_fit_has_the_estimates_of_the_tables(base, once):
    place, _ = base
    fitted = document(once(f"{LONG['fit']} --json"))
    assert fitted["estimates"]
    for name, rows in fitted["estimates"].items():
        table = read_table(place / "results/tables" / f"{name}.parquet")
        assert fitted["rows"][name] == len(rows) == len(table)
        for column in ("estimate", "std_error"):
            assert [row[column] for row in rows] == [None if np.isnan(v) else v for v in table[column]]


def test_with_json_the_text_goes_to_standard_error(once):
    text, both = once("run status study.yaml"), once("run status study.yaml --json")
    assert text.err == ""
    assert both.err == text.out
    assert document(both)["requests"][0]["n"] > 0


def test_what_json_cannot_say_becomes_null_and_text():
    values = {
        "nan": np.nan,
        "na": pd.NA,
        "infinite": np.float64("inf"),
        "whole": np.int64(3),
        "flag": np.True_,
    }
    values |= {"when": pd.Timestamp("2026-01-02"), "table": pd.DataFrame({"a": [1, None], "b": ["x", None]})}
    values |= {"array": np.array([1.5, np.nan]), "file": Path("a/b"), "nested": {1: (Path("c"),)}}
    content = automation.to_json_value(values)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert [content[name] for name in ("nan", "na", "infinite")] == [None] * 3
    assert [content[name] for name in ("whole", "flag")] == [3, True]
    assert content["when"] == "2026-01-02 00:00:00"
    assert content["table"] == [{"a": 1.0, "b": "x"}, {"a": None, "b": None}]
    assert (content["array"], content["file"], content["nested"]) == ([1.5, None], "a/b", {"1": ["c"]})


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("run status study.yaml", 0),
        (f"judge comments.csv {PEOPLE} --fail-under kappa=0.999", 1),
        pytest.param("check study.yaml --select CJ2 --fail-on nothing", 2, marks=pytest.mark.long),
        ("validate nowhere.yaml", 2),
        ("run status study.yaml --out nowhere", 2),
        ("run status --unknown", 2),
        ("panel status --unknown", 2),
        pytest.param("panel status nowhere.yaml", 2, marks=pytest.mark.long),
        ("run verify study.yaml --out nowhere", 2),
        ("unknown", 2),
        ("collect study.yaml --judge mini --samples 1000000", 2),
        ("collect study.yaml --judge mini --samples 0", 2),
        ("collect study.yaml --judge nobody", 2),
    ],
)
@pytest.mark.parametrize("json_too", [pytest.param("", marks=pytest.mark.long), " --json"])
def test_exit_codes_are_those_of_the_documentation(line, code, json_too, once):
    ended = once(line + json_too)
    assert ended.code == code
    assert (code == 2) == ("error" in ended.err.casefold() or ended.err.startswith("conjury: "))
    if json_too and code == 2:
        content = document(ended, 2)
        assert content["exit_code"] == content["error"]["exit_code"] == 2
        assert list(content)[:5] == ["command", "version", "exit_code", "files", "error"]
        assert content["command"] == ("unknown" if line == "unknown" else named(line))
        assert content["files"] == []
        sentence = content["error"]["message"]
        assert f"conjury: {sentence}\n" == ended.err or "Usage" in ended.err
    if not json_too and code == 2:
        assert ended.out == ""


def test_the_problems_of_a_study_are_in_the_document_of_the_error(tmp_path, conjury):
    (tmp_path / "study.yaml").write_text("name: x\nkind: conjoint\ntitel: y\n", encoding="utf-8")
    content = document(conjury("validate study.yaml --json", cwd=tmp_path), 2)
    assert len(content["problems"]) >= 2
    assert f"{len(content['problems'])} problems" in content["error"]["message"]


@pytest.mark.long
def test_a_run_without_any_answer_ends_with_1_and_says_why(base, conjury, monkeypatch, tmp_path):
    place, _ = base
    pytest.importorskip("openai")
    key = "sk-secret-of-this-test"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("CONJURY_LOG", str(tmp_path / "log.jsonl"))
    with FakeServer() as server:
        server.configure(status=422, error={"message": f"no such setting with {key}"})
        line = f"collect study.yaml --judge mini --base-url {server.url} --pairs 2 --out refused --json"
        content = document(conjury(line, cwd=place), 1)
    assert content["done"]["answered"] == 0
    assert sum(content["done"]["failures"].values()) == 2
    ended = next(line for line in lines_of(tmp_path / "log.jsonl") if line["event"] == "collected")
    assert ended["failures"] == content["done"]["failures"]
    assert key not in (tmp_path / "log.jsonl").read_text(encoding="utf-8") + json.dumps(content)


def test_ctrl_c_ends_with_130_and_one_document(base, conjury, monkeypatch):
    place, _ = base

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("conjury.inference.collecting.status", interrupted)
    ended = conjury("run status study.yaml --json", cwd=place)
    assert document(ended, 130)["error"] == {"message": "interrupted", "exit_code": 130}
    assert ended.err == "conjury: interrupted; no file was left half written.\n"


@pytest.mark.long
def test_a_run_that_stops_at_ctrl_c_prints_its_own_document_alone(base, conjury, monkeypatch):
    from conjury.inference.collecting import run

    place, _ = base
    collect = run.collect

    def stopped(*given: Any, **named: Any) -> Any:
        done = collect(*given, **named)
        done.tally.stopped = "interrupted"
        return done

    monkeypatch.setattr(run, "collect", stopped)
    ended = conjury(f"{SIMULATED} --out stopped --json", cwd=place)
    content = document(ended, 130)
    assert content["done"]["stopped"] == "interrupted"
    assert "error" not in content
    assert "Stopped (interrupted); the same command resumes the run." in ended.err


def lines_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


@pytest.mark.long
def test_the_log_of_a_run_has_its_plan_its_counts_and_its_end(base, conjury, monkeypatch, tmp_path):
    place, _ = base
    log = tmp_path / "log.jsonl"
    monkeypatch.setenv("CONJURY_LOG", str(log))
    monkeypatch.setattr("conjury.cli.commands.collecting.collection_progress.SECONDS_A_LINE", 0.0)
    assert conjury(f"{SIMULATED} --out logged", cwd=place).code == 0
    assert conjury("collect study.yaml --judge nobody", cwd=place).code == 2
    content = lines_of(log)
    events = [line["event"] for line in content]
    assert events[0] == "begun"
    assert events[1] == "planned"
    assert "progress" in events
    assert events[-4:] == ["collected", "ended", "begun", "failed"]
    assert all(list(line)[:4] == ["time", "level", "event", "command"] for line in content)
    answers = [line["answered"] for line in content if line["event"] in ("progress", "collected")]
    assert answers == sorted(answers)
    assert answers[-1] == content[1]["requests"]["remaining"]
    assert (content[-3]["exit_code"], content[-1]["exit_code"], content[-1]["level"]) == (0, 2, "error")
    assert "nobody" in content[-1]["error"]


def test_a_key_of_the_environment_is_in_no_error_and_no_line_of_the_log(conjury, monkeypatch, tmp_path):
    key = "correct-horse-battery-staple"
    monkeypatch.setenv("MY_KEY", key)
    monkeypatch.setenv("CONJURY_LOG", str(tmp_path / "log.jsonl"))
    ended = conjury("run", "status", f"study-{key}", "--json", cwd=tmp_path)
    text = (tmp_path / "log.jsonl").read_text(encoding="utf-8")
    for shown in (document(ended, 2)["error"]["message"], ended.err, text):
        assert "study-[key]" in shown
    assert key not in ended.out + ended.err + text


@pytest.mark.parametrize("key", ["sk-ant-api03-0123456789abcdef", "correct-Horse-battery"])
def test_a_key_in_place_of_its_variable_is_not_printed(key, base, conjury, monkeypatch, tmp_path):
    place, _ = base
    ended = conjury(f"collect study.yaml --judge mini --key-variable {key} --json", cwd=place)
    assert "--key-variable is not the name" in document(ended, 2)["error"]["message"]
    assert key not in ended.out + ended.err


@pytest.mark.long
@pytest.mark.parametrize("line", ["init minimal flats-é\udcff", f"judge é.csv {PEOPLE}"])
def test_a_document_is_printed_whatever_the_terminal_and_the_path_are(line, base, monkeypatch, tmp_path):
    place, _ = base
    shutil.copy(place / "comments.csv", tmp_path / "é.csv")
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONJURY_LOG", "log.jsonl")
    monkeypatch.setattr(sys, "argv", ["conjury", *line.split(), "--json"])
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, sys.stderr.getvalue()
    out.flush()
    text = out.buffer.getvalue().decode("ascii")
    assert "é" in json.dumps(json.loads(text), ensure_ascii=False)
    assert [event["event"] for event in lines_of(tmp_path / "log.jsonl")] == ["begun", "ended"]


@pytest.mark.parametrize(("module", "code"), [("conjury.inference.tables.deep", 2), ("elsewhere", 70)])
def test_the_log_has_the_exit_code_of_a_limit_that_a_file_exceeds(
    module, code, base, conjury, monkeypatch, tmp_path
):
    place, _ = base
    reader: dict[str, Any] = {"__name__": module}
    exec("def read(path, *_, **__): raise RecursionError('too deep')", reader)
    monkeypatch.setattr("conjury.inference.collecting.status", reader["read"])
    monkeypatch.setenv("CONJURY_LOG", str(tmp_path / "log.jsonl"))
    ended = conjury("run status study.yaml", cwd=place)
    assert ended.code == code
    assert ("nested too deeply" if code == 2 else "RecursionError: too deep") in ended.err
    failed = lines_of(tmp_path / "log.jsonl")[-1]
    assert (failed["event"], failed["exit_code"]) == ("failed", code)


def test_a_log_that_cannot_be_written_ends_a_command_with_one_sentence(conjury, monkeypatch, tmp_path):
    monkeypatch.setenv("CONJURY_LOG", str(tmp_path / "nowhere" / "log.jsonl"))
    ended = conjury("doctor", cwd=tmp_path)
    assert ended.code == 2
    assert "the log cannot be written (No such file or directory)" in ended.err


@pytest.mark.parametrize("error", [ValueError, EOFError, MemoryError, BrokenPipeError])
@pytest.mark.parametrize("form", ["", " --json"])
def test_a_crash_never_has_the_exit_code_of_a_limit(error, form, base, conjury, monkeypatch):
    place, _ = base
    secret = "sk-0123456789abcdef0123456789abcdef"
    raised = error(errno.EPIPE, "closed") if error is BrokenPipeError else error(f"no way, {secret}")

    def crash(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setenv("OPENAI_API_KEY", secret)
    monkeypatch.setattr("conjury.inference.collecting.status", crash)
    ended = conjury(f"run status study.yaml{form}", cwd=place)
    assert secret not in ended.out + ended.err
    if error is BrokenPipeError:
        assert ended.code == 141
        return
    assert ended.code == 70
    assert "please report it with the lines above" in ended.err
    assert "Traceback" in ended.err
    if form:
        assert json.loads(ended.out)["error"]["exit_code"] == 70


def test_an_import_that_fails_is_no_limit_that_is_not_met(base, conjury, monkeypatch):
    monkeypatch.setitem(sys.modules, "conjury.inference.collecting", None)
    assert conjury("run status study.yaml", cwd=base[0]).code == 70


def test_a_command_that_collects_twice_joins_what_each_part_records():
    document: dict[str, Any] = {}
    token = automation._document.set(document)
    try:
        automation.record(account={"answers": 3}, done={"errors": 1})
        automation.record(account=None, done={"passed": 2})
    finally:
        automation._document.reset(token)
    assert document == {"account": {"answers": 3}, "done": {"errors": 1, "passed": 2}}
