"""Which evictions go beside a collection on a disk that is full before the collectors have ended."""

from typing import Any

import pytest

from evictd.core.model.finding import NoActionReason
from tests.playbook import Playbook, config, pod, usage

MIB = 1 << 20
A, B = pod("a"), pod("b")
SETTINGS = config(hard={"nodefs.available": "100Mi"})


def disk(left_mib: int, rate_mib: int = 200) -> dict[str, Any]:
    return {"nodefs": f"{left_mib}Mi of 9Gi", "nodefs_rate": rate_mib * MIB}


def a_minute_of_calm(book: Playbook) -> None:
    book.at("0s", **disk(900, 0)).conditions().does_nothing()
    for seconds in range(10, 70, 10):
        book.at(f"{seconds}s", **disk(900, 0)).does_nothing()


@pytest.mark.parametrize("held", ["12", "2Mi"])
def test_pods_that_hold_less_than_is_missing_wait_for_the_collectors(held: str) -> None:
    """A file of the host filled the disk at once, and a pod with 12 bytes went although the collection sufficed."""
    book = Playbook(SETTINGS, pods=[A], usage=[usage(A, rootfs=held)])
    a_minute_of_calm(book)
    book.at("70s", **disk(90)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("70.1s", **disk(90)).does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE).finish()


def test_where_what_fills_the_disk_belongs_to_no_pod_the_collectors_are_waited_for() -> None:
    """Such as an image that is pulled; the pods hold enough."""
    book = Playbook(SETTINGS, pods=[A, B], usage=[usage(A, rootfs="2Gi"), usage(B, rootfs="1Gi")])
    a_minute_of_calm(book)
    book.at("70s", **disk(90)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("70.1s", **disk(90)).does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE).finish()


def test_the_pod_that_fills_the_disk_goes_at_once() -> None:
    book = Playbook(SETTINGS, pods=[A, B], usage=[usage(A, rootfs="2Gi"), usage(B, rootfs="1Gi")])
    a_minute_of_calm(book)
    book.usage = {"a": usage(A, rootfs="2800Mi"), "b": usage(B, rootfs="1Gi")}
    book.at("70s", **disk(90)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("70.1s", **disk(90)).evicts("a", grace=0).finish()


def test_so_does_one_that_was_just_measured_for_the_first_time() -> None:
    """Its growth is not known."""
    book = Playbook(SETTINGS, pods=[A], usage=[usage(A, rootfs="2800Mi")])
    book.at("70s", **disk(90)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("70.1s", **disk(80)).evicts("a", grace=0).finish()
