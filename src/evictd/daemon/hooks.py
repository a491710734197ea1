"""Runs the commands that the configuration names for before and after an eviction; off by default.

**Nothing waits for a command.** `before` is started when the stop of the pod was begun, and runs beside its grace period; what
has to be done first belongs into the pod's handler of SIGTERM. `after` is started once the pod is gone. One thread runs the
commands one after the other, each in a session of its own, which is killed at its time limit. A full queue refuses the next one.

**Not on a starved node.** A command takes memory and PIDs. While a hard threshold of either is met none is started; this is
reported, and the journal has the eviction all the same.

A command is an absolute path with arguments, without a shell. It gets a fixed environment and one line of JSON on standard input;
what it writes is discarded. Names and messages in the JSON come from a pod's author. It runs with evictd's own user and
capabilities, so a file that others than its owner may write, or that belongs to another user than root or evictd's, is refused,
and so is one below such a folder.
"""

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from evictd.codec.decision import encode_decision
from evictd.config.settings import HookSettings
from evictd.core.model.decision import begun_evictions
from evictd.core.model.finding import Finding, ThresholdFinding
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.units.duration import SECOND
from evictd.daemon.store.recorder import Cycle
from evictd.errors import NodeError
from evictd.worker import ErrorReporter, JobQueue

_SOURCE = "hook"
_WAITING = 16
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
_STARVING = MEMORY_SIGNALS | {Signal.PID_AVAILABLE}


class Hooks:
    """Starts the commands that a cycle asks for."""

    def __init__(self, settings: HookSettings, errors: ErrorReporter) -> None:
        self._settings = settings
        self._errors = errors
        self._queue = JobQueue(errors, capacity=_WAITING)

    def run(self, cycle: Cycle) -> None:
        """Start `before` for each pod that was chosen in this cycle, and `after` for each victim that is gone."""
        for eviction in begun_evictions(cycle.step.decisions):
            self._start("before", eviction.pod.full_name, encode_decision(eviction), cycle.step.findings)
        for uid, name in _gone(cycle):
            self._start("after", name, {"kind": "PodGone", "pod": {"fullName": name, "uid": uid}}, cycle.step.findings)

    def close(self) -> None:
        """Finish what is under way, within a bound."""
        self._queue.close()

    def _start(self, when: str, name: str, about: dict[str, object], findings: Iterable[Finding]) -> None:
        command = self._settings.before if when == "before" else self._settings.after
        if not command:
            return
        short = next(
            (f.threshold.signal.value for f in findings if isinstance(f, ThresholdFinding) and _starves(f)), ""
        )
        if short:
            self._errors.report_error(_SOURCE, f"{when} {name}: not started while {short} is below its hard threshold")
            return
        line = (json.dumps({"event": when, **about}) + "\n").encode()
        self._queue.submit(_SOURCE, partial(run_command, command, line, self._settings.time_limit / SECOND))


def _starves(finding: ThresholdFinding) -> bool:
    return finding.met and finding.threshold.hard and finding.threshold.signal in _STARVING


def _gone(cycle: Cycle) -> list[tuple[str, str]]:
    # Policy Kubelet does not note which of its victims are gone, and keeps all until the last one is.
    awaited = {victim.uid for victim in cycle.step.state.in_flight if victim.gone_at is None}
    gone = set(cycle.observation.outcomes.cleaned_up) - awaited
    return [(v.uid, v.full_name) for v in cycle.before.in_flight if v.gone_at is None and v.uid in gone]


def run_command(command: tuple[str, ...], line: bytes, seconds: float) -> None:
    """Run one command to its end or its time limit; raises `NodeError` where it cannot be run, fails, or takes too long."""
    _require_safe(command[0])
    process = subprocess.Popen(  # noqa: S603 - the configuration names it, by an absolute path
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=_ENVIRONMENT,
        start_new_session=True,
    )
    try:
        with suppress(OSError):  # evictd is kept from the OOM killer; its commands are not
            Path(f"/proc/{process.pid}/oom_score_adj").write_text("0")
        process.communicate(line, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise NodeError(f"{command[0]}: killed after {seconds:g}s") from None
    finally:
        if process.returncode is None:  # not waited for yet, so the number is still its own
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode:
        raise NodeError(f"{command[0]}: exit status {process.returncode}")


def _require_safe(path: str) -> None:
    """Raise `NodeError` for a file that another user may have written, or put in its place.

    Checked are the file and all folders above it, also where it, or a folder of its path, is a symlink. In a folder with the
    sticky bit (/tmp) others cannot replace what is not theirs.
    """
    named, real = Path(path), Path(path).resolve()
    for each in (real, *real.parents, *named.parents):
        found = each.stat()
        shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not (each != real and found.st_mode & stat.S_ISVTX)
        if found.st_uid not in {0, os.geteuid()} or shared:
            where = path if each == real else f"{path}: the folder {each}"
            raise NodeError(f"{where}: others than its owner may write it, or it is not root's")
