"""This node, or a journal, as a scenario file."""

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.cli import main
from evictd.codec.checksum import unsealed
from evictd.codec.config.kubelet_config import eviction_config
from evictd.codec.decision import encode_decision
from evictd.codec.records.journal import decode_entry, encode_entry
from evictd.codec.scenario import Scenario, decode_scenario, encode_scenario
from evictd.codec.times import rfc3339
from evictd.commands.capture import (
    CapturedReading,
    config_fields,
    entries_of,
    exact_value_text,
    scenario_of,
    scenario_of_entries,
)
from evictd.commands.inputs.journals import read_journals
from evictd.commands.inputs.source import own_config, read_scenario, read_story, scenario_config
from evictd.config.file import read_documents
from evictd.core.eviction.accounts.collecting import ended_reclaims
from evictd.core.model.config import (
    EvictionConfig,
    EvictionMethod,
    FastFill,
    ImageGCPolicy,
    ImageReclaim,
    PodGroup,
    Policy,
    Preferences,
)
from evictd.core.model.decision import Wait, begun_evictions
from evictd.core.model.observation import Observation
from evictd.core.model.state import State
from evictd.core.model.threshold import ThresholdValue
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.core.units.percentage import parse_percentage
from evictd.observe.live import LiveNode, LiveReading
from evictd.render.replay.replayed import recorded_victims
from evictd.simulation import SimulatedCycle, simulate
from evictd.world.file import WorldFile
from evictd.world.loop import play
from tests.commands.test_replay import journal_of
from tests.parity.compare import VECTORS
from tests.parity.evaluate import read_lines
from tests.stories import ROOT, SCENARIOS, played


def scenario_of_journal(paths: Sequence[Path], until: str | None = None) -> Scenario:
    """What `evictd capture --from-journal` makes."""
    return scenario_of_entries(paths[-1].stem, entries_of(paths, until))


@pytest.mark.usefixtures("memory_cgroups")
def test_this_machine_becomes_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was captured can be simulated and explained."""
    path = tmp_path / "node.yaml"
    none = f"unix://{tmp_path}/none.sock"
    capture = ["capture", "-o", str(path), "--for", "300ms", "--every", "100ms", "--container-runtime-endpoint", none]
    assert main([*capture, "--root-dir", str(tmp_path)]) == 0
    assert main(["simulate", str(path), "--output", "json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert len(steps) >= 2
    assert steps[0]["at"] == "0s"
    assert main(["explain", str(path)]) == 0
    assert "memory.available" in capsys.readouterr().out


@pytest.mark.usefixtures("memory_cgroups")
def test_pods_that_no_runtime_lists_are_unknown_in_the_scenario_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scenario had no pods, and `simulate` and `explain` said that the node has none."""
    monkeypatch.setenv("COLUMNS", "200")
    path, none = tmp_path / "node.yaml", f"unix://{tmp_path}/none.sock"
    capture = ["capture", "-o", str(path), "--container-runtime-endpoint", none, "--root-dir", str(tmp_path / "no")]
    assert main([*capture, "--eviction-hard", "nodefs.available<1Ki"]) == 0
    said = f"the pods are unknown, so the scenario has none: {none}: there is no such socket"
    error = capsys.readouterr().err
    assert said in error
    assert "so the scenario has one for all: if they are, set its `filesystems.dedicatedImageFs`" in error
    for command in ("simulate", "explain"):
        assert main([command, str(path)]) == 0
        text = capsys.readouterr().out
        assert "the pods are unknown" in text
        assert "no active pods" not in text
        assert "there are no pods" not in text
        assert f"container runtime: {none}: there is no such socket" in text
        (row,) = [each for each in text.splitlines() if each.strip().startswith("nodefs.available ")]
        assert "a daemon could not read it" in row


@pytest.mark.usefixtures("memory_cgroups")
def test_one_look_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", "--container-runtime-endpoint", f"unix://{tmp_path}/none.sock"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "scenario"
    assert len(document["steps"]) == 1


@pytest.mark.parametrize(("flag", "value"), [("--for", "5"), ("--every", "often"), ("--for", "-1s")])
def test_bad_durations(flag: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", f"{flag}={value}"]) == 2
    assert capsys.readouterr().err.startswith(f"evictd: {flag}: {value}: ")


@pytest.mark.usefixtures("memory_cgroups")
def test_an_output_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "no" / "x.json")
    assert main(["capture", "-o", out, "--container-runtime-endpoint", f"unix://{tmp_path}/none.sock"]) == 2
    assert f"--out: {out}: No such file or directory" in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An hour of `--for 1h` was lost at its end."""
    monkeypatch.setattr(LiveNode, "read", lambda _: pytest.fail("recorded"))
    assert main(["capture", "-o", str(tmp_path / "no" / "x.json"), "--for", "1h"]) == 2
    assert "x.json: No such file or directory" in capsys.readouterr().err


@pytest.mark.usefixtures("memory_cgroups")
def test_ctrl_c_while_the_node_is_read_keeps_the_readings_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were kept only where it came between two readings; nothing was written, and no message said so."""
    out, read, reads = tmp_path / "node.json", LiveNode.read, count(1)

    def interrupted(node: LiveNode) -> LiveReading:
        if next(reads) > 2:
            raise KeyboardInterrupt
        return read(node)

    monkeypatch.setattr(LiveNode, "read", interrupted)
    arguments = ["--container-runtime-endpoint", f"unix://{tmp_path}/none.sock", "--root-dir", str(tmp_path)]
    assert main(["capture", "-o", str(out), "--for", "1h", "--every", "100ms", *arguments]) == 0
    assert len(json.loads(out.read_text())["steps"]) == 2


NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml") if path.stem != "transition-period")


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("name", NAMES)
def test_a_journal_becomes_a_scenario_that_decides_the_same(name: str, policy: Policy, tmp_path: Path) -> None:
    """Scenario, journal, scenario: the same evictions, conditions and reclaims at the same times."""
    scenario = scenario_of_journal([journal_of(name, tmp_path / "journal.jsonl", policy)])
    original = [(c.at, [t.step.decisions for t in c.turns], c.state.node_conditions) for c in played(name, policy)[1]]
    again = [
        (c.at, [t.step.decisions for t in c.turns], c.state.node_conditions)
        for c in simulate(scenario, own_config(scenario))
    ]
    assert again == original


def _plain(value: Any) -> Any:
    """Return the value with plain integers, as a node is read: a world file has kinds of integers of its own."""
    if isinstance(value, int) and type(value) is not bool:
        return int(value)
    if type(value) is tuple:
        return tuple(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _plain(getattr(value, each.name)) for each in fields(value) if each.init})
    return value


def _journal_of_incident(number: str, to: Path) -> Path:
    """Write the journal that a daemon would have written of an incident: the cycles that decided something."""
    (path,) = (ROOT / "config" / "incidents").glob(f"{number}-*.yaml")
    file = read_story(path)
    assert isinstance(file, WorldFile)
    config = scenario_config(file, path, argparse.Namespace(config=None, policy=None, compare=None))
    before, gone = State(), frozenset[str]()
    with to.open("wb") as journal:
        for cycle in play(_plain(file.world), config).cycles:
            observation, step = cycle.observation, cycle.step
            decided = [each for each in step.decisions if not isinstance(each, Wait)]
            ended = bool(ended_reclaims(before, step.state, observation.outcomes))
            if decided or ended or not observation.outcomes.cleaned_up <= gone:
                at, wall = cycle.at, rfc3339(cycle.at)
                line = encode_entry(now=at, wall=wall, state=before, observation=observation, config=config, step=step)
                journal.write(line)
                gone = observation.outcomes.cleaned_up
            before = step.state
    return to


@pytest.mark.parametrize("number", ["02", "04", "05", "07", "13", "15", "16", "22", "30", "32", "45"])
def test_a_captured_incident_evicts_the_pods_of_its_journal(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """State from before the first record, later deletions, fill rates and deleted files were lost, so other pods went.

    So was what came of evictions in cycles that are not in the journal (13).
    """
    journal, out = _journal_of_incident(number, tmp_path / "journal.jsonl"), tmp_path / "captured.yaml"
    assert main(["capture", "--from-journal", str(journal), "-o", str(out)]) == 0
    assert capsys.readouterr().err == ""
    entries = read_journals([journal], decode_entry)
    scenario = read_scenario(out)
    again = [
        each.pod.full_name
        for cycle in simulate(scenario, own_config(scenario))
        for each in begun_evictions(cycle.decisions)
    ]
    assert again == [pod for entry in entries for pod in recorded_victims(entry.decisions)]


def test_the_times_of_a_scenario_are_easy_to_read(tmp_path: Path) -> None:
    """They were written as `4m48.400000001s`."""
    journal, out = _journal_of_incident("26", tmp_path / "journal.jsonl"), tmp_path / "captured.yaml"
    assert any(entry.now % MILLISECOND for entry in read_journals([journal], decode_entry))
    assert main(["capture", "--from-journal", str(journal), "-o", str(out)]) == 0
    assert all(step.at % MILLISECOND == 0 for step in read_scenario(out).steps)


def test_a_capture_that_evicts_other_pods_says_so_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = journal_of("memory-with-priorities", tmp_path / "journal.jsonl")
    lines = [json.loads(unsealed(line)) for line in journal.read_bytes().splitlines()]
    for line in lines:
        line["decisions"] = [each for each in line["decisions"] if each["kind"] != "EvictPod"]
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert main(["capture", "--from-journal", str(journal), "-o", str(tmp_path / "captured.yaml")]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith("evictd: the scenario decides differently than the journal: journal: no more evictions; ")
    assert "scenario: evicts default/report at " in said


def test_from_a_journal_on_the_command_line(tmp_path: Path) -> None:
    journal = journal_of("min-reclaim", tmp_path / "journal.jsonl")
    out = tmp_path / "scenario.json"
    assert main(["capture", "--from-journal", str(journal), "-o", str(out)]) == 0
    assert main(["simulate", str(out)]) == 0
    (document,) = read_documents(out)
    assert isinstance(document, dict)
    assert len(document["steps"]) == 6


def test_the_outcome_of_a_reclaim_that_stays_in_later_readings_ends_one_step_only(tmp_path: Path) -> None:
    """A daemon's observation keeps the last outcome: the eviction of the next reclaim was lost."""
    journal = journal_of("disk-reclaim-then-evict", tmp_path / "journal.jsonl")
    original = scenario_of_journal([journal])
    lines = [json.loads(unsealed(line)) for line in journal.read_bytes().splitlines()]
    for before, line in pairwise(lines):
        if line["observation"].get("reclaimed") is None:
            line["observation"]["reclaimed"] = before["observation"].get("reclaimed")
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    kept = scenario_of_journal([journal])
    assert [(step.at, step.summary_after_reclaim) for step in kept.steps] == [
        (step.at, step.summary_after_reclaim) for step in original.steps
    ]


def test_a_scenario_can_end_with_an_eviction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last reading of a whole journal is that of a relieved node, from which no pod of the incident can grow on."""
    journal = journal_of("memory-with-priorities", tmp_path / "journal.jsonl")
    whole, until = scenario_of_journal([journal]), scenario_of_journal([journal], until="default/report")
    assert until.steps == whole.steps[: len(until.steps)]
    assert len(until.steps) < len(whole.steps)
    assert "report" not in until.steps[-1].absent
    wall = next(each.wall for each in read_journals([journal], decode_entry) if recorded_victims(each.decisions))
    assert scenario_of_journal([journal], until=f"default/report@{wall}").steps == until.steps
    remedies = {"default/raport": "did you mean default/report?", "x": "it has default/report"}
    for pod, remedy in {**remedies, "default/report@noon": f"it has default/report@{wall}"}.items():
        assert main(["capture", "--from-journal", str(journal), "--until", pod]) == 2
        assert f"--until: {pod}: was not evicted in " in (err := capsys.readouterr().err)
        assert remedy in err
    assert main(["capture", "--until", "default/report"]) == 2
    assert "give --from-journal" in capsys.readouterr().err


def test_only_the_last_boot_counts(tmp_path: Path) -> None:
    """Times of two boots cannot be put on one axis."""
    older = journal_of("soft-grace", tmp_path / "journal.1.jsonl")
    newer = journal_of("min-reclaim", tmp_path / "journal.jsonl")
    scenario = scenario_of_journal([older, newer])
    assert {pod.name for pod in scenario.pods} == {"scratch-a", "scratch-b", "scratch-c"}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {
            "evictionHard": {"memory.available": "1234567Ki", "nodefs.available": "7.3%"},
            "enforceNodeAllocatable": ["none"],
        },
        {
            "evictionHard": {"memory.available": "100Mi", "pid.available": "5%"},
            "evictionSoft": {"pid.available": "10%", "nodefs.available": "1Gi", "memory.available": "1Gi"},
            "evictionSoftGracePeriod": {"pid.available": "0s", "nodefs.available": "0s", "memory.available": "5s"},
        },
        {
            "evictionHard": {"pid.available": "10%", "allocatableMemory.available": "100Mi"},
            "evictionSoft": {"memory.available": "1.5Gi"},
            "evictionSoftGracePeriod": {"memory.available": "1m30s"},
            "evictionMinimumReclaim": {"memory.available": "0", "pid.available": "1%"},
            "evictionMaxPodGracePeriod": -1,
            "evictionPressureTransitionPeriod": "0s",
            "localStorageCapacityIsolation": False,
        },
    ],
)
@pytest.mark.parametrize("policy", Policy)
def test_a_configuration_can_be_written_back(fields: dict[str, object], policy: Policy) -> None:
    config = eviction_config(fields, policy=policy)
    kubelet, evictd = config_fields(config)
    assert evictd["decisionPolicy"] == policy.value
    again = eviction_config(kubelet, policy=policy)
    assert [(t.identity, t.min_reclaim) for t in again.thresholds] == [
        (t.identity, t.min_reclaim) for t in config.thresholds
    ]
    assert again.max_pod_grace_period_seconds == config.max_pod_grace_period_seconds
    assert again.pressure_transition_period == config.pressure_transition_period


def test_every_option_of_the_core_is_written_back() -> None:
    """What was left out made the scenario decide by the default of it."""
    config = EvictionConfig(
        allow_api_pods_standalone=True,
        eviction_timeout=7 * SECOND,
        pod_termination=EvictionMethod.DELETE,
        memory_lead=FastFill.AUTO,
        monitoring_period=3 * SECOND,
        preferences=Preferences(avoid=(PodGroup(namespaces=frozenset({"a", "b"}), labels={"x": "y"}),)),
        image_gc=ImageGCPolicy(min_age=SECOND, max_age=2 * SECOND, high_threshold_percent=9, keep=("a/*",)),
        local_storage_capacity_isolation=False,
    )
    scenario = scenario_of("x", config, [CapturedReading(now=0, observation=Observation(node=None))])
    assert own_config(decode_scenario(json.loads(json.dumps(encode_scenario(scenario))))) == config


def test_options_of_evictd_are_written_back() -> None:
    _, evictd = config_fields(EvictionConfig(reclaim_images=ImageReclaim.OFF, reclaim_containers=False))
    assert evictd["reclaim"] == {
        "containers": False,
        "images": "Off",
        "keepImages": [],
        "rotatedLogs": False,
        "pageCache": False,
    }


@given(st.floats(min_value=0, max_value=100, allow_nan=False, width=32))
def test_percentages_survive_to_the_last_bit(percent: float) -> None:
    fraction = parse_percentage(f"{percent!r}%")
    assert parse_percentage(exact_value_text(ThresholdValue(fraction=fraction))) == fraction


@pytest.mark.parametrize("policy", Policy)
def test_every_recorded_story_survives_being_captured(policy: Policy) -> None:
    """Story, scenario file, story: the kubelet's own unit suite decides the same, to the last word."""
    for document in read_lines(VECTORS / "kubelet-1.36-unit-suite.jsonl.gz"):
        if document["kind"] != "scenario":
            continue
        document.pop("expect")
        scenario = decode_scenario(document)
        config = own_config(scenario, policy)
        original = tuple(simulate(scenario, config))
        readings = [
            CapturedReading(
                now=c.at, observation=c.turns[0].observation, after=c.turns[1].observation if len(c.turns) > 1 else None
            )
            for c in original
        ]
        captured = replace(scenario_of("x", config, readings), evicted_pods_stay_active=True)
        again = decode_scenario(json.loads(json.dumps(encode_scenario(captured))))
        assert _decided(simulate(again, own_config(again))) == _decided(original)


def _decided(cycles: Iterable[SimulatedCycle]) -> list[list[dict[str, object]]]:
    return [[encode_decision(d) for turn in cycle.turns for d in turn.step.decisions] for cycle in cycles]


@pytest.mark.parametrize("text", ["20%", "5%", "12.5%", "0.001%", "90%"])
def test_a_percentage_is_written_without_an_exponent(text: str) -> None:
    """20% was written as 2e+01%."""
    assert exact_value_text(ThresholdValue(fraction=parse_percentage(text))) == text
