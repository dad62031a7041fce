"""A preregistration as text: by the questions of a template, with fields for what only the author knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conjury.inference.errors import counted

from ...figures.labels import level_at
from ...frames.kinds import kind_of
from ..method_sentences import CONVENTIONS, adjusted_over, code, excluded, plain
from ..table_format import number, whole
from .distribution import distribution_in_words
from .facts import MARK


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
        parts.append(f"## {question}\n\n" + "\n\n".join(texts or [_answer(UNSTATED, registered)]))
    hashes = "\n".join(f"- {code(file)}: {code(sha)}" for file, sha in registered["files"].items())
    end = (
        "## Hashes (SHA-256)\n\n"
        f"{hashes}\n- this registration, as JSON without its hash: {code(registered['sha256'])}"
    )
    return "\n\n".join([*head, *parts, end]) + "\n"


def _answer(source: str | Callable[[Mapping[str, Any]], str], registered: Mapping[str, Any]) -> str:
    return f"**{MARK}: {source}.**" if isinstance(source, str) else source(registered)


def question_text(plan: Mapping[str, Any]) -> str:
    """What judges are asked."""
    return f"Judges are asked: {plain(plan['question'])}"


def design_text(plan: Mapping[str, Any]) -> str:
    """What is varied, and how."""
    if plan["kind"] != "conjoint":
        strata = ", ".join(map(plain, plan["strata"].values()))
        return f"Judges rate items one at a time{f'; items are grouped by {strata}' if strata else ''}."
    lines = [
        f"- {plain(attribute['label'])}: {', '.join(map(plain, attribute['levels'].values()))}"
        for attribute in plan["attributes"].values()
    ]
    rules = len(plan["restrictions"])
    never = f"{counted(rules, 'rule')} {'excludes' if rules == 1 else 'exclude'} combinations of levels."
    return (
        "Randomised conjoint with forced choices between two profiles. Attributes, the reference first:\n\n"
        + "\n".join(lines)
        + f"\n\n{never if rules else 'No combination of levels is excluded.'}"
    )


def randomisation_text(plan: Mapping[str, Any]) -> str:
    """What is drawn at random."""
    if plan["kind"] != "conjoint":
        if not plan["people"]:
            return "Each item is put to each model in a request of its own; no order of items is drawn."
        return "Which items each person judges, and in which order, is drawn before data are collected."
    redraw_note = "Combinations that restrictions exclude are drawn again." if plan["restrictions"] else ""
    shares = distribution_in_words(plan["attributes"], plan["uneven_shares"], plan["dependent_attributes"])
    repeats = plan["people"] and plan["repeats"]["repeat_first"]
    repeated = "The first task of people is repeated with positions swapped." if repeats else ""
    text = "Levels and positions are drawn at random for each profile, before data are collected."
    return " ".join(filter(None, [text, redraw_note, plain(shares), repeated]))


def judges_text(plan: Mapping[str, Any]) -> str:
    """Who judges, under which prompts."""
    if not plan["models"]:
        return "People judge; no model does."
    models = ", ".join(
        f"{plain(plan['judges'][name])} ({code(model)})" for name, model in plan["models"].items()
    )
    people = "People judge as well." if plan["people"] else "No person judges."
    prompts = ", ".join(map(plain, plan["prompts"].values()))
    return f"Models: {models}. Prompts: {prompts or 'none'}. {people}"


def sample_text(plan: Mapping[str, Any]) -> str:
    """How many are asked how much."""
    sample = plan["sample"]
    if plan["kind"] != "conjoint":
        rated = plan["people"] and sample["raters"]
        return f"{whole(sample['raters'])} people rate each item." if rated else ""
    parts = []
    if plan["people"]:
        respondents, tasks = counted(sample["respondents"], "respondent"), counted(sample["tasks"], "task")
        parts.append(f"{respondents} judge {tasks} each.")
    if plan["models"]:
        parts.append(f"Each model judges {counted(sample['pairs'], 'pair')} under each prompt.")
    return " ".join(parts)


def power_text(plan: Mapping[str, Any]) -> str:
    """What could be detected."""
    sentences = [
        f"{plain(entry['label'])}: with power {entry['power']:g}, effects of {number(entry['least'])} to "
        f"{number(entry['most'])} are detectable (two-sided, alpha {plan['alpha']:g})."
        for entry in plan["power"]
    ]
    return " ".join(sentences)


def analyses_text(plan: Mapping[str, Any]) -> str:
    """Which analyses are confirmatory."""
    if plan["kind"] != "conjoint":
        dimensions = ", ".join(map(plain, plan["dimensions"].values()))
        return f"All analyses that `conjury fit` runs on such a study, on the dimensions {dimensions}."
    lines = []
    for row in plan["analyses"]:
        by = f", by {', '.join(map(code, row['by']))}" if row["by"] else ""
        rules = [excluded(feature, levels) for feature, levels in row["exclude"].items()]
        without = f", without rows where {' or '.join(rules)}" if rules else ""
        what = kind_of(row["verb"]).quantity or row["verb"]
        lines.append(
            f"- {code(row['name'])} ({plain(row['title'])}): {what} of {code(row['formula'])}{by}{without}"
        )
    return "\n".join(lines)


def inference_text(plan: Mapping[str, Any]) -> str:
    """Standard errors, intervals and adjustment."""
    text = (
        f"Tests are two-sided where nothing else is stated, at alpha {plan['alpha']:g}; intervals cover "
        f"{level_at(plan['alpha'])}."
    )
    if plan["kind"] != "conjoint":
        return text
    clusters = [
        f"by {' and '.join(map(code, plan['clusters'][kind]))} for {who}"
        for kind, who in (("human", "people"), ("model", "models"))
        if plan[who]
    ]
    errors = f"Standard errors are clustered {' and '.join(clusters)}"
    draws = plan["bootstrap"]["draws"]
    return f"{text} {errors}{CONVENTIONS.get(plan['vcov'], '')}. The bootstrap draws {whole(draws)} times."


def multiplicity_text(plan: Mapping[str, Any]) -> str:
    """Which families of tests are adjusted."""
    adjusted = plan["adjusted"]
    if not adjusted:
        return "No p value is adjusted."
    kinds = {analysis["name"]: analysis["kind"] for analysis in plan["analyses"]}
    lines = [
        f"- {code(name)}: {adjusted_over(kinds.get(name, name), method)}" for name, method in adjusted.items()
    ]
    return (
        "P values are adjusted in these analyses, as far as the data allow them:\n\n"
        + "\n".join(lines)
        + "\n\nOther p values are not adjusted."
    )


def correction_text(plan: Mapping[str, Any]) -> str:
    """Whether estimates among people are made more precise by models."""
    names = {"ppi": "prediction-powered inference", "covariate": "models as covariates"}
    correct = plan["correct"]
    if not plan["people"]:
        return ""
    if not correct:
        return "Estimates among people are not corrected by answers of models."
    return f"Estimates among people are made more precise by {names[correct]}."


def exclusion_text(plan: Mapping[str, Any]) -> str:
    """Who and what is excluded."""
    counts_as = {
        "missing": "treated as missing and excluded",
        "not_chosen": "count as not chosen for both profiles",
    }
    verb = "are " if plan["refusal"] == "missing" else ""
    answers = f"Answers without a valid choice {verb}{counts_as.get(plan['refusal'], plan['refusal'])}."
    return " ".join([*plan["excluded_people"], answers])


def outcome_text(plan: Mapping[str, Any]) -> str:
    """What is measured."""
    if plan["kind"] == "conjoint":
        return (
            f"Outcome: {code(plan['outcome'])}, whether a profile is chosen over the other one of its pair."
        )
    main = (
        f" The main one is {plain(plan['dimensions'].get(plan['main'], plan['main']))}."
        if plan["main"]
        else ""
    )
    return f"Judgments of the dimensions {', '.join(map(plain, plan['dimensions'].values()))}.{main}"


Source = str | Callable[[Mapping[str, Any]], str]
UNSTATED = "what the study file does not state"
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
            ("Choice task", (outcome_text, "how the task and an opt-out, if any, are presented to people")),
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
