"""The two gc kinds of the vectors, answered by `core.image_gc` and `core.container_gc`.

`evaluate(document)` gives the line of `tests/parity/evaluate.py` for a document of either kind, without looking at
`expect`. A removal is refused exactly where the document says so.
"""

from collections.abc import Mapping
from typing import Any

from evictd.core.gc import container_gc, image_gc
from evictd.core.gc.container_gc import ContainerState, GCContainer, GCSandbox, PodLifecycle, PodLifecycles
from evictd.core.gc.image_gc import Image, ImageListing, ImageRecord, Sweep
from evictd.core.model.config import ContainerGCPolicy, ImageGCPolicy
from evictd.core.model.stats import FsStats
from evictd.core.units.duration import SECOND, parse_duration

KINDS = ("image-gc", "container-gc")


def evaluate(document: Mapping[str, Any]) -> dict[str, Any]:
    """Answer one document of either kind, in the form of its `expect`."""
    name = document.get("name")
    if document["kind"] == "image-gc":
        return {"name": name, "values": _image_story(document)}
    return {"name": name, "outcome": _container_story(document)}


def _image_story(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    policy = _image_policy(document["policy"])
    records: Mapping[str, ImageRecord] = {}
    values = []
    for step in document["steps"]:
        story = _ImageStep(step, policy, records)
        failed = story.run()
        records = story.records
        values.append({"at": step["at"], "removed": story.removed, "failed": failed, "known": sorted(records)})
    return values


class _ImageStep:
    """One step of an image story: a node whose images go when they are removed."""

    def __init__(self, step: Mapping[str, Any], policy: ImageGCPolicy, records: Mapping[str, ImageRecord]) -> None:
        self._policy = policy
        self._action = step["action"]
        self._now = parse_duration(step["at"])
        self._refused = set(step.get("removalFails") or ())
        self._fs = FsStats(
            capacity_bytes=step["imageFs"]["capacityBytes"], available_bytes=step["imageFs"]["availableBytes"]
        )
        images = (
            Image(id=image["id"], size=image["size"], pinned=image.get("pinned", False)) for image in step["images"]
        )
        self._listing = ImageListing(images=tuple(images), in_use=frozenset(step.get("inUse") or ()))
        self.records = image_gc.detect(records, self._listing, self._now)
        self.removed: list[str] = []

    def run(self) -> bool:
        """Perform the step's action; whether it failed."""
        if self._action == "detect":
            return False
        candidates = image_gc.images_in_eviction_order(self.records, self._listing)
        if self._action == "deleteUnused":
            sweep = image_gc.free_space(candidates, image_gc.EVERYTHING, self._policy, self._now)
            return bool(self._perform(sweep).error)
        return image_gc.periodic_gc_enabled(self._policy) and self._collect(candidates)

    def _collect(self, candidates: tuple[image_gc.Candidate, ...]) -> bool:
        aged = self._perform(image_gc.free_old_images(candidates, self._policy, self._now, running_since=0))
        if aged.error:
            return True
        needed = image_gc.space_needed(self._fs, self._policy)
        if needed is None or needed.wanted is None:
            return needed is None
        left = (image for image in candidates if image.id in self.records)
        swept = self._perform(image_gc.free_space(left, needed.wanted, self._policy, self._now))
        return bool(swept.error) or image_gc.too_little_freed(needed, swept) is not None

    def _perform(self, sweep: Sweep) -> Sweep:
        while (image := sweep.next_image) is not None:
            refused = image.id in self._refused
            sweep = sweep.after("refused" if refused else "")
            if not refused:
                del self.records[image.id]
                self.removed.append(image.id)
        return sweep


def _image_policy(fields: Mapping[str, Any]) -> ImageGCPolicy:
    return ImageGCPolicy(
        high_threshold_percent=fields.get("imageGCHighThresholdPercent", 85),
        low_threshold_percent=fields.get("imageGCLowThresholdPercent", 80),
        min_age=parse_duration(fields.get("imageMinimumGCAge", "2m")),
        max_age=parse_duration(fields.get("imageMaximumGCAge", "0s")),
    )


def _container_story(document: Mapping[str, Any]) -> dict[str, list[str]]:
    fields = document["policy"]
    policy = ContainerGCPolicy(
        min_age=parse_duration(fields["minimumContainerTTLDuration"]),
        max_per_pod_container=fields["maximumDeadContainersPerContainer"],
        max_containers=fields["maximumDeadContainers"],
    )
    lifecycles = PodLifecycles(
        by_uid={uid: PodLifecycle(fate) for uid, fate in document["pods"].items()},
        all_sources_ready=document["allPodSourcesReady"],
    )
    evict_terminated = document["deleteAllUnused"]
    containers = [_container(entry) for entry in document.get("containers") or ()]
    now = document["now"] * SECOND
    gone = {
        container.id
        for container in container_gc.evict_containers(
            containers, lifecycles, policy, evict_terminated=evict_terminated, now=now
        )
    }
    left = [container for container in containers if container.id not in gone]
    sandboxes = [_sandbox(entry) for entry in document.get("sandboxes") or ()]
    emptied = container_gc.evict_sandboxes(sandboxes, left, lifecycles, evict_terminated=evict_terminated)
    return {"removedContainers": sorted(gone), "removedSandboxes": sorted(sandbox.id for sandbox in emptied)}


def _container(entry: Mapping[str, Any]) -> GCContainer:
    return GCContainer(
        id=entry["id"],
        pod_uid=entry["podUid"],
        name=entry["name"],
        sandbox_id=entry["sandboxId"],
        created_at=entry["createdAt"] * SECOND,
        state=ContainerState(entry["state"]),
    )


def _sandbox(entry: Mapping[str, Any]) -> GCSandbox:
    return GCSandbox(
        id=entry["id"],
        pod_uid=entry["podUid"],
        created_at=entry["createdAt"] * SECOND,
        ready=entry["state"] == "SANDBOX_READY",
    )
