"""Finding an eviction in a journal."""

from dataclasses import replace

import msgspec
import pytest

from evictd.codec.records.journal_record import RecordedExtra, RecordedRefusal
from evictd.errors import InputError, NotFoundError
from evictd.render.history.evictions import evictions_of, find_eviction, last_of_each
from tests.render.recorded_incident import OLD, recorded


@pytest.mark.parametrize("wanted", ["last", "uid-hog-", "uid-hog-old", "default/hog-old"])
def test_it_is_found_by_the_begin_of_the_uid_by_the_pod_and_as_the_last(wanted: str) -> None:
    assert find_eviction(evictions_of(recorded()), wanted).pod == "default/hog-old"


def test_what_is_not_there_is_said_with_what_is() -> None:
    with pytest.raises(
        NotFoundError, match=r"zzz: is no incident of this journal; there are uid-hog- \(default/hog-old, 2026"
    ):
        find_eviction(evictions_of(recorded()), "zzz")
    with pytest.raises(
        NotFoundError, match=r"default/web: is no .*; `evictd why default/web` with the same journal says"
    ):
        find_eviction(evictions_of(recorded()), "default/web")
    with pytest.raises(NotFoundError, match="the journal has no eviction"):
        find_eviction([], "last")
    one, two = evictions_of(recorded())[0], replace(evictions_of(recorded())[0], uid="uid-hog-2", pod="default/two")
    with pytest.raises(InputError, match="is the beginning of several"):
        find_eviction([one, two], "uid")


def test_an_eviction_that_a_budget_refused_is_no_incident() -> None:
    """A pod that lived was shown as evicted, and its eviction as not needed."""
    records = recorded()
    refusal = RecordedRefusal(pod="default/hog-old", uid=OLD.uid, detail="needs 1 healthy pod")
    later = msgspec.structs.replace(records[2], extra=RecordedExtra(refused=(refusal,)))
    assert evictions_of([*records[:2], later]) == []


def test_each_pod_has_its_last_eviction() -> None:
    """A dry run evicts the same pod each time that its threshold is met again."""
    (one,) = evictions_of(recorded())
    again = replace(one, at="2026-01-01T00:09:00Z")
    assert last_of_each([one, again, replace(one, uid="other")]) == [again, replace(one, uid="other")]
