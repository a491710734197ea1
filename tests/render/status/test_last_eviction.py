"""Which pods were evicted last."""

from evictd.render.status.headline import after_eviction, headline, look_back
from evictd.render.status.last_eviction import evicted_together, last_eviction, last_eviction_text
from tests.daemon.status import status_of
from tests.render.shown_nodes import calm, pressed, recovered, rehearsed
from tests.render.snapshots import incident_snapshot


def test_the_last_eviction_is_known_for_an_hour_unless_a_pod_is_being_evicted() -> None:
    over = recovered()
    status = status_of(over, over.at)
    last = last_eviction(status)
    assert last is not None
    assert last_eviction_text(status, last) == "default/hog was evicted 10m0s ago for memory.available"
    assert len(after_eviction(status)) == 2, "why it was chosen, and who filled memory"
    assert look_back(status).startswith("`evictd incident uid-hog` says")
    for other in ({**status, "ageSeconds": 3600}, *(status_of(each, each.at) for each in (pressed(), calm()))):
        assert last_eviction(other) is None
        assert after_eviction(other) == ()
        assert look_back(other) == ""
    dry = rehearsed()
    rehearsal = status_of(dry, dry.at)
    would = last_eviction(rehearsal)
    assert would is not None
    assert last_eviction_text(rehearsal, would).startswith("default/hog would have been evicted "), "it evicted none"
    assert after_eviction(rehearsal) == ()


def test_pods_that_were_evicted_shortly_after_one_another_are_counted_and_named() -> None:
    """The headline named only the last of five."""
    snapshot = incident_snapshot("22-minimum-reclaim", 400)
    status = status_of(snapshot, snapshot.at)
    last = last_eviction(status)
    assert last is not None
    pods = "(default/stress-00, default/stress-01, default/stress-02 and 2 more)"
    assert last_eviction_text(status, last) == f"5 pods were evicted 1m30s ago for memory.available {pods}"
    assert headline(status).text.startswith(
        f"Calm again: 5 pods were evicted 1m30s ago for memory.available {pods}; no"
    )
    other = {**status, "decisions": [{**each, "signal": "pid.available"} for each in status["decisions"][:-1]]}
    other["decisions"].append(status["decisions"][-1])
    assert last_eviction_text(other, last) == "default/stress-04 was evicted 1m30s ago for memory.available"


def test_of_several_evictions_the_last_one_is_what_can_be_looked_back_at() -> None:
    snapshot = incident_snapshot("22-minimum-reclaim", 400)
    status = status_of(snapshot, snapshot.at)
    last = last_eviction(status)
    assert last is not None
    assert evicted_together(status, last) == [f"default/stress-0{number}" for number in range(5)]
    assert look_back(status).endswith("says what would have avoided the last of these evictions")
