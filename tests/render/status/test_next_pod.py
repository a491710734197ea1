"""The tests of status/next_pod."""

from evictd.render.status.headline import headline
from evictd.render.status.next_pod import (
    at_threshold_text,
    first_if_it_grows,
    goes_at_threshold,
    goes_if_it_grows,
    steps_before,
)
from evictd.render.status.own_faults import OwnFaultKind
from evictd.render.status.remedy.remedies import remedies
from tests.daemon.status import status_of
from tests.render.history.test_standing import of_snapshot
from tests.render.partial_status import entry_with
from tests.render.shown_nodes import page
from tests.render.snapshots import incident_snapshot
from tests.render.status.test_view import shown


def test_the_page_and_status_say_that_the_order_is_that_of_now() -> None:
    """The page named a pod that stays for a threshold that was 18 minutes away."""
    leak = incident_snapshot("26-control-plain-leak", 30)
    text = page(leak)
    instead = "at the threshold default/controller goes instead if it grows on"
    assert f"default/web-0 (250Mi) would be evicted first now; {instead}." in text
    terminal = " ".join(shown(status_of(leak, leak.at), 160).split())
    assert f"default/web-0 uses 250Mi, requests 300Mi; {instead}" in terminal


def test_the_headline_of_a_near_threshold_says_so_too() -> None:
    near = incident_snapshot("39-resize-not-granted", 10)
    status = status_of(near, near.at)
    assert headline(status).text.endswith(
        " default/hog would be evicted then if it grows on; default/web-0 by the order of now."
    )
    assert "at the threshold default/hog" not in page(near), "once"


def test_the_advice_is_not_about_the_pod_that_stays() -> None:
    """`default/hog goes instead`, and advice sent the reader to `evictd why default/web-0`."""
    near = incident_snapshot("39-resize-not-granted", 10)
    assert remedies(status_of(near, near.at)) == ["end, move or limit default/hog, which grew the most"]


def test_nothing_is_said_of_the_pod_that_is_first_anyway() -> None:
    assert goes_if_it_grows(entry_with()) == ""
    later = incident_snapshot("26-control-plain-leak", 300)
    assert "goes instead" not in page(later)
    entry = entry_with(signal="a", next={"pod": "x/y"}, nextIfItGrows={"pod": "x/z\x1b"})
    status = {"signals": [entry]}
    assert first_if_it_grows(status, {"signals": ["a"], "next": "x/y"}).startswith("; at the threshold x/z")
    assert "\x1b" not in first_if_it_grows(status, {"signals": ["a"], "next": "x/y"})
    assert first_if_it_grows(status, {"signals": ["a"], "next": "x/q"}) == ""


def test_a_pod_that_does_not_grow_goes_if_the_growth_lasts() -> None:
    entry = entry_with(next={"pod": "x/y"}, nextIfItGrows={"pod": "x/z", "grows": False}, thresholds=[{"met": True}])
    assert goes_if_it_grows(entry) == "; when the threshold acts x/z goes instead if the growth lasts"


def test_the_pod_that_goes_if_the_growth_has_ended_is_named_beside_it() -> None:
    entry = {
        "next": {"pod": "x/y"},
        "nextIfItGrows": None,
        "nextIfItStops": {"pod": "x/z"},
        "thresholds": [{"met": True}],
    }
    assert goes_if_it_grows(entry, when="") == "; x/z goes instead if the growth has ended"
    both = {**entry, "nextIfItGrows": {"pod": "x/w", "grows": True}}
    assert (
        goes_if_it_grows(both, when="") == "; x/w goes instead if it grows on; x/z goes instead if the growth has ended"
    )


def test_it_is_said_why_no_pod_goes_at_a_threshold_if_the_growth_lasts() -> None:
    entry = entry_with(next={"pod": "x/y"}, stopIfItGrows="x/s holds more", thresholds=[{"met": True}])
    assert goes_if_it_grows(entry) == "; when the threshold acts no pod goes if the growth lasts: x/s holds more"
    assert goes_at_threshold(entry) is None
    said = " No pod would be evicted then: x/s holds more; if the growth ends, x/y would be."
    assert at_threshold_text(entry, "first") == said


def test_a_pod_that_goes_only_at_the_threshold_is_named_beside_why_none_goes_now() -> None:
    entry = entry_with(
        next=None, nextIfItGrows={"pod": "x/z", "grows": True}, stopBrief="x/s holds more", thresholds=[]
    )
    assert goes_if_it_grows(entry) == "; at the threshold x/z goes if it grows on"
    said = " x/z would be evicted in 5s if it grows on; now none would be: x/s holds more."
    assert at_threshold_text(entry, "in 5s") == said
    assert at_threshold_text({**entry, "nextIfItGrows": None}, "first") == ""


def test_without_the_runtime_nothing_is_removed_first() -> None:
    for fault in (OwnFaultKind.PODS, OwnFaultKind.LISTED_PODS):
        assert not steps_before({"faults": [fault.value]}, entry_with(reclaimsFirst=True))
    assert steps_before({"faults": []}, entry_with(reclaimsFirst=True)) == "remove what no pod needs"
    assert not steps_before({}, entry_with())


def test_the_grace_periods_of_deleted_pods_are_shortened_first() -> None:
    near = incident_snapshot("11-leaving-pod", 115)
    status = status_of(near, near.at)
    shortens = "Then evictd would shorten the grace period of default/old, and evict default/new if that is too little."
    assert headline(status).text.endswith(shortens)
    assert not any("default/new" in each for each in remedies(status)), "its end would be of no use"
    both = steps_before(status, {"leavesFirst": list("abcd"), "reclaimsFirst": True})
    assert both == "shorten the grace period of a, b, c and 1 more, remove what no pod needs"


def test_page_status_and_why_say_what_evictd_removes_before_the_first_pod_goes() -> None:
    """The page said that a pod would be evicted first, and evictd would collect images before."""
    calm = incident_snapshot("06-collection-frees-nothing", 10)
    text, first = page(calm, 0), "; before that evictd would remove what no pod needs"
    assert f"default/web-0 (300Mi) would be evicted first{first}." in text
    assert f"First: <strong>default/web-0</strong>{first}." in text
    assert first in " ".join(shown(status_of(calm, calm.at), 200).split())
    for pod in ("default/web-0", "default/web-1"):
        assert first in of_snapshot(calm, pod)
