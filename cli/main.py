"""The ``conjury`` command: its subcommands, and how errors end it."""

from __future__ import annotations

import sys
import traceback
from typing import NoReturn

import typer

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.tables.limits import EXHAUSTED, exhausted

from .checking_tables import check_table
from .commands.check import check
from .commands.collect import collect
from .commands.compare import compare
from .commands.designs.design import design
from .commands.designs.power import power
from .commands.diagnose import diagnose
from .commands.fit import fit
from .commands.judges.agreement import agreement, alt_test
from .commands.judges.compare_runs import compare_runs
from .commands.judges.judge import judge
from .commands.judges.raters import raters
from .commands.papers.checklist import checklist
from .commands.papers.metadata import metadata
from .commands.papers.methods import methods
from .commands.papers.preregister import preregister
from .commands.papers.report import report
from .commands.papers.tables import tables
from .commands.people.export import export
from .commands.people.panel import panel
from .commands.runs import ledger, parse, retry, status
from .commands.simulate import simulate
from .commands.starting.beginning import demo, init
from .commands.starting.convert import convert
from .commands.starting.installed import doctor, example
from .commands.starting.validate import validate
from .commands.trial import trial
from .commands.view import view
from .gallery import gallery
from .import_command import import_
from .perturbing import perturb
from .printing import one_line
from .rendering import render

READERS = (
    *(
        f"conjury.inference.{name}"
        for name in ("tables", "study.yaml", "simulation.truth_table", "humans", "stimuli", "design.stimuli")
    ),
    "conjury.analysis.audit.published",
)
INTERRUPTED = 130  # what typer exits with, in silence, after Ctrl-C

app = typer.Typer(
    name="conjury",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measure how LLM judges decide, next to human judges.",
)

app.command()(demo)
app.command()(init)
app.command()(validate)
app.command()(simulate)
app.command()(example)
app.command("import")(import_)
app.command()(convert)
app.command()(export)
app.command()(perturb)
app.command()(render)
app.command()(gallery)
app.command()(view)
app.command()(design)
app.command()(collect)
app.command()(status)
app.command()(retry)
app.command()(parse)
app.command()(fit)
app.command()(compare)
app.command()(report)
app.command()(tables)
app.command()(checklist)
app.command()(preregister)
app.command()(methods)
app.command()(metadata)
app.command()(power)
app.command()(diagnose)
app.command()(check)
app.command("check-table")(check_table)
app.command()(trial)
app.command()(doctor)
app.command("judge")(judge)
app.command("compare-runs")(compare_runs)
app.command("agreement")(agreement)
app.command("alt-test")(alt_test)
app.command("raters")(raters)
app.add_typer(panel, name="panel")
app.add_typer(ledger, name="ledger")


def main() -> None:
    """Run the command line; problems that the user can solve end with one sentence and exit code 2."""
    try:
        app()
    except ConjuryError as error:
        _fail(error)
    except OSError as error:
        _fail(InputError(f"{error.filename or 'A file'} cannot be used: {error.strerror or error}."))
    except EXHAUSTED as error:  # the last line: a reader that did not say which limit a file exceeds
        source = _file_read(error)
        if source is None:
            raise
        _fail(exhausted(source, error))
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            _interrupted()
        raise


def _interrupted() -> NoReturn:
    print("conjury: interrupted; no file was left half written.", file=sys.stderr)
    sys.exit(INTERRUPTED)


def _file_read(error: BaseException) -> object:
    """Name the file that was being read when an error came up; None where it came from anything else."""
    named = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__", "")).startswith(READERS):
            local = frame.f_locals
            named = next((local[name] for name in ("path", "source", "file") if name in local), named)
    return named


def _fail(error: ConjuryError) -> None:
    """Print one line that a terminal shows as it is, whatever a file contains, and exit with code 2."""
    print(f"conjury: {one_line(str(error))}", file=sys.stderr)
    sys.exit(2)
