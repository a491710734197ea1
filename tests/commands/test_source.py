"""From a file to a scenario and its configuration."""

import argparse
import io
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.codec.records.journal import decode_entry
from evictd.codec.scenario import Scenario
from evictd.commands.inputs.journals import journal_files, read_lines
from evictd.commands.inputs.source import (
    add_config_arguments,
    compared_config,
    own_config,
    read_scenario,
    read_story,
    scenario_config,
    world_sides,
)
from evictd.core.model.config import EvictionMethod, ImageReclaim, Policy
from evictd.core.units.duration import SECOND
from evictd.errors import ExitCode, InputError
from evictd.world.behaviours import Grow, Usage
from evictd.world.file import WorldFile
from tests.commands.test_replay import journal_of
from tests.stories import SCENARIOS, memory_step, memory_story

PATH = SCENARIOS / "min-reclaim.yaml"


def _args(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_config_arguments(parser)
    return parser.parse_args(arguments)


def test_the_scenario_has_a_configuration_of_its_own() -> None:
    config = scenario_config(read_scenario(PATH), PATH, _args())
    assert config.policy is Policy.STANDARD
    assert config.pressure_transition_period == 60 * SECOND


def test_the_policy_is_overridden() -> None:
    assert scenario_config(read_scenario(PATH), PATH, _args("--policy", "Kubelet")).policy is Policy.KUBELET


def test_another_configuration_replaces_it_whole(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    config = scenario_config(read_scenario(PATH), PATH, _args("--config", str(file), "--policy", "Kubelet"))
    assert config.policy is Policy.KUBELET
    assert config.pressure_transition_period == 300 * SECOND
    assert len(config.thresholds) == 6, "the kubelet's defaults, and the copy for allocatable memory"


@pytest.mark.parametrize(
    ("of_world", "given", "kept"),
    [
        ("", "", True),
        ("{cluster: {taints: false}}", "", False),
        ("", "{taints: false}", False),
        ("{cluster: {taints: false}}", "{kubeconfig: in-cluster}", True),
    ],
)
@pytest.mark.parametrize("kind", ["World\nduration: 1m\nnode: {memory: 1Gi}", "scenario\nsteps: [{at: 0s}]"])
def test_a_story_keeps_its_taints_under_a_configuration_without_a_cluster(
    tmp_path: Path, of_world: str, given: str, kept: bool, kind: str
) -> None:
    """`--config` with thresholds alone counted as standalone: pods that a taint kept away came back without a word."""
    path, file = tmp_path / "world.yaml", tmp_path / "config.yaml"
    path.write_text(f"kind: {kind}\nevictd: {of_world or '{}'}\n")
    file.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n---\n"
        f"apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\ncluster: {given or '{}'}\n"
    )
    story = read_story(path)
    assert scenario_config(story, path, _args("--config", str(file))).keep_away is kept
    args = argparse.Namespace(config=None, policy=None, compare=file)
    assert compared_config(story, path, args)[1].keep_away is kept


def test_a_journal_is_told_from_a_scenario_and_its_commands_are_named(tmp_path: Path) -> None:
    """Its lines were taken for YAML, and the fault was one of YAML."""
    journal = journal_of("min-reclaim", tmp_path / "journal.jsonl")
    with pytest.raises(InputError, match=r"is a journal, no scenario; `evictd replay` decides it again"):
        read_scenario(journal)


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [("Wrold", "did you mean World?"), ("Scenario", "did you mean scenario?"), ("Job", "give scenario or World")],
)
def test_an_unknown_kind_is_named_with_what_may_be_meant(tmp_path: Path, kind: str, remedy: str) -> None:
    """A misspelt world was a scenario without steps."""
    path = tmp_path / "story.yaml"
    path.write_text(f"kind: {kind}\nname: x\n")
    with pytest.raises(InputError) as caught:
        read_story(path)
    assert str(caught.value) == f"{path}: kind: {kind}: is neither a scenario nor a world; {remedy}"


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [("List", "--pods"), ("Pod", "with --summary FILE or --prometheus FILE"), ("KubeletConfiguration", "evictd check")],
)
def test_another_kind_of_file_is_named_with_what_reads_it(tmp_path: Path, kind: str, remedy: str) -> None:
    """The fault was an unknown field `apiVersion`."""
    path = tmp_path / "file.yaml"
    path.write_text(f"apiVersion: v1\nkind: {kind}\n")
    with pytest.raises(InputError, match=f"kind: {kind}: not a scenario.*{remedy}"):
        read_scenario(path)


def test_evictd_options_of_a_scenario() -> None:
    scenario = memory_story([memory_step("0s", 1, {})], [])
    options = {
        "housekeepingInterval": "3s",
        "reclaim": {"containers": False, "images": "Enough", "keepImages": ["busybox"]},
    }
    config = own_config(replace(scenario, evictd=options))
    assert config.monitoring_period == 3 * SECOND
    assert not config.reclaim_containers
    assert config.reclaim_images is ImageReclaim.ENOUGH
    assert config.image_gc.keep == ("busybox",)


def test_all_faults_are_told_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("steps: [{at: 0s}]\nconfig: {evictionHard: {a: 1Gi, b: 1Gi}}\n")
    with pytest.raises(InputError) as caught:
        scenario_config(read_scenario(path), path, _args())
    assert [problem.split(": ")[1] for problem in caught.value.problems] == [
        "config.evictionHard[a]",
        "config.evictionHard[b]",
    ]


def test_a_fault_of_a_world_has_its_line(tmp_path: Path) -> None:
    """`pods[37].behaviours[2]` was to be counted in a long file."""
    path = tmp_path / "w.yaml"
    path.write_text("kind: World\npods:\n- name: a\n  behaviours:\n  - stops: 15s\nduration: 10\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_story(path)
    assert caught.value.problems == (
        f'{path}: line 5: pods[0].behaviours[0].stops: "15s": is not a map of fields; write `{{after: 15s}}`',
        f"{path}: line 6: duration: 10: is a number, not a duration; give a duration with its unit, such as 10s",
    )


def test_a_resource_that_is_misspelt_is_no_request_of_a_scenario(tmp_path: Path) -> None:
    """A request for `mem` was read as one for another resource: `requests none`, and another pod was chosen."""
    path = tmp_path / "s.yaml"
    text = (
        "steps: [{at: 0s}]\npods:\n- metadata: {uid: a, name: a}\n"
        "  spec: {containers: [{resources: {requests: {NAME: 1Gi}}}]}\n"
    )
    path.write_text(text.replace("NAME", "mem"))
    with pytest.raises(InputError, match=r"pods\[0\].*requests.mem: 1Gi: is an unknown resource; did you mean memory"):
        read_scenario(path)
    path.write_text(text.replace("NAME", "example.com/mem"))
    assert read_scenario(path).pods


def test_a_policy_is_found_in_any_case_and_a_mistyped_one_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    """`--compare kublet` said `No such file or directory`."""
    assert main(["simulate", str(PATH), "--compare", "kublet"]) == 2
    assert "--compare: kublet: is no file and no policy; did you mean Kubelet?" in capsys.readouterr().err
    assert main(["simulate", str(PATH), "--compare", "policy=Kubelet"]) == 2
    assert "--compare: policy=Kubelet: is no file and no policy; give a file or a policy: " in capsys.readouterr().err
    assert main(["simulate", str(PATH), "--compare", "kubelet", "--policy", "standard"]) == 0
    assert "policy Kubelet" in capsys.readouterr().out


def test_a_journal_is_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It said `did not find expected <document start>; check the indentation and the quotes`."""
    journal = journal_of("min-reclaim", tmp_path / "journal.jsonl")
    assert main(["check", str(journal)]) == 2
    assert "journal.jsonl: is a journal; `evictd replay` decides it again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "ended"),
    [
        ("{podTermination: Auto}", EvictionMethod.AUTO),
        ("{podTermination: EvictionAPI}", EvictionMethod.EVICTION_API),
        ("{evictionTimeout: 2m}", EvictionMethod.DELETE),
        ("{kubeconfig: in-cluster}", EvictionMethod.AUTO),
    ],
)
def test_pods_are_ended_as_the_given_configuration_says(tmp_path: Path, given: str, ended: EvictionMethod) -> None:
    """The configuration's `podTermination` was ignored without a word; the world's own is kept without one and a cluster."""
    path, file = tmp_path / "world.yaml", tmp_path / "config.yaml"
    path.write_text("kind: World\nevictd: {cluster: {podTermination: Delete}}\n")
    file.write_text(f"apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\ncluster: {given}\n")
    story = read_story(path)
    assert isinstance(story, WorldFile)
    for options, both in (({"config": file}, [ended]), ({"compare": file}, [EvictionMethod.DELETE, ended])):
        args = argparse.Namespace(**{"config": None, "policy": None, "compare": None} | options)
        assert [world.api_server.termination for _, world, *_ in world_sides(story, path, args)] == both
    by_policy = argparse.Namespace(config=file, policy=None, compare=Path("kubelet"))
    assert [world.api_server.termination for _, world, *_ in world_sides(story, path, by_policy)] == [ended, ended]


@pytest.mark.parametrize(
    ("given", "bound"),
    [("", 1023), ("podPidsLimit: 64\n", 63), ("podPidsLimit: -1\n", None)],
    ids=["of the world", "of the configuration", "of neither"],
)
def test_the_pid_limit_of_the_kubelet_bounds_the_pods_of_a_world(tmp_path: Path, given: str, bound: int | None) -> None:
    """A fork bomb took all PIDs of a world whose configuration had `podPidsLimit: 1024`, and evictd had to evict it."""
    path, file = tmp_path / "world.yaml", tmp_path / "config.yaml"
    path.write_text(
        "kind: World\nconfig: {podPidsLimit: 1024}\npods: [{name: a, behaviours: [{grow: {of: processes, rate: 9}}]}]\n"
    )
    file.write_text(f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{given}")
    story = read_story(path)
    assert isinstance(story, WorldFile)
    args = argparse.Namespace(config=None, policy=None, compare=file)
    worlds = [world for _, world, *_ in world_sides(story, path, args)]
    assert [each.pods[0].behaviours for each in worlds] == [
        (Grow(of=Usage.PROCESSES, rate=9, bound=each),) for each in (1023, bound)
    ]


@pytest.mark.parametrize(
    ("given", "timeout"),
    [("", 20), ("{podTermination: Auto}", 20), ("{evictionTimeout: 2m}", 120), ("{kubeconfig: in-cluster}", 60)],
)
def test_a_story_keeps_its_eviction_timeout_where_a_configuration_has_none(
    tmp_path: Path, given: str, timeout: int
) -> None:
    """`--config` with thresholds alone put the default of 60s in its place without a word.

    A complete file of a node, which names its API server, kept the world's, though the daemon would go by its default.
    """
    path, file = tmp_path / "world.yaml", tmp_path / "config.yaml"
    path.write_text("kind: World\nevictd: {cluster: {evictionTimeout: 20s}}\n")
    file.write_text(
        f"apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\n{given and f'cluster: {given}'}\ndryRun: false\n"
    )
    story = read_story(path)
    assert scenario_config(story, path, _args("--config", str(file))).eviction_timeout == timeout * SECOND
    args = argparse.Namespace(config=None, policy=None, compare=file)
    assert compared_config(story, path, args)[1].eviction_timeout == timeout * SECOND


def test_a_journal_of_a_world_has_how_its_pods_are_ended(tmp_path: Path) -> None:
    """`replay` could not know which `podTermination` had been in effect."""
    path = tmp_path / "world.yaml"
    path.write_text(
        "kind: World\nconfig: {evictionHard: {memory.available: 1Gi}}\nduration: 1m\nnode: {memory: 4Gi}\n"
        "apiServer: {podTermination: EvictionAPI}\npods: [{name: a, behaviours: [{grow: {of: memory, rate: 100Mi}}]}]\n"
    )
    assert main(["simulate", str(path), "--journal", str(tmp_path / "j")]) == 0
    entries, _ = read_lines(journal_files(tmp_path / "j"), decode_entry)
    assert {each.config.pod_termination for each in entries} == {EvictionMethod.EVICTION_API}


def test_a_configuration_is_read_from_standard_input_for_a_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was read a second time, and `standard input: is empty`."""
    path = tmp_path / "world.yaml"
    path.write_text("kind: World\nduration: 1m\nnode: {memory: 1Gi}\n")
    text = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["simulate", str(path), "--config", "-", "--compare", "kubelet"]) == 0
    assert "-, policy Kubelet" in capsys.readouterr().out


def test_a_directory_in_place_of_a_story_is_answered_with_its_files_and_an_unknown_file_with_the_examples(
    tmp_path: Path,
) -> None:
    """`config/worlds: Is a directory` and `nosuchfile: No such file or directory` left a newcomer without a next step."""
    for name in ("b.yaml", "a.yaml", "notes.txt"):
        (tmp_path / name).write_text("kind: World" if name == "b.yaml" else "steps: []")
    (tmp_path / "config.yaml").write_text("kind: KubeletConfiguration")
    (tmp_path / "latin.json").write_bytes(b"\xff")
    with pytest.raises(InputError) as caught:
        read_story(tmp_path)
    assert caught.value.problems == (
        f"{tmp_path}: is a directory; give one of its files: {tmp_path}/a.yaml, {tmp_path}/b.yaml",
    )
    with pytest.raises(InputError) as caught:
        read_story(tmp_path / "sub")
    (problem,) = caught.value.problems
    assert problem.startswith(f"{tmp_path / 'sub'}: No such file or directory; examples are in config/worlds and ")
    with pytest.raises(InputError, match=r"did you mean notes\.txt\?$"):
        read_story(tmp_path / "note.txt")
    (empty := tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is a directory; examples are in config/worlds and "):
        read_story(empty)


def test_a_command_that_reads_scenarios_alone_names_no_worlds(tmp_path: Path) -> None:
    """`evictd explain config` offered worlds, and then answered that a world is no scenario."""
    for name in ("scenario", "World"):
        (tmp_path / f"{name}.yaml").write_text(f"kind: {name}\n")
    with pytest.raises(InputError) as caught:
        read_scenario(tmp_path)
    assert caught.value.problems == (f"{tmp_path}: is a directory; give one of its files: {tmp_path}/scenario.yaml",)
    with pytest.raises(InputError, match=r"examples are in config/scenarios of a clone"):
        read_scenario(tmp_path / "missing.json5")


def test_a_misspelt_field_of_a_pod_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was skipped without a word, so that another pod was played than the one that was written."""
    path = tmp_path / "scenario.yaml"
    path.write_text("pods: [{metadata: {uid: u}, spec: {prioritty: 5, nodeSelector: {}}}]\nsteps: [{at: 0s}]\n")
    assert isinstance(read_story(path), Scenario)
    warning = "pods[0].spec.prioritty: unknown field; did you mean priority? (skipped, as the API server does)"
    assert capsys.readouterr().err == f"evictd: {path}: {warning}\n"


_KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.mark.parametrize("command", ["simulate", "compare", "replay", "explain", "node"])
def test_a_configuration_with_a_misspelt_field_is_not_played(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default thresholds were played in its place, as decided by this file."""
    (given := tmp_path / "given.yaml").write_text(f"{_KUBELET}evictionHrad: {{memory.available: 500Mi}}\n")
    arguments = {
        "simulate": ["simulate", str(PATH), "--config", str(given)],
        "compare": ["simulate", str(PATH), "--compare", str(given)],
        "replay": ["replay", str(journal_of(PATH.stem, tmp_path / "journal.jsonl")), "--config", str(given)],
        "explain": ["explain", str(PATH), "--config", str(given)],
        "node": ["explain", "--config", str(given)],
    }[command]
    assert main(arguments) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err == (
        f"evictd: {given}: line 3: evictionHrad: unknown field of KubeletConfiguration, which has no effect, so the default "
        "thresholds apply; did you mean evictionHard?\n"
    )


@pytest.mark.parametrize("command", ["simulate", "replay"])
def test_an_amount_without_its_unit_is_not_played(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A threshold of 500 bytes was played without a word, which `check` calls an error."""
    (given := tmp_path / "given.yaml").write_text(f'{_KUBELET}evictionHard: {{memory.available: "500"}}\n')
    story = PATH if command == "simulate" else journal_of(PATH.stem, tmp_path / "journal.jsonl")
    assert main([command, str(story), "--config", str(given)]) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith(f"evictd: {given}: memory.available: 500 is 500 bytes: it is not met before ")
    assert "; write its unit, such as 500Mi" in shown.err


def test_a_field_that_only_a_newer_kubelet_knows_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (given := tmp_path / "given.yaml").write_text(f"{_KUBELET}podSlots: 5\n")
    assert main(["simulate", str(PATH), "--config", str(given)]) == 0
    assert capsys.readouterr().err == (
        f"evictd: {given}: line 3: podSlots: unknown field of KubeletConfiguration, which has no effect; "
        "a newer kubelet may know it\n"
    )


def test_a_world_is_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer was that `evictd simulate` reads a world, while simulate was running."""
    path = tmp_path / "world.yaml"
    path.write_text("kind: World\nduration: 1m\nnode: {memory: 1Gi}\n")
    assert main(["simulate", str(path), "--config", str(path)]) == ExitCode.USAGE
    assert capsys.readouterr().err == (
        f"evictd: --config: {path}: is a world; give a KubeletConfiguration or EvictdConfiguration; "
        "`evictd simulate FILE` plays this file\n"
    )
