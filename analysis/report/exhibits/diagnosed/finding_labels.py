"""Findings of checks in words: tables of checks have them as text, in which ids become labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from itertools import product

from ....figures.labels import LabelKey, LevelLabels, true_minus
from ....frames.vocabulary import HUMAN
from ....numerics.metrics.label_metrics import METRICS
from ....numerics.metrics.probability_metrics import PROBABILITY_METRICS

ACRONYMS = ("mcc", "auc")
ID = r"(?<![\w./'`\"-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?!\w|[/-]|\.\w)"


def finding_in_words(finding: object, labels: Mapping[LabelKey, str]) -> str:
    """Put the labels of judges and levels where a text names them by id; other ids become words."""
    # Names in quotes and of files stay as they are; so do ids that could be words.
    result = re.sub(r"(?<![\w'`\"])human(?=[:,;] )", labels.get(("judges", HUMAN), "people"), str(finding))
    result = re.sub(r"(?<![\w'`\"])(\w+) ?= ?(\w+)", partial(_level_in_words, labels), result)
    for judge, prompt in product(*(_ids_of(labels, kind) for kind in ("judges", "prompts"))):
        pair_label = f"{labels['judges', judge]}, {labels['prompts', prompt]}"
        result = re.sub(_whole(f"{judge} {prompt}"), lambda _, text=pair_label: text, result)  # type: ignore[misc]
    for key, label in labels.items():
        if isinstance(key, tuple) and ("_" in key[1] or (key[0] == "judges" and re.search(r"\d", key[1]))):
            result = re.sub(_whole(key[1]), lambda _, text=label: text, result)  # type: ignore[misc]
    result = re.sub(_whole("p_holm"), "adjusted p", result)
    for metric in (*METRICS, *PROBABILITY_METRICS):
        if "_" in metric.name or metric.name in ACRONYMS:
            result = re.sub(_whole(metric.name), metric.phrase, result)
    return true_minus(re.sub(ID, lambda match: match[0].replace("_", " "), result))


def _ids_of(labels: Mapping[LabelKey, str], kind: str) -> list[str]:
    """Identifiers of judges or prompts that have labels."""
    return [key[1] for key in labels if isinstance(key, tuple) and key[0] == kind]


def _level_in_words(labels: Mapping[LabelKey, str], match: re.Match[str]) -> str:
    """A level that a text names as ``attribute=level``, where it has a label."""
    return LevelLabels(labels).both(match[1], match[2]) if (match[1], match[2]) in labels else match[0]


def _whole(name: str) -> str:
    """A pattern of a name that is neither part of a longer one nor in quotes."""
    return rf"(?<![\w./'`\"-]){re.escape(name)}(?![\w'`\"]|-\w|\.\w)"
