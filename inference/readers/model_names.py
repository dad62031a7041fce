"""Names that look like those of language models."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MODELS = (
    *("gpt", "chatgpt", "claude", "gemini", "gemma", "llama", "mistral", "mixtral", "qwen", "deepseek"),
    *("grok", "olmo", "smollm", "falcon", "vicuna", "command-r", "kimi", "glm", "llm", "bot", "model"),
    *("openai", "anthropic", "davinci", "granite", "nemotron", "ernie", "internlm", "dbrx", "jamba"),
)
_LIKE_A_MODEL = re.compile(
    rf"(?<![a-z0-9])(?:{'|'.join(_MODELS)})(?![a-z])(?! [a-z]+$)|(?<![a-z0-9])o[134]-(?:mini|pro|preview)"
    r"|(?<![a-z0-9])phi-?\d|^ai$|[a-z]{3,}[-.0-9a-z]*-\d+(?:\.\d+)?b(?![a-z0-9])|-(?:instruct|chat)(?![a-z])",
    re.IGNORECASE,
)


def like_models(names: Sequence[object]) -> list[str]:
    """Names that look like those of language models."""
    return [str(name) for name in names if _LIKE_A_MODEL.search(str(name).replace("_", "-"))]
