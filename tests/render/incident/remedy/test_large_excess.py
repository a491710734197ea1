"""Checks which pod is named that exceeds its request and is never evicted, and the limit of it that is proposed."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.avoided import Avoidance
from evictd.render.incident.remedy.large_excess import excess_limit, protected_excess, protected_excess_text
from evictd.render.incident.summary import summary_text
from tests.render.recorded_incident import incident
from tests.stories import GI

WEB, STATIC = "default/web", "default/etcd"
MI = 1 << 20


def beside_static(*, usage: int = 5 * GI, request: int = GI, rate: int = MI, **changes: Any) -> Incident:
    """The recorded pod goes for what `default/web` took in the last minute, beside a static pod that grew long before."""
    web = Grower(pod=WEB, rate=rate)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(web,), played=5 * MINUTE)
    found = replace(incident(), host_filled=False, verdict=verdict, with_request="default/hog-old")
    rows = (replace(row, request=GI if row.chosen else 1 << 40) for row in found.ranking)
    rows = (replace(row, usage=usage, request=request) if row.pod == STATIC else row for row in rows)
    return replace(found, ranking=tuple(rows), **changes)


def test_the_limit_of_a_static_pod_that_grew_long_before_is_proposed() -> None:
    """Nothing would have avoided the eviction, by the report: the static pod had grown 13 minutes before."""
    found = beside_static()
    exceeds = "exceeds its request by 4Gi"
    (said,) = excess_limit(found).by
    assert said.startswith("a limit of at most 3.19Gi")
    assert (
        f" of memory for {STATIC}, which {exceeds} and is never evicted (5Gi that it held, less 1.5Gi that was missing, and 300Mi"
        in said
    )
    assert said in avoidance(found).by
    assert f"{STATIC}, which is never evicted, {exceeds}" in summary_text(found)


def _grew_itself() -> EvictionVerdict:
    return EvictionVerdict(need=Need.NEEDED, pod=WEB, growers=(Grower(pod=STATIC, rate=MI),), played=0)


@pytest.mark.parametrize(
    "found",
    [
        beside_static(usage=GI),
        beside_static(usage=2 * GI),
        beside_static(rate=20 * MI),
        beside_static(host_filled=True),
        beside_static(verdict=None),
        beside_static(levels=()),
        beside_static(verdict=_grew_itself()),
    ],
    ids=["within its request", "too little", "others take more", "the host", "not judged", "nothing short", "it grew"],
)
def test_no_limit_is_proposed_that_had_not_avoided_it(found: Incident) -> None:
    assert excess_limit(found) == Avoidance()


def test_only_what_has_a_request_is_exceeded() -> None:
    row = protected_excess(beside_static())
    assert row is not None
    assert row.pod == STATIC
    for none in (beside_static(usage=GI), beside_static(signal=Signal.PID_AVAILABLE)):
        assert protected_excess(none) is None
        assert protected_excess_text(none) == ""
