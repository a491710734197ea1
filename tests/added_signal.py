"""Plays a scenario with a signal that `tests/test_added_signal.py` has added, and prints where the signal appears, as JSON.

It runs in a process of its own with the copied source on `PYTHONPATH`: `python -m tests.added_signal SCENARIO`.
"""

import json
import sys
from pathlib import Path

from evictd.codec.records.journal import decode_entry, encode_entry
from evictd.commands.inputs.source import own_config, read_scenario
from evictd.config.schema import json_schema
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import Ranking
from evictd.core.model.state import State
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.statusz.status_page import snapshot_view
from evictd.render.node_view import explanation_document
from evictd.render.sentences import decision_text
from evictd.render.status.page.node_page import node_page
from evictd.simulation import Turn, simulate
from tests.daemon.status import status_of
from tools import reference

_WALL = 1_700_000_000 * 10**9


def main() -> None:
    """Print one text for each place, of the cycle that evicts."""
    scenario = read_scenario(Path(sys.argv[1]))
    config, before = own_config(scenario), State()
    for cycle in simulate(scenario, config):
        turn = cycle.turns[-1]
        eviction = next((each for each in turn.step.decisions if isinstance(each, EvictPod)), None)
        if eviction is not None:
            break
        before = cycle.state
    else:
        raise AssertionError("nothing was evicted")
    ranking = next(each for each in turn.step.findings if isinstance(each, Ranking))
    found = {
        "schema": json.dumps(json_schema()),
        "config": ", ".join(str(each) for each in config.thresholds),
        "ranking": ", ".join(f"{row.name} {row.stall}" for row in ranking.rows),
        "message": eviction.message,
        "sentence": decision_text(eviction),
        "journal": _journal(turn, config, before, cycle.at),
        "page": _page(turn, config, cycle.at),
        "docs": reference.conditions(),
    }
    sys.stdout.write(json.dumps(found))


def _journal(turn: Turn, config: EvictionConfig, before: State, now: int) -> str:
    """Return the line, after deciding it again from what it says."""
    line = encode_entry(now=now, wall="", state=before, observation=turn.observation, config=config, step=turn.step)
    entry = decode_entry(line)
    again = synchronize(entry.state, entry.observation, entry.config, entry.now)
    assert [each for each in again.decisions if isinstance(each, EvictPod)], "decided otherwise"
    return line.decode()


def _page(turn: Turn, config: EvictionConfig, now: int) -> str:
    snapshot = Snapshot(
        at=now,
        wall=_WALL,
        config=config,
        state=turn.step.state,
        observation=turn.observation,
        findings=turn.step.findings,
    )
    explained = explanation_document(snapshot_view(snapshot), rows=None)
    return node_page(status_of(snapshot, now), explained, {}, faults=()).decode()


if __name__ == "__main__":
    main()
