"""The one module that knows the openai package, which batches use; answers of a run come by `transport`."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ...errors import MissingDependency
from ..endpoints import Endpoint

try:
    import openai
except ImportError:
    raise MissingDependency("This backend needs the openai package: pip install 'conjury[openai]'.") from None

http: Any = importlib.import_module(
    openai.DefaultAsyncHttpxClient.__base__.__module__.partition(".")[0]
)  # httpx2; httpx before 3.0
VERSION = f"openai {openai.__version__}"
StatusError: Any = openai.APIStatusError
Unreachable: Any = openai.APIConnectionError
OWN_HEADERS = {"openai-organization", "openai-project"}  # from variables of the environment
NEEDED_HEADERS = {"host", "accept", "content-type", "content-length", "transfer-encoding", "authorization"}
NO_KEY = "none"  # the client insists on one; a server that needs none does not look at it


def open_plain_client(endpoint: Endpoint, *, timeout: float, max_retries: int) -> Any:
    """Return an ``OpenAI`` that sends the key to the endpoint alone."""
    return openai.OpenAI(
        api_key=endpoint.key or NO_KEY,
        base_url=endpoint.base_url,
        timeout=timeout,
        max_retries=max_retries,
        http_client=openai.DefaultHttpxClient(
            follow_redirects=False,
            trust_env=not endpoint.direct,
            event_hooks={"request": [lambda request: _keep_headers(endpoint, request)]},
        ),
    )


def _keep_headers(endpoint: Endpoint, request: Any) -> None:
    """Take the headers out that the package adds from the environment, which are meant for its own server."""
    if endpoint.own:
        return
    custom = os.environ.get("OPENAI_CUSTOM_HEADERS", "").lower().split("\n")
    for name in {*OWN_HEADERS, *(line.partition(":")[0].strip() for line in custom)} - NEEDED_HEADERS:
        request.headers.pop(name, None)
    request.headers["Authorization"] = f"Bearer {endpoint.key or NO_KEY}"
