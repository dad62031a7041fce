"""Upper limits of options that ask for a number of things."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from conjury.inference.errors import InputError


def at_most(limit: int) -> Callable[[typer.CallbackParam, Any], Any]:
    """Make the callback of an option that refuses numbers above a limit with one sentence."""

    def check(param: typer.CallbackParam, value: Any) -> Any:
        if value is not None and value > limit:
            raise InputError(f"{param.opts[0]} is {value:,}, and the limit is {limit:,}; ask for fewer.")
        return value

    return check
