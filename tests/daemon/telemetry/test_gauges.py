"""The gauges that are made of a snapshot; test_metrics has those of signals and conditions."""

from collections.abc import Mapping
from dataclasses import replace

from evictd.core.model.attribution import Attribution, Share
from evictd.core.model.finding import NoAction, NoActionReason, SignalUnobserved
from evictd.core.model.observation import Problem
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.gauges import gauges
from evictd.daemon.telemetry.snapshot import LatestSnapshot, Snapshot
from evictd.daemon.telemetry.trends import Point, Trend, Trends
from tests.daemon.world import CONFIG, GI, HARD, snapshot

Series = Mapping[tuple[str, ...], float]


def gauge(name: str, shown: Snapshot | None, *, configured_at: int = 0) -> Series:
    published = LatestSnapshot()
    published.latest, published.configured_at = shown, configured_at
    (family,) = (each for each in gauges(published) if each.name == name)
    return family.samples


def test_the_time_to_a_threshold_follows_from_the_last_minute() -> None:
    trend = Trend(recent=(Point(0, 5 * GI), Point(10 * SECOND, 4 * GI)))
    shown = replace(snapshot(4 * GI), trends=Trends(signals={Signal.MEMORY_AVAILABLE: trend}))
    found = gauge("evictd_time_to_threshold_seconds", shown)
    assert found == {("memory.available", "soft"): 20, ("memory.available", "hard"): 30}
    assert gauge("evictd_time_to_threshold_seconds", snapshot(4 * GI)) == {}


def test_a_signal_of_a_derived_threshold_is_not_missed() -> None:
    """A node without a cgroup of its pods has no allocatable memory, and nothing is wrong with it."""
    derived = replace(HARD, signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE, origin=Origin.DERIVED)
    shown = snapshot(4 * GI)
    shown = replace(
        shown,
        config=replace(CONFIG, thresholds=(*CONFIG.thresholds, derived)),
        findings=(*shown.findings, SignalUnobserved(signal=derived.signal)),
    )
    found = gauge("evictd_signal_unavailable", shown)
    assert found == {("memory.available",): 0, ("nodefs.available",): 0, ("pid.available",): 1}
    absent = replace(shown, findings=(SignalUnobserved(signal=Signal.PID_AVAILABLE, absent=True),))
    assert gauge("evictd_signal_unavailable", absent)[("pid.available",)] == 0


def test_the_number_of_pods_is_absent_where_they_are_unknown() -> None:
    shown = snapshot(4 * GI)
    assert gauge("evictd_active_pods", shown) == {(): 3}
    problem = Problem(source="container runtime", detail="no answer")
    blind = replace(shown, observation=replace(shown.observation, pods=(), problems=(problem,)))
    assert gauge("evictd_active_pods", blind) == {}


def test_findings_and_reasons_are_counted_and_exist_from_the_start() -> None:
    shown = snapshot(4 * GI)
    shown = replace(shown, findings=(*shown.findings, NoAction(why=NoActionReason.NOTHING_HELPS, threshold=HARD)))
    reasons = gauge("evictd_no_action", shown)
    assert {reason for reason, count in reasons.items() if count} == {("NothingHelps",)}
    assert len(reasons) == len(NoActionReason)
    assert gauge("evictd_findings", shown)[("SignalUnobserved",)] == 1
    assert gauge("evictd_findings", shown)[("StatsMissing",)] == 0


def test_what_cannot_be_done_for_long_is_a_gauge_by_the_kind_of_its_source() -> None:
    """The counter of errors has 1 for an outage, however long it lasts."""
    assert gauge("evictd_problems", snapshot(4 * GI)) == {}
    sources = ("container runtime", "stopping pod uid-1", "stopping pod uid-2", "new")
    problems = tuple(Problem(source=source, detail="no answer") for source in sources)
    shown = snapshot(4 * GI)
    shown = replace(shown, observation=replace(shown.observation, problems=problems))
    found = gauge("evictd_problems", shown)
    assert found == {("container runtime",): 1, ("stopping pod",): 2, ("other",): 1}


def test_when_the_configuration_was_read_is_a_metric() -> None:
    assert gauge("evictd_config_last_reload_success_timestamp_seconds", None, configured_at=7 * SECOND) == {(): 7}


def test_who_holds_what_is_short_and_who_took_it() -> None:
    held = Attribution(
        signal=Signal.MEMORY_AVAILABLE,
        used=8 * GI,
        over=SECOND,
        evictable=Share(held=2 * GI, grown=5),
        protected=Share(held=0),
        leaving=Share(held=0),
        unmeasured=Share(held=None, pods=1),
        elsewhere=Share(held=6 * GI, grown=GI),
    )
    shown = replace(snapshot(GI // 2), findings=(held,))
    assert gauge("evictd_held", shown)[("memory.available", "evictable")] == 2 * GI
    assert ("memory.available", "unmeasured") not in gauge("evictd_held", shown)
    assert gauge("evictd_growth", shown)[("memory.available", "elsewhere")] == GI
    assert gauge("evictd_held", snapshot(4 * GI)) == {}
