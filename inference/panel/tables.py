"""What comes out of a panel: responses, judgments, choices and respondents, as for models."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class PanelTables:
    """Tables of a panel.

    Attributes
    ----------
    responses, judgments, respondents : DataFrame
    choices : DataFrame or None
        One row per profile that was seen, of a conjoint; None of items.
    """

    responses: pd.DataFrame
    judgments: pd.DataFrame
    respondents: pd.DataFrame
    choices: pd.DataFrame | None = None
