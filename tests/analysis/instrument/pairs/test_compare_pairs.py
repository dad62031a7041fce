"""Pairs from files of any shape: win rates, position, length, corrections, and what is asked about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import cases
from numpy.testing import assert_allclose
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from conjury import compare_pairs
from conjury.analysis.instrument import order_effects, preferences_beyond_quality
from conjury.inference.errors import InputError

PAIRED = Path(__file__).parents[3] / "fixtures" / "paired"
NUMBERS = ["estimate", "lower", "upper"]


def _numbers(result: object, *names: str) -> np.ndarray:
    return result.frame.set_index("name").loc[list(names), NUMBERS].to_numpy(dtype=float)  # type: ignore[attr-defined]


def _pairs(n: int = 300, seed: int = 3) -> pd.DataFrame:
    """Both orders, people, lengths; longer is truly better, the judge prefers the first and the longer."""
    random = np.random.default_rng(seed)
    lengths = random.lognormal(5.5, 0.5, (2, n)).round()
    gap = np.log(lengths[0] / lengths[1])
    quality = random.normal(0, 1, n) + 0.5 * gap

    def choice(eta: np.ndarray) -> np.ndarray:
        latent = eta + random.logistic(size=n)
        return np.select([latent > 0.35, latent < -0.35], ["a", "b"], "tie")

    return pd.DataFrame(
        {
            "pair_id": [f"p{row}" for row in range(n)], "len_a": lengths[0], "len_b": lengths[1],
            "human": choice(1.5 * quality), "ab": choice(1.5 * quality + 0.9 * gap + 0.5),
            "ba": choice(1.5 * quality + 0.9 * gap - 0.5),
        }
    )  # fmt: skip


PAIRS = _pairs()


def _long(pairs: pd.DataFrame, first: str = "gpt", second: str = "llama") -> pd.DataFrame:
    """The same with a row per order, in which the answer in column a is shown first."""
    name = {"a": first, "b": second, "tie": "tie"}
    rows = []
    for row in pairs.itertuples():
        sides = [(first, row.len_a), (second, row.len_b)]
        for verdict, (one, two) in ((row.ab, sides), (row.ba, sides[::-1])):
            cells = (row.pair_id, name[row.human], one[0], two[0], name[verdict], one[1], two[1])
            rows.append(cells)
    columns = ["question_id", "human", "model_a", "model_b", "winner", "length_a", "length_b"]
    return pd.DataFrame(rows, columns=columns)


MEASURES = (
    "win_rate", "judge_win_rate", "length_adjusted_win_rate", "tie_rate", "first_share", "order_flips",
    "order_changes", "net_first", "length_beyond_people",
)  # fmt: skip


@pytest.mark.long
def test_position_and_length_are_those_of_the_functions_of_the_instrument() -> None:
    rows = []
    for row in PAIRS.itertuples():
        for order, verdict in (("a first", row.ab), ("b first", row.ba)):
            for side, length in (("a", row.len_a), ("b", row.len_b)):
                rows.append(
                    {
                        "judge_id": "m", "judge_kind": "model", "pair_id": row.pair_id, "option_order": order,
                        "position": "A" if side == order[0] else "B", "profile_id": row.pair_id + side,
                        "chosen": np.nan if verdict == "tie" else float(verdict == side), "length": length,
                        "human": 0.5 if row.human == "tie" else float(row.human == side),
                    }
                )  # fmt: skip
    choices = pd.DataFrame(rows)
    positions = order_effects(choices).frame.query("facet == 'all'").set_index("quantity")
    length = preferences_beyond_quality(choices, "length", "human", log=True).frame.set_index("comparison")
    result = compare_pairs(PAIRS)
    expected = [positions.loc["first_share", NUMBERS], positions.loc["net_first", NUMBERS]]
    assert_allclose(_numbers(result, "first_share", "net_first"), np.array(expected, dtype=float), rtol=1e-12)
    row = result.frame.set_index("name").loc["first_share"]
    share, error, df = row[["estimate", "std_error", "df"]].astype(float)
    t = (share - 0.5) / np.sqrt(0.25 * error**2 / (share * (1 - share)))  # with the spread of one half
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(t), df))
    same = positions.loc["same_profile", ["estimate", "upper", "lower"]].to_numpy(dtype=float)
    assert_allclose(_numbers(result, "order_flips")[0], 1 - same, rtol=1e-12)
    assert_allclose(
        _numbers(result, "length_slope", "people_length_slope", "length_beyond_people"),
        length.loc[["unadjusted", "people", "beyond people"], NUMBERS].to_numpy(dtype=float), rtol=1e-12,
    )  # fmt: skip


def test_win_rates_by_hand() -> None:
    points = PAIRS[["ab", "ba"]].replace({"a": 1.0, "b": 0.0, "tie": 0.5}).astype(float)
    frame = compare_pairs(PAIRS.drop(columns="human")).frame.set_index("name")
    mean = points.mean(axis=1)
    assert_allclose(frame.loc["win_rate", "estimate"], mean.mean())
    centred = ((points - points.mean()) / 2).sum(axis=1)
    assert_allclose(frame.loc["win_rate", "std_error"], centred.std() / np.sqrt(len(points)))
    out = compare_pairs(PAIRS.drop(columns="human"), ties="out").frame.set_index("name")
    decided = points.where(points != 0.5)
    assert_allclose(out.loc["win_rate", "estimate"], decided.mean().mean())
    half = compare_pairs(PAIRS.drop(columns=["human", "ba"]), "ab").frame.set_index("name")
    assert_allclose(half.loc["win_rate", "estimate"], points["ab"].mean())


@pytest.mark.parametrize(
    "shape",
    [
        "labels",
        "rater",
        *(pytest.param(s, marks=pytest.mark.long) for s in ("long", "positions", "g1", "one-hot")),
    ],
)
def test_all_shapes_of_one_file_give_the_same_numbers(shape: str) -> None:
    few = PAIRS.assign(human=PAIRS["human"].where(np.arange(len(PAIRS)) % 3 == 0))
    expected = _numbers(compare_pairs(few), *MEASURES)
    assert np.isfinite(expected).all()
    long = _long(few.fillna({"human": "tie"})).assign(
        human=lambda table: table["human"].where(np.repeat(few["human"].notna(), 2).to_numpy())
    )
    people = few.dropna(subset="human")
    options: dict[str, object] = {}
    if shape == "long":
        table: object = long
    elif shape == "positions":
        turned = {"a": "second", "b": "first", "tie": "tie"}
        table = few.assign(ab=few["ab"].replace({"a": "first", "b": "second"}), ba=few["ba"].map(turned))
    elif shape == "g1":
        words = {"a": "model_1", "b": "model_2", "tie": "tie"}
        table = few.assign(model_1="gpt", model_2="llama", g1_winner=few["ab"].map(words),
                           g2_winner=few["ba"].map(words)).drop(columns=["ab", "ba"])  # fmt: skip
        table["human"] = few["human"].map(words)
    elif shape == "labels":
        table = long.drop(columns="human")
        label_rows = _long(people)[1::2]
        options = {"labels": label_rows[["question_id", "model_a", "model_b", "human"]]}
    elif shape == "rater":
        of_people = _long(people)[1::2].assign(winner=lambda rows: rows["human"], judge="ann")
        table = pd.concat([long.assign(judge="gpt-4"), of_people]).drop(columns="human")
        options = {"judge_names": "judge", "people": "ann"}
    else:
        table = long.assign(
            winner_model_a=(long["winner"] == long["model_a"]).astype(int),
            winner_model_b=(long["winner"] == long["model_b"]).astype(int),
            winner_tie=(long["winner"] == "tie").astype(int),
        ).drop(columns="winner")
    assert_allclose(_numbers(compare_pairs(table, **options), *MEASURES), expected, rtol=1e-9)


@pytest.mark.long
def test_several_judges_count_together_if_that_is_stated_and_labels_may_be_of_several_people() -> None:
    two = pd.concat([_long(PAIRS).assign(judge="x"), _long(_pairs(seed=5)).assign(judge="y")])
    two = two.drop(columns="human")
    result = compare_pairs(two, judge_names="judge")
    assert "Verdicts of 2 judges count together." in result.notes
    assert result.settings["n_verdicts"] == 4 * len(PAIRS)
    labels = two.drop(columns=["length_a", "length_b"]).iloc[::7]
    by_people = compare_pairs(_long(PAIRS).drop(columns="human"), labels=labels)
    assert by_people.settings["n_people"] == labels["question_id"].nunique()


@pytest.mark.long
def test_rows_of_one_prompt_are_a_cluster() -> None:
    once = PAIRS.drop(columns="human").rename(columns={"pair_id": "question_id"})
    thrice = pd.concat([once.assign(turn=turn) for turn in range(3)])
    assert_allclose(
        _numbers(compare_pairs(thrice), "win_rate"), _numbers(compare_pairs(once), "win_rate"), rtol=1e-9
    )


def test_a_position_that_never_varies_is_not_called_a_preference() -> None:
    one = _long(PAIRS)[::2].drop(columns="human")
    result = compare_pairs(one)
    assert "first_share" not in set(result.frame["name"])
    assert any("cannot be told from one for the first position" in note for note in result.notes)


LETTERS = PAIRS.assign(ba=PAIRS["ba"].map({"a": "b", "b": "a", "tie": "tie"}))
ASKED = {
    "unknown verdict": (PAIRS.assign(ab=PAIRS["ab"].replace("tie", "huh")), {}, "has 'huh', which is"),
    "missing or label": (PAIRS.assign(ab=PAIRS["ab"].replace("tie", "error")), {}, "--missing 'error'"),
    "positions as letters": (LETTERS, {}, "say which with --verdicts answers or --verdicts positions"),
    "no verdict": (PAIRS.drop(columns=["ab", "ba"]), {}, "name it with --judge COLUMN"),
    "absent column": (PAIRS, {"judge": ("ab", "bb")}, "there is no column 'bb'"),
    "two roles": (PAIRS, {"judge": ("ab", "ba"), "human": "ab"}, "named by --judge and by --human"),
    "no length": (PAIRS.assign(len_a=0), {}, "has the length 0, which has no logarithm"),
    "no system": (_long(PAIRS).replace({"model_b": {"gpt": None}}), {}, "row 2 has no system in"),
    "no prompt": (PAIRS.assign(pair_id=["p", None] * 150), {"id": "pair_id"}, "row 2 has no 'pair_id'"),
    "several raters": (_long(PAIRS).assign(judge=["x", "y"] * 300), {}, "--where judge=x"),
    "people alone": (_long(PAIRS), {"people": "ann"}, "name it, as --judge-names judge"),
    "no such system": (_long(PAIRS), {"systems": "claude"}, "there is no system 'claude'"),
    "ties": (PAIRS, {"ties": "halves"}, "give half, out or modelled"),
    "verdicts": (PAIRS, {"verdicts": "letters"}, "give answers or positions"),
    "swapped": (_long(PAIRS).assign(swapped="perhaps"), {}, "as --swapped swapped=perhaps"),
    "empty order": (_long(PAIRS).assign(swapped=[None, "yes"] * 300), {}, "column 'swapped' is empty"),
    "no such order": (_long(PAIRS).assign(order="ab"), {"swapped": "order=ba"}, "there are 'ab'"),
    "labels of others": (
        _long(PAIRS), {"labels": _long(PAIRS).assign(question_id="other")}, "was compared by the judge",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_what_may_be_wrong_is_asked_about(name: str) -> None:
    table, options, sentence = ASKED[name]
    with pytest.raises(InputError) as error:
        compare_pairs(table, **options)
    assert sentence in str(error.value)


@pytest.mark.parametrize(("column", "first", "second", "swapped", "is_known"), cases(__file__, "orders"))
def test_the_order_is_read_from_values_that_say_it_and_else_asked_about(
    column: str, first: object, second: object, swapped: str | None, is_known: bool
) -> None:
    few = PAIRS[["pair_id", "ab", "ba"]].head(40).assign(model_a="gpt", model_b="llama")
    parts = [few.assign(winner=few[at], **{column: order}) for at, order in (("ab", first), ("ba", second))]
    result = compare_pairs(
        pd.concat(parts)[["pair_id", "model_a", "model_b", "winner", column]], swapped=swapped
    )
    assert any(note.endswith("until then the order counts as unknown.") for note in result.notes) != is_known
    assert ("first_share" in set(result.frame["name"])) == is_known
    if is_known:
        names = ("win_rate", "first_share")
        assert_allclose(_numbers(result, *names), _numbers(compare_pairs(few), *names))


def test_an_order_that_is_unknown_in_some_rows_counts_in_no_rate_of_positions() -> None:
    rows = _long(PAIRS).assign(order=["gpt first", "llama first"] * len(PAIRS))
    lacking = np.arange(len(rows)) % 12 == 1
    known, result = (
        compare_pairs(rows[~lacking]),
        compare_pairs(rows.assign(order=rows["order"].mask(lacking))),
    )
    assert "50 rows without 'order': the order counts as unknown." in result.notes
    names = ("first_share", "order_flips", "order_changes", "net_first")
    assert_allclose(_numbers(result, *names), _numbers(known, *names))
    assert_allclose(_numbers(result, "win_rate"), _numbers(compare_pairs(rows), "win_rate"))


def test_several_people_count_with_their_mean() -> None:
    ben = PAIRS["human"].iloc[::-1].to_numpy()
    two = PAIRS.assign(ann=PAIRS["human"], ben=ben).drop(columns="human")
    result = compare_pairs(two, human=["ann", "ben"])
    points = {"a": 1.0, "b": 0.0, "tie": 0.5}
    mean = (two["ann"].map(points) + two["ben"].map(points)).mean() / 2
    assert_allclose(_numbers(result, "win_rate")[0, 0], mean)


def test_preferences_as_numbers_and_lengths_of_texts_one_of_which_is_a_number() -> None:
    texts = np.where(np.arange(300) == 7, "42", "an answer of some length")
    numbers = PAIRS["ab"].map({"a": 1.0, "b": 2.0, "tie": 1.5})
    table = pd.DataFrame(
        {"instruction": PAIRS["pair_id"], "generator_1": "x", "generator_2": "y", "preference": numbers}
    ).assign(output_1=texts, output_2=["short" + "!" * (row % 9) for row in range(300)])
    result = compare_pairs(table, lengths=("output_1", "output_2"))
    expected = compare_pairs(PAIRS.drop(columns=["human", "ba"]), "ab")
    assert_allclose(_numbers(result, "win_rate"), _numbers(expected, "win_rate"))
    assert result.settings["id"] == "instruction"
    assert "length_slope" in set(result.frame["name"])


@pytest.mark.long
def test_few_labels_that_davidsons_model_cannot_use_leave_the_judge_and_a_note() -> None:
    few = PAIRS.assign(human=["a", "a", "tie", "a", "tie", "a"] + [None] * 294)
    result = compare_pairs(few, ties="modelled")
    assert any(note.startswith("People's verdicts do not correct the win rate:") for note in result.notes)
    alone = compare_pairs(few.drop(columns="human"), ties="modelled")
    assert_allclose(_numbers(result, "win_rate"), _numbers(alone, "win_rate"))


def test_systems_called_after_letters_are_their_names() -> None:
    table = pd.DataFrame(
        {"prompt_id": range(40), "model_a": ["a", "b"] * 20, "model_b": ["b", "a"] * 20, "winner": "b"}
    )
    table.loc[:9, "winner"] = "a"
    result = compare_pairs(table)
    assert_allclose(_numbers(result, "win_rate")[0, 0], 0.25)


@pytest.mark.long
def test_spellings_of_a_system_are_one_system_and_said() -> None:
    long = _long(PAIRS)
    long.loc[::3, "model_a"] = long.loc[::3, "model_a"].str.upper() + " "
    result = compare_pairs(long, systems="GPT")
    assert_allclose(_numbers(result, *MEASURES[1:]), _numbers(compare_pairs(_long(PAIRS)), *MEASURES[1:]))
    assert any(note.startswith("Systems that differ in case alone count as one") for note in result.notes)


def test_rows_that_are_copies_are_refused_without_a_column_of_prompts() -> None:
    table = PAIRS.drop(columns="pair_id").assign(note=PAIRS["pair_id"] + " was a long conversation")
    with pytest.raises(InputError, match="row 301 repeats an earlier row in every column"):
        compare_pairs(pd.concat([table, table.head(20)]))


@pytest.mark.long
def test_positions_stated_are_positions() -> None:
    result = compare_pairs(LETTERS, verdicts="positions")
    assert_allclose(_numbers(result, *MEASURES), _numbers(compare_pairs(PAIRS), *MEASURES))


@pytest.mark.long
def test_peoples_pairs_are_weighted_by_their_probabilities() -> None:
    rng = np.random.default_rng(7)
    n = 3000
    wins = rng.random(n) < 0.6
    verdict = np.where(rng.random(n) < 0.75, wins, rng.random(n) < 0.5)
    chance = np.where(verdict, 0.02, 0.2) * np.where(wins == verdict, 0.5, 1.0)
    chosen = rng.random(n) < chance
    table = pd.DataFrame({"prompt": range(n), "winner": np.where(verdict, "a", "b")})
    table["human"] = np.where(chosen, np.where(wins, "a", "b"), None)
    table["sampling_probability"] = np.where(chosen, chance, np.nan)
    table["len_a"], table["len_b"] = rng.lognormal(5, 0.5, (2, n)) * np.where(wins, [[1.3], [1]], 1)
    result = compare_pairs(table, "winner", "human", id="prompt")
    rows = result.frame.set_index("name")
    assert any("weighted by 'sampling_probability'" in note for note in result.notes)
    assert rows.loc["win_rate", "lower"] < wins.mean() < rows.loc["win_rate", "upper"]
    weighted = np.average(wins[chosen], weights=1 / chance[chosen])
    assert rows.loc["people_win_rate", "estimate"] == pytest.approx(weighted)
    assert rows.loc["judge_win_rate", "estimate"] == pytest.approx(verdict.mean())
    gap = np.log(table["len_a"] / table["len_b"])
    beyond = (verdict.astype(float) - wins)[chosen]
    slope = np.polyfit(gap[chosen], beyond, 1, w=chance[chosen] ** -0.5)[0]
    assert rows.loc["length_beyond_people", "estimate"] == pytest.approx(slope)
    adjusted = verdict.mean() - slope * gap.mean()
    assert rows.loc["length_adjusted_win_rate", "estimate"] == pytest.approx(adjusted)
    ranked = compare_pairs(table, "winner", "human", id="prompt", rank=True).frame.set_index("name")
    strength = ranked.loc[ranked.index.str.startswith("strength_difference"), "estimate"].iloc[0]
    assert strength == pytest.approx(np.log(0.6 / 0.4), abs=0.45)


@pytest.mark.long
def test_only_verdicts_of_people_on_pairs_that_they_did_not_choose_correct_the_judge() -> None:
    table = PAIRS.assign(human=PAIRS["human"].where(np.arange(300) < 120))
    kept = compare_pairs(table.assign(human=table["human"].where(np.arange(300) >= 40)))
    kind = np.digitize(np.arange(300), [10, 20, 40])  # of a model, seen by the judge, chosen, others
    words = {"label_by": ["model gpt", "", "", ""], "judge_saw_label": ["", "yes", "", ""],
             "label_sampled": ["", "", "chosen", ""]}  # fmt: skip
    result = compare_pairs(table.assign(**{name: np.array(texts)[kind] for name, texts in words.items()}))
    assert_allclose(_numbers(result, *MEASURES), _numbers(kept, *MEASURES))
    for text in (
        "10 labels were written by a model",
        "The judge saw 10 labels",
        "20 labels are of rows that",
    ):
        assert text in result.claims().does_not_say
    with pytest.raises(InputError, match="all 120 labels of 'human' were written by a model"):
        compare_pairs(table, labelled={"by": "model"})
    rows = _long(PAIRS.head(60)).assign(rater="gpt")
    people = rows[rows["question_id"] < "p2"].iloc[::2].assign(rater="ann")
    long = pd.concat([rows, people.assign(winner=people["human"])]).drop(columns="human")
    options = {"judge_names": "rater", "people": "ann"}
    assert "people_win_rate" in set(compare_pairs(long, "winner", **options).frame["name"])
    chosen = compare_pairs(long, "winner", **options, labelled={"sampled": "chosen"})
    alone = compare_pairs(rows.drop(columns="human"), "winner")
    assert_allclose(_numbers(chosen, "win_rate", "net_first"), _numbers(alone, "win_rate", "net_first"))


def test_pairs_that_were_drawn_by_the_judges_verdict_are_weighted_by_it() -> None:
    rng = np.random.default_rng(3)
    verdict = np.where(rng.random(800) < 0.7, "a", "b")
    wins = np.where(rng.random(800) < 0.8, verdict, "a")
    chosen = rng.random(800) < np.where(verdict == "a", 0.05, 0.4)
    table = pd.DataFrame({"prompt": range(800), "winner": verdict, "human": np.where(chosen, wins, None)})
    result = compare_pairs(table, "winner", "human", id="prompt", labelled={"sampled": "judge"})
    share = chosen & (verdict == "a")
    rate = np.average([(wins[share] == "a").mean(), (wins[chosen & ~share] == "a").mean()],
                      weights=[(verdict == "a").mean(), (verdict == "b").mean()])  # fmt: skip
    assert _numbers(result, "people_win_rate")[0, 0] == pytest.approx(rate)
    assert any("weighted by the judge's" in note for note in result.notes)
    few = table.assign(human=table["human"].where(verdict == "b"))
    none = compare_pairs(few, "winner", "human", id="prompt", labelled={"sampled": "judge"})
    assert any("people compared none on which it says the same" in note for note in none.notes)
    assert not none.settings["corrected"]


def _in_categories(labelled: float) -> pd.DataFrame:
    """Pairs of 240 prompts in two categories and some without one; the first answer is worse in math."""
    random = np.random.default_rng(8)
    category = random.choice(["chat", "math", None], 240, p=[0.55, 0.35, 0.1])
    truth = random.random(240) < np.where(category == "math", 0.25, 0.7)
    judge = np.where(random.random(240) < 0.8, truth, ~truth)
    human = np.where(random.random(240) < labelled, np.where(truth, "a", "b"), None)
    winner = np.where(judge, "a", "b")
    return pd.DataFrame({"prompt": range(240), "kind": category, "winner": winner, "human": human})


def test_win_rates_in_subgroups_are_those_of_their_rows_and_compared_with_all_others() -> None:
    pairs = _in_categories(labelled=0.0)
    result = compare_pairs(pairs, by="kind")
    table = result.frame.set_index("name")
    wins = pairs["winner"].eq("a").groupby(pairs["kind"].fillna("(missing)")).agg(["sum", "size"])
    for level, (won, n) in wins.iterrows():
        estimate, *limits = table.loc[f"win_rate[kind={level}]", NUMBERS]
        assert_allclose([estimate, *limits], [won / n, *proportion_confint(won, n, method="wilson")])
        rest = wins.sum() - wins.loc[level]
        low, high = confint_proportions_2indep(won, n, rest["sum"], rest["size"], method="newcomb")
        gap = [won / n - rest["sum"] / rest["size"], low, high]
        assert_allclose(table.loc[f"win_rate_difference[kind={level}]", NUMBERS].tolist(), gap, rtol=1e-6)
    texts = " ".join(result.verdict)
    assert "For kind 'math' a wins" in texts
    assert "less often than elsewhere" in texts
    swapped = compare_pairs(pairs, by="kind", systems=("b", "a")).frame.set_index("name")
    names = [f"win_rate_difference[kind={level}]" for level in wins.index]
    assert_allclose(swapped.loc[names, "estimate"], -table.loc[names, "estimate"].to_numpy(float))


def test_people_correct_the_judge_within_subgroups_and_where_they_cannot_a_note_says_so() -> None:
    pairs = _in_categories(labelled=0.4)
    pairs.loc[pairs["kind"].isna(), "human"] = None
    result = compare_pairs(pairs, by="kind")
    table = result.frame.set_index("name")
    parts = [
        pairs[flags].reset_index(drop=True) for flags in (pairs["kind"] == "chat", pairs["kind"] != "chat")
    ]
    first, second = (compare_pairs(part).frame.set_index("name").loc["win_rate"] for part in parts)
    assert table.loc["win_rate[kind=chat]", "estimate"] == pytest.approx(first["estimate"], abs=1e-12)
    row = table.loc["win_rate_difference[kind=chat]"]
    parts_of_error = [first["std_error"] ** 2, second["std_error"] ** 2]
    error = sum(parts_of_error) ** 0.5
    df = error**4 / (parts_of_error[0] ** 2 / first["df"] + parts_of_error[1] ** 2 / second["df"])
    estimate = first["estimate"] - second["estimate"]
    half = stats.t.ppf(0.975, df) * error
    assert_allclose(row[NUMBERS].tolist(), [estimate, estimate - half, estimate + half], rtol=1e-9)
    assert "judge_win_rate[kind=(missing)]" in table.index
    assert any("win rates are the judge's: kind '(missing)'" in note for note in result.notes)
    with pytest.raises(InputError, match="there are 3; name two with --systems"):
        compare_pairs(pairs.assign(model_a=["x", "y", "z"] * 80, model_b=["y", "z", "x"] * 80), by="kind")


SAID = {"a": ["A>B", "[[A>>B]]", "Assistant A is better.", "<think>B?</think> A"], "tie": ["A=B", "[[B=A]]"]}
SAID["b"] = ["B>A", "A<<B", "Response B is better", "My verdict is: [[B]]"]


def test_verdicts_in_sentences_and_signs_count_as_collect_reads_them() -> None:
    random = np.random.default_rng(1)
    words = random.choice(list(SAID), 60)
    plain = pd.DataFrame({"prompt": range(60), "winner": words})
    said = plain.assign(winner=[random.choice(SAID[word]) for word in words])
    result = compare_pairs(said)
    pd.testing.assert_frame_equal(result.frame, compare_pairs(plain).frame)
    assert any(note.startswith("Verdicts are read as answers of models are: '") for note in result.notes)
    for text in ("The first answer is better", "The left one", "not sure"):
        with pytest.raises(InputError, match="none of its systems and no tie"):
            compare_pairs(plain.assign(winner=["a", text] * 30))
