"""Checks what to do about the pod that grew the most, or about several that grew, from the document of `/statusz`."""

from typing import Any

from evictd.render.status.holders import growers
from evictd.render.status.remedy.grower_remedies import about_grower, several_grew
from evictd.render.status.remedy.remedies import to_do
from tests.daemon.status import status_of
from tests.render.snapshots import incident_snapshot


def entry(**changes: Any) -> dict[str, Any]:
    """A signal whose next pod exceeds its request, beside one that grows within its own (world 31)."""
    snapshot = incident_snapshot("31-control-low-priority", 60)
    (memory,) = (each for each in status_of(snapshot, snapshot.at)["signals"] if each["signal"] == "memory.available")
    return {**memory, **changes}


def test_a_pod_that_grows_within_its_request_is_not_the_one_to_end() -> None:
    """The page advised to end a service of high priority that took what it had requested (world 31)."""
    batch = "end, move or limit default/batch, which uses 3Gi and requests 256Mi"
    said = f"{batch}: default/service grew the most, within its request"
    assert about_grower(entry(), "default/service") == said
    snapshot = incident_snapshot("31-control-low-priority", 60)
    assert to_do(status_of(snapshot, snapshot.at)).startswith(said)


def test_else_it_is() -> None:
    plain = "end, move or limit default/service, which grew the most"
    known = entry()
    grew = known["growing"]
    more = [{**each, "withinRequest": False} for each in grew["pods"]]
    assert about_grower(entry(growing={**grew, "pods": more}), "default/service") == plain
    assert about_grower(entry(next=None), "default/service") == plain
    assert about_grower(entry(growing=None), "default/service") == plain
    within = {**known["next"], "request": known["next"]["usage"]}
    assert about_grower(entry(next=within), "default/service") == plain
    none = {**known["next"], "request": 0}
    assert "and requests none" in about_grower(entry(next=none), "default/service")


def test_the_pod_that_goes_at_the_threshold_is_the_one_to_end() -> None:
    """Advice was to end a pod in the place of which the page named another one."""
    goes = {"pod": "default/service", "usage": 8 * MI, "request": MI, "grows": True}
    plain = "end, move or limit default/service, which grew the most"
    assert about_grower(entry(nextIfItGrows=goes), "default/service") == plain
    other = {**goes, "pod": "default/other"}
    grew = "default/service grew the most, within its request"
    grows = "end, move or limit default/other, which would use 8Mi then and requests 1Mi"
    assert about_grower(entry(nextIfItGrows=other), "default/service") == f"{grows}: {grew}"
    holds = "end, move or limit default/other, which uses 8Mi and requests 1Mi"
    assert about_grower(entry(nextIfItGrows={**other, "grows": False}), "default/service") == f"{holds}: {grew}"
    older = {key: value for key, value in other.items() if key != "request"}
    assert about_grower(entry(nextIfItGrows=older), "default/service") == plain


def test_what_a_killed_pod_takes_again_within_its_request_is_no_growth() -> None:
    """Innocent pods that the kernel had killed were named as those that grew (world 08)."""
    snapshot = incident_snapshot("08-host-daemon-of-the-runtime", 440)
    (memory, *_) = status_of(snapshot, snapshot.at)["signals"]
    assert memory["growing"]["ofPods"] == 0
    assert to_do(status_of(snapshot, snapshot.at)).startswith("free memory outside pods")


def test_a_level_that_rose_again_before_asks_for_nothing() -> None:
    """Advice was to end a pod whose level goes up and down and never meets the threshold (world 35)."""
    snapshot = incident_snapshot("35-control-leak-and-release", 1700)
    assert to_do(status_of(snapshot, snapshot.at)) == ""


def test_a_pod_that_grows_by_file_pages_is_not_to_be_ended() -> None:
    """The page advised to end a database whose growth the kernel can drop (world 18)."""
    snapshot = incident_snapshot("18-active-page-cache", 120)
    text = to_do(status_of(snapshot, snapshot.at))
    pages = "limit the memory of default/database, which may have grown by file pages that the kernel can drop"
    assert text.startswith(
        f"{pages}, or set `memory.formula: MemAvailable`, which does not count them (docs/tuning.md); "
    )


MI = 1 << 20

SOME = "end, move or limit some of the pods: several grew"


def test_the_pods_that_grew_the_most_are_named_where_they_are_known() -> None:
    growing = {"arrived": None, "pods": [{"pod": f"default/{name}", "grown": 30 * MI} for name in "abcd"]}
    entry = {"signal": "memory.available", "attribution": {"grower": "default/a", "growerGrown": 20 * MI}}
    three = "default/a by 30Mi, default/b by 30Mi, default/c by 30Mi"
    assert several_grew(entry, growing) == f"{SOME} (the most: {three}), and none took most of it"
    assert (
        several_grew(entry, {"pods": (), "arrived": None})
        == f"{SOME} (the most: default/a by 20Mi), and none took most of it"
    )
    unknown = {**entry, "attribution": None}
    assert several_grew(unknown, {"pods": (), "arrived": None}) == f"{SOME}, and none took most of it"


def test_in_the_cycle_that_meets_a_threshold_what_grew_before_it_is_known() -> None:
    """The advice was to end one of the largest pods; pods had arrived all the time before (world 22)."""
    snapshot = incident_snapshot("22-minimum-reclaim", 305)
    assert to_do(status_of(snapshot, snapshot.at)).startswith(
        "end, move or limit some of the pods: 61 pods started and took 2.98Gi in the last 5m5s; "
    )


def test_pods_that_started_in_the_span_did_not_grow() -> None:
    """`several grew (the most: default/stress-01 by 50Mi)`: each pod held its 50Mi from its start (world 22)."""
    snapshot = incident_snapshot("22-minimum-reclaim", 230)
    status = status_of(snapshot, snapshot.at)
    new = "46 pods started and took 2.25Gi"
    assert to_do(status).startswith(f"end, move or limit some of the pods: {new} in the last 3m50s; ")
    assert list(growers(status)) == [f"In the last 3m50s {new}."]
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    growing = memory["growing"]
    assert growing["arrived"] == {"pods": 46, "grown": 46 * 50 * MI}
    for changed in ({"arrived": None}, {"ofPods": 92 * 50 * MI}, {"arrived": {"pods": 1, "grown": 2300 * MI}}):
        assert several_grew(memory, {**growing, **changed}).startswith(f"{SOME} (the most: default/stress-01 by 50Mi")
