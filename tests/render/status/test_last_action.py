"""Which pods were evicted last, and what evictd removed last."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from evictd.act.dry_run import UNLESS, WOULD
from evictd.render.status.headline import after_eviction, headline, look_back
from evictd.render.status.last_action import (
    avoided_text,
    evicted_together,
    last_eviction,
    last_eviction_text,
    last_reclaim,
    last_reclaim_text,
)
from evictd.render.status.view import status_view
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
    assert look_back(status).startswith("`evictd incident default/hog` says")
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


def test_an_eviction_of_a_dry_run_that_a_reclaim_may_make_needless_is_said_to_depend_on_it() -> None:
    """The headline said that the pod would have been evicted, where only the log said on what that depends."""
    dry = rehearsed()
    status = status_of(dry, dry.at)
    last = last_eviction(status)
    assert last is not None
    unless = {**last, "text": last["text"].replace(WOULD, UNLESS, 1)}
    assert last_eviction_text(status, unless).endswith(", unless the reclaim before had freed enough")
    assert "unless" not in last_eviction_text(status, last)


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


@pytest.mark.parametrize(
    ("world", "seconds", "advice"),
    [
        ("20-fork-bomb", 200, "mend default/bomb, or bound it by podPidsLimit of the kubelet, before it runs again; "),
        ("17-daemon-sets-a-little-over", 600, "mend or limit default/job before it runs again; "),
        ("27-control-volume-writer", 400, "mend or limit default/writer before it runs again; "),
        ("18-active-page-cache", 400, ""),
    ],
)
def test_the_pod_that_filled_the_node_is_to_be_mended(world: str, seconds: int, advice: str) -> None:
    """The page referred to `evictd incident` alone; a pod of page cache is not to be mended."""
    snapshot = incident_snapshot(world, seconds)
    status = status_of(snapshot, snapshot.at)
    assert look_back(status).partition("`")[0] == advice
    (*_, last) = [each for each in status["decisions"] if each["pod"]]
    owned = [{**last, "owner": "default/Deployment/app"}]
    assert look_back({**status, "decisions": owned}).startswith("mend") is bool(advice)
    assert ("what Deployment/app runs" in look_back({**status, "decisions": owned})) is bool(advice)


def test_a_pod_that_did_not_take_most_is_not_to_be_mended() -> None:
    snapshot = incident_snapshot("17-daemon-sets-a-little-over", 600)
    recent = tuple(replace(each, took_most=False) for each in snapshot.recent)
    status = status_of(replace(snapshot, recent=recent), snapshot.at)
    last = last_eviction(status)
    assert last is not None
    assert avoided_text(status, last).startswith("`evictd incident ")
    assert avoided_text(status, {**last, "incident": ""}) == ""


def test_a_node_that_was_relieved_without_an_eviction_says_what_was_removed() -> None:
    """The headline said only that no threshold is met, beside a condition that is still reported."""
    snapshot = incident_snapshot("28-control-dead-containers", 400)
    status = status_of(snapshot, snapshot.at)
    begun = "evictd began to delete unused containers and images for nodefs.available 1m50s ago"
    for each in status["decisions"]:
        each["freed"] = None
    assert last_reclaim_text(status) == begun
    assert headline(status).text == (
        f"Calm again: {begun}; no threshold is met; DiskPressure is reported for at least 3m10s more."
    )


def test_a_reclaim_that_has_ended_is_not_said_to_begin() -> None:
    snapshot = incident_snapshot("28-control-dead-containers", 400)
    status = status_of(snapshot, snapshot.at)
    done = "evictd deleted unused containers and images for nodefs.available 1m50s ago (1 removed, 40Gi freed)"
    assert last_reclaim_text(status) == done
    assert headline(status).text.startswith(f"Calm again: {done}; no threshold is met")
    console = Console(width=140, file=StringIO())
    console.print(status_view(status, width=140))
    assert isinstance(console.file, StringIO)
    assert "for nodefs.available; 1 removed, 40Gi freed\n" in console.file.getvalue()
    for each in status["decisions"]:
        each.update(removed=0, freed=each["freed"] and 0)
    assert last_reclaim_text(status).startswith("evictd looked for unused containers and images for nodefs.available")
    assert last_reclaim_text(status).endswith("(nothing was removed)")


def test_a_node_is_not_calm_while_the_rate_since_the_reclaim_is_unknown() -> None:
    """It said `Calm again` while a pod filled the disk by 35Mi a second: the rate is not known just after what came back."""
    snapshot = incident_snapshot("28-control-dead-containers", 400)
    status = status_of(snapshot, snapshot.at)
    last = last_reclaim(status)
    assert last is not None
    assert last["signal"] == "nodefs.available"
    (disk,) = (each for each in status["signals"] if each["signal"] == "nodefs.available")
    disk.update(fillRate=None, fellBefore=None)
    text = headline(status).text
    assert text.startswith("evictd deleted unused containers and images")
    assert "no threshold is met, but how fast nodefs.available falls now is not known yet" in text
    assert last_reclaim({**status, "decisions": []}) is None
    for each in status["decisions"]:
        each["signal"] = ""
    assert headline(status).text.startswith("Calm again"), "it is unknown for what"


def test_nothing_is_said_after_an_hour_and_of_a_dry_run() -> None:
    assert last_reclaim_text(status_of(calm(), calm().at)) == ""
    snapshot = incident_snapshot("28-control-dead-containers", 400)
    status = status_of(snapshot, snapshot.at)
    rehearsed = [{**each, "dryRun": True} for each in status["decisions"]]
    assert last_reclaim_text({**status, "decisions": rehearsed}) == ""
    assert last_reclaim_text({**status, "ageSeconds": 3600}) == ""


def test_the_pod_that_a_budget_keeps_is_named_after_the_eviction_of_another_one() -> None:
    """All that was to do was to read the incident, and the guarded pod grew on."""
    over = recovered()
    status = status_of(over, over.at)
    last = last_eviction(status)
    assert last is not None
    guarded = [{**each, "stopPod": "shop/pay", "stopPodGuard": "disruption budget"} for each in status["signals"]]
    text = avoided_text({**status, "signals": guarded}, last)
    assert text.startswith("let the disruption budget of shop/pay allow its eviction (`kubectl -n shop get pdb`)")
    assert text.endswith("; `evictd incident default/hog` says what would have avoided that eviction")
