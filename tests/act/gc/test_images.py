"""Removing images on a real containerd of every available version."""

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from evictd.act.gc.images import ImageCollector
from evictd.core.gc.image_gc import ImageRecord
from evictd.core.model.config import ImageGCPolicy
from evictd.core.model.stats import FsStats
from evictd.core.units.duration import MINUTE, SECOND
from evictd_testnode.images import BUSYBOX, PAUSE, ImageRecipe
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import ContainerRecipe, PodRecipe
from evictd_testnode.tool import wait_for

pytestmark = [pytest.mark.root, pytest.mark.containerd]

MIB = 1 << 20
A, B, C = (f"localhost/{name}:1" for name in "abc")
RECIPES = tuple(ImageRecipe(reference=name, padding_bytes=3 * MIB) for name in (A, B, C))
NOW = 100 * MINUTE

Maker = Callable[..., ImageCollector]


@pytest.fixture
def images(each_node: DisposableNode) -> DisposableNode:
    """A node with pause, busybox, a, b and c, restored after the previous test."""
    each_node.import_images(RECIPES)
    assert wait_for(lambda: {A, B, C, PAUSE, BUSYBOX} <= tags(each_node))
    return each_node


@pytest.fixture
def make(each_node: DisposableNode) -> Maker:
    def made(
        fs: FsStats | None = None, records: dict[str, ImageRecord] | None = None, **policy: object
    ) -> ImageCollector:
        wanted = replace(ImageGCPolicy(min_age=0), **policy)  # type: ignore[arg-type]
        return ImageCollector(each_node.client, wanted, image_fs=lambda: fs, running_since=0, records=records)

    return made


def tags(node: DisposableNode) -> set[str]:
    return {tag for image in node.client.list_images() for tag in image.repo_tags}


def image_id(node: DisposableNode, name: str) -> str:
    image = node.client.image_status(name)
    assert image is not None
    return image.id


def free_bytes(node: DisposableNode) -> int:
    found = os.statvfs(node.containerd.root)
    return found.f_bavail * found.f_frsize


def test_all_unused_images_are_removed_and_their_space_is_free(images: DisposableNode, make: Maker) -> None:
    before = free_bytes(images)
    outcome = make().delete_unused(NOW)
    assert (outcome.removed, outcome.error) == (4, "")
    assert outcome.freed_bytes > 9 * MIB
    assert tags(images) == {PAUSE}
    assert free_bytes(images) - before > 9 * MIB


def test_freed_bytes_are_the_filesystems_gain(each_node: DisposableNode, images: DisposableNode) -> None:
    collector = ImageCollector(
        images.client,
        ImageGCPolicy(min_age=0, keep=(BUSYBOX,)),
        image_fs=lambda: FsStats(available_bytes=free_bytes(each_node)),
        running_since=0,
    )
    before = free_bytes(images)
    outcome = collector.delete_unused(NOW)
    assert outcome.removed == 3
    assert abs(outcome.freed_bytes - (free_bytes(images) - before)) < MIB


def test_the_sandbox_image_survives_without_any_pod(images: DisposableNode, make: Maker) -> None:
    make().delete_unused(NOW)
    assert tags(images) == {PAUSE}
    images.import_images(RECIPES)
    images.run_pod(PodRecipe(name="web"))
    make().delete_unused(NOW)
    assert tags(images) == {PAUSE, BUSYBOX}
    assert images.run_pod(PodRecipe(name="another")).sandbox_id


@pytest.mark.parametrize("script", ["sleep 1000", "true"], ids=["running", "exited"])
def test_an_image_of_any_container_stays(images: DisposableNode, make: Maker, script: str) -> None:
    pod = images.run_pod(PodRecipe(name="web", containers=(ContainerRecipe(image=A, script=script),)))
    if script == "true":
        assert wait_for(lambda: images.client.container_status(pod.container_id).finished_at > 0)
    make().delete_unused(NOW)
    assert tags(images) == {PAUSE, A}
    images.remove_pod(pod)
    make().delete_unused(NOW)
    assert tags(images) == {PAUSE}


def test_kept_images_stay(images: DisposableNode, make: Maker) -> None:
    make(keep=("localhost/[ab]:*", image_id(images, BUSYBOX))).delete_unused(NOW)
    assert tags(images) == {PAUSE, BUSYBOX, A, B}


def test_the_bytes_of_unused_images_are_known_after_each_list(images: DisposableNode, make: Maker) -> None:
    collector = make(keep=("localhost/[ab]:*", image_id(images, BUSYBOX)))
    c = images.client.image_status(C)
    assert c is not None
    found = [collector.unused_bytes]
    collector.remember(NOW)
    found.append(collector.unused_bytes)
    collector.delete_unused(NOW)
    found.append(collector.unused_bytes)
    assert found == [None, c.size_bytes, 0]


def test_all_tags_of_an_image_are_removed_unless_one_is_kept(images: DisposableNode, make: Maker) -> None:
    images.containerd.ctr("images", "tag", A, "localhost/precious:1")
    assert wait_for(lambda: "localhost/precious:1" in tags(images))
    make(keep=("localhost/precious",)).delete_unused(NOW)
    assert tags(images) == {PAUSE, A, "localhost/precious:1"}
    make().delete_unused(NOW)
    assert tags(images) == {PAUSE}


def test_a_dangling_image_is_removed(images: DisposableNode, make: Maker) -> None:
    dangling = image_id(images, A)
    images.containerd.ctr("images", "rm", A)
    assert wait_for(lambda: A not in tags(images))
    make().delete_unused(NOW)
    assert dangling not in {image.id for image in images.client.list_images()}


def test_an_image_mounted_as_a_volume_stays_where_the_runtime_would_remove_it(
    images: DisposableNode, make: Maker
) -> None:
    if images.client.version().runtime_version.startswith("1."):
        pytest.skip("containerd 1 has no image volumes")
    pod = images.run_pod(PodRecipe(name="user", containers=(ContainerRecipe(image_volumes={"/data": A}),)))
    make().delete_unused(NOW)
    assert tags(images) == {PAUSE, BUSYBOX, A}
    images.remove_pod(pod)
    make().delete_unused(NOW)
    assert tags(images) == {PAUSE}


def test_a_pinned_image_stays_if_the_runtime_supports_pinning(images: DisposableNode, make: Maker) -> None:
    if images.client.version().runtime_version.startswith("1.6"):
        pytest.skip("containerd 1.6 has no pinned images")
    images.containerd.ctr("images", "label", A, "io.cri-containerd.pinned=pinned")
    assert wait_for(lambda: any(image.pinned and A in image.repo_tags for image in images.client.list_images()))
    make().delete_unused(NOW)
    assert tags(images) == {PAUSE, A}
    images.client.remove_image(A)


def test_removal_stops_when_enough_is_free_and_starts_with_the_least_recently_used(
    images: DisposableNode, make: Maker
) -> None:
    stamps = {A: 30, B: 10, C: 20, BUSYBOX: 40}
    records = {image_id(images, name): ImageRecord(1, at * SECOND) for name, at in stamps.items()}
    outcome = make(records=records).delete_unused(NOW, wanted=6 * MIB)
    assert outcome.removed == 2
    assert tags(images) == {PAUSE, BUSYBOX, A}
    assert make(records=records).delete_unused(NOW, wanted=0).removed == 0


def test_removal_goes_on_until_the_filesystem_has_enough(images: DisposableNode) -> None:
    """Images share layers, and a pod may write meanwhile: then the sizes of the images removed are no measure."""
    grown = itertools.count(step=6 * MIB)
    collector = ImageCollector(
        images.client,
        ImageGCPolicy(min_age=0),
        image_fs=lambda: FsStats(available_bytes=free_bytes(images) - next(grown)),
        running_since=0,
    )
    outcome = collector.delete_unused(NOW, wanted=6 * MIB)
    assert (outcome.removed, outcome.error) == (4, "")


def test_a_young_image_is_skipped_by_eviction(images: DisposableNode, make: Maker) -> None:
    collector = make(min_age=2 * MINUTE)
    assert collector.delete_unused(NOW).removed == 0
    assert collector.delete_unused(NOW + 2 * MINUTE - 1).removed == 0
    assert collector.delete_unused(NOW + 2 * MINUTE).removed == 4
    assert set(collector.records) == {image_id(images, PAUSE)}


def test_records_survive_the_collector(images: DisposableNode, make: Maker) -> None:
    first = make(min_age=2 * MINUTE)
    first.remember(NOW)
    second = make(min_age=2 * MINUTE, records=dict(first.records))
    assert second.delete_unused(NOW + 2 * MINUTE).removed == 4


def test_a_full_filesystem_does_not_prevent_removal(images: DisposableNode, make: Maker) -> None:
    ballast = images.containerd.root / "ballast"
    try:
        with ballast.open("wb") as handle, suppress(OSError):
            while True:
                handle.write(bytes(1 << 16))
        assert free_bytes(images) < 1 << 16
        outcome = make().delete_unused(NOW)
    finally:
        ballast.unlink()
    assert (outcome.removed, outcome.error) == (4, "")


def test_the_periodic_collection_frees_down_to_the_low_percentage(images: DisposableNode, make: Maker) -> None:
    calm = FsStats(capacity_bytes=100 * MIB, available_bytes=16 * MIB)
    assert make(calm).collect_garbage(NOW)[0].removed == 0
    # 10 MiB are free of 100: 85 % is passed, and to 80 % it takes 10 MiB, which is two images of 5.
    full = FsStats(capacity_bytes=100 * MIB, available_bytes=11 * MIB)
    records = {image_id(images, name): ImageRecord(1, at) for at, name in enumerate((A, B, C, BUSYBOX), start=1)}
    outcome, events = make(full, records=records).collect_garbage(NOW)
    assert (outcome.error, events) == ("", ())
    assert outcome.removed == 2
    assert tags(images) == {PAUSE, BUSYBOX, C}


def test_too_little_to_free_is_an_event_with_the_kubelets_text(images: DisposableNode, make: Maker) -> None:
    outcome, events = make(FsStats(capacity_bytes=1 << 40, available_bytes=0)).collect_garbage(NOW)
    assert [event.reason for event in events] == ["FreeDiskSpaceFailed"]
    assert "Insufficient free disk space on the node's image filesystem (100% of 1.0 TiB used)" in outcome.error
    assert outcome.removed == 4
    assert tags(images) == {PAUSE}


@pytest.mark.parametrize(
    ("fs", "reasons"), [(None, []), (FsStats(capacity_bytes=0, available_bytes=0), ["InvalidDiskCapacity"])]
)
def test_a_filesystem_of_unknown_size_is_an_error_and_nothing_is_removed(
    images: DisposableNode, make: Maker, fs: FsStats | None, reasons: list[str]
) -> None:
    outcome, events = make(fs).collect_garbage(NOW)
    assert outcome.error
    assert [event.reason for event in events] == reasons
    assert {A, B, C} <= tags(images)


def test_images_older_than_the_maximum_age_are_removed_without_pressure(images: DisposableNode, make: Maker) -> None:
    calm = FsStats(capacity_bytes=100 * MIB, available_bytes=90 * MIB)
    used = {A: NOW - 11 * MINUTE, B: NOW - 9 * MINUTE, C: NOW - MINUTE, BUSYBOX: NOW}
    records = {image_id(images, name): ImageRecord(1, at) for name, at in used.items()}
    outcome, _ = make(calm, records=records, max_age=10 * MINUTE).collect_garbage(NOW)
    assert (outcome.removed, outcome.error) == (1, "")
    assert A not in tags(images)


def test_an_unavailable_runtime_is_one_error(make_node: Callable[..., DisposableNode]) -> None:
    node = make_node()
    collector = ImageCollector(node.client, ImageGCPolicy(), image_fs=lambda: None, running_since=0)
    node.containerd.kill()
    for outcome in (collector.delete_unused(NOW), collector.collect_garbage(NOW)[0]):
        assert outcome.removed == 0
        assert "UNAVAILABLE" in outcome.error
    collector.remember(NOW)
