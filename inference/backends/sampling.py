"""The settings of a chat completion as fields of vLLM's ``SamplingParams``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InputError
from ..ledger.exchanges import Body

SAME_NAME = (
    *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "max_tokens", "min_tokens"),
    *("presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias", "ignore_eos"),
)

SingleTokens = Callable[[tuple[str, ...]], list[int] | None]


def sampling_fields(body: Body, single_tokens: SingleTokens) -> dict[str, Any]:
    """Translate the body of a request.

    A choice between options of one token each is drawn among these tokens, with the raw log-probabilities of
    all; under a grammar, which longer options need, they would be renormalised over the options.
    """
    given = {name: value for name, value in body.items() if name not in ("model", "messages")}
    fields = {name: given.pop(name) for name in SAME_NAME if name in given}
    if "max_completion_tokens" in given:
        fields["max_tokens"] = given.pop("max_completion_tokens")
    top = given.pop("top_logprobs", 0)
    if given.pop("logprobs", False):
        fields["logprobs"] = max(top, 1)
    structured, form = given.pop("structured_outputs", None), given.pop("response_format", None)
    if given:
        raise InputError(
            f"The settings of {body['model']} name {', '.join(given)}, which vLLM's engine does not take; "
            "remove that from 'settings', or give it under 'engine'."
        )
    options = tuple(structured.get("choice", ())) if structured else ()
    if options and (tokens := single_tokens(options)) is not None:
        fields.pop("logprobs", None)
        fields |= {"allowed_token_ids": tokens, "logprob_token_ids": tokens, "max_tokens": 1}
    elif structured:
        fields = {"max_tokens": 64, **fields, "structured_outputs": structured}
    elif form is not None:
        schema = {"json": form["json_schema"]["schema"], "disable_any_whitespace": True}
        fields = {"max_tokens": 512, **fields, "structured_outputs": schema}
    return fields
