"""Why this pod was evicted and not another, in one sentence."""

import re
from dataclasses import replace
from typing import Any

import pytest

from evictd.codec.decision import encode_decision
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import SkipReason
from evictd.core.model.observation import Observation
from evictd.core.model.signal import Resource
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.statusz.status_page import snapshot_view
from evictd.render.contender import is_tie
from evictd.render.deciding import (
    evicted_because,
    instead_of_others,
    passed_over_because,
    place_then,
    reasons_of,
    refused_before,
)
from tests.playbook import config, node, pod, usage
from tests.render.shown_nodes import page
from tests.render.snapshots import incident_snapshot

MI = 2**20


def row(name: str, usage: int | None = 0, request: int = 0, **more: Any) -> dict[str, Any]:
    namespace, pod = name.split("/")
    return {
        "namespace": namespace, "name": pod, "uid": name, "exceedsRequest": None if usage is None else usage > request,
        "priority": 0, "usage": usage, "request": request, "protected": False, "specKnown": True, **more,
    }  # fmt: skip


def said(
    victim: str,
    *rows: dict[str, Any],
    skipped: dict[str, str] | None = None,
    pods: int = 0,
    for_tenant: bool = False,
) -> str:
    """The sentence for the eviction of a pod of a ranking; `skipped` has the reason by pod."""
    signal = "memory.available"
    ranking = {
        "kind": "Ranking",
        "signal": signal,
        "resource": "memory",
        "rows": list(rows),
        "pods": max(pods, len(rows)),
    }
    skips = [{"kind": "PodSkipped", "pod": {"uid": uid}, "reason": reason} for uid, reason in (skipped or {}).items()]
    pod = {"uid": victim, "namespace": victim.partition("/")[0]}
    decision = {"pod": pod, "shortens": False, "because": {"reason": "pressure", "signal": signal}}
    return evicted_because(decision, [ranking, *skips], for_tenant=for_tenant)


@pytest.mark.parametrize(
    ("resource", "says"),
    [(Resource.EPHEMERAL_STORAGE, True), (Resource.INODES, True), (Resource.MEMORY, False), (None, False)],
)
def test_what_is_never_measured_of_a_disk_is_said_of_a_pod_that_seems_to_use_nothing(
    resource: Resource | None, says: bool
) -> None:
    """The writer into a hostPath volume, which was the cause, was said to use nothing."""
    text = passed_over_because(SkipReason.USES_NOTHING, resource)
    assert text.endswith("(hostPath volumes are not measured)") is says
    assert "hostPath" not in passed_over_because(SkipReason.BUDGET, resource)
    image = "; an image that it alone uses, which can be deleted after its end, does not count"
    assert passed_over_because(SkipReason.UNNECESSARY, resource).endswith(image) is says, (
        "the first pod of the order used 1Gi, and its image of 55Gi would have been enough (world 29)"
    )


REPORT, CHECKOUT = row("batch/report", 21 * MI, 10 * MI, priority=-10), row("shop/checkout", 249 * MI, 64 * MI)


def test_the_priority_decides_between_two_that_exceed_their_request() -> None:
    assert said("batch/report", REPORT, CHECKOUT) == (
        "Evicted batch/report (21Mi): both it and shop/checkout (249Mi) exceed their request, "
        "and its priority -10 is below 0."
    )


def test_the_rival_is_never_a_protected_pod_nor_one_that_cannot_go_now() -> None:
    guarded, held = row("kube-system/etcd", 900 * MI, protected=True), row("a/held", 800 * MI)
    sentence = said("batch/report", REPORT, guarded, held, CHECKOUT, skipped={"a/held": "Budget"})
    assert "both it and shop/checkout (249Mi)" in sentence


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Unnecessary", "the end of a/side (2Mi), which ranks before it, would free too little, or not for long."),
        ("Budget", "a/side (2Mi), which ranks before it, is passed over: a disruption budget refused its eviction."),
        (
            "OwnerBackoff",
            "a/side (2Mi), which ranks before it, is passed over: its owner recreates it here after each eviction.",
        ),
    ],
)
def test_a_pod_that_was_passed_over_is_named_with_the_reason(reason: str, words: str) -> None:
    side, leak = row("a/side", 2 * MI, priority=-1), row("a/leak", 600 * MI)
    assert said("a/leak", side, leak, skipped={"a/side": reason}) == f"Evicted a/leak (600Mi): {words}"


def test_a_pod_of_another_namespace_has_no_name_in_what_a_tenant_may_read() -> None:
    assert said("batch/report", REPORT, CHECKOUT, for_tenant=True) == (
        "Evicted batch/report (21Mi): both it and a pod of another namespace (249Mi) exceed their request, and its "
        "priority -10 is below 0."
    )


def test_several_pods_passed_over_for_one_reason_are_counted() -> None:
    sides = [row(f"a/side{number}", 2 * MI, priority=-1) for number in range(5)]
    sentence = said("a/leak", *sides, row("a/leak", 600 * MI), skipped={side["uid"]: "Unnecessary" for side in sides})
    assert (
        "the end of a/side4 (2Mi) and 4 other pods, which rank before it, would free too little, or not for long"
        in sentence
    )


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("UsesNothing", "as far as they were measured they use none of what is short"),
        ("Budget", "disruption budgets refused their evictions"),
        ("OwnerBackoff", "their owners recreate them here after each eviction"),
        ("NotMeasured", "their usage of what is short is not known"),
    ],
)
def test_the_reason_for_several_pods_is_not_told_as_that_of_one(reason: str, words: str) -> None:
    sides = [row(f"a/side{number}", 2 * MI, priority=-1) for number in range(2)]
    sentence = said("a/leak", *sides, row("a/leak", 600 * MI), skipped={side["uid"]: reason for side in sides})
    assert sentence.endswith(f"a/side1 (2Mi) and 1 other pod, which rank before it, are passed over: {words}.")


def test_without_a_rival_that_is_the_reason_unless_the_record_is_cut() -> None:
    assert (
        said("a/hog", row("a/hog", 9 * MI)) == "Evicted a/hog (9Mi): no other pod of this node may be evicted for it."
    )
    assert said("a/hog", row("a/hog", 9 * MI), pods=30) == ""


def test_a_damaged_record_gives_no_sentence_and_no_error() -> None:
    assert evicted_because({}, []) == ""
    assert evicted_because({"pod": 3, "because": {}, "shortens": False}, [{}]) == ""


AGAINST = "both it and shop/checkout (249Mi) exceed their request, and its priority -10 is below 0"


@pytest.mark.parametrize(
    ("pod", "number", "why"),
    [
        ("shop/checkout", 3, f"Would evict batch/report (21Mi): {AGAINST}."),
        ("kube-system/etcd", 0, "it is never evicted"),
        ("a/held", 1, "passed over: a disruption budget refused its eviction"),
    ],
)
def test_a_pod_that_was_ranked_and_not_evicted_has_a_place_and_a_reason(pod: str, number: int, why: str) -> None:
    rows = [row("a/held", 800 * MI), REPORT, row("kube-system/etcd", 900 * MI, protected=True), CHECKOUT]
    ranking = {"kind": "Ranking", "signal": "memory.available", "resource": "memory", "rows": rows, "pods": 30}
    skipped = {"kind": "PodSkipped", "pod": {"uid": "a/held"}, "reason": "Budget"}
    decision = {
        "pod": {"uid": "batch/report", "namespace": "batch"}, "shortens": False,
        "because": {"reason": "pressure", "signal": "memory.available"},
    }  # fmt: skip
    place = place_then(decision, [ranking, skipped], pod, dry_run=True)
    assert place is not None
    assert (place.victim, place.pods, place.why) == ("batch/report", 29, why)
    assert place.number == number, "counted as in the ranking of the incident: without pods that are never evicted"
    assert place_then(decision, [ranking, skipped], "batch/report", dry_run=True) is None
    assert place_then(decision, [ranking, skipped], "a/unknown", dry_run=True) is None
    assert place_then({}, [ranking], pod, dry_run=True) is None


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("InFlight", "it was ending already"),
        ("NotMeasured", "its usage of what was short was not known"),
        ("UsesNothing", "as far as it was measured it used none of what was short (hostPath volumes are not measured)"),
        ("OwnerBackoff", "its owner had recreated it here after each eviction"),
    ],
)
def test_a_past_place_has_a_past_reason(reason: str, why: str) -> None:
    """`this pod was at place 1 of 2` stood above `it ends already`."""
    rows = [row("a/held", 0), row("a/hog", 90 * MI)]
    ranking = {
        "kind": "Ranking",
        "signal": "nodefs.available",
        "resource": "ephemeral-storage",
        "rows": rows,
        "pods": 2,
    }
    decision = {
        "pod": {"uid": "a/hog", "namespace": "a"}, "shortens": False,
        "because": {"reason": "pressure", "signal": "nodefs.available"},
    }  # fmt: skip
    skipped = {"kind": "PodSkipped", "pod": {"uid": "a/held"}, "reason": reason}
    place = place_then(decision, [ranking, skipped], "a/held", dry_run=False)
    assert place is not None
    assert place.why == f"passed over: {why}"


def test_of_a_pod_that_was_not_the_next_it_is_not_said() -> None:
    rows = [row("a/hog", 90 * MI), row("a/db", 50 * MI), row("a/web", 10 * MI)]
    ranking = {"kind": "Ranking", "signal": "memory.available", "resource": "memory", "rows": rows, "pods": 3}
    decision = {
        "pod": {"uid": "a/hog", "namespace": "a"}, "shortens": False,
        "because": {"reason": "pressure", "signal": "memory.available"},
    }  # fmt: skip
    whys = {pod: place_then(decision, [ranking], pod, dry_run=False) for pod in ("a/db", "a/web")}
    assert whys["a/db"] is not None
    assert whys["a/web"] is not None
    assert "a/db, the next, requests none" in whys["a/db"].why
    assert "a/web requests none" in whys["a/web"].why
    assert whys["a/web"].first == ("a/hog", "a/db")


def test_the_age_of_the_measurement_is_named_beside_each_pod() -> None:
    """`why` of a pod that stayed had `Evicted a/hog (90Mi)`, and of the evicted one `(90Mi 41s before)` (world 24)."""
    ranking = {
        "kind": "Ranking", "signal": "memory.available", "resource": "memory", "pods": 2,
        "rows": [row("a/hog", 90 * MI), row("a/db", 50 * MI)],
    }  # fmt: skip
    decision = {
        "pod": {"uid": "a/hog", "namespace": "a"}, "shortens": False,
        "because": {"reason": "pressure", "signal": "memory.available", "usageAgeNanoseconds": 41 * SECOND},
    }  # fmt: skip
    place = place_then(decision, [ranking], "a/db", dry_run=False)
    assert place is not None
    assert place.why == evicted_because(decision, [ranking])
    assert place.why.startswith("Evicted a/hog (90Mi 41s before): ")


def test_the_event_names_the_budget_that_had_refused_the_eviction() -> None:
    """The owner of a budget read of an eviction past it, and nothing of the budget."""
    first = next(decision for decision in evictions())
    assert refused_before(encode_decision(first)) == ""
    refused = replace(first, refused_since=1)
    assert refused_before(encode_decision(refused)) == "A disruption budget had refused it before."
    said = reasons_of([refused], [], for_tenant=True)
    assert said == {first.pod.uid: "A disruption budget had refused it before."}
    assert reasons_of([refused], []) == {}, "the log has its own line for each refusal"


def evictions() -> list[EvictPod]:
    """The eviction of a leaking pod."""
    leak = pod("leak")
    seen = Observation(node=node(memory="100Mi of 8Gi"), pods=(leak,), pod_stats={"leak": usage(leak, memory="6Gi")})
    step = synchronize(State(), seen, config(hard={"memory.available": "500Mi"}), 0)
    return [each for each in step.decisions if isinstance(each, EvictPod)]


def test_the_next_pod_is_explained_by_what_decides() -> None:
    """A pod in place 7 of the order was first because it `exceeds its request by 2.91Gi`, which puts it in place 7."""
    body = ""
    for name, seconds, others in (
        ("17-daemon-sets-a-little-over", 200, "default/agent-5 (110Mi) and 5 other pods"),
        ("20-fork-bomb", 20, "default/web-7 (31 processes) and 7 other pods"),
    ):
        body = page(incident_snapshot(name, seconds), 0)
        why = f"the end of {others}, which rank before it, would free too little, or not for long"
        assert re.search(rf"Why that pod is first: it holds [0-9A-Za-z. ]+; {re.escape(why)}\.", body)
    assert "it holds 10001 processes; " in body
    assert "its priority 100 is above 0 of default/web-7" in body, "place 9 was `by usage`"
    assert "by usage" not in body


def test_of_equal_pods_after_one_that_is_passed_over_the_name_decides() -> None:
    """It said why the writer is passed over, and not why web-0 goes and not web-1."""
    body = page(incident_snapshot("02-host-path-writer", 330), 0)
    assert "(hostPath volumes are not measured); it is equal to default/web-1, so the name decides." in body


def test_a_name_is_no_reason_to_show() -> None:
    """`Why that pod is first: is equal to default/batch-1, so the name decides` told nothing."""
    near = incident_snapshot("42-budget-of-one", 60)
    queue = next(each for each in snapshot_view(near).queues if each.victim is not None)
    first, second, *_ = queue.rows
    assert is_tie(first, second)
    assert instead_of_others(queue.rows, first, {}, queue.resource) == ""
    assert "Why that pod is first" not in page(near, 0)
