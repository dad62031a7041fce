"""What the fake server was told to do, and what it has seen."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

PASSING = ("429", "429_retry_after", "500", "503", "timeout", "reset", "cut", "drip")
PASSING += ("truncated_json", "invalid_json", "wrong_schema", "empty_choices")
LASTING = ("content_filter", "content_filter_400", "refusal", "length", "context_length", "rejected")


@dataclass(frozen=True)
class Settings:
    """How the server behaves; a share is one of contents."""

    faults: dict[str, float] = field(default_factory=dict)  # shares; PASSING ones end after 1 to `repeats`
    seed: int = 1  # draws which content meets which fault
    repeats: int = 1
    latency: float = 0.0  # seconds before an answer
    retry_after: float = 0.05  # seconds in the header Retry-After, where there is one
    capacity: int = 0  # requests in flight beyond which 429 is answered; 0 for no limit
    key: str = ""  # what is let in; empty for anything, as for models
    models: list[str] = field(default_factory=list)
    tokens: int = 1  # completion tokens of each answer
    prompt_tokens: int = 0  # that each prompt is billed with, if not one for four bytes
    growth: float = 1.0  # factor by which each answer has more completion tokens than the one before
    longest: int = 2**20  # completion tokens of the longest answer
    usage: dict[str, Any] = field(default_factory=dict)  # in place of what is stated of tokens
    silent: float = 0.0  # share whose answers do not state their tokens
    echo: list[str] = field(default_factory=list)  # ways in which the key is repeated; see `fakes.echoes`
    profile: dict[str, Any] = field(default_factory=dict)  # of data/servers.yaml, which is imitated
    replies: list[Any] = field(default_factory=list)  # status, headers and body in turn; null: an answer
    keep: bool = False  # remember whole requests
    fingerprint: str = ""  # system_fingerprint of answers, where there is one
    version: str = ""  # what the server states under /version, if anything
    status: int = 0  # answer everything with this status and `error`; 0 for not at all
    error: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    batches: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = set(self.faults) - {*PASSING, *LASTING}
        if unknown or sum(self.faults.values()) > 1:
            raise ValueError(f"unknown faults {unknown} or shares beyond 1")


class State:
    """Settings, and counts of what was asked and answered by hash of the content."""

    def __init__(self, settings: Settings) -> None:
        self.configure(settings)

    def configure(self, settings: Settings) -> None:
        """Behave by other settings and forget what was seen."""
        self.settings = settings
        self.seen: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.arrivals: list[float] = []
        self.keys: set[str] = set()
        self.billed = [0, 0]
        self.dearest = self.n_billed = 0
        self.turns = 0
        self.in_flight = 0
        self.peak = 0
        self.started = time.monotonic()

    def now(self) -> float:
        """Return the seconds since the server was last configured."""
        return round(time.monotonic() - self.started, 4)

    def fault(self, name: str) -> str:
        """Return the fault that this request for the content ``name`` meets; empty for none."""
        draw = hashlib.blake2b(f"{self.settings.seed}/{name}".encode(), digest_size=8).digest()
        place = int.from_bytes(draw[:6], "big") / 2**48
        for fault, share in self.settings.faults.items():
            if place < share:
                times = 1 + draw[7] % self.settings.repeats
                return fault if fault in LASTING or self.seen[name] <= times else ""
            place -= share
        return ""

    def turn(self) -> int:
        """Count on."""
        self.turns += 1
        return self.turns - 1

    def is_silent(self, name: str) -> bool:
        """Whether answers to the content ``name`` do not state their tokens."""
        draw = hashlib.blake2b(f"silent/{self.settings.seed}/{name}".encode(), digest_size=8).digest()
        return int.from_bytes(draw[:6], "big") / 2**48 < self.settings.silent

    def bill(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Charge for an answer whatever becomes of it on its way, and state its tokens or not."""
        grown = min(self.settings.longest, self.settings.tokens * self.settings.growth**self.n_billed)
        usage = dict(answer["usage"], completion_tokens=int(grown))
        self.n_billed += 1
        usage["prompt_tokens"] = self.settings.prompt_tokens or usage["prompt_tokens"]
        self.billed[0] += usage["prompt_tokens"]
        self.billed[1] += usage["completion_tokens"]
        self.dearest = max(self.dearest, usage["prompt_tokens"] + usage["completion_tokens"])
        stated = {name: value for name, value in answer.items() if name != "usage"}
        usage.update(self.settings.usage)
        return stated if self.is_silent(answer["id"]) else {**stated, "usage": usage}

    def counts(self) -> dict[str, Any]:
        """Tell what was seen: totals, and by hash of the content."""
        return {
            "seen": self.seen,
            "answered": self.answered,
            "faults": self.faults,
            "arrivals": self.arrivals,
            "keys": sorted(self.keys),
            "peak": self.peak,
            "billed": self.billed,
            "dearest": self.dearest,
            "settings": asdict(self.settings),
        }
