"""The faults of evictd itself: each has what helps against it."""

from evictd.render.status import own_faults  # pytest would take `tests_thresholds` for a test
from evictd.render.status.own_faults import FAULT_REMEDIES, OwnFaultKind


def test_every_fault_has_a_remedy() -> None:
    assert set(FAULT_REMEDIES) == set(OwnFaultKind)


def test_a_daemon_that_cannot_see_pods_says_which_thresholds_wait() -> None:
    """It said `Thresholds are tested` beside `no reading` of each disk."""
    still = OwnFaultKind.PODS.value.partition(". ")[2]
    assert still.startswith("Thresholds on disks (with policy Kubelet all) wait until a runtime has said which disks")
    assert "(LayoutUnknown)" in still


def test_thresholds_are_tested_unless_nothing_is_read() -> None:
    untested = {each for each in OwnFaultKind if not own_faults.tests_thresholds([each])}
    assert untested == {OwnFaultKind.STUCK, OwnFaultKind.NODE}
    assert own_faults.tests_thresholds([])
