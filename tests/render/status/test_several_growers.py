"""What to do where several pods grew."""

from evictd.render.status.holders import growers
from evictd.render.status.remedies import to_do
from evictd.render.status.several_growers import several_grew
from tests.daemon.status import status_of
from tests.render.snapshots import incident_snapshot

MI = 1 << 20
SOME = "end, move or limit some of the pods: several grew"


def test_the_pods_that_grew_the_most_are_named_where_they_are_known() -> None:
    growing = {"pods": [{"pod": f"default/{name}", "grown": 30 * MI} for name in "abcd"]}
    entry = {"signal": "memory.available", "attribution": {"grower": "default/a", "growerGrown": 20 * MI}}
    three = "default/a by 30Mi, default/b by 30Mi, default/c by 30Mi"
    assert several_grew(entry, growing) == f"{SOME} (the most: {three}), and none took most of it"
    assert several_grew(entry, {"pods": ()}) == f"{SOME} (the most: default/a by 20Mi), and none took most of it"
    unknown = {**entry, "attribution": None}
    assert several_grew(unknown, {"pods": ()}) == f"{SOME}, and none took most of it"


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
