"""The state of a node in one sentence."""

from typing import Any

import pytest

from evictd.core.units.duration import MINUTE
from evictd.render.status.headline import (
    OwnFault,
    beside_faults,
    headline,
)
from evictd.render.status.own_faults import OwnFaultKind
from evictd.render.status.page.node_page import why_nothing
from evictd.render.status.times.depletion import depletions
from evictd.render.status.times.timing import time_lines
from evictd.world.behaviours import Usage
from evictd.world.loop import play as world_play
from evictd.world.model import Disk, NodeSpec
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.playbook import config
from tests.render.shown_nodes import approaching, page, play, pressed, recovered, rehearsed
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import MI, hog, world


def test_after_the_first_reading_no_node_is_called_calm() -> None:
    """`This node is calm` stood ten seconds before an eviction: no rate was known."""
    first, second = play([6 * GI]), play([6 * GI, 6 * GI])
    said = headline(status_of(first, first.at))
    assert (said.level, said.text) == (
        "soft",
        "No threshold is met; how fast signals fall is known from the second reading on.",
    )
    assert headline(status_of(second, second.at)).level == "calm"
    assert "Nearest by distance" in page(first)


def test_a_signal_that_falls_and_is_exactly_at_its_threshold_is_not_calm() -> None:
    at_limit = play([3 * GI, 2 * GI])
    assert headline(status_of(at_limit, at_limit.at)).text.startswith(
        "memory.available reaches its soft threshold 2Gi at any moment at the present rate"
    )


def test_a_hard_threshold_that_is_met_before_a_grace_period_ends_is_the_headline() -> None:
    sinking = play([3 * GI, 2 * GI, 3 * GI // 2])
    assert headline(status_of(sinking, sinking.at)).text == (
        "memory.available reaches its hard threshold 1Gi in 20s at the present rate, before its soft threshold acts (in 1m30s). "
        "default/hog would be evicted first, with a grace period of 1s."
    )


def test_below_a_hard_threshold_the_headline_says_what_evictd_does() -> None:
    snapshot = pressed()
    status: dict[str, Any] = {**status_of(snapshot, snapshot.at), "leaving": [], "phase": {"name": "Reclaiming"}}
    (memory,) = [entry for entry in status["signals"] if entry["signal"] == "memory.available"]
    first = "memory.available is below its hard threshold (512Mi left, limit 1Gi). evictd"
    memory["next"] = {"pod": "default/hog"}
    then = "if that is not enough."
    assert headline(status).text == f"{first} removes what no pod needs; default/hog is evicted {then}"
    dry = headline({**status, "dryRun": True})
    assert dry.text == f"Dry run: {first} would remove what no pod needs; default/hog would be evicted {then}"
    assert tuple(why_nothing(status, {"notes": ()}, dry)) == ()
    blocked = {
        **status,
        "phase": {"name": "Watching"},
        "signals": [{**memory, "next": None, "stop": "no pod may go", "stopBrief": "no pod may go"}],
    }
    once = ("memory.available: no pod may go",)
    assert tuple(why_nothing(blocked, {"notes": once}, headline(blocked))) == once, "it stood among the notes too"
    dry_run = {**blocked, "dryRun": True}
    assert next(why_nothing(dry_run, {"notes": once}, headline(dry_run))).startswith("evictd is in a dry run")
    copy = {**memory, "thresholds": [{**each, "origin": "derived"} for each in memory["thresholds"]]}
    other = {**memory, "signal": "pid.available"}
    copies = [memory, {**copy, "signal": "containerfs.available"}, other]
    assert headline({**status, "signals": copies, "phase": {"name": "Watching"}, "decisions": []}).text == (
        "memory.available, pid.available are below their hard thresholds; default/hog would be evicted first."
    )


def test_a_fall_from_which_the_signal_recovered_before_has_a_caveat() -> None:
    """A heap that grows and is collected every two minutes "would be evicted then", each time."""
    texts = []
    for seconds in (120, 660):
        snapshot = incident_snapshot("35-control-leak-and-release", seconds)
        status = status_of(snapshot, snapshot.at)
        (line,) = time_lines(status)
        texts.append(headline(status).text)
        assert texts[-1] == f"{line}. default/heap would be evicted then."
    assert "rose again" not in texts[0], "it was not as low before"
    assert texts[1].startswith(
        "memory.available reaches its hard threshold 500Mi in 40s at the present rate, but within the last hour it rose again "
        "from 1.07Gi."
    ), "as low as now could mean as low as the threshold"


def test_what_is_done_and_when_nothing_is_left_come_first_below_a_hard_threshold() -> None:
    """The time stood one line below the headline; then it hid the pod that was being evicted."""
    snapshot = pressed()
    status = status_of(snapshot, snapshot.at)
    falls = depletions(status)
    assert headline(status, (), falls).text.startswith(
        "default/hog is being evicted (began 0.0s ago); memory.available reaches 0 in 8.4s at this rate (512Mi left, hard"
    )
    (memory,) = [entry for entry in status["signals"] if entry["signal"] == "memory.available"]
    both = {**status, "signals": [memory, {**memory, "signal": "pid.available"}]}
    assert headline(both, (), falls).text.startswith(
        "default/hog is being evicted (began 0.0s ago); memory.available reaches 0 in 8.4s at this rate; pid.available is below"
    )


def test_a_pod_that_does_not_end_in_time_and_why_no_other_goes_stand_in_the_headline() -> None:
    """Both stood far below, under the order of eviction and the findings."""
    stuck = play([6 * GI] * 5, processes=17_000)
    status = status_of(stuck, stuck.at)
    head = headline(status)
    assert head.text == (
        "pid.available is below its hard threshold (15768 processes left, limit 16384); default/hog is being evicted "
        "(began 2m0s ago) and did not end in time. No other pod is evicted: default/hog holds the most of all pods and has "
        "not ended."
    )
    (why,) = why_nothing(status, {"notes": ()}, head)
    assert "; 616 processes are needed" in why
    waits = play([6 * GI] * 2, processes=17_000)
    status = status_of(waits, waits.at)
    assert headline(status).text.endswith("default/hog is being evicted (began 30s ago).")
    assert tuple(why_nothing(status, {"notes": ()}, head)) == ()


def test_where_several_signals_are_short_the_reasons_for_no_other_eviction_stand_below_the_headline() -> None:
    """It filled 13 lines of a phone: one signal stood in it twice, and the reason of one of two with its amounts."""
    stuck = play([*[6 * GI] * 89, GI // 2], processes=17_000)
    status = status_of(stuck, stuck.at)
    assert headline(status, (), depletions(status)).text == (
        "default/hog, default/web are being evicted (the first began 44m30s ago); default/hog did not end in time. "
        "No other pod is evicted; memory.available reaches 0 in 2.7s at this rate; pid.available is below its hard threshold "
        "as well."
    )


def test_a_grace_period_and_a_transition_period_are_told_apart() -> None:
    soft = play([int(1.5 * GI)])
    status = status_of(soft, soft.at)
    head = headline(status)
    assert head.text == (
        "memory.available (1.5Gi left): the soft threshold acts in 1m30s at the latest, unless 512Mi come back. "
        "default/hog would be evicted first."
    )
    assert tuple(why_nothing(status, {"notes": ()}, head)) == ()
    over = play([6 * GI, int(1.5 * GI), 6 * GI])
    assert "No threshold is met; MemoryPressure is reported for at least 4m" in headline(status_of(over, over.at)).text


def test_a_threshold_that_is_near_is_no_calm() -> None:
    falling = play([5 * GI, 9 * GI // 2, 4 * GI])
    near = headline(status_of(falling, falling.at))
    assert near.level == "soft"
    assert near.text == (
        "memory.available reaches its soft threshold 2Gi in 2m0s at the present rate. "
        "default/hog would be evicted in about 3m0s, at the hard threshold 1Gi."
    )
    slow = play([6 * GI, 6 * GI - GI // 64, 6 * GI - GI // 32])
    assert headline(status_of(slow, slow.at)).level == "calm"


def test_a_threshold_with_a_grace_period_acts_after_it() -> None:
    """The sentence read as if a pod were evicted when the threshold is met."""
    falling = approaching()
    status = status_of(falling, falling.at)
    text = headline(status).text
    assert text.endswith("default/hog would be evicted in about 4m0s (grace period 1m30s).")
    (memory,) = [entry for entry in status["signals"] if entry["signal"] == "memory.available"]
    hard = [each for each in memory["thresholds"] if each["kind"] == "hard"]
    at_once = headline({**status, "signals": [{**memory, "thresholds": [{**hard[0], "secondsToThreshold": 20.0}]}]})
    assert at_once.text.endswith("1Gi in 20s at the present rate. default/hog would be evicted then.")
    none = headline(
        {
            **status,
            "signals": [{**memory, "next": None, "stop": "no pod may go; not one", "stopBrief": "no pod may go"}],
        }
    )
    assert none.text.endswith("at the present rate. No pod would be evicted: no pod may go.")


def test_a_fault_says_since_when_and_hides_no_eviction() -> None:
    acting, near = (status_of(each, each.at) for each in (pressed(), approaching()))
    fault = OwnFault(OwnFaultKind.LISTED_PODS, "UNAVAILABLE", "2023-11-14T22:42:03Z")
    wrong = "evictd cannot see new pods: the container runtime does not answer (for 47s, since 22:42:03 UTC)."
    assert headline(near, [fault]).text == wrong
    assert beside_faults(near, [fault])[0].startswith("Thresholds are tested and the usage of pods is measured; only")
    assert beside_faults(near, [fault])[1] == headline(near).text
    assert beside_faults(near, [fault])[2].endswith("evictd kills the pod's processes itself, if it may.")
    allowed, denied = (beside_faults(near, [fault._replace(may_kill=each)])[2] for each in (True, False))
    assert allowed.endswith("evictd kills the pod's processes itself.")
    assert "evictd may not kill its processes here: the pods' cgroups are read-only" in denied
    assert beside_faults({**near, "policy": "Kubelet"}, [fault])[2].endswith(
        "Only the runtime stops it (policy Kubelet)."
    )
    assert len(beside_faults({**near, "dryRun": True}, [fault])) == 2, "a dry run stops no pod"
    later = wrong.replace("47s", "16m17s")
    assert headline(acting, [fault]).text == f"{headline(acting).text} {later}"
    assert len(beside_faults(acting, [fault])) == 2
    stuck = OwnFault(OwnFaultKind.STUCK, "for 10m")
    assert headline(acting, [stuck]).text == (
        f"{OwnFaultKind.STUCK.value}. At the last reading memory.available was below its hard threshold (512Mi left, limit 1Gi) "
        "and default/hog was being evicted."
    )
    assert headline(near, [stuck]).text == f"{OwnFaultKind.STUCK.value}."
    assert beside_faults(acting, [stuck]) == []
    assert beside_faults(acting, []) == []


def test_a_dry_run_that_could_evict_no_pod_says_so() -> None:
    dry = rehearsed()
    status = status_of(dry, dry.at)
    (memory,) = [entry for entry in status["signals"] if entry["signal"] == "memory.available"]
    blocked = {**memory, "next": None, "stopBrief": "1Gi is missing"}
    assert headline({**status, "signals": [blocked]}).text.endswith("evictd would evict no pod: 1Gi is missing.")


def test_after_an_eviction_a_node_whose_memory_falls_on_is_not_calm_again() -> None:
    """It was `Calm again` 12 s before the next eviction: its own rise hid the fall."""
    evicted = incident_snapshot("07-kernel-memory", 296)
    assert headline(status_of(evicted, evicted.at)).text == (
        "default/web-1 was evicted 1.0s ago for memory.available; no threshold is met, but at the rate before (20Mi a "
        "second) memory.available reaches its hard threshold 500Mi in 12s, and evictions pause for 10m0s then; MemoryPressure is "
        "reported for at least 5m0s more."
    )
    assert "At the rate before (20Mi a second) memory.available reaches its hard threshold 500Mi in 12s" in time_lines(
        status_of(evicted, evicted.at)
    )
    again = incident_snapshot("30-control-many-hogs", 480)
    assert headline(status_of(again, again.at)).text.startswith(
        "memory.available reaches its hard threshold 500Mi in 2m26s at the present rate. default/leak-2 would be evicted"
    )
    calm_again = recovered()
    status = status_of(calm_again, calm_again.at)
    assert headline(status).text.startswith("Calm again: ")
    new = [{**each, "fillRate": None} for each in status["signals"]]
    untold = headline({**status, "signals": new, "conditions": []})
    assert (untold.level, untold.text.endswith("how fast memory.available falls now is not known yet.")) == (
        "soft",
        True,
    )


def test_a_node_is_not_calm_again_while_the_same_signal_returns_to_its_threshold() -> None:
    """`Calm again` stood above `pid.available reaches its hard threshold 1638 processes in 10m58s`."""
    seen = recovered()
    status = {**status_of(seen, seen.at), "conditions": [], "owners": []}
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    memory.update(fillRate=0, lately=None)
    assert headline(status).text.startswith("Calm again: default/hog was evicted ")
    memory["thresholds"][0].update(secondsToThreshold=658.0, met=False)
    assert headline(status).text.startswith("default/hog was evicted ")
    memory.update(lately={"overSeconds": 10.0, "fillRate": 0})
    assert headline(status).text.startswith("Calm again: "), "it falls no more"


def test_a_signal_that_cannot_be_read_stands_beside_the_condition_and_the_last_eviction() -> None:
    """While a condition was reported the headline was `Calm again: ... no threshold is met`, and memory was not tested."""
    evicted = recovered()
    status = status_of(evicted, evicted.at)
    memory = {"signal": "memory.available", "observed": False, "absent": False, "thresholds": []}
    pressed_now = [{"type": "MemoryPressure", "status": "True", "staysSeconds": 200.0, "why": ""}]
    text = headline({**status, "signals": [memory], "conditions": pressed_now}).text
    assert text.startswith("default/hog was evicted ")
    assert text.endswith(
        "; no threshold that can be tested is met; memory.available cannot be read; MemoryPressure is reported for at least "
        "3m20s more."
    )


def test_between_two_evictions_the_headline_has_the_last_and_the_next_pod() -> None:
    """Below a hard threshold it said neither that a pod had gone three seconds before nor that another one would go."""
    between = incident_snapshot("06-collection-frees-nothing", 663)
    assert headline(status_of(between, between.at)).text == (
        "nodefs.available is below its hard threshold (9.23Gi left, limit 10Gi); default/web-0 was evicted 2.0s ago for "
        "nodefs.available; default/web-1 would be evicted next."
    )
    before = incident_snapshot("06-collection-frees-nothing", 655)
    goes = "; default/web-0 would be evicted first, once the pods are measured (in 27s at most)."
    assert headline(status_of(before, before.at)).text.endswith(goes)


def test_of_a_disk_the_headline_says_that_what_no_pod_needs_goes_first() -> None:
    """It said that a pod would be evicted; evictd removed dead containers then, and no pod went."""
    near = incident_snapshot("28-control-dead-containers", 240)
    status = status_of(near, near.at)
    at = "nodefs.available reaches its hard threshold 10Gi in 43s at the present rate."
    removes = "Then evictd would remove what no pod needs, and evict default/app if that is too little."
    assert headline(status).text == f"{at} {removes}"


def test_a_long_grace_period_stands_beside_the_hard_threshold_that_cuts_it() -> None:
    """It said that `slow` goes in 20 s, not that it has 600 s to end, and the hard threshold was 37 s away."""
    grace = incident_snapshot("16-long-grace-period", 245)
    assert headline(status_of(grace, grace.at)).text.endswith(
        "default/slow would be evicted first, with a grace period of 600s, cut to 1s as soon as the hard threshold is met, in "
        "37s at the present rate."
    )


def test_below_a_hard_threshold_a_measurement_is_said_to_come_before_the_choice() -> None:
    """The page said that no pod uses any of the disk; a second later evictd had read the layers and evicted one (world 13)."""
    snapshot = incident_snapshot("13-pinned-deployment", 9)
    assert headline(status_of(snapshot, snapshot.at)).text == (
        "nodefs.available is below its hard threshold (8.95Gi left, limit 10Gi); evictd decides once the pods are measured (in "
        "22s at most)."
    )


def test_where_nothing_is_left_what_happens_is_said_for_as_long_as_it_lasts() -> None:
    """That writes fail disappeared from the page as soon as they failed (worlds 02 and 45)."""
    snapshot = incident_snapshot("02-host-path-writer", 500)
    status = status_of(snapshot, snapshot.at)
    text = headline(status, falls=depletions(status)).text
    assert text.startswith(
        "nodefs.available is 0: writes to the disk fail (hard threshold 10Gi). evictd evicts no pod until"
    )
    assert list(time_lines(status)) == []
    assert depletions(status)["nodefs.available"].text == "nodefs.available is 0: writes to the disk fail"


@pytest.mark.parametrize(
    ("soft", "seconds", "said"),
    [
        (
            "15%",
            60,
            "imagefs.available reaches its hard threshold 1.5Gi in 5m36s at the present rate. Then evictd would",
        ),
        (
            "17%",
            300,
            "imagefs.available reaches its hard threshold 1.5Gi in 1m36s at the present rate. Then evictd would",
        ),
        (
            "20%",
            380,
            "imagefs.available reaches its hard threshold 1.5Gi in 23s at the present rate, before the soft threshold",
        ),
    ],
)
def test_the_signal_of_a_disk_that_acts_first_is_the_headline(soft: str, seconds: int, said: str) -> None:
    """The time was that of the soft threshold with its grace period, though a hard one of the same disk acted a minute before."""
    thresholds = config(
        hard={"nodefs.available": "10%", "imagefs.available": "15%"}, soft={"nodefs.available": (soft, "2m")}
    )
    disk = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=10 * GI))
    run = world_play(world(hog(rate=22 * MI, of=Usage.LOGS), node=disk, duration=10 * MINUTE), thresholds)
    near = snapshot_at(run, seconds)
    assert headline(status_of(near, near.at)).text.startswith(said)
