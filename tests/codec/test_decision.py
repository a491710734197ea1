"""Decisions and findings as plain values, fit for JSON."""

import json
from dataclasses import replace
from typing import get_args

from hypothesis import given

from evictd.codec.decision import decode_decision, encode_decision, encode_finding
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import Decision, WithdrawEviction
from evictd.core.model.finding import Finding, NoAction, NoActionReason, Ranking
from evictd.core.model.observation import Observation
from evictd.core.units.quantity import parse_quantity
from tests.laws.test_synchronize import play
from tests.playbook import Playbook, config, pod, usage
from tests.strategies import stories

A = pod("a", memory="1Mi")


@given(stories())
def test_everything_that_is_decided_can_be_written(story: tuple[EvictionConfig, list[tuple[int, Observation]]]) -> None:
    """Any decision and any finding of any story."""
    decided, found = set(), set()
    for _, _, _, step in play(*story):
        json.dumps([encode_decision(decision) for decision in step.decisions])
        json.dumps([encode_finding(finding) for finding in step.findings])
        decided |= {type(decision) for decision in step.decisions}
        found |= {type(finding) for finding in step.findings}
    assert decided <= set(get_args(Decision))
    assert found <= set(get_args(Finding))


def test_an_eviction_says_everything() -> None:
    """Who, how, why, with the numbers."""
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[A], usage=[usage(A, memory="2Gi")])
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    plain = encode_decision(book.eviction())
    assert plain["pod"] == {"namespace": "default", "name": "a", "uid": "a"}
    assert plain["gracePeriodSeconds"] == 1
    assert plain["because"]["signal"] == "memory.available"
    assert (plain["because"]["limit"], plain["because"]["usage"]) == ("1Gi", "2Gi")
    assert plain["condition"]["type"] == "DisruptionTarget"


def test_an_eviction_whose_grace_was_fitted_says_rate_and_time_left() -> None:
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[A], usage=[usage(A, memory="2Gi")])
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    assert "timeLeftNanoseconds" not in encode_decision(book.eviction())["because"]
    assert "freeze" not in encode_decision(book.eviction())
    assert encode_decision(replace(book.eviction(), freeze=True))["freeze"] is True
    because = replace(book.eviction().because, fill_rate=7, time_left=9, fitted=True, usage_age=5)
    plain = encode_decision(replace(book.eviction(), because=because))["because"]
    assert (plain["fillRate"], plain["timeLeftNanoseconds"], plain["graceFitted"]) == (7, 9, True)
    assert plain["usageAgeNanoseconds"] == 5


def test_a_ranking_may_be_cut_but_says_how_long_it_is() -> None:
    """A journal line does not grow with the node."""
    pods = [pod(name) for name in "abcdef"]
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=pods, usage=[usage(p, memory="1Gi") for p in pods])
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    [ranking] = book.findings(Ranking)
    plain = encode_finding(ranking, rows=2)
    assert [row["name"] for row in plain["rows"]] == ["a", "b"]
    assert plain["pods"] == 6
    assert len(encode_finding(ranking)["rows"]) == 6


def test_a_silence_brings_its_evidence() -> None:
    """Pod and amounts."""
    silent = NoAction(
        why=NoActionReason.PROTECTED_CULPRIT, pod=A, needed=parse_quantity("1Gi"), reachable=parse_quantity("1Mi")
    )
    plain = encode_finding(silent)
    assert (plain["why"], plain["needed"], plain["reachable"]) == ("ProtectedCulprit", "1Gi", "1Mi")


def test_a_withdrawn_eviction_is_read_back() -> None:
    made = WithdrawEviction(pod=A, reason="pressure has ended")
    plain = json.loads(json.dumps(encode_decision(made)))
    assert plain == {
        "kind": "WithdrawEviction",
        "pod": {"namespace": "default", "name": "a", "uid": "a"},
        "reason": "pressure has ended",
    }
    read = decode_decision(plain)
    assert isinstance(read, WithdrawEviction)
    assert (read.pod.full_name, read.reason) == (A.full_name, made.reason)
