"""The page of `evictd status`, as terminals of several sizes show it."""

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from evictd.core.model.finding import SignalUnobserved
from evictd.core.model.observation import Outcomes
from evictd.core.model.signal import STALLS, Signal
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.render.status.headline import OwnFault, headline
from evictd.render.status.own_faults import OwnFaultKind
from evictd.render.status.view import status_view
from tests.daemon.status import status_of
from tests.daemon.world import GI, NOW, snapshot
from tests.render.shown_nodes import approaching, blind, calm, crowded, play, pressed, recovered
from tests.render.snapshots import incident_snapshot
from tests.stories import check_golden


def page(available: int) -> str:
    return shown(status_of(snapshot(available), NOW))


def shown(document: dict[str, Any], width: int = 100, height: int | None = None) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(status_view(document, width=width, height=height))
    return out.getvalue()


def busy() -> dict[str, Any]:
    """A node under pressure everywhere, with more of everything than a small terminal has lines for."""
    document = status_of(snapshot(GI // 2), NOW)
    thresholds = [
        {"kind": kind, "limit": 99 * GI // 10, "met": True, "keptByMinReclaim": False, "graceLeftSeconds": left,
         "origin": "user"} for kind, left in (("soft", 89.0), ("hard", None))
    ]  # fmt: skip
    candidate = {"pod": "a-namespace/" + "long-name-" * 8, "usage": 3 * GI, "request": GI, "priority": 1_000_000}
    document["signals"] = [
        {"signal": signal.value, "observed": True, "available": 9 * GI, "capacity": 100 * GI, "next": candidate,
         "stop": "", "stopReason": "",
         "thresholds": thresholds} for signal in Signal if signal not in STALLS
    ]  # fmt: skip
    document["conditions"] = [{**each, "status": "True", "staysSeconds": 299.0} for each in document["conditions"]]
    row = {"signal": "", "gone": False, "gracePeriodSeconds": 30, "held": None, "missing": 0}
    document["leaving"] = [{**row, "pod": f"default/leaving-{i}"} for i in range(9)]
    document["problems"] = [{"source": f"part {i}", "detail": "is unavailable " * 9} for i in range(9)]
    text = "evict default/hog (grace period 1s) for memory.available: 16.1Mi left, threshold 25.6Mi; it uses 62Mi"
    document["decisions"] = [{"at": "2026-01-01T10:00:00Z", "kind": "EvictPod", "text": text}] * 20
    return document


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 30), (132, 50)])
def test_a_full_page_crops_neither_conditions_nor_decisions(width: int, height: int) -> None:
    """At 80x24 `status --watch` cropped both."""
    lines = shown(busy(), width, height).splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for condition in ("MemoryPressure", "DiskPressure", "PIDPressure"):
        assert f"● {condition} for at least 4m59s more" in text
    assert "last decisions" in text
    assert "10:00:00  evict default/hog (grace period 1s) for memory.available" in text


def test_what_can_be_done_is_whole_on_24_lines() -> None:
    """It was cut to one line, while blank lines and decisions had the rest."""
    document = status_of(of_node := incident_snapshot("02-host-path-writer", 352), of_node.at)
    lines = shown(document, 80, 24).splitlines()
    assert len(lines) <= 24
    text = " ".join(" ".join(lines).split())
    assert "if they fill the disk, end the pod and delete the files in them; free disk space outside pods" in text
    assert "snapshots that no image uses): what grew was measured in no pod last decisions" in text
    assert "evict default/web-0 (grace period 1s)" in text


@pytest.mark.parametrize("available", [4 * GI, GI + 1, GI // 2])
def test_a_small_node_has_its_whole_page_on_the_smallest_terminal(available: int) -> None:
    lines = shown(status_of(snapshot(available), NOW), 80, 24).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_what_is_not_measured_is_said_to_be() -> None:
    """A calm disk is not walked, and its pods read "uses 0"."""
    document = status_of(snapshot(4 * GI), NOW)
    for entry in document["signals"]:
        entry |= {
            "next": {"pod": "default/any", "usage": None, "request": 0, "priority": 0},
            "stop": "",
            "stopReason": "",
        }
    text = shown(document)
    assert "pods not measured until a threshold is near (evictd explain measures now)" in text
    assert "default/any" not in text
    assert "uses 0" not in text


def test_what_is_too_long_for_a_line_goes_on_below_its_text() -> None:
    """A problem that went on in the first column could not be told from the next one."""
    lines = shown(busy(), 80).splitlines()
    problem = next(i for i, line in enumerate(lines) if line.startswith("! part 0: is unavailable"))
    decision = next(i for i, line in enumerate(lines) if line.startswith("  10:00:00  evict default/hog"))
    assert lines[problem + 1].startswith("  unavailable is unavailable")
    assert lines[decision + 1].startswith(" " * 12 + "left, threshold 25.6Mi")


def test_nothing_is_wider_than_a_hundred_columns_or_cut_off() -> None:
    for available in (4 * GI, GI + 1, GI // 2):
        lines = page(available)
        assert max(map(len, lines.splitlines())) <= 100
        assert "…" not in lines


def test_a_calm_node_shows_what_is_left_and_which_pod_is_next() -> None:
    text = page(4 * GI)
    assert "Watching" in text
    assert "soft 2Gi  hard 1Gi" in text
    assert "next for memory.available: default/hog uses 6Gi" in text
    assert "○ MemoryPressure" in text


def test_a_soft_threshold_counts_down() -> None:
    text = page(GI + 1)
    assert "soft 2Gi met, 1m30s left" in text
    assert "● MemoryPressure for at least 5m0s more" in text


def test_a_signal_that_cannot_be_read_says_so() -> None:
    assert "no reading" in page(4 * GI)


def test_pods_that_no_runtime_lists_are_unknown() -> None:
    """The node was called empty while its runtime did not answer."""
    seen = blind()
    without = replace(seen, observation=replace(seen.observation, pods=()))
    document = status_of(without, without.at)
    assert document["pods"] is None
    assert {each["stopReason"] for each in document["signals"] if each["observed"]} == {"PodsUnknown"}
    assert {each["notOfPods"] for each in document["signals"]} == {None}
    text = shown(document, width=120)
    assert "pods unknown" in text
    assert "the pods are unknown: the container runtime does not answer" in text
    assert "no active pods" not in text
    assert "0 pods" not in text
    empty = replace(without, observation=replace(without.observation, problems=()))
    text = shown(status_of(empty, empty.at), width=120)
    assert "0 pods" in text
    assert "there are no active pods to evict" in text


def nowhere() -> Snapshot:
    """A signal with a threshold that this node does not have."""
    seen = calm()
    findings = (replace(each, absent=True) if isinstance(each, SignalUnobserved) else each for each in seen.findings)
    return replace(seen, findings=tuple(findings))


def dry_run() -> Snapshot:
    seen = approaching()
    return replace(seen, observation=replace(seen.observation, outcomes=Outcomes(dry_run=True)))


STATES: dict[str, Callable[[], Snapshot]] = {
    "calm": calm,
    "approaching": approaching,
    "a grace period runs": lambda: play([6 * GI, int(1.5 * GI)]),
    "acting": pressed,
    "recovered": recovered,
    "blind": blind,
    "110 pods": crowded,
    "a signal that this node does not have": nowhere,
    "a dry run": dry_run,
}


def test_each_state_is_as_in_the_golden_file() -> None:
    text = ""
    for name, make in STATES.items():
        seen = make()
        faults = [OwnFaultKind.LISTED_PODS.value] if name == "blind" else []
        text += f"== {name} ==\n{shown({**status_of(seen, seen.at), 'faults': faults})}\n"
    check_golden("status.txt", text)


def test_a_pod_that_is_due_is_named_though_its_usage_is_not_known() -> None:
    leak = incident_snapshot("24-unmeasured-hog", 60)
    status = status_of(leak, leak.at)
    assert "next for memory.available: default/leak uses 1.17Gi, requests 256Mi" in shown(status, 100)
    (memory, *_) = status["signals"]
    memory["next"] = {**memory["next"], "usage": None}
    assert "next for memory.available: default/leak (not measured)" in shown(status, 100)
    memory["thresholds"] = []
    assert "next for memory.available: pods not measured" in shown(status, 100)


def test_when_nothing_is_left_stands_on_every_terminal() -> None:
    """It said that evictions pause for ten minutes, and not that nothing is left of the memory in 13 s, as the page does."""
    stops = incident_snapshot("07-kernel-memory", 320)
    document = status_of(stops, stops.at)
    soon = "memory.available reaches 0 in "
    for width, height in ((80, 24), (100, 30), (100, None)):
        (line,) = (each for each in shown(document, width, height).splitlines() if soon in each)
        assert " at this rate" in line
    assert "the kernel's OOM killer kills processes" in " ".join(shown(document).split())
    stuck = {**document, "faults": [OwnFaultKind.STUCK.value]}
    assert soon not in shown(stuck)


def test_a_calm_node_says_when_a_threshold_is_met_that_is_far_off() -> None:
    """The disk fell by 20Mi a second, and the page of the terminal showed only what was left (world 45)."""
    falls = incident_snapshot("45-host-path-beside-large-layers", 600)
    status = status_of(falls, falls.at)
    assert "nodefs.available reaches its hard threshold 10Gi in 10m29s at the present rate\n" in shown(status)
    assert "at the present rate" not in shown({**status, "faults": [OwnFaultKind.NODE.value]})


def test_a_soft_threshold_that_is_near_has_the_time_at_which_it_acts() -> None:
    """It said when the soft threshold is met alone; a pod went at the hard one, before the grace period had ended."""
    near = incident_snapshot("16-long-grace-period", 200)
    status = status_of(near, near.at)
    met = "memory.available reaches its soft threshold 1.4Gi in 35s at the present rate, and acts in about"
    assert f"{met} 1m5s (grace period 30s)" in " ".join(shown(status).split())
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    next(each for each in memory["thresholds"] if each["kind"] == "soft")["gracePeriodSeconds"] = 120.0
    assert f"{met} 1m21s, at the hard threshold 500Mi" in " ".join(shown(status).split())


def test_the_next_pod_of_a_signal_that_is_near_or_short_has_its_reason_once() -> None:
    """`status` named the next pod with its numbers alone; the page says why it is that one."""
    near = incident_snapshot("16-long-grace-period", 245)
    status = status_of(near, near.at)
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    assert memory["next"]["why"]
    assert f": {memory['next']['why']}" in " ".join(shown(status).split())
    status["signals"].append({**memory, "signal": "allocatableMemory.available"})
    assert " ".join(shown(status).split()).count(memory["next"]["why"]) == 1
    memory["next"].pop("why")
    assert shown({**status, "signals": [memory]}), "of an older daemon"


def test_after_an_eviction_the_advice_and_the_incident_stand_in_the_terminal_as_on_the_page() -> None:
    """The page named them, and `evictd status` showed the decision alone."""
    over = incident_snapshot("17-daemon-sets-a-little-over", 600)
    status = status_of(over, over.at)
    advice = " ago for memory.available: mend or limit default/job before it runs again; evictd incident "
    assert advice in shown(status, 200)
    assert advice not in shown({**status, "dryRun": True}, 200)
    unknown = [{**each, "incident": ""} for each in status["decisions"]]
    assert advice not in shown({**status, "decisions": unknown}, 200), "an older daemon"


def test_a_condition_of_a_dry_run_would_be_reported() -> None:
    """`● MemoryPressure for at least 5m0s more` stood above a node without the condition; the page said `would be`."""
    met = play([6 * GI, int(1.5 * GI)])
    status = status_of(met, met.at)
    assert "MemoryPressure would be reported for at least 5m0s more" in shown({**status, "dryRun": True}, 200)
    assert "would be reported" not in shown(status, 200)


def test_a_fault_of_evictd_leads_and_a_blind_one_is_not_said_to_watch() -> None:
    """`Watching` and a number of pods began the page, and that nothing is seen stood below all else."""
    status = status_of(calm(), calm().at)
    for fault in (OwnFaultKind.NODE, OwnFaultKind.PODS):
        said = shown({**status, "faults": [fault.value]})
        assert said.startswith(f"! {fault.value[:40]}")
        assert ("Watching" in said) == (fault is OwnFaultKind.PODS)


def test_what_to_do_stands_in_one_place_also_while_a_pod_leaves() -> None:
    """It stood between the next pods of idle signals, or nowhere."""
    leaving, paused = (
        incident_snapshot(*each) for each in (("16-long-grace-period", 270), ("02-host-path-writer", 500))
    )
    said = shown(status_of(leaving, leaving.at))
    assert said.index("being evicted: ") < said.index(
        "what you can do: nothing, if default/slow ends in time; evictd incident"
    )
    said = shown(status_of(paused, paused.at))
    assert said.index("next for nodefs.inodesFree") < said.index("what you can do: ") < said.index("last decisions")


def test_the_first_line_is_the_state_in_one_sentence_which_no_other_line_repeats() -> None:
    """Whether the node is calm, or what happens when, had to be read from the table of signals."""
    for seen, level in ((calm(), "calm"), (approaching(), "soft"), (pressed(), "hard")):
        status = status_of(seen, seen.at)
        said = headline(status)
        text = " ".join(shown({**status, "headline": {"text": said.text, "level": said.level}}, width=200).split())
        assert said.level == level
        assert text.startswith(said.text)
        assert text.count(said.text.partition(". ")[0]) == 1
    old = status_of(snapshot(4 * GI), NOW)
    assert shown(old).startswith("evictd 1.2.3 on node-1"), "of an older daemon"


def test_a_fault_that_the_first_line_says_is_not_repeated_below_it() -> None:
    status, kind = status_of(snapshot(4 * GI), NOW), OwnFaultKind.CREDENTIALS
    said = headline(status, (OwnFault(kind, "Unauthorized", status["at"]),))
    text = shown({**status, "faults": [kind.value], "headline": {"text": said.text, "level": said.level}}, width=200)
    assert text.startswith("The API server rejects evictd's credentials: ")
    assert text.count("rejects evictd's credentials") == 1
    assert "\n! Hard thresholds still stop pods\n" in text


def test_a_long_first_line_leaves_room_on_the_smallest_terminal() -> None:
    document = {**busy(), "headline": {"text": "memory.available is below its threshold " * 20, "level": "hard"}}
    lines = shown(document, 80, 24).splitlines()
    assert len(lines) <= 24
    assert "last decisions" in "\n".join(lines)
