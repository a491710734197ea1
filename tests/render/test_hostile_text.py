"""No text of a pod's author reaches a terminal, a page or a log line as something that it acts on.

Control characters and marks of direction (Unicode categories Cc and Cf) in names, containers and conditions of a scenario or a
journal are written out by every command, in each output format.
"""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from evictd.cli import main
from evictd.codec.records.journal import encode_entry
from evictd.codec.scenario import decode_scenario
from evictd.commands.inputs.source import own_config
from evictd.core.model.state import State
from evictd.daemon.telemetry.findings_log import changes, topics
from evictd.simulation import simulate

SCENARIO = Path(__file__).parents[2] / "config/scenarios/memory-with-priorities.yaml"
ACTIVE = "\x1b[2J\x1b]0;owned\x07\u202e\u2066\u200b\r\x9b31m\x00\ufeff<script>"
HOSTILE = st.sampled_from([ACTIVE, "\u202eexe.txt", "a\nb", "\x1b[31m", "\x7f", "\u2028", "\u061c"]) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8
)


def acted_upon(text: str) -> list[str]:
    """Return the characters on which a terminal or a browser would act."""
    return [each for each in text if each != "\n" and unicodedata.category(each) in {"Cc", "Cf", "Zl", "Zp"}]


def renamed(value: Any, names: dict[str, str]) -> Any:
    """Return the document with these texts replaced wherever they stand."""
    if isinstance(value, dict):
        return {key: renamed(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


def journal_of(document: dict[str, Any]) -> bytes:
    """Write the journal of a scenario's simulation; each line of findings that a daemon would log is checked on the way."""
    scenario = decode_scenario(document)
    config, state, lines = own_config(scenario, None), State(), []
    for cycle in simulate(scenario, config):
        for turn in cycle.turns:
            for line in changes({}, topics(turn.step.findings, ())):
                assert acted_upon(json.dumps([line.event, *map(str, line.fields.values())])) == []
            encoded = encode_entry(
                now=cycle.at, wall="2026-01-31T12:00:00Z", state=state, observation=turn.observation, config=config,
                step=turn.step,
            )  # fmt: skip
            lines.append(encoded)
            state = turn.step.state
    return b"".join(lines)


@pytest.mark.slow
@example((ACTIVE, ACTIVE, ACTIVE))
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.tuples(HOSTILE, HOSTILE, HOSTILE))
def test_no_command_writes_what_a_terminal_acts_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], texts: tuple[str, str, str]
) -> None:
    names = {"report": "report" + texts[0], "default": "default" + texts[1], "main": "main" + texts[2]}
    document = renamed(yaml.safe_load(SCENARIO.read_text()), names)
    scenario, journal = tmp_path / "scenario.json", tmp_path / "journal.jsonl"
    scenario.write_text(json.dumps(document))
    journal.write_bytes(journal_of(document))
    pod = f"{names['default']}/{names['report']}"
    commands = [
        *(["simulate", str(scenario), "--output", form] for form in ("table", "json", "yaml")),
        *(["replay", str(journal), "--output", form] for form in ("table", "json")),
        *(["history", "--directory", str(tmp_path), "--output", form] for form in ("table", "json", "yaml", "html")),
        ["why", pod, "--directory", str(tmp_path), "--address", "127.0.0.1:1"],
        ["simulate", str(tmp_path / f"no{texts[0]}".replace("\0", "0"))],
        ["check", "--config", str(scenario)],
    ]  # fmt: skip
    for command in commands:
        main(command)
        shown = capsys.readouterr()
        assert acted_upon(shown.out + shown.err) == [], command
        assert shown.out or shown.err
