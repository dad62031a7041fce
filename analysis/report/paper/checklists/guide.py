"""GUIDE-LLM: 14 core and 8 optional items on studies with language models (Feuerriegel et al. 2026)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conjury.inference.errors import counted

from ...table_format import whole
from ..facts import Facts, template_text
from ..opening_sentences import findings_of
from ..references import cite
from .checklist_items import RESULTS, RUN, Checklist, Item, item, recorded_item

REFERENCE = (
    f"{cite('feuerriegel2026')}. Codes and names of the items only; explanations are at llm-checklist.com."
)
ACCESS = {
    "openai": "through an interface of OpenAI's protocol",
    "anthropic": "in batches through Anthropic's interface",
    "google": "in batches through Google's Gemini API",
    "vllm": "run locally with vLLM",
    "ray": "run locally with vLLM on a Ray cluster",
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
    return Checklist(
        "GUIDE-LLM", REFERENCE, [*_core_items(facts), *_optional_items(facts)], _prompt_texts(facts)
    )


def _core_items(facts: Facts) -> list[Item]:
    study, models = facts.study, [judge for judge in facts.models_asked if judge.ask]
    run = RUN if models and {judge.id for judge in models} <= facts.answered_in_run else ""
    answered = [judge for judge in facts.models if judge.id in facts.answered_in_results]
    source = RESULTS if answered else run
    n_models = len(answered or facts.models_asked)
    n = counted(n_models, "model")
    versions = [_version(facts, judge) for judge in facts.models_asked]
    access = [_access(facts, judge) for judge in models]
    settings = [f"{judge.label}: {_settings(facts, judge)}." for judge in models]
    engines = [
        (judge.label, engine) for judge in models if (engine := _request_settings(facts, judge).get("engine"))
    ]
    prompts = facts.prompts_asked
    texts = counted(len(prompts), "prompt")
    system = sum(prompt.template is not None for prompt in prompts)
    sent = run if facts.run and {prompt.id for prompt in prompts} <= set(facts.run.same_texts) else ""
    separate = "contain all that the model sees and no earlier answer"
    return [
        recorded_item(
            source,
            "A.1",
            "What language models were used for",
            [f"{n} answered as judges: {study.question}"],
            [f"{n} {'is' if n_models == 1 else 'are'} to answer as judges: {study.question}"],
            "other uses, such as writing stimuli, code or text",
        ),
        _automation(facts, run),
        recorded_item(
            run if run and facts.run is not None and facts.run.served else "",
            "B.1",
            "Model, provider, size, version, date of access, link",
            versions,
            versions,
            "provider, size and link of each model, where its name does not state them",
        ),
        recorded_item(run, "B.2", "Access and context mode", access, access),
        recorded_item(run, "B.3", "Configuration", settings, settings),
        recorded_item(
            run,
            "B.4",
            "Customisation",
            [f"{label} was loaded with {_pairs(engine)}." for label, engine in engines],
            [f"{label} is to be loaded with {_pairs(engine)}." for label, engine in engines],
            "fine-tuning or other customisation, or that there was none",
        ),
        recorded_item(
            run,
            "B.5",
            "State across interactions",
            [f"Requests {separate}: no state was retained."],
            [f"Requests are to {separate}, so that no state is retained."] if models else [],
        ),
        recorded_item(
            sent,
            "C.1",
            "Prompts",
            [f"{texts}, printed in full below."],
            [f"{texts}, printed below as the study file names them."] if prompts else [],
        ),
        recorded_item(
            sent,
            "C.2",
            "System-wide instructions",
            [f"{system} of {texts} began with a system message (below)."],
            [f"{system} of {texts} are to begin with a system message (below)."] if prompts else [],
        ),
        _asked_of_people(facts),
        item("E.1", "Validation by people", findings_of(facts, *AGREEMENT), RESULTS, _validated(facts)),
        _postprocessing_item(facts),
        item("F.1", "Code and scripts", [_software(facts)], RESULTS, "where code and data are shared"),
        item("G.1", "Funding and relationships", [], "", "funding, support and relationships to providers"),
    ]


def _optional_items(facts: Facts) -> list[Item]:
    compared = [judge for judge in facts.models if judge.id in facts.answered_in_results]
    models, prompts = len(compared or facts.models_asked), len(facts.prompts_asked)
    several = models > 1 or prompts > 1
    biases = _biases(facts)
    them = f"{counted(models, 'model')} under {counted(prompts, 'prompt')}"
    texts = (
        f"Every request and every raw answer is in the ledger of the run {facts.run.folder}."
        if facts.run is not None and facts.run.judges
        else ""
    )
    return [
        item("O.1", "Reason for the choice of models", [], "", "why these models"),
        item("O.2", "Rationale of prompts", [], "", "why these prompts"),
        recorded_item(
            RESULTS if compared else "",
            "O.3",
            "Comparison with other methods or models",
            [f"Compared: {them}."] if several else [],
            [f"To be compared: {them}."] if several else [],
            "" if several else "other methods or models, if any were compared",
        ),
        item("O.4", "Leakage of training data", [], "", "whether the models may have seen the stimuli"),
        item("O.5", "Risk of bias", biases, RESULTS, "" if biases else "which biases were examined"),
        item("O.6", "Transcripts", [texts], RUN, "" if texts else "where transcripts are kept"),
        item("O.7", "Ethical implications", [], "", "ethical implications, and the approval of a board"),
        item("O.8", "Computational resources", [_usage(facts)], RUN, "hardware, where models ran on it"),
    ]


def _version(facts: Facts, judge: Any) -> str:
    name = judge.ask.model if judge.ask else "no model is named"
    run = facts.run
    served = [entry for entry in run.served if entry["judge_id"] == judge.id] if run is not None else []
    if not served:
        was_asked = run is not None and judge.id in run.judges
        return f"{judge.label}: {name}{'' if was_asked or run is None else ' (not asked in this run)'}."
    details = "; ".join(
        f"{SERVED.get(entry['model_returned'], entry['model_returned'])}"
        f"{', fingerprint ' + entry['system_fingerprint'] if entry.get('system_fingerprint') else ''}"
        f", {whole(entry['n'])} answers from {entry['first'][:10]} to {entry['last'][:10]}"
        for entry in served
    )
    return f"{judge.label}: {name}, answered by {details}."


def _request_settings(facts: Facts, judge: Any) -> dict[str, Any]:
    """How a model was asked: as the run has recorded it, else as the study states."""
    recorded = facts.run.judges.get(judge.id) if facts.run is not None else None
    return dict(recorded or judge.ask.model_dump())


def _access(facts: Facts, judge: Any) -> str:
    request = _request_settings(facts, judge)
    where = f" at {judge.ask.base_url}" if judge.ask.base_url else ""
    return f"{judge.label}: {ACCESS[request['backend']]}{where}, in separate calls."


def _settings(facts: Facts, judge: Any) -> str:
    request = _request_settings(facts, judge)
    parts = [
        _pairs(request["settings"]) or "settings of the provider",
        f"{judge.ask.samples} {'answer' if judge.ask.samples == 1 else 'answers'} per request",
        f"answer as {ANSWERS[request['answer']]}",
    ]
    if request["answer"] in ("token", "choice") and request.get("top_logprobs"):
        parts.append(f"{request['top_logprobs']} log-probabilities")
    return ", ".join(parts)


def _pairs(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _automation(facts: Facts, run: str) -> Item:
    """Who answered how: models by the record of the run, people by either record."""
    people = {judge.id for judge in facts.people}
    judged = people & (facts.answered_in_run | facts.answered_in_results)
    models = "Models answered automatically" if run else "Models are to answer automatically"
    if not people:
        text = f"{models}; the study file names no people as judges."
    elif judged:
        text = f"{models}; people judged as well, as a comparison."
    else:
        text = f"{models}; people are to judge as well, as a comparison."
    source = run if bool(people) == bool(judged) else ""
    if source and judged - facts.answered_in_run:
        source = f"{RUN}, {RESULTS}"
    return recorded_item(source, "A.2", "Degree of automation", [text], [text], "who supervised, and how")


def _asked_of_people(facts: Facts) -> Item:
    panel = facts.study.panel
    questions = "; ".join(question.label for question in panel.questions) if panel is not None else ""
    run = RUN if {judge.id for judge in facts.people} & facts.answered_in_run else ""
    return recorded_item(
        run,
        "D.1",
        "Personal and sensitive data",
        [f"People were asked: {questions}"] if questions else [],
        [f"People are to be asked: {questions}"] if questions else [],
        "how such data were handled",
    )


def _validated(facts: Facts) -> str:
    if facts.results is None:
        return "how answers of models were validated; results of `conjury fit` fill this (--results FOLDER)"
    return "" if findings_of(facts, *AGREEMENT) else "how answers of models were validated"


def _postprocessing_item(facts: Facts) -> Item:
    """How answers were treated: by the results, which state their rule, and by the record of the run."""
    run, results = facts.run, facts.results
    recorded = results.manifest.get("refusal") if results is not None else None
    rule = str(recorded or facts.study.refusal).replace("_", " ")
    parts = [f"Refused, empty or unreadable answers count as {rule}."]
    parsed = run is not None and bool(run.rules)
    if run is not None and run.rules:
        parts.append(f"Answers were parsed by the rule {', '.join(run.rules)}; no answer was edited.")
    if run is not None and len(run.statuses):
        counts = run.statuses.groupby("status", sort=False)["n"].sum()
        parts.append(f"Answers by status: {', '.join(f'{name} {whole(n)}' for name, n in counts.items())}.")
    sources = [name for name, evidence in ((RUN, parsed), (RESULTS, recorded)) if evidence]
    return recorded_item(", ".join(sources), "E.2", "Post-processing", parts, parts)


def _software(facts: Facts) -> str:
    if facts.results is None:
        return ""
    manifest = facts.results.manifest
    commit = f", commit {manifest['commit']}" if manifest.get("commit") else ""
    return f"conjury {manifest.get('conjury')}{commit}, by the command `{manifest.get('command')}`."


def _biases(facts: Facts) -> list[str]:
    codes = ("CJ303", "CJ304", "CJ319", "CJ302", "CJ504")
    checks = [check for code in codes if (check := facts.check(code)) is not None]
    return [
        f"{check['title']}: {check['finding']}" for check in checks if check["verdict"] != "not_applicable"
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
    labels_by_template: dict[tuple[str, str], list[str]] = {}
    for prompt in facts.prompts_asked:
        for kind, name in (("system message", prompt.template), ("user message", prompt.user)):
            if name is not None:
                labels_by_template.setdefault((kind, name), []).append(prompt.label)
    named = [
        (f"Prompt {', '.join(labels)}: {kind} ({name})", template_text(study, name))
        for (kind, name), labels in labels_by_template.items()
    ]
    return [(heading, text) for heading, text in named if text]
