"""The image collector's selections: examples from the kubelet's rules, and laws over all of them."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.gc.image_gc import (
    EVERYTHING,
    Candidate,
    Image,
    ImageListing,
    ImageRecord,
    SpaceNeeded,
    Sweep,
    detect,
    free_old_images,
    free_space,
    images_in_eviction_order,
    invalid_capacity,
    periodic_gc_enabled,
    space_needed,
    too_little_freed,
)
from evictd.core.model.config import ImageGCPolicy
from evictd.core.model.stats import FsStats
from evictd.core.units.duration import MINUTE, SECOND

NO_AGE = ImageGCPolicy(min_age=0)
NOW = 1000 * SECOND


def image(name: str, size: int = 10, *, pinned: bool = False, names: tuple[str, ...] = ()) -> Image:
    return Image(id=name, size=size, pinned=pinned, names=names)


def perform(sweep: Sweep, refused: Iterable[str] = ()) -> Sweep:
    refusals = set(refused)
    while (candidate := sweep.next_image) is not None:
        sweep = sweep.after(f"{candidate.id} refused" if candidate.id in refusals else "")
    return sweep


def ids(candidates: Iterable[Candidate]) -> list[str]:
    return [candidate.id for candidate in candidates]


# --- detect -----------------------------------------------------------------------------------------------------------


def test_a_new_image_is_first_detected_now_and_was_never_used() -> None:
    assert detect({}, ImageListing(images=(image("a"),)), 5) == {"a": ImageRecord(5, None)}


def test_an_image_in_use_is_stamped_and_keeps_its_first_detection() -> None:
    listing = ImageListing(images=(image("a"),), in_use=frozenset({"a"}))
    assert detect({"a": ImageRecord(1, 2)}, listing, 9) == {"a": ImageRecord(1, 9)}


def test_an_image_is_in_use_by_any_of_its_names_too() -> None:
    listing = ImageListing(images=(image("a", names=("localhost/a:1",)),), in_use=frozenset({"localhost/a:1"}))
    assert detect({}, listing, 9)["a"].last_used == 9


def test_a_vanished_image_loses_its_record() -> None:
    assert detect({"a": ImageRecord(1, 2)}, ImageListing(images=()), 9) == {}


# --- the order of candidates ------------------------------------------------------------------------------------------


def test_never_used_comes_first_then_least_recently_used_then_first_detected() -> None:
    records = {"used": ImageRecord(1, 50), "long-ago": ImageRecord(2, 20), "new": ImageRecord(9), "old": ImageRecord(3)}
    listing = ImageListing(images=tuple(map(image, records)))
    assert ids(images_in_eviction_order(records, listing)) == ["old", "new", "long-ago", "used"]


def test_equals_come_in_the_order_of_the_listing() -> None:
    records = dict.fromkeys("cab", ImageRecord(1))
    assert ids(images_in_eviction_order(records, ImageListing(images=tuple(map(image, "cab"))))) == ["c", "a", "b"]


@pytest.mark.parametrize(
    "listing",
    [
        ImageListing(images=(image("a", pinned=True),)),
        ImageListing(images=(image("a"),), in_use=frozenset({"a"})),
        ImageListing(images=(image("a"),), sandbox=frozenset({"a"})),
        ImageListing(images=(image("a", names=("k8s/pause:1",)),), sandbox=frozenset({"k8s/pause:1"})),
    ],
    ids=["pinned", "in use", "sandbox by id", "sandbox by name"],
)
def test_a_needed_image_is_no_candidate(listing: ImageListing) -> None:
    assert images_in_eviction_order({"a": ImageRecord(1)}, listing) == ()


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("docker.io/library/nginx:1.27", True),
        ("nginx:1.27", True),
        ("nginx", True),
        ("nginx:*", True),
        ("docker.io/*", True),
        ("*@sha256:ab*", True),
        ("sha256:id*", True),
        ("quay.io/*", False),
        ("NGINX", False),
        ("ngin", False),
        ("", False),
    ],
)
def test_keep_patterns_match_every_spelling_of_the_image(pattern: str, *, kept: bool) -> None:
    names = ("docker.io/library/nginx:1.27", "docker.io/library/nginx@sha256:abcd")
    listing = ImageListing(images=(image("sha256:id1", names=names),))
    assert (images_in_eviction_order({"sha256:id1": ImageRecord(1)}, listing, [pattern]) == ()) is kept


def test_a_registry_port_is_no_tag() -> None:
    listing = ImageListing(images=(image("i", names=("localhost:5000/team/web",)),))
    assert images_in_eviction_order({"i": ImageRecord(1)}, listing, ["localhost:5000/team/web"]) == ()
    assert images_in_eviction_order({"i": ImageRecord(1)}, listing, ["localhost"]) != ()


# --- freeing ----------------------------------------------------------------------------------------------------------


def candidates(*sizes: int) -> tuple[Candidate, ...]:
    return tuple(Candidate(f"i{number}", size, 0, -1) for number, size in enumerate(sizes))


def test_freeing_stops_as_soon_as_enough_is_free() -> None:
    sweep = perform(free_space(candidates(10, 10, 10), 15, NO_AGE, NOW))
    assert (ids(sweep.removed), sweep.freed, sweep.error) == (["i0", "i1"], 20, "")


def test_a_failed_removal_does_not_stop_the_sweep_and_is_reported_at_the_end() -> None:
    sweep = perform(free_space(candidates(10, 10, 10), 15, NO_AGE, NOW), refused=["i0"])
    assert ids(sweep.removed) == ["i1", "i2"]
    assert sweep.error == (
        "wanted to free 15 bytes, but freed 20 bytes space with errors in image deletion: i0 refused"
    )


def test_several_failures_are_listed_as_go_lists_them() -> None:
    sweep = perform(free_space(candidates(10, 10), 15, NO_AGE, NOW), refused=["i0", "i1"])
    assert sweep.error.endswith("errors in image deletion: [i0 refused, i1 refused]")


def test_an_eviction_that_could_not_remove_an_image_wanted_all_bytes() -> None:
    """The kubelet's text of `DeleteUnusedImages` has the largest int64."""
    sweep = perform(free_space(candidates(1), EVERYTHING, NO_AGE, NOW), refused=["i0"])
    assert sweep.error.startswith("wanted to free 9223372036854775807 bytes, but freed 0 bytes space")


def test_an_image_younger_than_the_minimum_age_is_skipped() -> None:
    young = Candidate("young", 10, NOW - MINUTE, -1)
    old = Candidate("old", 10, NOW - 2 * MINUTE, -1)
    assert ids(free_space([young, old], EVERYTHING, ImageGCPolicy(), NOW).todo) == ["old"]


def test_an_image_in_use_now_is_skipped() -> None:
    assert free_space([Candidate("a", 10, 0, NOW)], EVERYTHING, NO_AGE, NOW).todo == ()


def test_one_image_is_removed_even_if_nothing_is_wanted() -> None:
    assert ids(perform(free_space(candidates(10, 10), 0, NO_AGE, NOW)).removed) == ["i0"]


AGED = ImageGCPolicy(min_age=2 * MINUTE, max_age=10 * MINUTE)


def test_nothing_is_too_old_before_the_collector_has_run_that_long() -> None:
    assert free_old_images(candidates(10), AGED, NOW, running_since=NOW - 10 * MINUTE).todo == ()


def test_a_never_used_image_is_infinitely_old_and_its_minimum_age_does_not_apply() -> None:
    fresh = Candidate("fresh", 10, NOW - SECOND, -1)
    assert ids(free_old_images([fresh], AGED, NOW, running_since=NOW - 10 * MINUTE - 1).todo) == ["fresh"]


def test_the_age_counts_from_the_last_use() -> None:
    at_limit = Candidate("at limit", 1, 0, NOW - 10 * MINUTE)
    beyond = Candidate("beyond", 1, 0, NOW - 10 * MINUTE - 1)
    assert ids(free_old_images([at_limit, beyond], AGED, NOW, running_since=0).todo) == ["beyond"]


def test_failures_of_the_age_pass_have_their_own_text() -> None:
    sweep = perform(free_old_images(candidates(10), AGED, NOW, running_since=0), refused=["i0"])
    assert sweep.error == "wanted to free images older than 10m0s, encountered errors in image deletion: i0 refused"


def test_without_a_maximum_age_nothing_is_too_old() -> None:
    assert free_old_images(candidates(10), NO_AGE, NOW, running_since=0).todo == ()


# --- the periodic collection ------------------------------------------------------------------------------------------


def fs(capacity: int, available: int) -> FsStats:
    return FsStats(capacity_bytes=capacity, available_bytes=available)


@pytest.mark.parametrize(
    ("stats", "needed"),
    [
        (fs(1000, 160), SpaceNeeded(usage_percent=84, capacity=1000, wanted=None)),
        (fs(1000, 150), SpaceNeeded(usage_percent=85, capacity=1000, wanted=50)),
        (fs(1000, 0), SpaceNeeded(usage_percent=100, capacity=1000, wanted=200)),
        (fs(1000, 5000), SpaceNeeded(usage_percent=0, capacity=1000, wanted=None)),
        (fs(0, 0), None),
        (FsStats(capacity_bytes=10), None),
        (None, None),
    ],
)
def test_space_needed(stats: FsStats | None, needed: SpaceNeeded | None) -> None:
    assert space_needed(stats, ImageGCPolicy()) == needed


def test_a_filesystem_of_capacity_zero_is_an_event() -> None:
    event = invalid_capacity(fs(0, 0))
    assert event is not None
    assert (event.reason, event.message) == ("InvalidDiskCapacity", "invalid capacity 0 on image filesystem")
    assert invalid_capacity(None) is None
    assert invalid_capacity(fs(1, 0)) is None


@pytest.mark.parametrize(
    ("capacity", "text"),
    [(1000, "1000 B"), (1024, "1.0 KiB"), (1 << 30, "1.0 GiB"), (50 << 40, "50.0 TiB"), (5000 << 40, "5000.0 TiB")],
)
def test_too_little_freed_is_an_event_with_the_kubelets_text(capacity: int, text: str) -> None:
    needed = SpaceNeeded(usage_percent=91, capacity=capacity, wanted=100)
    event = too_little_freed(needed, perform(free_space(candidates(10), 100, NO_AGE, NOW)))
    assert event is not None
    assert event.reason == "FreeDiskSpaceFailed"
    assert event.message == (
        f"Insufficient free disk space on the node's image filesystem (91% of {text} used). Failed to free sufficient "
        "space by deleting unused images (freed 10 bytes). Investigate disk usage, as it could be used by active "
        "images, logs, volumes, or other data."
    )


def test_enough_freed_is_no_event() -> None:
    needed = SpaceNeeded(usage_percent=91, capacity=1000, wanted=10)
    assert too_little_freed(needed, perform(free_space(candidates(10), 10, NO_AGE, NOW))) is None


def test_only_a_hundred_percent_without_an_age_switches_the_collection_off() -> None:
    assert not periodic_gc_enabled(ImageGCPolicy(high_threshold_percent=100))
    assert periodic_gc_enabled(ImageGCPolicy(high_threshold_percent=100, max_age=1))
    assert periodic_gc_enabled(ImageGCPolicy())


# --- laws -------------------------------------------------------------------------------------------------------------

IDS = st.sampled_from([f"sha256:{number}" for number in range(12)])


@st.composite
def nodes(draw: st.DrawFn) -> tuple[ImageListing, dict[str, ImageRecord]]:
    names = draw(st.lists(IDS, unique=True))
    images = tuple(image(name, draw(st.integers(0, 100)), pinned=draw(st.booleans())) for name in names)
    listing = ImageListing(images=images, in_use=draw(st.frozensets(IDS)), sandbox=draw(st.frozensets(IDS)))
    stamps = st.builds(ImageRecord, st.integers(0, 2000), st.none() | st.integers(0, 2000))
    return listing, detect({name: draw(stamps) for name in draw(st.sets(IDS))}, listing, 2000)


@given(nodes(), st.sets(IDS), st.integers(0, 500), st.sets(IDS))
def test_laws_of_freeing(
    node: tuple[ImageListing, dict[str, ImageRecord]], keep: set[str], wanted: int, refused: set[str]
) -> None:
    """No needed image is removed; enough is freed or all were tried; least recently used first; failed ones remain."""
    listing, records = node
    sweep = perform(free_space(images_in_eviction_order(records, listing, keep), wanted, NO_AGE, 2001), refused)
    pinned = {each.id for each in listing.images if each.pinned}
    gone = ids(sweep.removed)
    assert not set(gone) & (pinned | listing.in_use | listing.sandbox | keep | refused)
    assert len(set(gone)) == len(gone)
    assert (sweep.removed and sweep.freed >= wanted) or sweep.tried == len(sweep.todo)
    stamps = [(candidate.last_used, candidate.first_detected) for candidate in sweep.removed]
    assert stamps == sorted(stamps)
    assert bool(sweep.error) == bool(set(ids(sweep.todo[: sweep.tried])) & refused)


@given(nodes(), st.integers(0, 500))
def test_enough_is_not_more_than_enough(node: tuple[ImageListing, dict[str, ImageRecord]], wanted: int) -> None:
    """Without its last image, a sweep that reached its goal would not have reached it."""
    listing, records = node
    sweep = perform(free_space(images_in_eviction_order(records, listing), wanted, NO_AGE, 2001))
    if len(sweep.removed) > 1:
        assert sum(candidate.size for candidate in sweep.removed[:-1]) < wanted
