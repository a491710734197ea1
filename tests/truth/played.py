"""Plays a generated world with its journal, and reads every incident of it as `evictd incident` does."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from evictd.codec.records.journal_record import decode_record
from evictd.codec.times import rfc3339
from evictd.commands.decided.incident_decided import read_incident
from evictd.commands.inputs.source import own_config, world_under
from evictd.commands.played.world_journal import journal_lines
from evictd.core.model.decision import EvictPod, begun_evictions
from evictd.core.model.signal import SIGNALS, Resource, signal_named
from evictd.render.history.evictions import evictions_of, last_of_each
from evictd.render.incident.record.incident import Incident
from evictd.world.file import decode_world
from evictd.world.loop import Run, granted_evictions, play

END = 1_767_225_600 * 10**9
"""The wall-clock time at which each world ends."""


class Ended(NamedTuple):
    """An eviction of a run, and when it was decided, in nanoseconds since the world's begin."""

    at: int
    pod: str
    uid: str
    resource: Resource | None
    """`None` where the pod exceeded a limit of its own."""


class Played(NamedTuple):
    """A run with the incidents that its journal shows."""

    document: dict[str, Any]
    run: Run
    ended: tuple[Ended, ...]
    incidents: tuple[tuple[Ended, Incident], ...]


def run_of(document: dict[str, Any]) -> Run:
    """Return the run of a world file, whose pods are read as often as the daemon reads them."""
    file = decode_world(document)
    return play(world_under(file, None), own_config(file), calm=True)


def granted_of(run: Run) -> Iterator[tuple[int, EvictPod]]:
    """Yield the evictions of a run that the API server did not refuse at once, each with its time."""
    for cycle in run.cycles:
        if any(isinstance(each, EvictPod) for each in cycle.step.decisions):
            until = [each for each in run.happened if each.at <= cycle.at]
            yield from ((cycle.at, each) for each in granted_evictions(cycle, until))


def ended_of(run: Run) -> tuple[Ended, ...]:
    """Return the evictions that were decided in a run, each pod at its last one."""
    found = dict[str, Ended]()
    for cycle in run.cycles:
        for each in begun_evictions(cycle.step.decisions):
            signal = signal_named(each.because.signal_label)
            resource = None if signal is None else SIGNALS[signal].resource
            found[each.pod.uid] = Ended(cycle.at, each.pod.full_name, each.pod.uid, resource)
    return tuple(found.values())


def played(document: dict[str, Any], most: int = 6) -> Played:
    """Return the run of a world and its first incidents."""
    run = run_of(document)
    lines = journal_lines(run, end=END)
    ended = ended_of(run)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(b"".join(lines))
        evictions = last_of_each(evictions_of([decode_record(line) for line in lines]))
        found = tuple(_incidents(run, ended, path, [each.uid for each in evictions][:most]))
    return Played(document, run, ended, found)


def _incidents(run: Run, ended: tuple[Ended, ...], path: Path, uids: list[str]) -> Iterator[tuple[Ended, Incident]]:
    for uid in uids:
        incident = read_incident([path], uid)
        decided = next(each for each in ended if each.uid == uid)
        assert rfc3339(END - run.world.duration + decided.at) == incident.event.at
        yield decided, incident
