"""Runs of judges of Anthropic and Google from the study file to the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cases import cases

pytest.importorskip("openai")
pytest.importorskip("aiohttp")

from fakes.studies import (
    LABELS,
    RATINGS,
    change_study,
    collect,
    items,
    requests_of,
    table,
    towns,
    write_study,
)

from conjury.inference.collecting.prices import read_prices
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.study.asking import Choice, Sampling, with_answer
from conjury.inference.study.checks_items import unfit_asking

MODELS = {"anthropic": "claude-haiku-4-5", "google": "gemini-2.5-flash"}


@pytest.fixture(params=list(MODELS))
def provider(request):
    return request.param


def judge(content: dict[str, Any], provider: str, **ask: Any) -> dict[str, Any]:
    """Ask the first model of a study by a provider."""
    found = next(part for part in content["judges"] if part["id"] == "judge")
    found["ask"] |= {"backend": provider, "model": MODELS[provider], **ask}
    return content


def ask(study: Path, run: Path, server: Any, **options: Any) -> int:
    return collect(study, run, base_url=server.root, batch=True, **options)


@pytest.mark.long
def test_choices_are_collected_priced_and_parsed_as_those_of_openai(tmp_path, server, provider, capsys):
    unthinking = {"settings": {"thinkingConfig": {"thinkingBudget": 0}}} if provider == "google" else {}
    study = write_study(tmp_path / "towns", judge(towns(), provider, **unthinking))
    run = tmp_path / "run"
    assert ask(study, run, server, pairs=3, dry_run=True) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"by {provider.title()}'s batch interface" in shown
    assert "Price about USD" in shown
    assert ask(study, run, server, pairs=3, wait=True) == 0
    responses, choices = table(run, "responses"), table(run, "choices")
    assert len(choices) == 2 * len(responses) == 12
    assert set(responses["cost"] > 0) == {True}
    price = read_prices().of(MODELS[provider])
    assert price is not None
    tokens = responses[["prompt_tokens", "completion_tokens"]].iloc[0]
    assert responses["cost"].iloc[0] == pytest.approx(price.cost(*tokens, 1e6) / 2)
    judgments = table(run, "judgments")
    assert set(judgments["status"]) == {"ok"}
    assert set(judgments["probability"].notna()) == {provider == "google"}  # by log-probabilities
    asked = len(server.counts()["answered"])
    assert ask(study, run, server, pairs=3, wait=True) == 0
    assert len(server.counts()["answered"]) == asked == 6


@pytest.fixture(params=["openai", *(pytest.param(name, marks=pytest.mark.long) for name in MODELS)])
def any_provider(request):
    return request.param


def ask_any(study: Path, run: Path, server: Any, any_provider: str) -> int:
    address = server.url if any_provider == "openai" else server.root
    return collect(study, run, base_url=address, batch=True, prompts=["plain"], pairs=6)


def any_study(folder: Path, any_provider: str) -> Path:
    content = towns() if any_provider == "openai" else judge(towns(), any_provider)
    return write_study(folder / "towns", content)


@pytest.mark.long
def test_results_that_come_short_are_not_paid_for_again(tmp_path, server, any_provider, capsys):
    study, run = any_study(tmp_path, any_provider), tmp_path / "run"
    server.configure(batches={"plans": [{"short": 4}]})
    ask_any(study, run, server, any_provider)
    for _ in range(2):
        with pytest.raises(InputError, match=r"incompletely \(3 of 6 lines\); the batch is kept"):
            ask_any(study, run, server, any_provider)
        with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
            assert [batch.state for batch in ledger.batches()] == ["ended"]
    assert ask_any(study, run, server, any_provider) == 0
    assert table(run, "responses")["text"].notna().sum() == 6
    assert sorted(server.counts()["answered"].values()) == [1] * 6


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(RATINGS, id="ratings"),
        pytest.param({"form": "label", "labels": LABELS}, id="label", marks=pytest.mark.long),
        pytest.param({"form": "text"}, id="text", marks=pytest.mark.long),
    ],
)
def test_every_form_of_answer_is_asked_for_and_read(tmp_path, server, provider, response):
    content = items(response, **({"answer": "free"} if response["form"] == "text" else {}))
    study = write_study(tmp_path / "posts", judge(content, provider, settings={"temperature": 0, "seed": 1}))
    assert ask(study, tmp_path / "run", server, wait=True) == 0
    judgments = table(tmp_path / "run", "judgments")
    assert set(judgments["status"]) == {"ok"}
    assert len(judgments) == 4 * (2 if response is RATINGS else 1)


def test_a_limit_on_costs_holds_for_batches_of_each_provider(tmp_path, server, provider):
    study = write_study(
        tmp_path / "towns", judge(towns(), provider, answer="json", settings={"max_tokens": 50})
    )
    run = tmp_path / "run"
    assert ask(study, run, server, wait=False, max_cost=0.001) == 0
    sent = server.counts()["answered"]
    assert 0 < len(sent) < 88


@pytest.mark.parametrize(("provider", "options", "told"), cases(__file__, "not_offered"))
def test_what_a_provider_does_not_offer_is_refused_before_anything_is_sent(
    tmp_path, server, provider, options, told
):
    study = write_study(tmp_path / "towns", judge(towns(), provider))
    paths = {name: Path("x") for name in ("export", "results") if name in options}
    with pytest.raises(InputError, match=told):
        collect(study, tmp_path / "run", **{"base_url": server.root, "batch": True, **options, **paths})
    assert server.counts()["keys"] == []


@pytest.mark.parametrize(("model", "settings", "form"), cases(__file__, "thinking"))
def test_choices_are_one_token_only_where_the_model_does_not_think(model, settings, form):
    sampling = Sampling(model=model, backend="google", settings=settings)
    assert with_answer(sampling, Choice(form="choice")).answer == form
    unfit = unfit_asking(sampling.model_copy(update={"answer": "token"}), ["choice"])
    assert (unfit is None) == (form == "token")


@pytest.mark.parametrize(("ask_fields", "told"), cases(__file__, "files_that_ask_for_more"))
def test_a_study_file_that_asks_for_more_is_refused_with_its_line(tmp_path, server, ask_fields, told):
    study = write_study(tmp_path / "towns", judge(towns(), "anthropic", **ask_fields))
    with pytest.raises(InputError, match=told):
        ask(study, tmp_path / "run", server)


def test_the_key_of_a_request_does_not_depend_on_where_it_is_sent(tmp_path):
    study = write_study(tmp_path / "towns", towns())
    asked = {"answer": "json"}
    known = [request.key for request in requests_of(study, **asked)]
    change_study(study, lambda content: judge(content, "anthropic", model="gpt-4o-mini"))
    assert [request.key for request in requests_of(study, **asked)] == known


def test_pictures_of_a_ledger_are_sent_inside_requests(tmp_path, server, provider):
    from fakes.studies import write_media
    from PIL import Image

    study = write_media(tmp_path / "pictures", "image", "a.png", "b.png")
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        Image.new("RGB", (8, 8), colour).save(study / name)
    change_study(study, lambda content: judge(content, provider))
    assert ask(study, tmp_path / "run", server, wait=True) == 0
    assert set(table(tmp_path / "run", "judgments")["status"]) == {"ok"}
    with Ledger.open(tmp_path / "run" / "ledger.sqlite", write=False) as ledger:
        assert ledger.problems() == []
