"""Decides when OOM scores and Memory QoS values are compared with the documented ones (`oomScoreAdj`, `memoryQoS`: Enforce).

When other containers run than before, when more is known of their pods, and every `PERIOD`, because processes may change a score
themselves. Always after the decisions of a cycle were performed. Without the options nothing is read.
"""

from collections.abc import Callable
from pathlib import Path

from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.observation import Observation, Problem
from evictd.core.model.oom import MemoryQoSDifference, MemoryQoSRules, OomScoreDifference
from evictd.core.units.duration import MINUTE
from evictd.daemon.effects import OomScoreSetter
from evictd.observe.pods.memory_qos import memory_qos_differences
from evictd.observe.pods.oom_score import containers_root, oom_score_differences
from evictd.observe.reading.reading import Reading
from evictd.observe.runtime.runtime_view import RuntimeView

PERIOD = 5 * MINUTE
"""Time between two comparisons if no container came or went."""


class OomScores:
    """Corrects OOM scores and, unless `memory_qos` is `None`, Memory QoS values that differ from the documented ones.

    `memory_qos` is asked each time, because the kubelet's version is known only when the node was read.
    """

    def __init__(
        self, *, enforce: bool, cgroup: Path, proc: Path, memory_qos: Callable[[], MemoryQoSRules] | None = None
    ) -> None:
        self._enforce = enforce
        self._memory_qos = memory_qos
        self._cgroup = cgroup
        self._proc = proc
        self._seen: tuple[object, ...] = ()
        self._due = 0
        self._problems: tuple[Problem, ...] = ()

    def problems(self) -> tuple[Problem, ...]:
        """Return a problem for each value that could not be set the last time."""
        return self._problems

    def compare(self, reading: Reading, setter: OomScoreSetter) -> None:
        """Correct the differences if a comparison is due; called once a cycle."""
        memory = reading.observation.memory_capacity
        nothing = not self._enforce and self._memory_qos is None
        if nothing or reading.view is None or not reading.view.current or not memory:
            return
        subjects = (*_subjects(reading.observation, reading.view), setter)
        if subjects == self._seen and reading.now < self._due:
            return
        self._seen, self._due = subjects, reading.now + PERIOD
        pods, view, root = reading.observation.pods, reading.view, containers_root(self._cgroup)
        differences: list[OomScoreDifference | MemoryQoSDifference] = []
        if self._enforce:
            differences += oom_score_differences(
                pods, view, memory_capacity=memory, cgroup_root=root, proc_root=self._proc
            )
        if self._memory_qos is not None:
            differences += memory_qos_differences(
                pods, view, self._memory_qos(), memory_capacity=memory, cgroup_root=root
            )
        self._problems = setter.write(differences)


def _subjects(observation: Observation, view: RuntimeView) -> tuple[frozenset[str], frozenset[str]]:
    running = frozenset(row.id for row in view.containers if row.state is ContainerState.RUNNING)
    return running, frozenset(pod.uid for pod in observation.pods if pod.spec_known)
