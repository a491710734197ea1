"""The API server's pods for the observer, and what is kept of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evictd.core.model.pod import Pod
from evictd.daemon.api_pods import ApiPods
from evictd.daemon.store.known_pods import KnownPods
from evictd.observe.runtime.runtime_view import RuntimeView
from evictd.worker import JobQueue
from tests.observe.runtime_double import sandbox
from tests.recorded_errors import NoErrors

WEB = Pod(name="web", namespace="ns", uid="u1", priority=7)
SEEN = Pod(name="web", namespace="ns", uid="u1", spec_known=False)
NEW = Pod(name="new", namespace="ns", uid="u2", spec_known=False)
VIEW = RuntimeView(time=1, sandboxes=(sandbox("u1"),), containers=())


@dataclass
class Listed:
    """A cluster whose API server lists these pods."""

    pods: tuple[Pod, ...] | None
    own_pod = frozenset({"own"})

    def active_pods(self, _known: object, _running: object) -> tuple[Pod, ...] | None:
        return self.pods

    def unlisted(self, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        return tuple(pod for pod in pods if pod.uid not in {each.uid for each in self.pods or ()})


def test_a_pod_that_is_listed_no_more_keeps_its_priority(tmp_path: Path) -> None:
    """Also over a restart: a list without it must not take from the file what an earlier one said."""
    listed: Any = Listed((WEB,))
    jobs = JobQueue(NoErrors())
    source = ApiPods(listed, KnownPods(tmp_path, jobs, NoErrors()))
    assert (source.own_pods, source.bound_pods(VIEW), source.bound_pods(None)) == (
        frozenset({"own"}),
        (WEB,),
        (WEB,),
    )
    source.remember((WEB,))
    listed.pods = ()
    unlisted = source.unlisted((SEEN, NEW))
    assert unlisted == (WEB, NEW)
    source.remember(unlisted)
    assert jobs.close()
    again = ApiPods(listed, KnownPods(tmp_path, JobQueue(NoErrors()), NoErrors()))
    assert again.completed((SEEN, NEW)) == (WEB, NEW)


def test_before_the_first_list_nothing_is_known_of_the_api_server(tmp_path: Path) -> None:
    listed: Any = Listed(None)
    assert ApiPods(listed, KnownPods(tmp_path, JobQueue(NoErrors()), NoErrors())).bound_pods(VIEW) is None
