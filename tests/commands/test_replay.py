"""A journal, decided again."""

import json
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.cli import main
from evictd.codec.records.journal import JournalEntry, decode_entry, encode_entry
from evictd.commands.inputs.journals import read_lines
from evictd.commands.inputs.source import own_config, read_scenario
from evictd.commands.replay import cycles_of, replay, replay_under
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, EvictionMethod, Policy
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import Observation, Outcomes
from evictd.core.model.state import State, Step
from evictd.core.units.duration import SECOND
from evictd.daemon.store.recorder import Cycle
from evictd.render.replay.replayed import plain_decisions
from evictd.simulation import simulate
from tests import playbook
from tests.daemon.double import LoopOnScript
from tests.daemon.world import CONFIG, GI, HOG, NOW, WALL, WEB, observe
from tests.playbook import Playbook, pod, usage
from tests.stories import ROOT, SCENARIOS


def journal_of(name: str, path: Path, policy: Policy | None = None) -> Path:
    """Write the journal that a daemon would have written of this scenario."""
    scenario = read_scenario(SCENARIOS / f"{name}.yaml")
    config = own_config(scenario, policy)
    state = State()
    with path.open("ab") as file:
        for cycle in simulate(scenario, config):
            for turn in cycle.turns:
                file.write(_line(cycle.at, state, turn.observation, config, turn.step))
                state = turn.step.state
    return path


def _line(at: int, state: State, observation: Observation, config: EvictionConfig, step: Step) -> bytes:
    wall = f"2026-01-31T12:{at // 10**9 // 60:02}:{at // 10**9 % 60:02}Z"
    return encode_entry(now=at, wall=wall, state=state, observation=observation, config=config, step=step)


NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_decided_the_same(
    name: str, policy: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = journal_of(name, tmp_path / "journal.jsonl", policy)
    assert main(["replay", str(journal)]) == 0
    assert " entries, 0 are decided differently\n" in capsys.readouterr().out


def _tampered(lines: Iterable[bytes]) -> bytes:
    changed = []
    for line in lines:
        entry = json.loads(line)
        for decision in entry["decisions"]:
            if decision["kind"] == "EvictPod":
                decision["gracePeriodSeconds"] += 1
        changed.append(json.dumps(entry).encode())
    return b"\n".join(changed) + b"\n"


def test_a_difference_is_a_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without another configuration, what differs was decided by other code: exit status 1."""
    journal = journal_of("memory-with-priorities", tmp_path / "journal.jsonl")
    journal.write_bytes(_tampered(journal.read_bytes().splitlines()))
    assert main(["replay", str(journal)]) == 1
    out = capsys.readouterr().out
    assert "- then: evict default/report (grace period 2s) for memory.available" in out
    assert "+ now:  evict default/report (grace period 1s) for memory.available" in out
    assert "  differs: period 2s -> 1s\n" in out
    assert "6 entries, 1 is decided differently" in out


def test_a_journal_of_an_older_version_is_equal_where_its_words_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lacks fields that are written now; both sides were printed, equal, and the exit status was 1."""
    journal = journal_of("disk-reclaim-suffices", tmp_path / "journal.jsonl")
    older = [json.loads(line) for line in journal.read_bytes().splitlines()]
    reclaims = [each for entry in older for each in entry["decisions"] if each["kind"] == "ReclaimNode"]
    for each in reclaims:
        del each["device"]
    for entry in older:
        entry["decisions"][-1]["nanoseconds"] += 1
    journal.write_bytes(b"".join(json.dumps(entry).encode() + b"\n" for entry in older))
    assert reclaims
    assert main(["replay", str(journal)]) == 0
    assert capsys.readouterr().out == f"{len(older)} entries, 0 are decided differently\n"


def test_a_field_that_no_sentence_names_is_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sentences round amounts; a decision of the same version must be equal to the byte."""
    journal = journal_of("memory-with-priorities", tmp_path / "journal.jsonl")
    entries = [json.loads(line) for line in journal.read_bytes().splitlines()]
    (evicted,) = [each for entry in entries for each in entry["decisions"] if each["kind"] == "EvictPod"]
    evicted["pod"]["uid"] += "0"
    journal.write_bytes(b"".join(json.dumps(entry).encode() + b"\n" for entry in entries))
    assert main(["replay", str(journal)]) == 1
    out = capsys.readouterr().out
    assert "  differs: evict default/report (grace period 1s) for memory.available" in out
    assert ": what is recorded of the pod: uid: " in " ".join(out.split())
    assert "No victim differs: the same pods at the same times: default/report.\n" in out
    assert "then:" not in out


def test_of_a_released_journal_only_what_differs_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(ROOT / "tests" / "data" / "released" / "5d26490" / "journal.jsonl")]) == 1
    out = capsys.readouterr().out
    assert "5 entries, 1 is decided differently\n" in out
    assert out.count("\nat ") + out.startswith("at ") == 1


@pytest.mark.parametrize("name", ["swap.yaml", "ten-minutes.yaml"])
def test_a_scenario_is_told_from_a_journal(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its first line was called malformed JSON."""
    assert main(["replay", str(SCENARIOS / name)]) == 2
    assert f"{name}: is no journal; `evictd simulate` plays a scenario" in capsys.readouterr().err


def test_under_another_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = journal_of("missing-stats", tmp_path / "journal.jsonl", Policy.KUBELET)
    assert main(["replay", str(journal), "--policy", "Standard", "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["different"] == 1
    different = next(entry for entry in document["entries"] if not entry["same"])
    assert [d["pod"]["name"] for d in different["recorded"] if d["kind"] == "EvictPod"] == ["database"]
    assert [d["pod"]["name"] for d in different["decided"] if d["kind"] == "EvictPod"] == ["leak"]


def test_under_another_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A soft threshold's timer starts where it would have started, so it acts within the recording."""
    journal = journal_of("ten-minutes", tmp_path / "journal.jsonl")
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {}\n"
        "evictionSoft: {memory.available: 3Gi}\nevictionSoftGracePeriod: {memory.available: 1m}\n"
    )
    assert main(["replay", str(journal), "--config", str(config)]) == 0
    out = capsys.readouterr().out
    assert "would have been decided differently" in out
    assert "what another decision leads to is not in a journal" in " ".join(out.split())
    assert "  + now:  evict " in out
    assert "  - then: evict batch/crawler" in out
    assert "\nOther victims: then batch/crawler" in out


def test_that_a_limit_of_pids_is_not_replayed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = journal_of("ten-minutes", tmp_path / "journal.jsonl")
    config = tmp_path / "config.yaml"
    text = (
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 1Gi}\n"
    )
    for limit in ("", "podPidsLimit: 100\n"):
        config.write_text(text + limit)
        assert main(["replay", str(journal), "--config", str(config)]) == 0
        assert ("podPidsLimit is not replayed" in capsys.readouterr().err) is bool(limit)


def test_that_a_group_matches_no_recorded_pod_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt label was answered with `0 would have been decided differently` alone."""
    journal, config = journal_of("ten-minutes", tmp_path / "journal.jsonl"), tmp_path / "config.yaml"
    for namespace in ("batch", "btach"):
        config.write_text(
            "apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\n"
            f"ranking: {{prefer: [{{namespaces: [{namespace}]}}]}}\n"
        )
        assert main(["replay", str(journal), "--config", str(config)]) == 0
        assert ("ranking.prefer[0] matches no recorded pod" in capsys.readouterr().err) is (namespace == "btach")


def test_of_a_lower_threshold_the_commands_that_answer_are_said_and_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal_of("memory-with-priorities", tmp_path / "journal.jsonl")
    monkeypatch.chdir(tmp_path)
    Path("new.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "evictionHard: {memory.available: 200Mi}\n"
    )
    assert main(["replay", "journal.jsonl", "--config", "new.yaml"]) == 0
    out = capsys.readouterr().out
    assert "The recorded readings end at 1 eviction that would not have been" in " ".join(out.split())
    commands = [line.split()[1:] for line in out.splitlines() if line.startswith("  evictd ")]
    assert [each[0] for each in commands] == ["capture", "simulate"]
    assert [main(each) for each in commands] == [0, 0]
    assert "evict default/report" in capsys.readouterr().out
    assert main(["replay", "journal.jsonl", "--config", "new.yaml", "--output", "json"]) == 0
    assert [each["pod"] for each in json.loads(capsys.readouterr().out)["readingsEnd"]] == ["default/report"]


def test_a_pod_that_goes_earlier_is_said_and_no_growth_of_it_is_recommended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that was recommended let a pod grow that this configuration had evicted before."""
    journal_of("memory-with-priorities", tmp_path / "journal.jsonl")
    monkeypatch.chdir(tmp_path)
    Path("new.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 1Gi}\n"
    )
    assert main(["replay", "journal.jsonl", "--config", "new.yaml"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    earlier = "at the latest at 2026-01-31T12:00:20Z instead of 2026-01-31T12:00:30Z: default/report or another one"
    assert f"A pod would have been evicted {earlier}" in out
    assert "The recorded readings end" not in out
    assert "--grow" not in out


FORMULA = (
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 1Gi}\n"
    "enforceNodeAllocatable: [none]\n---\napiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\n"
    "memory: {formula: MemAvailable}\n"
)


def of_page_cache(path: Path, kernels: int | None) -> Path:
    """A journal of one eviction at 512Mi by the default formula, `kernels` by MemAvailable."""
    seen = observe(GI // 2, NOW, pods=(HOG, WEB))
    assert seen.node is not None
    assert seen.node.memory is not None
    memory = replace(seen.node.memory, mem_available_bytes=kernels)
    seen = replace(seen, node=replace(seen.node, memory=memory))
    path.write_bytes(_line(NOW, State(), seen, CONFIG, synchronize(State(), seen, CONFIG, NOW)))
    return path


def test_another_formula_decides_by_its_own_reading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MemAvailable was said to change nothing, for the recorded reading by the default formula was taken."""
    (tmp_path / "new.yaml").write_text(FORMULA)
    journal = of_page_cache(tmp_path / "journal.jsonl", 6 * GI)
    assert main(["replay", str(journal), "--config", str(tmp_path / "new.yaml")]) == 0
    out = capsys.readouterr().out
    assert "Other victims: then default/hog; whether any pod goes now, these readings cannot tell" in " ".join(
        out.split()
    )
    assert "is as recorded, by" not in out
    assert main(["replay", str(journal), "--config", str(tmp_path / "new.yaml"), "--output", "json"]) == 0
    assert "memory.formula" in json.loads(capsys.readouterr().out)["unrecorded"]


def test_a_formula_whose_reading_is_not_in_the_journal_is_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.yaml").write_text(FORMULA)
    journal = of_page_cache(tmp_path / "journal.jsonl", None)
    assert main(["replay", str(journal), "--config", str(tmp_path / "new.yaml")]) == 0
    assert "memory.available of 1 record is as recorded, by memory.formula Auto: " in capsys.readouterr().out


def test_readings_before_an_eviction_say_nothing_of_a_formula_that_they_do_not_tell(tmp_path: Path) -> None:
    """MemAvailable may have been more than what was recorded, so that a threshold was met later than these readings say."""
    (tmp_path / "new.yaml").write_text(FORMULA)
    journal = of_page_cache(tmp_path / "journal.jsonl", GI // 2)
    trend = {"memory.available": [[60.0, GI // 2]], "pid.available": [[60.0, 7]]}
    (entry,) = (replace(decode_entry(line), extra={"trend": trend}) for line in journal.read_bytes().splitlines())
    (same,) = replay_under([entry], Namespace(config=None, policy="Standard"))
    (other,) = replay_under([entry], Namespace(config=tmp_path / "new.yaml", policy=None))
    assert same.entry.extra == {"trend": trend}
    assert other.entry.extra == {"trend": {"pid.available": trend["pid.available"]}}


def test_journals_of_several_nodes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two nodes' journals gave one total without a word, as if the second went on from the first."""
    journal, config = tmp_path / "journal.jsonl", playbook.config(hard={"memory.available": "100Mi"})
    for names, said in ((("a",), ""), (("b", "a"), "evictd: the journals of 2 nodes (a, b) count as one; ")):
        lines = []
        for name in names:
            seen = Observation(node=replace(playbook.node(memory="4Gi of 8Gi"), name=name))
            lines.append(_line(0, State(), seen, config, synchronize(State(), seen, config, 0)))
        journal.write_bytes(b"".join(lines))
        assert main(["replay", str(journal)]) == 0
        error = capsys.readouterr().err
        assert error.startswith(said)
        assert bool(error) is bool(said)
    (tmp_path / "other").mkdir()
    (other := tmp_path / "other" / "journal.jsonl").write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    journal.write_bytes(other.read_bytes())
    assert main(["replay", str(journal), str(other)]) == 0
    assert capsys.readouterr().err.startswith(f"evictd: the journals of 2 folders ({tmp_path}, ")


def test_rotated_files_are_read_in_order(tmp_path: Path) -> None:
    older = journal_of("min-reclaim", tmp_path / "journal.1.jsonl")
    newer = journal_of("soft-grace", tmp_path / "journal.jsonl")
    entries, problems = read_lines([older, newer], decode_entry)
    assert problems == []
    assert len(entries) == len(older.read_bytes().splitlines()) + len(newer.read_bytes().splitlines())
    assert all(one.same for one in replay(entries))


def test_a_torn_line_is_told_and_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A full disk cuts a line short; the others still count."""
    journal = journal_of("min-reclaim", tmp_path / "journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + lines[1][:100] + b"\n" + b"".join(lines[2:]))
    assert main(["replay", str(journal)]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(f"evictd: {journal}: line 2: journal: ")
    assert captured.err.count("\n") == 1
    assert f"{len(lines) - 1} entries" in captured.out


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"kind": "Pod"}\n', b"\xff\xfe\n", b"[1]\n"])
def test_what_is_no_journal(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    assert main(["replay", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(path) in captured.err
    assert captured.err.count("\n") == 1


def test_a_missing_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path / "none")]) == 2
    assert "none: No such file or directory" in capsys.readouterr().err


def test_the_journal_can_be_drawn(tmp_path: Path) -> None:
    journal = journal_of("ten-minutes", tmp_path / "journal.jsonl")
    assert main(["replay", str(journal), "--plot", str(tmp_path / "x.svg")]) == 0
    assert (tmp_path / "x.svg").read_text().startswith("<?xml")
    entries, _ = read_lines([journal], decode_entry)
    assert cycles_of(tuple(replay(entries)))[0].at == 0


def test_the_kubelet_s_policy_goes_on_after_the_first_eviction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The daemon's own journal: the cycle that saw the first victim gone is in it, so nothing waits for it any more."""
    ours = LoopOnScript(tmp_path, [observe(GI // 2)])
    gone = Outcomes(cleaned_up=frozenset({HOG.uid}))
    left = {0: GI // 2, 10 * SECOND: 4 * GI, 20 * SECOND: 4 * GI, 30 * SECOND: GI // 2}
    path = tmp_path / "journal.jsonl"
    state, lines = State(), []
    recorder = ours.recorder
    for at, available in left.items():
        seen = replace(observe(available, NOW + at, pods=(WEB,)), outcomes=gone) if at else observe(available, NOW)
        step = synchronize(state, seen, CONFIG, NOW + at)
        cycle = Cycle(now=NOW + at, wall=WALL + at, before=state, observation=seen, config=CONFIG, step=step)
        if recorder.has_outcome(cycle) or any(isinstance(decision, EvictPod) for decision in step.decisions):
            recorder.journal(cycle)
            lines.append(at)
        state = step.state
    ours.close()
    assert lines == [0, 10 * SECOND, 30 * SECOND]
    assert main(["replay", str(path), "--policy", "Kubelet", "--output", "json"]) == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    evicted = [d["pod"]["name"] for entry in entries for d in entry["decided"] if d["kind"] == "EvictPod"]
    assert evicted == ["hog", "web"]


def test_cycles_that_were_not_journaled_are_no_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only cycles with a decision are; decided by the configuration that they were recorded with, they come to the same."""
    entries: list[JournalEntry] = []

    def recording(state: State, observation: Observation, config: EvictionConfig, now: int) -> Step:
        step = synchronize(state, observation, config, now)
        if len(step.decisions) > 1:
            decided = tuple(dict(each) for each in plain_decisions(step))
            entries.append(
                JournalEntry(now=now, wall="", state=state, observation=observation, config=config, decisions=decided)
            )
        return step

    monkeypatch.setattr(playbook, "synchronize", recording)
    hog, web = pod("hog"), pod("web", memory="1Gi")
    usages = [usage(hog, memory="3Gi"), usage(web, memory="900Mi")]
    book = Playbook(playbook.config(hard={"memory.available": "1Gi"}), pods=[hog, web], usage=usages)
    short: dict[str, Any] = {"memory": "500Mi of 4Gi"}
    book.at("0s", **short).conditions("MemoryPressure").evicts("hog")
    book.at("20s", gone=[], **short).does_nothing()
    book.at("40s", gone=[], **short).evicts("web")
    again = replay_under(entries, Namespace(config=None, policy=Policy.STANDARD.value))
    assert [each.same for each in again] == [True, True]


def test_a_threshold_that_acts_sooner_is_said_before_what_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`The same pods at the same times` stood above the line that nothing is known of the time between them."""

    def world(grace: str) -> str:
        soft = f"evictionSoft: {{memory.available: 1Gi}}\n  evictionSoftGracePeriod: {{memory.available: {grace}}}"
        pod = "- {name: leak, requests: {memory: 64Mi}, behaviours: [{grow: {of: memory, rate: 10Mi}}]}"
        return f"kind: World\nconfig:\n  {soft}\nduration: 15m\nnode: {{memory: 8Gi}}\npods:\n{pod}\n"

    (tmp_path / "world.yaml").write_text(world("1m"))
    other = tmp_path / "other.yaml"
    other.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionSoft: {memory.available: 1Gi}\n"
        "evictionSoftGracePeriod: {memory.available: 30s}\n"
    )
    assert main(["simulate", str(tmp_path / "world.yaml"), "--journal", str(tmp_path / "j")]) == 0
    capsys.readouterr()
    arguments = ["replay", str(tmp_path / "j"), "--config", str(other)]
    assert main(arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    same = "No victim differs in the recorded cycles: default/leak; between them one could have gone, or gone sooner."
    assert out.index("memory.available<1Gi (soft, 30s) acts sooner than what was recorded.") < out.index(same)
    assert main([*arguments, "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["unrecorded"], document["victims"]) == (["memory.available<1Gi (soft, 30s)"], same)


_STALLED = "behaviours: [{hold: {of: memory, amount: 600Mi}}, {stalls: {memory: 60, start: 2m, duration: 3m}}]"
_FORKING = "behaviours: [{burst: {of: processes, amount: 3800, start: 2m, duration: 3m}}]"
_HARD = "memory.available: 300Mi"
_PRESSURE = (
    "---\napiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\n"
    "pressure: [{resource: memory, type: full, average: 10s, above: 20%, for: 20s, scope: pods}]\n"
)


@pytest.mark.parametrize(
    ("behaviours", "hard", "own", "named"),
    [
        (_STALLED, _HARD, _PRESSURE, ["pods.memory.full.avg10>20% (soft, 20s)"]),
        (
            _FORKING,
            f"{_HARD}, pid.available: 10%, nodefs.available: 10%, nodefs.inodesFree: 10%",
            "",
            ["pid.available<10% (hard)", "nodefs.available<10% (hard)", "nodefs.inodesFree<10% (hard)"],
        ),
    ],
    ids=["stalls", "signals of the kubelet"],
)
def test_a_threshold_on_a_signal_that_had_none_gets_no_all_clear(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], behaviours: str, hard: str, own: str, named: list[str]
) -> None:
    """`0 would have been decided differently` was all that was said, and played again with it a pod goes."""
    world, file, journal = tmp_path / "world.yaml", tmp_path / "config.yaml", tmp_path / "journal"
    world.write_text(
        f"kind: World\nconfig: {{evictionHard: {{{_HARD}}}}}\nduration: 10m\nnode: {{memory: 4Gi, pids: 4000}}\n"
        f"pods:\n- {{name: thrash, requests: {{memory: 100Mi}}, {behaviours}}}\n"
    )
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    file.write_text(f"{head}evictionHard: {{{hard}}}\n{own}")
    assert main(["simulate", str(world), "--journal", str(journal)]) == 0
    assert main(["simulate", str(world), "--compare", str(file)]) == 0
    assert "evict default/thrash" in capsys.readouterr().out
    arguments = ["replay", str(journal), "--config", str(file)]
    assert main(arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    listed = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
    assert f"{listed} can act sooner than what was recorded. The journal has only" in out
    assert main([*arguments, "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    victims = "No victim differs in the recorded cycles: no pod is evicted there, then or now."
    assert (document["unrecorded"], document["victims"]) == (named, victims)
    assert main(["replay", str(journal), "--policy", "Kubelet", "--output", "json"]) == 0
    assert not [each for each in json.loads(capsys.readouterr().out)["unrecorded"] if each in named]


def test_a_timer_that_began_in_a_cycle_without_an_entry_is_the_recorded_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under the same thresholds a soft eviction after a refused one came out as nothing: its grace period began anew."""
    world, file, journal = tmp_path / "world.yaml", tmp_path / "config.yaml", tmp_path / "journal"
    fields = (
        "evictionHard: {memory.available: 300Mi}, evictionSoft: {memory.available: 1Gi}, "
        "evictionSoftGracePeriod: {memory.available: 1m}, evictionMaxPodGracePeriod: 30"
    )
    world.write_text(
        f"kind: World\nconfig: {{{fields}}}\nduration: 20m\nnode: {{memory: 8Gi}}\npods:\n"
        "- {name: leak, behaviours: [{hold: {of: memory, amount: 400Mi}}, {grow: {of: memory, rate: 3Mi}}]}\n"
        "- {name: cache, requests: {memory: 500Mi}, behaviours: [{hold: {of: memory, amount: 900Mi}}]}\n"
        "- {name: web, requests: {memory: 4500Mi}, behaviours: [{hold: {of: memory, amount: 4000Mi}}]}\n"
        "apiServer: {budgets: [{pods: [default/leak], allowed: 0}]}\n"
    )
    file.write_text(f"{{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, {fields}}}\n")
    assert main(["simulate", str(world), "--journal", str(journal)]) == 0
    assert capsys.readouterr().out.count("evict default/leak ") == 2
    assert main(["replay", str(journal), "--config", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "0 would have been decided differently" in out
    assert "The API server refused then: default/leak at" in out


@pytest.mark.parametrize(("cluster", "timeout"), [("", 20), ("cluster: {evictionTimeout: 2m}", 120)])
def test_an_eviction_timeout_that_the_file_does_not_name_is_the_recorded_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cluster: str, timeout: int
) -> None:
    """`--config` with thresholds alone put the default of 60s in its place without a word."""
    seen: list[EvictionConfig] = []

    def recording(state: State, observation: Observation, config: EvictionConfig, now: int) -> Step:
        seen.append(config)
        return synchronize(state, observation, config, now)

    monkeypatch.setattr("evictd.commands.replay.synchronize", recording)
    file = tmp_path / "config.yaml"
    file.write_text(f"apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\ndryRun: false\n{cluster}\n")
    recorded = replace(CONFIG, eviction_timeout=20 * SECOND)
    entry = JournalEntry(now=NOW, wall="", state=State(), observation=observe(GI), config=recorded, decisions=())
    assert len(list(replay_under([entry], Namespace(config=file, policy=None)))) == 1
    assert [each.eviction_timeout for each in seen] == [timeout * SECOND]


@pytest.mark.parametrize(
    ("given", "now"), [("evictionTimeout: 1m", "EvictionAPI"), ("podTermination: Delete", "Delete")]
)
def test_pods_are_ended_as_recorded_unless_the_file_says_otherwise(tmp_path: Path, given: str, now: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\ncluster: {{{given}}}\n")
    recorded = replace(CONFIG, pod_termination=EvictionMethod.EVICTION_API)
    entry = JournalEntry(now=NOW, wall="", state=State(), observation=observe(GI), config=recorded, decisions=())
    (again,) = replay_under([entry], Namespace(config=file, policy=None))
    assert again.pod_termination is EvictionMethod(now)


@pytest.mark.parametrize("other", [["--policy", "Kubelet"], ["--config", "lower.yaml"]])
def test_an_old_burst_is_no_growth_that_goes_on(
    other: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the growth was put on a pod that had taken 3Gi ten minutes before and stayed there since; a cache leaked alone."""
    monkeypatch.chdir(tmp_path)
    Path("lower.yaml").write_text(
        "{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, evictionHard: {memory.available: 50Mi}}\n"
    )
    Path("world.yaml").write_text(
        "kind: World\nconfig: {evictionHard: {memory.available: 100Mi}}\nduration: 20m\n"
        "node: {memory: 8Gi, unusableMemory: 150Mi}\npods:\n"
        "- {name: cache, behaviours: [{hold: {of: memory, amount: 512Mi}}, {grow: {of: memory, rate: 4Mi}}]}\n"
        "- {name: batch, priority: -10, behaviours: [{hold: {of: memory, amount: 1Gi}}, "
        "{burst: {of: memory, amount: 3Gi, start: 3m, duration: 20m, rate: 200Mi}}]}\n"
    )
    main(["simulate", "world.yaml", "--journal", "journal"])
    assert "evict default/batch " in capsys.readouterr().out
    assert main(["replay", "journal", *other]) == 0
    simulate = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  evictd simulate"))
    assert "--grow default/cache+" in simulate
    assert "default/batch" not in simulate
