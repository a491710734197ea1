"""How is one look at the node taken?

The runtime's listing first, then who the pods are, then everything else, all in one cycle. When memory was crossed a
moment ago the runtime is not asked for statistics that only disks need: its listings cost a millisecond, its
statistics two per container.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from evictd.core.config import EvictionConfig
from evictd.core.decision import Finding
from evictd.core.observation import Outcomes, Problem
from evictd.core.pod import Pod
from evictd.core.state import State
from evictd.daemon.fresh_disks import hold_for_walks, not_calm
from evictd.daemon.sight import Sight
from evictd.errors import EvictdError
from evictd.observe.manifests import ManifestReader, Manifests
from evictd.observe.node import NodeObserver
from evictd.observe.pods import NodePods, described_by, node_pods
from evictd.observe.runtime_view import RuntimeReader, RuntimeView

RUNTIME = "container runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What to look for. `now` on the boot-time clock, `wall` since the epoch, both nanoseconds."""

    now: int
    wall: int
    state: State
    config: EvictionConfig
    outcomes: Outcomes
    findings: Collection[Finding] = ()
    """The last cycle's: they tell which filesystems are calm."""
    urgent: bool = False
    """Memory was crossed just now: what only disks need may be as old as the last look."""
    step: Callable[[], None] = lambda: None
    """Called between two steps of the look, each of which has a bound of its own."""


class NodeEyes:
    """Looks at one node again and again.

    `evicted` gives the uids of the pods that evictd has put an end to. `bound_pods` gives the pods that an API server has
    bound to this node, of which the runtime tells this; where it gives `None` they are what the runtime and the manifests tell.
    """

    def __init__(
        self,
        *,
        observer: NodeObserver,
        runtime: RuntimeReader,
        manifests: ManifestReader,
        evicted: Callable[[], Collection[str]],
        bound_pods: Callable[[RuntimeView | None], tuple[Pod, ...] | None] = lambda _: None,
        more_problems: Callable[[], tuple[Problem, ...]] = tuple,
        node_name: str = "",
    ) -> None:
        self._observer = observer
        self._runtime = runtime
        self._manifests = manifests
        self._evicted = evicted
        self._bound_pods = bound_pods
        self._more_problems = more_problems
        self._node_name = node_name
        self._last: RuntimeView | None = None

    def look(self, look: Look) -> Sight:
        """Take one look; what cannot be read is absent and named among the problems."""
        manifests = self._manifests.read()  # first: whom they describe, the runtime need not be asked about
        view, problem = self._view(look, manifests)
        pods = None if view is None else self._pods(view, manifests)
        bound = self._bound_pods(view)
        active = () if pods is None else pods.active
        observation = self._observer.observe(
            active if bound is None else bound,
            view,
            has_runtime=True,
            near=not_calm(look.findings, look.state),
            outcomes=look.outcomes,
        )
        told = () if pods is None else pods.problems
        problems = (*problem, *told, *self._more_problems(), *observation.problems)
        seen = replace(observation, problems=problems)
        decidable = hold_for_walks(seen, look.state, look.config, look.now)
        return Sight(
            now=look.now,
            wall=look.wall,
            observation=decidable,
            view=view,
            fates=None if pods is None else pods.fates,
            held=decidable is not seen,
        )

    def _view(self, look: Look, manifests: Manifests) -> tuple[RuntimeView | None, tuple[Problem, ...]]:
        last = self._last
        urgent = look.urgent and last is not None
        try:
            described = described_by(manifests, self._node_name)
            view = self._runtime.read(look.now, with_stats=not urgent, described=described, step=look.step)
        except EvictdError as error:
            return None, (Problem(source=RUNTIME, detail=str(error)),)
        if urgent and last is not None:
            view = replace(view, stats=last.stats, image_fs=last.image_fs)
        self._last = view
        return view, ()

    def _pods(self, view: RuntimeView, manifests: Manifests) -> NodePods:
        found = node_pods(view, manifests, node_name=self._node_name, evicted=self._evicted())
        return replace(found, problems=(*found.problems, *manifests.problems))
