"""Reasoning that models write before their answers, by the marks around it, and the answer without it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

Marks = tuple[str, str]
_TAGS = (
    *(
        "think",
        "thinking",
        "thought",
        "thoughts",
        "reasoning",
        "reason",
        "analysis",
        "scratchpad",
        "reflection",
    ),
    *("rationale", "cot", "inner_monologue", "internal_monologue", "inner_thoughts", "deliberation"),
    *("chain_of_thought", "longcat_think", "think_fast", "deep_think"),
)
REASONING_MARKS: tuple[tuple[Marks, str], ...] = (  # what opens and closes reasoning, and who writes it so
    *(((f"<{tag}>", f"</{tag}>"), "many models and prompts") for tag in _TAGS),
    (("<seed:think>", "</seed:think>"), "Seed-OSS"),
    (("<mm:think>", "</mm:think>"), "MiniMax"),
    (("[THINK]", "[/THINK]"), "Magistral"),
    (("◁think▷", "◁/think▷"), "Kimi"),
    (("<|START_THINKING|>", "<|END_THINKING|>"), "Command A"),
    (("<|begin_of_thought|>", "<|end_of_thought|>"), "OpenThinker, Sky-T1"),
    (("<|think|>", "<|/think|>"), "several"),
    (("<|thinking|>", "<|/thinking|>"), "several"),
    (("<|inner_prefix|>", "<|inner_suffix|>"), "Apertus"),
    (("<unused94>", "<unused95>"), "MedGemma"),
    (("<|channel>thought", "<channel|>"), "Gemma"),
    (("Here is my thought process:", "Here is my response:"), "Granite"),
)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,60}<\|message\|>")  # gpt-oss
_STRIPPED_CHANNEL = re.compile(r"analysis(?=[A-Z*\"'`\W]).*?assistant\s?final(?=\W|[A-Z0-9{\[\"])", re.DOTALL)
_CONTROL = re.compile(
    r"<\|(?:end|return|start|call|message|im_end|im_start|eot_id|endoftext|START_RESPONSE|END_RESPONSE|"
    r"begin_of_solution|end_of_solution|START_TEXT|END_TEXT|END_OF_TURN_TOKEN)\|>|</s>"
)


def without_reasoning(text: str, marks: Sequence[Marks] = ()) -> str:
    """Drop reasoning before and between what an answer says; reasoning that never ends leaves no text."""
    # `marks` are those that a study states; the known ones count as well.
    if "<|channel|>" in text:
        return _final_channel(text)
    stripped = _STRIPPED_CHANNEL.match(text)
    if stripped is not None:
        return text[stripped.end() :]
    for start, end in (*marks, *(pair for pair, _ in REASONING_MARKS)):
        if start.lower() in text.lower() if start.isascii() else start in text:
            text = _without_marked(text, start, end)
        elif end in text and end[:1] in "<[◁":
            text = text.rpartition(end)[2]  # the prompt has opened it
    return _CONTROL.sub("", text) if "<|" in text or "</s>" in text else text


def reasoning_is_open(text: str) -> bool:
    """Whether a text begins with reasoning that never ends."""
    begins = text.lstrip().lower()
    opened = ("<|channel|>", *(start.lower() for (start, _), _ in REASONING_MARKS))
    return begins.startswith(opened) and not without_reasoning(text).strip()


@lru_cache(maxsize=256)
def _patterns(start: str, end: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(re.escape(start), re.IGNORECASE), re.compile(re.escape(end), re.IGNORECASE)


def _without_marked(text: str, start: str, end: str) -> str:
    """Drop what is between two marks, up to the last end; what never ends only where it comes first."""
    opens, closes = _patterns(start, end)
    first = opens.search(text)
    if first is None:
        return text
    ends = list(closes.finditer(text, first.end()))
    if not ends:
        return text if text[: first.start()].strip() else ""
    if not text[: first.start()].strip():
        last = ends[-1]
        reopening = opens.search(text, ends[0].end())
        if reopening is None or reopening.start() > last.start():
            tail = text[last.end() :]
            return _without_marked(tail, start, end)
        tail = text[ends[0].end() : reopening.start()]
        if not tail.strip():
            return text[last.end() :]
    blocks = re.compile(f"(?:{opens.pattern}).*?(?:{closes.pattern})", re.IGNORECASE | re.DOTALL)
    remainder = blocks.sub("\n", text)
    stray = list(closes.finditer(remainder))
    return remainder[stray[-1].end() :] if stray else remainder


def _final_channel(text: str) -> str:
    """Take the text of the last final channel; where there is none, the reasoning never ended."""
    channels = list(_CHANNEL.finditer(text))
    final = [channel for channel in channels if channel[1] == "final"]
    if not final:
        return "" if channels or text.lstrip().startswith("<|channel|>") else text
    return re.split(r"<\|\w+\|>", text[final[-1].end() :])[0]
