"""Says which pods go for a soft threshold instead of a hard one, or the reverse.

The kind is more than a reason: a disruption budget can refuse a soft eviction, and a pod keeps its grace period in it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evictd.codec.decision import decode_decision
from evictd.core.model.decision import begun_evictions
from evictd.core.model.threshold import Threshold
from evictd.errors import InputError
from evictd.render.text import clean, threshold_text

Plain = Mapping[str, Any]


def changed_kinds(then: Iterable[Plain], now: Iterable[Plain]) -> Iterator[str]:
    """Yield the thresholds then and now of each pod that is evicted on both sides, where one is hard and the other soft."""
    recorded, decided = _thresholds(then), _thresholds(now)
    for pod in recorded.keys() & decided.keys():
        (name, old), (_, new) = recorded[pod], decided[pod]
        if old.hard is not new.hard:
            yield f"{clean(name)} for {threshold_text(old)} -> {threshold_text(new)}"


def _thresholds(decisions: Iterable[Plain]) -> dict[str, tuple[str, Threshold]]:
    """Return the name and the threshold of each pod whose eviction begins, by uid; of a damaged decision none."""
    found: dict[str, tuple[str, Threshold]] = {}
    for each in decisions:
        try:
            decision = decode_decision(each)
        except InputError:
            continue
        for eviction in begun_evictions([decision]):
            if eviction.because.threshold is not None:
                found[eviction.pod.uid] = (eviction.pod.full_name, eviction.because.threshold)
    return found
