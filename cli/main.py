"""The ``conjury`` command: its subcommands, and how errors end it."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from conjury.inference.entry_registry import Registry
from conjury.inference.errors import OF_COMMAND, sentences_of

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
from .encodings import accept_all_letters
from .options import suggest_meant
from .printing import one_line
from .wishes import ALL, HELP, OPEN, QUIET, wish

PANELS = {  # of the help, in its order: module and function of each command
    "Start here": {
        "demo": "commands.starting.beginning:demo",
        "judge": "commands.judges.judge:judge",
        "conjoint": "commands.starting.conjoint_command:conjoint",
        "init": "commands.starting.beginning:init",
        "example": "commands.starting.installed:example",
        "doctor": "commands.starting.installed:doctor",
        "skill": "commands.starting.skill:skill",
    },
    "Study": {
        "validate": "commands.starting.validate:validate",
        "design": "commands.designs.design:design",
        "power": "commands.designs.power:power",
        "simulate": "commands.simulate:simulate",
        "perturb": "perturbing:perturb",
        "render": "rendering:render",
    },
    "Collect": {
        "probe": "commands.judges.probe_command:probe",
        "collect": "commands.collecting.collect:collect",
        "trust": "commands.starting.trust:trust",
        "run status": "commands.collecting.runs:status",
        "run retry": "commands.collecting.runs:retry",
        "run parse": "commands.collecting.runs:parse",
        "run verify": "commands.collecting.runs:verify",
        "panel": "commands.people.panel:panel",
    },
    "Data in and out": {
        "read": "commands.starting.read_command:read",
        "import": "import_command:import_",
        "export": "commands.people.export:export",
        "prepare": "commands.starting.prepare_command:prepare",
        "convert": "commands.starting.convert:convert",
        "view": "commands.view:view",
        "label": "commands.judges.label_command:label",
    },
    "Analyse": {
        "fit": "commands.fit:fit",
        "compare-runs": "commands.judges.compare_runs:compare_runs",
        "compare-systems": "commands.judges.compare_systems:compare_systems",
        "compare-pairs": "commands.judges.compare_pairs:compare_pairs",
        "agreement": "commands.judges.agreement:agreement",
        "alt-test": "commands.judges.agreement:alt_test",
        "raters": "commands.judges.raters:raters",
        "automate": "commands.judges.automate:automate",
    },
    "Check": {
        "check": "commands.check:check",
        "check-table": "checking_tables:check_table",
    },
    "Write": {
        "report": "commands.papers.report:report",
        "tables": "commands.papers.tables:tables",
        "replicate": "commands.papers.replicate:replicate",
        "paper preregister": "commands.papers.preregister:preregister",
        "paper methods": "commands.papers.methods:methods",
        "paper checklist": "commands.papers.checklist:checklist",
        "paper metadata": "commands.papers.metadata:metadata",
    },
    "Methods": {
        "trial": "commands.trial:trial",
        "compare": "commands.compare:compare",
    },
}
GROUPS = {  # first words that several commands share
    "run": "Look at a run, ask again, read again or verify it.",
    "paper": "Write what goes with a paper, before and after.",
}
PLACES = {name: place for commands in PANELS.values() for name, place in commands.items()}
ADDED = "Added by other packages"
MOVED = {  # former commands, whose names are understood until version 0.3
    **{name: ("run", name) for name in ("status", "retry", "parse")},
    "ledger": ("run",),  # whose one command was verify
    **{name: ("paper", name) for name in ("preregister", "methods", "checklist", "metadata")},
    "gallery": ("render", "--page"),
    "diagnose": ("check", "--results", "results", "--fail-on", "none"),  # a folder that is named follows
}
MEANT = {  # words of the field that are no commands, and the commands that do what they name
    **dict.fromkeys(("amce", "mm", "acie", "cregg"), ("conjoint", "fit")),
    **dict.fromkeys(("analyse", "analyze", "estimate", "regress"), ("fit",)),
    **dict.fromkeys(("kappa", "alpha", "krippendorff", "icc", "irr", "reliability"), ("agreement",)),
    **dict.fromkeys(("elo", "bradley-terry", "winrate", "win-rate", "rank"), ("compare-pairs",)),
    **dict.fromkeys(("evaluate", "eval", "grade", "score"), ("judge",)),
    **dict.fromkeys(("irt", "rasch", "mace", "dawid-skene"), ("raters",)),
    **dict.fromkeys(("mde", "sample-size"), ("power",)),
    **dict.fromkeys(("annotate", "survey"), ("panel", "export")),
    **dict.fromkeys(("ask", "query", "resume"), ("collect",)),
    **dict.fromkeys(("plot", "figure", "figures"), ("report", "tables")),
    "ppi": ("compare-systems", "fit"),
}
FORMER_OPTIONS = {  # of commands, whose names mean something else elsewhere and are understood until 0.3
    "collect": {
        "--weights": "--model-weights",
        "--results": "--batch-results",
        "--cluster": "--backend=ray",
    },
    "alt-test": {"--power": "--simulate-power"},
    "render": {"--check": "--verify", "--format": "--to"},
    "import": {
        **{"--check": "--attention-check", "--people": "--all-people", "--panel": "--panel-column"},
        "--labels": "--level-order",
    },
    "check": {"--people": "--all-people", "--checks": "--check-file"},
    "power": {"--repeats": "--repeated-tasks"},
    "tables": {"--figures": "--figure-size"},
    "compare-systems": {"--label": "--human"},
    "compare-pairs": {"--people": "--people-names"},
    "label": {"--batch": "--batch-size"},
    "raters": {"--model": "--rater-model"},
    "panel forget": {"--answers": "--with-answers"},
    "panel export": {"--to": "--tables"},
}
_MARK = re.compile(r"(?<!\\)\[(?=[a-z#/@])")  # what rich takes for one


COMMANDS: Registry[Any] = Registry(
    "conjury.commands", places={name: f"{__package__}.{place}" for name, place in PLACES.items()}
)


class LazyCommands(Mapping[str, Any]):
    """Commands, of one group or all, each imported when it is first used: none waits for the others."""

    def __init__(self, group: str = "") -> None:
        self.group = group

    def __getitem__(self, name: str) -> Any:
        return _command(f"{self.group} {name}".lstrip())

    def __iter__(self) -> Iterator[str]:
        if self.group:
            return (name.split()[1] for name in COMMANDS if name.split()[0] == self.group)
        return iter(dict.fromkeys(name.split()[0] for name in COMMANDS))

    def __len__(self) -> int:
        return len(list(iter(self)))


@lru_cache
def _command(name: str) -> Any:
    if name in GROUPS:
        below = typer.Typer(cls=Commands, no_args_is_help=True, help=GROUPS[name])
        below.callback()(lambda: None)
        command: Any = typer.main.get_group(below)
        command.commands = LazyCommands(name)
    else:
        command = _one_command(name)
    command.name = name.split()[-1]
    command.rich_help_panel = next(
        (panel for panel, names in PANELS.items() if any(name in (each, each.split()[0]) for each in names)),
        ADDED,
    )
    return command


def _one_command(name: str) -> Any:
    """Import a command, or a group that one module holds."""
    loaded = COMMANDS[name]
    if isinstance(loaded, typer.Typer):
        command: Any = typer.main.get_group(loaded)
    else:
        alone = typer.Typer(add_completion=False)
        alone.command(name.split()[-1])(loaded)
        command = typer.main.get_command(alone)
    _print_help_whole(command)
    _understand_options(command, name)
    return add_json_and_log(command, name)


def _understand_options(command: Any, name: str) -> None:
    """Have a command, or those of a group, understand former names of options, and others that are meant."""
    for part, below in getattr(command, "commands", {}).items():
        _understand_options(below, f"{name} {part}")
    former, parse = FORMER_OPTIONS.get(name, {}), command.parse_args

    def parse_args(context: Any, args: list[str]) -> Any:
        for place, word in enumerate(args):
            option, equals, value = word.partition("=")
            if option in former:
                print(f"conjury: {option} of `conjury {name}` is now {former[option]}.", file=sys.stderr)
                args = [*args[:place], f"{former[option]}{equals}{value}", *args[place + 1 :]]
        try:
            return parse(context, args)
        except Exception as raised:
            error: Any = raised
            if hasattr(error, "possibilities"):
                suggest_meant(error, command)
            elif getattr(error, "param", None) is not None and not error.message:
                error.message = (error.param.help or "").replace("\\[", "[")  # what is missing
            raise

    command.parse_args = parse_args


def _print_help_whole(command: Any) -> None:
    """Have square brackets of help printed, which rich removes as marks, and no lines of sources in it."""
    for part in (command, *command.params):
        text = getattr(part, "help", None)
        if text:
            paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
            part.help = _MARK.sub(r"\\\g<0>", "\n\n".join(paragraphs))
    for below in getattr(command, "commands", {}).values():
        _print_help_whole(below)


class Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": LazyCommands()})

    def list_commands(self, ctx: Any) -> list[str]:
        """Names without their commands, which the default would import."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command by its name, or by the one that it had before."""
        if args and ctx.parent is None and args[0] in MOVED and args[0] not in self.commands:
            words = MOVED[args[0]]
            print(f"conjury: `conjury {args[0]}` is now `conjury {' '.join(words)}`.", file=sys.stderr)
            args = [*words, *args[1:]]
        try:
            return super().resolve_command(ctx, args)
        except Exception as raised:
            error: Any = raised
            if ctx.parent is None and args and args[0].lower() in MEANT and hasattr(error, "message"):
                meant = " or ".join(f"'{name}'" for name in MEANT[args[0].lower()])
                error.message = f"No such command '{args[0]}'. Did you mean {meant}?"
            raise


app = typer.Typer(
    cls=Commands,
    name="conjury",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"conjury {version('conjury')}")
        raise typer.Exit


@app.callback()
def conjury(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    quiet: Annotated[bool, typer.Option(QUIET, help=HELP[QUIET])] = False,
    everything: Annotated[bool, typer.Option(ALL, help=HELP[ALL])] = False,
    opens: Annotated[bool, typer.Option(OPEN, help=HELP[OPEN])] = False,
) -> None:
    """Measure how LLM judges decide, next to human judges."""
    wish(QUIET, quiet)
    wish(ALL, everything)
    wish(OPEN, opens)


def main() -> None:
    """Run the command line; problems that the user can solve end with one sentence and exit code 2."""
    # A defect of conjury has an exit code of its own: 1 means that a limit is not met, and gates read it so.
    gc.set_threshold(200_000)  # looking for cycles every few hundred objects costs a tenth of the start
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # its default keeps 60 MB more
    accept_all_letters()
    begin()
    token = OF_COMMAND.set(True)
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
        OF_COMMAND.reset(token)
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
        sentences = [one_line(sentence) for sentence in sentences_of(refused)]
        for sentence in sentences[:-1]:
            print(mask_keys(sentence), file=sys.stderr)
        _fail(sentences[-1], "; ".join(sentences))
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


def _fail(sentence: str, record: str = "") -> NoReturn:
    """Print one line without keys, and exit with code 2."""
    print(f"conjury: {mask_keys(sentence)}", file=sys.stderr)
    fail(record or sentence, REFUSED)
    sys.exit(REFUSED)
