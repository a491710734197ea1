"""Who holds what is short, and who took it since it became short."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.next_up import who_is_next
from evictd.core.model.attribution import Attribution, growth_text
from evictd.core.model.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.model.observation import Filesystems, Observation
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from tests.playbook import DEDICATED, NO_COLLECTING, SINGLE, SPLIT, Playbook, config, empty_dir, node, pod, usage

WEB, STATIC = pod("web", memory="2Gi"), pod("static", source=PodSource.STATIC)
GI, MI = 1 << 30, 1 << 20
HARD = config(hard={"memory.available": "500Mi"})


def book(settings: EvictionConfig = HARD, left: str = "4Gi") -> Playbook:
    found = Playbook(settings, pods=[WEB, STATIC], usage=[usage(WEB, memory="1Gi"), usage(STATIC, memory="1Gi")])
    found.at("0s", memory=f"{left} of 8Gi")
    found.left = []
    return found


def attribution(found: Playbook) -> Attribution:
    (held,) = (each for each in found.step.findings if isinstance(each, Attribution))
    return held


def at(found: Playbook, time: str, left: str, *, web: str = "1Gi", static: str = "1Gi") -> Playbook:
    found.usage = {"web": usage(WEB, memory=web), "static": usage(STATIC, memory=static)}
    found.at(time, memory=f"{left} of 8Gi")
    found.left = []
    return found


def test_what_grew_is_counted_from_a_minute_before_the_crossing() -> None:
    held = attribution(at(book(), "40s", "100Mi", web="1054Mi"))
    assert (held.used, held.over) == (8 * GI - 100 * MI, 40 * SECOND)
    assert (held.evictable.held, held.evictable.grown, held.evictable.pods) == (1054 * MI, 30 * MI, 1)
    assert (held.protected.held, held.protected.grown) == (GI, 0)
    assert held.elsewhere.grown == 4 * GI - 130 * MI
    assert growth_text(held) == "of 3.9Gi that filled memory in the last 40s, pods took 30Mi; 3.87Gi belong to no pod"


def test_what_a_pod_took_that_came_within_the_minute_is_counted_from_its_first_measurement() -> None:
    """The time began before the pod: what it took until its first measurement was not in the amount."""
    hog = pod("hog")
    story = book(left="6Gi")
    story.pods = (WEB, STATIC, hog)
    story.usage["hog"] = usage(hog, memory="100Mi")
    story.at("20s", memory="6044Mi of 8Gi")
    story.usage["hog"] = usage(hog, memory="6044Mi")
    story.at("40s", memory="100Mi of 8Gi")
    held = attribution(story)
    assert (held.over, held.grower, held.grower_grown) == (20 * SECOND, "default/hog", 5944 * MI)
    story.left = []
    story.at("45s", memory="100Mi of 8Gi")
    began, read = story.state.crossings[Signal.MEMORY_AVAILABLE].at, story.state.holdings[Signal.MEMORY_AVAILABLE].at
    assert began == read - 25 * SECOND, "as long as it is short"


def test_what_grew_beside_a_pod_that_was_not_measured_belongs_to_no_measured_pod() -> None:
    """It was said to belong to no pod where the evicted pod alone had taken it."""
    story = book()
    story.usage = {"static": usage(STATIC, memory="1Gi")}
    story.at("40s", memory="100Mi of 8Gi")
    held = attribution(story)
    assert (held.outdated, held.unmeasured.pods) == (1, 0)
    assert growth_text(held).endswith("; 3.9Gi belong to no measured pod")


def test_what_belongs_to_no_pod_grew_by_no_more_than_it_holds() -> None:
    """A static pod deleted files before its part was read again: 34.6Mi had grown of 5.9Mi, and the advice was for the host."""
    story = at(book(), "20s", "4Gi", static="5Gi")
    held = attribution(at(story, "40s", "100Mi", web="6Gi"))
    assert (held.elsewhere.held, held.elsewhere.grown) == (924 * MI, 924 * MI)


def test_a_static_pod_that_grew_is_told_apart() -> None:
    held = attribution(at(book(), "40s", "100Mi", static="5020Mi"))
    assert (held.protected.grown, held.evictable.grown, held.elsewhere.grown) == (3996 * MI, 0, 0)


def test_the_pod_that_grew_most_is_named_also_if_it_may_not_go() -> None:
    held = attribution(at(book(), "40s", "100Mi", web="1100Mi", static="4020Mi"))
    assert (held.grower, held.grower_grown, held.main_grower) == ("default/static", 2996 * MI, "default/static")
    still = attribution(at(book(), "40s", "100Mi"))
    assert (still.grower, still.grower_grown, still.main_grower) == ("", 0, "")


def test_growth_is_counted_as_long_as_it_is_short_and_anew_when_it_is_short_again() -> None:
    story = at(at(book(), "40s", "100Mi", static="5020Mi"), "140s", "50Mi", static="5070Mi")
    assert attribution(story).protected.grown == 4046 * MI
    at(story, "200s", "4Gi")
    assert not story.state.crossings
    held = attribution(at(story, "220s", "100Mi", static="5020Mi"))
    assert (held.over, held.protected.grown) == (80 * SECOND, 3996 * MI)


def test_a_calm_node_keeps_nothing() -> None:
    story = book()
    assert not story.state.crossings
    assert not any(isinstance(each, Attribution) for each in story.step.findings)


def test_policy_kubelet_attributes_nothing() -> None:
    story = at(book(config(hard={"memory.available": "500Mi"}, policy=Policy.KUBELET)), "40s", "100Mi", web="4Gi")
    assert not any(isinstance(each, Attribution) for each in story.step.findings)


def test_what_is_measured_of_a_pod_after_the_crossing_is_no_growth() -> None:
    """On a calm disk volumes are not walked: until they are, what they hold belongs to no measured pod."""
    web = pod("web", volumes=[empty_dir("data")])
    story = Playbook(config(hard={"nodefs.available": "10Gi"}), pods=[web], usage=[usage(web, rootfs="1Gi")])
    story.at("0s", nodefs="5Gi of 100Gi")
    story.left = []
    story.usage = {"web": usage(web, rootfs="1Gi", logs="0", volumes={"data": "60Gi"})}
    for second in range(1, 15):
        story.at(f"{second}s", nodefs="5Gi of 100Gi", reclaimed=[] if second == 1 else None)
        story.left = []
        if any(isinstance(each, Attribution) for each in story.step.findings):
            break
    held = attribution(story)
    assert (held.evictable.grown, held.elsewhere.grown) == (0, 0)
    assert (held.evictable.held, held.elsewhere.held) == (61 * GI, 34 * GI)


@pytest.mark.parametrize(
    ("filesystems", "signal", "found"),
    [
        (SINGLE, "nodefs", 3 * GI),
        (DEDICATED, "nodefs", None),
        (DEDICATED, "imagefs", 3 * GI),
        (SPLIT, "nodefs", None),
    ],
)
def test_unused_images_can_be_freed_on_the_disk_where_they_lie(
    filesystems: Filesystems, signal: str, found: int | None
) -> None:
    settings = replace(config(hard={f"{signal}.available": "1Gi"}), reclaim_images=ImageReclaim.OFF)
    settings = replace(settings, reclaim_containers=False)
    story = Playbook(settings, pods=[WEB], usage=[usage(WEB, rootfs="1Gi", logs="1Gi")], filesystems=filesystems)
    short: dict[str, Any] = {signal: "500Mi of 8Gi"}
    story.at("0s", unused_images=3 * GI, **short).conditions("DiskPressure").evicts("web")
    assert attribution(story).reclaimable == found


@pytest.mark.parametrize(
    ("left", "unread", "end"),
    [
        ("9600Mi", 8 * SECOND, "pods took 0; 1.62Gi were taken in the 8s since the pods were read"),
        ("5Gi", 0, "pods took 0; 6Gi belong to no pod or lie in hostPath volumes"),
    ],
    ids=["as much as pods can have taken since", "more"],
)
def test_what_pods_may_have_taken_since_they_were_read_is_not_elsewhere(left: str, unread: int, end: str) -> None:
    """Layers are read every ten seconds: what a pod took after that was said to belong to no pod (worlds 29, 33 and 40)."""
    disk = config(hard={"nodefs.available": "10Gi"})
    writer = replace(usage(WEB, rootfs="10Gi", logs="1Mi"), disk_time=0, layers_time=0)
    story = Playbook(disk, pods=[WEB], usage=[writer], filesystems=SINGLE)
    for time, size in (("0s", "11Gi of 100Gi"), ("8s", f"{left} of 100Gi")):
        story.at(time, nodefs=size, nodefs_rate=200 * MI)
        story.left = []
    seen = Observation(
        node=node(nodefs=f"{left} of 100Gi", nodefs_rate=200 * MI), pods=(WEB,), pod_stats={WEB.uid: writer}
    )
    held = next(each.held for each in who_is_next(story.state, seen, disk, 8 * SECOND) if each.held is not None)
    assert held.unread == unread
    assert growth_text(held).endswith(end)


def test_what_an_evicted_pod_took_counts_as_its_own_until_its_bytes_are_back() -> None:
    """Its folders were gone and evictd's clean-up of it had not ended: all that it held was said to belong to no pod."""
    web, logger = pod("web"), pod("logger")
    settings = replace(config(hard={"nodefs.available": "60Mi"}), **NO_COLLECTING)
    story = Playbook(settings, pods=[web, logger], usage=[usage(web, rootfs="9Mi", logs="0")])
    for time, used, left in (("0s", 10, "130Mi"), ("4s", 45, "95Mi"), ("8s", 83, "57Mi")):
        story.usage["logger"] = usage(logger, rootfs=f"{used}Mi", logs="0")
        story.at(time, nodefs=f"{left} of 160Mi")
        story.left = [] if time != "8s" else story.left
    story.conditions("DiskPressure").evicts("logger")
    story.pods, story.usage = (web,), {"web": usage(web, rootfs="9Mi", logs="0")}
    for second, gone, free in ((9, "", 56), (10, "", 56), (11, "logger", 56), (12, "logger", 80)):
        story.at(f"{second}s", gone=[gone] if gone else [], nodefs=f"{free}Mi of 160Mi")
        if free > 60:
            break
        seen = Observation(node=node(nodefs=f"{free}Mi of 160Mi"), pods=(web,), pod_stats=story.usage)
        (found,) = who_is_next(story.state, seen, settings, second * SECOND)
        assert found.held is not None
        leaving = found.held.leaving
        assert (leaving.held, leaving.grown, leaving.pods) == (83 * MI, 38 * MI, 1), second
        assert (found.held.grower, found.held.elsewhere.grown) == ("default/logger", 1 * MI), second
        assert found.not_of_pods == 12 * MI, second
    assert not story.state.crossings
