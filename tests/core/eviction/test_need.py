"""Law Need: no pod goes that another one makes unnecessary."""

import pytest

from evictd.core.eviction.laws.need import needed
from evictd.core.model.finding import SkipReason
from tests.shortages import row, shortage


@pytest.mark.parametrize(
    ("held", "missing", "victim"),
    [
        ({"a": 10, "b": 10, "c": 600}, 100, "c"),
        ({"a": 60, "b": 60, "c": 600}, 100, "a"),
        ({"a": 40, "b": 600}, 100, "b"),
        ({"a": 50, "b": 600}, 100, "a"),
        ({"a": 600, "b": 10}, 100, "a"),
        ({"a": 10, "b": 30}, 100, "b"),
        ({"a": 20, "b": 30}, 100, "a"),
        ({"a": 45, "b": 40, "c": 60}, 100, "a"),
        ({"a": 40, "b": 40, "c": 40, "d": 600}, 660, "a"),
    ],
    ids=[
        "small ones before a large one",
        "two that reach it together",
        "less than half",
        "half",
        "the first alone",
        "none reaches it, twice as much",
        "none reaches it",
        "none is dropped for a smaller one",
        "equal ones go in their order",
    ],
)
def test_the_first_that_is_needed_goes(held: dict[str, int], missing: int, victim: str) -> None:
    chosen, dropped = needed([row(name, used) for name, used in held.items()], shortage(held, missing=missing))
    assert chosen.name == victim
    before = list(held)[: list(held).index(victim)]
    assert [(each.pod.name, each.reason) for each in dropped] == [(name, SkipReason.UNNECESSARY) for name in before]
    assert all(each.instead == chosen.pod for each in dropped)


@pytest.mark.parametrize(("priority", "leaks", "victim"), [(0, False, "db"), (100, False, "a"), (100, True, "db")])
def test_where_none_suffices_a_pod_of_higher_priority_goes_first_only_if_it_is_the_cause(
    priority: int, leaks: bool, victim: str
) -> None:
    """Jobs grew by 120Mi a second together, and the database went for them: it alone was twice as large as each."""
    held = {"a": 30, "b": 30, "db": 100}
    rows = [row("a", 30), row("b", 30), row("db", 100, priority=priority)]
    assert needed(rows, shortage(held, missing=1000, grown={"db": 60} if leaks else {}))[0].name == victim


@pytest.mark.parametrize(("held", "victim"), [(145, "bomb"), (250, "important")])
def test_a_pod_of_low_priority_stays_for_a_growing_one_only_if_that_is_twice_as_large(held: int, victim: str) -> None:
    """The growth of `important` ends with it, so both are enough: low priority goes first unless it would hardly help."""
    rows = [row("bomb", 103), row("important", held, priority=999_999_999)]
    short = shortage(
        {"bomb": 103, "important": held}, missing=1, rate=20, grown={"important": 137}, signal="pid.available"
    )
    assert needed(rows, short)[0].name == victim


@pytest.mark.parametrize("held", [0, -(1 << 63)])
def test_the_only_candidate_goes_whatever_it_holds(held: int) -> None:
    """An amount beyond 63 bits in a recorded summary counts as negative, as with the kubelet."""
    assert needed([row("a", held)], shortage({"a": held}))[0].name == "a"


def test_growth_counts_for_the_time_that_the_evictions_take() -> None:
    """Ten seconds each: the two small pods would be lost within as long."""
    held = {"a": 80, "b": 80, "leak": 6000}
    rows = [row(name, used) for name, used in held.items()]
    assert needed(rows, shortage(held, missing=10))[0].name == "a"
    assert needed(rows, shortage(held, missing=10, rate=50))[0].name == "leak"


@pytest.mark.parametrize(
    ("grown", "victim"),
    [
        ({"job": 100}, "job"),
        ({"job": 60}, "db"),
        ({"job": 50, "other": 50}, "job"),
        ({"db": 100}, "db"),
        ({"job": 100, "other": -40}, "job"),
    ],
    ids=["all of it", "a part of it", "with another that goes", "of the large one", "while another shrinks"],
)
def test_the_growth_of_the_pods_that_go_ends_with_them(grown: dict[str, int], victim: str) -> None:
    """A database went for the job that filled the node: the job held less than it would have taken during an eviction."""
    held = {"job": 90, "other": 15, "db": 5000}
    rows = [row(name, used) for name, used in held.items()]
    elsewhere = 100 - sum(max(each, 0) for each in grown.values())
    assert needed(rows, shortage(held, missing=1, rate=25, grown=grown, elsewhere=elsewhere))[0].name == victim


@pytest.mark.parametrize(
    ("first", "leak", "rate", "victim"),
    [
        (200, 900, 1, "leak"),
        (200, 900, 0, "a"),
        (220, 900, 1, "a"),
        (500, 900, 10, "a"),
        (60, 99, 1, "a"),
    ],
    ids=[
        "it only delays the leak",
        "nothing falls",
        "it lasts two minutes",
        "less than twice as large",
        "less than missing",
    ],
)
def test_the_leak_goes_where_the_first_would_only_delay_it(first: int, leak: int, rate: int, victim: str) -> None:
    """A pod of lower priority that does not grow is lost for nothing if the leak has to go a minute later."""
    held = {"a": first, "leak": leak}
    rows = [row(name, used) for name, used in held.items()]
    chosen, dropped = needed(rows, shortage(held, missing=100, rate=rate, grown={"leak": 60}))
    assert chosen.name == victim
    assert [each.pod.name for each in dropped] == (["a"] if victim == "leak" else [])


def test_a_pod_that_grows_within_its_request_or_is_to_be_avoided_is_no_leak_to_go_first() -> None:
    held = {"a": 200, "leak": 900}
    short = shortage(held, missing=100, rate=1, grown={"leak": 60})
    assert needed([row("a", 200), row("leak", 900, request=1000)], short)[0].name == "a"
    assert needed([row("a", 200), row("leak", 900)._replace(preference=1)], short)[0].name == "a"


def test_on_a_disk_only_less_than_a_tenth_is_small() -> None:
    """Images and open files come on top of what was measured."""
    held = {"a": 20, "b": 600}
    rows = [row(name, used) for name, used in held.items()]
    assert needed(rows, shortage(held, missing=100, signal="nodefs.available"))[0].name == "a"
    assert needed(rows, shortage(held, missing=201, signal="nodefs.available"))[0].name == "b"


def test_a_pod_within_its_request_is_not_looked_at_where_those_that_exceed_theirs_suffice() -> None:
    held = {"a": 30, "b": 100, "within": 900}
    rows = [row("a", 30), row("b", 100), row("within", 900, request=1000)]
    assert needed(rows, shortage(held, missing=100))[0].name == "b"


def test_pods_that_the_configuration_prefers_are_dropped_for_no_other() -> None:
    held = {"preferred": 10, "also": 30, "hog": 600}
    rows = [row(name, used)._replace(preference=0 if name == "hog" else -1) for name, used in held.items()]
    assert needed(rows, shortage(held, missing=100))[0].name == "also"


def test_what_an_owner_creates_again_counts_for_nothing() -> None:
    """The hog behind the recreated pods goes, and a recreated hog goes again."""
    held = {"again": 60, "hog": 600}
    rows = [row(name, used) for name, used in held.items()]
    assert needed(rows, shortage(held, missing=130, recreated=("again",)))[0].name == "hog"
    held = {"hog": 600, "other": 200}
    rows = [row(name, used) for name, used in held.items()]
    assert needed(rows, shortage(held, missing=100, recreated=("hog",)))[0].name == "hog"


@pytest.mark.parametrize(
    ("used", "recreated", "rate", "grown", "victim"),
    [
        (600, True, 1, {"leak": 60}, "leak"),
        (600, False, 1, {"leak": 60}, "again"),
        (1000, True, 1, {"leak": 60}, "again"),
        (1000, True, 8, {"leak": 480}, "leak"),
        (1000, False, 8, {"leak": 480}, "again"),
        (600, True, 1, {"again": 60, "leak": 60}, "again"),
        (600, True, 1, {"other": 60}, "again"),
    ],
    ids=[
        "a little over its request",
        "not created again",
        "twice its request",
        "twice its request, and the leak takes that in two minutes",
        "a leak as fast, but not created again",
        "it leaks as well",
        "the other is no leak",
    ],
)
def test_a_leak_goes_before_a_pod_that_its_owner_creates_again(
    used: int, recreated: bool, rate: int, grown: dict[str, int], victim: str
) -> None:
    """The owner of a first victim created it again at once, and it went once more before the leak."""
    held = {"again": used, "leak": 200, "other": 10}
    rows = [row("again", used, request=500), row("leak", 200, priority=100), row("other", 10, priority=100)]
    short = shortage(held, missing=100, rate=rate, grown=grown, recreated=("again",) if recreated else ())
    assert needed(rows, short)[0].name == victim


@pytest.mark.parametrize(
    ("grown", "victim"),
    [
        ({"b": 30, "c": 30, "d": 30}, "b"),
        ({"b": 14, "c": 30, "d": 30}, "c"),
        ({"b": 15, "c": 30, "d": 30}, "b"),
        ({"a": 30, "b": 30, "c": 30}, "a"),
        ({"static": 60, "b": 30, "c": 30}, "b"),
        ({"static": 61, "b": 30, "c": 30}, "a"),
    ],
    ids=[
        "three leaks",
        "one that grew by less than half of what the others did is none",
        "half of what the others did",
        "the first is one of them",
        "half of all growth",
        "less than half of all growth",
    ],
)
def test_each_of_several_leaks_goes_before_a_pod_whose_end_lasts_for_less_than_two_minutes(
    grown: dict[str, int], victim: str
) -> None:
    """None of them made half of all growth, and each pod of lower priority went before them."""
    held = {"a": 80, "b": 200, "c": 200, "d": 200, "static": 500}
    rows = [row(name, held[name], priority=place) for place, name in enumerate("abcd")]
    assert needed(rows, shortage(held, missing=50, rate=2, grown=grown))[0].name == victim
