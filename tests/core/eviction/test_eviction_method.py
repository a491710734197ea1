"""By which of three ways a pod of a cluster is ended, and what a budget's refusal leads to."""

import pytest

from evictd.core.eviction.refusals.backoff import HARD_BYPASS
from evictd.core.eviction.refusals.eviction_method import (
    RefusalResponse,
    choose_eviction_method,
    forbidden_stays,
    is_hard,
    refusal_response,
)
from evictd.core.model.config import EvictionMethod
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import parse_quantity
from tests.playbook import pod


def eviction(grace: int | None) -> EvictPod:
    """Of a threshold with this grace, or of a pod beyond its own limit."""
    threshold = None
    if grace is not None:
        value = ThresholdValue(quantity=parse_quantity("1Gi"))
        threshold = Threshold(signal=Signal.MEMORY_AVAILABLE, value=value, grace_period=grace)
    because = EvictionCause(
        reason=EvictionReason.PRESSURE if threshold else EvictionReason.POD_LIMIT, threshold=threshold
    )
    return EvictPod(pod=pod("a"), grace_period_seconds=1, message="m", because=because)


@pytest.mark.parametrize(("grace", "hard"), [(0, True), (30 * SECOND, False), (None, True)])
def test_what_is_urgent(grace: int | None, hard: bool) -> None:
    """A hard threshold, and a pod beyond its own limit, as the kubelet treats both: at once."""
    assert is_hard(eviction(grace)) is hard


@pytest.mark.parametrize(
    ("asked", "hard", "kubelet", "way"),
    [
        (EvictionMethod.AUTO, False, True, EvictionMethod.EVICTION_API),
        (EvictionMethod.AUTO, True, True, EvictionMethod.DELETE),
        (EvictionMethod.AUTO, False, False, EvictionMethod.STATUS),
        (EvictionMethod.AUTO, True, False, EvictionMethod.STATUS),
        *(
            (way, hard, kubelet, way)
            for way in list(EvictionMethod)[1:]
            for hard in (False, True)
            for kubelet in (False, True)
        ),
    ],
)
def test_the_way(asked: EvictionMethod, hard: bool, kubelet: bool, way: EvictionMethod) -> None:
    """Auto by urgency and by whether a kubelet is there; what was asked for by name is done."""
    assert choose_eviction_method(asked, hard=hard, kubelet=kubelet) is way


@pytest.mark.parametrize(
    ("asked", "hard", "waited", "then"),
    [
        (EvictionMethod.AUTO, False, 0, RefusalResponse.NEXT_CANDIDATE),
        (EvictionMethod.AUTO, False, 59 * SECOND, RefusalResponse.NEXT_CANDIDATE),
        (EvictionMethod.AUTO, False, 60 * SECOND, RefusalResponse.BYPASS),
        (EvictionMethod.EVICTION_API, False, 3600 * SECOND, RefusalResponse.NEXT_CANDIDATE),
        (EvictionMethod.EVICTION_API, True, 0, RefusalResponse.ASK_AGAIN),
        (EvictionMethod.EVICTION_API, True, HARD_BYPASS, RefusalResponse.BYPASS),
    ],
)
def test_a_refusal(asked: EvictionMethod, hard: bool, waited: int, then: RefusalResponse) -> None:
    """Soft: another pod, and past the budget only under Auto; hard: a bounded wait."""
    assert refusal_response(asked, hard=hard, waited=waited, eviction_timeout=60 * SECOND) is then


@pytest.mark.parametrize("asked", EvictionMethod)
@pytest.mark.parametrize("hard", [True, False])
def test_what_is_forbidden_stays_only_where_the_api_was_chosen_by_name(asked: EvictionMethod, hard: bool) -> None:
    assert forbidden_stays(asked, hard=hard) == (asked is EvictionMethod.EVICTION_API and not hard)
