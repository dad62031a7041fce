"""What a user may ask of every command, before or after its name: silence, details, to see its page."""

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

QUIET, ALL, OPEN = "--quiet", "--all", "--open"
WISHED = ("quiet", "everything", "opens")
PAGES = (".html", ".htm")
HELP = {
    QUIET: "Print warnings and errors alone; may also follow the command.",
    ALL: "Print everything, not the first screen alone; may also follow the command.",
    OPEN: "Open the page that the command writes in the browser; may also follow the command.",
}

_wishes: ContextVar[frozenset[str]] = ContextVar("wishes", default=frozenset())
_in_details: ContextVar[bool] = ContextVar("in_details", default=False)
_left_out: ContextVar[bool] = ContextVar("left_out", default=False)  # whether details were not printed


def wish(name: str, is_wished: bool) -> None:
    """Note that a wish was expressed, for the command that runs."""
    if is_wished:
        _wishes.set(_wishes.get() | {name})


def forget_wishes() -> None:
    """Forget the wishes for an earlier command of this process."""
    _wishes.set(frozenset())
    _left_out.set(False)


def is_quiet() -> bool:
    """Whether nothing but warnings and errors is to be printed."""
    return QUIET in _wishes.get()


@contextmanager
def details() -> Iterator[None]:
    """Print inside only for a user who wishes for all; else the command ends with the option for it."""
    before = _in_details.set(leaves_out_details())
    try:
        yield
    finally:
        _in_details.reset(before)


def leaves_out_details() -> bool:
    """Whether details are left out, since nobody wished for them."""
    return ALL not in _wishes.get()


def leaves_out() -> bool:
    """Whether what is printed now are details for which nobody wished."""
    if _in_details.get():
        _left_out.set(True)
    return _in_details.get()


@contextmanager
def details_announced(is_outermost: bool) -> Iterator[None]:
    """Name the option that prints what the outermost command leaves out inside."""
    try:
        yield
    except typer.Exit:
        _announce(is_outermost)
        raise
    _announce(is_outermost)


def _announce(is_outermost: bool) -> None:
    if is_outermost and _left_out.get():
        _left_out.set(False)
        print(f"{ALL} prints the rest.")


def _hidden(name: str) -> Any:
    return typer.Option(
        name, help=HELP[name], hidden=True, expose_value=False, callback=lambda value: wish(name, value)
    )


Quiet = Annotated[bool, _hidden(QUIET)]
Everything = Annotated[bool, _hidden(ALL)]
Opens = Annotated[bool, _hidden(OPEN)]


@lru_cache
def wish_options() -> list[Any]:
    """The wishes as options of a command, as typer makes them; the help of all commands lists them once."""
    alone = typer.Typer(add_completion=False)

    @alone.command()
    def wished(quiet: Quiet = False, everything: Everything = False, opens: Opens = False) -> None:
        """Have the options."""

    return [option for option in typer.main.get_command(alone).params if option.name in WISHED]


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
