"""What is said of an owner whose pods are evicted again and again."""

from typing import Any

from evictd.render.status.headline import headline
from evictd.render.status.owners import AGAIN, mend_owner, new_pods, nth_text, owner_remedies, owner_remedy
from evictd.render.status.remedy.remedies import remedies
from tests.daemon.status import status_of
from tests.render.shown_nodes import page
from tests.render.snapshots import incident_snapshot
from tests.render.status.test_view import shown

UNDO = "mend DaemonSet/leak (if its last change is the cause: `kubectl -n default rollout undo daemonset/leak`)"
OFF = "or keep its pods off this node until it is mended"


def status_at(name: str, seconds: float) -> dict[str, Any]:
    snapshot = incident_snapshot(name, seconds)
    return status_of(snapshot, snapshot.at)


def test_a_node_on_which_the_pods_of_one_owner_go_again_and_again_is_not_calm() -> None:
    """An eviction each 8 s was told as `Calm again`, with a look at the last one as the advice."""
    status = status_at("01-recreated-hog", 400)
    assert headline(status).text.startswith(
        "default/leak-51 was evicted 1.0s ago for memory.available, the 52nd pod of DaemonSet/leak in 6m33s; "
        "no threshold is met; MemoryPressure is reported"
    )
    assert remedies(status) == [f"{UNDO}, {OFF}: 52 of its pods were evicted here in 6m33s"]


def test_a_pod_of_that_owner_that_is_being_evicted_is_named_as_the_cause_and_nothing_outside_pods() -> None:
    """It advised to free memory outside pods beside `all of it default/leak-51; nothing else grew`."""
    status = status_at("01-recreated-hog", 398)
    assert headline(status).text.endswith(", the 52nd pod of DaemonSet/leak in 6m32s.")
    assert remedies(status) == [f"{UNDO}, {OFF}: 52 of its pods were evicted here in 6m32s"]
    (alone,) = remedies({**status, "owners": [], "leaving": []})
    assert alone == "end, move or limit default/leak-51, which grew the most"
    assert remedies({**status, "owners": []}) == []


def test_a_pod_in_the_place_of_an_evicted_one_is_not_to_be_ended() -> None:
    """Its owner would have recreated it, as it had the one before."""
    (text,) = remedies(status_at("46-control-recreated-fork-bomb", 245))
    undo = "mend DaemonSet/bomb (if its last change is the cause: `kubectl -n default rollout undo daemonset/bomb`)"
    assert text == (f"{undo}, {OFF}: default/bomb-1 came in the place of default/bomb, which was evicted 1m30s ago")


def test_an_owner_whose_pods_did_not_fill_the_node_or_of_which_few_went_is_left_alone() -> None:
    status = status_at("01-recreated-hog", 398)
    (owner,) = status["owners"]
    few = {**status, "owners": [{**owner, "evicted": AGAIN - 1}]}
    assert (nth_text(few, owner["lastPod"]), owner_remedies(few)) == ("", [])
    innocent = {**status, "owners": [{**owner, "filled": False}]}
    assert nth_text(innocent, owner["lastPod"])
    assert owner_remedies(innocent) == []
    assert owner_remedy(status, "default/web-0") == ""
    assert (
        owner_remedies({**status, "owners": []})
        == owner_remedies({**status, "owners": [{**owner, "dryRun": True}]})
        == []
    )


def test_what_is_mended_depends_on_the_kind_of_the_owner() -> None:
    assert mend_owner("DaemonSet/leak", "default") == f"{UNDO}, {OFF}"
    assert mend_owner("ReplicaSet/web-5d9", "default").startswith("mend what ReplicaSet/web-5d9 runs, or")
    assert mend_owner("Job/import", "default").startswith("stop Job/import, or")


def test_the_new_pod_that_runs_in_the_place_of_the_one_that_filled_the_node_is_named() -> None:
    """`default/web-0 would be evicted first` stood alone, and the new pod went 4 s later."""
    status = status_at("01-recreated-hog", 305)
    said = "default/leak-39, of DaemonSet/leak, runs in the place of default/leak-38: if it grows as that one did, it goes first"
    assert new_pods(status) == [said]
    assert f"<li>{said}.</li>" in page(incident_snapshot("01-recreated-hog", 305))
    assert said in " ".join(shown(status, 200).split())
    (owner,) = status["owners"]
    two = {**status, "owners": [{**owner, "newPods": ["default/leak-39", "default/leak-40"]}]}
    (both,) = new_pods(two)
    assert both.startswith("default/leak-39, default/leak-40, of DaemonSet/leak, run in the place of default/leak-38: ")
    assert both.endswith("if they grow as that one did, they go first")
    first = [{**each, "next": {**each["next"], "pod": "default/leak-39"}} for each in status["signals"]]
    assert new_pods({**status, "signals": first}) == [], "it is named as the first"
    then = [{**each, "stopThen": {"pod": "default/leak-39"}} for each in status["signals"]]
    assert new_pods({**status, "signals": then}) == [], "the headline says that it goes anyway (world 13)"
    assert new_pods({**status, "leaving": [{"pod": "default/leak-39"}]}) == []
    assert new_pods({**status, "owners": [{**owner, "filled": False, "evicted": 1}]}) == []


def test_from_the_second_eviction_on_it_is_said_that_a_new_pod_goes_again() -> None:
    """A StatefulSet's pod went twice for what another pod took: nothing was said of it before the third eviction."""
    status = status_at("01-recreated-hog", 305)
    owner = {**status["owners"][0], "filled": False, "evicted": 2, "newPods": []}
    back = {**owner, "newPods": ["default/leak-39"]}
    again = "2 pods of DaemonSet/leak were evicted here in 4m55s: if it creates one here again that takes as much, "
    runs = "default/leak-39, of DaemonSet/leak, runs in the place of default/leak-38: "
    quiet = {**status, "leaving": []}
    assert new_pods({**quiet, "owners": [owner]}) == [f"{again}that one goes again"]
    assert new_pods({**quiet, "owners": [{**owner, "evicted": 1}]}) == []
    assert new_pods({**quiet, "owners": [back]}) == [f"{runs}if it takes as much as that one did, it goes again"]
    two = {**back, "newPods": ["default/leak-39", "default/leak-40"]}
    (both,) = new_pods({**quiet, "owners": [two]})
    assert both.endswith("if they take as much as that one did, they go again")
    leaves = [{"pod": owner["lastPod"]}]
    assert new_pods({**quiet, "owners": [owner], "leaving": leaves}) == [], "it is named as leaving"
