"""When are the containers' OOM scores put right (`oomScoreAdj: Enforce`)?

When other containers run than before, or more is known of their pods, and now and then because processes may change a score
themselves. Never before a decision: the loop has acted when it comes to this. A dry run says what would be set; without the
option nothing is even read.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from evictd.act.oom_score import enforce_oom_scores
from evictd.clients.cri.values import ContainerState
from evictd.core.duration import MINUTE
from evictd.core.observation import Observation, Problem
from evictd.core.oom import OomScoreDifference
from evictd.daemon.sight import Sight
from evictd.observe.oom_score import containers_root, oom_score_differences
from evictd.observe.runtime_view import RuntimeView

PERIOD = 5 * MINUTE
"""How often to look again where no container came or went."""

TellOomScore = Callable[[OomScoreDifference], None]


class OomScores:
    """Puts the scores of one node right; `tell` is called for each one that was set, or in a dry run would be."""

    def __init__(self, *, enforce: bool, cgroup: Path, proc: Path, tell: TellOomScore) -> None:
        self._enforce = enforce
        self._cgroup = cgroup
        self._proc = proc
        self._tell = tell
        self._attended: tuple[object, ...] = ()
        self._due = 0
        self._problems: tuple[Problem, ...] = ()
        self._foretold: frozenset[tuple[object, ...]] = frozenset()

    def problems(self) -> tuple[Problem, ...]:
        """Tell what could not be done the last time."""
        return self._problems

    def attend(self, sight: Sight, *, dry_run: bool) -> None:
        """Do what is due; call once a cycle."""
        memory = _capacity(sight.observation)
        if not self._enforce or sight.view is None or not memory:
            return
        subjects = (*_subjects(sight.observation, sight.view), dry_run)
        if subjects == self._attended and sight.now < self._due:
            return
        self._attended, self._due = subjects, sight.now + PERIOD
        differences = oom_score_differences(
            sight.observation.pods,
            sight.view,
            memory_capacity=memory,
            cgroup_root=containers_root(self._cgroup),
            proc_root=self._proc,
        )
        if dry_run:
            self._foretell(differences)
        else:
            self._put_right(differences)

    def _put_right(self, differences: Iterable[OomScoreDifference]) -> None:
        enforced = enforce_oom_scores(differences, cgroup_root=containers_root(self._cgroup), proc_root=self._proc)
        for difference in enforced.done:
            self._tell(difference)
        self._problems, self._foretold = enforced.problems, frozenset()

    def _foretell(self, differences: Iterable[OomScoreDifference]) -> None:
        """Say what would be set, each once for as long as it lasts."""
        found = {(each.pod.uid, each.container, each.found, each.expected): each for each in differences}
        for key, difference in found.items():
            if key not in self._foretold:
                self._tell(difference)
        self._problems, self._foretold = (), frozenset(found)


def _capacity(observation: Observation) -> int | None:
    gauges = None if observation.node is None else observation.node.gauges
    return None if gauges is None else gauges.capacity_bytes


def _subjects(observation: Observation, view: RuntimeView) -> tuple[frozenset[str], frozenset[str]]:
    running = frozenset(row.id for row in view.containers if row.state is ContainerState.RUNNING)
    return running, frozenset(pod.uid for pod in observation.pods if pod.spec_known)
