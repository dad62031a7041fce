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


@contextmanager
def page_opened_if_wished(written: Sequence[Path], is_outermost: bool) -> Iterator[None]:
    """Open the page that the outermost command writes inside, also where it then misses a limit."""
    try:
        yield
    except typer.Exit:
        page = nearest_page(written)
        if OPEN in _wishes.get() and is_outermost and page is not None:
            _open(page)
        raise
    if OPEN not in _wishes.get() or not is_outermost:
        return
    page = nearest_page(written)
    if page is None:
        raise InputError(
            f"{OPEN}: the command wrote no page; where it has the option --html, give it a file."
        )
    _open(page)


def nearest_page(written: Sequence[Path]) -> Path | None:
    """The page in the fewest folders, of several the last one, as the page of a folder of tables is."""
    pages = [path for path in written if path.suffix.lower() in PAGES and path.is_file()]
    return min(reversed(pages), key=lambda path: len(path.parts), default=None)


def _open(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        print(f"No browser could be opened; the page is {page}.", file=sys.stderr)
