"""A preregistration as data: design, sample, analyses and rules of a study, with hashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import Any

from conjury.inference.errors import InputError, counted, unknown_name
from conjury.inference.study.models import AnyStudy, ItemStudy, Study
from conjury.inference.study.study_fields import Judge
from conjury.inference.study.study_yaml import suggestion
from conjury.inference.tables.files import file_hash, hash_of, read_sealed

from ...benchmark import differences, mixed_logit, robustness
from ...frames.kinds import kind_of
from ...pipeline.conjoint_steps import kind_of_result, people_analyses, prompt_analyses
from ...pipeline.fitting import has_gold
from ...raters.replacement import alt_test
from ..method_sentences import plain
from .distribution import attributes_of, dependent_attributes, uneven_shares
from .facts import study_file
from .registration_text import TEMPLATES

FORMAT = 1
Registration = dict[str, Any]


def registration(
    study: Study | ItemStudy,
    *,
    template: str = "osf",
    alpha: float = 0.05,
    correct: str | None = None,
    judges: Sequence[str] = (),
    sample: Mapping[str, int] | None = None,
    power: Sequence[Mapping[str, Any]] = (),
    design_files: Sequence[Path] = (),
    created: datetime | None = None,
) -> Registration:
    """What is registered of a study, as JSON holds it."""
    # Returns: With `sha256` of everything else in it.
    if template not in TEMPLATES:
        raise unknown_name("template", template, TEMPLATES)
    for name in judges:
        if name not in study.judge_labels:
            raise InputError(f"--judge: {suggestion(name, study.judge_labels)}")
    members = [judge for judge in study.judges if not judges or judge.id in judges]
    now = created or datetime.now(UTC)
    content: Registration = {
        "format": FORMAT,
        "template": template,
        "created": now.isoformat(timespec="seconds"),
        "conjury": version("conjury"),
        "study": study.name,
        "title": study.title,
        "kind": study.kind,
        "question": study.question,
        "files": _files(study, design_files),
        "judges": {judge.id: judge.label for judge in members},
        "people": [judge.id for judge in members if judge.kind == "human"],
        "models": {judge.id: judge.ask.model for judge in members if judge.ask},
        "prompts": study.prompt_labels,
        "refusal": study.refusal,
        "alpha": alpha,
        "correct": correct,
        "power": [dict(entry) for entry in power],
        "excluded_people": _excluded_people(study) if any(judge.kind == "human" for judge in members) else [],
        **(_conjoint_content(study, members) if isinstance(study, Study) else _item_content(study, members)),
    }
    content["sample"] |= sample or {}
    return {**content, "sha256": hash_of(content)}


def _files(study: AnyStudy, design: Sequence[Path]) -> dict[str, str]:
    """Hashes of the study file, of its templates and of the drawn design, by name."""
    paths = {study_file(study).name: study_file(study)}
    for prompt in study.prompts:
        paths |= {name: study.file(name) for name in (prompt.template, prompt.user) if name}
    paths |= {f"design/{path.name}": path for path in design}
    return {name: file_hash(path) for name, path in sorted(paths.items()) if path.is_file()}


def _conjoint_content(study: Study, judges: Sequence[Judge]) -> dict[str, Any]:
    design = study.design
    is_mixed = {judge.kind for judge in judges} == {"human", "model"}
    compared = people_analyses(study) if is_mixed else []
    if len(study.prompts) > 1 and any(judge.kind == "model" for judge in judges):
        compared = [*prompt_analyses(study), *compared]
    analyses = [*(analysis for analysis in study.analyses if not analysis.crosses_groups), *compared]
    return {
        "outcome": study.outcome,
        "attributes": attributes_of(study),
        "uneven_shares": uneven_shares(study),
        "dependent_attributes": dependent_attributes(study),
        "sample": {"pairs": design.pairs, "respondents": design.respondents, "tasks": design.tasks},
        "repeats": {"repeat_first": design.repeat_first, "swapped_share": study.collect.swapped_share},
        "restrictions": [restriction.model_dump() for restriction in design.restrictions],
        "analyses": [
            {
                "name": analysis.name,
                "title": analysis.title,
                "verb": analysis.verb,
                "kind": kind_of_result(analysis),
                "formula": analysis.formula,
                "by": analysis.by,
                "exclude": analysis.exclude,
                "h0": analysis.h0,
            }
            for analysis in analyses
        ],
        "clusters": {kind: list(study.clusters.of(kind)) for kind in ("human", "model")},
        "vcov": study.clusters.vcov,
        "bootstrap": {"unit": study.bootstrap.unit, "draws": study.bootstrap.draws},
        "adjusted": {
            **({"specifications": "romano_wolf"} if study.instrument is not None else {}),
            **{analysis.name: "holm" for analysis in analyses if kind_of(kind_of_result(analysis)).family},
        },
    }


def _item_content(study: ItemStudy, judges: Sequence[Judge]) -> dict[str, Any]:
    assigned = study.assignment
    return {
        "dimensions": {**study.scale_labels, **{name: name for name in study.label_sets}},
        "main": study.main,
        "strata": study.feature_labels,
        "cluster": study.cluster,
        "sample": {"raters": assigned.raters if assigned else None},
        "missing": study.missing_rules,
        "analyses": [],
        "adjusted": _adjusted_of_items(study, judges),
    }


def _adjusted_of_items(study: ItemStudy, judges: Sequence[Judge]) -> dict[str, str]:
    """How `conjury fit` adjusts p values of ratings or labels, by the kind of result that has them."""
    models = sum(judge.kind == "model" for judge in judges)
    is_of_both = 0 < models < len(judges)
    gaps = bool(study.strata)
    if has_gold(study, None):
        several = {"differences": _default(differences, "adjust"), "mixed": _default(mixed_logit, "adjust")}
        of_each = {"robustness": _default(robustness, "adjust"), "by_label": "holm", "errors": "holm"}
        planned = {**(several if models > 1 else {}), **({"gaps": "holm"} if gaps else {}), **of_each}
        return planned if models else {}
    planned = {"alt_test": _default(alt_test, "multiplicity")} if is_of_both else {}
    if study.response.form == "ratings":
        is_planned = {
            "gaps": gaps,
            "dimension_correlations": len(study.scales) > 1,
            "correlations": is_of_both,
            "biases": is_of_both,
            "tier_accuracy": study.tiers is not None,
        }
        planned |= {name: "holm" for name, planned_here in is_planned.items() if planned_here}
    return planned


def _default(function: Callable[..., Any], option: str) -> str:
    """What a function does where an option is not given, as `conjury fit` calls it."""
    return str(signature(function).parameters[option].default)


def _excluded_people(study: AnyStudy) -> list[str]:
    """Rules by which people are excluded, in sentences."""
    panel = study.panel
    if panel is None:
        return []
    rules = [
        f"Who answers {plain(entry.label)} with {' or '.join(map(plain, entry.screen_out))} is screened out."
        for entry in panel.questions
        if entry.screen_out
    ]
    if panel.fail_limit:
        failed = counted(panel.fail_limit, "attention check")
        rules.append(f"A participation ends when {failed} {'is' if panel.fail_limit == 1 else 'are'} failed.")
    rules.append("Only people who finished all tasks are analysed.")
    return rules


def read_registration(path: Path) -> Registration:
    """Read a registration; refuse a file that is none, or that was changed since it was written."""
    return read_sealed(path, FORMAT, "registration", "give the .json that `conjury paper preregister` wrote")
