"""The ``conjury`` command: its subcommands, and how errors end it."""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from conjury.inference.entry_registry import Registry

from .automation import (
    CRASHED,
    INTERRUPTED,
    PIPE_CLOSED,
    REFUSED,
    add_json_and_log,
    begin,
    fail,
    mask_keys,
    refusal,
)
from .printing import one_line

PLACES = {  # in the order of the help: module and function of each
    "demo": "commands.starting.beginning:demo",
    "init": "commands.starting.beginning:init",
    "validate": "commands.starting.validate:validate",
    "simulate": "commands.simulate:simulate",
    "example": "commands.starting.installed:example",
    "read": "commands.starting.read_command:read",
    "import": "import_command:import_",
    "convert": "commands.starting.convert:convert",
    "export": "commands.people.export:export",
    "perturb": "perturbing:perturb",
    "render": "rendering:render",
    "gallery": "gallery:gallery",
    "view": "commands.view:view",
    "design": "commands.designs.design:design",
    "probe": "commands.judges.probe_command:probe",
    "collect": "commands.collect:collect",
    "trust": "commands.starting.trust:trust",
    "status": "commands.runs:status",
    "retry": "commands.runs:retry",
    "parse": "commands.runs:parse",
    "fit": "commands.fit:fit",
    "compare": "commands.compare:compare",
    "report": "commands.papers.report:report",
    "tables": "commands.papers.tables:tables",
    "checklist": "commands.papers.checklist:checklist",
    "preregister": "commands.papers.preregister:preregister",
    "methods": "commands.papers.methods:methods",
    "metadata": "commands.papers.metadata:metadata",
    "power": "commands.designs.power:power",
    "diagnose": "commands.diagnose:diagnose",
    "check": "commands.check:check",
    "check-table": "checking_tables:check_table",
    "trial": "commands.trial:trial",
    "doctor": "commands.starting.installed:doctor",
    "judge": "commands.judges.judge:judge",
    "conjoint": "commands.starting.conjoint_command:conjoint",
    "compare-runs": "commands.judges.compare_runs:compare_runs",
    "compare-systems": "commands.judges.compare_systems:compare_systems",
    "compare-pairs": "commands.judges.compare_pairs:compare_pairs",
    "automate": "commands.judges.automate:automate",
    "agreement": "commands.judges.agreement:agreement",
    "alt-test": "commands.judges.agreement:alt_test",
    "raters": "commands.judges.raters:raters",
    "panel": "commands.people.panel:panel",
    "ledger": "commands.runs:ledger",
}


COMMANDS: Registry[Any] = Registry(
    "conjury.commands", places={name: f"{__package__}.{place}" for name, place in PLACES.items()}
)


class LazyCommands(Mapping[str, Any]):
    """Commands by name, each imported when it is first used, so that one does not wait for the others."""

    def __getitem__(self, name: str) -> Any:
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@lru_cache
def _command(name: str) -> Any:
    loaded = COMMANDS[name]
    if isinstance(loaded, typer.Typer):
        command: Any = typer.main.get_group(loaded)
    else:
        alone = typer.Typer(add_completion=False)
        alone.command(name)(loaded)
        command = typer.main.get_command(alone)
    command.name = name
    return add_json_and_log(command, name)


class Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": LazyCommands()})

    def list_commands(self, ctx: Any) -> list[str]:
        """Names without their commands, which the default would import."""
        return list(COMMANDS)


app = typer.Typer(
    cls=Commands, name="conjury", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


@app.callback()
def conjury() -> None:
    """Measure how LLM judges decide, next to human judges."""


def main() -> None:
    """Run the command line; problems that the user can solve end with one sentence and exit code 2."""
    # A defect of conjury has an exit code of its own: 1 means that a limit is not met, and gates read it so.
    gc.set_threshold(200_000)  # looking for cycles every few hundred objects costs a tenth of the start
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # its default keeps 60 MB more
    begin()
    try:
        app()
    except Exception as error:
        _exit_with_error(error)
    except KeyboardInterrupt:
        _exit_interrupted()
    except SystemExit as stop:
        cause = _underlying_error(stop)
        if isinstance(cause, EOFError):  # typer takes the end of any file for that of its own input
            _exit_with_error(cause)
        if isinstance(cause, OSError) and cause.errno == errno.EPIPE:
            sys.exit(PIPE_CLOSED)
        if stop.code == INTERRUPTED:  # what typer exits with, in silence, after Ctrl-C
            by_itself = isinstance(stop.__context__, typer.Exit) and stop.__context__.__cause__ is None
            _exit_interrupted(by_itself)
        message = getattr(stop.__context__, "format_message", None)
        if message is not None:
            fail(one_line(message()), REFUSED)
        raise
    finally:
        gc.freeze()  # leaves nothing to search for cycles at the exit, which takes a sixth of a short command


def _underlying_error(stop: SystemExit) -> BaseException | None:
    """The error for which typer exits with 1 by itself; None where a command chose its exit code."""
    if stop.code != 1 or stop.__context__ is None or isinstance(stop.__context__, typer.Exit):
        return None
    return stop.__context__.__cause__ or stop.__context__


def _exit_with_error(error: Exception) -> NoReturn:
    """End with one sentence, and for a defect with the lines of the code before it."""
    refused = refusal(error)
    if refused is not None:
        _fail(one_line(str(refused)))
    print(mask_keys("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    sentence = one_line(
        f"this is a defect of conjury ({type(error).__name__}: {error}); please report it with the lines "
        "above."
    )
    print(f"conjury: {mask_keys(sentence)}", file=sys.stderr)
    fail(sentence, CRASHED)
    sys.exit(CRASHED)


def _exit_interrupted(by_itself: bool = False) -> NoReturn:
    """Print one sentence and exit; a command that ended by itself has printed its document."""
    print("conjury: interrupted; no file was left half written.", file=sys.stderr)
    if not by_itself:
        fail("interrupted", INTERRUPTED)
    sys.exit(INTERRUPTED)


def _fail(sentence: str) -> NoReturn:
    """Print one line without keys, and exit with code 2."""
    print(f"conjury: {mask_keys(sentence)}", file=sys.stderr)
    fail(sentence, REFUSED)
    sys.exit(REFUSED)
