"""Why an answer ended: the words of all providers and servers, in those of OpenAI's chat completions."""

from __future__ import annotations

import re
from functools import lru_cache

STOP, CUT, FILTERED, FAILED = "stop", "length", "content_filter", "error"

# By meaning, the words that mean it, in small letters. Sources: the references of OpenAI (chat completions
# and responses), Azure, Anthropic, Gemini, Cohere, Mistral, Bedrock, DeepSeek, Zhipu, MiniMax, xAI,
# OpenRouter, vLLM, SGLang, llama.cpp, Ollama and TGI.
WORDS: dict[str, tuple[str, ...]] = {
    STOP: (
        *("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed", "stop_token"),
        *("end", "finished", "stop_str", "stop_criteria_met", "word"),
    ),
    CUT: (
        *("length", "max_tokens", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "max_len"),
        *("max_length", "token_limit", "token_limit_reached", "limit", "error_limit", "model_length"),
        *("model_context_window_exceeded", "context_length_exceeded", "context_window_exceeded"),
        *("length_limit", "output_limit", "max_prompt_length", "too_long"),
    ),
    FILTERED: (
        *("content_filter", "content_filtered", "content_filtering", "contentfilter", "filtered", "filter"),
        *("safety", "prohibited_content", "blocklist", "spii", "recitation", "language", "model_armor"),
        *("image_safety", "image_prohibited_content", "image_recitation", "refusal", "refused", "sensitive"),
        *(
            "error_toxic",
            "guardrail_intervened",
            "guardrails",
            "guardrail",
            "moderation",
            "moderated",
            "moderation_blocked",
        ),
        *("policy_violation", "content_policy_violation", "content_policy", "jailbreak"),
        *("data_inspection_failed", "sensitive_content", "safety_check", "safety_violation"),
        *("responsible_aipolicy_violation", "sensitive_content_detected"),
    ),
    FAILED: (
        *("error", "errored", "failed", "failure", "network_error", "internal_error", "server_error"),
        *("insufficient_system_resource", "abort", "aborted", "cancelled", "canceled", "cancel"),
        *("user_cancel", "client_disconnected", "timeout", "timed_out", "time_limit", "deadline_exceeded"),
        *("malformed_function_call", "malformed_response", "malformed_model_output", "malformed_tool_use"),
        *("malformed_tool_call", "unexpected_tool_call", "too_many_tool_calls", "engine_error"),
        *("engine_overloaded", "overloaded", "unavailable", "rate_limit", "rate_limited", "preempted"),
        *("upstream_error", "provider_error", "system_error", "kv_load_failure"),
    ),
}
_MEANINGS = {word: meaning for meaning, words in WORDS.items() for word in words}
_CAPITALS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=1_000)
def usual_reason(word: str) -> str:
    """Return stop, length, content_filter or error for any provider's word; other words as they are."""
    # Enumerations are written as FinishReason.SAFETY, FINISH_REASON_SAFETY or REASON_MAX_LEN by some.
    name = word.strip().rpartition(".")[2]
    if not name.isupper():
        name = _CAPITALS.sub("_", name)
    name = re.sub(r"[\s-]+", "_", name).lower()
    name = re.sub(r"^(?:finish_?)?reason_", "", name)
    return _MEANINGS.get(name, word)
