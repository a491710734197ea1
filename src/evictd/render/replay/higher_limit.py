"""Says whether a pod is evicted for a higher limit than it was, so that it would have gone before the recorded reading."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError

Plain = Mapping[str, Any]


def has_higher_limit(then: Iterable[Plain], now: Iterable[Plain]) -> bool:
    """Whether a pod is evicted on both sides, and now for a limit that lies further above what was available.

    Another memory formula has another amount available, and another limit by as much.
    """
    recorded, decided = _passed(then), _passed(now)
    return any(decided[pod] > recorded[pod] for pod in decided.keys() & recorded.keys())


def _passed(decisions: Iterable[Plain]) -> dict[str, int]:
    """Return how far the limits lie above what was available, by uid of the evicted pods; of a damaged decision nothing."""
    found: dict[str, int] = {}
    for each in decisions:
        with suppress(KeyError, TypeError, InvalidValueError):
            if each["kind"] == "EvictPod":
                because = each["because"]
                left = parse_quantity(because.get("available") or "0").value()
                found[each["pod"]["uid"]] = parse_quantity(because["limit"]).value() - left
    return found
