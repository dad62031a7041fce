"""What a server that speaks OpenAI's protocol serves."""

from __future__ import annotations

from ...errors import InputError, listed


def served_model(base_url: str, key_variable: str) -> str:
    """Name the one model of a server."""
    import openai  # after the client, which says how to install it

    from .client import find_endpoint
    from .failures import redact

    endpoint = find_endpoint(base_url, key_variable)
    client = openai.OpenAI(
        api_key=endpoint.key or "none", base_url=endpoint.base_url, timeout=30, max_retries=2
    )
    try:
        models = [redact(str(model.id), endpoint.secrets) for model in client.models.list()]
    except openai.APIConnectionError as error:
        reason = redact(str(error.__cause__ or error), endpoint.secrets)
        raise InputError(
            f"{endpoint.shown_url} cannot be reached ({reason}); check the address, and that a server is "
            "running there."
        ) from None
    except openai.OpenAIError as error:
        said = redact(str(error), endpoint.secrets)
        raise InputError(
            f"{endpoint.shown_url}: the server does not list its models ({said}); name one with --model."
        ) from None
    if len(models) != 1:
        raise InputError(
            f"{endpoint.shown_url}: the server has {len(models)} models ({listed(models)}); name one with "
            "--model."
        )
    return models[0]
