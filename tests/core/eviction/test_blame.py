"""Law Blame: no pod within its request goes in the place of a culprit that may not go."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.laws.blame import Suspect, blamed, why_it_stays
from evictd.core.model.finding import NoActionReason
from evictd.core.model.pod import SYSTEM_CRITICAL_PRIORITY, Pod, PodSource
from evictd.core.model.state import State
from tests.playbook import config, pod
from tests.shortages import row, shortage

STATIC = pod("static")
WITHIN = row("a", 100, request=200)
HELD = {"a": 100, "static": 5000}


@pytest.mark.parametrize(
    ("held", "grown", "missing", "stays"),
    [
        (5000, 0, 150, True),
        (5000, 0, 50, False),
        (100, 0, 150, False),
        (50, 0, 150, False),
        (50, 600, 50, True),
        (50, 10, 50, False),
    ],
    ids=["holds more", "the candidates cover it", "holds as much", "holds less", "grows more", "its growth is noise"],
)
def test_a_pod_within_its_request_stays(held: int, grown: int, missing: int, stays: bool) -> None:
    suspect = Suspect(pod=STATIC, held=held, grown=grown, rate=grown // 60)
    found = blamed(WITHIN, [WITHIN], [suspect], shortage(HELD, missing=missing))
    assert (found is not None) is stays
    if found is not None:
        assert (found.why, found.pod) == (NoActionReason.PROTECTED_CULPRIT, STATIC)


@pytest.mark.parametrize(
    ("held", "grown", "detail"),
    [(5000, 0, "holds more than all of them and is static"), (50, 600, "grew more than all of them and is static")],
)
def test_the_finding_says_what_makes_the_pod_the_culprit(held: int, grown: int, detail: str) -> None:
    """It said `holds or grows more` of both, beside a sentence by which pods took none of what filled the node."""
    suspect = Suspect(pod=STATIC, held=held, grown=grown, rate=grown // 60, why="is static")
    found = blamed(WITHIN, [WITHIN], [suspect], shortage(HELD, missing=50 if grown else 150))
    assert found is not None
    assert found.detail == detail
    assert str(found.missing) == ("50" if grown else "150")


@pytest.mark.parametrize(
    ("culprit", "why"),
    [
        (pod("a", source=PodSource.STATIC), "is a static pod"),
        (pod("a", priority=SYSTEM_CRITICAL_PRIORITY), "has a critical priority"),
        (pod("own"), "belongs to evictd"),
        (pod("a"), "is guarded by a disruption budget"),
    ],
)
def test_why_a_pod_may_not_go(culprit: Pod, why: str) -> None:
    assert why_it_stays(culprit, State(), config(protected_pods=frozenset({pod("own").uid}))) == why


def test_a_slow_leak_counts_with_all_that_it_took_since_the_supply_became_short() -> None:
    """A static pod that grew by 7 MiB/s for two minutes: in one minute it took less than half of what was missing."""
    slow = Suspect(pod=STATIC, held=50, grown=60, taken=600)
    assert blamed(WITHIN, [WITHIN], [slow], shortage(HELD, missing=150)) is not None
    assert blamed(WITHIN, [WITHIN], [replace(slow, taken=60)], shortage(HELD, missing=150)) is None


def test_a_pod_that_exceeds_its_request_goes_all_the_same() -> None:
    over = row("a", 100, request=50)
    assert blamed(over, [over], [Suspect(pod=STATIC, held=5000, grown=0)], shortage(HELD, missing=150)) is None


@pytest.mark.parametrize(("rate", "goes"), [(10, True), (11, False)])
def test_a_pod_that_exceeds_its_request_goes_if_the_culprit_takes_longer_to_take_as_much(rate: int, goes: bool) -> None:
    """Seven such pods went within four seconds in the place of a pod that a budget guards, which then met the OOM killer."""
    over, suspect = row("a", 100, request=50), Suspect(pod=STATIC, held=5000, grown=3000)
    short = shortage(HELD, missing=150, rate=rate, grown={"static": 3000})
    assert (blamed(over, [over], [suspect], short) is None) is goes


def test_the_largest_holder_whose_growth_is_not_known_may_be_what_makes_a_disk_short() -> None:
    """Pods were measured once at the crossing: a neighbour went for a static pod that wrote 200 MiB/s.

    It went again although this was tested, because a neighbour had grown by a few MiB since it was measured first.
    """
    new = Suspect(pod=STATIC, held=5000, grown=0, is_new=True)

    def stays(suspect: Suspect, **known: Any) -> bool:
        return blamed(WITHIN, [WITHIN], [suspect], shortage(HELD, missing=50, rate=50, **known)) is not None

    assert stays(new)
    assert stays(new, grown={"a": 60})
    assert stays(new, elsewhere=60)
    assert not stays(new, grown={"a": 3000}), "its growth explains the whole rate"
    assert not stays(new, elsewhere=3000)
    assert not stays(replace(new, is_new=False), grown={"a": 60})


def test_a_pod_that_its_owner_creates_anew_does_not_go_again() -> None:
    over = row("a", 100, request=50)
    short = shortage(HELD, missing=150, recreated=["a"])
    assert blamed(over, [over], [Suspect(pod=STATIC, held=5000, grown=0)], short) is not None


def test_growth_counts_until_all_candidates_are_gone() -> None:
    """At 50 a second for ten seconds each, 100 do not cover a shortage of 50."""
    suspect = Suspect(pod=STATIC, held=5000, grown=3000)
    found = blamed(WITHIN, [WITHIN], [suspect], shortage(HELD, missing=50, rate=50, grown={"static": 3000}))
    assert found is not None
    assert (str(found.needed), str(found.reachable)) == ("550", "100")


@pytest.mark.parametrize(("held", "stays"), [(100, True), (2600, False)])
def test_without_requests_a_pod_stays_that_holds_less_than_half(held: int, stays: bool) -> None:
    victim = row("a", held)
    suspect = Suspect(pod=STATIC, held=5000, grown=0)
    found = blamed(victim, [victim], [suspect], shortage({"a": held}, missing=3000, signal="pid.available"))
    assert (found is not None) is stays


def test_pods_that_were_not_measured_are_suspect_together() -> None:
    """Where the pods' cgroup was not read, growth that belongs to no pod stands for theirs."""
    found = blamed(WITHIN, [WITHIN], [Suspect(pod=None, held=None, grown=700)], shortage(HELD, missing=150))
    assert found is not None
    assert (found.why, found.pod) == (NoActionReason.UNMEASURED_CULPRIT, None)
