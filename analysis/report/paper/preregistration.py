"""A preregistration: design, sample, analyses and rules of a study as data and as text, with hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conjury.inference.errors import InputError, counted
from conjury.inference.study.base import suggestion
from conjury.inference.study.models import AnyStudy, ItemStudy, Study
from conjury.inference.study.parts import Judge

from ...figures.labels import level_at
from ...pipeline.conjoint import people_analyses
from ..methods import CONVENTIONS, VERBS, code, excluded, plain
from ..tables import number, whole
from .facts import study_file

FORMAT = 1
MARK = "TO STATE BY THE AUTHOR"
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
    """What is registered of a study, as JSON holds it.

    Parameters
    ----------
    study : Study or ItemStudy
        The study as its file describes it.
    template : {"osf", "aspredicted", "dce"}
        Whose questions the text answers.
    alpha : float
        One minus the confidence level.
    correct : {"ppi", "covariate"}, optional
        The correction of estimates among people by models.
    judges : sequence of str
        Judges that take part; by default all of the study.
    sample : mapping, optional
        ``pairs`` and ``respondents`` in place of the study's.
    power : sequence of mapping
        Of each group of judges: ``label, pairs, power, least, most`` (minimum detectable effects).
    design_files : sequence of Path
        Files of the drawn design, whose hashes are registered.
    created : datetime, optional
        By default now.

    Returns
    -------
    dict
        With ``sha256`` of everything else in it.

    Raises
    ------
    InputError
        For another template.
    """
    if template not in TEMPLATES:
        raise InputError(f"There is no template {template!r}; use one of: {', '.join(TEMPLATES)}.")
    for name in judges:
        if name not in study.judge_labels:
            raise InputError(f"--judge: {suggestion(name, study.judge_labels)}")
    known = [judge for judge in study.judges if not judges or judge.id in judges]
    now = created or datetime.now(UTC)
    made: Registration = {
        "format": FORMAT,
        "template": template,
        "created": now.isoformat(timespec="seconds"),
        "conjury": version("conjury"),
        "study": study.name,
        "title": study.title,
        "kind": study.kind,
        "question": study.question,
        "files": _files(study, design_files),
        "judges": {judge.id: judge.label for judge in known},
        "people": [judge.id for judge in known if judge.kind == "human"],
        "models": {judge.id: judge.ask.model for judge in known if judge.ask},
        "prompts": study.prompt_labels,
        "refusal": study.refusal,
        "alpha": alpha,
        "correct": correct,
        "power": [dict(one) for one in power],
        "excluded_people": _excluded_people(study),
        **(_of_conjoint(study, known) if isinstance(study, Study) else _of_items(study)),
    }
    made["sample"] |= sample or {}
    return {**made, "sha256": hash_of(made)}


def hash_of(registered: Mapping[str, Any]) -> str:
    """SHA-256 of a registration without its own hash."""
    content = {name: value for name, value in registered.items() if name != "sha256"}
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files(study: AnyStudy, design: Sequence[Path]) -> dict[str, str]:
    """Hashes of the study file, of its templates and of the drawn design, by name."""
    own = {study_file(study).name: study_file(study)}
    for prompt in study.prompts:
        own |= {name: study.folder / name for name in (prompt.template, prompt.user) if name}
    own |= {f"design/{path.name}": path for path in design}
    return {name: file_hash(path) for name, path in sorted(own.items()) if path.is_file()}


def _of_conjoint(study: Study, judges: Sequence[Judge]) -> dict[str, Any]:
    design = study.design
    both = {judge.kind for judge in judges} == {"human", "model"}
    compared = people_analyses(study) if both else []
    analyses = [*(one for one in study.analyses if not one.compares_people), *compared]
    return {
        "outcome": study.outcome,
        "attributes": {
            one.id: {"label": one.label, "levels": {level.id: level.label for level in one.levels}}
            for one in study.attributes
        },
        "sample": {"pairs": design.pairs, "respondents": design.respondents, "tasks": design.tasks},
        "repeats": {"repeat_first": design.repeat_first, "swapped_share": study.collect.swapped_share},
        "restrictions": [one.model_dump() for one in design.restrictions],
        "analyses": [
            {
                "name": one.name,
                "title": one.title,
                "verb": one.verb,
                "formula": one.formula,
                "by": one.by,
                "exclude": one.exclude,
                "h0": one.h0,
            }
            for one in analyses
        ],
        "clusters": {kind: list(study.clusters.of(kind)) for kind in ("human", "model")},
        "vcov": study.clusters.vcov,
        "bootstrap": {"unit": study.bootstrap.unit, "draws": study.bootstrap.draws},
        "adjusted": {one.name: "holm" for one in analyses if one.compares_people},
    }


def _of_items(study: ItemStudy) -> dict[str, Any]:
    assigned = study.assignment
    return {
        "dimensions": {**study.scale_labels, **{name: name for name in study.label_sets}},
        "main": study.main,
        "strata": study.feature_labels,
        "cluster": study.cluster,
        "sample": {"raters": assigned.raters if assigned else None},
        "missing": study.missing,
        "analyses": [],
    }


def _excluded_people(study: AnyStudy) -> list[str]:
    """Rules by which people are excluded, in sentences."""
    panel = study.panel
    if panel is None:
        return []
    rules = [
        f"Who answers {plain(one.label)} with {' or '.join(map(plain, one.screen_out))} is screened out."
        for one in panel.questions
        if one.screen_out
    ]
    if panel.fail_limit:
        failed = counted(panel.fail_limit, "attention check")
        rules.append(f"A participation ends when {failed} {'is' if panel.fail_limit == 1 else 'are'} failed.")
    rules.append("Only people who finished all tasks are analysed.")
    return rules


def read_registration(path: Path) -> Registration:
    """Read a registration; refuse a file that is none, or that was changed since it was written."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(
            f"{path} is no registration: {error}; give the .json of `conjury preregister`."
        ) from None
    if not isinstance(found, dict) or "sha256" not in found or found.get("format") != FORMAT:
        raise InputError(f"{path} is no registration; give the .json that `conjury preregister` wrote.")
    if hash_of(found) != found["sha256"]:
        raise InputError(
            f"{path} was changed after it was registered: its SHA-256 is not the one that it states; use the "
            "file as it was written."
        )
    return found


def in_words(registered: Mapping[str, Any]) -> str:
    """A registration as Markdown, by the questions of its template; what only the author knows is marked."""
    name, questions = TEMPLATES[str(registered["template"])]
    head = [
        f"# Preregistration: {plain(registered['title'])}",
        f"{name}. Written by conjury {registered['conjury']} at {registered['created']}. "
        f"Fields marked **{MARK}** are open.",
    ]
    parts = []
    for question, sources in questions:
        texts = [text for source in sources if (text := _answer(source, registered))]
        parts.append(f"## {question}\n\n" + "\n\n".join(texts))
    hashes = "\n".join(f"- {code(file)}: {code(sha)}" for file, sha in registered["files"].items())
    end = (
        "## Hashes (SHA-256)\n\n"
        f"{hashes}\n- this registration, as JSON without its hash: {code(registered['sha256'])}"
    )
    return "\n\n".join([*head, *parts, end]) + "\n"


def _answer(source: str | Callable[[Mapping[str, Any]], str], registered: Mapping[str, Any]) -> str:
    return f"**{MARK}: {source}.**" if isinstance(source, str) else source(registered)


def question_text(made: Mapping[str, Any]) -> str:
    """What judges are asked."""
    return f"Judges are asked: {plain(made['question'])}"


def design_text(made: Mapping[str, Any]) -> str:
    """What is varied, and how."""
    if made["kind"] != "conjoint":
        strata = ", ".join(map(plain, made["strata"].values()))
        return f"Judges rate items one at a time{f'; items are grouped by {strata}' if strata else ''}."
    lines = [
        f"- {plain(one['label'])}: {', '.join(map(plain, one['levels'].values()))}"
        for one in made["attributes"].values()
    ]
    rules = len(made["restrictions"])
    never = f"{counted(rules, 'rule')} {'excludes' if rules == 1 else 'exclude'} combinations of levels."
    return (
        "Randomised conjoint with forced choices between two profiles. Attributes, the reference first:\n\n"
        + "\n".join(lines)
        + f"\n\n{never if rules else 'No combination of levels is excluded.'}"
    )


def randomisation_text(made: Mapping[str, Any]) -> str:
    """What is drawn at random."""
    if made["kind"] != "conjoint":
        return "The order of items is drawn for each person."
    repeated = "The first task is repeated with positions swapped." if made["repeats"]["repeat_first"] else ""
    text = "Levels and positions are drawn independently for each profile, before data are collected."
    return f"{text} {repeated}".strip()


def judges_text(made: Mapping[str, Any]) -> str:
    """Who judges, under which prompts."""
    models = ", ".join(
        f"{plain(made['judges'][name])} ({code(model)})" for name, model in made["models"].items()
    )
    people = "People judge as well. " if made["people"] else ""
    prompts = ", ".join(map(plain, made["prompts"].values()))
    return f"{people}Models: {models or 'none'}. Prompts: {prompts or 'none'}."


def sample_text(made: Mapping[str, Any]) -> str:
    """How many are asked how much."""
    sample = made["sample"]
    if made["kind"] != "conjoint":
        return f"{whole(sample['raters'])} people rate each item." if sample["raters"] else ""
    people = (
        f"{counted(sample['respondents'], 'respondent')} judge {counted(sample['tasks'], 'task')} each. "
        if made["people"]
        else ""
    )
    return f"{people}Each model judges {whole(sample['pairs'])} pairs under each prompt."


def power_text(made: Mapping[str, Any]) -> str:
    """What could be detected."""
    told = [
        f"{plain(one['label'])}: with power {one['power']:g}, effects of {number(one['least'])} to "
        f"{number(one['most'])} are detectable (two-sided, alpha {made['alpha']:g})."
        for one in made["power"]
    ]
    return " ".join(told)


def analyses_text(made: Mapping[str, Any]) -> str:
    """Which analyses are confirmatory."""
    if made["kind"] != "conjoint":
        dimensions = ", ".join(map(plain, made["dimensions"].values()))
        return f"All analyses that `conjury fit` runs on such a study, on the dimensions {dimensions}."
    lines = []
    for one in made["analyses"]:
        by = f", by {', '.join(map(code, one['by']))}" if one["by"] else ""
        rules = [excluded(feature, levels) for feature, levels in one["exclude"].items()]
        without = f", without rows where {' or '.join(rules)}" if rules else ""
        what = VERBS.get(one["verb"], one["verb"])
        lines.append(
            f"- {code(one['name'])} ({plain(one['title'])}): {what} of {code(one['formula'])}{by}{without}"
        )
    return "\n".join(lines)


def inference_text(made: Mapping[str, Any]) -> str:
    """Standard errors, intervals and adjustment."""
    text = f"Tests are two-sided at alpha {made['alpha']:g}; intervals cover {level_at(made['alpha'])}."
    if made["kind"] != "conjoint":
        return text
    people, models = (" and ".join(map(code, made["clusters"][kind])) for kind in ("human", "model"))
    errors = f"Standard errors are clustered by {people} for people and by {models} for models"
    draws = made["bootstrap"]["draws"]
    return f"{text} {errors}{CONVENTIONS.get(made['vcov'], '')}. The bootstrap draws {whole(draws)} times."


def multiplicity_text(made: Mapping[str, Any]) -> str:
    """Which families of tests are adjusted."""
    adjusted = made.get("adjusted") or {}
    if not adjusted:
        return "No p value is adjusted."
    names = ", ".join(map(code, adjusted))
    return (
        f"Differences between models and people ({names}) are adjusted by Holm's method over the differences "
        "of each model under each prompt; other p values are not adjusted."
    )


def correction_text(made: Mapping[str, Any]) -> str:
    """Whether estimates among people are made more precise by models."""
    names = {"ppi": "prediction-powered inference", "covariate": "models as covariates"}
    correct = made["correct"]
    if not correct:
        return "Estimates among people are not corrected by answers of models."
    return f"Estimates among people are made more precise by {names[correct]}."


def exclusion_text(made: Mapping[str, Any]) -> str:
    """Who and what is excluded."""
    counts_as = {
        "missing": "treated as missing and excluded",
        "not_chosen": "count as not chosen for both profiles",
    }
    verb = "are " if made["refusal"] == "missing" else ""
    answers = f"Answers without a valid choice {verb}{counts_as.get(made['refusal'], made['refusal'])}."
    return " ".join([*made["excluded_people"], answers])


def outcome_text(made: Mapping[str, Any]) -> str:
    """What is measured."""
    if made["kind"] == "conjoint":
        return (
            f"Outcome: {code(made['outcome'])}, whether a profile is chosen over the other one of its pair."
        )
    main = (
        f" The main one is {plain(made['dimensions'].get(made['main'], made['main']))}."
        if made["main"]
        else ""
    )
    return f"Judgments of the dimensions {', '.join(map(plain, made['dimensions'].values()))}.{main}"


Source = str | Callable[[Mapping[str, Any]], str]
NOT_YET = "whether any data have been collected or seen, by people and by models"
HYPOTHESES = "the hypotheses, each with its analysis and the expected direction"
TEMPLATES: dict[str, tuple[str, Sequence[tuple[str, Sequence[Source]]]]] = {
    "osf": (
        "After the sections of OSF Preregistration",
        (
            ("Hypotheses", (question_text, HYPOTHESES)),
            ("Study type and blinding", ("who is blind to what",)),
            ("Study design", (design_text,)),
            ("Randomisation", (randomisation_text,)),
            ("Existing data", (NOT_YET,)),
            ("Data collection", (judges_text, "where and when people are recruited, and what they are paid")),
            ("Sample size", (sample_text,)),
            ("Reason for the sample size", (power_text, "why this size, where power is not the reason")),
            ("Stopping rule", ("when collection ends",)),
            ("Manipulated and measured variables", (outcome_text,)),
            ("Statistical models", (analyses_text, correction_text)),
            ("Inference criteria", (inference_text, multiplicity_text)),
            ("Exclusion and missing data", (exclusion_text,)),
            ("Exploratory analyses", ("what is explored without hypotheses",)),
        ),
    ),
    "aspredicted": (
        "After the nine questions of AsPredicted",
        (
            ("1. Data collected already", (NOT_YET,)),
            ("2. Question and hypothesis", (question_text, HYPOTHESES)),
            ("3. Dependent variables", (outcome_text,)),
            ("4. Conditions", (design_text, judges_text)),
            ("5. Analyses", (analyses_text, inference_text, multiplicity_text, correction_text)),
            ("6. Outliers and exclusions", (exclusion_text,)),
            ("7. Sample size", (sample_text, power_text)),
            ("8. Anything else", ("secondary analyses and other variables",)),
            ("9. Type of study", ("the type of the study and of its authors' institution",)),
        ),
    ),
    "dce": (
        "For discrete choice experiments and conjoints",
        (
            ("Research question", (question_text, HYPOTHESES)),
            ("Attributes and levels", (design_text, "how attributes and levels were selected and tested")),
            ("Choice task", (outcome_text, "how the task and an opt-out, if any, are put to people")),
            ("Experimental design", (randomisation_text,)),
            ("Judges and recruitment", (judges_text, NOT_YET, "who is recruited, where and when")),
            ("Sample size and power", (sample_text, power_text)),
            ("Data quality and exclusions", (exclusion_text,)),
            ("Models and inference", (analyses_text, inference_text, multiplicity_text)),
            ("Heterogeneity", ("which subgroups are compared, and why",)),
            (
                "Validity, reliability and correction",
                (correction_text, "which checks of validity are decisive"),
            ),
        ),
    ),
}
