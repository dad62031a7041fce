"""How many requests may be in flight at a time."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from types import SimpleNamespace

import pytest

pytest.importorskip("aiohttp")

from conjury.inference.backends.openai import pace as gate
from conjury.inference.backends.openai import waits
from conjury.inference.backends.openai.live import OpenAIBackend
from conjury.inference.backends.openai.pace import CollectionStopped, Pace, next_limit
from conjury.inference.backends.openai.waits import asked_wait


def _settle(limit: float, capacity: int, rounds: int) -> list[float]:
    limits = []
    for _ in range(rounds):
        refused = max(int(limit) - capacity, 0) / int(limit)
        limit = next_limit(limit, refused, 200)
        limits.append(limit)
    return limits


def test_the_limit_settles_at_what_the_provider_bears_and_rises_again():
    settled = _settle(200, 10, 60)
    assert all(9 <= limit <= 12 for limit in settled[-20:])
    assert _settle(settled[-1], 1000, 200)[-1] == 200
    assert _settle(200, 0, 12)[-1] == 1  # where all are refused


def test_stray_refusals_do_not_stop_the_flow():
    limit = 100.0
    for step in range(200):
        limit = next_limit(limit, 0.03 if step % 2 else 0.0, 100)
    assert limit > 50


def test_the_limit_holds_for_exchanges_and_follows_refusals():
    async def fly() -> list[int]:
        pace, peaks = Pace(8), []

        async def exchange(refused: bool) -> None:
            await pace.turn()
            peaks.append(pace.in_flight)
            await asyncio.sleep(0)
            pace.done(refused)

        await asyncio.gather(*(exchange(True) for _ in range(40)))
        fallen = len(peaks)
        await asyncio.gather(*(exchange(True) for _ in range(10)))
        assert pace.in_flight == 0
        return [max(peaks[:fallen]), max(peaks[fallen:])]

    assert asyncio.run(fly()) == [8, 1]


def test_a_cancelled_wait_gives_its_place_to_the_next():
    async def leave() -> None:
        pace = Pace(1)
        await pace.turn()
        first, second = asyncio.create_task(pace.turn()), asyncio.create_task(pace.turn())
        await asyncio.sleep(0)
        pace.done(False)
        first.cancel()
        await asyncio.wait_for(second, 1)
        assert pace.in_flight == 1

    asyncio.run(leave())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the gate, which stands still until a test changes it."""
    now = [100.0]
    monkeypatch.setattr(gate, "time", SimpleNamespace(monotonic=lambda: now[0], time=None))
    return now


@pytest.mark.long
@pytest.mark.parametrize(
    ("per_minute", "held", "after"),
    [(None, 0.02, [(0.019, 0), (0.02, 4)]), (1200, 0, [(0, 1), (0.049, 1), (0.051, 2)])],
)
def test_nothing_starts_before_its_time_and_everything_after(clock, per_minute, held, after):
    async def wait() -> None:
        pace = OpenAIBackend(
            "m", base_url="http://127.0.0.1:9/v1", concurrency=4, requests_per_minute=per_minute
        ).pace
        pace.hold(held)
        tasks = [asyncio.create_task(pace.turn()) for _ in range(4)]
        for moment, n in after:
            clock[0] = 100 + moment
            await asyncio.sleep(0.1)
            assert pace.in_flight == n
        for task in tasks:
            task.cancel()

    asyncio.run(wait())


def test_those_who_wait_are_turned_away_at_the_end():
    async def close() -> None:
        pace = Pace(1)
        await pace.turn()
        waiting = asyncio.create_task(pace.turn())
        await asyncio.sleep(0)
        pace.close()
        with pytest.raises(CollectionStopped):
            await waiting
        with pytest.raises(CollectionStopped):
            await pace.turn()
        pace.open()
        await pace.turn()
        cancelled = asyncio.create_task(pace.turn())
        await asyncio.sleep(0)
        pace.close()
        cancelled.cancel()
        await asyncio.wait([cancelled])
        assert pace.in_flight == 1, "who was turned away had no place to leave"

    asyncio.run(close())


def test_waits_are_read_in_every_form_that_providers_use(monkeypatch):
    monkeypatch.setattr(waits, "time", SimpleNamespace(time=lambda: 1000.0))
    assert asked_wait(429, {"retry-after": formatdate(1030)}) == 30
    assert asked_wait(429, {"retry-after": formatdate(970)}) == 0
    assert asked_wait(429, {"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert asked_wait(503, {"retry-after": "0.5"}) == 0.5
    assert asked_wait(429, {"retry-after": "soon"}) == asked_wait(429, {}) == asked_wait(500, {}) == 0
    spent = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}
    assert asked_wait(200, spent) == pytest.approx(0.02)
    assert asked_wait(200, {**spent, "x-ratelimit-remaining-tokens": "10"}) == 0


class Provider:
    """A provider on a clock of its own that refuses what is beyond its limit, and states what is left."""

    def __init__(self, limit: float, window: float, rolling: bool) -> None:
        self.limit, self.window, self.rolling = limit, window, rolling
        self.level, self.since, self.refused = limit, 0.0, 0

    def take(self, moment: float, amount: float) -> dict[str, str]:
        if self.rolling:
            self.level = min(self.limit, self.level + (moment - self.since) * self.limit / self.window)
            self.since = moment
            reset = (self.limit - self.level + amount) * self.window / self.limit
        else:
            self.since, renewed = moment // self.window * self.window, self.since
            self.level = self.level if self.since == renewed else self.limit
            reset = self.since + self.window - moment
        self.refused += self.level < amount
        self.level = max(self.level - amount, 0.0)
        return {"remaining": f"{self.level:.0f}", "reset": f"{reset:.3f}s"}


@pytest.mark.parametrize("rolling", [True, False], ids=["filled steadily", "renewed at once"])
@pytest.mark.parametrize(("what", "amount"), [("requests", 1.0), ("tokens", 50.0)])
def test_what_a_provider_states_to_be_left_is_used_up_and_not_exceeded(monkeypatch, rolling, what, amount):
    now = [1000.0]
    monkeypatch.setattr(gate, "time", SimpleNamespace(monotonic=lambda: now[0]))
    provider, pace = Provider(120 * amount, 60.0, rolling), Pace(16)
    flying: list[tuple[float, int, dict[str, str]]] = []
    sent = 0
    while now[0] < 1300:  # five minutes, answers after half a second
        while pace._is_free():
            pace._start()
            sent += 1
            flying.append((now[0] + 0.5, pace._started, provider.take(now[0], amount)))
        now[0] += 0.01
        while flying and flying[0][0] <= now[0]:
            _, number, limits = flying.pop(0)
            headers = {f"X-RateLimit-{name}-{what}".lower(): value for name, value in limits.items()}
            pace._leave()
            pace.spread(waits.stated_allowances(headers), b'{"usage": {"total_tokens": 50}}', number)
            if limits["remaining"] == "0":
                pace.hold(waits.asked_wait(200, headers))
    assert provider.refused <= 0.01 * sent
    assert sent >= 0.85 * 5 * 120


def test_limits_are_read_in_the_headers_of_every_provider_and_quotas_of_a_day_are_no_pace(monkeypatch):
    monkeypatch.setattr(waits, "time", SimpleNamespace(time=lambda: 1_700_000_000.0))
    for headers, what, remaining, seconds in (
        ({"x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1s"}, "requests", 59, 1),
        ({"x-ratelimit-remaining-tokens": "1499", "x-ratelimit-reset-tokens": "6ms"}, "tokens", 1499, 0.006),
        ({"anthropic-ratelimit-input-tokens-remaining": "40", "anthropic-ratelimit-input-tokens-reset":
          "2023-11-14T22:13:50Z"}, "tokens", 40, 30),
        ({"x-ratelimit-remaining-tokens-minute": "9"}, "tokens", 9, 10),
        ({"x-ratelimit-remaining": "5", "x-ratelimit-reset": "1700000007000"}, "requests", 5, 7),
        ({"x-tokenlimit-remaining": "5", "x-tokenlimit-reset": "3"}, "tokens", 5, 3),
        ({"ratelimit": '"default";r=50;t=30'}, "requests", 50, 30),
    ):  # fmt: skip
        (allowance,) = waits.stated_allowances(headers)
        assert (allowance.what, allowance.remaining) == (what, remaining)
        assert allowance.seconds == pytest.approx(seconds)
    day = {"x-ratelimit-remaining-requests": "900", "x-ratelimit-reset-requests": "11h59m"}
    assert waits.stated_allowances(day) == []
    assert waits.stated_allowances({"content-type": "application/json"}) == []
