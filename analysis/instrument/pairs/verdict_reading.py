"""From a table of pairs to points: which system won, in which order, by the judge and by people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, as_argument, counted, did_you_mean, listed, quoted
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.reading import TableReading, read_answers
from conjury.inference.tables.reading.answers.compared_answers import ComparedAnswers
from conjury.inference.tables.reading.reading_rules import ReadingRules
from conjury.inference.tables.row_numbers import row_words
from conjury.inference.tables.schema import SAMPLING

from ...correction.sources import represented_rows
from ...numerics.significance import Discordance, mid_p
from ...numerics.types import Codes, Floats
from ...raters.validation.coding import Groups, groups_of
from ...raters.validation.tables.item_columns import notes_on_copies
from .pair_cells import length_cells, order_cells, prompt_cells, system_cells
from .pair_columns import Names, PairColumns
from .people_verdicts import LabelTable, person_rows
from .verdict_words import FIRST, LETTERS, TIES, WORDS_A, in_words, word_of

ANSWERS, POSITIONS = "answers", "positions"
HALF = 0.5
TOO_MANY = 0.05  # p below which changed verdicts are more than the same ones


@dataclass(frozen=True)
class PairedVerdicts:
    """n verdicts of a judge on pairs of K systems; of two numbers of systems, `low` is the smaller."""

    systems: Names  # K
    low: Codes  # (n,)
    high: Codes  # (n,)
    points: Floats  # (n,): what the judge gives `low`: 1, 1/2 for a tie, 0; NaN without a verdict
    order: Floats  # (n,): 1 where `low` was shown first, -1 where second, 0 where it is not known
    lengths: Floats  # (2, n): of the answers of `low` and of `high`; NaN where they are not known
    people: Floats  # (n,): mean points that people give `low`; NaN without people
    pair: Codes  # (n,): the same two answers to one prompt, in either order
    cluster: Codes  # (n,): the prompt
    # (n,): how many pairs each stands for if people compared it; None where all count alike
    represented: Floats | None = None
    is_weighted: bool = False  # whether verdicts count by what they represent
    groups: tuple[Groups, ...] = ()

    def rows(self, mask: np.ndarray) -> PairedVerdicts:
        """The verdicts where ``mask`` is true."""
        arrays = {name: getattr(self, name)[mask] for name in ("low", "high", "points", "order", "people")}
        arrays |= {"pair": self.pair[mask], "cluster": self.cluster[mask]}
        represented = None if self.represented is None else self.represented[mask]
        groups = tuple(replace(group, code=group.code[mask]) for group in self.groups)
        lengths = self.lengths[:, mask]
        return replace(self, **arrays, lengths=lengths, represented=represented, groups=groups)

    @property
    def weights(self) -> Floats:
        """How much each verdict counts, (n,)."""
        if self.represented is None or not self.is_weighted:
            return np.ones(len(self.points))
        return self.represented

    @property
    def is_first_of_pair(self) -> np.ndarray:
        """Flags of one row of each pair, (n,)."""
        flags = np.zeros(len(self.pair), dtype=bool)
        flags[np.unique(self.pair, return_index=True)[1]] = True
        return flags

    @property
    def by_people(self) -> PairedVerdicts:
        """People's verdicts in place of the judge's, one for each pair, in no order."""
        points = np.where(self.is_first_of_pair, self.people, np.nan)
        return replace(self, points=points, order=np.zeros(len(points)))


def read_verdicts(
    reading: TableReading,
    columns: PairColumns,
    *,
    meaning: str | None = None,
    systems: Sequence[str] = (),
    labels: LabelTable | None = None,
    drawn_by_judge: bool = False,
) -> tuple[PairedVerdicts, list[str]]:
    """Verdicts of a table, with people's from it or from a second one, and notes on what was assumed."""
    notes = reading.account.notes()
    rows, more = _rows_of(reading, columns, meaning)
    notes += more
    groups = [groups_of(reading.frame[name], reading.source) for name in columns.by]
    rows = rows.assign(**{f"by {at}": group.code[rows["row"]] for at, group in enumerate(groups)})
    if labels is not None:
        of_people, more = _rows_of(*labels, meaning)
        notes += [f"{labels[0].source}: {note}" for note in more]
        rows = pd.concat([rows, of_people.assign(by_person=True)], ignore_index=True)
        if of_people["round"].isna().all():
            rows["round"] = pd.NA
    rows, names = _with_systems(rows, systems, reading.source, notes)
    rows, more = _with_people(rows, columns, labels is not None, reading.source)
    notes += more
    if drawn_by_judge:
        rows = _with_chances(rows, notes)
    is_swapped = (rows["a"] > rows["b"]).to_numpy()
    points, people, order = (
        rows[name].to_numpy(dtype=float, na_value=np.nan) for name in ("points", "people", "order")
    )
    lengths = rows[["length_a", "length_b"]].to_numpy(dtype=float).T
    verdicts = PairedVerdicts(
        systems=names,
        low=rows[["a", "b"]].min(axis=1).to_numpy(dtype=np.int64),
        high=rows[["a", "b"]].max(axis=1).to_numpy(dtype=np.int64),
        points=np.where(is_swapped, 1 - points, points),
        order=np.where(is_swapped, -order, order),
        lengths=np.where(is_swapped, lengths[::-1], lengths),
        people=np.where(is_swapped, 1 - people, people),
        pair=rows["pair"].to_numpy(dtype=np.int64),
        cluster=pd.factorize(rows["id"])[0].astype(np.int64),
        represented=_represented(rows, notes, "the judge's" if drawn_by_judge else f"'{SAMPLING}'"),
        groups=tuple(
            replace(group, code=rows[f"by {at}"].to_numpy(dtype=np.int64)) for at, group in enumerate(groups)
        ),
    )
    _refuse_doubt(verdicts, rows, meaning, reading.source, notes)
    return verdicts, notes


def _rows_of(
    reading: TableReading, columns: PairColumns, meaning: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """One row per verdict: ids, systems, points of the one in column a, order, lengths, people's points."""
    frame, source = reading.frame, reading.source
    n = len(frame)
    notes = list[str]()
    order = order_cells(frame, columns, source, notes)
    guesses = [text for text in columns.guesses if order.any() or not text.startswith("order: ")]
    notes = [f"Guessed columns: {'; '.join(guesses)}.", *notes] if guesses else notes
    notes += notes_on_copies(frame, columns.id, columns.named, source)
    table = pd.DataFrame({"row": np.arange(n)})
    for at, side in enumerate("ab"):
        table[side] = system_cells(frame, columns.systems[at], source) if columns.systems else side
    table["id"] = prompt_cells(frame, columns.id, source)
    table["round"] = as_text(frame[columns.round]).to_numpy() if columns.round else pd.NA
    lengths = length_cells(frame, columns.lengths, source, notes)
    table["length_a"], table["length_b"] = lengths
    table["chance"] = frame[SAMPLING].to_numpy() if SAMPLING in frame else np.nan
    table["by_person"] = False
    if columns.judge_names is not None:
        raters = as_text(frame[columns.judge_names]).str.strip().str.casefold()
        values = [name.strip().casefold() for name in columns.people]
        table["by_person"] = person_rows(frame, columns)
        if not values and raters.nunique() > 1:
            notes.append(f"Verdicts of {counted(raters.nunique(), 'judge')} count together.")
        for name in values:
            if not (raters == name).any():
                raise InputError(
                    f"{source}: no row has '{name}' in column '{columns.judge_names}', which --people-names "
                    f"names; it contains {listed(as_text(frame[columns.judge_names]).dropna().unique())}."
                )
    answers, more = in_words(_answers(frame, columns, reading.rules, source), _system_names(table))
    notes += more
    notes += [entry.sentence for entry in answers.entries if "alphabetical" not in entry.sentence]
    several = len(columns.verdict) == 2
    table["people"] = _people_of(answers, table, columns, several or bool((order < 0).any()), source)
    n_verdicts = 2 if several else 1
    parts = []
    for at in range(n_verdicts):
        of_order = np.full(n, 1.0 - 2 * at) if several else order
        points = _points_of(answers, at, table, of_order, meaning, source)
        parts.append(table.assign(points=points, order=of_order, letters=_are_letters(answers, at, table)))
    if columns.id is None:
        notes.append("No column of prompts is known, so rows count as independent; name it with --id.")
    return pd.concat(parts, ignore_index=True), notes


def _answers(frame: pd.DataFrame, columns: PairColumns, rules: ReadingRules, source: str) -> ComparedAnswers:
    """Verdicts of the judge and of people on one scale; three truth values are one verdict."""
    if len(columns.verdict) == 3:
        flags = frame[list(columns.verdict)].apply(lambda column: as_text(column).str.casefold())
        hits = flags.isin(["1", "true", "yes", "1.0"]).to_numpy(dtype=bool)
        if (hits.sum(axis=1) > 1).any():
            row = int((hits.sum(axis=1) > 1).argmax())
            raise InputError(
                f"{source}: row {row_words(source, row)} has two verdicts in {listed(columns.verdict)}; "
                "keep one."
            )
        words = np.array(["a", "b", "tie", None], dtype=object)
        verdict = pd.Series(words[np.where(hits.any(axis=1), hits.argmax(axis=1), 3)], dtype="string")
        cells = {columns.verdict[0]: verdict}
    else:
        cells = {name: frame[name] for name in columns.verdict}
    cells |= {name: frame[name] for name in columns.human}
    return read_answers(cells, replace(rules, scale="nominal"), source=source)


def _are_letters(answers: ComparedAnswers, at: int, table: pd.DataFrame) -> np.ndarray:
    """Flags of the verdicts that are letters or numbers, which may mean answers or positions."""
    names = _system_names(table)
    are_letters = [word_of(name) in LETTERS and name.casefold() not in names for name in answers.classes]
    flags = np.array([*are_letters, False])
    return np.asarray(flags[answers.codes[at]])


def _system_names(table: pd.DataFrame) -> set[str]:
    """Names of systems, folded; empty where the table has none and they are called after columns."""
    if (table["a"] == "a").all() and (table["b"] == "b").all():
        return set()
    return {str(name).casefold() for side in "ab" for name in table[side].unique()}


def _points_of(
    answers: ComparedAnswers, at: int, table: pd.DataFrame, order: Floats, meaning: str | None, source: str
) -> Floats:
    """Points of the answer in column a, (n,), from a column of verdicts."""
    code = answers.codes[at]
    points = np.full(len(code), np.nan)
    names, unread = _system_names(table), dict[str, int]()
    for place, name in enumerate(answers.classes):
        rows = np.flatnonzero(code == place)
        if not len(rows):
            continue
        word = word_of(name)
        sides = [(table[side].iloc[rows].str.casefold() == name.casefold()).to_numpy() for side in "ab"]
        if name.casefold() in names and (sides[0] | sides[1]).all():
            points[rows] = sides[0]
        elif word in TIES and name.casefold() not in names:
            points[rows] = HALF
        elif word in WORDS_A or (word in LETTERS and meaning != POSITIONS):
            points[rows] = (WORDS_A | LETTERS)[word]
        elif word in FIRST or word in LETTERS:
            if (order[rows] == 0).any():
                raise InputError(
                    f"{source}: column '{answers.names[at]}' names positions ({quoted(name)}), and the table "
                    "does not say which answer was shown first; name a column of truth values with --swapped."
                )
            points[rows] = np.where(order[rows] > 0, (FIRST | LETTERS)[word], 1 - (FIRST | LETTERS)[word])
        else:
            unread.setdefault(name, int(rows[~(sides[0] | sides[1])][0]))
    if unread:
        name, row = next(iter(unread.items()))
        more = f" (and {listed(map(quoted, list(unread)[1:]), 6)})" if len(unread) > 1 else ""
        raise InputError(
            f"{source}: row {row_words(source, table['row'].iloc[row])} of column '{answers.names[at]}' has "
            f"{quoted(name)}{more}, which is none of its systems and no tie; state what it is, as "
            f"--missing {as_argument(name)} or --relabel {as_argument(f'{name}=a')} (the answer of column a "
            "is better), '=b' or '=tie'."
        )
    return points


def _people_of(
    answers: ComparedAnswers, table: pd.DataFrame, columns: PairColumns, exchanged: bool, source: str
) -> Floats:
    """Mean points that people give the answer in column a, (n,)."""
    if not columns.human:
        return np.full(len(table), np.nan)
    first = len(answers.names) - len(columns.human)
    words = {word_of(answers.classes[code]) for code in np.unique(answers.codes[first:]) if code >= 0}
    if exchanged and words & set(FIRST):
        raise InputError(
            f"{source}: people's verdicts in {listed(columns.human)} name positions, and the table has both "
            "orders; write which answer people prefer, with --relabel."
        )
    order = np.ones(len(table))
    columns_of = [
        _points_of(answers, first + at, table, order, ANSWERS, source) for at in range(len(columns.human))
    ]
    values = np.stack(columns_of)
    n = np.isfinite(values).sum(axis=0)
    return np.where(n > 0, np.nansum(values, axis=0) / np.maximum(n, 1), np.nan)


def _with_systems(
    rows: pd.DataFrame, requested: Sequence[str], source: str, notes: list[str]
) -> tuple[pd.DataFrame, Names]:
    """Rows with numbers of systems in columns a and b, of those asked for or of all."""
    spellings = list(dict.fromkeys(rows[["a", "b"]].to_numpy(dtype=object).ravel().tolist()))
    first: dict[str, str] = {}
    for name in spellings:
        first.setdefault(name.casefold(), name)
    merged = {name: first[name.casefold()] for name in spellings if name not in first.values()}
    if merged:
        pairs = listed((f"'{name}' and '{as_name}'" for name, as_name in merged.items()), 6)
        notes.append(f"Systems that differ in case alone count as one: {pairs}.")
    rows = rows.assign(a=rows["a"].replace(merged), b=rows["b"].replace(merged))
    requested = [first.get(name.casefold(), name) for name in requested]
    present = list(first.values())
    for name in requested:
        if name not in present:
            hint = did_you_mean(name, present)
            raise InputError(f"{source}: there is no system '{name}'{hint}; there are {listed(present)}.")
    if len(requested) == 1:
        present = [requested[0], *(name for name in present if name != requested[0])]
        if len(present) > 2:
            raise InputError(
                f"{source}: --systems names one of {len(present):,} systems; name two or more of "
                f"{listed(present)}."
            )
    names = tuple(requested) if len(requested) > 1 else tuple(present)
    alike = (rows["a"] == rows["b"]).to_numpy(dtype=bool)
    if alike.any():
        notes.append(f"{counted(int(alike.sum()), 'pair')} of a system with itself: excluded.")
    inside = rows["a"].isin(names) & rows["b"].isin(names) & ~alike
    if not inside.any():
        raise InputError(f"{source}: no pair is of two of the systems {listed(names)}; name others.")
    number = {name: at for at, name in enumerate(names)}
    rows = rows[inside].reset_index(drop=True)
    return rows.assign(a=rows["a"].map(number).astype(int), b=rows["b"].map(number).astype(int)), names


def _with_people(
    rows: pd.DataFrame, columns: PairColumns, second: bool, source: str
) -> tuple[pd.DataFrame, list[str]]:
    """The judge's rows with numbers of pairs, and the mean points by people of each pair."""
    low, high = rows[["a", "b"]].min(axis=1), rows[["a", "b"]].max(axis=1)
    keys = pd.DataFrame(
        {"id": rows["id"], "round": rows["round"].fillna("").astype(str), "low": low, "high": high}
    )
    rows = rows.assign(pair=keys.groupby(["id", "round", "low", "high"], sort=False).ngroup())
    separate = rows["by_person"].to_numpy(dtype=bool)
    by_people = np.where(separate, rows["points"], rows["people"]).astype(float)
    by_people = np.where((rows["a"] > rows["b"]).to_numpy(), 1 - by_people, by_people)
    mean = pd.Series(by_people).groupby(rows["pair"].to_numpy()).mean()
    notes = []
    judged = rows[~separate].reset_index(drop=True)
    if judged.empty:
        raise InputError(f"{source}: no verdict is of the judge; name other people with --people-names.")
    if separate.any():
        unmatched = ~np.isin(np.unique(rows.loc[separate, "pair"]), judged["pair"])
        if unmatched.all():
            raise InputError(
                f"{source}: no pair that people compared was compared by the judge; pairs are matched by "
                f"'{columns.id}' and both systems, so that these have to be written alike."
            )
        if unmatched.any():
            notes.append(
                f"{counted(int(unmatched.sum()), 'pair')} of people that the judge did not compare: excluded."
            )
    people = mean.reindex(judged["pair"]).to_numpy(dtype=float)
    has_people = np.isfinite(by_people)
    chance = rows["chance"][has_people].groupby(rows["pair"].to_numpy()[has_people]).first()
    judged["chance"] = chance.reindex(judged["pair"]).to_numpy()
    people = np.where((judged["a"] > judged["b"]).to_numpy(), 1 - people, people)
    judged["pair"] = pd.factorize(judged["pair"])[0]
    return judged.assign(people=people), notes


def _with_chances(rows: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Rows with the share of pairs that people compared, among those on which the judge says the same."""
    # Without people where they compared none of such pairs: these would have no part in any estimate.
    points = np.where((rows["a"] > rows["b"]).to_numpy(), 1 - rows["points"], rows["points"])
    verdict = pd.Series(points).groupby(rows["pair"]).transform("mean").round(6)
    cells = [rows[["a", "b"]].min(axis=1), rows[["a", "b"]].max(axis=1), verdict]
    chance = rows["people"].notna().where(verdict.notna()).astype(float).groupby(cells).transform("mean")
    if (chance == 0).any():
        notes.append(
            "Pairs were drawn by the judge's verdicts, and people compared none on which it says the same as "
            "on some others: people's verdicts are not used; label some of all kinds."
        )
        return rows.assign(people=np.nan)
    return rows.assign(chance=chance.fillna(1.0))


def _represented(rows: pd.DataFrame, notes: list[str], by: str) -> Floats | None:
    """How many pairs each pair that people compared stands for, by their probabilities."""
    represented = represented_rows(rows["chance"], rows["people"].notna().to_numpy())
    if represented is not None:
        notes.append(f"People's verdicts are weighted by {by}, and compared with those on all pairs.")
    return represented


def _refuse_doubt(
    verdicts: PairedVerdicts, rows: pd.DataFrame, meaning: str | None, source: str, notes: list[str]
) -> None:
    """Ask what letters mean where verdicts in both orders are alike as positions, and say what is assumed."""
    if meaning is not None or not rows["letters"].any():
        return
    decided = rows["letters"].to_numpy(dtype=bool) & np.isfinite(verdicts.points)
    table = pd.DataFrame({"pair": verdicts.pair, "order": verdicts.order, "points": verdicts.points})[decided]
    wide = table.groupby(["pair", "order"])["points"].first().unstack()
    if not {-1.0, 1.0} <= set(wide.columns):
        return
    wide = wide[[-1.0, 1.0]].dropna()
    same = int((wide[-1.0] == wide[1.0]).sum())
    changed = len(wide) - same
    if changed > same and mid_p(Discordance(same, changed, len(wide))) < TOO_MANY:
        raise InputError(
            f"{source}: of {len(wide):,} pairs in both orders, {changed:,} verdicts change with the order if "
            f"'a' is the answer of column a, and {same:,} if it is the answer shown first; say which with "
            f"--verdicts {ANSWERS} or --verdicts {POSITIONS}."
        )
    notes.append(
        f"Verdicts such as 'a' count as the answer of column a, in either order; if they are positions, "
        f"state --verdicts {POSITIONS}."
    )


def kinds_of_verdict(meaning: str | None) -> str | None:
    """The meaning of letters that a user states."""
    if meaning not in (None, ANSWERS, POSITIONS):
        raise InputError(f"--verdicts is '{meaning}'; give {ANSWERS} or {POSITIONS}.")
    return meaning
