"""What servers of OpenAI's protocol do with the settings of a request, as their documentation states it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from ...study.asking import Date
from ...study.study_yaml import Identifier, Part, Text, read_marked_yaml
from ...tables.files import ROOT

SERVERS = ROOT / "data" / "servers.yaml"
LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
Treatment = Literal["kept", "ignored", "refused", "model"]
IN_WORDS = {"kept": "yes", "ignored": "ignored", "refused": "refused", "model": "depends on the model"}


class ServerProfile(Part):
    """One server: where it is found, and what it does with what a request may contain."""

    id: Identifier
    label: Text
    documentation: Text
    hosts: list[Text] = Field(default_factory=list)
    ports: list[int] = Field(default_factory=list)
    path: str = ""
    key_variable: str = ""
    owned_by: str = ""
    temperature: Treatment
    seed: Treatment
    logprobs: int | Literal["chosen", "ignored", "refused", "model"]
    form: Literal["chat", "old"] = "chat"
    structured: Treatment
    n: Treatment
    system: Treatment
    limit: Literal["max_tokens", "max_completion_tokens", "model"]
    reasoning: Literal["", "parts", "reasoning", "reasoning_content"] = ""
    ends: list[Text]
    errors: list[Literal["status", "success", "list"]]
    wait: list[Literal["header", "body", "none"]]
    note: str = ""

    @property
    def has_logprobs(self) -> bool:
        """Whether log-probabilities may come."""
        return self.logprobs not in ("ignored", "refused")


class ServerTable(Part):
    """All profiles, and the day on which they were compared with the documentation."""

    as_of: Date
    servers: list[ServerProfile]


@cache
def read_servers(path: Path = SERVERS) -> ServerTable:
    """Read the profiles of servers."""
    return ServerTable.model_validate(read_marked_yaml(path).content)


def find_profile(base_url: str) -> ServerProfile | None:
    """Return the profile of a server by its host, or on this machine by its usual port; None for others."""
    parts = urlsplit(base_url)
    host = (parts.hostname or "").lower()
    for profile in read_servers().servers:
        if any(fnmatch(host, name) for name in profile.hosts):
            return profile
        if host in LOCAL and parts.port in profile.ports:
            return profile
    return None


def profile_rows(table: ServerTable | None = None) -> list[dict[str, str]]:
    """Return one row per server for people: what it does with each setting."""
    return [_row(profile) for profile in (table or read_servers()).servers]


def _row(profile: ServerProfile) -> dict[str, str]:
    treatments: dict[str, Any] = {
        name: IN_WORDS[getattr(profile, name)] for name in ("temperature", "seed", "structured", "n")
    }
    return {
        "server": f"[{profile.label}]({profile.documentation})",
        "temperature": treatments["temperature"],
        "seed": treatments["seed"],
        "log-probabilities": _logprobs(profile),
        "JSON schema": treatments["structured"],
        "several samples": treatments["n"],
        "limit": f"`{profile.limit}`" if profile.limit != "model" else IN_WORDS["model"],
        "ends": _code(profile.ends),
        "errors": " and ".join(_ERRORS[name] for name in profile.errors),
        "waits": " and ".join(_WAITS[name] for name in profile.wait),
        "note": profile.note.strip(),
    }


_WAITS = {"header": "headers", "body": "the body", "none": "not stated"}
_ERRORS = {"status": "HTTP status", "success": "also inside HTTP 200", "list": "also in a list"}


def _logprobs(profile: ServerProfile) -> str:
    words = profile.logprobs
    if isinstance(words, int):
        return f"up to {words} per token"
    if words == "chosen":
        form = ", form of the old completions" if profile.form == "old" else ""
        return f"of the chosen token{form}"
    return IN_WORDS[words]


def _code(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
