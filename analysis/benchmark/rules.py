"""Answers that were read by several rules, perhaps from several files."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from conjury.inference.columns import as_text
from conjury.inference.errors import InputError
from conjury.inference.tables import KEYS


def rule_of(judgments: pd.DataFrame) -> str:
    """Name of the rule by which answers were read, without form and version; "" where it is not known.

    Examples
    --------
    >>> rule_of(pd.DataFrame({"rule": ["label/strict@1", "line_labels/strict@1"]}))
    'strict'
    """
    if "rule" not in judgments:
        return ""
    names = as_text(judgments["rule"]).dropna().str.extract(r"/(\w+)@", expand=False).dropna()
    return str(names.mode().iloc[0]) if len(names) else ""


def by_rule(main: pd.DataFrame, others: Sequence[pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Judgments by the rule that read them, those of the main table first; files of one rule as one table.

    Parameters
    ----------
    main : DataFrame
        The judgments contract.
    others : sequence of DataFrame
        The same answers, or some of them, read by other rules, or other answers read by the same.

    Returns
    -------
    dict of str to DataFrame

    Raises
    ------
    InputError
        Two tables hold the same judgment by the same rule.

    Examples
    --------
    >>> en, es = (pd.DataFrame({"judge_id": ["gpt"], "item_id": [item], "dimension": ["harm"],
    ...     "value": ["safe"], "rule": ["label/strict@1"]}) for item in ("j1", "j2"))
    >>> {rule: len(table) for rule, table in by_rule(en.assign(rule="label/lenient@1"), [en, es]).items()}
    {'lenient': 1, 'strict': 2}
    """
    tables: dict[str, list[pd.DataFrame]] = {}
    for table in (main, *others):
        tables.setdefault(rule_of(table), []).append(table)
    return {rule: _stacked(own, rule) for rule, own in tables.items()}


def _stacked(tables: Sequence[pd.DataFrame], rule: str) -> pd.DataFrame:
    if len(tables) == 1:
        return tables[0]
    made = pd.concat(tables, ignore_index=True)
    names = [name for name in KEYS["judgments"] if name in made]
    again = made.duplicated(names).to_numpy(dtype=bool)
    if again.any():
        first = made[again].iloc[0]
        named = f"rule '{rule}'" if rule else "a rule that the column 'rule' does not name"
        raise InputError(
            f"readings: two tables hold the judgment of '{first['judge_id']}' on dimension "
            f"'{first['dimension']}' of item '{first['item_id']}' by {named}; give each answer once a rule."
        )
    return made
