"""Says which pods the API server is asked to evict, and how often it refused, from the document of `/statusz`."""

from collections.abc import Mapping, Sequence
from typing import Any

from evictd.render.text import clean, first_of

Document = Mapping[str, Any]

_NAMED = 3


def asked_text(asked: Sequence[Document]) -> str:
    """Write that the API server is asked to evict these pods, which it has not agreed to, and how often it refused."""
    names = first_of([clean(row["pod"]) for row in asked], _NAMED)
    text = f"the API server is asked to evict {names}"
    if not (times := asked[0]["refusals"]):
        return f"{text}, and has not answered yet"
    since = asked[0]["refusedSince"][11:19]
    return f"{text}; it refused {'once' if times == 1 else f'{times} times'} since {since} UTC"
