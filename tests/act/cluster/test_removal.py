"""What an evictd left on a node's object is recognised, and nothing else."""

from evictd.act.cluster.conditions import VALID, ConditionReport
from evictd.act.cluster.removal import removal
from evictd.clients.kube.nodes import Condition, NodeObject, Taint
from evictd.config.settings import ConditionTypes
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import SECOND

WALL = 1_795_000_000 * SECOND
MEMORY, DISK = NodeCondition.MEMORY_PRESSURE, NodeCondition.DISK_PRESSURE
READY = Condition(type="Ready", status="True", message="kubelet is posting ready status")
OWN = {"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}
FOREIGN = (
    {"key": "evictd.io/memory-pressure", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"},
)


def node(types: ConditionTypes, *active: NodeCondition, taints: tuple[Taint, ...] = ()) -> NodeObject:
    report = ConditionReport(types=types, active=frozenset(active)).conditions({}, WALL)
    known = {each.type: each for each in (READY, *report)}
    return NodeObject(name="n1", uid="u", conditions=known, taints=taints, resource_version="1", date=WALL)


def test_evictds_own_conditions_and_taints_go_and_nothing_else() -> None:
    found = removal(node(ConditionTypes.OWN, MEMORY, taints=(FOREIGN[0], OWN, FOREIGN[1])), WALL)
    assert set(found.removed) == {"EvictdMemoryPressure", "EvictdDiskPressure", "EvictdPIDPressure"}
    assert (found.withdrawn, found.taints) == ((), FOREIGN)
    assert found.names[-1] == "evictd.io/memory-pressure:NoSchedule"


def test_a_built_in_condition_that_evictd_wrote_becomes_false() -> None:
    (condition,) = removal(node(ConditionTypes.BUILT_IN, MEMORY), WALL).withdrawn
    assert (condition.type, condition.status, condition.reason) == (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
    )


def test_a_kubelets_condition_stays() -> None:
    """Also one that is True: it does not say that evictd reported it."""
    kubelets = Condition(type="MemoryPressure", status="True", message="kubelet has insufficient memory available")
    found = NodeObject(
        name="n1", uid="u", conditions={"MemoryPressure": kubelets}, taints=FOREIGN, resource_version="1", date=WALL
    )
    assert removal(found, WALL).names == ()


def test_what_still_holds_stays_where_only_expired_marks_are_asked_for() -> None:
    """A taint holds as long as its condition; one whose condition is gone was left behind."""
    disk = {**OWN, "key": "evictd.io/disk-pressure"}
    held = node(ConditionTypes.OWN, MEMORY, taints=(OWN, disk))
    found = removal(held, WALL + VALID - SECOND, expired=True)
    assert (found.removed, found.taints) == ((), (OWN,))
    later = removal(held, WALL + VALID + SECOND, expired=True)
    assert (later.removed, later.taints) == (("EvictdMemoryPressure",), ())
