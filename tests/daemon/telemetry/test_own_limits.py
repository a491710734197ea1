"""`/statusz` lists the pods that nearly exceed a limit of their own on local storage."""

from dataclasses import replace
from functools import cache

import pytest

from evictd.core.model.decision import EvictPod
from evictd.core.model.state import Victim
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.statusz.own_limits import limits_recorded, own_limits
from evictd.daemon.telemetry.trends import Trend
from evictd.world.behaviours import Grow, Usage
from evictd.world.loop import Run, play
from evictd.world.model import WorldPod
from tests.playbook import config, empty_dir, pod
from tests.render.snapshots import snapshot_at
from tests.world.worlds import GI, MI, world


@cache
def fills_its_volume() -> Run:
    """A pod of high priority fills a volume with a size limit on a node without any shortage."""
    db = pod("db", priority=1000, volumes=[empty_dir("wal", size_limit="2Gi")])
    of = WorldPod(pod=db, behaviours=(Grow(of=Usage.VOLUME, rate=8 * MI),))
    return play(world(of, duration=6 * MINUTE), config(hard={"memory.available": "100Mi"}))


def test_a_pod_near_its_size_limit_is_listed_before_it_is_evicted() -> None:
    run = fills_its_volume()
    at = next(cycle.at for cycle in run.cycles for each in cycle.step.decisions if isinstance(each, EvictPod))
    assert own_limits(snapshot_at(run, 200), 200 * SECOND) == []
    near = snapshot_at(run, at / SECOND - 1)
    (row,) = own_limits(near, near.at)
    assert (row["pod"], row["of"], row["limit"]) == ("default/db", "emptyDir wal", 2 * GI)
    assert 0.9 * 2 * GI <= row["usage"] <= 2 * GI
    assert row["secondsToLimit"] == pytest.approx((row["limit"] - row["usage"]) / (8 * MI), abs=1)
    (later,) = own_limits(near, near.at + 2 * SECOND)
    assert later["secondsToLimit"] == pytest.approx(row["secondsToLimit"] - 2, abs=0.1), "it counts from now on"
    assert own_limits(near, near.at + 2 * MINUTE)[0]["secondsToLimit"] is None, "the reading is old"
    going = replace(near.state, in_flight=(Victim(uid=near.observation.pods[0].uid),))
    assert own_limits(replace(near, state=going), near.at) == [], "it is being evicted"


def test_the_progress_of_a_first_walk_is_no_growth() -> None:
    """A pod whose large volume was walked for the first time seemed to reach its limit within seconds."""
    near = snapshot_at(fills_its_volume(), 252)
    (stats,), limits = near.observation.pod_stats.values(), dict[str, Trend]()
    for at in range(5):
        counted = stats.volumes[0]._replace(used_bytes=(1900 + at) * MI)
        unfinished = replace(stats, volumes=(counted,), disk_time=None, disk_at_least=True)
        seen = replace(near.observation, pod_stats={stats.uid: unfinished})
        limits = limits_recorded(limits, near.state, seen, near.config)
    (trend,) = limits.values()
    assert not trend.recent
