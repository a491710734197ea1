"""The last decisions of the page: what became of an eviction, and nothing twice."""

from evictd.render.status.page.page_decisions import folded_decisions, page_decisions
from tests.daemon.status import status_of
from tests.render.shown_nodes import page, pressed, recovered
from tests.render.snapshots import incident_snapshot


def test_an_eviction_says_when_it_ended_and_what_was_left_then() -> None:
    over = recovered()
    status = status_of(over, over.at)
    (decided,) = [each for each in status["decisions"] if each["pod"]]
    known = {**decided, "left": 11 << 29, "leftAfterSeconds": 10.0}
    (eviction,) = page_decisions({**status, "decisions": [known]}, ())
    assert eviction["text"] == (
        "evict default/hog (grace period 1s) for memory.available: 512Mi left, threshold 1Gi; it ended 30s later, and 5.5Gi were "
        "left 10s after that"
    )
    (untold,) = page_decisions({**status, "decisions": [{**decided, "left": None}]}, ())
    assert untold["text"].endswith("; it ended 30s later")
    assert "it ended 30s later, and 5.5Gi were left" in page(over)
    assert "it ended" not in page(pressed())


def test_the_use_of_a_pod_stands_in_the_reason_only() -> None:
    over = recovered()
    (decided,) = [each for each in status_of(over, over.at)["decisions"] if each["pod"]]
    status = status_of(over, over.at)
    pages = {**decided, "text": "evict a (x): 1Gi left; it uses 5Gi (1Gi of it clean file pages), requests none"}
    fast = {**decided, "text": "evict a (x): 1Gi left; it uses 80 processes; killed without grace: 9/s are taken"}
    bare = {**decided, "why": ""}
    texts = [each["text"] for each in page_decisions({**status, "decisions": [pages, fast, bare]}, ())]
    assert [text.partition("; it ended")[0] for text in texts] == [
        decided["text"], "evict a (x): 1Gi left; killed without grace: 9/s are taken", pages["text"],
    ]  # fmt: skip


def test_an_eviction_says_what_filled_the_supply_unless_that_stands_above() -> None:
    """It said why the pod was chosen, and not that it had not filled memory."""
    over = recovered()
    filled = "Of 1.93Gi that filled memory since 22:31:20, pods took 0; 1.93Gi belong to no pod."
    assert page(over).count(filled) == 1, "it stands at the top"
    for said, shown in (((), f"At this eviction, o{filled[1:]}"), ({filled}, "")):
        (decided,) = [each for each in page_decisions(status_of(over, over.at), said) if each["pod"]]
        assert decided["filled"] == shown


def test_what_filled_a_supply_at_an_eviction_is_not_said_to_fill_it_now() -> None:
    """`Of 900Mi that filled memory since 22:13:20` stood below `Of 600Mi` since then: 300Mi went with the evicted pod."""
    text = page(incident_snapshot("42-budget-of-one", 200), 0)
    assert text.count("Of 600Mi that filled memory since 22:13:20, pods took 600Mi;") == 1
    assert text.count("At this eviction, of 900Mi that filled memory since 22:13:20, pods took 900Mi;") == 1
    assert "Of 900Mi" not in text


def test_the_end_of_a_condition_is_named() -> None:
    assert "report node conditions: MemoryPressure ended</span>" in page(recovered())


def test_what_was_left_is_said_of_the_time_that_has_passed() -> None:
    """`8.8Gi were left within a minute` stood there in the second in which the pod ended."""
    for seconds, left in ((471, "; it ended less than 1s later"), (472, " 1.5s after that")):
        ended = incident_snapshot("12-container-log", seconds)
        (eviction,) = [each for each in page_decisions(status_of(ended, ended.at), ()) if each["pod"]]
        assert eviction["text"].endswith(left)


def test_what_was_left_after_an_eviction_stays_the_same_later() -> None:
    """`0 were left 1m0s after that` became `51s` when the readings of that minute had become those of half minutes."""
    said = []
    for seconds in (430, 1000):
        later = incident_snapshot("02-host-path-writer", seconds)
        found = page_decisions(status_of(later, later.at), ())
        said.append([each["text"] for each in found if each["pod"] in {"default/web-0", "default/web-1"}])
    assert said[0] == said[1]


def test_a_collection_says_what_it_freed_once_it_has_ended() -> None:
    """`Delete unused containers and images` never said whether anything was deleted."""
    texts = []
    for name in ("27-control-volume-writer", "28-control-dead-containers"):
        ended = incident_snapshot(name, 400)
        decisions = page_decisions(status_of(ended, ended.at), ())
        texts.append([each["text"] for each in decisions if each["kind"] == "ReclaimNode"])
    begun = "delete unused containers and images for nodefs.available"
    assert texts[0][-1] == f"{begun}; nothing was removed"
    assert texts[1] == [f"{begun}; 1 removed, 40Gi freed"]


def test_repeated_evictions_of_one_owner_are_folded_but_for_the_newest() -> None:
    """Thirty evictions of one daemon set, each with four lines, made a page of 16,000 pixels."""
    again = incident_snapshot("01-recreated-hog", 300)
    status = status_of(again, again.at)
    shown, hidden, *_ = folded_decisions(page_decisions(status, ()))
    assert [each["pod"] for each in shown["rows"]] == ["default/leak-38", "default/leak-37", "default/leak-36"]
    count = len(hidden["rows"])
    assert hidden["title"].startswith(f"{count} earlier evictions of pods of DaemonSet/leak, from 22:1")
    assert hidden["title"].endswith(" to 22:17:54")
    body = page(again, 0)
    assert body.count('<details id="evictions-2">') == 1
    assert body.count('class="EvictPod"') == 3 + count
    few = {**status, "decisions": [each for each in status["decisions"] if each["pod"]][-4:]}
    assert [(each["title"], len(each["rows"])) for each in folded_decisions(page_decisions(few, ()))] == [("", 4)]
    unowned = {**status, "decisions": [{**each, "owner": ""} for each in status["decisions"]]}
    assert not any(each["title"] for each in folded_decisions(page_decisions(unowned, ())))
