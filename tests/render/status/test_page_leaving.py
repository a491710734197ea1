"""The pods that are being evicted, on the page."""

from evictd.render.status.headline import headline
from evictd.render.status.leaving_pods import is_overdue
from evictd.render.status.page.page_leaving import about_leaving, leaving_rows
from evictd.render.status.times.depletion import Depletion
from evictd.render.status.times.hard_cut import cut_at_hard
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.render.shown_nodes import page, play, pressed
from tests.render.snapshots import incident_snapshot

ENOUGH = "When it was chosen it held 5Gi and 512Mi was missing to the threshold: enough"


def test_each_pod_has_its_own_wait() -> None:
    """The longest wait stood beside each of them: a pod that began to leave 44 minutes ago had 38 s left."""
    short_of_two = play([*[6 * GI] * 89, GI // 2], processes=17_000)
    status = status_of(short_of_two, short_of_two.at)
    late, new = leaving_rows(status, {})
    assert (late["pod"], late["awaits"]) == (
        "default/hog",
        "grace period 1s; it did not end in time, and evictd stopped waiting for it 29m0s ago",
    )
    assert (new["pod"], new["awaits"]) == (
        "default/web",
        "grace period 1s; evictd waits for its end for at most 40s, and then decides anew",
    )
    assert is_overdue(late)
    assert not is_overdue(new)
    text = headline(status).text
    assert "(the first began 44m30s ago); default/hog did not end in time. No other pod is evicted." in text
    assert late["awaits"].replace("29m0s", "29m2s") in page(short_of_two)
    (unseen, _) = leaving_rows(status, {}, seen=False)
    assert unseen["awaits"] == "what became of it since the last reading is not known", "it claimed that it did not end"
    gone = leaving_rows({**status, "leaving": [{**status["leaving"][0], "gone": True}]}, {})
    assert gone[0]["awaits"] == "ended, what it held (80) is awaited"


def test_a_pod_leaves_for_the_signal_that_it_was_evicted_for() -> None:
    """It said `for nodefs.available` of a pod that went for imagefs.available, which is on the same disk."""
    ended = incident_snapshot("12-container-log", 471)
    status = status_of(ended, ended.at)
    assert [row["evictedFor"] for row in leaving_rows(status, {})] == ["nodefs.available"]
    decisions = [{**each, "signal": "imagefs.available"} for each in status["decisions"]]
    assert [row["evictedFor"] for row in leaving_rows({**status, "decisions": decisions}, {})] == ["imagefs.available"]
    assert [row["evictedFor"] for row in leaving_rows({**status, "decisions": []}, {})] == ["nodefs.available"]


def test_a_hard_threshold_that_comes_cuts_the_grace_period() -> None:
    """The page said `at most 15m28s` 15 s before the pod was killed."""
    soft = incident_snapshot("16-long-grace-period", 266)
    status = status_of(soft, soft.at)
    (row,) = status["leaving"]
    cut = "cut to 1s as soon as the hard threshold is met"
    assert cut_at_hard(row, status) == cut
    head = headline(status)
    assert head.text == (
        "memory.available reaches its hard threshold 500Mi in 16s at the present rate; default/slow is being evicted "
        f"(began 1.0s ago) with a grace period of 600s, {cut}."
    )
    assert head.level == "soft", "as the card of the signal"
    assert (
        f"grace period 600s ({cut}, in 16s at the present rate); evictd waits for its end for at most 15m29s without that cut"
        in leaving_rows(status, {})[0]["awaits"]
    )
    assert cut_at_hard(row, {**status, "policy": "Kubelet"}) == ""
    assert cut_at_hard({**row, "gracePeriodSeconds": 1}, status) == ""
    hard = pressed()
    assert cut_at_hard({**row, "signal": "memory.available"}, status_of(hard, hard.at)) == ""


def test_the_end_of_a_pod_is_enough_for_as_long_as_what_grows_elsewhere_leaves() -> None:
    snapshot = pressed()
    status = status_of(snapshot, snapshot.at)
    fall = Depletion("", 8.0, "", 60 * 1024.0**2, "30s")
    (row,) = leaving_rows(status, {"memory.available": fall})
    lasts = "for 1m17s at the rate of the last 30s (60Mi a second), which belongs to no pod"
    assert row["suffices"] == f"{ENOUGH} {lasts}."
    (slow,) = leaving_rows(status, {"memory.available": fall._replace(rate=1024.0)})
    assert slow["suffices"] == f"{ENOUGH} for more than an hour at the rate of the last 30s."
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    (row,) = leaving_rows({**status, "signals": [{**memory, "attribution": None}]}, {})
    assert row["suffices"] == f"{ENOUGH}, if nothing takes more."


def test_while_a_pod_leaves_the_page_says_where_to_learn_from_it() -> None:
    """Four incidents said nothing of what a person can do while the pod was ending."""
    for name, seconds in (("20-fork-bomb", 58.5), ("12-container-log", 470.1), ("26-control-plain-leak", 1125.7)):
        snapshot = incident_snapshot(name, seconds)
        status = status_of(snapshot, snapshot.at)
        assert about_leaving(status).endswith("says what would have avoided this eviction")
        assert "</code> says what would have avoided this eviction" in page(snapshot, 0)
        assert about_leaving({**status, "leaving": []}) == ""


def test_where_the_pods_that_end_are_enough_nothing_is_to_be_done() -> None:
    """With 4.5 s left it named only a command that looks back."""
    snapshot = incident_snapshot("16-long-grace-period", 266)
    status = status_of(snapshot, snapshot.at)
    (row,) = status["leaving"]
    assert about_leaving(status).startswith(f"nothing, if {row['pod']} ends in time; `evictd incident ")
    less = {**status, "leaving": [{**row, "held": row["missing"] - 1}]}
    assert about_leaving(less).startswith("`evictd incident ")
