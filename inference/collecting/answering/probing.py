"""What a server does with the settings of a judge, told by five requests before a run is paid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...backends.base import Backend
from ...backends.endpoints import destination_of
from ...backends.openai.server_profiles import ServerProfile, find_profile
from ...errors import InputError
from ...ledger import Ledger
from ...ledger.exchanges import TOKEN_LIMITS, Body, Outcome, Request, request_key
from ...requests.building import logprobs_fields
from ...study.asking import Sampling
from ...tables.records import PROBES, read_record
from ...tables.writing import write_text
from ..run_folder import RunFolder, begun_facts
from .probe_changes import WITH_LOGPROBS, changed_asking, changes_record, find_changes, probe_advice
from .probe_findings import (
    LONG,
    NUMBER,
    RIVALS,
    SCHEMA,
    SEED,
    SHORT,
    SYSTEM,
    ProbeExchange,
    ProbeFinding,
    read_exchanges,
)

Facts = Mapping[str, Any]
FILE = "probe.json"
LISTED = 20  # rivals that servers list at the most
LONGEST_WAIT = 60.0  # seconds that a server may ask a probe to wait
SILENT = ("timeout", "connection")  # where no answer came before, no further request is sent
SUBJECTS = {"structured": "response_format", "several": "n"}  # settings that a request is about, by its name
FEWER = "fewer rivals"  # stands for a refused number of log-probabilities
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
        ``verdict`` (kept, partly, ignored, refused, cached or unknown), a ``detail``, which shows it, and
        ``instead``, what the server takes in its place.
    changes : list of str
        What ``collect`` changes in how the judge is asked.
    advice : list of str
        What has no effect and is not changed.
    refused : list of str
        Settings that the server refuses.
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
    changes: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
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


def probe_bodies(ask: Sampling, address: str = "") -> dict[str, Body]:
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
        **_logprobs_fields(ask, find_profile(address)),
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


def _logprobs_fields(ask: Sampling, profile: ServerProfile | None) -> Body:
    """Ask for as many rivals as a run does and the server lists, in the form that it knows."""
    most = profile.logprobs if profile is not None and isinstance(profile.logprobs, int) else LISTED
    most = min(ask.top_logprobs if ask.top_logprobs > 1 else RIVALS, most)
    is_old = profile is not None and profile.form == "old"
    return logprobs_fields(most if is_old else True, most)


def _messages(text: str, system: str = "") -> list[dict[str, str]]:
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": text}]


def probe_server(judge: str, ask: Sampling, backend: Backend, address: str) -> ServerProbe:
    """Send the five requests one after the other and say what their answers show."""
    refused: set[str] = set()
    exchanges: dict[str, ProbeExchange] = {}
    for name, body in probe_bodies(ask, address).items():
        exchange = _ask_until_taken(judge, name, body, refused, backend, address)
        is_first = not any(earlier.is_answered for earlier in exchanges.values())
        if is_first and exchange.outcome.kind in SILENT:
            raise InputError(
                f"{address} has not answered a request of the probe ({exchange.outcome.error}); check the "
                "server, then probe again."
            )
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
    changes = find_changes(findings, refused, ask, find_profile(address))
    advice = probe_advice(findings, changed_asking(ask, changes_record(changes)))
    parts = ([change.sentence for change in changes], advice, sorted(refused - {FEWER}), tokens)
    return ServerProbe(judge, ask.model, address, now, findings, *parts)


def _ask_until_taken(
    judge: str, name: str, body: Body, refused: set[str], backend: Backend, address: str
) -> ProbeExchange:
    """Send a request, and again without the settings that a refusal names, which join those ``refused``."""
    while True:
        sent = _without(body, refused)
        recorder = _OutcomeList(address)
        request = Request(request_key(judge, "probe", name, 1, sent), judge, "probe", name, 1, sent)
        backend.run(iter([request]), recorder)
        exchange = ProbeExchange(sent, recorder.outcomes[0])
        named = _refused_settings(exchange) - {SUBJECTS.get(name, "")}
        if "top_logprobs" in named and sent["top_logprobs"] > RIVALS:
            named = named - {"logprobs", "top_logprobs"} | {FEWER}
        if named <= refused:
            return exchange
        refused |= named


def _without(body: Body, refused: set[str]) -> Body:
    """Leave out settings that the server has refused, and name the limit of tokens as it wants it."""
    fields = {name: value for name, value in body.items() if name not in refused or name in TOKEN_LIMITS}
    if FEWER in refused and "top_logprobs" in fields:
        fields["top_logprobs"] = RIVALS
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
    if exchange.names("logprobs", "top_logprobs"):
        named |= {"logprobs", "top_logprobs"} & set(exchange.body)
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


def sampling_by_probe(
    folder: RunFolder, judge: str, ask: Sampling
) -> tuple[Sampling, dict[str, Any], tuple[str, ...]]:
    """Ask as a probe of the server, or its documentation, suggests; a run that has begun goes on as it is."""
    destination = destination_of(ask) if ask.backend == "openai" else None
    if destination is None:
        return ask, {}, ()
    begun = record = None
    if folder.ledger.is_file():
        with Ledger.open(folder.ledger, write=False) as ledger:
            facts = begun_facts(ledger.get("inputs"), ledger.counts()) or {}
            record = ledger.get(f"changes:{judge}")
        begun = facts.get("judges", {}).get(judge)
    return use_probe(folder.path, judge, ask, destination.address.url, begun, record)


def use_probe(
    folder: Path, judge: str, ask: Sampling, address: str, begun: Facts | None, record: Facts | None
) -> tuple[Sampling, dict[str, Any], tuple[str, ...]]:
    """Ask as a probe suggests; return how to ask, the record of changes, and a note of each."""
    # A run that has ``begun`` goes on with the changes of its ``record``: another body is another request.
    (findings, refused), profile = probed_findings(folder, judge, ask, address), find_profile(address)
    changes = find_changes(findings, refused, ask, profile)
    suggested, sentences = changes_record(changes), [change.sentence for change in changes]
    if begun is not None:
        if record is None:  # begun before changes were recorded
            record = {} if begun.get("logprobs", True) else {"fields": {"logprobs": False}}
        late = findings and suggested != record
        return changed_asking(ask, record), dict(record), (_late_note(judge, sentences),) if late else ()
    if findings:
        changed = changed_asking(ask, suggested)
        notes = (
            f"By the probe of {judge}: {sentence}"
            for sentence in (*sentences, *probe_advice(findings, changed))
        )
        return changed, suggested, tuple(notes)
    return ask, {}, () if profile is None else _documented_notes(profile, ask)


def _late_note(judge: str, sentences: list[str]) -> str:
    """Say that a run that has begun keeps to how it began, whatever a later probe found."""
    return (
        f"The probe of {judge} suggests other requests than this run began with, and a run goes on as it "
        f"began; probe and collect into another folder with --out. {' '.join(sentences)}"
    ).rstrip()


def _documented_notes(profile: ServerProfile, ask: Sampling) -> tuple[str, ...]:
    """Say what the documentation of a server says of log-probabilities that are asked for without a probe."""
    if not ask.logprobs or ask.answer not in WITH_LOGPROBS:
        return ()
    source = f"according to its documentation ({profile.documentation})"
    if not profile.has_logprobs:
        return (
            f"Log-probabilities are {profile.logprobs} by {profile.label}, {source}; run `conjury probe` "
            "with the same options first, so that they are not asked for.",
        )
    most = profile.logprobs
    if not isinstance(most, int) or ask.top_logprobs <= most:
        return ()
    return (
        f"{profile.label} lists at most {most} tokens with log-probabilities, {source}, and "
        f"{ask.top_logprobs} are asked for; if requests are refused, write 'top_logprobs: {most}' under "
        "'ask' of the judge.",
    )


def probed_findings(
    folder: Path, judge: str, ask: Sampling, address: str
) -> tuple[dict[str, ProbeFinding], list[str]]:
    """Return what a probe of the same judge, model and server found and was refused; empty without one."""
    probe = read_probes(folder).get(judge)
    if probe is None or (probe["model"], probe["address"]) != (ask.model, address):
        return {}, []
    findings = {name: ProbeFinding(**finding) for name, finding in probe["findings"].items()}
    return findings, list(probe.get("refused", ()))
