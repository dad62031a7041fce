"""Checks of what a study file states about items and about asking, over several of its fields together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..tables.columns import plain
from ..tables.limits import SCALE_POINTS
from ..tables.schema import STATUSES
from .asking import Label, LineLabels, thinks_at_google
from .checks_instrument import instrument_problems
from .study_yaml import Location, Problem, duplicates, missing_file, suggestion

if TYPE_CHECKING:
    from .asking import LabelLevel, Response, Sampling
    from .models import ItemStudy, Study
    from .study_fields import Judge, Prompt, StratumLevel


def item_problems(study: ItemStudy) -> Iterator[Problem]:
    """Report what is wrong with a study of items."""
    of_items = (_strata, _main_scale, _tiers, _named_levels, _assignment)
    for check in (*of_items, _only, _label_sets, _gold, _missing):
        yield from check(study)


def _strata(study: ItemStudy) -> Iterator[Problem]:
    yield from duplicates([stratum.id for stratum in study.strata], ("strata",), "stratum")
    for position, stratum in enumerate(study.strata):
        at: Location = ("strata", position, "levels")
        yield from duplicates([level.id for level in stratum.levels], at, f"{stratum.id}: level")


def _main_scale(study: ItemStudy) -> Iterator[Problem]:
    if study.main is None:
        return
    if not study.scales:
        yield Problem(("main",), f"main: answers of form '{study.response.form}' have no scales; remove it.")
    elif study.main not in study.scale_labels:
        yield Problem(("main",), f"main: {suggestion(study.main, study.scale_labels)}")


def _tiers(study: ItemStudy) -> Iterator[Problem]:
    if study.tiers is None:
        return
    yield from _unknown_stratum(study, study.tiers.column, ("tiers", "column"), "tiers")
    for position, level in enumerate(study.tiers.levels):
        at: Location = ("tiers", "levels", position)
        yield from _unknown_level(study, study.tiers.column, level, at, "tiers")
        if level in study.tiers.levels[:position]:
            yield Problem(at, f"tiers: '{level}' is given twice; remove one of them.")


def _named_levels(study: ItemStudy) -> Iterator[Problem]:
    """Report columns and levels of ``unrelated`` and ``set_aside`` that the strata lack."""
    levels: list[tuple[Location, StratumLevel]] = [
        (("set_aside", n), part) for n, part in enumerate(study.set_aside)
    ]
    if study.unrelated is not None:
        levels.append((("unrelated",), study.unrelated))
    for at, part in levels:
        yield from _unknown_stratum(study, part.column, (*at, "column"), str(at[0]))
        yield from _unknown_level(study, part.column, part.level, (*at, "level"), str(at[0]))


def _assignment(study: ItemStudy) -> Iterator[Problem]:
    plan = study.assignment
    if plan is None:
        return
    yield from _unknown_stratum(study, plan.across, ("assignment", "across"), "assignment")
    if plan.within == plan.across:
        yield Problem(
            ("assignment", "within"),
            f"assignment: 'within' and 'across' are both '{plan.within}'; name the column of what items "
            "belong to, and the one that distinguishes these items.",
        )


def _only(study: ItemStudy) -> Iterator[Problem]:
    for position, prompt in enumerate(study.prompts):
        for column, values in prompt.only.items():
            at: Location = ("prompts", position, "only", column)
            if not values:
                yield Problem(at, f"{prompt.id}: 'only' lists no value of '{column}'; add one or remove it.")
            for value in values:
                yield from _unknown_level(study, column, value, at, prompt.id)


def _label_sets(study: ItemStudy) -> Iterator[Problem]:
    """Report prompts that name other labels for a dimension than the rest of the study."""
    responses = [(("response",), study.response)] + [
        (("prompts", position, "response"), prompt.response)
        for position, prompt in enumerate(study.prompts)
        if prompt.response is not None
    ]
    first: dict[str, list[str]] = {}
    for at, response in responses:
        if isinstance(response, Label | LineLabels):
            task = response.id if isinstance(response, Label) else "line"
            ids = [label.id for label in response.labels]
            if set(first.setdefault(task, ids)) != set(ids):
                yield Problem(
                    (*at, "labels"),
                    f"'{task}' has other labels elsewhere in the file ({', '.join(first[task])}); use the "
                    "same, or give this response another id.",
                )


def _gold(study: ItemStudy) -> Iterator[Problem]:
    gold = study.gold
    if gold is None:
        return
    if not study.label_sets:
        yield Problem(("gold",), "gold: no prompt asks for labels; remove it.")
        return
    yield from missing_file(study.folder, ("gold", "file"), "gold", gold.file)
    yield from duplicates([level.id for level in gold.levels], ("gold", "levels"), "gold: level")
    answers = [label.id for response in study.label_sets.values() for label in response.labels]
    levels = [level.id for level in gold.levels] or answers
    for name, covered in gold.covers.items():
        at: Location = ("gold", "covers", name)
        if name not in answers:
            yield Problem(at, f"gold: {suggestion(name, answers)}")
        for level in covered:
            if level not in levels:
                yield Problem(at, f"gold: {suggestion(level, levels)}")


def _missing(study: ItemStudy) -> Iterator[Problem]:
    rules: list[tuple[Location, dict[str, str]]] = [(("missing",), study.missing)]
    rules += [(("judges", place, "missing"), judge.missing) for place, judge in enumerate(study.judges)]
    rules = [(at, rule) for at, rule in rules if rule]
    if rules and not study.label_sets:
        yield Problem(rules[0][0], "missing: no prompt asks for labels; remove it.")
        return
    statuses = [status for status in STATUSES if status != "ok"]
    labels = dict.fromkeys(label.id for response in study.label_sets.values() for label in response.labels)
    meanings = ["wrong", "missing", *labels]
    for at, rule in rules:
        for status, meaning in rule.items():
            if status not in statuses:
                yield Problem((*at, status), f"missing: {suggestion(status, statuses)}")
            if meaning not in meanings:
                yield Problem((*at, status), f"missing, {status}: {suggestion(meaning, meanings)}")


def _unknown_stratum(study: ItemStudy, column: str, at: Location, what: str) -> Iterator[Problem]:
    if not study.strata:
        yield Problem(at, f"{what}: the file has no strata; add '{column}' with its levels under 'strata'.")
    elif column not in study.level_labels:
        yield Problem(at, f"{what}: {suggestion(column, study.level_labels)}")


def _unknown_level(study: ItemStudy, column: str, level: str, at: Location, what: str) -> Iterator[Problem]:
    levels = study.level_labels.get(column)
    if levels is not None and level not in levels:
        yield Problem(at, f"{what}: {suggestion(level, levels)}")


OWN_SETTINGS = {
    "model": "name the model in the field 'model' of ask",
    "messages": "write them as the files 'template' and 'user' of a prompt",
    "n": "ask for several answers with the field 'samples' of ask",
    "stream": "remove it, as answers are taken whole",
    "stream_options": "remove it, as answers are taken whole",
    "logprobs": "ask for log-probabilities with 'answer: token', or 'choice' for vLLM",
    "top_logprobs": "give their number in the field 'top_logprobs' of ask",
    "response_format": "ask for JSON with 'answer: json', by the response of the study",
    "structured_outputs": "ask for one of the options with 'answer: choice'",
}
ALIKE = 0.9  # of a name of ten letters, one may be wrong; "reasoning_format" is no "reasoning_effort" (0.875)
# Settings of OpenAI's protocol and of usual servers, next to which others are taken for misspelt.
SETTINGS = (
    *("temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "stop", "stop_token_ids", "best_of"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "min_tokens"),
    *("presence_penalty", "frequency_penalty", "repetition_penalty", "repeat_penalty", "length_penalty"),
    *("reasoning", "reasoning_effort", "thinking", "thinking_budget", "enable_thinking", "include_reasoning"),
    *("chat_template_kwargs", "service_tier", "logit_bias", "verbosity", "safety_settings", "provider"),
)


FOREIGN_SETTINGS = {
    "anthropic": ("frequency_penalty", "presence_penalty", "logit_bias", "reasoning_effort"),
    "google": ("logit_bias", "reasoning_effort"),
}


def unfit_asking(ask: Sampling, forms: Sequence[str]) -> tuple[str, str] | None:
    """Return a field of how a judge is asked that does not go with the rest, and why; None where all do."""
    for form in forms:
        unfit = unfit_answer(ask.answer, form)
        if unfit is not None:
            return "answer", unfit
    if ask.backend == "anthropic" and ask.answer in ("token", "choice"):
        return "answer", "Anthropic returns no log-probabilities; use json or free."
    if ask.answer == "token" and thinks_at_google(ask):
        return "answer", (
            f"{ask.model} thinks before it answers, so that one token is no answer; use json, or turn "
            "thinking off by the setting thinkingConfig: {thinkingBudget: 0} where the model allows that."
        )
    if ask.backend == "anthropic" and not {"video", "audio"}.isdisjoint(ask.takes):
        return "takes", "Anthropic takes text and images; remove 'video' and 'audio', and frames are shown."
    for name in FOREIGN_SETTINGS.get(ask.backend, ()):
        if name in ask.settings:
            return "settings", f"the backend {ask.backend} has no setting '{name}'; remove it."
    return None


def unfit_answer(answer: str, form: str) -> str | None:
    """State why answers of a response form cannot be asked for in this way; None where they can."""
    if answer not in ("token", "choice") or form == "choice" or (answer, form) == ("choice", "label"):
        return None
    instead = "json, free, or choice (vLLM)" if form == "label" else "json or free"
    return f"answers of form '{form}' are longer than one token; use {instead}."


def collecting_problems(study: Study | ItemStudy) -> Iterator[Problem]:
    """Report what is wrong with prompts, judges and answers, in a study of any kind."""
    for check in (_judges, _prompts, _responses, _ignored, instrument_problems):
        yield from check(study)


def _ignored(study: Study | ItemStudy) -> Iterator[Problem]:
    codes = [part.code for part in study.checks.ignore]
    yield from duplicates(codes, ("checks", "ignore"), "check", "code")


def _judges(study: Study | ItemStudy) -> Iterator[Problem]:
    yield from _named_twice(study.judges, ("judges",), "judge")
    for position, judge in enumerate(study.judges):
        at: Location = ("judges", position, "ask")
        yield from _asked_under(study, judge, ("judges", position, "prompts"))
        if judge.ask is not None and judge.kind == "human":
            yield Problem(at, f"{judge.id}: people are not asked over an interface; remove 'ask'.")
        elif judge.ask is not None:
            unfit = unfit_asking(judge.ask, [response.form for response in study.responses])
            if unfit is not None:
                yield Problem((*at, unfit[0]), f"{judge.id}: {unfit[1]}")
            yield from _media(judge, (*at, "takes"))
            for name in judge.ask.settings:
                if name in OWN_SETTINGS:
                    yield Problem(
                        (*at, "settings", name),
                        f"{judge.id}: '{name}' is no setting of a judge; {OWN_SETTINGS[name]}.",
                    )
                elif (near := get_close_matches(name, SETTINGS, n=1, cutoff=ALIKE)) and near[0] != name:
                    yield Problem(
                        (*at, "settings", name),
                        f"{judge.id}: the setting '{name}' is probably '{near[0]}', and many servers ignore "
                        "what they do not know; correct it.",
                    )


def _asked_under(study: Study | ItemStudy, judge: Judge, at: Location) -> Iterator[Problem]:
    prompt_ids = [prompt.id for prompt in study.prompts]
    for position, name in enumerate(judge.prompts or ()):
        if name not in prompt_ids:
            yield Problem((*at, position), f"{judge.id}: {suggestion(name, prompt_ids)}")


def _media(judge: Judge, at: Location) -> Iterator[Problem]:
    """Report a medium that is given twice, and sound without pictures."""
    media = judge.ask.takes if judge.ask is not None else []
    for position, name in enumerate(media):
        if name in media[:position]:
            yield Problem((*at, position), f"{judge.id}: '{name}' is given twice; remove one of them.")
    if media == ["audio"]:
        yield Problem(at, f"{judge.id}: the sound of a clip goes with its pictures; add 'image' or 'video'.")


def _prompts(study: Study | ItemStudy) -> Iterator[Problem]:
    yield from _named_twice(study.prompts, ("prompts",), "prompt")
    for position, prompt in enumerate(study.prompts):
        if prompt.only and study.kind == "conjoint":
            yield Problem(
                ("prompts", position, "only"),
                f"{prompt.id}: 'only' picks items by their columns, and a conjoint has none; remove it.",
            )
        if prompt.cues != "both" and study.kind == "items":
            yield Problem(
                ("prompts", position, "cues"),
                f"{prompt.id}: 'cues' picks pictures of a conjoint's profiles, and this study has items; "
                "remove it.",
            )
        for field in ("template", "user"):
            yield from missing_file(
                study.folder, ("prompts", position, field), prompt.id, getattr(prompt, field)
            )


def _named_twice(parts: Sequence[Judge | Prompt], at: Location, what: str) -> Iterator[Problem]:
    """Report a name or an alias that another part of the list has as well."""
    names: list[str] = []
    for position, part in enumerate(parts):
        for name in (part.id, *part.aliases):
            if name in names:
                yield Problem(
                    (*at, position), f"{what} '{name}' is given twice; rename or remove one of them."
                )
            names.append(name)


def _responses(study: Study | ItemStudy) -> Iterator[Problem]:
    yield from _response(study, study.response, ("response",))
    for position, prompt in enumerate(study.prompts):
        if prompt.response is not None:
            yield from _response(study, prompt.response, ("prompts", position, "response"))


def _response(study: Study | ItemStudy, response: Response, at: Location) -> Iterator[Problem]:
    if response.form == "ratings":
        yield from duplicates([scale.id for scale in response.scales], (*at, "scales"), "scale")
        for position, scale in enumerate(response.scales):
            if scale.minimum >= scale.maximum:
                yield Problem(
                    (*at, "scales", position, "maximum"),
                    f"{scale.id}: the scale ends at {scale.maximum} and begins at {scale.minimum}; "
                    "make the maximum larger.",
                )
            if scale.maximum - scale.minimum >= SCALE_POINTS:
                yield Problem(
                    (*at, "scales", position, "maximum"),
                    f"{scale.id}: the scale has more than {SCALE_POINTS:,} points, which is the limit; use a "
                    "coarser one.",
                )
            for index, anchor in enumerate(scale.anchors or ()):
                if not scale.minimum <= anchor.value <= scale.maximum:
                    yield Problem(
                        (*at, "scales", position, "anchors", index, "value"),
                        f"{scale.id}: the anchor {anchor.value} lies outside the scale from {scale.minimum} "
                        f"to {scale.maximum}; correct it.",
                    )
    if response.form in ("label", "line_labels"):
        yield from _labels(response.labels, (*at, "labels"))
        if response.reasoning is not None and response.reasoning == response.json_key:
            yield Problem(
                (*at, "reasoning"),
                f"'{response.reasoning}' is the key of the label as well; give the reasoning another one.",
            )
    if response.form == "choice":
        if len(set(response.options)) < len(response.options):
            yield Problem((*at, "options"), "the two options are the same; give two different ones.")
        if study.kind == "items" or study.collect.form == "single":
            yield Problem(
                (*at, "form"),
                "a choice needs two posts at once; use 'label' or 'ratings' for single ones.",
            )
    elif study.kind == "conjoint" and study.collect.form == "pair":
        yield Problem(
            (*at, "form"),
            f"pairs are judged by a choice, but the file says '{response.form}'; use 'choice', or "
            "'form: single' in collect.",
        )


def _labels(labels: Sequence[LabelLevel], at: Location) -> Iterator[Problem]:
    """Report labels that share an id, a name in words or an alias, as answers are read."""
    yield from duplicates([label.id for label in labels], at, "label")
    owners: dict[str, str] = {}
    for position, label in enumerate(labels):
        for name in map(plain, (label.id, label.label, *label.aliases)):
            if owners.setdefault(name, label.id) != label.id:
                yield Problem(
                    (*at, position),
                    f"'{owners[name]}' and '{label.id}' share the name '{name}'; give each its own words.",
                )
