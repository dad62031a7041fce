"""How many requests may be in flight at a time."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from types import SimpleNamespace

import pytest

pytest.importorskip("openai")

from conjury.inference.backends.openai import client, waits
from conjury.inference.backends.openai.client import CollectionStopped, Pace, next_limit
from conjury.inference.backends.openai.live import OpenAIBackend
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
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: now[0], time=None))
    return now


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
