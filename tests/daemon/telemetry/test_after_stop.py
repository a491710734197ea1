"""Which pod goes when a stop of evictions ends."""

from dataclasses import replace

import pytest

from evictd.core.eviction.next_up import who_is_next
from evictd.core.model.decision import EvictPod
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.after_stop import goes_after
from evictd.render.status.headline import headline
from evictd.render.status.remedies import to_do
from evictd.render.status.stopped import stop_text
from tests.daemon.status import status_of
from tests.render.played_worlds import incident_run
from tests.render.snapshots import incident_snapshot, snapshot_at


@pytest.mark.parametrize(
    ("name", "seconds", "left"),
    [("13-pinned-deployment", 400, 211.7), ("07-kernel-memory", 330, 580.0), ("44-limit-of-evictions", 400, 1779.6)],
)
def test_the_pod_that_goes_then_is_the_one_that_goes(name: str, seconds: int, left: float) -> None:
    """A pod was due after a pause, and neither the page nor `status` named it."""
    run = incident_run(name)
    paused = snapshot_at(run, seconds)
    (stop, *_) = [each.stop for each in who_is_next(paused.state, paused.observation, paused.config, paused.at)]
    assert stop is not None
    then = goes_after(stop, paused, paused.at)
    assert then is not None
    assert then["inSeconds"] == left
    later = [each for each in run.cycles if each.at > paused.at]
    went = [each.pod.full_name for cycle in later for each in cycle.step.decisions if isinstance(each, EvictPod)]
    assert went[:1] in ([then["pod"]], [])
    assert goes_after(replace(stop, until=None), paused, paused.at) is None
    assert goes_after(stop, paused, paused.at + 10_000 * SECOND) == {**then, "inSeconds": 0}


def test_the_headline_and_status_name_it() -> None:
    paused = incident_snapshot("13-pinned-deployment", 400)
    status = status_of(paused, paused.at)
    then = "hen default/pinned-2 would be evicted if the threshold is still met"
    assert headline(status).text.endswith(f"gave back 100Mi. T{then}.")
    (nodefs, *_) = status["signals"]
    assert nodefs["next"] is None
    assert stop_text(status, nodefs).endswith(f"until 22:23:31 UTC (in 3m32s); t{then}")


def test_a_stop_without_an_end_names_no_pod() -> None:
    guarded = incident_snapshot("25-budget-of-zero", 290)
    assert [each["stopThen"] for each in status_of(guarded, guarded.at)["signals"] if each["stop"]] == [None, None]


def test_an_owner_whose_pods_all_exceed_their_requests_is_named() -> None:
    """`Relieve the node` named neither the owner of 18 pods nor that each exceeds its request (world 44)."""
    limited = incident_snapshot("44-limit-of-evictions", 450)
    raised = "raise the requests of ReplicaSet/web (its pods use 350Mi and request 200Mi), move pods away"
    assert to_do(status_of(limited, limited.at)) == (
        f"see which pods went (`evictd history`), then {raised} or raise `evictionLimit`"
    )
