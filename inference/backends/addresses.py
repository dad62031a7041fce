"""Addresses of servers, read strictly: what is compared and shown is exactly where a request goes."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from ..errors import InputError

_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>\d{0,5}))?"
    r"(?P<path>/[!\"$->@-\[\]-~]*)?",  # without #, \ and ?: clients append the path of a request at the end
    re.IGNORECASE | re.ASCII,  # ASCII: ignoring case would let a Kelvin sign pass for a k
)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
PORTS = {"http": 80, "https": 443}
LONGEST = 253  # characters of a host name
PRIVATE = tuple(
    map(
        ipaddress.ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
    )
)
NOT_AN_ADDRESS = (
    "is not the address of a server: http or https, a host in ASCII letters or as the usual numbers, perhaps "
    "a port and a path, without a user name and a query; give one such as http://127.0.0.1:8000/v1."
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where requests go."""

    # scheme, host: "http" or "https"; the host in small letters, without a dot at its end, IPv6 without
    # brackets.
    scheme: str
    host: str
    port: int
    # what follows, as it was given
    path: str = ""

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port, which a key is trusted to."""
        return self.scheme, self.host, self.port

    @property
    def server(self) -> str:
        """Scheme, host and port as an address, without a port that goes without saying."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if PORTS[self.scheme] == self.port else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.server}{self.path}"

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        number = _number_of(self.host)
        return self.host == "localhost" if number is None else number.is_loopback

    @property
    def is_private(self) -> bool:
        """Whether the host is a number of a private network."""
        number = _number_of(self.host)
        return number is not None and any(number in network for network in PRIVATE)


def read_address(text: str, what: str = "The base_url") -> Address:
    """Read an address; InputError, without the address, where it is none or can be read in two ways."""
    parts = _ADDRESS.fullmatch(text)
    host = None if parts is None else _host(parts["host"])
    port = 0 if parts is None else int(parts["port"] or PORTS[parts["scheme"].lower()])
    if parts is None or host is None or not 0 < port < 1 << 16:
        raise InputError(f"{what} {NOT_AN_ADDRESS}")
    return Address(parts["scheme"].lower(), host, port, parts["path"] or "")


def _host(text: str) -> str | None:
    """Return a host in its one form; None where it is none, such as 2130706433 for an address."""
    host = text.lower()
    try:
        if host.startswith("["):
            return str(ipaddress.IPv6Address(host[1:-1]))
        labels = host.removesuffix(".").split(".")
        if _NUMBER.fullmatch(labels[-1]):
            return str(ipaddress.IPv4Address(".".join(labels)))
    except ValueError:
        return None
    name = ".".join(labels)
    return name if len(name) <= LONGEST and all(map(_LABEL.fullmatch, labels)) else None


def _number_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return None
    return (number.ipv4_mapped or number) if isinstance(number, ipaddress.IPv6Address) else number
