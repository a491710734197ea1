"""The whole face of a cluster with its own threads, on the real clock."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.act.cluster.events import EventRate
from evictd.act.cluster.request_queue import Clocks
from evictd.act.cluster.wiring import Cluster, build
from evictd.codec.pods.pod import decode_pod
from evictd.config.settings import ClusterSettings, ConditionTypes
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod
from evictd.core.model.signal import NodeCondition
from evictd.errors import CREDENTIALS_SOURCE, InputError
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.driving import FakeStopper
from tests.kube.kubelet import Kubelet
from tests.kube.objects import pod
from tests.kube.waiting import eventually

CLOCKS = Clocks(now=time.monotonic_ns, wall=time.time_ns, random=lambda: 0.5)


@contextmanager
def living(api: Api, kubelet: Kubelet, rate: EventRate | None = None, **how: object) -> Iterator[Cluster]:
    """A started cluster on n1 beside this kubelet."""
    settings = ClusterSettings(kubeconfig=str(api.kubeconfig()), **how)  # type: ignore[arg-type]
    made = build(
        settings,
        node_name="n1",
        stopper=FakeStopper(kubelet.containers),
        clocks=CLOCKS,
        rate=rate,
        environ={"POD_UID": "own-uid"},
    )
    made.start()
    try:
        yield made
    finally:
        made.close()


def status_of(api: Api, kind: str) -> str:
    node = api.store.get(("nodes", "", "n1"))
    assert node is not None
    return next((c["status"] for c in node["status"]["conditions"] if c["type"] == kind), "")


def test_a_life_from_start_to_clean_stop(api: Api) -> None:
    """Pods, pressure, a hard eviction, calm, and nothing left behind."""
    kubelet = Kubelet(api.store, "n1")
    with kubelet.running():
        made = api.store.create("pods", pod("hog"))
        kubelet.containers.start(made["metadata"]["uid"], "c")
        eventually(lambda: api.store.get(("leases", "kube-node-lease", "n1")))
        with living(api, kubelet) as cluster:
            (victim,) = eventually(lambda: cluster.pods.bound() or ())
            assert (victim, cluster.pods.own_pods) == (decode_pod(made), frozenset({"own-uid"}))
            cluster.reporter.report([NodeCondition.MEMORY_PRESSURE], time.monotonic_ns())
            because = EvictionCause(reason=EvictionReason.PRESSURE)
            cluster.evictor.begin(
                EvictPod(pod=victim, grace_period_seconds=1, message="low", because=because), time.monotonic_ns()
            )
            eventually(lambda: victim.uid in cluster.evictor.cleaned_up())
            eventually(lambda: cluster.pods.bound() == ())
            # Listed, evicted by evictd, and unknown to the API server: a pod that runs is one of these.
            other = replace(victim, uid="u-other")
            assert cluster.pods.unlisted((victim, other)) == (other,)
            eventually(lambda: status_of(api, "EvictdMemoryPressure") == "True")
            eventually(lambda: api.store.list("events")[0])
            assert cluster.problems() == ()
            cluster.reporter.report([], time.monotonic_ns())
            cluster.close(seconds=60)
        assert status_of(api, "EvictdMemoryPressure") == "False"
        assert status_of(api, "MemoryPressure") == "False"
    node = api.store.get(("nodes", "", "n1"))
    assert node is not None
    assert not [taint for taint in node["spec"].get("taints", []) if taint["key"].startswith("evictd.io/")]


def test_the_configured_rate_of_events_is_obeyed(api: ApiServer) -> None:
    """`eventRecordQPS` and `eventBurst`."""
    with living(api, Kubelet(api.store, "n1"), rate=EventRate(qps=7, burst=9)) as cluster:
        assert vars(cluster.events._rate) == vars(EventRate(qps=7, burst=9)) != vars(EventRate())


def test_a_server_that_is_not_there_at_the_start_is_a_problem_and_no_error(api: ApiServer) -> None:
    """The loop goes on with what the runtime knows; everything is made good when the server appears."""
    api.down()
    kubelet = Kubelet(api.store, "n1")
    with living(api, kubelet, condition_types=ConditionTypes.OWN) as cluster:
        cluster.reporter.report([NodeCondition.DISK_PRESSURE], time.monotonic_ns())
        eventually(lambda: {problem.source for problem in cluster.problems()} == {"apiserver/pods", "apiserver/send"})
        assert (cluster.pods.bound(), cluster.known_pods()) == (None, None)
        api.up()
        eventually(lambda: status_of(api, "EvictdDiskPressure") == "True")
        eventually(lambda: cluster.pods.bound() == ())
        eventually(lambda: cluster.problems() == ())


def test_rejected_credentials_are_a_problem_of_their_own_until_they_are_accepted(api: ApiServer) -> None:
    """A service account that was recreated: every request is answered with 401."""
    with living(api, Kubelet(api.store, "n1")) as cluster:
        cluster.reporter.report([NodeCondition.MEMORY_PRESSURE], time.monotonic_ns())
        eventually(lambda: cluster.problems() == () and not cluster.reporter.pending)
        known = dict(api.tokens)
        api.tokens.clear()
        cluster.reporter.report([], time.monotonic_ns())
        eventually(lambda: CREDENTIALS_SOURCE in {problem.source for problem in cluster.problems()})
        api.tokens.update(known)
        eventually(lambda: cluster.problems() == ())


def test_a_pod_that_can_be_read_in_part_is_a_candidate_and_known(api: ApiServer) -> None:
    """docs/faults.md, 11: the neighbour went in its place, and no pod was known to be gone."""
    api.store.create("pods", pod("web"))
    odd = pod("odd")
    odd["spec"]["containers"][0]["resources"] = {"requests": {"memory": "a lot"}}
    api.store.create("pods", odd)
    with living(api, Kubelet(api.store, "n1")) as cluster:
        assert [each.name for each in eventually(lambda: cluster.pods.bound() or ())] == ["odd", "web"]
        assert {each.name for each in cluster.known_pods() or ()} == {"odd", "web"}
        assert any("requests.memory" in problem.detail for problem in cluster.problems())


def test_terminal_pods_are_not_active(api: Api) -> None:
    """Pending ones and those being deleted are."""
    for name, phase in (("done", "Succeeded"), ("dead", "Failed"), ("new", "Pending"), ("runs", "Running")):
        made = pod(name)
        made["status"]["phase"] = phase
        api.store.create("pods", made)
    with living(api, Kubelet(api.store, "n1")) as cluster:
        assert {each.name for each in eventually(lambda: cluster.known_pods() or ())} == {"done", "dead", "new", "runs"}
        assert [each.name for each in eventually(lambda: cluster.pods.bound() or ())] == ["new", "runs"]


def test_a_pod_that_evictd_stopped_and_the_server_deletes_is_not_active(api: Api) -> None:
    """A kubelet takes its time to remove what is dead; meanwhile the pod is not evicted again."""
    kubelet = Kubelet(api.store, "n1")
    kubelet.sync()  # its lease is there; it does nothing else
    made = api.store.create("pods", pod("hog"))
    kubelet.containers.start(made["metadata"]["uid"], "c")
    with living(api, kubelet) as cluster:
        (victim,) = eventually(lambda: cluster.pods.bound() or ())
        because = EvictionCause(reason=EvictionReason.PRESSURE)
        decision = EvictPod(pod=victim, grace_period_seconds=1, message="low", because=because)
        cluster.evictor.begin(decision, time.monotonic_ns())
        eventually(lambda: cluster.pods.bound() == ())
        eventually(lambda: api.requests("delete pods"))
        left = api.store.get(("pods", "default", "hog"))
        assert left is not None
        assert left["metadata"]["uid"] == victim.uid
        assert cluster.pods.bound() == ()


def test_a_stopped_pod_that_runs_again_is_in_sight_as_long_as_the_server_is_away(api: ApiServer) -> None:
    """It is not deleted, so a kubelet may start it again. As long as none does, its turn is over."""
    kubelet = Kubelet(api.store, "n1")
    made = api.store.create("pods", pod("hog"))
    kubelet.containers.start(made["metadata"]["uid"], "c")
    with living(api, kubelet) as cluster:
        (victim,) = eventually(lambda: cluster.pods.bound() or ())
        api.down()
        because = EvictionCause(reason=EvictionReason.PRESSURE)
        decision = EvictPod(pod=victim, grace_period_seconds=1, message="low", because=because)
        cluster.evictor.begin(decision, time.monotonic_ns())
        eventually(lambda: cluster.queue.problem)
        eventually(lambda: victim.uid in cluster.evictor.cleaned_up())
        assert cluster.pods.bound() == ()
        kubelet.containers.start(victim.uid, "c")
        assert cluster.pods.bound(running={victim.uid}) == (victim,)
        api.up()
        eventually(lambda: cluster.pods.bound(running={victim.uid}) == ())
        eventually(lambda: cluster.queue.problem == "")


@pytest.mark.slow
def test_closing_does_not_wait_for_a_server_that_is_gone(api: ApiServer) -> None:
    """A clean stop has its bound."""
    with living(api, Kubelet(api.store, "n1")) as cluster:
        cluster.reporter.report([], time.monotonic_ns())
        eventually(lambda: not cluster.reporter.pending)
        api.down()
        began = time.monotonic()
        cluster.close(seconds=0.2)
        assert time.monotonic() - began < 30


def test_a_credential_that_cannot_be_used_is_an_input_error(tmp_path: Path) -> None:
    """Before any thread runs."""
    with pytest.raises(InputError, match="kubeconfig"):
        build(
            ClusterSettings(kubeconfig=str(tmp_path / "none")),
            node_name="n1",
            stopper=FakeStopper(Kubelet.__new__(Kubelet)),  # type: ignore[arg-type]
            clocks=CLOCKS,
        )
