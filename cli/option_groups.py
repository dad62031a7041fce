"""Options that belong together as one dataclass: a command takes the object, its users see the options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of the dataclasses among its parameters as options.

    Fields are annotated as parameters of typer commands are, ``Annotated[type, typer.Option(...)]``, and
    have defaults; their names are the names of the options.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    own = [
        one.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for name, one in signature(command).parameters.items()
        if name not in groups
    ]
    options = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=known[field.name])
        for kind in groups.values()
        for known in [get_type_hints(kind, include_extras=True)]
        for field in fields(kind)
    ]

    def run(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        command(**given, **made)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in (*own, *options)}
    run.__dict__["__signature__"] = Signature([*own, *options])
    return run
