"""Flags have the kubelet's names and syntax, and all their faults are collected."""

import argparse

import pytest

from evictd.config.flags import FLAGS, Flags, add_arguments, as_arguments, explicit_booleans, from_args, parse_pairs
from evictd.core.model.config import Policy
from evictd.core.units.duration import SECOND
from evictd.errors import InvalidValueError


def read(*arguments: str) -> Flags:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_arguments(parser)
    return from_args(parser.parse_args(explicit_booleans(arguments)))


def test_no_flags_set_nothing() -> None:
    assert read() == Flags()


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("memory.available<1Gi", {"memory.available": "1Gi"}),
        (" a < 1 , b<2 ", {"a": "1", "b": "2"}),
        ("", {}),
        (",,a<1,", {"a": "1"}),
        ("a<b<c", {"a": "b<c"}),
        ("<", {"": ""}),
    ],
)
def test_threshold_lists_are_split_as_the_kubelet_splits_them(text: str, pairs: dict[str, str]) -> None:
    assert parse_pairs([text], "<") == pairs


@pytest.mark.parametrize("separator", ["<", "="])
def test_a_pair_without_its_separator_is_refused_with_the_kubelets_text(separator: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        parse_pairs(["memory.available>1Gi"], separator)
    assert str(caught.value) == f"malformed pair, expect string{separator}string"


def test_repeated_map_flags_accumulate_and_the_last_value_of_a_key_counts() -> None:
    flags = read("--eviction-hard=a<1,b<2", "--eviction-hard", "b<3,c<4")
    assert flags.kubelet["eviction_hard"] == {"a": "1", "b": "3", "c": "4"}


def test_flags_can_be_given_to_another_command() -> None:
    """In one argument each, so that a value may begin with a dash."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_arguments(parser)
    given = ["--config=/etc/x", "--eviction-hard=a<1", "--eviction-hard=b<2", "--eviction-max-pod-grace-period=-1"]
    assert sorted(as_arguments(parser.parse_args(given))) == sorted(given)
    assert as_arguments(parser.parse_args([])) == []


def test_an_empty_map_flag_clears_the_map() -> None:
    assert read("--eviction-hard=").kubelet["eviction_hard"] == {}


def test_each_kind_of_value_is_read() -> None:
    flags = read(
        "--eviction-soft-grace-period=memory.available=1m30s",
        "--eviction-max-pod-grace-period=-1",
        "--eviction-pressure-transition-period=0s",
        "--enforce-node-allocatable=pods,kube-reserved",
        "--maximum-dead-containers=10",
        "--decision-policy=Kubelet",
        "--housekeeping-interval=1s",
        "--node-name=n",
        "--experimental-allocatable-ignore-eviction",
    )
    assert flags.problems == ()
    assert flags.kubelet == {
        "eviction_soft_grace_period": {"memory.available": "1m30s"},
        "eviction_max_pod_grace_period": -1,
        "eviction_pressure_transition_period": 0,
        "enforce_node_allocatable": ("pods", "kube-reserved"),
    }
    assert flags.container_gc == {"max_containers": 10}
    assert flags.evictd == {"decision_policy": Policy.KUBELET, "housekeeping_interval": SECOND}
    assert flags.cluster == {"node_name": "n"}
    assert flags.ignore_allocatable


@pytest.mark.parametrize(
    ("arguments", "value"),
    [(["--dry-run"], True), (["--dry-run=false"], False), (["--dry-run=T"], True), (["--dry-run=0"], False)],
)
def test_booleans_take_a_value_only_after_an_equals_sign(arguments: list[str], value: bool) -> None:
    assert read(*arguments).evictd == {"dry_run": value}


def test_arguments_after_two_dashes_are_not_changed() -> None:
    assert explicit_booleans(["--dry-run", "--", "--dry-run"]) == ["--dry-run=true", "--", "--dry-run"]


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        ("--dry-run=maybe", '--dry-run: "maybe": is neither true nor false; give true|false'),
        ("--max-pods=x", '--max-pods: "x": is no whole number; give N'),
        ("--max-pods=٣", '--max-pods: "٣": is no whole number; give N'),
        ("--max-pods=2147483648", '--max-pods: "2147483648": value out of range; give N'),
        ("--max-pods=" + "9" * 5000, f'--max-pods: "{"9" * 55}...": is no whole number; give N'),
        (
            "--housekeeping-interval=5",
            '--housekeeping-interval: "5": time: missing unit in duration "5"; give a duration with its unit, such as 5s',
        ),
        (
            "--eviction-hard=memory.available>1Gi",
            '--eviction-hard: "memory.available>1Gi": malformed pair, expect string<string; give SIGNAL<VALUE,...',
        ),
        ("--decision-policy=kubelet", '--decision-policy: "kubelet": is no decision policy; give Standard|Kubelet'),
    ],
)
def test_a_wrong_value_is_one_line(argument: str, line: str) -> None:
    assert [str(problem) for problem in read(argument).problems] == [line]


def test_all_faults_are_found_at_once() -> None:
    assert len(read("--max-pods=x", "--dry-run=y", "--eviction-soft=z").problems) == 3


def test_every_flag_sets_an_existing_attribute() -> None:
    assert len({flag.name for flag in FLAGS}) == len(FLAGS)
    assert len({(flag.part, flag.attribute) for flag in FLAGS}) == len(FLAGS)
