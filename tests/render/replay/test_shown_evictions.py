"""Which evictions of a replay the readings show."""

from typing import Any

from evictd.render.replay.shown_evictions import shown_evictions


def evict(name: str, signal: str = "memory.available") -> dict[str, Any]:
    """A recorded eviction."""
    pod = {"namespace": "shop", "name": name, "uid": f"uid-{name}"}
    return {"kind": "EvictPod", "pod": pod, "because": {"threshold": {"signal": signal}}}


def names(*cycles: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> list[list[str]]:
    """The pods of the evictions that are told, of each cycle."""
    return [[each["pod"]["name"] for each in found] for found in shown_evictions(cycles)]


def test_after_a_pod_that_goes_earlier_the_readings_still_have_it() -> None:
    """`now shop/leaky, shop/web-0, shop/web-1` was said where, played, leaky alone goes."""
    leaky, web = evict("leaky"), evict("web-0")
    assert names(([], [leaky]), ([leaky], [web]), ([web], [evict("web-1")])) == [["leaky"], [], []]


def test_the_same_pods_and_another_supply_are_told() -> None:
    leaky, disk, limit = evict("leaky"), evict("files", "nodefs.available"), {**evict("own"), "because": {}}
    assert names(([leaky], [leaky]), ([], [evict("web-0")]), ([], [disk, limit]), ([], [limit])) == [
        ["leaky"],
        ["web-0"],
        ["files", "own"],
        ["own"],
    ]


def test_bytes_and_inodes_of_a_disk_are_one_supply() -> None:
    """A pod was said to be evicted earlier for disk space, by readings that still had the pods that go for inodes."""
    mail, cache = evict("mail", "nodefs.inodesFree"), evict("cache", "nodefs.available")
    assert names(([], [mail]), ([mail], []), ([], [cache])) == [["mail"], [], []]
