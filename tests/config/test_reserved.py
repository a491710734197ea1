"""Memory thresholds that pods within their requests meet."""

from dataclasses import replace

import pytest

from evictd.config.lint_model import Lint, Severity, Surroundings
from evictd.config.reserved import requests_meet, reserved_beyond
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes

MI = 1 << 20


def memory(limit: int, signal: Signal = Signal.MEMORY_AVAILABLE) -> Threshold:
    return Threshold(signal=signal, value=ThresholdValue(quantity=of_bytes(limit * MI)))


KUBELET = Surroundings(kubelet=[memory(100)], kubelet_reserved=of_bytes(0), kubelet_limits_pods=True)
SOFT = replace(memory(1024), grace_period=90 * SECOND)


def test_a_soft_threshold_that_the_kubelet_does_not_reserve_is_found_with_what_is_missing() -> None:
    (found,) = requests_meet([memory(500), SOFT], KUBELET)
    assert (found.lint, found.severity, found.signal) == (
        Lint.REQUESTS_MEET_THRESHOLD,
        Severity.WARNING,
        Signal.MEMORY_AVAILABLE,
    )
    assert found.message == "pods within their requests may meet 1024Mi: the kubelet keeps 100Mi from them"
    assert found.remedy == "raise systemReserved of the kubelet by 924Mi, and by what daemons use"


def test_for_a_percentage_that_keeps_much_an_amount_is_a_remedy_too() -> None:
    """To reserve 31030Mi was the only remedy for 15% of 256Gi."""
    large = replace(KUBELET, capacities={Signal.MEMORY_AVAILABLE: of_bytes(256 * 1024 * MI)})
    (found,) = requests_meet([replace(SOFT, value=ThresholdValue(fraction=0.15))], large)
    assert found.remedy.startswith("set an amount, or raise systemReserved of the kubelet by 39222Mi")


@pytest.mark.parametrize(("reserved", "findings"), [(923, 1), (924, 0)])
def test_what_is_reserved_counts(reserved: int, findings: int) -> None:
    around = replace(KUBELET, kubelet_reserved=of_bytes(reserved * MI))
    assert len(list(requests_meet([SOFT], around))) == findings


def test_a_percentage_is_written_in_the_unit_of_the_other_amounts() -> None:
    """10 % and 12 % of 16Gi were `1717986944` and `2061584256`, beside `the kubelet keeps 920Mi`."""
    ours = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(fraction=0.1))
    [found] = requests_meet([ours], replace(KUBELET, capacities={Signal.MEMORY_AVAILABLE: of_bytes(16384 * MI)}))
    assert found.message == "pods within their requests may meet 1639Mi: the kubelet keeps 100Mi from them"


def test_a_threshold_on_all_pods_above_the_kubelets_is_found_whatever_is_reserved() -> None:
    around = replace(KUBELET, kubelet_reserved=of_bytes(4096 * MI))
    (found,) = requests_meet([memory(500, Signal.ALLOCATABLE_MEMORY_AVAILABLE)], around)
    assert found.message == "pods within their requests may meet 500Mi: the kubelet limits them to 100Mi more"
    assert found.remedy == "set enforceNodeAllocatable: [none], and evictionHard on allocatableMemory.available: 100Mi"
    assert not list(requests_meet([memory(100, Signal.ALLOCATABLE_MEMORY_AVAILABLE)], around))
    assert not list(
        requests_meet([memory(500, Signal.ALLOCATABLE_MEMORY_AVAILABLE)], replace(around, kubelet_limits_pods=False))
    )


def test_at_allocatable_itself_a_threshold_of_nothing_is_no_remedy() -> None:
    """The OOM killer would act at the kubelet's limit, and pods within their requests reach it."""
    around = replace(KUBELET, kubelet=[memory(0)])
    (found,) = requests_meet([memory(500, Signal.ALLOCATABLE_MEMORY_AVAILABLE)], around)
    assert found.remedy == (
        "set enforceNodeAllocatable: [none] in the kubelet's configuration, as its limit on all pods is Allocatable"
    )


def test_a_reservation_of_disk_space_below_the_threshold_is_found() -> None:
    """A kubelet that reserved 1Gi of the disk beside a threshold of 4Gi was passed over."""
    disk = memory(4096, Signal.NODEFS_AVAILABLE)
    around = Surroundings(kubelet=[memory(1024, Signal.NODEFS_AVAILABLE)], kubelet_reserved_disk=of_bytes(1024 * MI))
    (found,) = requests_meet([disk], around)
    assert (found.signal, found.message, found.remedy) == (
        Signal.NODEFS_AVAILABLE,
        "pods within their requests may meet 4096Mi: the kubelet keeps 2048Mi from them",
        "raise ephemeral-storage in systemReserved of the kubelet by 2048Mi, and by what images use",
    )
    for reserved in (0, 3072):
        assert not list(requests_meet([disk], replace(around, kubelet_reserved_disk=of_bytes(reserved * MI))))


def test_without_a_kubelet_nothing_is_found() -> None:
    assert not list(requests_meet([memory(500), SOFT], Surroundings()))


def test_reservations_beyond_the_memory_of_the_node_are_said() -> None:
    """`kubeReserved: {memory: 900Gi}` on a node of 8Gi passed without a word."""
    node = Surroundings(capacities={Signal.MEMORY_AVAILABLE: of_bytes(8192 * MI)})
    assert list(reserved_beyond([memory(500), SOFT], of_bytes(7691 * MI), node)) == []
    assert list(reserved_beyond([memory(9000)], of_bytes(0), node)) == [], "no reservation"
    assert list(reserved_beyond([memory(500)], of_bytes(9000 * MI), Surroundings())) == [], "its memory is not known"
    said = (
        "kubeReserved, systemReserved and the hard threshold are 8.49Gi of memory, and this node has 8Gi: nothing is left to "
        "pods, and a kubelet does not start; lower them"
    )
    assert list(reserved_beyond([memory(500), SOFT], of_bytes(8192 * MI), node)) == [said]


def test_reservations_of_all_memory_are_said_too() -> None:
    """A node reports less than its size, so 1948Mi and 100Mi of a node of 2 GiB are more than it has."""
    node = Surroundings(
        capacities={Signal.MEMORY_AVAILABLE: of_bytes(2048 * MI)},
        kubelet=[memory(100)],
        kubelet_reserved=of_bytes(1948 * MI),
    )
    said = (
        "kubeReserved, systemReserved and the hard threshold of the kubelet are 2Gi of memory, and this node has 2Gi: nothing "
        "is left to pods; lower them"
    )
    assert list(reserved_beyond([memory(150)], of_bytes(0), node)) == [said]
