"""For programs that call the commands: ``--json``, one document per command, and ``CONJURY_LOG``, a log."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import lru_cache, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.tables.limits import EXHAUSTED, limit_error
from conjury.inference.tables.reading.text_files.short_rows import ShortRows

from .wishes import (
    details_announced,
    forget_wishes,
    page_opened_if_wished,
    silenced_if_quiet,
    wish_options,
)

JSON, LOG = "--json", "CONJURY_LOG"
REFUSED, INTERRUPTED = 2, 130  # exit codes
# Of a defect (EX_SOFTWARE of sysexits.h) and of a reader such as `head` that has ended (128 + SIGPIPE).
CRASHED, PIPE_CLOSED = 70, 141
HELP = "Print one JSON document on standard output, and nothing else there."
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)  # in names of environment variables
NO_PATH = ("Symlink loop", "embedded null", "lstat: embedded null", "stat: embedded null")  # of pathlib
SHORTEST = 8  # characters of a secret; shorter ones could be part of any word

READERS = (
    *(
        f"conjury.inference.{name}"
        for name in ("tables", "study.yaml", "simulation.truth_table", "humans", "stimuli", "design.stimuli")
    ),
    "conjury.analysis.audit.published",
)

_document: ContextVar[dict[str, Any] | None] = ContextVar("document", default=None)
_running: ContextVar[str | None] = ContextVar("running", default=None)  # the outermost command, by name
_logger = logging.getLogger("conjury")


def record(**values: Any) -> None:
    """Add values to the document of the running command; lists and mappings are joined with earlier ones."""
    document = _document.get()
    if document is None:
        return
    for name, value in values.items():
        earlier = document.get(name)
        if value is None and earlier is not None:
            continue
        if isinstance(earlier, dict):
            document[name] = earlier | value
        elif isinstance(earlier, list):
            document[name] = [*earlier, *value]
        else:
            document[name] = list(value) if isinstance(value, tuple) else value


def to_json_value(value: Any) -> Any:
    """A value as JSON has it: a table as its rows, a data class as an object, what is not finite as null."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): to_json_value(item) for name, item in value.items()}
    if hasattr(value, "to_dict"):
        return [to_json_value(row) for row in value.to_dict("records")]
    if isinstance(value, Sequence | set) or getattr(value, "ndim", 0) > 0:
        return [to_json_value(item) for item in value]
    from conjury.inference.tables.columns import json_value

    return json_value(value)


def add_json_and_log(command: Any, name: str) -> Any:
    """Give a command, or each command of a group, ``--json`` and a log of its begin and end."""
    if hasattr(command, "commands"):
        for part, each in command.commands.items():
            add_json_and_log(each, f"{name} {part}")
        return command
    prints = any(JSON in parameter.opts for parameter in command.params)  # some print a document of their own
    if not prints:
        command.params.append(_option())
    command.params.extend(wish_options())
    command.make_context = _record_name(command.make_context, name)
    command.callback = _wrap_callback(command.callback, name, prints)
    return command


def begin() -> None:
    """Forget an earlier command of this process."""
    _document.set(None)
    _running.set(None)
    forget_wishes()


def _record_name(make: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Note the name of the command before its options are read, which an error may be about."""

    @wraps(make)
    def run(*args: Any, **kwargs: Any) -> Any:
        if _running.get() is None:
            _running.set(name)
        return make(*args, **kwargs)

    return run


@lru_cache
def _option() -> Any:
    """The option --json, as typer makes it."""
    alone = typer.Typer(add_completion=False)

    @alone.command()
    def flagged(json: Annotated[bool, typer.Option(JSON, help=HELP)] = False) -> None:
        """Have the option."""

    return next(option for option in typer.main.get_command(alone).params if option.name == "json")


def _wrap_callback(callback: Callable[..., Any], name: str, prints: bool) -> Callable[..., Any]:
    @wraps(callback)
    def run(**options: Any) -> Any:
        from conjury.inference.tables.writing import files_written

        wants_json = not prints and options.pop("json")
        before = _document.set({} if wants_json else None)
        is_outermost = _running.get() == name  # the demo runs other commands
        with (
            _log_command(name),
            _collect_notes(),
            files_written() as written,
            page_opened_if_wished(written, is_outermost),
        ):
            if not wants_json:
                try:
                    with silenced_if_quiet(), details_announced(is_outermost):
                        return callback(**options)
                finally:
                    _document.reset(before)
            code = _run_with_document(name, callback, options, written)
            _document.reset(before)  # after an error it stays, for `fail`
            if code:
                raise typer.Exit(code)
        return None

    return run


@contextmanager
def _collect_notes() -> Iterator[None]:
    """Print warnings of short rows as notes, and add them to the document."""
    usual = warnings.showwarning

    def show(message: Any, category: type[Warning], *place: Any, **further: Any) -> None:
        if not issubclass(category, ShortRows):
            usual(message, category, *place, **further)
            return
        record(notes=[str(message)])
        print(f"  Note: {mask_keys(' '.join(str(message).split()))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _run_with_document(
    name: str, callback: Callable[..., Any], options: Mapping[str, Any], written: Sequence[Path]
) -> int:
    """Run a command with its text on standard error and print its document; return the exit code."""
    code = 0
    with redirect_stdout(sys.stderr), silenced_if_quiet():
        try:
            with details_announced(_running.get() == name):
                callback(**options)
        except typer.Exit as stop:
            code = stop.exit_code
    content = dict(_document.get() or {})
    files = dict.fromkeys(str(file) for file in [*written, *content.pop("files", ())] if Path(file).is_file())
    _print({"command": name, "exit_code": code, "files": list(files), **content})
    return code


def _print(document: Mapping[str, Any]) -> None:
    content = {"command": document["command"], "version": _version(), **document}
    sys.stdout.write(
        json.dumps(to_json_value(content), indent=2, allow_nan=False) + "\n"
    )  # ASCII, for any terminal
    sys.stdout.flush()


def _version() -> str:
    from importlib.metadata import version  # which costs a tenth of the start of a command

    return version("conjury")


def fail(sentence: str, code: int) -> None:
    """Print the document of a command that ends with an error, where --json is among its arguments."""
    if JSON not in sys.argv[1:]:
        return
    content = {name: value for name, value in (_document.get() or {}).items() if name != "files"}
    name = _running.get() or next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    error = {"message": mask_keys(sentence), "exit_code": code}
    _print({"command": name, "exit_code": code, "files": [], "error": error, **content})


def refusal(error: BaseException) -> ConjuryError | None:
    """A sentence on a problem that the user can solve; None for other errors."""
    if isinstance(error, ConjuryError):
        return error
    if isinstance(error, OSError):
        return InputError(f"{error.filename or 'A file'} cannot be used: {error.strerror or error}.")
    if isinstance(error, RuntimeError | ValueError) and str(error).startswith(NO_PATH):
        return InputError(f"A file cannot be used ({error}); correct its name or its link.")
    source = _file_read(error) if isinstance(error, EXHAUSTED) else None
    return None if source is None else limit_error(source, error)  # of a reader that did not name the limit


def _file_read(error: BaseException) -> object:
    """Name the file that was being read when an error came up; None where it came from anything else."""
    path = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__", "")).startswith(READERS):
            local = frame.f_locals
            path = next((local[name] for name in ("path", "source", "file") if name in local), path)
    return path


def event(name: str, **values: Any) -> None:
    """Log an event with its values, where a log is kept."""
    _logger.info(name, extra={"values": values})


class Lines(logging.Formatter):
    """One JSON object per record: time (UTC), level, event, command and the values of the event."""

    def __init__(self, command: str) -> None:
        super().__init__()
        self.command = command

    def format(self, record: logging.LogRecord) -> str:
        """A record as one line, without anything that looks like a key."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry = {"time": when, "level": record.levelname.lower(), "event": record.getMessage()}
        values = entry | {"command": self.command} | getattr(record, "values", {})
        return json.dumps(mask_keys(to_json_value(values)), allow_nan=False)


def mask_keys(value: Any) -> Any:
    """The same value with keys blanked out of its texts."""
    from conjury.inference.tables.safe_text import redact

    if isinstance(value, dict):
        return {name: mask_keys(item) for name, item in value.items()}
    if isinstance(value, list):
        return [mask_keys(item) for item in value]
    if not isinstance(value, str):
        return value
    secrets = [text for name, text in os.environ.items() if SECRET.search(name) and len(text) >= SHORTEST]
    return redact(value, secrets)


@contextmanager
def _log_command(command: str) -> Iterator[None]:
    """Append the events of a command to the file that CONJURY_LOG names, its begin and end among them."""
    path = os.environ.get(LOG)
    if not path or _logger.handlers:  # a command within another has the log of that one
        yield
        return
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        why = f"the log cannot be written ({error.strerror})"
        raise InputError(f"{LOG}={path}: {why}; name another file.") from None
    handler.setFormatter(Lines(command))
    level = _logger.level
    _logger.addHandler(handler)
    _logger.setLevel(logging.INFO)
    begun = time.monotonic()
    event("begun", arguments=sys.argv[1:], version=_version(), pid=os.getpid())
    try:
        yield
    except BaseException as error:
        seconds = round(time.monotonic() - begun, 3)
        if isinstance(error, typer.Exit):
            event("ended", exit_code=error.exit_code, seconds=seconds)
        else:
            refused = refusal(error)
            code = REFUSED if refused is not None else INTERRUPTED if _is_interrupt(error) else CRASHED
            text = str(refused or error) or type(error).__name__
            failed = {"exit_code": code, "seconds": seconds, "error": text}
            _logger.error("failed", extra={"values": failed})
        raise
    else:
        event("ended", exit_code=0, seconds=round(time.monotonic() - begun, 3))
    finally:
        _logger.removeHandler(handler)
        _logger.setLevel(level)
        handler.close()


def _is_interrupt(error: BaseException) -> bool:
    return isinstance(error, KeyboardInterrupt | typer.Abort)
