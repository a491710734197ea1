"""Simulation of scenarios through the core."""

from evictd.commands.inputs.source import own_config
from evictd.core.model.config import Policy
from evictd.core.model.decision import EvictPod, ReclaimNode
from evictd.core.units.duration import SECOND
from evictd.simulation import simulate
from tests.stories import GI, MI, memory_step, memory_story, played, pod


def _victims(steps: list[dict[str, object]], **config: object) -> list[str]:
    scenario = memory_story(steps, [pod("a"), pod("b")], **config)
    return [
        decision.pod.name
        for cycle in simulate(scenario, own_config(scenario))
        for turn in cycle.turns
        for decision in turn.step.decisions
        if isinstance(decision, EvictPod)
    ]


def test_a_victim_is_gone_by_the_next_step() -> None:
    low = {"a": 3 * GI, "b": 2 * GI}
    assert _victims([memory_step(f"{at}s", 100 * MI, low) for at in (0, 10, 20)]) == ["a", "b"]


def test_reclaim_is_followed_by_a_second_reading() -> None:
    _, cycles = played("disk-reclaim-suffices")
    two = [cycle for cycle in cycles if len(cycle.turns) == 2]
    assert [cycle.at for cycle in two] == [120 * SECOND]
    first, second = two[0].turns
    assert any(isinstance(decision, ReclaimNode) for decision in first.step.decisions)
    assert second.observation.outcomes.reclaimed is not None
    assert first.observation.node != second.observation.node


def test_a_request_that_was_not_granted_shields_no_pod() -> None:
    """The node allocated 1 GiB; the resize to 64 GiB is deferred or infeasible, and the kubelet ranks by what it allocated."""
    greedy, honest = pod("greedy", memory="64Gi"), pod("honest", memory="1Gi")
    granted = {"memory": "1Gi"}
    statuses = [{"name": "main", "allocatedResources": granted, "resources": {"requests": granted}}]
    greedy["status"] = {"phase": "Running", "containerStatuses": statuses}
    step = memory_step("0s", 100 * MI, {"greedy": 5400 * MI, "honest": GI + 100 * MI})
    for policy in Policy:
        scenario = memory_story([step], [greedy, honest])
        cycles = simulate(scenario, own_config(scenario, policy))
        decisions = [each for cycle in cycles for turn in cycle.turns for each in turn.step.decisions]
        assert [each.pod.name for each in decisions if isinstance(each, EvictPod)] == ["greedy"]


def test_absent_pods_are_not_active() -> None:
    step = memory_step("0s", 100 * MI, {"a": 3 * GI, "b": 2 * GI})
    assert _victims([{**step, "absent": ["a"]}]) == ["b"]


def test_a_step_without_summary_is_a_failed_reading() -> None:
    assert _victims([{"at": "0s"}]) == []


def test_pods_are_admitted_or_rejected_after_each_step() -> None:
    _, cycles = played("transition-period", Policy.KUBELET)
    answers = [[(pod.name, answer.admitted) for pod, answer in cycle.admissions] for cycle in cycles]
    assert answers[0] == [("best-effort", True), ("burstable", True)]
    assert answers[1] == [("best-effort", False), ("burstable", True)]
    assert answers[-1] == answers[0]


def test_pods_that_have_ended_or_are_bound_elsewhere_are_no_candidates() -> None:
    """docs/faults.md, 16: `simulate` evicted a pod that had succeeded a week before, and one of another node."""
    step = memory_step("0s", 100 * MI, {"a": 3 * GI, "b": 2 * GI, "c": 2 * GI, "d": GI})
    step["summary"]["node"]["nodeName"] = "n1"
    pods = [pod(name) for name in "abcd"]
    pods[0]["status"], pods[1]["status"] = {"phase": "Succeeded"}, {"phase": "Failed"}
    pods[2]["spec"]["nodeName"], pods[3]["spec"]["nodeName"] = "n2", "n1"
    scenario = memory_story([step], pods)
    (cycle,) = simulate(scenario, own_config(scenario))
    victims = [d.pod.name for turn in cycle.turns for d in turn.step.decisions if isinstance(d, EvictPod)]
    assert victims == ["d"]
