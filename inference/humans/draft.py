"""A first study file for choices that were collected elsewhere."""

from __future__ import annotations

from typing import Any

import yaml

from .qualtrics import Survey

HEADER = """\
# Drafted from {source}. Check before you report anything:
# the question and the title; that the first level of each attribute is the reference you want; and how likely
# each level was to be shown (all levels of an attribute equally, unless each has a probability).
"""


def draft_study(survey: Survey, name: str, source: str) -> str:
    """Write a study file with the attributes and levels of a survey, ready for ``conjury fit``.

    Parameters
    ----------
    survey : Survey
    name : id of the study
    source : what the survey was read from, for the first line

    Returns
    -------
    str
        YAML that ``load_study`` accepts: AMCEs, marginal means and frequencies of all attributes,
        clustered by respondent.

    Examples
    --------
    >>> import pandas as pd
    >>> labels = pd.DataFrame({"attribute": "Curse", "level": ["No", "Yes"]})
    >>> labels = labels.assign(attribute_id="curse", level_id=["no", "yes"])
    >>> survey = Survey(pd.DataFrame(), labels, 400, 8, True, ())
    >>> print(draft_study(survey, "posts", "export.csv").splitlines()[3])
    name: posts
    """
    attributes = [
        {
            "id": key,
            "label": rows["attribute"].iloc[0],
            "levels": [
                {"id": level, "label": label}
                for level, label in zip(rows["level_id"], rows["level"], strict=True)
            ],
        }
        for key, rows in survey.labels.groupby("attribute_id", sort=False)
    ]
    formula = "chosen ~ " + " + ".join(part["id"] for part in attributes)
    content: dict[str, Any] = {
        "name": name,
        "title": f"Conjoint survey {name}",
        "kind": "conjoint",
        "question": "Which of the two do you choose?",
        "attributes": attributes,
        "design": {
            "pairs": survey.respondents * survey.tasks,
            "respondents": survey.respondents,
            "tasks": survey.tasks,
            "repeat_first": survey.repeat_first,
        },
        "judges": [{"id": "human", "label": "Respondents", "kind": "human"}],
        "clusters": {"human": "judge_id", "model": "pair_id"},
        "bootstrap": {"unit": "judge_id"},
        "analyses": [
            {"name": "amce", "verb": "amce", "title": "Effects of all attributes", "formula": formula},
            {"name": "mm", "verb": "mm", "title": "Marginal means", "formula": formula, "h0": 0.5},
            {"name": "frequencies", "verb": "cj_freqs", "title": "How often each level was shown"}
            | {"formula": formula},
        ],
    }
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)
    return HEADER.format(source=source) + body
