"""What a server does with the settings of a judge, told by five requests before a run is paid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...backends.base import Backend
from ...backends.openai.server_profiles import ServerProfile, find_profile
from ...errors import InputError
from ...ledger.exchanges import TOKEN_LIMITS, Body, Outcome, Request, request_key
from ...study.asking import Sampling
from ...tables.records import PROBES, read_record
from ...tables.writing import write_text
from .probe_findings import (
    LONG,
    NUMBER,
    RIVALS,
    SCHEMA,
    SEED,
    SHORT,
    SYSTEM,
    WITH_LOGPROBS,
    ProbeExchange,
    ProbeFinding,
    probe_advice,
    read_exchanges,
)

FILE = "probe.json"
LONGEST_WAIT = 60.0  # seconds that a server may ask a probe to wait
SILENT = ("timeout", "connection")  # where no answer came before, no further request is sent
OWN = (
    "temperature",
    "seed",
    "n",
    "logprobs",
    "top_logprobs",
    "response_format",
    "stop",
    "structured_outputs",
)


@dataclass(frozen=True)
class ServerProbe:
    """What five requests told of a judge's server.

    Parameters
    ----------
    judge, model, address : str
        Judge, its model, and the address of the server.
    as_of : str
        When it was asked (UTC).
    findings : dict of ProbeFinding
        By setting (system, limit, temperature, seed, logprobs, structured, several, repeated, tokens), a
        ``verdict`` (kept, partly, ignored, refused, cached or unknown) and a ``detail``, which shows it.
    advice : list of str
        What to change in the judge's settings.
    tokens : tuple of int
        Tokens in and out that the answers state.

    Examples
    --------
    >>> ServerProbe("gpt4o", "gpt-4o", "https://api.openai.com/v1", "2026-11-29T10:00:00+00:00", {}).advice
    []
    """

    judge: str
    model: str
    address: str
    as_of: str
    findings: dict[str, ProbeFinding]
    advice: list[str] = field(default_factory=list)
    # tokens in and out that the answers state
    tokens: tuple[int, int] = (0, 0)


class _OutcomeList:
    """A recorder that keeps the outcomes of a few requests; nothing is sent twice that may be billed."""

    capped = True

    def __init__(self, address: str) -> None:
        self.address = address
        self.outcomes: list[Outcome] = []

    def record(self, outcome: Outcome) -> None:
        """Take an outcome."""
        self.outcomes.append(outcome)

    def stopping(self) -> bool:
        """Go on."""
        return False

    def note_wait(self, seconds: float) -> None:
        """Refuse a long wait, in which a probe would show nothing."""
        if seconds > LONGEST_WAIT:
            raise InputError(f"{self.address} asks to wait for {seconds:.0f} s; probe again then.")

    def full(self) -> bool:
        """Send."""
        return False

    def media(self, sha256: str) -> tuple[str, bytes]:
        """Refuse: a probe shows no pictures."""
        raise KeyError(sha256)


def probe_bodies(ask: Sampling) -> dict[str, Body]:
    """Return the bodies of the five requests as they are sent where the server refuses none."""
    settings = {name: value for name, value in ask.settings.items() if name not in (*OWN, *TOKEN_LIMITS)}
    limit = "max_completion_tokens" if "max_completion_tokens" in ask.settings else "max_tokens"
    base = {"model": ask.model, **settings}
    temperature = {name: ask.settings[name] for name in ("temperature",) if name in ask.settings}
    sampled = {
        **base,
        "messages": _messages(NUMBER),
        "temperature": 1,
        "seed": SEED,
        "logprobs": True,
        "top_logprobs": RIVALS,
        limit: SHORT,
    }
    form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
    return {
        "plain": {**base, "messages": _messages("Name a flower.", SYSTEM), **temperature, limit: LONG},
        "sampled": sampled,
        "repeated": dict(sampled),
        "structured": {
            **base,
            "messages": _messages("Describe a pelican in one short sentence, without JSON."),
            "temperature": 0,
            "response_format": form,
            limit: LONG,
        },
        "several": {**base, "messages": _messages(NUMBER), "temperature": 1, "n": 2, limit: SHORT},
    }


def _messages(text: str, system: str = "") -> list[dict[str, str]]:
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": text}]


def probe_server(judge: str, ask: Sampling, backend: Backend, address: str) -> ServerProbe:
    """Send the five requests one after the other and say what their answers show."""
    refused: set[str] = set()
    exchanges: dict[str, ProbeExchange] = {}
    for name, body in probe_bodies(ask).items():
        sent = _without(body, refused)
        exchange = ProbeExchange(sent, _outcome(judge, name, sent, backend, address))
        is_silent = exchange.outcome.kind in SILENT
        if is_silent and not any(earlier.is_answered for earlier in exchanges.values()):
            raise InputError(
                f"{address} has not answered a request of the probe ({exchange.outcome.error}); check the "
                "server, then probe again."
            )
        refused |= _refused_settings(exchange)
        exchanges[name] = exchange
    if not any(exchange.is_answered for exchange in exchanges.values()):
        raise InputError(
            f"{address} answered none of the five requests ({exchanges['plain'].outcome.error}); correct the "
            "judge's model and settings, then probe again."
        )
    findings = read_exchanges(exchanges, refused)
    counts = [exchange.answer for exchange in exchanges.values()]
    tokens = (
        sum(answer.prompt_tokens or 0 for answer in counts),
        sum(answer.completion_tokens or 0 for answer in counts),
    )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return ServerProbe(judge, ask.model, address, now, findings, probe_advice(findings, ask), tokens)


def _outcome(judge: str, name: str, body: Body, backend: Backend, address: str) -> Outcome:
    recorder = _OutcomeList(address)
    request = Request(request_key(judge, "probe", name, 1, body), judge, "probe", name, 1, body)
    backend.run(iter([request]), recorder)
    return recorder.outcomes[0]


def _without(body: Body, refused: set[str]) -> Body:
    """Leave out settings that the server has refused, and name the limit of tokens as it wants it."""
    fields = {name: value for name, value in body.items() if name not in refused or name in TOKEN_LIMITS}
    if "max_tokens" in refused and "max_tokens" in fields:
        fields["max_completion_tokens"] = fields.pop("max_tokens")
    elif "max_completion_tokens" in refused and "max_completion_tokens" in fields:
        fields["max_tokens"] = fields.pop("max_completion_tokens")
    return fields


def _refused_settings(exchange: ProbeExchange) -> set[str]:
    """Name the settings that a refusal names; where it names none, those that few servers know."""
    if exchange.is_answered or exchange.outcome.kind != "rejected":
        return set()
    named = {name for name in exchange.body if name not in ("model", "messages") and exchange.names(name)}
    if exchange.names("logprob"):
        named |= {"logprobs", "top_logprobs"} & set(exchange.body)
    if named & set(TOKEN_LIMITS) == set(TOKEN_LIMITS):
        named -= {"max_completion_tokens"}
    rare = {"logprobs", "top_logprobs", "seed"} & set(exchange.body)
    return named or rare


def write_probe(folder: Path, probe: ServerProbe) -> Path:
    """Keep a probe with the run, in place of an earlier one of the same judge."""
    path = folder / FILE
    folder.mkdir(parents=True, exist_ok=True)
    content = read_probes(folder) | {probe.judge: asdict(probe)}
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return path


def read_probes(folder: Path) -> dict[str, Any]:
    """Return the probes of a run by judge; none where there is no file."""
    path, remedy = folder / FILE, "remove it, and run `conjury probe` again"
    return read_record(path, PROBES, remedy) if path.is_file() else {}


def use_probe(
    folder: Path, judge: str, ask: Sampling, address: str, begun: Mapping[str, Any] | None
) -> tuple[Sampling, tuple[str, ...]]:
    """Ask for log-probabilities only where they come; return how to ask, and a note where that changed."""
    # A run that has ``begun`` goes on as it began: another body would be another request.
    if not ask.logprobs or ask.answer not in WITH_LOGPROBS:
        return ask, ()
    quiet = ask.model_copy(update={"logprobs": False})
    verdict = probed_verdicts(folder, judge, ask, address).get("logprobs", "")
    if begun is not None:
        is_asking = begun.get("logprobs", True)
        late = is_asking and verdict in ("ignored", "refused")
        return (ask if is_asking else quiet), (
            (
                f"The probe of {judge} found log-probabilities {verdict} by its server, but this run began "
                "with them; probe and collect into another folder with --out to ask without them.",
            )
            if late
            else ()
        )
    if verdict in ("ignored", "refused"):
        return quiet, (
            f"Log-probabilities are not asked for, since the probe of {judge} found them {verdict} by its "
            "server. Probabilities of answers will be empty.",
        )
    profile = None if verdict else find_profile(address)
    if profile is None or profile.has_logprobs:
        return ask, _short_lists(profile, ask)
    return ask, (
        f"Log-probabilities are {profile.logprobs} by {profile.label}, according to its documentation "
        f"({profile.documentation}); run `conjury probe` with the same options first, so that they are not "
        "asked for.",
    )


def _short_lists(profile: ServerProfile | None, ask: Sampling) -> tuple[str, ...]:
    """Say that a server lists fewer rivals than are asked for, for which it may refuse requests."""
    most = None if profile is None else profile.logprobs
    if profile is None or not isinstance(most, int) or ask.top_logprobs <= most:
        return ()
    return (
        f"{profile.label} lists at most {most} tokens with log-probabilities, according to its documentation "
        f"({profile.documentation}), and {ask.top_logprobs} are asked for; if requests are refused, write "
        f"'top_logprobs: {most}' under 'ask' of the judge.",
    )


def probed_verdicts(folder: Path, judge: str, ask: Sampling, address: str) -> dict[str, str]:
    """Return what a probe of the same judge, model and server found; empty without one."""
    probe = read_probes(folder).get(judge)
    if probe is None or (probe["model"], probe["address"]) != (ask.model, address):
        return {}
    return {name: finding["verdict"] for name, finding in probe["findings"].items()}
