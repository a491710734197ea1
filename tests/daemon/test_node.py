"""Which actuator the node is changed by, and when heartbeats are due."""

from evictd.core.units.duration import SECOND
from evictd.daemon.waiter import WaitResult
from evictd.observe.reading.reading import Reading
from tests.daemon.conftest import Make
from tests.daemon.world import CONFIG, GI, NOW, observe
from tests.settings import settings_with


def test_a_reload_changes_the_actuator_between_two_cycles(make: Make) -> None:
    ours = make([observe(GI // 2), observe(GI // 2, NOW + 1)], dry_run=True)
    ours.loop.cycle(WaitResult())
    assert "evict hog" not in ours.live.done
    ours.node.configure(settings_with(eviction=CONFIG, listen_address=""))
    ours.loop.cycle(WaitResult())
    assert "evict hog" in ours.live.done


def test_the_same_setting_keeps_what_the_dry_run_has_logged(make: Make) -> None:
    ours = make([observe(GI // 2)], dry_run=True)
    before = ours.node.effects
    ours.node.configure(settings_with(eviction=CONFIG, dry_run=True, listen_address=""))
    assert ours.node.effects is before


def test_a_heartbeat_follows_each_status_update_frequency(make: Make) -> None:
    ours = make([observe(4 * GI)])
    for now in (0, 10 * SECOND - 1, 10 * SECOND):
        ours.node.heartbeat(Reading(now=now, wall=0, observation=observe(4 * GI)))
    assert ours.live.done == ["heartbeat"] * 2
