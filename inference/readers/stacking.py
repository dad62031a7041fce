"""Choices of several files in one table, where a judge is one judge and a pair the same pair everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import pandas as pd

from ..errors import InputError, listed
from ..study.models import Study
from ..tables.columns import as_text
from .prepare import judge_of

NAMED = 3  # judges of a file that a note names
PAIR = ["pair_id", "repeat", "position"]
OTHER = " in the other file"


def stack_choices(study: Study, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the choices of several files below each other, in the order of the files."""
    if len(tables) == 1:
        return next(iter(tables.values()))
    aligned = _aligned(tables)
    for (one, first), (other, second) in combinations(aligned.items(), 2):
        _refuse_repeated(one, first, other, second)
        _refuse_other_profiles(study, one, first, other, second)
    return pd.concat(list(aligned.values()), ignore_index=True)


def _aligned(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Give every column that several files hold one type, and every label column to all files."""
    columns = dict.fromkeys(str(name) for table in tables.values() for name in table)
    changed: dict[str, dict[str, pd.Series]] = {file: {} for file in tables}
    for name in columns:
        typed = _one_type(name, {file: table[name] for file, table in tables.items() if name in table})
        like = next(iter(typed.values())).dtype
        for file, table in tables.items():
            if file in typed:
                changed[file][name] = typed[file]
            elif isinstance(like, pd.CategoricalDtype):
                changed[file][name] = pd.Series(pd.NA, index=table.index, dtype=like)
    return {file: pd.DataFrame(cells) for file, cells in changed.items()}


def _one_type(name: str, holding: Mapping[str, pd.Series]) -> dict[str, pd.Series]:
    """Bring a column of several files to one type: categories with all levels, or numbers, or text."""
    ordered = {file: c for file, c in holding.items() if isinstance(c.dtype, pd.CategoricalDtype)}
    if ordered:
        dtype = pd.CategoricalDtype(_all_levels(name, ordered))
        for file, column in holding.items():
            stray = set(column.dropna().unique()) - set(dtype.categories)
            if stray:
                raise InputError(
                    f"Column {name!r} has a level order in {next(iter(ordered))}, and {file} contains "
                    f"{min(map(str, stray))!r} beyond it; give the order of both with --levels."
                )
        return {file: column.astype(dtype) for file, column in holding.items()}
    kinds = {pd.api.types.is_numeric_dtype(column.dtype) for column in holding.values()}
    return {f: as_text(c) for f, c in holding.items()} if len(kinds) > 1 else dict(holding)


def _all_levels(name: str, ordered: Mapping[str, pd.Series]) -> list[str]:
    """Join the levels of files in their order, which must not contradict each other."""
    levels: list[str] = []
    for file, column in ordered.items():
        own = list(column.cat.categories)
        shared = [level for level in own if level in levels]
        before = [level for level in levels if level in own]
        if shared != before:
            raise InputError(
                f"The levels of {name!r} have the order {listed(shared)} in {file} and {listed(before)} in "
                f"{next(iter(ordered))}; write both files with one order."
            )
        levels += [level for level in own if level not in levels]
    return levels


def _refuse_repeated(one: str, first: pd.DataFrame, other: str, second: pd.DataFrame) -> None:
    keys = ["judge_id", "prompt_id", "pair_id"]
    both = set(first["judge_id"].unique()) & set(second["judge_id"].unique())
    asked = [table.loc[table["judge_id"].isin(both), keys].drop_duplicates() for table in (first, second)]
    twice = pd.concat(asked, ignore_index=True)
    twice = twice[twice.duplicated()]
    if len(twice):
        judge, prompt, pair = twice.iloc[0]
        under = "" if pd.isna(prompt) else f" under prompt {prompt!r}"
        raise InputError(
            f"{one} and {other} both contain the choice of judge {judge!r}{under} in pair {pair!r}"
            f"{_more(len(twice))}; leave one of the files out, or name the judge of one of them differently."
        )


def _refuse_other_profiles(
    study: Study, one: str, first: pd.DataFrame, other: str, second: pd.DataFrame
) -> None:
    """Refuse a pair that shows one file's judges other profiles than those of the other file."""
    varied = [part.id for part in study.attributes] + [part.id for part in study.stimuli]
    columns = [name for name in ("profile_id", *varied) if name in first and name in second]
    pairs = set(first["pair_id"].unique()) & set(second["pair_id"].unique())
    ours, theirs = (
        table.loc[table["pair_id"].isin(pairs), [*PAIR, *columns]].drop_duplicates(PAIR)
        for table in (first, second)
    )
    both = ours.merge(theirs, on=PAIR, suffixes=("", OTHER))
    for name in columns:
        left, right = both[name], both[name + OTHER]
        differs = ((left != right) & left.notna() & right.notna()).to_numpy(dtype=bool, na_value=False)
        if differs.any():
            row = both.iloc[int(differs.argmax())]
            here, there = (f"{row[key]} in {file}" for key, file in ((name, one), (name + OTHER, other)))
            raise InputError(
                f"Position {row['position']} of pair {row['pair_id']!r} has {name} {here} and {there}"
                f"{_more(int(differs.sum()))}; a name must refer to one pair, so rename the pairs of one "
                "file."
            )


def _more(found: int) -> str:
    return f" (and {found - 1:,} more)" if found > 1 else ""


def stacking_notes(tables: Mapping[str, pd.DataFrame], assumed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Report the rows of each file, where there are several, and what was assumed in reading each."""
    if len(tables) == 1:
        yield from next(iter(assumed.values()))
        return
    names = {file: Path(file).name for file in tables}
    if len(set(names.values())) < len(names):
        names = {file: "/".join(Path(file).parts[-2:]) for file in tables}
    for file, table in tables.items():
        judges = judge_of(table).unique().tolist()
        more = f" and {len(judges) - NAMED} more judges" if len(judges) > NAMED else ""
        yield f"{names[file]}: {len(table):,} rows, of {', '.join(judges[:NAMED])}{more}."
    for file in tables:
        for note in assumed[file]:
            yield f"{names[file]}: {note.removeprefix(f'{Path(file).name}: ')}"
