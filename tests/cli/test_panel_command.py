"""``conjury panel``: a demonstration, tables, figures, erased identifiers, and one sentence for bad input."""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path

import pandas as pd
import pytest
from interrupts import interruptible_process
from made_up.panels import write_towns

from conjury.cli.commands.people import panel as command
from conjury.inference.panel.plan import make_plan
from conjury.inference.study import load_any_study

pytestmark = pytest.mark.long


@pytest.fixture
def towns(tmp_path: Path) -> str:
    return str(write_towns(tmp_path / "study", {"pay": {"amount": 2, "currency": "EUR"}}))


def test_a_demonstration_ends_with_tables_figures_and_identifiers_that_can_be_erased(ran, towns):
    out = ran("panel", towns, "--demo", "--people", "4", "--no-stay")
    assert "all people are simulated" in out
    assert "finished" in out
    assert "8.00 EUR" in out
    people = Path("runs/towns_demo/people")
    assert sorted(path.name for path in people.iterdir()) == [
        *("choices.parquet", "judgments.parquet", "respondents.parquet", "responses.parquet")
    ]
    assert len(pd.read_parquet(people / "choices.parquet")) == 4 * 3 * 2
    before = {path.name: path.read_bytes() for path in people.iterdir()}
    assert "finished" in ran("panel", "status", towns, "--out", "runs/towns_demo")
    assert "are erased" in ran("panel", "forget", "demo-prolific_pid-00001")
    assert "24 rows" in ran("panel", "export", towns, "--out", "runs/towns_demo", "--tables", "again")
    assert {path.name: path.read_bytes() for path in Path("again").iterdir()} == before


@pytest.mark.slow
def test_fit_and_check_take_tables_of_people_and_of_a_model_that_saw_their_tasks(ran, short_study):
    study = str(short_study / "study.yaml")
    ran("panel", study, "--demo", "--people", "12", "--no-stay")
    run, asked = "runs/moderation_demo", ("--judge", "gpt4o", "--prompt", "baseline")
    ran("collect", study, *asked, "--backend", "simulated", "--tasks", "panel", "--out", run)
    both = ("--data", f"{run}/people/choices.parquet", "--data", f"{run}/choices.parquet")
    assert "amce_people" in ran("fit", study, *both, "--draws", "20", "--out", "results")
    assert "CJ203" in ran("check", study, "--results", "results", "--fail-on", "none")


def test_erasing_what_no_panel_has_is_refused(ran, refused, towns):
    ran("panel", towns, "--demo", "--people", "1", "--no-stay")
    assert "No person has this identifier" in refused("panel", "forget", "somebody")


def test_a_taken_port_is_refused_before_anything_is_drawn(refused, towns):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refused("panel", towns, "--demo", "--port", str(port))
    assert f"--port {port}" in sentence
    assert "pages cannot be served there" in sentence
    assert not Path("runs").exists()


def test_a_demonstration_is_small_unless_a_number_is_given_or_it_has_begun(tmp_path):
    moderation, towns = load_any_study("moderation"), load_any_study(str(write_towns(tmp_path / "study")))
    assert moderation.design.respondents > command.DEMO
    assert command._places(moderation, command.ServerOptions(demo=True), tmp_path) == command.DEMO
    assert command._places(moderation, command.ServerOptions(demo=True, people=90), tmp_path) == 90
    assert command._places(moderation, command.ServerOptions(), tmp_path) is None
    assert command._places(towns, command.ServerOptions(demo=True), tmp_path) < command.DEMO
    make_plan("moderation", out=tmp_path, people=2)
    assert command._places(moderation, command.ServerOptions(demo=True), tmp_path) is None


def test_a_demonstration_with_fewer_places_than_the_study_goes_on(ran, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "DEMO", 2)
    study = str(write_towns(tmp_path / "study", {"people": 5}))
    ran("panel", study, "--demo", "--no-stay")
    assert "12 rows" in ran("panel", "export", study, "--out", "runs/towns_demo")
    ran("panel", study, "--demo", "--no-stay")


def test_people_of_an_export_are_those_of_its_import(ran, refused, tmp_path):
    study = str(write_towns(tmp_path / "study", {"people": 5}))
    ran("export", study, "--to", "jspsych", "--people", "2")
    Path("data.json").write_text("[]")
    assert "there are no trials" in refused("import", "data.json", "--format", "jspsych", "--study", study)


def test_real_people_do_not_join_a_demonstration(ran, refused, towns):
    ran("panel", towns, "--demo", "--people", "1", "--no-stay")
    text = refused("panel", towns, "--people", "1", "--out", "runs/towns_demo")
    assert "is the demonstration of simulated people" in text


def test_without_the_extra_one_sentence_states_how_to_install_it(refused, towns, monkeypatch):
    monkeypatch.setattr("conjury.inference.errors.find_spec", lambda name: None)
    assert "pip install 'conjury[panel]'" in refused("panel", towns)


def test_the_server_starts_prints_its_address_and_stops_on_an_interruption(towns, tmp_path):
    process = interruptible_process(
        [sys.executable, "-c", "from conjury.cli.main import main; main()", "panel", towns],
        stdout=-1,
        stderr=-1,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "http://127.0.0.1:" in line
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
