"""Labels of several columns as codes of one set of classes in one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError, as_argument, did_you_mean, listed, quoted
from ..account import MOST_CELLS, AccountEntry
from ..cell_rules import key_of, number_of
from ..reading_rules import ReadingRules
from .distinct_texts import WITHOUT_ANSWER, DistinctTexts

Codes = NDArray[np.int64]
MOST_CLASSES = 50
STRANGER = -2  # code of a text that is none of the stated levels, until it is refused


def classes_of(
    texts: Sequence[DistinctTexts],
    options: ReadingRules,
    scale: str,
    source: str,
    reference: Collection[str],
    entries: list[AccountEntry],
) -> tuple[Codes, tuple[str, ...]]:
    """Codes of all columns, shape (C, n), and the classes in their order."""
    spelled: dict[str, Counter[str]] = {}
    for column in texts:
        if len(column.texts) > MOST_CLASSES and not options.order_of(column.name):
            raise InputError(
                f"{source}: column '{column.name}' has {len(column.texts):,} different labels, and at most "
                f"{MOST_CLASSES} can be compared; name a column of labels, or the scale interval for numbers."
            )
        weight = 1 + 10**9 * (column.name in reference)
        for text, count in zip(column.texts, column.counts.tolist(), strict=True):
            spelled.setdefault(key_of(text), Counter())[text] += count * weight
    labels = {
        key: spellings.most_common(1)[0][0] if number_of(key) is None else key
        for key, spellings in spelled.items()
    }
    merged = [sorted(spellings) for spellings in spelled.values() if len(spellings) > 1]
    if merged:
        # That two spellings are one number is no guess.
        examples = [
            f"--relabel {as_argument(f'{text}={labels[key]}')}"
            for key, spellings in spelled.items()
            for text in list(spellings)[:2]
            if number_of(key) is None and text != labels[key]
        ]
        entries.append(
            AccountEntry(
                "merged",
                "Spellings treated as one label: "
                + f"{listed(' and '.join(map(quoted, spellings)) for spellings in merged)}.",
                cells=tuple(text for spellings in merged for text in spellings)[:MOST_CELLS],
                count=len(merged),
                option=" ".join(examples) or None,
            )
        )
    order = _order_of(labels, texts, options, scale, source)
    place = {key: number for number, key in enumerate(order)}
    codes = np.stack(
        [
            np.array([*(place.get(key_of(text), STRANGER) for text in column.texts), WITHOUT_ANSWER])[
                column.code
            ]
            for column in texts
        ]
    ).astype(np.int64)
    _refuse_strangers(codes, texts, tuple(order.values()), source)
    return codes, tuple(order.values())


def _order_of(
    labels: Mapping[str, str],
    texts: Sequence[DistinctTexts],
    options: ReadingRules,
    scale: str,
    source: str,
) -> dict[str, str]:
    """Names of the classes by their keys, in order: as stated, as declared, by number, by alphabet."""
    levels = next((order for column in texts if (order := options.order_of(column.name))), ())
    declared = levels or next((column.order for column in texts if column.order), ())
    if declared:
        return {key_of(name): name for name in declared}
    values = {key: number_of(text) for key, text in labels.items()}
    for column in texts:
        by_value = {key_of(name): name for name in options.value_labels.get(column.name, ())}
        if labels and labels.keys() <= by_value.keys():
            return by_value if scale == "ordinal" else {key: labels[key] for key in by_value if key in labels}
    if labels and None not in values.values():
        return {key: labels[key] for key in sorted(labels, key=lambda key: values[key] or 0.0)}
    if scale == "ordinal":
        raise InputError(
            f"{source}: these labels have no order ({listed(sorted(labels.values()))}); give all of them "
            "from the lowest to the highest with --levels."
        )
    return {key: labels[key] for key in sorted(labels)}


def _refuse_strangers(
    codes: Codes, texts: Sequence[DistinctTexts], classes: Sequence[str], source: str
) -> None:
    for column, code in zip(texts, codes, strict=True):
        if (code == STRANGER).any():
            place = int(column.code[int((code == STRANGER).argmax())])
            text = column.texts[place]
            raise InputError(
                f"{source}: column '{column.name}' contains {quoted(text)} in {column.where(place)}, "
                f"which is none of the levels ({listed(classes)}){did_you_mean(text, classes)}; add it "
                "to --levels, state it as --missing, or correct it."
            )
