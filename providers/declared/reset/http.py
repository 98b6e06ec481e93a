"""A request that makes the record of a trial."""

from __future__ import annotations

from collections.abc import Mapping

from providers.declared.answers import kept
from providers.declared.model import HttpReset
from providers.declared.requests import Requests, filled_headers
from providers.declared.templates import fill, fill_url
from spec.canonical import Json
from spec.errors import ProviderFault


async def send_reset(reset: HttpReset, requests: Requests, values: Mapping[str, Json]) -> dict[str, Json]:
    """Send the request; what is kept of its answer.

    Raises:
        ProviderFault: nobody answers, or not as declared.
    """
    what = f"the reset's {reset.method} {reset.url}"
    try:
        answer = await requests.send(
            reset.method,
            fill_url(reset.url, values),
            deadline_s=reset.deadline_s,
            headers=filled_headers(reset.headers, reset.token_env, values),
            body=fill(reset.json_body, values),
            with_body=reset.json_body is not None,
        )
    except TimeoutError:
        raise ProviderFault(f"{what} was not answered within {reset.deadline_s:g} s") from None
    if answer.status not in reset.status:
        raise ProviderFault(f"{what} was answered with {answer.status}")
    return kept(answer.body, reset.keep, what)
