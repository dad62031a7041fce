"""Where a model is asked, and whether the key in a variable of the environment may go there.

The user decides about keys, not a study file: a key goes to its provider, to a server that the user named
together with the variable, or to one that the user trusts with it (`conjury trust`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import InputError
from ..study.asking import PAID, Sampling
from ..tables.safe_text import redact
from .addresses import Address, read_address
from .providers import ACCOUNTS, OPENAI, Account, is_own, never_sent
from .trusted import is_trusted


class EndpointChoice(NamedTuple):
    """What the user named, on the command line or in Python; everything else comes from a study file."""

    base_url: bool = True
    key_variable: bool = True


KEY_HEADER = re.compile(r"(?i)auth|key|token|secret|passw|cookie")
ORGANIZATION = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
NO_KEY = "none"  # clients insist on a key; a server that needs none does not look at it
BY_USER, BY_FILE = EndpointChoice(), EndpointChoice(base_url=False, key_variable=False)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where requests go, and which key may go with them; the key itself is not read."""

    address: Address
    # the environment variable of the key; empty where none is sent
    key_variable: str = ""
    # why the key may not go there; empty where it may
    problem: str = ""
    # whether no decision of the user allows it
    final: bool = False
    # whether the server is that of the account, which headers of the environment are meant for
    own: bool = False

    @property
    def is_set(self) -> bool:
        """Whether the variable contains something."""
        return bool(_key(self.key_variable))

    @property
    def in_words(self) -> str:
        """Where requests go and with which key, for people."""
        if not self.key_variable:
            return f"{self.address.url}, without a key"
        state = "" if self.is_set else ", which is not set"
        if self.problem:
            return f"{self.address.url}; the key in {self.key_variable} may not be sent there"
        return f"{self.address.url}, with the key in {self.key_variable}{state}"

    def check(self) -> None:
        """Refuse to send a key where it may not go; InputError with the remedy."""
        if self.problem and self.is_set:
            raise InputError(self.problem)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked, by which key; neither ``str`` nor ``repr`` shows the key."""

    base_url: str  # the address
    # key_variable, key: The environment variable that contains the key, and the key; empty where none is
    # sent.
    key_variable: str
    key: str = field(repr=False)
    # whether the server is that of the account
    own: bool = False
    # whether no proxy may come between: it would see the key to a server that is asked without encryption
    direct: bool = False

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be shown nowhere."""
        further = header_keys() if self.own else ()
        return (self.key, *further) if self.key else further


def custom_headers() -> dict[str, str]:
    """Return the headers that the environment adds to requests to the account's own server."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def header_keys() -> tuple[str, ...]:
    """Return the keys among these headers."""
    values = (value.split() for name, value in custom_headers().items() if KEY_HEADER.search(name))
    return tuple(words[-1] for words in values if words)


def account_of(ask: Sampling) -> Account:
    """The account of a judge's provider."""
    return ACCOUNTS.get(ask.backend, OPENAI)


def key_variable_of(ask: Sampling) -> str:
    """Return the variable of the key; that of OpenAI is the default of a study file and stands for none."""
    account = account_of(ask)
    return account.key_variable if ask.key_variable == OPENAI.key_variable else ask.key_variable


def destination_of(ask: Sampling, named: EndpointChoice = BY_FILE) -> Destination | None:
    """Return where a judge's requests go; None where they stay on this machine."""
    if ask.backend not in PAID:
        return None
    return find_destination(ask.base_url, key_variable_of(ask), account_of(ask), named)


def find_destination(
    base_url: str | None, key_variable: str, account: Account = OPENAI, named: EndpointChoice = BY_FILE
) -> Destination:
    """Find the server, and whether the key in a variable may go there."""
    # The key of an `account` is not sent to another server than that of the account, without a word: a server
    # that is named by `base_url` alone needs none.
    url = base_url or os.environ.get(account.url_variable) or account.url
    if redact(url, (_key(key_variable),)) != url:
        raise InputError(
            f"The base_url {_without_secrets(url, key_variable)} contains a key or password; put that into "
            f"the environment variable {key_variable}."
        )
    address = read_address(url)
    is_own_server = is_own(address, key_variable)
    if key_variable == account.key_variable and not is_own_server:
        return Destination(address)
    problem, final = _problem(
        address, key_variable, is_own_server, EndpointChoice(named[0] or base_url is None, named[1])
    )
    return Destination(address, key_variable, problem, final, is_own(address, account.key_variable))


def _problem(address: Address, variable: str, is_own_server: bool, named: EndpointChoice) -> tuple[str, bool]:
    """Say why a key may not go to a server, and whether that is final; an empty text where it may."""
    server = address.server
    if problem := never_sent(address, variable):
        return problem, True
    if address.scheme == "http" and not address.is_local:
        if is_trusted(address, variable):
            return "", False
        return (
            f"The key in {variable} would travel unencrypted to {server}; if you trust that network, run "
            f"`conjury trust {server} --key-variable {variable}`."
        ), False
    if is_own_server or all(named) or is_trusted(address, variable):
        return "", False
    file = {"server": named.base_url, "variable of the key": named.key_variable}
    options = {"--base-url": address.url, "--key-variable": variable}
    missing = [f"{name} {value}" for (name, value), by in zip(options.items(), named, strict=True) if not by]
    return (
        f"The key in {variable} is not sent to {server}: the "
        f"{' and the '.join(what for what, by in file.items() if not by)} are named by the study file, not "
        f"by you. If it should go there, add {' '.join(missing)}, or run "
        f"`conjury trust {server} --key-variable {variable}` once."
    ), False


def find_endpoint(
    base_url: str | None, key_variable: str, account: Account = OPENAI, named: EndpointChoice = BY_USER
) -> Endpoint:
    """Read the key from the environment where it may go to the server; a server of one's own needs none."""
    destination = find_destination(base_url, key_variable, account, named)
    destination.check()
    key = "" if destination.problem else _key(destination.key_variable)
    if not key and not base_url:
        raise InputError(
            f"The environment variable {key_variable} contains no key; set it, or give a base_url."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(
            f"The environment variable {key_variable} contains characters that keys do not have; set it "
            f"again."
        )
    address = destination.address
    direct = address.scheme == "http" and (address.is_local or bool(key))
    return Endpoint(address.url, key_variable, key, destination.own, direct)


def _key(variable: str) -> str:
    return os.environ.get(variable, "").strip() if variable else ""


def _without_secrets(url: str, key_variable: str) -> str:
    """An address without user, password, query and key."""
    scheme, mark, location = url.partition("?")[0].partition("://")
    server, slash, path = location.partition("/")
    return redact(f"{scheme}{mark}{server.rpartition('@')[2]}{slash}{path}", (_key(key_variable),))
