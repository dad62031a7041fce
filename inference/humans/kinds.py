"""Who is a person and who is a model, in tables where judges can be either: stated, never guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError
from ..readers.judgments import like_models
from ..tables.columns import did_you_mean, listed, refuse
from ..tables.schema import JUDGE_KINDS
from .layout import Layout
from .texts import plain, require_column

HUMAN, MODEL = JUDGE_KINDS
WORDS = {
    **dict.fromkeys(("human", "humans", "person", "people", "annotator", "participant", "worker"), HUMAN),
    **dict.fromkeys(("respondent", "crowd", "expert"), HUMAN),
    **dict.fromkeys(("model", "models", "llm", "ai", "machine", "bot", "lm", "language model"), MODEL),
}
OWN = "judge_kind"  # the name that a table of judgments gives the column


def kinds_of(
    judges: pd.Series[Any], rows: np.ndarray[Any, Any], table: pd.DataFrame, layout: Layout, source: str
) -> tuple[pd.Series[Any], list[str]]:
    """Kind of the judge of each rating, and what was assumed.

    Parameters
    ----------
    judges : Series of n ratings
    rows : array of n positions in ``table``
    layout : ``kind`` (a column), ``models`` (names) or ``people`` (all judges) says who is what

    Raises
    ------
    InputError
        Nothing says so and the file could hold models; a word is no kind; a judge is both.
    """
    given = [
        option
        for option, value in (
            ("--judge-kind", layout.kind),
            ("--models", layout.models),
            ("--people", layout.people),
        )
        if value
    ]
    if len(given) > 1:
        raise InputError(f"{given[0]} and {given[1]} both say who is a model; use one of them.")
    names = judges.dropna().astype(str).unique().tolist()
    if layout.models:
        for name in layout.models:
            if name not in names:
                raise InputError(
                    f"{source}: there is no judge '{name}'{did_you_mean(name, names)}; correct --models ("
                    f"there are: {listed(names)})."
                )
        rest = like_models([name for name in names if name not in layout.models])
        notes = [f"Judges that look like models and count as people: {listed(rest)}."] if rest else []
        return judges.isin(list(layout.models)).map({True: MODEL, False: HUMAN}), notes
    if layout.people:
        return pd.Series(HUMAN, index=judges.index), []
    column = layout.kind or (OWN if OWN in table else None)
    if column is not None:
        require_column(table, column, source, "--judge-kind")
        cells = _words(table, column, source)
        return _consistent(judges, pd.Series(cells[rows], index=judges.index), column, source), []
    _refuse_if_mixed(names, judges, table, rows, source)
    return pd.Series(HUMAN, index=judges.index), [
        f"All {len(names):,} judges count as people (--models NAME names a model)."
    ]


def _words(table: pd.DataFrame, column: str, source: str) -> np.ndarray[Any, Any]:
    kinds = table[column].map(lambda cell: WORDS.get(plain(cell)), na_action="ignore")
    unknown = kinds.isna().to_numpy()
    if unknown.any():
        cell = table[column].iloc[int(unknown.argmax())]
        problem = "is empty" if pd.isna(cell) else f"holds '{cell}'"
        refuse(source, column, unknown, problem, f"write {HUMAN} or {MODEL}, or use --models NAME")
    return kinds.to_numpy(dtype=object)


def _consistent(judges: pd.Series[Any], kinds: pd.Series[Any], column: str, source: str) -> pd.Series[Any]:
    several = kinds.groupby(judges).nunique()
    both = several.index[several > 1]
    if len(both):
        raise InputError(
            f"{source}: judge '{both[0]}' is a {HUMAN} and a {MODEL} in column '{column}'; give the two "
            "different names."
        )
    return kinds


def _refuse_if_mixed(
    names: Sequence[str], judges: pd.Series[Any], table: pd.DataFrame, rows: np.ndarray[Any, Any], source: str
) -> None:
    """Refuse to guess where a name looks like a model's, or a column may say who is one."""
    remedy = "say who is a model with --models NAME (once for each) or --judge-kind COLUMN, or write --people"
    found = like_models(names)
    if found:
        raise InputError(
            f"{source}: {listed(found, 4)} may be {'a model' if len(found) == 1 else 'models'}; {remedy} if "
            "all judges are people."
        )
    for column in map(str, table):
        words = {plain(cell) for cell in table[column].dropna().unique()[:100]}
        if (
            words
            and words <= WORDS.keys()
            and MODEL in {WORDS[word] for word in words}
            and table.iloc[rows][column].groupby(judges.to_numpy()).nunique().max() <= 1
        ):
            raise InputError(
                f"{source}: column '{column}' ({listed(sorted(words), 4)}) may say who is a model; write "
                f"--judge-kind {column} if it does, --models NAME, or --people if all judges are people."
            )
