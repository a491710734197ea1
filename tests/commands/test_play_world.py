"""Checks `evictd simulate WORLD`."""

import json
import re
from pathlib import Path

import pytest

from evictd.cli import main
from tests.stories import ROOT

JOURNAL = ROOT / "tests" / "data" / "earlier" / "journal.jsonl"
WORLD = """
kind: World
name: leak
config: {evictionHard: {memory.available: 500Mi}}
duration: 3m
node: {memory: 4Gi}
pods:
- {name: leak, behaviours: [{grow: {of: memory, rate: 100Mi}}]}
- {name: web, count: 3, requests: {memory: 100Mi}, behaviours: [{hold: {of: memory, amount: 80Mi}}]}
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A world file."""
    path = tmp_path / "leak.yaml"
    path.write_text(WORLD)
    return path


def test_a_world_is_played_and_concluded(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(world)]) == 0
    out = capsys.readouterr().out
    assert "evict default/leak (grace period 1s)" in out
    assert "default/leak was evicted at" in out


def test_a_dry_run_that_is_not_played_is_said(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`evictd: {dryRun: true}` was ignored without a word."""
    world.write_text(f"{WORLD}evictd: {{dryRun: true}}\n")
    assert main(["simulate", str(world), "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["conclusion"][-1].startswith("Warning: `evictd.dryRun` is not played: ")
    assert main(["simulate", str(world), "--compare", "Kubelet"]) == 0
    assert capsys.readouterr().out.count("Warning: `evictd.dryRun` is not played: ") == 1


def test_settings_that_are_not_played_are_said_of_the_file_that_has_them(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`imageGCHighThresholdPercent: 80` was ignored without a word: a tuning was tried that no world plays."""
    world.write_text(WORLD.replace("{evictionHard", "{imageGCHighThresholdPercent: 80, evictionHard"))
    said = "Warning: `imageGCHighThresholdPercent` is not played"
    assert main(["simulate", str(world), "--output", "json"]) == 0
    assert any(each.startswith(said) for each in json.loads(capsys.readouterr().out)["conclusion"])
    assert main(["simulate", str(world), "--compare", "Kubelet"]) == 0
    assert " ".join(capsys.readouterr().out.split()).count(said) == 1, "both sides have it"
    other = tmp_path / "other.yaml"
    other.write_text("apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\nreclaim: {keepImages: ['*']}\n")
    assert main(["simulate", str(world), "--compare", str(other)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count(said) == 1
    assert out.count("Warning: `reclaim.keepImages` is not played") == 1
    assert main(["simulate", str(world), "--config", str(other)]) == 0
    assert said not in capsys.readouterr().out, "the given file replaces it"


def test_a_file_that_plays_another_policy_than_the_world_is_said(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--compare FILE` took a world of policy Kubelet for one of policy Standard without a word."""
    world.write_text(f"{WORLD}evictd: {{decisionPolicy: Kubelet}}\n")
    other = tmp_path / "other.yaml"
    other.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 500Mi}\n"
    )
    warning = (
        "Warning: the world's `decisionPolicy: Kubelet` is not played: with this configuration policy Standard decides."
    )
    for given, times in ((("--compare", str(other)), 1), (("--compare", "Standard"), 0), (("--config", str(other)), 1)):
        assert main(["simulate", str(world), *given]) == 0
        assert " ".join(capsys.readouterr().out.split()).count(warning) == times


def test_policy_kubelet_plays_the_same_world(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(world), "--policy", "Kubelet", "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["policy"], document["regret"]) == ("Kubelet", 0)


def test_a_second_configuration_stands_beside(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 100Mi}\n"
    )
    assert main(["simulate", str(world), "--compare", str(other)]) == 0
    assert "First action for memory.available: policy Standard" in capsys.readouterr().out


def test_both_policies_stand_side_by_side(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(world), "--compare", "Kubelet"]) == 0
    out = capsys.readouterr().out
    assert "policy Standard: 1 pod lost: 1 as the cause, 0 needed for relief, 0 innocent, " in out
    assert "policy Kubelet: 1 pod lost: 1 as the cause, 0 needed for relief, 0 innocent, " in out
    assert "First action for memory.available: both at the same time." in out
    assert "a kubelet looks every 10 s only" in out
    assert "`watch: false` in a world shows that" in " ".join(out.split())
    world.write_text(WORLD + "watch: false\n")
    assert main(["simulate", str(world), "--compare", "Kubelet"]) == 0
    assert "a kubelet looks" not in capsys.readouterr().out


def test_a_policy_beside_a_configuration_is_named(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    given = ["simulate", str(world), "--config", str(other)]
    assert main([*given, "--policy", "Kubelet"]) == 0
    assert f"decidedby{other},policyKubelet" in "".join(capsys.readouterr().out.split())
    assert main([*given, "--compare", "Kubelet", "--output", "json"]) == 0
    names = [each["configuration"] for each in json.loads(capsys.readouterr().out)["configurations"]]
    assert names == [str(other), f"{other}, policy Kubelet"]


def test_what_a_world_expects_is_checked(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world.write_text(f"{WORLD}expect: {{innocents: 0, evicted: [default/leak]}}\n")
    assert main(["simulate", str(world)]) == 0
    expected = "As `expect` in the file says, no pod was evicted without need; only default/leak was evicted."
    assert expected in " ".join(capsys.readouterr().out.split())
    world.write_text(f"{WORLD}expect: {{innocents: 0, evicted: [default/web-0]}}\n")
    assert main(["simulate", str(world), "--output", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["expectations"] == [
        {"field": "innocents", "met": True, "unmet": []},
        {
            "field": "evicted",
            "met": False,
            "unmet": ["default/leak was evicted, which is not expected", "default/web-0 was not evicted"],
        },
    ]
    assert main(["simulate", str(world), "--compare", "Kubelet"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "expect.evicted: not met: default/leak was evicted, which is not expected; default/web-0 was not" in out
    world.write_text(f"{WORLD}expect: {{evicted: [default/web-0], fails: true}}\n")
    assert main(["simulate", str(world)]) == 0


def test_what_a_world_expects_is_said_to_be_for_its_own_configuration(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With other thresholds `culpritGoneWithin` counted from a soft one, and did not say how to play without it."""
    (other := tmp_path / "other.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 500Mi}\n"
        "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m30s}\n"
    )
    said = "`expect` is for the file's own configuration"

    def status(*arguments: str) -> tuple[int, bool]:
        result = main(["simulate", str(world), *arguments])
        return result, said in " ".join(capsys.readouterr().out.split())

    world.write_text(f"{WORLD}expect: {{culpritGoneWithin: 4s}}\n")
    assert status() == (0, False)
    assert status("--config", str(other)) == (1, True)
    assert status("--compare", str(other)) == (0, False), "what it advises"
    own = WORLD.replace("config: {evictionHard: {memory.available: 500Mi}}\n", "")
    world.write_text(f"{own}expect: {{culpritGoneWithin: 4s}}\n")
    assert status("--config", str(other)) == (1, False), "a file without a configuration expects it of any"


def test_of_two_configurations_the_first_gives_the_exit_status(world: Path, tmp_path: Path) -> None:
    """The documentation said of any expectation that is not met that the status is 1."""
    world.write_text(f"{WORLD}expect: {{evicted: [default/leak]}}\n")
    nothing = tmp_path / "nothing.yaml"
    nothing.write_text(
        "{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, evictionHard: {memory.available: 0%}}\n"
    )
    assert main(["simulate", str(world), "--compare", str(nothing)]) == 0
    assert main(["simulate", str(world), "--config", str(nothing), "--compare", "Standard"]) == 1


def test_a_calm_world_has_its_ranking_and_the_time_to_each_threshold(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write_text(WORLD.replace("100Mi}}]}", "1Mi}}]}"))
    assert main(["simulate", str(world)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "No pod was evicted." in out
    assert "played on; by what the pods use now, next is default/leak" in out
    assert main(["simulate", str(world), "--output", "json"]) == 0
    (memory,) = (each for each in json.loads(capsys.readouterr().out)["outlook"] if "memory" in each["threshold"])
    assert (memory["next"], memory["ranking"][0]) == ("default/leak", "default/leak")


def test_a_world_that_ends_before_a_threshold_is_met_is_played_on(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pod that exceeds its request most at the end is not the one that does when the threshold is met."""
    over = "- {name: over, behaviours: [{hold: {of: memory, amount: 1Gi}}]}"
    world.write_text(WORLD.replace("100Mi}}]}", "5Mi}}]}").strip() + f"\n{over}\n")
    assert main(["simulate", str(world)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "by what the pods use now, next is default/over" in out
    assert "played on, default/leak is evicted first, at 7m" in out
    assert main(["simulate", str(world), "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["playedOn"]["evicted"] == "default/leak"
    assert main(["simulate", str(world), "--compare", "Kubelet", "--output", "json"]) == 0
    sides = json.loads(capsys.readouterr().out)["configurations"]
    assert [each["playedOn"]["evicted"] for each in sides] == ["default/leak"] * 2


@pytest.mark.parametrize("rate", ["100Mi/1m", "10Mi/10m"])
def test_a_growth_with_a_bound_is_played_on_too(world: Path, capsys: pytest.CaptureFixture[str], rate: str) -> None:
    """Its rate was continued beyond its bound: `crossed in 1h38m15s`, `crossed in 4 days`."""
    world.write_text(re.sub(r"grow: .*?}", f"grow: {{of: memory, rate: {rate}, bound: 700Mi}}", WORLD))
    assert main(["simulate", str(world)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "played on; by what the pods use now" in out
    assert "crossed in" not in out


@pytest.mark.parametrize(
    ("beside", "left"),
    [
        ("burst: {of: memory, amount: 1Gi, start: 2m, duration: 20s}", "52m56s"),
        ("leakAndRelease: {of: memory, rate: 5Mi, low: 100Mi, peak: 900Mi}", "39m23s"),
    ],
)
def test_a_leak_beside_a_pod_that_gives_back_is_played_on(
    world: Path, capsys: pytest.CaptureFixture[str], beside: str, left: str
) -> None:
    """The last readings rose, or fell by chance: no threshold was said to come nearer, or one hours too late."""
    other = f"- {{name: other, behaviours: [{{{beside}}}]}}"
    world.write_text(WORLD.replace("100Mi}}]}", "1Mi}}]}").strip() + f"\n{other}\n")
    assert main(["simulate", str(world)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "no threshold comes nearer" not in out
    assert f"crossed in {left}, played on; " in out


def test_a_world_without_a_threshold_is_played_on_until_the_kernel_kills(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`0 pods lost` and `No threshold was met` read as if that configuration were the better one."""
    world.write_text(WORLD.replace("500Mi", "0%").replace("3m", "20s"))
    assert main(["simulate", str(world), "--compare", "Kubelet"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "No pod was evicted. There is no threshold. If it goes on like this: played on until " in out
    assert "no pod is evicted; the kernel kills default/leak for want of memory at " in out


def test_both_sides_are_drawn(world: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    picture = tmp_path / "picture.svg"
    assert main(["simulate", str(world), "--compare", str(other), "--plot", str(picture)]) == 0
    assert picture.read_text().startswith("<?xml")
    assert (tmp_path / "picture-2.svg").exists()


def test_a_fault_of_the_file_is_exit_status_2(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world.write_text(WORLD.replace("grow", "grwo"))
    assert main(["simulate", str(world)]) == 2
    assert "pods[0].behaviours[0].grwo: unknown field; did you mean grow?" in capsys.readouterr().err


def test_a_world_without_its_kind_is_recognised(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was read as a scenario with an unknown field."""
    world.write_text(WORLD.replace("kind: World\n", ""))
    assert main(["simulate", str(world)]) == 2
    assert "kind: is missing; a world has `kind: World`" in capsys.readouterr().err


def test_a_world_is_no_second_configuration(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(WORLD)
    assert main(["simulate", str(world), "--compare", str(other)]) == 2
    shown = capsys.readouterr().err
    assert "other.yaml: is a world; give a configuration, as for --config, or a policy: Standard or Kubelet" in shown
    other.write_text("{")
    assert main(["simulate", str(world), "--compare", str(other)]) == 2


def test_other_commands_say_what_plays_a_world(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(world)]) == 2
    assert "`evictd simulate` plays it" in capsys.readouterr().err


def test_growth_is_the_world_s_own(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(world), "--grow", "default/web-0+1Gi/1m"]) == 2
    assert "--grow" in capsys.readouterr().err


def test_a_journal_becomes_a_world_that_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captured = tmp_path / "incident.yaml"
    assert main(["capture", "--from-journal", str(JOURNAL), "-o", str(captured)]) == 0
    assert main(["simulate", str(captured), "--grow", "default/a+4Gi/5m"]) == 0
    assert "default/a was evicted at" in capsys.readouterr().out


def test_after_evictions_it_is_said_what_comes_next(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The outlook was silent once a pod had gone, although its successor grew on."""
    world.write_text(
        WORLD.replace("name: leak,", "name: leak, owner: ReplicaSet/leak,") + "owners: [{name: ReplicaSet/leak}]\n"
    )
    assert main(["simulate", str(world)]) == 0
    assert "played on, memory.available is short again and default/leak" in " ".join(capsys.readouterr().out.split())
    assert main(["simulate", str(world), "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["playedOn"]["text"].startswith("played on, memory.available is short again and default/leak")


def test_a_kill_in_a_world_leaves_no_rate_and_both_sides_are_played_on(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write_text(WORLD.replace("100Mi}}]}", "5Mi}}]}"))
    assert main(["simulate", str(world), "--compare", "Kubelet"]) == 0
    assert capsys.readouterr().out.count("If it goes on like this: played on,") == 2
    never = WORLD.replace("memory.available: 500Mi", "memory.available: 1Mi").replace(
        "node: {", "node: {unusableMemory: 50Mi, "
    )
    world.write_text(never.replace("duration: 3m", "duration: 155s"))
    assert main(["simulate", str(world), "--policy", "Kubelet"]) == 0
    out = capsys.readouterr().out
    assert "can never be met here" in out
    assert "no threshold comes nearer" not in out
    assert "so no time is known" in out


def test_a_behaviour_without_its_field_and_a_world_as_the_picture_say_what_to_write(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write_text(WORLD.replace("behaviours: [", "behaviours: [{stops: 30s}, ", 1))
    assert main(["simulate", str(world)]) == 2
    assert 'stops: "30s": is not a map of fields; write `{after: 30s}`' in capsys.readouterr().err
    assert main(["simulate", "--plot", str(world)]) == 2
    assert "Put it before --plot" in capsys.readouterr().err
