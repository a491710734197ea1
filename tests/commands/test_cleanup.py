"""`evictd cleanup` removes what a removed evictd left on nodes, with the rights of its role and no others."""

import pytest

from evictd import cli
from evictd.act.cluster.conditions import ConditionReport
from evictd.clients.kube.nodes import NodeClient
from evictd.clients.kube.transport import Transport
from evictd.commands.cleanup import NodeCleanup, default_kubeconfig
from evictd.config.settings import ConditionTypes
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import SECOND
from evictd.errors import ExitCode, InputError
from tests.kube.api_server import ApiServer
from tests.kube.objects import node
from tests.kube.store import Json

WALL = 1_795_000_000 * SECOND
OWN = {"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}
FOREIGN = {"key": "team", "value": "a", "effect": "NoSchedule"}


@pytest.fixture
def marked(api: ApiServer, transport: Transport) -> ApiServer:
    """Nodes n1 and n2 under pressure, as an evictd left them, and n3 without any mark."""
    for name in ("n2", "n3"):
        api.store.create("nodes", node(name))
    report = ConditionReport(types=ConditionTypes.OWN, active=frozenset({NodeCondition.MEMORY_PRESSURE}))
    for name in ("n1", "n2"):
        NodeClient(transport, name).patch_conditions(report.conditions({}, WALL))
        api.store.update(("nodes", "", name), lambda item: item["spec"].update(taints=[OWN, FOREIGN]))
    api.forget_requests()
    return api


def left(api: ApiServer, name: str) -> tuple[list[str], list[Json]]:
    """The conditions and taints of evictd's names, and of others the taints alone."""
    found = api.store.get(("nodes", "", name))
    assert found is not None
    types = [each["type"] for each in found["status"]["conditions"] if each["type"].startswith("Evictd")]
    return types, found["spec"].get("taints") or []


def cleanup(transport: Transport, **how: bool) -> NodeCleanup:
    return NodeCleanup(transport, lambda _: None, expired=how.get("expired", False))


def test_all_nodes(marked: ApiServer, transport: Transport, capsys: pytest.CaptureFixture[str]) -> None:
    assert cleanup(transport).run(None) is ExitCode.DONE
    assert [left(marked, name) for name in ("n1", "n2")] == [([], [FOREIGN])] * 2
    assert "n1: removed EvictdMemoryPressure" in capsys.readouterr().out


def test_one_node(marked: ApiServer, transport: Transport) -> None:
    assert cleanup(transport).run("n1") is ExitCode.DONE
    assert left(marked, "n1") == ([], [FOREIGN])
    assert left(marked, "n2")[1] == [OWN, FOREIGN]


def test_expired_marks_alone(marked: ApiServer, transport: Transport) -> None:
    """These were written in a past that the server's clock has left behind, or in one to come."""
    assert cleanup(transport, expired=True).run("n1") is ExitCode.DONE
    types, taints = left(marked, "n1")
    assert ("EvictdMemoryPressure" in types) == (OWN in taints)


def test_another_writer_and_an_outage_are_waited_for(marked: ApiServer, transport: Transport) -> None:
    marked.fault(verb="patch", resource="nodes", status=409, times=2)
    marked.fault(verb="list", resource="nodes", status=503, times=2)
    assert cleanup(transport).run(None) is ExitCode.DONE
    assert left(marked, "n1") == ([], [FOREIGN])


def test_what_is_forbidden_is_told_and_the_other_nodes_are_cleaned(
    marked: ApiServer, transport: Transport, capsys: pytest.CaptureFixture[str]
) -> None:
    marked.fault(verb="patch", resource="nodes/status", name="n1", status=403)
    assert cleanup(transport).run(None) is ExitCode.NO
    assert left(marked, "n2") == ([], [FOREIGN])
    assert "n1" in capsys.readouterr().err


def test_the_daemon_set_goes_first(marked: ApiServer, transport: Transport) -> None:
    """While its pods run they would write the marks again."""
    assert cleanup(transport).run("n1", daemon_set="evictd/evictd", timeout=1) is ExitCode.DONE
    verbs = [line.what for line in marked.requests(watches=False)]
    assert verbs.index("delete daemonsets") < verbs.index("patch nodes")
    with pytest.raises(InputError, match="NAMESPACE/NAME"):
        cleanup(transport).run("n1", daemon_set="evictd")


def test_the_command(marked: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cleanup", "--all", "--kubeconfig", str(marked.kubeconfig())]) == ExitCode.DONE
    assert capsys.readouterr().out.endswith("3 nodes, 3 clean\n")
    with pytest.raises(SystemExit):
        cli.main(["cleanup"])


def test_where_the_credential_is() -> None:
    assert default_kubeconfig({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) == "in-cluster"
    assert default_kubeconfig({"KUBECONFIG": "/a"}) == "/a"
    assert default_kubeconfig({"HOME": "/h"}) == "/h/.kube/config"
