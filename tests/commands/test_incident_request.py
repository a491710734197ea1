"""Decides recorded cycles again with other requests."""

from dataclasses import replace

from evictd.codec.records.journal import decode_entry
from evictd.commands.decided.incident_request import asked_request, with_request
from evictd.core.model.resources import EPHEMERAL_STORAGE, Container
from evictd.core.model.signal import Signal
from evictd.core.units.quantity import of_bytes
from evictd.render.history.evictions import evictions_of
from evictd.render.incident.record.collect import incident_of
from tests.daemon.world import GI, STATIC, WEB, pod, uses
from tests.playbook import usage
from tests.render.recorded_incident import OLD, journal_lines, recorded
from tests.shortages import holders


def test_the_decision_is_made_again_with_a_request() -> None:
    """A small neighbour over its request was said to go in the place of a pod that alone holds what is missing."""
    entry = decode_entry(journal_lines()[1])
    found = incident_of(recorded(), evictions_of(recorded()), "last")
    assert with_request(entry, found) == "default/web"
    full = replace(pod("full"), containers=(Container(name="main", limits={EPHEMERAL_STORAGE: of_bytes(1 << 20)}),))
    stats = {**entry.observation.pod_stats, full.uid: usage(full, memory="1Mi", rootfs="2Mi")}
    seen = replace(entry.observation, pods=(full, OLD, WEB, STATIC), pod_stats=stats)
    assert with_request(replace(entry, observation=seen), found) == "default/web", "not the one over its limit"
    small = pod("web")
    stats = {**entry.observation.pod_stats, small.uid: uses(small, GI // 16, entry.now)}
    held = holders({OLD.uid: 6 * GI, small.uid: GI // 16}, {OLD.uid: GI}, at=entry.now)
    beside_a_small_one = replace(
        entry,
        state=replace(entry.state, holdings={Signal.MEMORY_AVAILABLE: held}),
        observation=replace(entry.observation, pod_stats=stats, pods=(OLD, small, STATIC)),
    )
    assert with_request(beside_a_small_one, found) == "default/hog-old"
    assert with_request(entry, replace(found, signal=Signal.PID_AVAILABLE)) is None, "PIDs are not requested"
    assert with_request(entry, found, 6 * GI) == "default/hog-old", "it has grown so much past that request"


def test_a_resize_that_was_not_granted_is_read_from_the_cycle() -> None:
    records = recorded()
    found = incident_of(records, evictions_of(records), "last")
    entry = decode_entry(journal_lines()[1])
    assert asked_request(entry, found) == 0
    asking = Container(name="main", requests={"memory": of_bytes(GI)}, asked={"memory": of_bytes(6 * GI)})
    pods = (replace(OLD, containers=(asking,)), WEB)
    entry = replace(entry, observation=replace(entry.observation, pods=pods))
    assert asked_request(entry, found) == 6 * GI
