"""Tokens as providers state them, and the most that requests can cost."""

from __future__ import annotations

import pytest
from cases import cases

from conjury.inference.collecting.prices import (
    Budget,
    Price,
    Spending,
    guess_tokens,
    most_tokens,
    read_prices,
    stated_tokens,
)
from conjury.inference.errors import InputError
from conjury.inference.ledger.usage import counted_sound, counted_tokens
from conjury.inference.study.asking import MAX_TOKENS

PRICE = Price(model="m", input=1.0, output=2.0, picture=100, longest=500, as_of="2025-01-01")


@pytest.mark.parametrize(("answer", "tokens"), cases(__file__, "counted"))
def test_tokens_are_counted_in_whatever_form_a_provider_states_them(answer, tokens):
    assert counted_tokens({"usage": answer}) == tuple(tokens)


@pytest.mark.parametrize(("counts", "tokens"), cases(__file__, "counted_by_google"))
def test_tokens_of_gemini_are_counted_with_thoughts(counts, tokens):
    assert counted_tokens({"usageMetadata": counts}) == tuple(tokens)


@pytest.mark.parametrize(("usage", "stated"), cases(__file__, "stated"))
def test_only_counts_that_can_be_true_are_taken_as_stated(usage, stated):
    assert stated_tokens({"choices": [{"message": {"content": "A"}}], "usage": usage}) == tuple(stated)


def test_the_most_that_a_request_can_cost_covers_any_script_pictures_and_several_answers():
    message = {"role": "user", "content": "日本" * 50}
    assert most_tokens({"messages": [message]}, PRICE).prompt >= 300
    assert most_tokens({"messages": [message]}, PRICE).completion == 500
    assert most_tokens({"messages": [message], "max_tokens": 3, "n": 4}, PRICE).completion == 12
    both = {"messages": [message], "max_tokens": 3, "max_completion_tokens": 7}
    assert most_tokens(both, PRICE).completion == 3
    pictured = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "media:x"}}]}
    assert most_tokens({"messages": [pictured]}, PRICE).prompt >= 200
    budget, body = Budget(PRICE, per=1), {"messages": [], "max_tokens": 10}
    assert budget.most(body) >= 20
    assert (Budget().most(body), Budget().cost(1, 1)) == (0.0, None)
    assert budget.most(body, {"usage": {"prompt_tokens": 5, "completion_tokens": 5}}) == 0


def test_the_limit_that_a_backend_sends_is_reserved_where_the_judge_states_none():
    body = {"messages": [], "response_format": {}}
    price = read_prices().of("claude-haiku-4-5")
    assert price is not None
    assert price.longest == 64_000
    assert most_tokens(body, price, MAX_TOKENS["anthropic"]).completion == 4096
    assert most_tokens(body | {"max_tokens": 9}, price, MAX_TOKENS["anthropic"]).completion == 9
    most = Budget(price, 1e6, batch=True, max_tokens=4096).most(body)
    assert most == pytest.approx(4096 * 5 / 1e6 / 2, rel=0.01)


@pytest.mark.parametrize(("settings", "tokens"), cases(__file__, "thoughts"))
def test_thoughts_are_part_of_what_an_answer_is_expected_to_cost(settings, tokens):
    assert guess_tokens({"messages": [], **settings}, "json", thinking=1000).completion == tokens


@pytest.mark.parametrize(("settings", "tokens"), cases(__file__, "lengths_of_answers"))
def test_the_length_of_an_answer_is_guessed_by_what_the_request_asks_for(settings, tokens):
    assert guess_tokens({"messages": [], **settings}, "auto").completion == tokens


def test_a_request_is_guessed_at_four_bytes_a_token_and_four_tokens_a_message():
    messages = [{"role": role, "content": "x" * 20} for role in ("system", "user")]
    assert guess_tokens({"messages": messages}, "json").prompt == 18
    clip = {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "media:x"}}]}
    guess = guess_tokens({"messages": [clip]}, "json")
    assert (guess.prompt, guess.sound) == (4384, 480)


def test_sound_is_priced_as_sound():
    price = read_prices().of("gemini-2.5-flash")
    assert price is not None
    assert price.cost(100, 0, 1e6, sound=400) == pytest.approx(100 * 1.00 / 1e6)
    assert price.cost(1000, 0, 1e6, sound=400) == pytest.approx((600 * 0.30 + 400 * 1.00) / 1e6)
    clip = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "media:x"}}]}
    guess = guess_tokens({"messages": [clip]}, "json")
    assert guess.sound == 480
    silent = price.model_copy(update={"audio": None})
    body = {"messages": [clip], "max_tokens": 1}
    assert Budget(price).most(body) - Budget(silent).most(body) == pytest.approx(2 * 480 * 0.70 / 1e6)
    assert counted_sound({"usage": {"prompt_tokens_details": {"audio_tokens": 400}}}) == 400
    assert [counted_sound(one) for one in (None, {}, {"usage": {"prompt_tokens_details": [1]}})] == [0, 0, 0]


def spending(
    limit: float = 100.0, spent: tuple[float, float] = (0.0, 0.0), batch: bool = False, **how: float
) -> Spending:
    return Spending(Budget(PRICE, 1, batch=batch, max_cost=limit), *spent, **{"expected": 1.0} | how)


@pytest.mark.parametrize(
    ("per", "model", "problem"), [(0, "m", "2: per: "), (1, "", r"3: models\.0\.model: ")]
)
def test_a_wrong_table_of_prices_is_refused_with_its_line_and_field(tmp_path, per, model, problem):
    path = tmp_path / "prices.yaml"
    row = f'{{model: "{model}", input: 1, output: 1, as_of: 2025-01-01}}'
    path.write_text(f"currency: EUR\nper: {per}\nmodels: [{row}]\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"prices\.yaml:{problem}"):
        read_prices(path)


def test_few_requests_are_in_flight_before_anything_is_measured_unless_they_cost_nothing():
    dear = spending(1e9)
    assert [dear.admit(str(n), 5.0) for n in range(3)] == ["send", "wait", "wait"]
    dear.settle("0", 4.0, 0.0, 0, answered=True)
    assert [dear.admit(str(n), 5.0) for n in range(3)] == ["send", "wait", "wait"]
    dear.settle("0", 4.0, 0.0, 0, answered=True)
    assert [dear.admit(str(n), 5.0) for n in range(3)] == ["send", "send", "wait"]
    free = spending(1.0, expected=0.0)
    for n in range(40):
        assert free.admit(f"a{n}", 0.0) == "send"
        free.settle(f"a{n}", 0.0, 0.0, 0, answered=True)
    assert {free.admit(f"b{n}", 0.0) for n in range(20)} == {"send"}


def test_a_request_is_sent_where_it_fits_exactly_beside_what_waits_elsewhere():
    for batch in (False, True):
        for most, said in ((4.0, "send"), (4.01, "wait" if batch else "stop")):
            rest = spending(10.0, batch=batch, expected=99.0)
            rest.hold("in a batch of an earlier run", 6.0)
            assert rest.admit("a", most) == said


def test_what_a_request_reserved_is_given_back_while_others_are_in_flight():
    run = spending(10.0, expected=99.0)
    for key in "abcd":
        assert run.admit(key, 6.0) == "send"
        run.settle(key, 0.25, 0.0, 0, answered=True)
    assert [run.admit("e", 5.0), run.admit("f", 4.0)] == ["send", "send"]
    run.settle("e", 0.25, 0.0, 0, answered=True)
    assert [run.admit("g", 4.76), run.admit("g", 4.75)] == ["wait", "send"]


@pytest.mark.parametrize(("limit", "said"), [(8.99, "stop"), (9.0, "send")])
def test_a_single_request_is_expected_to_cost_the_mean_of_the_answers(limit, said):
    run = spending(limit)
    for key, cost in (("a", 4.0), ("b", 2.0)):
        assert run.admit(key, 100.0) == "send"
        run.settle(key, cost, 0.0, 0, answered=True)
    assert run.admit("c", 100.0) == said


def test_eight_requests_are_in_flight_while_no_answer_states_its_cost():
    run = spending(1e9)
    for n in range(20):
        run.admit(f"a{n}", 1.0)
        run.settle(f"a{n}", 0.0, 1.0, 1, answered=True)
    assert [run.admit(f"b{n}", 1.0) for n in range(9)] == ["send"] * 8 + ["wait"]


def test_a_cost_beyond_the_bound_scales_all_that_is_counted_at_the_most_in_later_runs_too():
    first = spending()
    assert first.admit("a", 5.0) == "send"
    first.settle("a", 0.0, 5.0, 1, answered=False)
    assert first.admit("b", 5.0) == "send"
    first.settle("b", 50.0, 0.0, 0, answered=True)
    assert first.spent == 100.0
    assert first.admit("c", 5.0) == "stop"
    later = spending(spent=(60.0, 50.0), excess=10.0)
    assert (later.spent, later.unstated) == (60.0, 50.0)
    assert [later.admit(key, 4.0) for key in "ab"] == ["send", "wait"]
    later.settle("a", 0.0, 4.0, 1, answered=False)
    assert later.spent == 100.0
    assert later.admit("b", 4.0) == "stop"


def test_batches_are_filled_up_to_the_limit_and_none_is_sent_beyond():
    batches = spending(10.0, batch=True)
    assert [batches.admit(str(n), 4.0) for n in range(3)] == ["send", "send", "wait"]
    for key in "01":
        batches.settle(key, 4.0, 0.0, 0, answered=True)
    assert batches.admit("2", 4.0) == "stop"


@pytest.mark.parametrize(
    ("costs", "in_flight", "dearest"),
    [
        ([3.0, 3.0, 3.0], 0, 3.0),
        ([1.0, 2.0, 4.0, 8.0], 0, 1 + 7**2 / 1),  # grows from 2 to 8 over a base of 1
        ([1.0, 2.0, 4.0, 8.0], 1, 2 * 8**2 / 1),  # two in flight rise as from the first answer
        ([5.0, 1.0, 2.0], 0, 1 + 4**2 / 4),
    ],
)
def test_rising_costs_leave_room_for_the_dearest_answer_of_those_in_flight(costs, in_flight, dearest):
    for spare, room in ((0.0, "send"), (-0.001, "wait" if in_flight else "stop")):
        run = spending(sum(costs) + dearest + spare, batch=True)
        for number, cost in enumerate(costs):
            run.admit(str(number), 0.0)
            run.settle(str(number), cost, 0.0, 0, answered=True)
        for number in range(in_flight):
            assert run.admit(f"flying {number}", 0.0) == "send"
        assert run.admit("next", 0.0) == room
