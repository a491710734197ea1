"""What `advise` reads of a journal line."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.codec.records.journal import KIND, encode_entry
from evictd.codec.records.journal_record import decode_record
from evictd.codec.records.reading_record import RecordedCycle, decode_reading
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Observation
from evictd.core.model.signal import Resource, Signal
from evictd.core.model.state import State
from evictd.core.model.stats import FsStats, NodeStats, PodStats, RlimitStats
from evictd.errors import InputError
from tests.commands.test_replay import journal_of
from tests.playbook import config

MI, GI = 2**20, 2**30
CONFIG = config(hard={"nodefs.available": "10%"})


def test_levels_evictions_and_ends_are_read(tmp_path: Path) -> None:
    lines = journal_of("memory-with-priorities", tmp_path / "journal.jsonl").read_bytes().splitlines()
    readings = [decode_reading(line) for line in lines]
    [evicting] = [each for each in readings if each.chosen]
    [chosen] = evicting.chosen
    assert (chosen.pod, chosen.signal, chosen.hard) == ("default/report", Signal.MEMORY_AVAILABLE, True)
    assert chosen.next_uid == "shop"
    assert chosen.overtaken == (2040109465 - 256 * MI, "default/shop"), "within its request"
    assert evicting.capacity == {Resource.MEMORY: 429496729 + 8160437862}
    level = evicting.levels[Signal.MEMORY_AVAILABLE]
    assert (level.available, level.capacity, level.hard) == (429496729, 429496729 + 8160437862, 500 * MI)
    pods = 2040109465 + 1717986918 + 2362232012 + 41943040
    assert evicting.outside_pods == {Resource.MEMORY: 8160437862 - pods}
    assert not level.derived
    derived = evicting.levels.get(Signal.ALLOCATABLE_MEMORY_AVAILABLE)
    assert derived is None or derived.derived
    owned = b'"ownerReferences":[{"kind":"Job","name":"report","controller":true}]'
    line = lines[readings.index(evicting)].replace(
        b'"uid":"report","annotations"', b'"uid":"report",' + owned + b',"annotations"'
    )
    assert decode_reading(line).chosen[0].owner == "default/Job/report"
    assert (decode_reading(line).chosen[0].grace, decode_reading(line).chosen[0].own_grace) == (1, None)
    assert decode_reading(line.replace(b'"gracePeriodSeconds":1', b'"other":1')).chosen[0].grace is None
    slow = line.replace(b'"spec":{', b'"spec":{"terminationGracePeriodSeconds":120,', 1)
    assert (decode_reading(slow).longest_grace[0], evicting.longest_grace[0]) == (120, 0)
    assert any("report" in each.gone for each in readings)
    assert not chosen.stays
    dry = lines[readings.index(evicting)].replace(b'"extra":{}', b'"extra":{"dryRun":true}')
    assert decode_reading(dry).chosen[0].stays
    kill = b'{"where":"default/report","uid":"report","count":2}'
    killed = lines[readings.index(evicting)].replace(b'"extra":{}', b'"extra":{"kernelKilled":[%s,%s]}' % (kill, kill))
    assert (decode_reading(killed).killed, evicting.killed) == ({"default/report": 4}, {})
    shortened = lines[readings.index(evicting)].replace(b'"shortens":false', b'"shortens":true')
    assert decode_reading(shortened).shortened == frozenset({"report"})
    assert (decode_reading(shortened).chosen, readings[-1].shortened) == ((), frozenset())
    refused = lines[-1].replace(b'"extra":{}', b'"extra":{"refused":[{"pod":"default/report","uid":"report"}]}')
    assert (decode_reading(refused).refused, readings[-1].refused) == (frozenset({"report"}), frozenset())
    waits = lines[-1].replace(
        b'"findings":[', b'"findings":[{"kind":"WaitingForMeasurement","threshold":{"signal":"nodefs.available"}},'
    )
    assert (set(decode_reading(waits).awaited), set(readings[-1].awaited)) == ({Signal.NODEFS_AVAILABLE}, set())


def test_the_readings_before_a_cycle_give_its_rate(tmp_path: Path) -> None:
    """At a decision the reading of its own cycle is not among those before it, so that of one reading no rate was known."""
    line = journal_of("memory-with-priorities", tmp_path / "journal.jsonl").read_bytes().splitlines()[-1]
    signal, left = Signal.MEMORY_AVAILABLE, decode_reading(line).levels[Signal.MEMORY_AVAILABLE].available
    trend = b'"extra":{"trend":{"memory.available":[[40.0,%d],[10.0,%d]]}}' % (left + 99 * MI, left + 50 * MI)
    found = decode_reading(line.replace(b'"extra":{}', trend))
    assert (found.rates, len(found.earlier[signal])) == ({signal: 5 * MI}, 2)


def test_conditions_and_leads_are_read(tmp_path: Path) -> None:
    lines = journal_of("memory-with-priorities", tmp_path / "journal.jsonl").read_bytes().splitlines()
    reported = [each.conditions for each in map(decode_reading, lines) if each.conditions is not None]
    assert frozenset({"MemoryPressure"}) in reported
    assert not decode_reading(lines[0]).memory_lead
    assert decode_reading(lines[0]).max_pod_grace == 0
    grace = lines[0].replace(b'"maxPodGracePeriodSeconds":0', b'"maxPodGracePeriodSeconds":30')
    assert decode_reading(grace).max_pod_grace == 30
    assert decode_reading(lines[0].replace(b'"memoryLead":"Off"', b'"memoryLead":"Auto"')).memory_lead
    assert not decode_reading(lines[0]).disk_lead
    assert decode_reading(lines[0].replace(b'"diskLead":"Off"', b'"diskLead":"Auto"')).disk_lead


def reading_of(node: NodeStats, *pods: PodStats) -> RecordedCycle:
    observation = Observation(node=node, pods=(), pod_stats={each.uid: each for each in pods})
    step = synchronize(State(), observation, CONFIG, 0)
    return decode_reading(
        encode_entry(now=0, wall="", state=State(), observation=observation, config=CONFIG, step=step)
    )


def test_what_no_threshold_covers_is_read() -> None:
    """Imagefs on the disk of nodefs is that disk, and a cycle that compared nothing says nothing of the configuration."""
    fs = FsStats(time=0, available_bytes=60 * GI, capacity_bytes=100 * GI, inodes_free=7, inodes=100)
    node = NodeStats(name="n", fs=fs, image_fs=fs, rlimit=RlimitStats(time=0, max_pid=1000, current=300))
    uncovered = {each.value: (of.available, of.capacity) for each, of in reading_of(node).uncovered.items()}
    assert uncovered == {"nodefs.inodesFree": (7, 100), "pid.available": (700, 1000)}
    own = reading_of(replace(node, image_fs=replace(fs, capacity_bytes=200 * GI))).uncovered
    assert {each.value for each in own} >= {"imagefs.available", "imagefs.inodesFree"}
    assert reading_of(replace(node, fs=None, image_fs=None)).uncovered == {}


def test_the_readings_just_before_a_cycle_give_a_rate_and_a_pause_is_read() -> None:
    trend = b'{"memory.available":[[70.0,4000],[20.0,2000],[10.0,900],[0.0,600]],"nodefs.available":[[0.0,5]]}'
    finding = b'{"kind":"NoAction","why":"EvictionsDoNotHelp","signal":"memory.available"}'
    line = b'{"kind":"%b","wall":"","now":0,"findings":[%b],"extra":{"trend":%b}}' % (KIND.encode(), finding, trend)
    found = decode_reading(line)
    assert (found.rates, found.in_vain) == ({Signal.MEMORY_AVAILABLE: 30}, frozenset({Signal.MEMORY_AVAILABLE}))


def test_a_signal_of_a_newer_daemon_is_left_out() -> None:
    """Rates of an unknown signal made the whole line unreadable."""
    trend = b'{"memory.available":[[10.0,900],[0.0,600]],"new.available":[[10.0,9],[0.0,6]]}'
    findings = (
        b'{"kind":"NoAction","why":"EvictionsDoNotHelp","signal":"new.available"},'
        b'{"kind":"Threshold","threshold":{"signal":"new.available"},"limit":"1Gi","available":"1Gi","capacity":"2Gi"}'
    )
    line = b'{"kind":"%b","wall":"","now":0,"findings":[%b],"extra":{"trend":%b}}' % (KIND.encode(), findings, trend)
    found = decode_reading(line)
    assert (found.rates, found.in_vain, found.levels) == ({Signal.MEMORY_AVAILABLE: 30}, frozenset(), {})


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b'{"kind":"x","wall":"","now":0}', b"\xff", b'{"now":1e400}'])
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises(InputError, match="journal"):
        decode_reading(line)


@pytest.mark.parametrize("reading", ["1e300,5", "-1e300,5", f"1.0,{10**400}", f"1.0,{2**63}"])
@pytest.mark.parametrize("decode", [decode_reading, decode_record])
def test_a_reading_that_no_daemon_has_written_is_damage(reading: str, decode: Callable[[bytes], object]) -> None:
    """An age of 1e300 s in a journal ended `advise` and `history` in an OverflowError, and so did an amount of 400 digits."""
    start = f'{{"kind":"{KIND}","wall":"","now":0,"decisions":[],"state":{{}},"observation":{{}},'
    line = start + '"extra":{"trend":{"nodefs.available":[[%s]]}}}'
    with pytest.raises(InputError, match="damaged"):
        decode((line % reading).encode())
    assert decode((line % "600.0,5").encode())


def test_the_unused_images_and_those_that_were_freed_are_read(tmp_path: Path) -> None:
    line = journal_of("memory-with-priorities", tmp_path / "journal.jsonl").read_bytes().splitlines()[0]
    ended = b'[{"action":"containers","freedBytes":5},{"action":"images","freedBytes":7}]'
    found = decode_reading(line.replace(b'"observation":{', b'"observation":{"unusedImages":9,"reclaimed":%s,' % ended))
    assert (found.unused_images, found.freed_images) == (9, 7)
    assert (decode_reading(line).unused_images, decode_reading(line).freed_images) == (None, 0)
