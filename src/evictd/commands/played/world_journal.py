"""Writes the journal that evictd would have written on the node of a world, for `evictd simulate --journal`.

With it `evictd history`, `why`, `incident`, `replay` and `advise` can be tried on an incident before there is one. What no
cycle of evictd sees is not in it, as on a node.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from evictd.codec.checksum import sealed
from evictd.codec.records.journal import encode_entry
from evictd.codec.records.journaled import RECORDED, LastRecord, encode_kill, encode_refusal, recorded_signals, usage_of
from evictd.codec.times import rfc3339
from evictd.commands.inputs.journals import NEWEST
from evictd.core.eviction.refusals.backoff import refusals
from evictd.core.model.decision import Wait, begun_evictions
from evictd.core.model.observation import signal_observations
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.errors import InputError
from evictd.world.loop import Run, WorldCycle, play


def write_world_journal(run: Run, directory: Path, *, end: int) -> Path:
    """Write the journal of a world that was played; returns its path. `end` is the wall-clock time at the end, nanoseconds.

    Raises `InputError` if the directory has a journal, or cannot be written.
    """
    path = directory / NEWEST
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.writelines(journal_lines(run, end=end))
    except FileExistsError as error:
        raise InputError(f"--journal: {error.filename} exists; give a directory without a journal") from error
    except OSError as error:
        raise InputError(f"--journal: {error.filename}: {error.strerror}") from error
    return path


def journal_lines(run: Run, *, end: int) -> list[bytes]:
    """Return the lines of the journal of a world; its pods are read in the cycles in which the daemon reads them."""
    calm = play(run.world, run.config, calm=True)
    begin = end - run.world.duration
    before, last, since, lines = State(), LastRecord(), -1, list[bytes]()
    for place, cycle in enumerate(calm.cycles):
        observation, step = cycle.observation, cycle.step
        refused = refusals(before, observation)
        decides = any(not isinstance(each, Wait) for each in step.decisions) and not last.repeats(step)
        killed = _killed(calm, since, cycle.at)
        since = cycle.at
        news = last.outcome_is_new(before, observation, step) or last.reason_is_new(step, cycle.at)
        if refused or killed or decides or news:
            last = last.followed_by(observation, step, cycle.at)
            extra: dict[str, Any] = {"dryRun": False, "lastWords": _last_words(cycle)}
            if refused:
                extra["refused"] = [encode_refusal(each) for each in refused]
            if killed:
                extra["kernelKilled"] = killed
            if trend := _trend(calm.cycles[:place], before, cycle):
                extra["trend"] = trend
            line = encode_entry(
                now=cycle.at,
                wall=rfc3339(begin + cycle.at),
                state=before,
                observation=observation,
                config=replace(run.config, pod_termination=run.world.api_server.termination),
                step=step,
                extra=extra,
            )
            lines.append(sealed(line))
        before = step.state
    return lines


def _killed(run: Run, since: int, until: int) -> list[dict[str, Any]]:
    """Return what the kernel killed for want of memory of the node after a time and until another."""
    kills = Counter((kill.name, kill.uid) for at, kill in run.kills if since < at <= until)
    return [encode_kill(name, uid, count) for (name, uid), count in kills.items()]


def _last_words(cycle: WorldCycle) -> dict[str, Any]:
    """Return what each new victim used, by uid."""
    stats = cycle.observation.pod_stats
    pods = [each.pod for each in begun_evictions(cycle.step.decisions)]
    return {pod.uid: {"usage": None if (found := stats.get(pod.uid)) is None else usage_of(found)} for pod in pods}


def _trend(earlier: tuple[WorldCycle, ...], before: State, cycle: WorldCycle) -> dict[str, list[tuple[float, int]]]:
    """Return the readings of the last ten minutes of each supply that victims or conditions are of, by signal."""
    wanted = recorded_signals(before, cycle.step)
    found: dict[str, list[tuple[float, int]]] = {}
    for one in earlier:
        if cycle.at - one.at <= RECORDED and one.observation.node is not None:
            for signal, seen in signal_observations(one.observation.node).items():
                if signal in wanted:
                    point = (round((cycle.at - one.at) / SECOND, 1), seen.available.value())
                    found.setdefault(signal.value, []).append(point)
    return found
