"""What a user may ask of every command, before or after its name: silence, and to see the page it writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import typer

from conjury.inference.errors import InputError

QUIET, OPEN = "--quiet", "--open"
PAGES = (".html", ".htm")
HELP = {
    QUIET: "Print warnings and errors alone; may also follow the command.",
    OPEN: "Open the page that the command writes in the browser; may also follow the command.",
}

_wishes: ContextVar[frozenset[str]] = ContextVar("wishes", default=frozenset())


def wish(name: str, is_wished: bool) -> None:
    """Note that a wish was expressed, for the command that runs."""
    if is_wished:
        _wishes.set(_wishes.get() | {name})


def forget_wishes() -> None:
    """Forget the wishes for an earlier command of this process."""
    _wishes.set(frozenset())


def is_quiet() -> bool:
    """Whether nothing but warnings and errors is to be printed."""
    return QUIET in _wishes.get()


def _hidden(name: str) -> Any:
    return typer.Option(
        name, help=HELP[name], hidden=True, expose_value=False, callback=lambda value: wish(name, value)
    )


Quiet = Annotated[bool, _hidden(QUIET)]
Opens = Annotated[bool, _hidden(OPEN)]


@lru_cache
def wish_options() -> list[Any]:
    """The wishes as options of a command, as typer makes them; the help of all commands lists them once."""
    alone = typer.Typer(add_completion=False)

    @alone.command()
    def wished(quiet: Quiet = False, opens: Opens = False) -> None:
        """Have the options."""

    return [option for option in typer.main.get_command(alone).params if option.name in ("quiet", "opens")]


@contextmanager
def silenced_if_quiet() -> Iterator[None]:
    """Print nothing on standard output inside, where the user wishes so."""
    if not is_quiet():
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stdout(nothing):
        yield


def open_page_if_wished(written: Sequence[Path]) -> None:
    """Open the first page among the files that a command has written, where the user wishes so."""
    if OPEN not in _wishes.get() or isinstance(sys.exc_info()[1], Exception):
        return
    page = next((path for path in written if path.suffix.lower() in PAGES), None)
    if page is None:
        raise InputError(
            f"{OPEN}: the command wrote no page; where it has the option --html, give it a file."
        )
    import webbrowser

    webbrowser.open(page.resolve().as_uri())
