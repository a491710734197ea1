"""Builds shortages and ranked pods for the tests of the laws about outcomes, from names and amounts."""

from collections.abc import Iterable, Mapping

from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.laws.shortage import Shortage
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.finding import RankedPod, RankPlace, Standing
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO, of_count
from tests.playbook import pod, threshold


def row(name: str, used: int, *, request: int = 0, priority: int = 0) -> RankedPod:
    """A pod that uses so much and requested so much; the order of rows is up to the test."""
    return RankedPod(
        standing=Standing.EXCEEDS if used > request else Standing.WITHIN,
        preference=0,
        priority=priority,
        place=RankPlace.MEASURED,
        deficit=(request - used) * NANO,
        namespace="default",
        name=name,
        uid=name,
        usage=used,
        request=request * NANO,
        pod=pod(name, priority=priority),
    )


def level(used: int, grown: int = 0) -> MeasuredLevel:
    """An amount that has grown by so much."""
    return MeasuredLevel(0, used, 0, used - grown, used - grown, -60 * SECOND)


def holders(
    used: Mapping[str, int],
    grown: Mapping[str, int] | None = None,
    *,
    at: int = 0,
    elsewhere: MeasuredLevel | None = None,
) -> SupplyHoldings:
    """Pods that hold so much, of which some grew by so much within the minute before `at`."""
    lowest = {name: amount - (grown or {}).get(name, 0) for name, amount in used.items()}
    since = at - 60 * SECOND
    return SupplyHoldings(
        at=at, used=used, begun=at, lowest=lowest, lowest_before=lowest, since=since, elsewhere=elsewhere
    )


def shortage(
    held: Mapping[str, int],
    *,
    missing: int = 100,
    rate: int = 0,
    signal: str = "memory.available",
    grown: Mapping[str, int] | None = None,
    elsewhere: int = 0,
    recreated: Iterable[str] = (),
    available: int = 100,
) -> Shortage:
    """A shortage of a supply of 10000, of which pods hold so much; an eviction takes ten seconds."""
    return Shortage(
        threshold=threshold(signal, str(available + missing)),
        supply=supply_of(Signal(signal), Layout.SINGLE),
        seen=SignalObservation(available=of_count(available), capacity=of_count(10_000)),
        missing=missing,
        rate=rate,
        eviction_time=10 * SECOND,
        holdings=holders(held, grown, elsewhere=level(0, elsewhere)),
        held=held,
        recreated=frozenset(recreated),
    )
