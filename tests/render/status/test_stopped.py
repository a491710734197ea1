"""Why no pod is evicted, and until when."""

from evictd.daemon.telemetry.statusz.stop_document import stop_document
from evictd.render.status.headline import headline
from evictd.render.status.stopped import (
    BUDGET_GUARD,
    asked_past_its_budget,
    before_collection_ends,
    before_stop_ends,
    brief_stop,
    name_last,
    past_its_budget,
    paused_until,
    stop_text,
)
from tests.daemon.status import status_of
from tests.render.partial_status import entry_with
from tests.render.shown_nodes import calm, page
from tests.render.snapshots import incident_snapshot
from tests.render.status.test_view import shown
from tests.render.test_stop_reason import culprit_finding


def test_the_name_of_a_finding_goes_last() -> None:
    assert name_last("memory.available: HeldBack: no pod; wait") == "memory.available: no pod; wait (HeldBack)"
    assert name_last("HeldBack: no pod") == "no pod (HeldBack)"
    assert name_last("memory.available: no pod") == "memory.available: no pod"


def test_a_pause_says_when_evictions_resume() -> None:
    """The finding has the time; neither the page nor `status` showed it."""
    paused = incident_snapshot("23-threshold-never-clear", 90.4)
    status = status_of(paused, paused.at)
    (memory,) = [entry for entry in status["signals"] if entry["signal"] == "memory.available"]
    until = "until 22:23:20 UTC (in 8m30s)"
    then = "default/web-2 would be evicted if the threshold is still met"
    assert paused_until(status, memory) == f" {until}"
    assert f"evictd evicts no pod {until}: 1.87Gi is missing, and the last two evictions" in headline(status).text
    assert stop_text(status, memory).endswith(f"so evictions pause {until}; then {then}"), (
        "the pod that is due was not named"
    )
    text = page(paused, 0)
    assert f"so evictions pause {until}; then {then} (EvictionsDoNotHelp)" in text
    assert text.count("so evictions pause") == 1
    assert until in " ".join(shown(status, 120).split())
    over = {**memory, "stopEndsInSeconds": -3.0}
    assert paused_until(status, over) == ""
    assert paused_until(status, {**memory, "stopEndsInSeconds": None}) == ""


def test_what_is_before_the_end_of_a_pause_is_said_to_be() -> None:
    pause = {"stopEndsInSeconds": 60.0, "stopPodGuard": ""}
    assert before_stop_ends(pause, 59.0) == ", before evictd evicts a pod,"
    assert before_stop_ends(pause, 60.0) == ""
    assert before_stop_ends({"stopEndsInSeconds": None, "stopPodGuard": ""}, 0.0) == ""
    assert before_stop_ends({**pause, "stopPodGuard": BUDGET_GUARD}, 0.0) == "", "a budget may allow it before"


def test_a_pause_that_would_begin_has_a_length_and_no_end() -> None:
    """`Until 22:47:00 (in 10m0s): less than 1Ki is missing` was above a limit by 2.3Gi, and each reading moved that time."""
    above = incident_snapshot("45-host-path-beside-large-layers", 1430)
    status = status_of(above, above.at)
    (disk,) = [entry for entry in status["signals"] if entry["signal"] == "nodefs.available"]
    lasts = "for 10m0s from when the threshold acts"
    brief = "the last two evictions gave back 5.93Gi, but what grows was not measured in any pod that may go"
    then = "default/web-10 would be evicted if the threshold is still met"
    assert headline(status).text.endswith(f"present rate. No pod would be evicted {lasts}: {brief}. Then {then}.")
    assert stop_text(status, disk) == f"EvictionsDoNotHelp: {brief}; evictions pause {lasts}; then {then}"
    met = {**disk, "thresholds": [{**each, "met": True} for each in disk["thresholds"]]}
    assert paused_until(status, met) == " for 10m0s", "it is about to begin"


def test_a_limit_of_evictions_says_when_the_next_pod_may_go() -> None:
    limited = incident_snapshot("44-limit-of-evictions", 400)
    text = headline(status_of(limited, limited.at)).text
    until = "until 22:49:36 UTC (in 29m40s)"
    assert f"No pod would be evicted {until}: evictionLimit allows no more than 2 pods within 30m0s." in text


def test_a_budget_that_refuses_is_the_reason_and_says_when_evictd_passes_over_it() -> None:
    """It said "432Mi is needed, and the pods that may be evicted hold 1.95Gi together", which is no reason."""
    refused = incident_snapshot("25-budget-of-zero", 311.5)
    status = status_of(refused, refused.at)
    (memory,) = [entry for entry in status["signals"] if entry["signal"] == "memory.available"]
    past = "with podTermination Auto evictd deletes that pod despite the budget from 22:19:08 UTC (in 37s) on"
    assert brief_stop(memory) == "a disruption budget refuses the eviction of default/leak, which comes first"
    assert past_its_budget(status, memory) == past
    assert headline(status).text.endswith(f"No pod is evicted at present: {brief_stop(memory)}; {past}.")
    reason = (
        "default/leak holds more than all pods that may be evicted and is guarded by a disruption budget, and no pod"
    )
    sentences = f"{reason} within its request goes in its place yet. W{past[1:]}"
    assert stop_text(status, memory) == f"ProtectedCulprit: {sentences}"
    body = page(refused, 0)
    assert f"<li>memory.available: {sentences} (ProtectedCulprit)</li>" in body
    assert body.count("ProtectedCulprit") == 1, "the finding with its amounts stands in `explain`"
    hard = [{**memory["thresholds"][0], "kind": "hard", "met": True}]
    late = {**memory, "stopEndsInSeconds": -1.0, "thresholds": hard}
    assert past_its_budget(status, late) == "evictd deletes that pod despite the budget at the next attempt"
    assert paused_until(status, late) == ""
    head = page(refused, 0).partition("</header>")[0]
    assert (
        "let the disruption budget of default/leak allow its eviction (<code>kubectl -n default get pdb</code>)" in head
    )
    assert "static pod" not in head
    assert head.count("which grew the most") == 0, "it named the same pod again"


def test_a_pod_that_is_asked_for_is_deleted_past_its_budget() -> None:
    """The deletion was said before and after each request, and not while one was made."""
    asked = incident_snapshot("25-budget-of-zero", 300)
    status = status_of(asked, asked.at)
    past = "ith podTermination Auto evictd deletes default/leak despite the budget from 22:19:08 UTC (in 49s) on"
    assert asked_past_its_budget(status) == f"w{past}"
    assert headline(status).text.endswith(f"it refused once since 22:18:09 UTC. W{past}.")
    (row,) = status["asked"]
    over = {**status, "asked": [{**row, "budgetEndsInSeconds": -1.0}]}
    assert asked_past_its_budget(over).endswith("evictd deletes default/leak despite the budget at the next attempt")
    other = {**status, "asked": [{**row, "budgetEndsInSeconds": -1.0, "pod": "default/web-0"}]}
    assert asked_past_its_budget(other) == "", "it has its turn again later"
    never = "with podTermination EvictionAPI evictd deletes no pod despite a budget"
    assert asked_past_its_budget({**status, "podTermination": "EvictionAPI"}) == never
    assert asked_past_its_budget({**other, "podTermination": "EvictionAPI"}) == never, (
        "it stood for the first minute only"
    )
    assert asked_past_its_budget({**status, "asked": []}) == asked_past_its_budget({**status, "signals": []}) == ""
    hard = [
        {**each, "thresholds": [{**each["thresholds"][0], "kind": "hard", "met": True}]} for each in status["signals"]
    ]
    assert asked_past_its_budget({**status, "signals": hard}).startswith(
        "evictd deletes default/leak despite the budget from"
    )


def test_the_brief_reason_names_the_pod_that_is_the_cause() -> None:
    """The headline said "No pod would be evicted: 264Mi is missing now", up to the first semicolon."""
    finding = culprit_finding(4096, 2048, 2048, "holds more than all of them and is a static pod")
    stop = brief_stop(stop_document(finding, calm(), 0))
    assert stop == "n/c holds more than all pods that may be evicted and is a static pod"


def test_what_may_be_before_the_end_of_a_collection_is_said_to_be() -> None:
    """`reaches 0 in 43s` stood above the advice to wait 53s, without a word on what happens before that."""
    fills = incident_snapshot("40-images-fill-inodes", 320)
    before = (
        "At 0, maybe before evictd has removed what no pod needs (in 53s at most), no file can be created on the disk"
    )
    assert before in page(fills)
    status = status_of(fills, fills.at)
    (inodes,) = [each for each in status["signals"] if each["signal"] == "nodefs.inodesFree"]
    assert before_collection_ends(status, inodes, 54.0)
    assert before_collection_ends(status, inodes, 55.0) == ""
    assert before_collection_ends(status, {"signal": "memory.available"}, 0.0) == ""
    assert before_collection_ends({"phase": {"name": "Watching"}}, inodes, 0.0) == ""


def test_a_pause_that_is_twice_the_one_before_says_so() -> None:
    twice = incident_snapshot("23-threshold-never-clear", 625)
    (entry,) = [each for each in status_of(twice, twice.at)["signals"] if each["signal"] == "memory.available"]
    status = {"at": "2023-11-14T22:23:40Z", "ageSeconds": 0.0}
    assert paused_until(status, entry) == " until 22:43:19 UTC (in 19m40s), twice the pause before"


def test_a_pause_begins_when_the_grace_period_ends() -> None:
    threshold = {"met": True, "graceLeftSeconds": 20.0}
    entry = entry_with(stopLastsSeconds=600.0, thresholds=[threshold])
    assert paused_until({}, entry) == " for 10m0s from when the threshold acts"
    assert paused_until({}, {**entry, "thresholds": [{**threshold, "graceLeftSeconds": 0}]}) == " for 10m0s"
