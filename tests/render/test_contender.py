"""The first key in which one pod of a ranking differs from a later one."""

from evictd.core.eviction.rank import rank
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.config import Policy
from evictd.core.model.signal import Resource, Signal
from evictd.render.contender import Contender, against, contender, deciding_key, is_tie, recorded_contender
from tests.playbook import pod, usage

MI = 2**20


def of(name: str, usage: int | None, request: int = 0, *, exceeds: bool | None = None, **keys: int) -> Contender:
    over = usage is not None and usage > request if exceeds is None else exceeds
    row = {"namespace": "a", "name": name, "uid": name, "exceedsRequest": over, "usage": usage, "request": request}
    return recorded_contender({"priority": 0, "protected": False, **row, **keys}, "")


def test_a_rival_without_a_request_has_none_to_exceed() -> None:
    """A pod with a hostPath volume and no request "does not exceed its own"."""
    hog, writer = of("hog", 90 * MI, 30 * MI), of("writer", 0)
    uses = "it exceeds its request by 60Mi, while a/writer uses none"
    assert against(hog, writer, Resource.MEMORY) == uses
    assert against(hog, writer, Resource.EPHEMERAL_STORAGE) == f"{uses} (hostPath volumes are not measured)"


def test_a_rival_within_its_request_does_not_exceed_it() -> None:
    within = of("db", 50 * MI, 60 * MI)
    assert against(of("hog", 90 * MI, 30 * MI), within, Resource.MEMORY) == (
        "it exceeds its request by 60Mi, while a/db does not exceed its own"
    )


def test_the_excess_decides_at_equal_priority() -> None:
    assert against(of("hog", 90 * MI), of("db", 50 * MI), Resource.MEMORY) == (
        "it requests none and uses 90Mi; a/db, the next, requests none and uses 50Mi; "
        "both have priority 0, so the larger use decides"
    )
    assert against(of("hog", 90 * MI, 30 * MI), of("db", 50 * MI, 10 * MI), Resource.MEMORY) == (
        "it exceeds its request of 30Mi by 60Mi; a/db, the next, exceeds its request of 10Mi by 40Mi; "
        "both have priority 0, so the larger excess decides"
    )
    assert against(of("hog", 90 * MI, 100 * MI), of("db", 50 * MI, 90 * MI), Resource.MEMORY) == (
        "it is 10Mi within its request of 100Mi; a/db, the next, is 40Mi within its request of 90Mi; "
        "both have priority 0, so the smaller distance decides"
    )


def test_a_preference_decides_before_the_priority() -> None:
    hog, db = of("hog", 90 * MI, priority=1), of("db", 50 * MI)
    avoided, preferred = of("db", 50 * MI, preference=1), of("hog", 90 * MI, preference=-1, priority=1)
    assert deciding_key(hog, avoided, Resource.MEMORY) == "the configuration avoids a/db"
    assert deciding_key(preferred, db, Resource.MEMORY) == "the configuration prefers to evict it"


def test_processes_are_counted_and_have_no_request() -> None:
    forks, web = of("forks", 500, exceeds=False), of("web", 20, exceeds=False)
    assert against(forks, web, Resource.PIDS) == "it uses 500 processes, a/web 20 processes"


def test_a_pod_that_was_not_measured_is_said_to_be_so() -> None:
    new = of("new", None)
    assert against(of("hog", 9 * MI, 10 * MI), new, Resource.MEMORY) == "a/new is not measured"
    assert against(of("one", None), new, Resource.MEMORY) == "neither it nor a/new is measured, so the name decides"


def test_pods_that_differ_in_their_names_alone_are_a_tie() -> None:
    pods = [pod("a"), pod("b"), pod("c")]
    stats = {each.uid: usage(each, memory=of) for each, of in zip(pods, ("3Mi", "3Mi", "2Mi"), strict=True)}
    first, second, last = rank(Signal.MEMORY_AVAILABLE, pods, stats, Layout.SINGLE, Policy.STANDARD)
    assert (is_tie(first, second), is_tie(first, last)) == (True, False)
    assert not is_tie(first, second._replace(usage=None))
    assert is_tie(first._replace(usage=None), second._replace(usage=None))
    assert deciding_key(contender(first), contender(second), Resource.MEMORY) == (
        "it is equal to default/b, so the name decides"
    )
