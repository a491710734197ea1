"""Takes one reading of the node: the runtime's listing, then the pods, then everything else, all in one cycle.

The runtime is asked for statistics only where a decision may need them: its listings take a millisecond, its statistics two for
each container. Policy Standard uses of them the writable layers alone, so it asks while a filesystem is near a threshold or a pod
has a limit on local storage, and not directly after memory was crossed.

Directly after memory was crossed the listings are not requested either, as long as the cgroups show that the last ones still name
every pod, and no filesystem is read: a runtime that is itself short of memory or processors, or a disk that hangs, takes longer
for an answer than memory lasts.

While a decision for a hard threshold of a disk is held, for a collection or for measurements, the last listing serves the
cycles of the next second: a listing takes up to 60 ms, and a disk may be full within seconds.

On a calm cycle neither the runtime nor the pods are read, but the node's own signals (`core.eviction.calm`). Where these turn out
to be near a threshold, everything is read in the same cycle. A pod that comes or goes is seen by its cgroup.

The time of a reading is the one at which it had read the filesystems. Where it is held up before that, a pod may be measured,
fill the disk, and be found small by a measurement that seems younger than the crossing. The kubelet too takes the time after its
observations (`managerImpl.synchronize`). While the end of a pod or of a collection is awaited, the time is that of the begin, as
the outcomes are: they must not be overdue by a time at which it was not looked whether they have ended.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from evictd.config.lint_model import Surroundings
from evictd.config.never_met import memory_never_met
from evictd.core.eviction.accounts.freshness import filesystems_to_measure, is_held
from evictd.core.eviction.calm import pods_needed
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig, MemoryFormula, Policy, memory_formula, stall_signals
from evictd.core.model.finding import Finding
from evictd.core.model.observation import Observation, Outcomes, Problem, signal_observations
from evictd.core.model.signal import Filesystem
from evictd.core.model.state import PhaseName, State
from evictd.core.model.threshold import Operator, Threshold
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.errors import EvictdError, SourceKind
from evictd.observe.cgroups.kernel_kills import KernelKill
from evictd.observe.disk_usage.walk_age import DiskFill, WalkAge, crossed_at
from evictd.observe.pods.active_pods import ActivePodSource, RuntimePods
from evictd.observe.pods.manifests import ManifestReader, Manifests
from evictd.observe.pods.node_pods import API_PODS_STANDALONE, NodePods, described_by, node_pods
from evictd.observe.reading.node_stats import NodeStatsReader
from evictd.observe.reading.reading import Reading
from evictd.observe.runtime.runtime_view import RuntimeReader, RuntimeView, uids_with_containers, with_known_layers

RUNTIME = SourceKind.CONTAINER_RUNTIME.value

OLDEST_LISTING = 15 * SECOND
"""The age in nanoseconds up to which a listing serves a decision. One is made every `housekeepingInterval` of 10 s, later under
load."""
HELD_LISTING = 1 * SECOND
"""The same age while a decision for a disk is held: the kubelet's own view of its pods is as old (`plegRelistPeriod`)."""

BESIDE = 100 * MILLISECOND
"""How long a reading may take that a crossing of a disk began, for measurements from its begin on to count as newer than that."""


@frozen
class ObserveRequest:
    """The request for one observation. `now` on the boot-time clock, `wall` since the epoch, both in nanoseconds."""

    now: int
    wall: int
    state: State
    config: EvictionConfig
    outcomes: Outcomes
    problems: tuple[Problem, ...] = ()
    """Problems in performing decisions, reported with those in reading."""
    findings: Collection[Finding] = ()
    """The last cycle's findings: they tell which filesystems are near a threshold."""
    urgent: bool = False
    """A memory threshold was just crossed: statistics that only disks need may be those of the last reading."""
    disk_crossed: bool = False
    """A disk was just found below a threshold, or soon will be: pods are measured from now on, beside the listing."""
    pods_anew: bool = True
    """Whether the pods must be read; else they may be those of the last reading of them, far from every threshold."""


@frozen
class _PodsReading:
    """The last reading of the pods, and the data that shows whether it is still complete."""

    reading: Reading
    manifests: Manifests
    uids: tuple[str, ...]
    """The uids of the pods that had a cgroup before the listing."""

    @property
    def unlisted(self) -> frozenset[str]:
        """The pods that the runtime did not list: a pod has its cgroup a moment before its sandbox is listed."""
        view = self.reading.view
        return frozenset() if view is None else frozenset(self.uids) - {sandbox.uid for sandbox in view.sandboxes}


class NodeObserver:
    """Reads one node.

    `source` says which pods count. `evicted` holds the uids of the pods that evictd has evicted, and is kept up to date by its
    owner. Without a `runtime` no pod is known but those of an API server, and nodefs is the only filesystem.
    """

    def __init__(
        self,
        stats: NodeStatsReader,
        runtime: RuntimeReader | None,
        manifests: ManifestReader,
        source: ActivePodSource,
        *,
        evicted: Collection[str] = (),
    ) -> None:
        self._stats = stats
        self._runtime = runtime
        self._manifests = manifests
        self._evicted = evicted
        self._source = source
        self._last: RuntimeView | None = None
        self._disk_fill = DiskFill()
        self._last_pods: _PodsReading | None = None
        self._limits_storage = False
        """Whether a pod of the last reading has a limit on local storage, for which its layers must be known."""

    def observe(self, request: ObserveRequest) -> Reading:
        """Take one reading; what cannot be read is absent and named among the problems.

        If the runtime does not answer, policy Standard continues with the last listing; nothing is collected by it.
        """
        if request.disk_crossed:
            self._stats.measure_since(request.now)
        manifests = self._manifests.read()  # first: the runtime need not be asked about the pods that they describe
        rates = self._stats.recent_fill.rates()
        near = filesystems_to_measure(request.state, request.findings, request.config, rates)
        if not request.pods_anew and not near and (calm := self._calm(request, manifests)) is not None:
            return calm
        uids = self._stats.pod_uids()  # before the listing: a pod that comes after it makes the next reading differ
        view, problem = self._view(request, manifests, near)
        pods = None if view is None else self._pods(view, manifests)
        active = self._source.active(RuntimePods(found=pods, view=view, last=view or self._last), request.config.policy)
        self._limits_storage = any(pod.resource_totals.local_limits for pod in active.pods)
        observation = self._stats.observe(
            active.pods,
            view,
            near=near,
            walk_age=self._walk_age(request),
            outcomes=request.outcomes,
            stalls=stall_signals(request.config),
            disks_anew=view is None or view.current or bool(problem),
            formula=memory_formula(request.config),
        )
        refused = active.api_pods_standalone
        problems = (
            *problem,
            *(() if pods is None else pods.problems),
            *active.problems,
            *((API_PODS_STANDALONE,) if refused and not request.config.allow_api_pods_standalone else ()),
            *self._problems(request, observation),
        )
        seen = replace(observation, problems=problems, own_pods=self._source.own_pods, api_pods_standalone=refused)
        later = self._later(request)
        reading = Reading(
            now=request.now + later,
            wall=request.wall + later,
            observation=seen,
            view=view,
            lifecycles=None
            if pods is None or view is None or not (view.current and view.complete)
            else pods.lifecycles,
            evicted_by_kubelet=active.evicted_by_kubelet,
        )
        self._last_pods = _PodsReading(reading=reading, manifests=manifests, uids=uids)
        return reading

    def _calm(self, request: ObserveRequest, manifests: Manifests) -> Reading | None:
        """Return a reading of the node alone, with the pods as they were read last; `None` where they must be read.

        Also where a problem began, ended, or is one of the pods: it is looked at anew.
        """
        last, state = self._last_pods, request.state
        if last is None or manifests != last.manifests:
            return None
        before, read_at = last.reading.observation, last.reading.now
        if pods_needed(state, before, request.config, read_at=read_at, now=request.now):
            return None
        if self._stats.pod_uids() != last.uids or self._stats.any_containers(last.unlisted):
            return None
        view = None if self._last is None else replace(self._last, problems=(), current=False)
        found = self._stats.observe_node(
            before,
            view,
            outcomes=request.outcomes,
            formula=memory_formula(request.config),
        )
        problems = self._problems(request, found)
        if {each.source for each in problems} != {each.source for each in before.problems}:
            return None
        seen = replace(found, problems=problems)
        if pods_needed(state, seen, request.config, read_at=read_at, now=request.now):
            return None
        later = self._later(request)
        return Reading(now=request.now + later, wall=request.wall + later, observation=seen, view=view)

    def _later(self, request: ObserveRequest) -> int:
        """Return by how much the reading's time is later than its begin: until the filesystems were read, where they were."""
        if _awaits_outcome(request.state):
            return 0
        later = max(0, self._stats.disks_read_at - request.now)
        # The crossing that began this reading is older than its measurements.
        return 0 if request.disk_crossed and later <= BESIDE else later

    def _problems(self, request: ObserveRequest, observation: Observation) -> tuple[Problem, ...]:
        """Return the problems of a reading that do not come from the runtime or the pods' source."""
        never_met = thresholds_never_met(request.config.thresholds, observation, self._stats.memory_formula)
        return (*request.problems, *observation.problems, *never_met)

    def _walk_age(self, request: ObserveRequest) -> WalkAge:
        age = self._disk_fill.walk_age(request.findings, request.state, request.now)
        return replace(age, since=max(age.since, request.now)) if request.disk_crossed else age

    def measure(self, findings: Collection[Finding], state: State) -> None:
        """Begin the measurements that the next cycle may wait for, after a crossing of a disk."""
        if since := crossed_at(findings, state):
            self._stats.measure_since(since)

    def kernel_kills(self, reading: Reading) -> tuple[KernelKill, ...]:
        """Return what the kernel killed for want of memory of the node since the last call."""
        return self._stats.kernel_kills.fresh(reading.observation.pods)

    def _view(
        self, request: ObserveRequest, manifests: Manifests, near: Collection[Filesystem]
    ) -> tuple[RuntimeView | None, tuple[Problem, ...]]:
        """List the runtime, or return its last listing where that suffices or no other can be had; and what failed.

        Of what is not asked for, the last answers stay, with their own time stamps. `None` without a listing.
        """
        last = self._last
        if self._runtime is None:
            return None, ()
        if last is not None and not near and self._stands(last, request):
            return replace(last, current=False), ()
        if last is not None and self._serves_while_held(last, request):
            return last, ()
        urgent = request.urgent and last is not None
        standard = request.config.policy is Policy.STANDARD
        with_stats = last is None or not (urgent or (standard and not near and not self._limits_storage))
        try:
            described = described_by(manifests, self._stats.node_name)
            view = self._runtime.read(
                request.now,
                with_stats=with_stats,
                with_image_fs=not urgent,
                described=described,
            )
        except EvictdError as error:
            # The pods of a moment ago still run, and a node under pressure needs one of them to go.
            stale = replace(last, problems=(), current=False) if last is not None and standard else None
            return stale, (Problem(source=RUNTIME, detail=str(error)),)
        view = replace(view, wall=request.wall)
        if urgent and last is not None:
            view = replace(view, stats=last.stats, image_fs=last.image_fs)
        elif not with_stats and last is not None:
            # With the runtime's own time stamps, so that nothing old counts as new.
            view = replace(view, stats=last.stats)
        elif last is not None and standard:
            view = with_known_layers(view, last)
        self._last = view
        return view, ()

    def _stands(self, last: RuntimeView, request: ObserveRequest) -> bool:
        """Whether the last listing suffices for an urgent reading: it is recent, and the same pods run now."""
        if not request.urgent or request.config.policy is not Policy.STANDARD:
            return False
        return request.now - last.time <= OLDEST_LISTING and self._same_pods_run(last)

    def _serves_while_held(self, last: RuntimeView, request: ObserveRequest) -> bool:
        """Whether the last listing suffices while a decision for a hard threshold of a disk is held."""
        if not is_held(request.state, request.config) or request.now - last.time > HELD_LISTING:
            return False
        # The layers that it was listed with may be older than the crossing, and nothing is decided by those.
        if last.time < crossed_at(request.findings, request.state):
            return False
        return last.current and last.stats is not None and self._same_pods_run(last)

    def _same_pods_run(self, last: RuntimeView) -> bool:
        found, running = set(self._stats.pod_uids()), uids_with_containers(last)
        return running <= found and not self._stats.any_containers(found - running)

    def _pods(self, view: RuntimeView, manifests: Manifests) -> NodePods:
        found = node_pods(
            view,
            manifests,
            node_name=self._stats.node_name,
            evicted=self._evicted,
            memory_capacity=self._stats.memory_capacity,
        )
        return replace(found, problems=(*found.problems, *manifests.problems))


def _awaits_outcome(state: State) -> bool:
    """Whether the end of a pod, a collection or a reclaim of page cache is awaited, so that the time of its outcome counts."""
    return bool(state.victims) or state.drops_page_cache or state.activity is not PhaseName.WATCHING


def thresholds_never_met(
    thresholds: Sequence[Threshold], observation: Observation, formula: MemoryFormula = MemoryFormula.WORKING_SET
) -> tuple[Problem, ...]:
    """Return a problem for each memory threshold that the OOM killer acts before; none where the gauges are unknown."""
    node = observation.node
    if node is None or node.gauges is None or node.gauges.unallocatable_bytes is None:
        return ()
    around = Surroundings(
        capacities={signal: seen.capacity for signal, seen in signal_observations(node).items()},
        unallocatable_bytes=node.gauges.unallocatable_bytes,
        formula=formula,
    )
    active = [threshold for threshold in thresholds if threshold.operator is Operator.LESS_THAN]
    details = (f"{each.message}; {each.remedy}" for each in memory_never_met(active, around))
    return tuple(Problem(source=SourceKind.MEMORY_THRESHOLD.value, detail=detail) for detail in details)
