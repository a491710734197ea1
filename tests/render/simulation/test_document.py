"""The story as plain values."""

import json

import pytest

from evictd.commands.inputs.source import own_config
from evictd.core.model.config import Policy
from evictd.render.sentences import finding_text
from evictd.render.simulation.document import simulation_document
from evictd.simulation import simulate
from tests.stories import GI, SCENARIOS, check_golden, memory_step, memory_story, played, pod

NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml") if path.stem != "ten-minutes")


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("name", NAMES)
def test_the_documents_of_all_stories(name: str, policy: Policy) -> None:
    """Decisions, findings and reasons, for every scenario that ships and both policies."""
    scenario, cycles = played(name, policy)
    document = simulation_document(scenario.name, cycles, own_config(scenario, policy))
    check_golden(f"{name}.{policy.value.lower()}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def test_rankings_are_cut_unless_asked_for() -> None:
    names = [f"pod-{number}" for number in range(30)]
    scenario = memory_story([memory_step("0s", GI // 4, dict.fromkeys(names, GI // 8))], [pod(name) for name in names])
    config = own_config(scenario)
    cycles = tuple(simulate(scenario, config))

    def rows(keep: int | None) -> int:
        document = simulation_document("s", cycles, config, rows=keep)
        findings = document["steps"][0]["readings"][0]["findings"]
        ranking = next(finding for finding in findings if finding["kind"] == "Ranking")
        assert ranking["pods"] == 30
        return len(ranking["rows"])

    assert (rows(10), rows(None)) == (10, 30)


def test_a_reclaim_makes_two_readings_of_a_step() -> None:
    scenario, cycles = played("disk-reclaim-suffices")
    document = simulation_document(scenario.name, cycles, own_config(scenario))
    reclaiming = [step for step in document["steps"] if step["reclaimed"]]
    assert [len(step["readings"]) for step in reclaiming] == [2]
    assert reclaiming[0]["reclaimed"] == ["containers", "images"]
    assert reclaiming[0]["evicted"] == []


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("name", NAMES)
def test_no_two_findings_of_a_reading_read_the_same(name: str, policy: Policy) -> None:
    """Each names its signal: nodefs and the derived containerfs wait for the same victim, in two findings."""
    scenario, cycles = played(name, policy)
    config = own_config(scenario, policy)
    for cycle in cycles:
        for turn in cycle.turns:
            texts = [finding_text(finding, config) for finding in turn.step.findings]
            assert len(texts) == len(set(texts)), sorted(texts)
