"""The loop: what one cycle does, and which errors cost what."""

import os
import signal
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from evictd.act.dry_run import DryRunActuator
from evictd.codec.records.journal import decode_entry
from evictd.codec.records.journal_record import decode_record
from evictd.config.settings import Settings
from evictd.config.written import Written
from evictd.core.model.config import Policy
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind, Outcomes, Reclaim, ReclaimOutcome
from evictd.core.model.signal import Filesystem
from evictd.core.model.state import PhaseName, State, Victim, Watching
from evictd.core.units.duration import SECOND
from evictd.daemon.effects import OomScoreSetter
from evictd.daemon.host.liveness import SdNotifier
from evictd.daemon.oom_scores import OomScores
from evictd.daemon.waiter import SIGNALS, WaitResult
from evictd.errors import NodeError
from evictd.observe.cgroups.kernel_kills import KernelKill
from evictd.observe.reading.observer import ObserveRequest
from evictd.observe.reading.reading import Reading
from evictd.observe.threshold_watch.memory_watch import Woken
from tests.daemon.conftest import Make
from tests.daemon.double import LoopOnScript, ScriptedObserver
from tests.daemon.telemetry.test_metrics import samples, value
from tests.daemon.world import CONFIG, GI, HARD, HOG, NOW, STATIC, WEB, observe
from tests.kube.waiting import eventually
from tests.settings import settings_with


def test_a_cycle_does_what_was_decided_in_order(tmp_path: Path, make: Make) -> None:
    ours = make([observe(GI // 2)])
    ours.loop.cycle(WaitResult())
    assert ours.live.done == [
        "report MemoryPressure", "event EvictionThresholdMet", "evict hog", "advance", "duties", "heartbeat",
    ]  # fmt: skip
    assert ours.loop.state.activity is PhaseName.CLEANING_UP


def test_the_actuator_knows_why_each_pod_goes_except_under_policy_kubelet(make: Make) -> None:
    """Its event says so; that of policy Kubelet is the kubelet's, to the letter."""
    ours = make([observe(GI // 2)])
    ours.loop.cycle(WaitResult())
    assert ours.live.reasons[HOG.uid].startswith(
        "Evicted default/hog (6Gi): it requests none and uses 6Gi; default/web, the next, "
    )
    eviction = replace(CONFIG, policy=Policy.KUBELET)
    theirs = make([observe(GI // 2)], read=lambda: settings_with(eviction=eviction, listen_address=""))
    theirs.loop._reload()
    theirs.loop.cycle(WaitResult())
    assert "evict hog" in theirs.live.done
    assert theirs.live.reasons == {}


def test_the_last_decisions_say_who_took_what_was_short(make: Make) -> None:
    ours = make([observe(4 * GI), observe(GI // 2, NOW + 1)])
    for _ in range(2):
        ours.loop.cycle(WaitResult())
    assert ours.published.latest is not None
    (eviction,) = [each for each in ours.published.latest.recent if each.pod]
    assert eviction.filled.startswith("Of 3.5Gi that filled memory since ")


def test_an_eviction_s_record_has_the_readings_of_the_minutes_before(tmp_path: Path, make: Make) -> None:
    """What `evictd incident` draws: the cycles before it decided nothing, so they are in no record."""
    ours = make([observe(4 * GI), observe(3 * GI, NOW + 1), observe(GI // 2, NOW + 2)])
    for _ in range(3):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    *_, record = [decode_record(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    ((signal, readings),) = record.extra.trend.items()
    assert signal == "memory.available"
    assert {amount for _, amount in readings} <= {4 * GI, 3 * GI}
    assert readings[-1][1] == 3 * GI


def test_stops_are_begun_before_the_journal_is_written(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = make([observe(GI // 2)])
    seen: list[bool] = []
    monkeypatch.setattr(type(ours.recorder), "journal", lambda *_, **__: seen.append("evict hog" in ours.live.done))
    ours.loop.cycle(WaitResult())
    assert seen == [True]


def test_the_next_cycle_comes_when_the_core_wants_it(tmp_path: Path, make: Make) -> None:
    ours = make([observe(4 * GI), observe(GI // 2, NOW + 1)])
    assert ours.loop.cycle(WaitResult()) - ours.observer.requests[-1].now == CONFIG.monitoring_period
    assert ours.loop.cycle(WaitResult()) - ours.observer.requests[-1].now == SECOND


def test_a_reading_that_took_long_does_not_put_the_next_cycle_off(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = make([observe(4 * GI)])
    read = ours.observer.observe
    monkeypatch.setattr(
        ours.observer, "observe", lambda request: replace(read(request), now=request.now + CONFIG.monitoring_period)
    )
    assert ours.loop.cycle(WaitResult()) - ours.observer.requests[-1].now == CONFIG.monitoring_period
    assert ours.published.latest is not None
    assert ours.published.latest.at == ours.observer.requests[-1].now + CONFIG.monitoring_period


def test_a_cycle_that_decided_something_is_in_the_journal_and_a_calm_one_is_not(tmp_path: Path, make: Make) -> None:
    ours = make([observe(4 * GI), observe(4 * GI), observe(GI // 2, NOW + 1)])
    for _ in range(3):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    entries = [decode_entry(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    assert [[decision["kind"] for decision in entry.decisions] for entry in entries] == [
        ["ReportConditions", "Wait"],
        ["ReportConditions", "RecordEvent", "EvictPod", "Wait"],
    ]


def test_the_cycle_that_sees_the_victim_gone_is_in_the_journal_once(tmp_path: Path, make: Make) -> None:
    """Nothing is decided in it; `replay --policy Kubelet` waited for the victim forever."""
    later = [
        replace(observe(4 * GI, NOW + i * SECOND, pods=(WEB,)), outcomes=Outcomes(cleaned_up=frozenset({HOG.uid})))
        for i in (1, 2, 3)
    ]
    ours = make([observe(GI // 2), *later])
    for _ in range(4):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    entries = [decode_entry(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    gone = [entry for entry in entries if HOG.uid in entry.observation.outcomes.cleaned_up]
    assert len(entries) == 2
    assert len(gone) == 1
    assert not any(decision["kind"] == "EvictPod" for decision in gone[0].decisions)


def test_the_begin_and_the_end_of_blindness_are_in_the_journal(tmp_path: Path, make: Make) -> None:
    """No decision goes with them: the history had nothing of an hour in which no reading succeeded."""
    blind = [replace(observe(4 * GI, NOW + i * SECOND), node=None) for i in range(1, 5)]
    ours = make([observe(4 * GI), *blind, *(observe(4 * GI, NOW + i * SECOND) for i in range(5, 9))])
    for _ in range(9):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    records = [decode_record(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    found = [[each["why"] for each in record.findings if each["kind"] == "NoAction"] for record in records]
    assert found == [[], ["NoStats"], []]


def test_after_a_collection_and_beside_a_victim_the_journal_is_calm(tmp_path: Path, make: Make) -> None:
    """What the collectors came to last stays in the outcomes: it was journaled in every cycle from then on, 9 KB each."""
    came_to = Outcomes(
        reclaimed=(ReclaimOutcome(action=Reclaim.IMAGES, device=Filesystem.NODEFS),), collecting=frozenset()
    )
    begun = [observe(4 * GI, disk=10), replace(observe(4 * GI, NOW + SECOND, disk=10), outcomes=came_to)]
    short = [replace(observe(GI // 2, NOW + i * SECOND, disk=10), outcomes=came_to) for i in range(10, 30)]
    ours = make([*begun, *[begun[-1]] * 8, *short])
    for _ in range(30):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    entries = [decode_entry(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    kinds = [[decision["kind"] for decision in entry.decisions] for entry in entries]
    decided = [each for each in kinds if each != ["Wait"]]
    assert [each[-2] for each in decided] == ["ReclaimNode", "EvictPod"]
    assert len(kinds) == len(decided) + 1, "and the cycle that saw the collection's end"


def test_what_a_collection_freed_is_logged_before_the_threshold_is_not_met_any_more(make: Make) -> None:
    """The demonstration showed `enough is left again`, and after it what had been removed."""
    came_to = Outcomes(
        reclaimed=(ReclaimOutcome(action=Reclaim.IMAGES, device=Filesystem.NODEFS, removed=2),), collecting=frozenset()
    )
    ours = make([observe(4 * GI, disk=10), replace(observe(4 * GI, NOW + SECOND), outcomes=came_to)])
    for _ in range(2):
        ours.loop.cycle(WaitResult())
    events = [line["event"] for line in ours.logged]
    assert events.index("collected") < events.index("threshold no longer met")


def test_a_refusal_is_in_the_journal_also_when_nothing_else_is_decided(tmp_path: Path, make: Make) -> None:
    """The decision alone would read as an eviction."""
    answer = EvictionAnswer(uid=HOG.uid, kind=EvictionAnswerKind.REFUSED, at=NOW, detail="Cannot evict pod")
    refused_now = replace(observe(4 * GI), outcomes=Outcomes(answers=(answer,)))
    victim = Victim(uid=HOG.uid, full_name=HOG.full_name)
    ours = make([observe(4 * GI), refused_now], state=State(in_flight=(victim,)))
    for _ in range(3):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    entries = [decode_entry(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    refused = [{"pod": HOG.full_name, "uid": HOG.uid, "detail": "Cannot evict pod"}]
    assert [(entry.extra or {}).get("refused") for entry in entries] == [None, refused]
    assert [line["pod"] for line in ours.logged if "detail" in line] == [HOG.full_name]


def test_under_policy_kubelet_an_event_that_repeats_is_in_the_journal_once(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kubelet records it in each cycle of a threshold that nothing relieves."""
    ours = make([observe(GI // 2, NOW + second, pods=(STATIC,)) for second in range(10)])
    kubelet = replace(ours.configuration.settings, eviction=replace(CONFIG, policy=Policy.KUBELET))
    monkeypatch.setattr(ours.configuration, "settings", kubelet)
    for _ in range(10):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    entries = [decode_entry(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    assert [[decision["kind"] for decision in entry.decisions] for entry in entries] == [
        ["ReportConditions", "RecordEvent", "Wait"]
    ]
    assert ours.live.done.count("event EvictionThresholdMet") == 10


def test_a_calm_node_logs_nothing_in_a_cycle(tmp_path: Path, make: Make) -> None:
    ours = make([observe(4 * GI)])
    ours.loop.cycle(WaitResult())
    before = len(ours.logged)
    for _ in range(5):
        ours.loop.cycle(WaitResult())
    assert len(ours.logged) == before


def test_the_last_cycle_is_published(tmp_path: Path, make: Make) -> None:
    ours = make([observe(GI // 2)])
    ours.loop.cycle(WaitResult())
    assert ours.published.latest is not None
    assert ours.published.latest.state is ours.loop.state
    assert "evict default/hog" in ours.published.latest.recent[-1].text


def test_a_crossing_of_memory_makes_an_urgent_request(tmp_path: Path, make: Make) -> None:
    ours = make([observe(4 * GI)])
    ours.loop.cycle(WaitResult())
    ours.loop.cycle(WaitResult(cause=Woken.MEMORY))
    assert [look.urgent for look in ours.observer.requests] == [False, True]


def test_a_crossing_of_a_disk_makes_a_request_that_measures_from_then_on(tmp_path: Path, make: Make) -> None:
    ours = make([observe(4 * GI)])
    ours.loop.cycle(WaitResult())
    ours.loop.cycle(WaitResult(cause=Woken.DISK))
    assert [look.disk_crossed for look in ours.observer.requests] == [False, True]


def test_an_eviction_of_a_dry_run_is_in_the_journal_once(tmp_path: Path, make: Make) -> None:
    """Of a cycle that changes no condition as well: the log had it already when the journal asked whether it is new."""
    ours = make([observe(2 * GI - 1), observe(GI // 2, NOW + 1), observe(GI // 2, NOW + 2)], dry_run=True)
    for _ in range(3):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    entries = [decode_entry(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    kinds = [[decision["kind"] for decision in entry.decisions] for entry in entries]
    assert kinds == [["ReportConditions", "Wait"], ["RecordEvent", "EvictPod", "Wait"]]


def test_a_dry_run_has_no_duties_and_keeps_nothing(tmp_path: Path, make: Make) -> None:
    ours = make([observe(GI // 2)], dry_run=True)
    for _ in range(3):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    assert ours.live.done == ["advance"] * 3
    assert not (tmp_path / "state.json").exists()
    assert ours.loop.state.phase == Watching()
    assert sum("would evict" in line["event"] for line in ours.logged) == 1


class Comparing(OomScores):
    """Notes how it was asked, and does nothing."""

    asked: ClassVar[list[bool]] = []

    def compare(self, reading: Reading, setter: OomScoreSetter) -> None:
        self.asked.append(isinstance(setter, DryRunActuator))


def test_oom_scores_are_compared_in_every_cycle_also_in_a_dry_run(tmp_path: Path, make: Make) -> None:
    for dry_run in (False, True):
        scores = Comparing(enforce=True, cgroup=tmp_path, proc=tmp_path)
        ours = make([observe(4 * GI)], dry_run=dry_run, oom_scores=scores)
        ours.loop.cycle(WaitResult())
        ours.loop.cycle(WaitResult())
    assert Comparing.asked == [False, False, True, True]


def test_a_state_directory_that_cannot_be_written_is_a_problem_and_in_the_status_line(
    tmp_path: Path, make: Make
) -> None:
    """It was in the log only: a start after a crash would have known nothing of the victims under way."""
    ours = make([observe(4 * GI)])
    eventually((tmp_path / ".state.json.spare").exists)
    (tmp_path / ".state.json.spare").unlink(missing_ok=True)
    (tmp_path / ".state.json.spare").mkdir()
    ours.loop.cycle(WaitResult())
    eventually(ours.recorder.problems)
    ours.loop.cycle(WaitResult())
    (problem,) = ours.observer.requests[-1].problems
    assert problem.source == "state"
    assert problem.detail == f"not written: {tmp_path}/.state.json.spare: Is a directory"
    assert ours.loop._status().endswith(f"no pressure; state: {problem.detail}")


def test_it_runs_until_sigterm_and_saves_its_state(tmp_path: Path, make: Make) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        notifier = SdNotifier(str(tmp_path / "notify"))
        ours = make([observe(GI // 2)], notifier=notifier)
        ours.wake.listen(SIGNALS)
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        ours.loop.run()
        timer.join()
        notifier.close()
        assert manager.recv(1000).startswith(b"READY=1\nSTATUS=CleaningUp; MemoryPressure")
        assert manager.recv(1000) == b"STOPPING=1"
    ours.recorder.close()
    assert (tmp_path / "state.json").exists()


def fail_once(ours: LoopOnScript) -> None:
    """Run with an observation that fails altogether, until SIGTERM."""

    def fail(request: ObserveRequest) -> Reading:
        os.kill(os.getpid(), signal.SIGTERM)
        raise NodeError("the mount table is gone")

    ours.observer.observe = fail  # type: ignore[method-assign]
    ours.wake.listen(SIGNALS)
    ours.loop.run()


def test_an_observation_that_fails_costs_a_cycle_and_not_the_daemon(tmp_path: Path, make: Make) -> None:
    ours = make([observe(4 * GI)])
    fail_once(ours)
    assert [line["detail"] for line in ours.logged] == ["the mount table is gone"]


class UnforeseenError(RuntimeError):
    """An exception that no part of the daemon knows."""


def raises(*_: object, **__: object) -> None:
    raise UnforeseenError("digits")


def cycle_errors(ours: LoopOnScript) -> list[str]:
    return [line["detail"] for line in ours.logged if line.get("source") == "cycle"]


def test_an_unforeseen_exception_costs_a_cycle_and_is_logged_once_with_its_type(tmp_path: Path, make: Make) -> None:
    ours = make([observe(GI // 2)])
    observe_well, ours.observer.observe = ours.observer.observe, raises  # type: ignore[method-assign, assignment]
    for _ in range(3):
        ours.loop._try_cycle(WaitResult())
    (detail,) = cycle_errors(ours)
    assert "UnforeseenError: digits" in detail
    ours.observer.observe = observe_well  # type: ignore[method-assign]
    ours.loop._try_cycle(WaitResult())
    assert "evict hog" in ours.live.done
    assert len(cycle_errors(ours)) == 1


@pytest.mark.parametrize(
    ("part", "method"),
    [
        ("recorder", "journal"),
        ("recorder", "save"),
        ("watch", "set_thresholds"),
        ("telemetry", "decision"),
        ("telemetry", "findings"),
        ("telemetry", "stats_age"),
        ("live", "announce"),
        ("live", "report_conditions"),
        ("live", "record_event"),
        ("live", "advance"),
        ("live", "perform_duties"),
        ("live", "heartbeat"),
        ("node", "set_oom_scores"),
    ],
)
def test_decisions_are_performed_whatever_else_raises(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch, part: str, method: str
) -> None:
    """And the state is replaced: the pod that goes is not chosen again."""
    ours = make([observe(GI // 2)])
    target = getattr(ours, part)
    monkeypatch.setattr(type(target), method, raises)
    for _ in range(2):
        ours.loop._try_cycle(WaitResult())
    assert ours.live.done.count("evict hog") == 1
    assert ours.loop.state.in_flight
    logged = [line["detail"] for line in ours.logged if "UnforeseenError: digits" in str(line.get("detail"))]
    assert logged


LIVE = Written(fields=frozenset({"dryRun"}))


def reloaded(make: Make, fresh: Settings | Exception, *, dry_run: bool = False) -> LoopOnScript:
    """Run a loop until it has been asked to reload once."""

    def read() -> Settings:
        os.kill(os.getpid(), signal.SIGTERM)
        if isinstance(fresh, Exception):
            raise fresh
        return fresh

    ours = make([observe(4 * GI)], read=read, dry_run=dry_run)
    ours.wake.listen(SIGNALS)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGHUP))
    timer.start()
    ours.loop.run()
    timer.join()
    return ours


def test_sighup_puts_the_new_configuration_into_effect(make: Make) -> None:
    eviction = replace(CONFIG, thresholds=(HARD,))
    ours = reloaded(make, settings_with(eviction=eviction, dry_run=True, listen_address=""))
    assert ours.loop._reloader.eviction == eviction
    assert isinstance(ours.node.effects.actuator, DryRunActuator)
    assert {line["field"] for line in ours.logged if line["event"] == "configuration changes"} == {
        "thresholds",
        "dryRun",
    }


def test_the_end_of_a_dry_run_is_a_warning(make: Make) -> None:
    ours = reloaded(make, settings_with(eviction=CONFIG, dry_run=False, listen_address="", written=LIVE), dry_run=True)
    (line,) = [each for each in ours.logged if each["event"] == "configuration changes"]
    assert (line["level"], line["field"], line["old"], line["new"]) == ("warning", "dryRun", "true", "false")


def test_the_warnings_of_the_new_files_are_logged(make: Make) -> None:
    ours = reloaded(make, replace(settings_with(CONFIG, listen_address=""), surprises=("x is surprising",)))
    (line,) = [each for each in ours.logged if each.get("source") == "configuration"]
    assert (line["level"], line["event"]) == ("warning", "x is surprising")


def test_a_configuration_with_an_error_changes_nothing(make: Make) -> None:
    ours = reloaded(make, NodeError("config.yaml: no such file"))
    assert ours.loop._reloader.eviction == CONFIG
    assert ours.published.reload_fault.endswith("config.yaml: no such file")
    assert [line["source"] for line in ours.logged if line["event"] == "error"] == ["reload"]


class AboveKills(ScriptedObserver):
    """A node on which the kernel kills a process of the web pod, and one of the host, before the second cycle."""

    def kernel_kills(self, reading: Reading) -> tuple[KernelKill, ...]:
        kills = (KernelKill(where="default/web", uid=WEB.uid, count=1), KernelKill(where="system.slice", count=1))
        return kills if len(self.requests) == 2 else ()


def test_a_kill_by_the_kernel_is_in_the_journal_the_log_and_the_metrics(tmp_path: Path, make: Make) -> None:
    ours = make([observe(4 * GI)])
    ours.node.observer = AboveKills([observe(4 * GI)])
    for _ in range(3):
        ours.loop.cycle(WaitResult())
    ours.recorder.close()
    records = [decode_record(line) for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    kills = [each.where for record in records for each in record.extra.kernel_killed]
    assert kills == ["default/web", "system.slice"]
    assert str(ours.logged).count("the kernel killed 1 process of ") == 2
    assert value(samples(ours.metrics), "evictd_kernel_kills_total") == 2
