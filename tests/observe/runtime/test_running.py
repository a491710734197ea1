"""What runs of a pod: by containers that may run, ready sandboxes, and the order in which sidecars stop."""

from dataclasses import replace

from evictd.clients.cri.values import SandboxState
from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.resources import Container
from evictd.observe.runtime.running import running_ids, running_uids, sidecar_ids
from tests.act.test_standalone import VIEW
from tests.daemon.world import HOG


def test_containers_that_have_ended_do_not_run() -> None:
    assert running_ids(VIEW, HOG.uid) == (("c1",), ("s1",))
    assert running_ids(VIEW, "other") == ((), ())


def test_a_pod_runs_with_a_ready_sandbox_or_a_container() -> None:
    not_ready = tuple(replace(each, state=SandboxState.NOT_READY) for each in VIEW.sandboxes)
    assert running_uids(replace(VIEW, containers=())) == {HOG.uid}
    assert running_uids(replace(VIEW, sandboxes=not_ready)) == {HOG.uid}
    assert running_uids(replace(VIEW, sandboxes=not_ready, containers=())) == frozenset()


def test_sidecars_stop_in_the_reverse_of_their_order() -> None:
    """Those that run, by the ids of their instances; an init container that is no sidecar has ended long ago."""
    names = ("a", "init", "b", "c")
    spec = replace(HOG, init_containers=tuple(Container(name=name, sidecar=name != "init") for name in names))
    rows = [replace(VIEW.containers[0], id=f"id-{name}", name=name) for name in ("main", "a", "b", "c")]
    rows[3] = replace(rows[3], state=ContainerState.EXITED)
    view = replace(VIEW, containers=tuple(rows))
    assert sidecar_ids(view, spec) == ("id-b", "id-a")
    assert sidecar_ids(view, HOG) == ()
