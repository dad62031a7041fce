"""GUIDE-LLM: 14 core and 8 optional items on studies with language models (Feuerriegel et al. 2026)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conjury.inference.errors import counted

from ...tables import whole
from ..facts import Facts, template_text
from ..findings import findings_of
from ..references import short
from .items import RESULTS, RUN, STUDY, Checklist, Item, item

REFERENCE = (
    f"{short('feuerriegel2026')}. Codes and names of the items only; explanations are at llm-checklist.com."
)
ACCESS = {
    "openai": "through an interface of OpenAI's protocol",
    "vllm": "loaded on the own machine with vLLM",
    "ray": "loaded on the own machines with vLLM and Ray",
    "simulated": "simulated; no model was asked",
    "replay": "from recorded answers",
}
SERVED = {"simulated": "a simulation", None: "a model that was not stated"}
ANSWERS = {
    "token": "one token",
    "choice": "one of the options",
    "json": "JSON",
    "free": "free text",
    "auto": "the form that suits the response",
}
AGREEMENT = ("agreement", "alt_test", "people", "scores", "prediction_powered", "prediction_powered_items")


def guide_llm(facts: Facts) -> Checklist:
    """The items of GUIDE-LLM, filled as far as study, run and results go."""
    return Checklist("GUIDE-LLM", REFERENCE, [*_core(facts), *_optional(facts)], _prompt_texts(facts))


def _core(facts: Facts) -> list[Item]:
    study, run = facts.study, facts.run
    versions = [_version(facts, judge) for judge in facts.models_asked]
    asked = [f"{judge.label}: {_settings(facts, judge)}." for judge in facts.models_asked if judge.ask]
    access = [_access(facts, judge) for judge in facts.models_asked if judge.ask]
    both = RUN if run is not None and run.judges else STUDY
    engines = [
        f"{judge.label} was loaded with {_pairs(judge.ask.engine)}."
        for judge in facts.models_asked
        if judge.ask and judge.ask.engine
    ]
    system = sum(prompt.template is not None for prompt in study.prompts)
    return [
        item(
            "A.1",
            "What language models were used for",
            [f"{counted(len(facts.models_asked), 'model')} answered as judges: {study.question}"],
            STUDY,
            "other uses, such as writing stimuli, code or text",
        ),
        item("A.2", "Degree of automation", [_automation(facts)], STUDY, "who supervised, and how"),
        item(
            "B.1",
            "Model, provider, size, version, date of access, link",
            versions,
            both,
            "provider, size and link of each model, where its name does not state them",
        ),
        item("B.2", "Access and context mode", access, both),
        item("B.3", "Configuration", asked, both),
        item(
            "B.4",
            "Customisation",
            engines,
            STUDY,
            "fine-tuning or other customisation, or that there was none",
        ),
        item(
            "B.5",
            "State across interactions",
            ["Each request contains all that the model sees and no earlier answer: no state was retained."]
            if facts.models_asked
            else [],
            RUN if run is not None else STUDY,
        ),
        item(
            "C.1",
            "Prompts",
            [f"{counted(len(study.prompts), 'prompt')}, printed in full below." if study.prompts else ""],
            STUDY,
        ),
        item(
            "C.2",
            "System-wide instructions",
            [
                f"{system} of {counted(len(study.prompts), 'prompt')} begin with a system message (below)."
                if study.prompts
                else ""
            ],
            STUDY,
        ),
        item(
            "D.1",
            "Personal and sensitive data",
            [_asked_of_people(facts)],
            STUDY,
            "how such data were handled",
        ),
        item("E.1", "Validation by people", findings_of(facts, *AGREEMENT), RESULTS, _validated(facts)),
        item("E.2", "Post-processing", _post(facts), RUN if run is not None else STUDY),
        item("F.1", "Code and scripts", [_software(facts)], RESULTS, "where code and data are shared"),
        item("G.1", "Funding and relationships", [], "", "funding, support and relationships to providers"),
    ]


def _optional(facts: Facts) -> list[Item]:
    models, prompts = len(facts.models_asked), len(facts.study.prompts)
    compared = f"{counted(models, 'model')} under {counted(prompts, 'prompt')} were compared."
    texts = (
        f"Every request and every raw answer is in the ledger of the run {facts.run.folder}."
        if facts.run is not None and facts.run.judges
        else ""
    )
    return [
        item("O.1", "Reason for the choice of models", [], "", "why these models"),
        item("O.2", "Rationale of prompts", [], "", "why these prompts"),
        item(
            "O.3",
            "Comparison with other methods or models",
            [compared if models > 1 or prompts > 1 else ""],
            STUDY,
        ),
        item("O.4", "Leakage of training data", [], "", "whether the models may have seen the stimuli"),
        item("O.5", "Risk of bias", _biases(facts), RESULTS),
        item("O.6", "Transcripts", [texts], RUN, "" if texts else "where transcripts are kept"),
        item("O.7", "Ethical implications", [], "", "ethical implications, and the approval of a board"),
        item("O.8", "Computational resources", [_usage(facts)], RUN, "hardware, where models ran on it"),
    ]


def _version(facts: Facts, judge: Any) -> str:
    name = judge.ask.model if judge.ask else "no model is named"
    run = facts.run
    served = [one for one in run.served if one["judge_id"] == judge.id] if run is not None else []
    if not served:
        asked = run is not None and judge.id in run.judges
        return f"{judge.label}: {name}{'' if asked or run is None else ' (not asked in this run)'}."
    said = "; ".join(
        f"{SERVED.get(one['model_returned'], one['model_returned'])}"
        f"{', fingerprint ' + one['system_fingerprint'] if one.get('system_fingerprint') else ''}"
        f", {whole(one['n'])} answers from {one['first'][:10]} to {one['last'][:10]}"
        for one in served
    )
    return f"{judge.label}: {name}, answered by {said}."


def _asked(facts: Facts, judge: Any) -> dict[str, Any]:
    """How a model was asked: as the run has recorded it, else as the study states."""
    recorded = facts.run.judges.get(judge.id) if facts.run is not None else None
    return dict(recorded or judge.ask.model_dump())


def _access(facts: Facts, judge: Any) -> str:
    asked = _asked(facts, judge)
    where = f" at {judge.ask.base_url}" if judge.ask.base_url else ""
    return f"{judge.label}: {ACCESS[asked['backend']]}{where}, in separate calls."


def _settings(facts: Facts, judge: Any) -> str:
    asked = _asked(facts, judge)
    parts = [
        _pairs(asked["settings"]) or "settings of the provider",
        f"{judge.ask.samples} {'answer' if judge.ask.samples == 1 else 'answers'} per request",
        f"answer as {ANSWERS[asked['answer']]}",
    ]
    if asked["answer"] in ("token", "choice") and asked.get("top_logprobs"):
        parts.append(f"{asked['top_logprobs']} log-probabilities")
    return ", ".join(parts)


def _pairs(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _automation(facts: Facts) -> str:
    if facts.people:
        return "Models answered automatically; people judged apart, as a comparison."
    return "Models answered automatically; no person judges in this study."


def _asked_of_people(facts: Facts) -> str:
    panel = facts.study.panel
    if panel is None or not panel.questions:
        return ""
    return f"People were asked: {'; '.join(question.label for question in panel.questions)}"


def _validated(facts: Facts) -> str:
    if facts.results is None:
        return "how answers of models were validated; results of `conjury fit` fill this (--results FOLDER)"
    return "" if findings_of(facts, *AGREEMENT) else "how answers of models were validated"


def _post(facts: Facts) -> list[str]:
    study, run = facts.study, facts.run
    parts = [f"Refused, empty or unreadable answers count as {study.refusal.replace('_', ' ')}."]
    if run is not None and run.rules:
        parts.append(f"Answers were parsed by the rule {', '.join(run.rules)}; no answer was edited.")
    if run is not None and len(run.statuses):
        counts = run.statuses.groupby("status", sort=False)["n"].sum()
        parts.append(f"Answers by status: {', '.join(f'{name} {whole(n)}' for name, n in counts.items())}.")
    return parts


def _software(facts: Facts) -> str:
    if facts.results is None:
        return ""
    made = facts.results.manifest
    commit = f", commit {made['commit']}" if made.get("commit") else ""
    return f"conjury {made.get('conjury')}{commit}, by the command `{made.get('command')}`."


def _biases(facts: Facts) -> list[str]:
    codes = ("CJ303", "CJ304", "CJ319", "CJ302", "CJ504")
    found = [check for code in codes if (check := facts.check(code)) is not None]
    return [
        f"{check['title']}: {check['finding']}" for check in found if check["verdict"] != "not_applicable"
    ]


def _usage(facts: Facts) -> str:
    run = facts.run
    if run is None or not len(run.counts):
        return ""
    n, tokens_in, tokens_out = (
        int(run.counts[name].sum()) for name in ("n", "prompt_tokens", "completion_tokens")
    )
    return f"{whole(n)} requests, {whole(tokens_in)} tokens in and {whole(tokens_out)} tokens out."


def _prompt_texts(facts: Facts) -> Sequence[tuple[str, str]]:
    study = facts.study
    used: dict[tuple[str, str], list[str]] = {}
    for prompt in study.prompts:
        for kind, name in (("system message", prompt.template), ("user message", prompt.user)):
            if name is not None:
                used.setdefault((kind, name), []).append(prompt.label)
    named = [
        (f"Prompt {', '.join(labels)}: {kind} ({name})", template_text(study, name))
        for (kind, name), labels in used.items()
    ]
    return [(heading, text) for heading, text in named if text]
