"""Lines in the log, metrics, and the last decisions."""

from dataclasses import replace
from pathlib import Path

import pytest

from evictd.act.actuator import Failure, Progress
from evictd.core.eviction.refusals.backoff import Refusal
from evictd.core.model.decision import EvictPod, RecordEvent, ReportConditions
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind, Outcomes
from evictd.core.model.oom import OomScoreDifference
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State, Victim
from evictd.core.units.duration import SECOND
from evictd.daemon.store.recorder import Cycle
from evictd.daemon.telemetry.telemetry import REPEAT_AFTER, Telemetry
from evictd.errors import NodeError
from evictd.render.attribution import Filled
from evictd.render.deciding import reasons_of
from evictd.render.text import pods_text
from tests.daemon.double import LoopOnScript
from tests.daemon.status import status_of
from tests.daemon.telemetry.test_metrics import samples, value
from tests.daemon.world import CONFIG, GI, HOG, NOW, WALL, observe, step


@pytest.fixture
def ours(tmp_path: Path) -> LoopOnScript:
    made = LoopOnScript(tmp_path, [observe(4 * GI)])
    made.close()
    return made


def eviction() -> EvictPod:
    return next(decision for decision in step(GI // 2).decisions if isinstance(decision, EvictPod))


def test_a_decision_is_a_line_and_is_remembered(ours: LoopOnScript) -> None:
    ours.telemetry.decision(eviction())
    (line,) = ours.logged
    assert line["pod"] == "default/hog"
    (decided,) = ours.telemetry._recent.all()
    assert (decided.wall, decided.kind) == (WALL, "EvictPod")


def test_a_prefix_comes_before_the_text(ours: LoopOnScript) -> None:
    pressure = ReportConditions(conditions=(NodeCondition.MEMORY_PRESSURE,))
    ours.telemetry.decision(pressure, prefix="would ")
    assert ours.telemetry._recent.all()[0].text == "would report node conditions: MemoryPressure"


def test_a_dry_run_does_not_log_that_it_would_report_no_condition(ours: LoopOnScript) -> None:
    ours.telemetry.decision(ReportConditions(conditions=()), prefix="would ")
    assert ours.logged == []


def test_conditions_are_remembered_where_they_change(ours: LoopOnScript) -> None:
    """The first report of a calm node is logged only; the end of a condition names it."""
    calm = ReportConditions(conditions=())
    for decision in (calm, ReportConditions(conditions=(NodeCondition.MEMORY_PRESSURE,)), calm):
        ours.telemetry.decision(decision)
    texts = ["report node conditions: MemoryPressure", "report node conditions: MemoryPressure ended"]
    assert [each["event"] for each in ours.logged] == ["report node conditions: none", *texts]
    assert [each.text for each in ours.telemetry._recent.all()] == texts


def test_only_so_many_decisions_are_remembered(ours: LoopOnScript) -> None:
    for _ in range(200):
        ours.telemetry.decision(eviction())
    assert len(ours.telemetry._recent.all()) == 50


def test_events_are_logged_at_their_level(ours: LoopOnScript) -> None:
    ours.telemetry.event(RecordEvent(type="Warning", reason="A", message="b"))
    ours.telemetry.event(RecordEvent(type="Normal", reason="C", message="d"))
    assert [line["event"] for line in ours.logged] == ["b", "d"]


def test_an_oom_score_is_logged_with_its_old_value(ours: LoopOnScript) -> None:
    difference = OomScoreDifference(pod=HOG, container="main", expected=1000, found=0, cgroup="/c", pids=(1,))
    ours.telemetry.corrected(difference)
    ours.telemetry.corrected(difference, prefix="would ")
    was, would = ours.logged
    assert (was["pod"], was["container"], was["was"], was["documented"]) == ("default/hog", "main", 0, 1000)
    assert [was["event"], would["event"]] == [
        "set oom_score_adj as documented",
        "would set oom_score_adj as documented",
    ]


def test_a_failure_is_logged_and_counted(ours: LoopOnScript) -> None:
    ours.telemetry.failures([Failure(decision=eviction(), error=NodeError("no"))])
    assert value(samples(ours.metrics), "evictd_errors_total", source="perform") == 1
    assert "evict default/hog" in ours.logged[0]["detail"]


def test_an_eviction_counts_with_the_time_since_the_crossing(ours: LoopOnScript) -> None:
    ours.telemetry._observe_reaction([eviction()], SECOND // 100)
    ours.telemetry.progress(Progress(evicted=(eviction(),)))
    found = samples(ours.metrics)
    labels = {"eviction_signal": "memory.available", "reason": "pressure"}
    assert value(found, "evictd_evictions_total", **labels) == 1
    assert value(found, "evictd_reaction_seconds_sum", action="evict") == 0.01


def test_an_eviction_that_is_only_asked_for_is_not_counted_and_a_refusal_is_logged(ours: LoopOnScript) -> None:
    """A budget may refuse; the log has the API server's answer."""
    ours.telemetry._observe_reaction([eviction()], 0)
    answer = EvictionAnswer(uid=HOG.uid, kind=EvictionAnswerKind.REFUSED, detail="Cannot evict pod")
    ours.telemetry.refusals([Refusal(Victim(uid=HOG.uid, full_name=HOG.full_name), answer)])
    labels = {"eviction_signal": "memory.available", "reason": "pressure"}
    assert value(samples(ours.metrics), "evictd_evictions_total", **labels) == 0
    assert (ours.logged[0]["pod"], ours.logged[0]["detail"]) == (HOG.full_name, "Cannot evict pod")


def test_the_age_of_the_statistics_is_observed_at_every_ranking(ours: LoopOnScript) -> None:
    ours.telemetry.stats_age(step(GI // 2).findings, observe(GI // 2), NOW + SECOND)
    found = samples(ours.metrics)
    assert value(found, "evictd_eviction_stats_age_seconds_sum", eviction_signal="memory.available") == 1


def test_an_error_that_repeats_is_counted_each_time_and_logged_once(ours: LoopOnScript) -> None:
    for _ in range(5):
        ours.telemetry.report_error("journal", "no space left on device")
    ours.telemetry.report_error("journal", "input/output error")
    assert [line["detail"] for line in ours.logged] == ["no space left on device", "input/output error"]
    assert value(samples(ours.metrics), "evictd_errors_total", source="journal") == 6


def test_an_error_that_lasts_is_logged_again_after_a_while(ours: LoopOnScript) -> None:
    now = [WALL]
    telemetry = Telemetry(ours.telemetry._log, ours.metrics, ours.published, lambda: now[0])
    for _ in range(3):
        telemetry.report_error("journal", "no space left on device")
        now[0] += REPEAT_AFTER
    assert len(ours.logged) == 3


def test_why_this_pod_went_is_logged_once_and_remembered(ours: LoopOnScript) -> None:
    ours.telemetry.decision(eviction())
    for _ in range(2):
        decided = step(GI // 2)
        ours.telemetry.reasons(decided.decisions, reasons_of(decided.decisions, decided.findings), Filled("who"))
    _, line = ours.logged
    assert line["event"].startswith("Evicted default/hog (6Gi): it requests none and uses 6Gi; default/web, the next, ")
    shown = ours.telemetry._recent.all()[0]
    assert (shown.why, shown.filled) == (line["event"], "who")


def test_the_snapshot_says_when_the_pods_were_read(ours: LoopOnScript) -> None:
    """A calm cycle reads the node alone, and shows the pods of the last reading."""
    for at, read in ((NOW, True), (NOW + 10 * SECOND, False), (NOW + 20 * SECOND, False), (NOW + 30 * SECOND, True)):
        seen = replace(observe(4 * GI, at), pods_read=read)
        done = step(4 * GI, at=at)
        ours.telemetry.publish(Cycle(now=at, wall=WALL, before=State(), observation=seen, config=CONFIG, step=done))
        latest = ours.published.latest
        assert latest is not None
        before = 0 if read else at - NOW
        assert (latest.pods_before, latest.node_name) == (before, "node-1")
        assert value(samples(ours.metrics), "evictd_last_pods_reading_timestamp_seconds") == (WALL - before) / SECOND
        document = status_of(latest, at + SECOND)
        assert (document["ageSeconds"], document["podsAgeSeconds"]) == (1, 1 + before / SECOND)
        earlier = {0: "", 10 * SECOND: " (as of 10s earlier)", 20 * SECOND: " (as of 20s earlier)"}
        assert pods_text(document) == "3 pods" + earlier[before]


def test_the_end_of_a_victim_is_added_to_its_eviction(ours: LoopOnScript) -> None:
    ours.telemetry.decision(eviction())
    seen = replace(observe(4 * GI), outcomes=Outcomes(stopped=frozenset({HOG.uid})))
    cycle = Cycle(now=NOW, wall=WALL + SECOND, before=State(), observation=seen, config=CONFIG, step=step(4 * GI))
    ours.telemetry.performed(cycle, (), since=NOW, acted=NOW)
    assert [each.ended for each in ours.telemetry._recent.all()] == [WALL + SECOND]
