"""Says whether a pod is evicted for a higher limit than it was, so that it would have gone before the recorded reading."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError

Plain = Mapping[str, Any]


def has_higher_limit(then: Iterable[Plain], now: Iterable[Plain]) -> bool:
    """Whether a pod is evicted on both sides, and now for a higher limit."""
    recorded, decided = _limits(then), _limits(now)
    return any(decided[pod] > recorded[pod] for pod in decided.keys() & recorded.keys())


def _limits(decisions: Iterable[Plain]) -> dict[str, int]:
    """Return the limits below which pods are evicted, by uid; of a damaged decision none."""
    found: dict[str, int] = {}
    for each in decisions:
        with suppress(KeyError, TypeError, InvalidValueError):
            if each["kind"] == "EvictPod":
                found[each["pod"]["uid"]] = parse_quantity(each["because"]["limit"]).value()
    return found
