"""What an automation found, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from conjury.inference.errors import counted, listed

from ..validation.validation_rows import row_of
from ..validation.verdicts.judge_sentences import number


def verdict_of_automation(frame: pd.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Sentences on the share at each error, and on the error without a threshold."""
    return [*_shares(frame, settings), *_directions(frame, settings), *_all_rows(settings)]


def _shares(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    none = []
    for error in settings["errors"]:
        share = row_of(frame, f"automated_share[error={error:g}]")
        limits = row_of(frame, f"automated_error[error={error:g}]")
        if share is None or limits is None:
            none.append(f"{100 * error:.4g}%")
            continue
        yield (
            f"At an error of {error:.3g} the judge may decide {number(share['estimate'], 'accuracy')} of "
            f"{counted(int(share['n']), 'row')} alone: among {counted(int(limits['n']), 'labelled row')} of "
            f"these {number(limits['estimate'], 'accuracy')} are wrong, at most "
            f"{number(limits['upper'], 'accuracy')} with confidence {1 - settings['alpha']:.0%}."
        )
    if none:
        yield (
            f"No share can stand alone at an error of {' or '.join(none)}: with these labels the limit is "
            "larger for every threshold of confidence."
        )


def _directions(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    """By the label that the judge gives: false passes and false fails are not alike."""
    allowed = [
        error
        for error in settings["errors"]
        if row_of(frame, f"automated_error[error={error:g}]") is not None
    ]
    if not allowed or len(settings["classes"]) < 2:
        return
    error = min(allowed)
    shares = {
        name: row_of(frame, f"automated_share[{name}][error={error:g}]") for name in settings["classes"]
    }
    texts = [
        f"{number(row['estimate'], 'accuracy')} of its {name!r}"
        for name, row in shares.items()
        if row is not None
    ]
    yield f"Separately for what the judge says, an error of {error:.3g} allows {listed(texts, 6)}."


def _all_rows(settings: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"People gave another label in {settings['n_wrong']:,} of "
        f"{counted(settings['n_labelled'], 'labelled row')}."
    )
