"""All faults, with each table that they can have; tables in long form."""

from __future__ import annotations

import pandas as pd

from .cell_faults import MISSING, NUMBERS_AS_TEXT, SPELLINGS, WORDS
from .clean_tables import CLEAN, CleanTable
from .file_faults import OTHERS, TEXT_FILES, TYPED, ZEROS

FAULTS = [*MISSING, *WORDS, *SPELLINGS, *NUMBERS_AS_TEXT, *TEXT_FILES, *OTHERS, *ZEROS, *TYPED]


def long_form(frame: pd.DataFrame, table: CleanTable) -> pd.DataFrame:
    """One row per judgment, with the columns of the contract."""
    columns = [("bot", "model", "judge"), *((name, "human", name) for name in table.people)]
    parts = [
        pd.DataFrame({"item_id": frame["item"], "judge_id": name, "judge_kind": kind, "value": frame[column]})
        for name, kind, column in columns
    ]
    return pd.concat(parts, ignore_index=True)


MESSES = [(table, fault) for fault in FAULTS for kind in fault.kinds for table in [CLEAN[kind]]]
