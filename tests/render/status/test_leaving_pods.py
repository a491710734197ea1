"""The tests of status/leaving_pods."""

from io import StringIO

import pytest
from rich.console import Console

from evictd.render.status.headline import headline
from evictd.render.status.leaving_pods import (
    are_enough,
    awaited_measurement,
    awaited_pods,
    awaited_seconds,
    awaited_text,
    is_too_little,
    leaves,
    leaves_for,
    may_have_grown,
    only_if,
    waits_at_most,
)
from evictd.render.status.page.page_leaving import about_leaving
from evictd.render.status.remedy.remedies import remedies, to_do
from evictd.render.status.times.depletion import depletions
from evictd.render.status.view import status_view
from evictd.world.loop import Run
from tests.daemon.status import status_of
from tests.render.played_worlds import one_disk_run, unread_leak_run
from tests.render.shown_nodes import page
from tests.render.snapshots import incident_snapshot, snapshot_at


@pytest.mark.parametrize(("held", "little", "enough"), [(5, True, False), (9, False, True), (None, False, False)])
def test_what_the_leaving_pods_hold_is_compared_with_what_was_missing(
    held: int | None, little: bool, enough: bool
) -> None:
    rows = [{"pod": "a/b", "signal": "pid.available", "gone": False, "held": held, "missing": 7}]
    pids, memory = {"signal": "pid.available"}, {"signal": "memory.available"}
    assert is_too_little(rows, pids) is little
    assert are_enough(rows, pids) is enough
    assert not is_too_little(rows, memory)
    assert not are_enough(rows, memory)
    assert leaves("a/b", rows)
    assert not leaves("a/b", [{**rows[0], "gone": True}])


@pytest.fixture(scope="module")
def one_disk(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A node with one disk, of which the threshold of imagefs is met first."""
    return one_disk_run(tmp_path_factory.mktemp("worlds"))


def test_of_one_disk_a_pod_leaves_for_the_signal_that_it_was_evicted_for(one_disk: Run) -> None:
    """It was said to leave for nodefs, and that the disk is full in a minute, without the pod that ends before."""
    leaving = snapshot_at(one_disk, 191)
    status = status_of(leaving, leaving.at)
    assert [(row["signal"], row["supply"]) for row in status["leaving"]] == [("imagefs.available", "nodefs.available")]
    disks = [each for each in status["signals"] if each["signal"] in {"nodefs.available", "imagefs.available"}]
    assert [leaves_for(status["leaving"][0], each) for each in disks] == [True, True]
    assert "unless default/leak has ended by then" in depletions(status)["imagefs.available"].text


def test_of_one_disk_a_remedy_is_said_once(one_disk: Run) -> None:
    """It stood there for imagefs, and again for nodefs with the images that had been removed a moment ago."""
    after = snapshot_at(one_disk, 206)
    (remedy,) = remedies(status_of(after, after.at))
    assert (
        remedy
        == "end, move or limit default/big, which grew the most; `evictd why default/big` says what would keep that pod"
    )


def test_where_the_leaving_pod_is_enough_nothing_is_to_be_removed_elsewhere() -> None:
    """`Remove files outside pods` stood beside the eviction of the pod that held all of them."""
    files = incident_snapshot("09-inodes-of-a-volume", 240.1)
    assert remedies(status_of(files, files.at)) == []


def test_what_a_leaving_pod_without_statistics_took_is_not_outside_pods() -> None:
    """`What grew belongs to no pod` stood beside the eviction of the pod that grew."""
    leak = snapshot_at(unread_leak_run(240), 285)
    status = status_of(leak, leak.at)
    assert may_have_grown(status["leaving"], status["signals"][0])
    assert not may_have_grown([], status["signals"][0])
    assert remedies(status) == []


AWAITED = "evictd waits for what default/chatty should free (68.8Gi, for 9.5s at most)"


def test_what_an_ended_pod_frees_is_awaited_before_another_one_goes() -> None:
    """It said that nothing is left in 59 s and that an innocent pod goes next, though the writer had ended."""
    ended = incident_snapshot("12-container-log", 471)
    status = status_of(ended, ended.at)
    assert headline(status).text == f"nodefs.available is below its hard threshold (8.8Gi left, limit 10Gi); {AWAITED}."
    assert depletions(status) == {}
    body = page(ended, 0)
    assert "reaches 0" not in body
    assert "nothing is left of" not in body
    assert "default/web-0 (300Mi) would be evicted next, if what default/chatty should free is not enough" in body
    assert about_leaving(status).startswith("nothing, if what default/chatty held comes back; `evictd incident ")
    calm = [{**each, "thresholds": []} for each in status["signals"]]
    assert about_leaving({**status, "signals": calm}) == "", "nothing is short"


def test_below_a_soft_threshold_it_is_awaited_as_well() -> None:
    ended = incident_snapshot("12-container-log", 471)
    status = status_of(ended, ended.at)
    soft = [
        {**each, "thresholds": [{**limit, "kind": "soft"} for limit in each["thresholds"]]}
        for each in status["signals"]
    ]
    text = headline({**status, "signals": soft}).text
    assert text.endswith(f"soft threshold (8.8Gi left, limit 10Gi). {AWAITED[0].upper()}{AWAITED[1:]}.")


def test_the_signals_of_one_supply_await_the_same_pods() -> None:
    entry = {"signal": "imagefs.available", "attribution": {"signal": "nodefs.available"}}
    row = {"pod": "a/b", "signal": "nodefs.available", "gone": True, "held": 7, "missing": 5}
    assert awaited_pods({"leaving": [row]}, entry) == ["a/b"]
    assert awaited_pods({"leaving": [{**row, "gone": False}]}, entry) == []
    assert awaited_pods({"leaving": [row]}, {"signal": "memory.available", "attribution": None}) == []
    assert awaited_pods({"leaving": [{**row, "held": 4}]}, entry) == [], "another one may have to go"
    both = {"leaving": [row, {**row, "pod": "a/c"}]}
    assert awaited_text(both, entry) == "evictd waits for what a/b, a/c should free (14)", "of an older daemon"
    timed = {"leaving": [{**row, "awaitedForSeconds": 3.0}, {**row, "pod": "a/c", "awaitedForSeconds": 12.0}]}
    assert awaited_seconds(timed, entry) == 12
    assert awaited_text(timed, entry) == "evictd waits for what a/b, a/c should free (14, for 12s at most)"
    assert waits_at_most(0) == ""


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("12-container-log", 470.3),
        ("10-inodes-of-high-priority", 240.3),
        ("33-control-containers-of-a-daemon-set", 370.3),
    ],
)
def test_nothing_is_to_be_done_while_what_an_ended_pod_held_is_awaited(name: str, seconds: float) -> None:
    """It advised to free disk space outside pods, or to end a small pod, just after the end of the one that filled the disk."""
    ended = incident_snapshot(name, seconds)
    status = status_of(ended, ended.at)
    assert to_do(status) == ""
    assert about_leaving(status).startswith("nothing, if what ")


def test_the_terminal_says_for_how_long_it_is_awaited() -> None:
    ended = incident_snapshot("12-container-log", 471)
    console = Console(width=120, file=StringIO())
    console.print(status_view(status_of(ended, ended.at), width=120))
    assert isinstance(console.file, StringIO)
    line = "\nevicted: default/chatty, ended, what it held (68.8Gi) is awaited for 9.5s at most"
    assert line in console.file.getvalue()


def test_a_measurement_that_holds_back_an_eviction_has_its_time_in_the_headline() -> None:
    """It said which pod would be evicted and not when; the wait stood below without what was left of it."""
    waits = incident_snapshot("33-control-containers-of-a-daemon-set", 365)
    status = status_of(waits, waits.at)
    assert headline(status).text == (
        "imagefs.available is below its hard threshold (7.01Gi left, limit 7.5Gi); default/writer would be evicted first, "
        "once the pods are measured (in 25s at most)."
    )
    assert awaited_measurement({"measuresForSeconds": None}) == ""


def test_the_terminal_says_that_the_pods_are_measured_first() -> None:
    """It said `Watching` below a hard threshold, and not why no pod went (world 29)."""
    snapshot = incident_snapshot("29-control-images-of-a-victim", 279)
    console = Console(width=120, file=StringIO())
    console.print(status_view(status_of(snapshot, snapshot.at), width=120))
    assert isinstance(console.file, StringIO)
    assert "nodefs.available: evictd decides once the pods are measured (in 24s at most)" in console.file.getvalue()


def test_on_what_condition_the_next_pod_goes() -> None:
    leaves, gone = {"pod": "a/b", "gone": False}, {"pod": "a/c", "gone": True}
    assert only_if({"leaving": [leaves, gone]}) == "if the end of a/b is not enough"
    assert only_if({"leaving": [leaves, leaves]}) == "if their end is not enough"
    assert only_if({"leaving": [gone], "asked": [leaves]}) == "if a/b may not go"
    assert only_if({"leaving": [gone], "asked": []}) == "if what a/c should free is not enough"
    assert only_if({"leaving": [], "asked": []}) == ""
