"""The loop: what one cycle does, what ends the wait, and how it ends."""

import os
import re
import select
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from evictd.act.perform import Refusal
from evictd.clients.cri.client import READ_TIMEOUT_SECONDS
from evictd.codec.journal import decode_entry
from evictd.core.config import EvictionConfig
from evictd.core.duration import SECOND
from evictd.core.observation import Problem
from evictd.core.state import CleaningUp, Watching
from evictd.daemon.housekeeping import HELD_INTERVAL, SIGNALS, SIGNS_OF_LIFE, boot_clock, monotonic_clock, wall_clock
from evictd.daemon.look import RUNTIME, Look
from evictd.daemon.notify import Notifier
from evictd.daemon.oom_scores import OomScores
from evictd.daemon.sight import Sight
from evictd.errors import NodeError
from evictd.observe.filesystem import TIMEOUT
from evictd.observe.memory_watch import Woken
from evictd.observe.runtime_view import PATIENCE_SECONDS, RuntimeView
from tests.daemon.double import House
from tests.daemon.world import CONFIG, GI, HOG, NOW, observe, step

VIEW = RuntimeView(time=0, sandboxes=(), containers=())


@pytest.fixture
def houses() -> Iterator[list[House]]:
    made: list[House] = []
    yield made
    for house in made:
        house.close()


def test_a_cycle_does_what_was_decided_in_order(tmp_path: Path, houses: list[House]) -> None:
    house = House(tmp_path, [observe(GI // 2)])
    houses.append(house)
    house.loop.cycle(Woken.TIME)
    assert house.hands.done == [
        "turn", "report MemoryPressure", "event EvictionThresholdMet", "evict hog", "duties", "heartbeat",
    ]  # fmt: skip
    assert isinstance(house.loop.state.phase, CleaningUp)


def test_the_next_cycle_comes_when_the_core_wants_it(tmp_path: Path, houses: list[House]) -> None:
    house = House(tmp_path, [observe(4 * GI), observe(GI // 2, NOW + 1)])
    houses.append(house)
    assert house.loop.cycle(Woken.TIME) - house.looks[-1].now == CONFIG.monitoring_period
    assert house.loop.cycle(Woken.TIME) - house.looks[-1].now == SECOND
    assert HELD_INTERVAL < SECOND


def test_a_cycle_that_decided_something_is_in_the_journal_and_a_calm_one_is_not(
    tmp_path: Path, houses: list[House]
) -> None:
    house = House(tmp_path, [observe(4 * GI), observe(4 * GI), observe(GI // 2, NOW + 1)])
    houses.append(house)
    for _ in range(3):
        house.loop.cycle(Woken.TIME)
    house.recorder.close()
    entries = [decode_entry(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    assert [[decision["kind"] for decision in entry.decisions] for entry in entries] == [
        ["ReportConditions", "Wait"],
        ["ReportConditions", "RecordEvent", "EvictPod", "Wait"],
    ]


def test_a_refusal_is_in_the_journal_also_when_nothing_else_is_decided(tmp_path: Path, houses: list[House]) -> None:
    """Who was to go and stays: what was decided alone would read as an eviction."""
    house = House(tmp_path, [observe(4 * GI), observe(4 * GI)])
    houses.append(house)
    house.loop.cycle(Woken.TIME)
    house.hands.refused = (Refusal(pod=HOG, detail="Cannot evict pod"),)
    house.loop.cycle(Woken.TIME)
    house.recorder.close()
    entries = [decode_entry(line + b"\n") for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    refused = [{"pod": HOG.full_name, "uid": HOG.uid, "detail": "Cannot evict pod"}]
    assert [(entry.extra or {}).get("refused") for entry in entries] == [None, refused]
    assert [line["pod"] for line in house.logged if "detail" in line] == [HOG.full_name]


def test_a_calm_node_logs_nothing_per_cycle(tmp_path: Path, houses: list[House]) -> None:
    house = House(tmp_path, [observe(4 * GI)])
    houses.append(house)
    house.loop.cycle(Woken.TIME)
    before = len(house.logged)
    for _ in range(5):
        house.loop.cycle(Woken.TIME)
    assert len(house.logged) == before


def test_whoever_looks_sees_the_last_cycle(tmp_path: Path, houses: list[House]) -> None:
    house = House(tmp_path, [observe(GI // 2)])
    houses.append(house)
    house.loop.cycle(Woken.TIME)
    assert house.board.latest is not None
    assert house.board.latest.state is house.loop.state
    assert "evict default/hog" in house.board.latest.recent[-1].text


def test_a_crossing_of_memory_is_an_urgent_look(tmp_path: Path, houses: list[House]) -> None:
    house = House(tmp_path, [observe(4 * GI)])
    houses.append(house)
    house.loop.cycle(Woken.TIME)
    house.loop.cycle(Woken.MEMORY)
    assert [look.urgent for look in house.looks] == [False, True]


def test_a_dry_run_has_no_duties_and_keeps_nothing(tmp_path: Path, houses: list[House]) -> None:
    house = House(tmp_path, [observe(GI // 2)], dry_run=True)
    houses.append(house)
    for _ in range(3):
        house.loop.cycle(Woken.TIME)
    house.recorder.close()
    assert house.hands.done == ["turn"] * 3
    assert not (tmp_path / "state.json").exists()
    assert house.loop.state.phase == Watching()
    assert sum("would evict" in line["event"] for line in house.logged) == 1


class Attending(OomScores):
    """Notes how it was asked, and does nothing."""

    asked: ClassVar[list[bool]] = []

    def attend(self, sight: Sight, *, dry_run: bool) -> None:
        self.asked.append(dry_run)


def test_oom_scores_are_attended_to_in_every_cycle_also_in_a_dry_run(tmp_path: Path, houses: list[House]) -> None:
    for dry_run in (False, True):
        scores = Attending(enforce=True, cgroup=tmp_path, proc=tmp_path, tell=lambda _: None)
        house = House(tmp_path / str(dry_run), [observe(4 * GI)], dry_run=dry_run, oom_scores=scores)
        houses.append(house)
        house.loop.cycle(Woken.TIME)
        house.loop.cycle(Woken.TIME)
    assert Attending.asked == [False, False, True, True]


def test_victims_of_an_earlier_life_are_taken_up_once_the_runtime_answers(tmp_path: Path, houses: list[House]) -> None:
    state = step(GI // 2, at=NOW).state
    deaf = House(tmp_path, [observe(4 * GI)], state=state)
    houses.append(deaf)
    deaf.loop.cycle(Woken.TIME)
    assert "resume" not in deaf.hands.done
    house = House(tmp_path, [observe(4 * GI)], state=state, view=VIEW)
    houses.append(house)
    house.loop.cycle(Woken.TIME)
    house.loop.cycle(Woken.TIME)
    assert house.hands.done.count("resume") == 1


def test_it_runs_until_it_is_told_to_stop_and_remembers(tmp_path: Path, houses: list[House]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        notifier = Notifier(str(tmp_path / "notify"))
        house = House(tmp_path, [observe(GI // 2)], notifier=notifier)
        houses.append(house)
        house.wake.listen(SIGNALS)
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        house.loop.run()
        timer.join()
        notifier.close()
        assert manager.recv(1000).startswith(b"READY=1\nSTATUS=CleaningUp; MemoryPressure")
        assert manager.recv(1000) == b"STOPPING=1"
    house.recorder.close()
    assert (tmp_path / "state.json").exists()


def test_a_hang_up_reads_the_configuration_again(tmp_path: Path, houses: list[House]) -> None:
    asked: list[EvictionConfig] = []
    fresh = EvictionConfig()

    def reload() -> EvictionConfig:
        asked.append(fresh)
        os.kill(os.getpid(), signal.SIGTERM)
        return fresh

    house = House(tmp_path, [observe(4 * GI)], reload=reload)
    houses.append(house)
    house.wake.listen(SIGNALS)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGHUP))
    timer.start()
    house.loop.run()
    timer.join()
    assert asked == [fresh]
    assert house.loop.config is fresh


def test_the_watchdog_is_fed_while_the_node_is_calm(tmp_path: Path, houses: list[House]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        notifier = Notifier(str(tmp_path / "notify"), watchdog_interval=SECOND // 50)
        house = House(tmp_path, [observe(4 * GI)], notifier=notifier)
        houses.append(house)
        house.watch._clock = boot_clock
        house.wake.listen(SIGNALS)
        thread = threading.Thread(target=_stop_after, args=(manager, 4))
        thread.start()
        house.loop.run()
        thread.join()
        notifier.close()
    assert len(house.looks) == 1  # signs of life come from the wait, not from more cycles


def _stop_after(manager: socket.socket, signs: int) -> None:
    seen = 0
    while seen < signs:
        seen += manager.recv(1000).startswith(b"WATCHDOG=1")
    os.kill(os.getpid(), signal.SIGTERM)


def fail_once(house: House) -> None:
    """Go round with a look that fails altogether, and is then asked to end."""

    def fail(look: Look) -> Sight:
        os.kill(os.getpid(), signal.SIGTERM)
        raise NodeError("the mount table is gone")

    house.loop._parts.look = fail
    house.wake.listen(SIGNALS)
    house.watch._clock = boot_clock
    house.loop.run()


def test_a_fault_that_nobody_caught_costs_a_cycle_and_not_the_daemon(tmp_path: Path, houses: list[House]) -> None:
    house = House(tmp_path, [observe(4 * GI)])
    houses.append(house)
    fail_once(house)
    assert [line["detail"] for line in house.logged] == ["the mount table is gone"]


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(30)
        yield listener


def test_ready_is_said_without_a_runtime_and_the_status_follows_what_is_missing(
    tmp_path: Path, houses: list[House], manager: socket.socket
) -> None:
    notifier = Notifier(str(tmp_path / "notify"))
    deaf = replace(observe(4 * GI), problems=(Problem(source=RUNTIME, detail="nobody answers"),))
    house = House(tmp_path, [deaf, observe(4 * GI)], notifier=notifier)
    houses.append(house)
    house.watch._clock = boot_clock
    house.wake.listen(SIGNALS)
    heard: list[bytes] = []

    def manage() -> None:
        heard.append(manager.recv(1000))
        house.wake.wake()  # a second cycle, that sees the runtime
        heard.append(manager.recv(1000))
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=manage)
    thread.start()
    house.loop.run()
    thread.join()
    notifier.close()
    assert heard == [b"READY=1\nSTATUS=Watching; no pressure; nobody answers", b"STATUS=Watching; no pressure"]


def test_a_first_cycle_that_fails_altogether_is_no_start_that_never_ends(
    tmp_path: Path, houses: list[House], manager: socket.socket
) -> None:
    notifier = Notifier(str(tmp_path / "notify"))
    house = House(tmp_path, [observe(4 * GI)], notifier=notifier)
    houses.append(house)
    fail_once(house)
    notifier.close()
    assert manager.recv(1000) == b"READY=1\nSTATUS=Watching; no pressure; the mount table is gone"


def test_the_watchdog_is_fed_between_the_steps_of_a_long_look(
    tmp_path: Path, houses: list[House], manager: socket.socket
) -> None:
    notifier = Notifier(str(tmp_path / "notify"), watchdog_interval=SECOND // 50)
    house = House(tmp_path, [observe(4 * GI)], notifier=notifier)
    houses.append(house)
    seen = house.loop._parts.look

    def look_slowly(look: Look) -> Sight:
        for _ in range(3):
            house.board.alive_at = 0
            while house.board.alive_at == 0 or not select.select([manager], [], [], 0)[0]:
                look.step()
            assert manager.recv(1000).startswith(b"WATCHDOG=1")
        return seen(look)

    house.loop._parts.look = look_slowly
    house.loop.cycle(Woken.TIME)
    notifier.close()
    assert len(house.looks) == 1
    assert boot_clock() - house.board.alive_at < 60 * SECOND


def test_no_step_of_a_cycle_outlasts_the_unit_s_watchdog() -> None:
    unit = (Path(__file__).parents[2] / "deploy/evictd.service").read_text()
    found = re.search(r"^WatchdogSec=(\d+)$", unit, re.MULTILINE)
    assert found is not None
    watchdog = int(found[1])
    steps = {
        "a listing, the statistics, or the image filesystem": READ_TIMEOUT_SECONDS,
        "new ids, with those under way at the end": PATIENCE_SECONDS + READ_TIMEOUT_SECONDS,
        "nodefs, imagefs and containerfs": 3 * TIMEOUT // SECOND,
    }
    silent_before = watchdog / SIGNS_OF_LIFE  # a sign that is not due yet is not given
    assert {what: seconds for what, seconds in steps.items() if silent_before + seconds >= watchdog} == {}


def test_the_clocks_are_what_they_say() -> None:
    assert monotonic_clock() <= boot_clock()
    assert wall_clock() > 1_600_000_000 * SECOND
