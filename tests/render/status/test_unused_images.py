"""Unused images are removed before a pod has to go."""

from dataclasses import replace

import pytest

from evictd.codec.times import rfc3339
from evictd.core.units.duration import SECOND
from evictd.render.status.remedy.remedies import remedies
from evictd.render.status.remedy.unused_images import before_pods
from tests.daemon.status import status_of
from tests.render.partial_status import entry_with
from tests.render.snapshots import incident_snapshot

INCIDENT = "40-images-fill-inodes"
LIMIT = "if that is too little, end, move or limit default/app, which grew the most"


def test_advice_is_to_remove_unused_images_where_most_inodes_belong_to_no_pod() -> None:
    """The advice was to end the pod that grew, though unused images held 600k of 736k inodes that were used."""
    near = incident_snapshot(INCIDENT, 100)
    (text,) = remedies(status_of(near, near.at))
    assert text.startswith(
        "remove images that no pod uses (`crictl rmi --prune`; evictd removes them and dead containers at the threshold): "
        "they are part of 620k inodes that belong to no pod; "
        f"{LIMIT}"
    )
    removes = incident_snapshot(INCIDENT, 318)
    (text,) = remedies(status_of(removes, removes.at))
    assert text.startswith(f"wait until evictd has removed the images that no pod uses (in 57s at most); {LIMIT}")


def test_the_remedy_stays_where_pods_hold_most_or_images_were_removed() -> None:
    entry = entry_with(signal="nodefs.inodesFree", capacity=100, available=20, notOfPods=40, reclaimsFirst=True)
    status = {"phase": {"name": "Watching"}, "decisions": []}
    assert before_pods(status, entry, "end it").endswith(
        "40 inodes that belong to no pod; if that is too little, end it"
    )
    assert before_pods(status, {**entry, "notOfPods": 39}, "end it") == "end it"
    assert before_pods(status, {**entry, "notOfPods": None}, "end it") == "end it"
    assert before_pods(status, {**entry, "reclaimsFirst": False}, "end it") == "end it"


def test_images_are_not_to_be_removed_after_a_removal_that_freed_nothing() -> None:
    """`crictl rmi --prune` came first minutes after evictd had removed what no pod uses, which freed nothing."""
    near = incident_snapshot(INCIDENT, 100)
    removal = {"kind": "ReclaimNode", "signal": "nodefs.available", "at": "", "freed": 0, "removed": 0}
    for before, freed, first in ((60, 0, "end, move"), (60, 1, "remove"), (60, None, "remove"), (660, 0, "remove")):
        status = status_of(near, near.at)
        status["decisions"] = [{**removal, "at": rfc3339(near.wall - before * SECOND), "freed": freed}]
        assert remedies(status)[0].startswith(first)
    of_images = {**removal, "at": rfc3339(near.wall), "signal": "imagefs.available"}
    assert remedies({**status_of(near, near.at), "decisions": [of_images]})[0].startswith("remove")


def test_images_come_first_where_they_may_hold_more_than_the_pod_that_goes() -> None:
    """The images were no longer named once the pods held more than half of the disk, seconds before a small pod went."""
    entry = entry_with(signal="nodefs.available", capacity=100, available=20, notOfPods=39, reclaimsFirst=True)
    status = {"phase": {"name": "Watching"}, "decisions": []}
    small, large = ({"pod": "x/y", "usage": usage} for usage in (38, 39))
    assert before_pods(status, {**entry, "next": small}, "end it").startswith("remove images")
    assert before_pods(status, {**entry, "next": large}, "end it") == "end it"
    assert before_pods(status, {**entry, "next": small, "nextIfItGrows": large}, "end it") == "end it"
    assert before_pods(status, {**entry, "next": {**small, "usage": None}}, "end it") == "end it"


@pytest.mark.parametrize(
    ("unused", "first"), [(None, "remove images"), (1, "remove images"), (0, "end, move or limit")]
)
def test_nothing_is_to_be_removed_where_every_image_is_in_use(unused: int | None, first: str) -> None:
    """`crictl rmi --prune` came first although the runtime's list had no unused image (world 29)."""
    near = incident_snapshot("29-control-images-of-a-victim", 60)
    outcomes = replace(near.observation.outcomes, unused_images=unused)
    near = replace(near, observation=replace(near.observation, outcomes=outcomes))
    (text,) = remedies(status_of(near, near.at))
    assert text.startswith(first)
