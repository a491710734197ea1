"""The evictions of the kubelet as the loop records them."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from evictd.codec.pods.slim_pods import SlimPod
from evictd.codec.records.journal_record import decode_record
from evictd.codec.times import rfc3339
from evictd.core.model.pod import Pod
from evictd.core.units.duration import HOUR, MINUTE, SECOND
from evictd.daemon.kubelet_evictions import KubeletEvictions
from evictd.daemon.waiter import WaitResult
from evictd.observe.reading.observer import ObserveRequest
from evictd.observe.reading.reading import Reading
from tests.daemon.conftest import Make
from tests.daemon.double import ScriptedObserver
from tests.daemon.telemetry.test_metrics import samples, value
from tests.daemon.world import GI, HOG, WALL, WEB, observe


def evicted(pod: Pod, at: int | None = WALL) -> SlimPod:
    """A pod that the kubelet evicted at a time; `None`: its object has none."""
    return SlimPod(
        pod=replace(pod, phase="Failed"),
        reason="Evicted",
        message="The node was low on resource: memory. ",
        disrupted_at="" if at is None else rfc3339(at),
    )


def reading(entries: Iterable[SlimPod] | None, wall: int = WALL) -> Reading:
    found = None if entries is None else tuple(entries)
    return Reading(now=1, wall=wall, observation=observe(4 * GI), evicted_by_kubelet=found)


def test_each_eviction_is_returned_once_with_its_time() -> None:
    kubelet = KubeletEvictions()
    assert kubelet.fresh(reading(None)) == ()
    assert kubelet.fresh(reading(())) == ()
    (found,) = kubelet.fresh(reading((evicted(HOG, WALL - SECOND),)))
    assert (found.pod, found.at, found.earlier) == ("default/hog", rfc3339(WALL - SECOND), False)
    assert kubelet.fresh(reading((evicted(HOG),))) == ()
    (found,) = kubelet.fresh(reading((evicted(HOG), evicted(WEB, None)), WALL + MINUTE))
    assert (found.pod, found.at) == ("default/web", rfc3339(WALL + MINUTE))


def test_of_those_before_the_start_the_ones_of_the_last_hour_are_returned() -> None:
    """A restart takes minutes. Objects of evicted pods stay for days, and not all of them say when it was."""
    old, unknown = replace(HOG, uid="old"), replace(HOG, uid="unknown")
    entries = (evicted(HOG, WALL - MINUTE), evicted(old, WALL - HOUR), evicted(unknown, None))
    (found,) = KubeletEvictions().fresh(reading(entries))
    assert (found.uid, found.earlier) == (HOG.uid, True)


class BesideKubelet(ScriptedObserver):
    """A node on which the kubelet evicts the hog after the first reading."""

    def observe(self, request: ObserveRequest) -> Reading:
        found = (evicted(HOG, None),) if self.requests else ()
        return replace(super().observe(request), evicted_by_kubelet=found)


def test_a_dry_run_records_what_the_kubelet_evicted_beside_what_it_would_have_taken(tmp_path: Path, make: Make) -> None:
    ours = make([observe(GI // 2), observe(4 * GI)], dry_run=True)
    ours.node.observer = BesideKubelet([observe(GI // 2), observe(4 * GI)])
    for _ in range(3):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    records = [decode_record(line) for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    (by_kubelet,) = [each for record in records for each in record.extra.kubelet_evicted]
    assert (by_kubelet.pod, by_kubelet.message) == ("default/hog", "The node was low on resource: memory.")
    assert "which evictd had chosen" in str(ours.logged)
    found = samples(ours.metrics)
    assert value(found, "evictd_kubelet_evictions_total", chosen="yes") == 1
    assert value(found, "evictd_kubelet_evictions_total", chosen="no") == 0
    assert value(found, "evictd_dry_run_evictions_total", eviction_signal="memory.available", reason="pressure") == 1
