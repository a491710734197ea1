"""A pod that grows, victims that give back, and two configurations side by side."""

import json
import re
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.commands.inputs.raw_files import raw_scenario
from evictd.commands.inputs.source import own_config
from evictd.commands.played.what_if import Growth, grown, parse_growth
from evictd.core.model.decision import EvictPod
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import InputError
from tests.commands.raw_node import GI, pods_json, summary_json
from tests.playbook import config, pod


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    arguments = ["--pods", str(pods_json(tmp_path))]
    return [
        *arguments,
        "--summary",
        str(summary_json(tmp_path, 1, web=2 * GI)),
        str(summary_json(tmp_path, 2, web=3 * GI)),
    ]


def evicted(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    assert main(["simulate", *arguments, "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    return [(step["at"], pod) for step in document["steps"] for pod in step["evicted"]]


def test_a_calm_node_evicts_nothing_and_a_pod_that_grows_is_evicted_in_time(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """3 of 8 GiB are left; the kubelet's default threshold is 100 Mi."""
    assert evicted(files, capsys) == []
    ((at, pod),) = evicted([*files, "--grow", "default/web+4Gi/5m"], capsys)
    assert pod == "default/web"
    assert at.startswith("4m37.6"), (
        "3 GiB less 100 Mi at 13.65 Mi a second are gone after 217.7 s, that is at 60 s + 217.7 s"
    )


def test_a_grace_period_goes_on_between_the_readings(tmp_path: Path) -> None:
    """The minute between two readings counted as an absence of evictd, so the pod went later."""
    scenario = raw_scenario(pods_json(tmp_path), [summary_json(tmp_path, at, web=2 * GI) for at in (1, 2)])
    soft = config(soft={"memory.available": ("6Gi", "50s")})
    _, run = grown(scenario, soft, [Growth(pod="default/web", amount=GI, over=5 * MINUTE)])
    assert [each.pod.name for each in run.cycles[0].step.decisions if isinstance(each, EvictPod)] == ["web"]


def test_a_victim_gives_back_what_it_used(tmp_path: Path) -> None:
    """So one eviction is enough, and the condition's transition period is all that remains."""
    scenario = raw_scenario(pods_json(tmp_path), [summary_json(tmp_path, 1, web=2 * GI)])
    before, run = grown(scenario, own_config(scenario), [Growth(pod="default/web", amount=6 * GI, over=5 * MINUTE)])
    assert before == ()
    last = run.cycles[-1].observation
    assert last.node is not None
    assert last.node.memory is not None
    assert last.node.memory.available_bytes == 6 * GI, "what db and the system leave"
    assert sum(len(cycle.step.state.in_flight) > 0 for cycle in run.cycles) <= 2
    assert {pod.name for pod in last.pods} == {"db"}


def test_a_victim_gives_back_no_more_than_it_has_taken(tmp_path: Path) -> None:
    """A pod of 980 Mi that is to grow by 10 Gi where 4 Gi are left goes when 100 Mi are left, and gives back what it has then."""
    scenario = raw_scenario(pods_json(tmp_path), [summary_json(tmp_path, 1, web=980 << 20, db=GI)])
    _, run = grown(scenario, own_config(scenario), [Growth(pod="default/web", amount=10 * GI, over=10 * MINUTE)])
    available = [
        cycle.observation.node.memory.available_bytes
        for cycle in run.cycles
        if cycle.observation.node is not None and cycle.observation.node.memory is not None
    ]
    assert max(each for each in available if each is not None) == 6 * GI


def test_two_configurations_are_shown_side_by_side(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    early = tmp_path / "early.yaml"
    early.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 2Gi}\n"
    )
    arguments = ["simulate", *files, "--grow", "default/web+4Gi/5m", "--compare", str(early)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert f"First action for memory.available: {early}, 2m23s earlier." in " ".join(shown.split())
    assert main([*arguments, "--output", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["configurations"]
    assert first["evicted"][0]["at"].startswith("4m37.6")
    assert second["evicted"][0]["at"].startswith("2m15")
    picture = tmp_path / "both.svg"
    assert main([*arguments, "--plot", str(picture)]) == 0
    assert picture.exists()
    assert (tmp_path / "both-2.svg").exists()


def test_a_comparison_of_readings_is_drawn_as_well(files: list[str], tmp_path: Path) -> None:
    early, picture = tmp_path / "early.yaml", tmp_path / "both.svg"
    early.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    assert main(["simulate", *files, "--compare", str(early), "--plot", str(picture)]) == 0
    assert picture.exists()
    assert (tmp_path / "both-2.svg").exists()


def test_a_calm_node_is_told_what_comes_next(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *files]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "memory.available<100Mi: 3Gi left, crossed in 2m54s at the present rate of 17.1Mi/s; by what the pods use now, next "
        "is default/web" in shown
    )
    assert main(["simulate", *files, "--output", "json"]) == 0
    outlook = json.loads(capsys.readouterr().out)["outlook"][0]
    assert (outlook["next"], outlook["ranking"]) == ("default/web", ["default/web", "default/db"])


def test_a_growth_that_has_stopped_before_a_threshold_says_how_near_it_came(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """After a long growth the outlook took its end for a rate that goes on."""
    assert main(["simulate", *files, "--grow", "default/web+2Gi/30m"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "at the end no threshold comes nearer" in shown
    assert "Assumed, not recorded, is the growth default/web+2Gi/30m." in shown, "the conclusion read like a finding"
    assert "memory.available<100Mi: 1Gi left (a reading at 31m" in shown


@pytest.mark.parametrize(
    "text", ["web+2Gi/5m", "default/web", "default/web+2Gi", "default/web+lots/5m", "default/web+1Gi/99h"]
)
def test_a_growth_that_cannot_be_read_is_a_clear_error(text: str) -> None:
    with pytest.raises(InputError, match=re.escape("for example `--grow shop/cart+2Gi/5m`: by 2Gi within 5m")):
        parse_growth(text, [pod("cart", namespace="shop")])
    if "lots" not in text:
        with pytest.raises(InputError, match=re.escape("it takes NAMESPACE/POD+AMOUNT/TIME")):
            parse_growth(text, [])
    assert parse_growth("default/web+2Gi/5m", ()) == Growth(pod="default/web", amount=2 * GI, over=300 * SECOND)


def test_growth_of_a_world_says_what_to_write_into_which_pod(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "config/incidents/02-host-path-writer.yaml", "--grow", "default/web-0+1Gi/5m"]) == 2
    assert "add `- grow: {of: memory, rate: 10Mi}` to the `behaviours` of default/writer" in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.parametrize(
    "arguments", [[], ["--pods", "x"], ["--summary", "x"], ["scenario.yaml", "--pods", "x", "--summary", "y"]]
)
def test_one_kind_of_input_is_wanted(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *arguments]) == 2
    assert "either a scenario FILE, or --pods FILE with --summary FILE" in capsys.readouterr().err


def test_both_sides_of_a_growth_are_concluded_in_the_document_too(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["simulate", *files, "--grow", "default/web+4Gi/5m", "--compare", "Kubelet"]
    assert main(asked) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert main([*asked, "--output", "json"]) == 0
    sides = json.loads(capsys.readouterr().out)["configurations"]
    assert len(sides) == 2
    assert all(sentence in shown for side in sides for sentence in side["conclusion"])
    assert all(side["losses"] for side in sides)


def test_a_pod_that_is_not_there_cannot_grow(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *files, "--grow", "default/nothing+1Gi/1m"]) == 2
    # The namespace alone made `default/job` similar enough.
    assert "default/nothing: there is no such pod; it has default/" in capsys.readouterr().err
    assert main(["simulate", *files, "--grow", "shop/q+1Gi/1m"]) == 2
    assert "shop/q: there is no such pod; it has default/" in capsys.readouterr().err
    assert main(["simulate", *files, "--grow", "default/wb+1Gi/1m"]) == 2
    assert "did you mean default/web?" in capsys.readouterr().err
    assert main(["simulate", *files, "--grow", "default/job+1Gi/1m"]) == 2
    assert "default/job: the last summary has no memory of this pod: it has ended" in capsys.readouterr().err


def test_several_pods_grow_together(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Of two growths only the last one was played, and nothing said so."""
    arguments = [*files, "--grow", "default/web+1Gi/5m", "--grow", "default/db+2Gi/5m"]
    ((at, pod),) = evicted(arguments, capsys)
    assert pod == "default/web"
    assert at.startswith("5m50"), "3 GiB less 100 Mi at 10.24 Mi a second are gone after 290 s"


def test_what_was_evicted_at_the_readings_before_is_said(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The conclusion was `No pod was evicted.` because the pod that should grow was evicted at a reading before."""
    high = tmp_path / "high.yaml"
    high.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 5Gi}\n"
    )
    assert main(["simulate", *files, "--grow", "default/web+1Gi/5m", "--config", str(high)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Evicted at the readings before 1m0s: default/web at 0s. From then on, with no pod that grows:" in shown
