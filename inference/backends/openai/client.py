"""The one module that knows the openai package, which batches use; answers of a run come by `transport`."""

from __future__ import annotations

import importlib
from typing import Any

from ...errors import MissingDependency
from ..endpoints import NO_KEY, ORGANIZATION, Endpoint, custom_headers

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
NEEDED_HEADERS = {"host", "accept", "content-type", "content-length", "transfer-encoding", "authorization"}


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
    names = {name.lower() for name in (*ORGANIZATION.values(), *custom_headers())}
    for name in names - NEEDED_HEADERS:
        request.headers.pop(name, None)
    request.headers["Authorization"] = f"Bearer {endpoint.key or NO_KEY}"
