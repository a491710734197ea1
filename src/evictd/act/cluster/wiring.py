"""Builds what a daemon needs in a cluster: the pod watch, the reporter, the evictor, the events, the request queue.

`build` is the only entry, `Cluster` holds the result; `daemon.actuator.cluster` uses it.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from evictd.act.cluster.clocks import Clocks
from evictd.act.cluster.events import EventRate, EventRecorder
from evictd.act.cluster.eviction_sender import EvictionRules, EvictionSender
from evictd.act.cluster.evictor import ClusterEvictor, Stopper
from evictd.act.cluster.leftovers import Leftovers
from evictd.act.cluster.report import KUBELET_RHYTHM, ClusterReporter, ReportSettings, Rhythm
from evictd.act.cluster.request_queue import RequestQueue
from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.events import EventClient
from evictd.clients.kube.eviction import EvictionClient
from evictd.clients.kube.nodes import NodeClient
from evictd.clients.kube.pods import PodSnapshot, PodWatch
from evictd.clients.kube.transport import Transport
from evictd.codec.mirrors import NO_SANDBOXES, KnownSandboxes, bound_pod
from evictd.codec.slim_pods import SlimPod
from evictd.config.settings import ClusterSettings
from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod
from evictd.worker import STDERR, ErrorReporter

POD_UID = "POD_UID"
"""The environment variable through which a DaemonSet tells evictd which pod it is itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What the daemon has of a cluster. The loop may call the parts at any time; none of them blocks."""

    watch: PodWatch
    reporter: ClusterReporter
    evictor: ClusterEvictor
    events: EventRecorder
    leftovers: Leftovers
    queue: RequestQueue
    transport: Transport
    own_pod: frozenset[str]
    """The uid of evictd's own pod, which is never evicted; empty where it runs as a service."""

    def start(self) -> None:
        """Begin to watch pods and to send what there is to send."""
        self.watch.start()
        self.queue.start()

    def active_pods(
        self, known: KnownSandboxes = NO_SANDBOXES, running: Collection[str] = ()
    ) -> tuple[Pod, ...] | None:
        """Give the pods that could be evicted or count against the node (spec 5.9), by namespace, name and uid.

        Terminal ones are left out, unless evictd is still ending them, and so are those that evictd has stopped, once they are
        being deleted or are about to be: a kubelet takes its time to remove what is dead. `None`: the API server has not listed
        its pods since the start; what the runtime knows is then all there is. `known` tells real mirrors of static pods.
        `running` are the uids of the pods of which the runtime lists a container as running.
        """
        snapshot = self.watch.snapshot
        if not snapshot.synced:
            return None
        leaving = set(self.evictor.in_flight())
        gone = {uid: uid in running for uid in self.evictor.cleaned_up()}
        active = [bound_pod(each, known) for each in snapshot.pods.values() if self._is_active(each, gone, leaving)]
        return tuple(sorted(active, key=lambda pod: (pod.namespace, pod.name, pod.uid)))

    def unlisted(self, pods: Iterable[Pod]) -> tuple[Pod, ...]:
        """Give those of the runtime's pods that the API server does not list, and of which evictd has not ended all containers.

        One is deleted by force and does not end, the list is not true, or the watch has missed it.
        """
        known = self.watch.snapshot.pods.keys() | self.evictor.cleaned_up()
        return tuple(pod for pod in pods if pod.uid not in known)

    def _is_active(self, entry: SlimPod, gone: Mapping[str, bool], leaving: Collection[str]) -> bool:
        """Say so of one pod; `gone` tells of those that have stopped whether they run again."""
        uid, deleted = entry.pod.uid, entry.pod.deletion_grace_period_seconds is not None
        if uid in gone:
            # While its deletion cannot be sent, a kubelet may start it again. As long as none does, evicting it frees nothing.
            unsent = not entry.terminal and not deleted and (uid not in leaving or bool(self.queue.problem))
            return unsent and gone[uid]
        return uid in leaving or not entry.terminal

    def problems(self) -> tuple[Problem, ...]:
        """Name what does not work at the moment, or is forbidden."""
        snapshot = self.watch.snapshot
        found = [
            *(
                ("apiserver/pods", text)
                for text in (snapshot.problem, *snapshot.unreadable, *snapshot.unread_parts)
                if text
            ),
            *(("apiserver/send", text) for text in (self.queue.problem,) if text),
            *(("apiserver/node", text) for text in self.reporter.problems),
            *(("apiserver/evict", text) for text in self.evictor.problems),
        ]
        return tuple(Problem(source=source, detail=text) for source, text in found)

    def known_pods(self) -> tuple[Pod, ...] | None:
        """Give every pod that is an object on this node, terminal ones too; `None` while that is not fully known.

        For the collectors: a pod whose object cannot be read is not gone, and neither is a static pod that any mirror names.
        """
        snapshot = self.watch.snapshot
        if not snapshot.synced or snapshot.unreadable:
            return None
        mirrored = (replace(each.pod, uid=each.mirror_of) for each in snapshot.pods.values() if each.mirror_of)
        return (*mirrored, *(each.pod for each in snapshot.pods.values()))

    def close(self, *, clear: bool = True, seconds: float = 3.0) -> None:
        """End everything; `clear` first takes back conditions and taints, waiting for that at most so long."""
        if clear:
            self.reporter.clear()
            self.queue.drain(seconds, lambda: not self.reporter.pending or bool(self.reporter.problems))
        self.queue.close()
        self.watch.close()
        self.transport.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """What the evictor asks about the node."""

    watch: PodWatch
    reporter: ClusterReporter

    def pods(self) -> PodSnapshot:
        return self.watch.snapshot

    def kubelet(self) -> bool | None:
        return self.reporter.confirmed_kubelet()

    def conditions_pending(self) -> bool:
        return self.reporter.pending


class _Bell:
    """Wakes the request queue, which is built last, and the loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.queue: RequestQueue | None = None
        self._wake = wake

    def notify(self) -> None:
        if self.queue is not None:
            self.queue.notify()

    def changed(self) -> None:
        self.notify()
        self._wake()


def build(
    settings: ClusterSettings,
    *,
    node_name: str,
    stopper: Stopper,
    clocks: Clocks,
    wake: Callable[[], None] = lambda: None,
    rhythm: Rhythm = KUBELET_RHYTHM,
    environ: Mapping[str, str] | None = None,
    errors: ErrorReporter = STDERR,
) -> Cluster:
    """Build all parts; nothing is sent and no thread runs before `start`.

    `settings` is the `cluster` part of the configuration, `node_name` its `nodeName` or the host's name. `stopper` stops pods
    through the runtime. `wake` is called, from another thread, when the pods of the node have changed, `errors` gets unforeseen
    exceptions.
    Raises `InputError` for a credential that cannot be used; a server that does not answer is a problem in `problems`.
    """
    environ = os.environ if environ is None else environ
    transport = Transport(Credentials(settings.kubeconfig, environ=environ))
    bell = _Bell(wake)
    watch = PodWatch(transport, node_name, clock=clocks.now, random=clocks.random, changed=bell.changed, errors=errors)
    report = ReportSettings(node_name=node_name, types=settings.condition_types, taints=settings.taints, rhythm=rhythm)
    reporter = ClusterReporter(NodeClient(transport, node_name), clocks, bell, report)
    client = EvictionClient(transport)
    rate = EventRate(qps=settings.event_record_qps, burst=settings.event_burst)
    events = EventRecorder(EventClient(transport, node_name), node_name, clocks, bell, rate=rate)
    rules = EvictionRules(method=settings.pod_termination, timeout=settings.eviction_timeout)
    node = _Node(watch=watch, reporter=reporter)
    evictor = ClusterEvictor(EvictionSender(client, clocks, rules), stopper, node, events, bell)
    leftovers = Leftovers(client, node, bell, time_to_live=settings.evicted_pod_ttl)
    # In this order: conditions before pods, pods before events.
    queue = RequestQueue((reporter, evictor, events, leftovers), clocks, polled=evictor, errors=errors)
    bell.queue = queue
    return Cluster(
        watch=watch,
        reporter=reporter,
        evictor=evictor,
        events=events,
        leftovers=leftovers,
        queue=queue,
        transport=transport,
        own_pod=frozenset({environ[POD_UID]}) if environ.get(POD_UID) else frozenset(),
    )
