"""What was collected of a study: its tables, the files they are from, and what judges were asked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ..study.models import ItemStudy, Study


@dataclass(frozen=True)
class Collected:
    """Everything that is known of a study, of which any part may be absent.

    Attributes
    ----------
    study : Study, ItemStudy or None
    choices, judgments, responses, items, labels, respondents : DataFrame or None
        As ``tables/schema.py`` describes them.
    requests : DataFrame or None
        One row per request as it was sent: ``request_key, judge_id, prompt_id``, ``item_id`` or ``task_id``,
        ``sample, model, temperature, top_p, seed, max_tokens, system, user`` (texts of the messages,
        without media).
    asked : mapping
        By judge, the settings that the study file or the ledger states: ``model, temperature, seed,
        max_tokens, ...``, as far as they are known.
    files : mapping
        The file of each table that was read from one.
    """

    study: Study | ItemStudy | None = None
    choices: pd.DataFrame | None = None
    judgments: pd.DataFrame | None = None
    responses: pd.DataFrame | None = None
    requests: pd.DataFrame | None = None
    items: pd.DataFrame | None = None
    labels: pd.DataFrame | None = None
    respondents: pd.DataFrame | None = None
    asked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
