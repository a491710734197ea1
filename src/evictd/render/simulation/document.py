"""The document of a simulation: what `--output json` and `yaml` write, and what golden files compare.

Every decision and every finding is in it, in the form of the journal (`codec.decision`), each with its sentence. Rankings are cut
unless every row is asked for.
"""

from collections.abc import Sequence

from evictd.codec.decision import encode_decision, encode_finding
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import ReclaimNode, begun_evictions
from evictd.core.units.duration import format_duration
from evictd.render.documents import API_VERSION, TOP_ROWS, Document
from evictd.render.sentences import decision_text, finding_text
from evictd.render.simulation.conclusion import conclusion
from evictd.simulation import SimulatedCycle, Turn


def simulation_document(
    name: str,
    cycles: Sequence[SimulatedCycle],
    config: EvictionConfig,
    *,
    rows: int | None = TOP_ROWS,
    recorded: EvictionConfig | None = None,
) -> Document:
    """Make the document of a whole simulation; `rows` of `None` keeps every row of every ranking."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Simulation",
        "name": name,
        "policy": config.policy.value,
        "steps": [cycle_document(cycle, config, rows=rows) for cycle in cycles],
        "conclusion": list(conclusion(cycles, recorded)),
    }


def cycle_document(cycle: SimulatedCycle, config: EvictionConfig, *, rows: int | None) -> Document:
    """Make the document of one step; `readings` has a second entry where node-level reclaim lay in the step."""
    decisions = cycle.decisions
    return {
        "at": format_duration(cycle.at),
        "phase": cycle.state.activity.value,
        "conditions": [condition.value for condition in cycle.state.node_conditions],
        "reclaimed": [a.value for d in decisions if isinstance(d, ReclaimNode) for a in d.actions],
        "evicted": [each.pod.full_name for each in begun_evictions(decisions)],
        "readings": [_reading(turn, config, rows) for turn in cycle.turns],
        "admissions": [
            {"pod": pod.full_name, "admitted": a.admitted, "reason": a.reason, "message": a.message}
            for pod, a in cycle.admissions
        ],
    }


def _reading(turn: Turn, config: EvictionConfig, rows: int | None) -> Document:
    step = turn.step
    return {
        "decisions": [{**encode_decision(decision), "text": decision_text(decision)} for decision in step.decisions],
        "findings": [
            {**encode_finding(finding, rows=rows), "text": finding_text(finding, config)} for finding in step.findings
        ],
    }
