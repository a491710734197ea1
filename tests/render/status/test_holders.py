"""Who fills and who holds what is short or will be soon."""

import copy

from evictd.core.model.decision import EvictPod
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.status.headline import headline
from evictd.render.status.holders import filled, growers, held_by, measured_before
from evictd.render.text import capital
from evictd.world.behaviours import Burst, Grow, Usage
from evictd.world.loop import play as played
from evictd.world.model import WorldPod
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.playbook import config, pod
from tests.render.played_worlds import unread_leak_run
from tests.render.shown_nodes import approaching, calm, crowded, page, play, pressed
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import MI, world

GROWTH = "In the last 29m30s no pod grew; 3.69Gi more belong to no pod."


def test_before_a_threshold_is_met_the_page_says_who_takes_more_and_who_holds_memory() -> None:
    """It named the largest pods, of which one is never evicted and none grew."""
    head = page(approaching()).partition('<h2 id="order">')[0]
    assert f"<li>{GROWTH}</li>" in head
    assert "<li>Of 21.7Gi used of memory, evictable pods hold 9.92Gi, protected pods hold 4.85Gi; " in head
    assert (
        "<li>Largest pods, with their places in the order of eviction: default/hog (5Gi, place 1), "
        "default/web (4.92Gi, place 2).</li>"
    ) in head
    assert page(approaching()).count("Of 21.7Gi used") == 1
    assert "Largest pods" not in page(calm()) + page(pressed())
    assert not list(held_by(status_of(calm(), calm().at), {"queues": []}))


def test_two_signals_of_one_supply_share_the_sentence_on_the_page() -> None:
    """`In the last 5m0s data/writer grew by 11.7Gi` stood there twice, for nodefs and imagefs of one disk."""
    status = status_of(near := approaching(), near.at)
    assert list(growers({**status, "signals": status["signals"] * 2})) == [GROWTH]


def test_the_place_of_a_large_pod_is_that_of_the_table() -> None:
    text = page(crowded())
    assert "-1-7d4f9c8b6d-x2x01 (4.92Gi, place 24, priority 1)." in text.partition('<h2 id="order">')[0]
    rows = text.partition('<h2 id="order">')[2]
    assert (
        '<td class="number">24</td>\n    <th scope="row">default/worker-with-a-long-name-1-7d4f9c8b6d-x2x01</th>'
        in rows
    )


def test_the_pods_that_grew_are_named_and_disks_say_nothing_of_the_rest() -> None:
    grows = play([4 * GI - number * GI // 16 for number in range(20)], grow=GI // 32)
    status = status_of(grows, grows.at)
    assert list(growers(status)) == ["In the last 9m30s default/hog grew by 608Mi; 608Mi more belong to no pod."]
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    assert memory["growing"]["pods"] == [
        {"pod": "default/hog", "grown": 19 * GI // 32, "filePages": None, "withinRequest": False, "protected": ""}
    ]

    def said(**changed: object) -> list[str]:
        return list(growers({**status, "signals": [{**memory, "growing": {**memory["growing"], **changed}}]}))

    assert said(elsewhere=None) == ["In the last 9m30s default/hog grew by 608Mi."]
    assert said(elsewhere=None, pods=[]) == []
    assert list(growers({**status, "signals": [{**memory, "growing": None}]})) == []


def test_what_all_pods_hold_stands_beside_what_was_taken_where_most_can_be_no_pods() -> None:
    """It took until the second reading of the pods that the page said that no pod fills the disk (world 06)."""
    snapshot = incident_snapshot("06-collection-frees-nothing", 60)
    status = status_of(snapshot, snapshot.at)
    (said,) = growers(status)
    most = "most of that belongs to no pod"
    assert said == f"In the last 1m0s 5.86Gi were taken, and all pods hold 2.34Gi: {most}."
    disks = [{**each, "hostPathPods": ["default/writer"]} for each in status["signals"]]
    (said,) = growers({**status, "signals": disks})
    assert said.endswith(f"{most} or lies in hostPath volumes.")


def test_what_grew_in_a_shorter_time_than_that_of_the_rate_is_a_rate_too() -> None:
    """`1000Mi more` of 10 s stood below a fall of 100Mi a second in the last minute (world 06)."""
    snapshot = incident_snapshot("06-collection-frees-nothing", 70)
    (said,) = growers(status_of(snapshot, snapshot.at))
    assert said == "In the last 10s no pod grew; 100Mi a second more belong to no pod."


def test_what_grew_in_no_pod_may_lie_in_host_path_volumes_where_a_pod_has_one() -> None:
    """It was said to belong to no pod, beside the advice to look at the volumes of a pod (world 02)."""
    snapshot = incident_snapshot("02-host-path-writer", 300)
    (said,) = growers(status_of(snapshot, snapshot.at))
    assert said.endswith("more belong to no pod or lie in hostPath volumes.")


def test_a_leak_that_goes_on_after_the_eviction_of_a_burst_is_named() -> None:
    """The page said `calm again` and named the evicted pod alone, while another one took a mebibyte a second on."""
    leak = WorldPod(pod=pod("leak", memory="3Gi"), behaviours=(Grow(of=Usage.MEMORY, rate=MI),))
    grows = Burst(of=Usage.MEMORY, amount=3400 * MI, start=120 * SECOND, duration=10 * MINUTE, rate=40 * MI)
    run = played(
        world(leak, WorldPod(pod=pod("burst"), behaviours=(grows,))), config(hard={"memory.available": "500Mi"})
    )
    at = next(cycle.at for cycle in run.cycles for each in cycle.step.decisions if isinstance(each, EvictPod)) / SECOND
    for seconds in (1, 40):
        after = snapshot_at(run, at + seconds)
        (text,) = growers(status_of(after, after.at))
        assert "default/leak grew by " in text
        assert text in page(after)
    before = snapshot_at(run, 100)
    assert not list(growers(status_of(before, before.at))), "no pod was evicted, and a threshold is far off"


def test_what_grew_of_another_signal_than_the_near_one_names_it() -> None:
    """`337Mi more belong to no pod` stood below the card of a disk of 160Mi, and was of memory."""
    status = copy.deepcopy(status_of(approaching(), approaching().at))
    memory = next(each for each in status["signals"] if each["signal"] == "memory.available")
    pids = next(each for each in status["signals"] if each["signal"] == "pid.available")
    status["signals"] = [memory, {**pids, "growing": memory["growing"], "fillRate": None, "thresholds": []}]
    after = pressed()
    status["decisions"] = status_of(after, after.at)["decisions"]
    near, other = growers(status)
    assert (near, other.partition(": ")[0]) == (GROWTH, "pid.available")


def test_a_slow_leak_names_its_pod_with_what_it_took_since_the_fall_began() -> None:
    """It named what grew in the last 30 s only, of a leak of half an hour."""
    leak = play([6 * GI] * 10 + [6 * GI - number * GI // 20 for number in range(65)], grow=GI // 20)
    (text,) = growers(status_of(leak, leak.at))
    assert text == "In the last 31m0s default/hog grew by 3.1Gi."


def test_a_signal_that_is_short_has_its_attribution_instead() -> None:
    short = status_of(pressed(), pressed().at)
    assert list(growers(short)) == []
    assert filled(short) == ["Of 1.79Gi that filled memory since 22:57:50, pods took 0; 1.79Gi belong to no pod."]
    assert filled(status_of(calm(), calm().at)) == []


def test_the_name_of_a_pod_keeps_its_first_letter() -> None:
    assert capital("pods took 0") == "Pods took 0"
    assert capital("default/web holds 1Gi") == "default/web holds 1Gi"


def test_amounts_of_processes_say_what_they_count() -> None:
    """`hard threshold 3276` and `grew by 12001` stood without a unit."""
    forked = incident_snapshot("46-control-recreated-fork-bomb", 245)
    status = status_of(forked, forked.at)
    assert "reaches its hard threshold 3276 processes in" in headline(status).text
    assert list(growers(status)) == ["In the last 50s default/bomb-1 grew by 10000 processes."]


def test_an_earlier_measurement_is_shown_with_its_age() -> None:
    """`4.49Gi` was 40 s old, and only `no stats` near the end of the page hinted at it."""
    unread = snapshot_at(unread_leak_run(240), 270)
    text = page(unread, 0)
    assert "default/leak (4.49Gi, measured 40s before, place 1), default/web-0 (250Mi, place 2)" in text
    assert "while default/web-0 does not exceed its own (measured 40s before)." in text
    assert "4.49Gi, measured 40s before</td>" in text
    assert measured_before({"usage": 1}) == ""


def test_the_growth_of_a_pod_ends_with_its_last_measurement() -> None:
    """`In the last 3m20s` had the growth until its last measurement, 30s before."""
    hog = snapshot_at(unread_leak_run(180), 200)
    (grown,) = growers(status_of(hog, hog.at))
    assert grown == "In 2m50s, up to 30s before the last reading, default/leak grew by 3.32Gi."


def test_the_growth_of_a_pod_that_gives_back_and_grows_again_is_that_of_the_last_minute() -> None:
    """`In the last 5m0s default/heap grew by 808Mi` stood beside a fall of 30Mi a second (world 35)."""
    heap = incident_snapshot("35-control-leak-and-release", 1500)
    status = status_of(heap, heap.at)
    assert list(growers(status)) == ["In the last 30s default/heap grew by 900Mi."]


def test_where_little_grew_beside_what_is_missing_the_page_says_who_holds_it() -> None:
    """`Of 50Mi that filled the disk pods took 50Mi` stood alone where 91Gi of no pod had been there before (world 13)."""
    disk = incident_snapshot("13-pinned-deployment", 300)
    held = "Of 91Gi used of the disk, evictable pods hold 50Mi; 91Gi belong to no pod or lie in hostPath volumes."
    status = status_of(disk, disk.at)
    assert filled(status) == [held]
    assert {each["filled"] for each in status["decisions"] if each["kind"] == "EvictPod"} <= {held, ""}


def test_the_growth_of_pods_beside_those_that_are_named_is_in_the_sum() -> None:
    """Three pods grew by 1.05Gi together beside a fall of 15Mi a second for two minutes: two more grew (world 30)."""
    hogs = incident_snapshot("30-control-many-hogs", 121)
    (text,) = growers(status_of(hogs, hogs.at))
    each = ", ".join(f"default/leak-{number} by 360Mi" for number in range(3))
    assert text == f"In the last 2m0s pods grew by 1.76Gi: {each}, others by 720Mi."
