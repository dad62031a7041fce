"""Hosts that the user trusts with keys: a file in the folder of the user's settings, never one of a study."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import InputError
from ..tables.limits import parse_json
from .addresses import Address, read_address
from .providers import never_sent

FOLDER, FILE = "conjury", "trusted_hosts.json"


def settings_folder() -> Path:
    """The folder of the user's settings: ``XDG_CONFIG_HOME``, ``APPDATA`` or ``~/.config``."""
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        folder = Path(os.environ.get(name, ""))
        if folder.is_absolute():  # a relative one would depend on the working folder, which may be a study's
            return folder / FOLDER
    return Path.home() / ".config" / FOLDER


def trusted_hosts() -> dict[str, tuple[str, ...]]:
    """Return the servers that the user trusts, each with the variables whose keys may go there."""
    path = settings_folder() / FILE
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: the file cannot be read ({error}); correct it, or delete it and trust the hosts again."
        ) from None
    hosts = content.get("hosts") if isinstance(content, dict) else None
    if not isinstance(hosts, dict) or not all(_are_names(names) for names in hosts.values()):
        raise InputError(
            f"{path}: 'hosts' has to map each server to a list of variables; correct the file, or delete it "
            "and trust the hosts again."
        )
    return {str(server): tuple(names) for server, names in hosts.items()}


def is_trusted(address: Address, key_variable: str) -> bool:
    """Whether the user trusts a server with the key in a variable."""
    return key_variable in trusted_hosts().get(address.server, ())


def trusted_address(text: str) -> Address:
    """Read a host as the user writes it: an address, or a host with or without a port."""
    if "://" in text:
        return read_address(text, f"'{text}'")
    address = read_address(f"https://{text}", f"'{text}'")
    return read_address(f"http://{text}", f"'{text}'") if address.is_local else address


def trust(address: Address, key_variables: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Trust a server with the keys in some variables; return all hosts that are trusted now."""
    for name in key_variables:
        if problem := never_sent(address, name):
            raise InputError(problem)
    hosts = trusted_hosts()
    hosts[address.server] = tuple(dict.fromkeys((*hosts.get(address.server, ()), *key_variables)))
    _write(hosts)
    return hosts


def distrust(address: Address) -> dict[str, tuple[str, ...]]:
    """Trust a server no longer; return the hosts that are still trusted."""
    hosts = trusted_hosts()
    if address.server not in hosts:
        raise InputError(f"{address.server} is not trusted; `conjury trust` lists the hosts that are.")
    del hosts[address.server]
    _write(hosts)
    return hosts


def _are_names(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _write(hosts: Mapping[str, tuple[str, ...]]) -> None:
    folder = settings_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = folder / f".{FILE}.{os.getpid()}.tmp"
    content = {"hosts": {server: list(names) for server, names in sorted(hosts.items())}}
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
    draft.replace(folder / FILE)
