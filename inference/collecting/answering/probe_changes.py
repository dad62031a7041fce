"""What `collect` changes in how a judge is asked, by what a probe found, and what is left to the user."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...backends.openai.server_profiles import ServerProfile
from ...ledger.exchanges import TOKEN_LIMITS
from ...study.asking import Sampling
from .probe_findings import ProbeFinding

WITH_LOGPROBS = ("token", "choice", "auto")  # ways of asking that may ask for log-probabilities
GONE = ("ignored", "refused")
EFFECTS = {"seed": "answers cannot be repeated exactly", "temperature": "the server's own temperature holds"}


@dataclass(frozen=True, slots=True)
class AskingChange:
    """One change of how a judge is asked, and the sentence that says it."""

    sentence: str
    # fields of `Sampling` by what they become
    fields: Mapping[str, Any] = field(default_factory=dict)
    # a setting that is left out
    without: str = ""
    # the name of the limit of tokens that the server takes
    limit: str = ""


def changes_record(changes: Sequence[AskingChange]) -> dict[str, Any]:
    """Return what is stored with a run, so that it goes on as it began."""
    fields = {name: value for change in changes for name, value in change.fields.items()}
    without = [change.without for change in changes if change.without]
    limit = "".join(change.limit for change in changes)
    parts = {"fields": fields, "without": without, "limit": limit}
    return {name: part for name, part in parts.items() if part}


def changed_asking(ask: Sampling, record: Mapping[str, Any]) -> Sampling:
    """Ask with the changes of a record; settings that it does not name stay as the study states them."""
    fields, limit = record.get("fields", {}), record.get("limit", "")
    settings = {name: value for name, value in ask.settings.items() if name not in record.get("without", ())}
    if limit:
        limits = [settings.pop(name) for name in TOKEN_LIMITS if name in settings]
        if limits or fields.get("answer", ask.answer) == "token":
            settings[limit] = limits[0] if limits else 1
    return ask.model_copy(update={**fields, "settings": settings})


def find_changes(
    findings: Mapping[str, ProbeFinding],
    refused: Collection[str],
    ask: Sampling,
    profile: ServerProfile | None,
) -> list[AskingChange]:
    """Say what changes where a server cannot do what a judge asks for; `refused` are settings."""
    if not findings:
        return []
    answers = list(_answer_changes(findings, ask))
    ask = changed_asking(ask, changes_record(answers))
    return [
        *answers,
        *_logprobs_changes(findings["logprobs"], ask, profile),
        *_setting_changes(refused, ask),
        *_limit_changes(findings["limit"], ask),
        *_system_changes(findings["system"], ask),
    ]


def _answer_changes(findings: Mapping[str, ProbeFinding], ask: Sampling) -> Iterator[AskingChange]:
    """Choose the form of answer that the server offers in place of one that it cannot give."""
    structured = findings["structured"].verdict
    offered = "free" if structured in GONE else "json"
    if ask.answer == "token" and _is_reasoning(findings) and not set(TOKEN_LIMITS) & set(ask.settings):
        yield AskingChange(
            f"`answer: token` becomes {offered}, since the model reasons before it answers, and one token "
            "is no answer.",
            {"answer": offered},
        )
    if ask.answer == "json" and structured == "refused":
        yield AskingChange(
            "`answer: json` becomes free, since the server refuses JSON schemas; the prompt has to state the "
            "form.",
            {"answer": "free"},
        )


def _is_reasoning(findings: Mapping[str, ProbeFinding]) -> bool:
    return findings["limit"].verdict == "kept" and findings["limit"].instead is not None


def _logprobs_changes(
    finding: ProbeFinding, ask: Sampling, profile: ServerProfile | None
) -> Iterator[AskingChange]:
    if not ask.logprobs or ask.answer not in WITH_LOGPROBS:
        return
    if finding.verdict in GONE:
        yield AskingChange(
            f"Log-probabilities are not asked for, since they are {finding.verdict} by the server; "
            "probabilities of answers will be empty.",
            {"logprobs": False},
        )
    elif finding.verdict == "kept" and isinstance(finding.instead, int):
        if profile is not None and profile.form == "old" and ask.logprobs is True:
            yield AskingChange(
                f"Log-probabilities are asked for in the form of the old completions (`logprobs: "
                f"{finding.instead}`), without which {profile.label} lists no rivals.",
                {"logprobs": finding.instead},
            )
        elif ask.logprobs is True and finding.instead < ask.top_logprobs:
            yield AskingChange(
                f"Log-probabilities of {finding.instead} tokens are asked for in place of "
                f"{ask.top_logprobs}, since the server lists no more.",
                {"top_logprobs": finding.instead},
            )


def _setting_changes(refused: Collection[str], ask: Sampling) -> Iterator[AskingChange]:
    for name in ask.settings:
        if name in refused and name not in TOKEN_LIMITS:
            effect = f"; {EFFECTS[name]}" if name in EFFECTS else ""
            words = f"`{name}: {ask.settings[name]}` is left out, since the server refuses it{effect}."
            yield AskingChange(words, without=name)


def _limit_changes(finding: ProbeFinding, ask: Sampling) -> Iterator[AskingChange]:
    if finding.verdict != "refused" or not isinstance(finding.instead, str):
        return
    name = next(name for name in TOKEN_LIMITS if name != finding.instead)
    if name in ask.settings or (ask.answer == "token" and finding.instead not in ask.settings):
        words = f"The limit of tokens is sent as {finding.instead}, since the server refuses {name}."
        yield AskingChange(words, limit=finding.instead)


def _system_changes(finding: ProbeFinding, ask: Sampling) -> Iterator[AskingChange]:
    if finding.verdict in GONE and ask.system:
        yield AskingChange(
            f"Instructions go in front of the user's message, since system prompts are {finding.verdict}.",
            {"system": False},
        )


def probe_advice(findings: Mapping[str, ProbeFinding], ask: Sampling) -> list[str]:
    """Say what of a judge's asking has no effect and is not changed, and what to do about it."""
    verdicts = {name: finding.verdict for name, finding in findings.items()}
    advice = []
    if verdicts["logprobs"] == "partly" and ask.logprobs and ask.answer in WITH_LOGPROBS:
        advice.append("Probabilities of answers will be bounds; try `logprobs: 5` under `ask` of the judge.")
    if verdicts["structured"] == "ignored" and ask.answer in ("json", "choice"):
        advice.append(
            f"`answer: {ask.answer}` is not enforced by the server; the prompt has to state the form."
        )
    if verdicts["seed"] == "ignored" and "seed" in ask.settings:
        advice.append("`seed` in the settings has no effect; answers cannot be repeated exactly.")
    if verdicts["limit"] == "ignored":
        advice.append(
            "Limits of tokens are ignored, so that an answer may cost more than `--max-cost` allows for."
        )
    if verdicts["limit"] == "refused" and findings["limit"].instead is None:
        advice.append("Remove the limit of tokens from the settings; the server refuses both of its names.")
    if _is_reasoning(findings) and ask.answer != "free":
        advice.append(
            "Reasoning counts towards the limit of tokens; state a high one, or turn reasoning off."
        )
    if verdicts["repeated"] == "cached" and ask.samples > 1:
        advice.append(
            "The server repeats its answers; turn its cache off, since each is asked for several times."
        )
    return advice
