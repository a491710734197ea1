"""What a journal does not show of another configuration: the cycles in which nothing was decided."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.codec.decision import encode_decision
from evictd.codec.records.journal import decode_entry, encode_entry
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.sooner import TRANSITION_PERIOD
from evictd.core.model.state import State, Step
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import of_bytes
from evictd.render.console import make_console
from evictd.render.replay.readings_end import WhatIf
from evictd.render.replay.replayed import NOTHING_UNKNOWN, Replayed, Unknown
from evictd.render.replay.unrecorded import (
    met_at_first,
    met_at_first_document,
    print_unrecorded,
    unknown_between,
    unrecorded_texts,
    unrecorded_thresholds,
)
from tests.daemon.world import CONFIG, GI, NOW, observe
from tests.playbook import pod
from tools.incidents import incident_files

OWN = next(each for each in CONFIG.thresholds if each.signal.value == "memory.available" and each.hard)
RISEN = replace(OWN, value=replace(OWN.value, quantity=of_bytes(2 * GI)))
SOFT = replace(OWN, grace_period=MINUTE)


def replayed(then: Threshold, now: Threshold) -> list[Replayed]:
    """A calm record under one threshold, decided again under another."""
    config = replace(CONFIG, thresholds=(then,))
    seen = observe(4 * GI)
    step = synchronize(State(), seen, config, NOW)
    line = encode_entry(now=NOW, wall="", state=State(), observation=seen, config=config, step=step)
    return [Replayed(entry=decode_entry(line), step=_decided(replace(config, thresholds=(now,))))]


def texts_of(replayed: list[Replayed], options: str) -> tuple[str, ...]:
    """The sentences on what may act unrecorded."""
    return unrecorded_texts(unknown_between(replayed), replayed, options)


def _decided(config: EvictionConfig) -> Step:
    return synchronize(State(), observe(4 * GI), config, NOW)


@pytest.mark.parametrize(
    ("then", "now", "sooner"),
    [
        (OWN, RISEN, True),
        (RISEN, OWN, False),
        (OWN, OWN, False),
        (OWN, SOFT, False),
        (SOFT, OWN, True),
        (SOFT, replace(SOFT, grace_period=MINUTE // 2), True),
        (SOFT, replace(SOFT, grace_period=2 * MINUTE), False),
    ],
    ids=["higher", "lower", "same", "with a grace", "without a grace", "shorter grace", "longer grace"],
)
def test_a_threshold_that_acts_sooner_is_not_covered_by_the_journal(
    then: Threshold, now: Threshold, *, sooner: bool
) -> None:
    assert bool(unrecorded_thresholds(replayed(then, now))) is sooner


def test_the_sentence_says_what_the_journal_has_and_how_to_find_out() -> None:
    said, how, command = texts_of(replayed(OWN, RISEN), "--config new.yaml")
    assert said == (
        "memory.available<2Gi (hard) can act sooner than what was recorded. The journal has only the 1 cycle in which something "
        "was decided, and does not show whether a pod would have gone between them."
    )
    assert "dryRun: true" in how
    assert command == "  evictd simulate WORLD.yaml --config new.yaml"
    assert texts_of(replayed(OWN, OWN), "") == ()


def test_a_setting_that_acts_sooner_is_named_as_well() -> None:
    """`memory.lead: Auto` and another `memory.formula` still got an all-clear."""
    (one,) = replayed(OWN, OWN)
    assert unknown_between([replace(one, sooner=("memory.lead",))]).may_act == ("memory.lead",)
    said, *_ = texts_of([replace(one, sooner=("memory.lead",))], "")
    assert said.startswith("memory.lead can act sooner than what was recorded. ")


def test_a_journal_without_an_eviction_gives_no_all_clear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node without a threshold on memory: the journal has kills by the kernel, and none of the readings before them."""
    (world,) = (each for each in incident_files() if each.stem == "43-no-memory-threshold")
    main(["simulate", str(world), "--journal", str(tmp_path / "journal")])
    new = tmp_path / "new.yaml"
    new.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 100Mi}\n"
    )
    capsys.readouterr()
    assert main(["replay", str(tmp_path / "journal"), "--config", str(new)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "memory.available<100Mi (hard) can act sooner than what was recorded." in text
    assert f"evictd simulate WORLD.yaml --config {new}" in text
    assert main(["replay", str(tmp_path / "journal"), "--config", str(new), "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["unrecorded"] == ["memory.available<100Mi (hard)"]


def test_a_threshold_that_no_reading_meets_is_not_said_to_act() -> None:
    """Of a threshold on a disk that was never near it, `acts sooner than what was recorded` was said."""
    (one,) = replayed(OWN, RISEN)
    for met, acts in ((True, "acts sooner"), (False, "can act sooner")):
        findings = tuple(
            replace(each, met=met) if isinstance(each, ThresholdFinding) else each for each in one.step.findings
        )
        said, *_ = texts_of([replace(one, step=replace(one.step, findings=findings))], "")
        assert said.startswith(f"memory.available<2Gi (hard) {acts} than what was recorded. ")


def test_a_threshold_that_the_first_reading_meets_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """13Gi was met from the first reading on, and the summary had only the last minutes before an eviction."""
    above, far = (replace(SOFT, value=replace(OWN.value, quantity=of_bytes(count * GI))) for count in (5, 6))
    found = replayed(OWN, above)
    [finding] = met_at_first(found)
    assert finding.threshold == above
    print_unrecorded(NOTHING_UNKNOWN, found, WhatIf(journals="", options=""), make_console(sys.stdout))
    assert " ".join(capsys.readouterr().out.split()) == (
        "memory.available<5Gi (soft, 1m0s) is met already in the first reading, at , when no recorded threshold of "
        "memory.available was: 4Gi were available."
    )
    assert met_at_first_document(found) == [{"threshold": "memory.available<5Gi (soft, 1m0s)", "available": "4Gi"}]
    assert not list(met_at_first(replayed(OWN, SOFT)))
    assert not list(met_at_first(replayed(far, above))), "a recorded one was met too"


def test_a_larger_minimum_reclaim_is_said_to_act_for_longer() -> None:
    small, large = (
        replace(
            OWN,
            value=replace(OWN.value, quantity=of_bytes(5 * GI)),
            min_reclaim=replace(OWN.value, quantity=of_bytes(count)),
        )
        for count in (GI, 2 * GI)
    )
    (one,) = replayed(small, large)
    said, *_ = texts_of([replace(one, sooner=("evictionMinimumReclaim",))], "--config new.yaml")
    assert said.startswith("evictionMinimumReclaim can act for longer than what was recorded. The journal has only")
    both, *_ = texts_of([replace(one, sooner=("memory.lead", "evictionMinimumReclaim"))], "--config new.yaml")
    assert both.startswith(
        "memory.lead and evictionMinimumReclaim can act sooner or for longer than what was recorded. "
    )


def test_a_setting_that_changes_nothing_of_what_was_recorded_is_not_named() -> None:
    """A minimum reclaim without a met threshold, and a transition period without a condition, were said to act sooner."""
    (one,) = replayed(OWN, OWN)
    settings = ("evictionMinimumReclaim", "evictionPressureTransitionPeriod")
    assert unknown_between([replace(one, sooner=settings)]).may_act == ()
    short = replace(one.entry, state=State(node_conditions=(NodeCondition.MEMORY_PRESSURE,)), decisions=())
    assert unknown_between([replace(one, entry=short, sooner=settings)]).may_act == settings[1:]


def test_a_condition_that_ends_sooner_is_named_with_its_time() -> None:
    """`evictionPressureTransitionPeriod can act sooner`, of evictions before the end of a condition too, which are certain."""
    (one,) = replayed(OWN, OWN)
    kept = State(
        node_conditions=(NodeCondition.MEMORY_PRESSURE,),
        node_conditions_last_observed_at={NodeCondition.MEMORY_PRESSURE: NOW},
    )
    entry = replace(one.entry, state=kept, wall="2026-01-01T00:00:00Z", decisions=())
    short = replace(
        one, entry=entry, step=replace(one.step, state=kept), sooner=(TRANSITION_PERIOD,), transition_period=MINUTE
    )
    said, *how = texts_of([short], "--config new.yaml")
    assert said == (
        "By evictionPressureTransitionPeriod MemoryPressure can end sooner than what was recorded, from 2026-01-01T00:01:00Z on. "
        "The journal does not show whether a pod that came back would have gone."
    )
    assert how[-1] == "  evictd simulate WORLD.yaml --config new.yaml"


def test_it_is_said_beside_the_evictions_at_which_the_readings_end(capsys: pytest.CaptureFixture[str]) -> None:
    """A higher nodefs threshold beside a lower one of memory was passed over: what it did before that eviction is not known."""
    what_if = WhatIf(journals="journals/n1", options="--config new.yaml")
    cause = EvictionCause(reason=EvictionReason.PRESSURE, threshold=OWN, available=of_bytes(GI))
    plain = encode_decision(EvictPod(pod=pod("hog"), grace_period_seconds=1, message="", because=cause))
    ended = [replace(each, entry=replace(each.entry, decisions=(plain,))) for each in replayed(OWN, RISEN)]
    print_unrecorded(unknown_between(ended), ended, what_if, make_console(sys.stdout))
    out = " ".join(capsys.readouterr().out.split())
    assert "can act sooner than what was recorded" in out
    assert "simulate WORLD.yaml" not in out


@pytest.mark.parametrize("signal", [Signal.NODEFS_AVAILABLE, Signal.PID_AVAILABLE], ids=["disk", "pids"])
def test_a_disk_or_the_pids_that_were_never_near_a_threshold_are_named_as_such(
    signal: Signal, capsys: pytest.CaptureFixture[str]
) -> None:
    """`nodefs.inodesFree<7% can act sooner` was said of a disk with 65 million inodes free; then nothing at all."""
    (one,) = replayed(OWN, OWN)
    (own,) = (each for each in one.step.findings if isinstance(each, ThresholdFinding))
    disk = replace(RISEN, signal=signal)
    for left, named in ((65, ()), (4, (f"{signal.value}<2Gi (hard)",))):
        finding = replace(
            own, threshold=disk, available=of_bytes(left * GI), limit=of_bytes(2 * GI), capacity=of_bytes(100 * GI)
        )
        found = [replace(one, step=replace(one.step, findings=(finding,)))]
        assert unrecorded_thresholds(found) == named
        print_unrecorded(
            Unknown(may_act=named), found, WhatIf(journals="j", options=""), make_console(sys.stdout, width=200)
        )
        far = f"No recorded reading is near {signal.value}<2Gi (hard); those between are not in the journal.\n"
        assert (far in capsys.readouterr().out) is not bool(named)
