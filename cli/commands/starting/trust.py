"""The command ``conjury trust``: servers that may be sent keys which study files name."""

from __future__ import annotations

from typing import Annotated

import typer

from conjury.inference.errors import InputError, listed

from ...automation import record
from ...printing import console

Host = Annotated[
    str | None,
    typer.Argument(
        metavar="[HOST]",
        help="Server: HOST, HOST:PORT or its address. Without it the trusted hosts are listed.",
    ),
]


def trust(
    host: Host = None,
    key_variable: Annotated[
        list[str] | None,
        typer.Option(help="Environment variable whose key may be sent there; can be repeated."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Trust the host no longer.")] = False,
) -> None:
    """List or change the hosts that keys may be sent to.

    These are hosts that study files name.

    Keys of providers go to their own servers without this. The list is a file in the folder of your settings.
    """
    import re

    from conjury.inference.backends import trusted
    from conjury.inference.study.asking import KEY_VARIABLE

    if host is None:
        if key_variable or remove:
            raise InputError("--key-variable and --remove apply to a host; name one, as llm.example.org.")
        hosts = trusted.trusted_hosts()
    elif remove:
        if key_variable:
            raise InputError("--remove ends the trust in a host altogether; omit --key-variable.")
        hosts = trusted.distrust(trusted.trusted_address(host))
    else:
        if not key_variable or not all(re.fullmatch(KEY_VARIABLE, name) for name in key_variable):
            raise InputError(  # perhaps the key: not quoted
                "Name the environment variable whose key may be sent to the host: --key-variable MY_API_KEY."
            )
        hosts = trusted.trust(trusted.trusted_address(host), tuple(key_variable))
    record(trusted=hosts)
    if not hosts:
        console.print("No hosts are trusted; keys go to their providers, and to servers that you name.")
    for server, names in hosts.items():
        console.print(f"{server}: the key in {listed(names)}")
    if hosts:
        console.print(f"In {trusted.settings_folder() / trusted.FILE}")
