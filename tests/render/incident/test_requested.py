"""Checks what pods would request of a node, and whether it is too much."""

from dataclasses import replace

from evictd.core.model.signal import Signal
from evictd.render.incident.requested import requested_with
from tests.render.recorded_incident import incident


def test_the_raised_pods_request_what_they_use_and_the_others_what_they_did() -> None:
    found = incident()
    assert requested_with(found, lambda row: row.chosen) == (
        "the pods here would request 7Gi of the 8Gi of the node",
        False,
    )
    assert requested_with(found, lambda row: not row.protected)[1]
    assert requested_with(replace(found, signal=Signal.PID_AVAILABLE), lambda row: True) == ("", False)


def test_of_some_of_the_pods_it_is_not_said_that_all_fit() -> None:
    some = replace(incident(), pods=25)
    assert requested_with(some, lambda row: row.chosen) == ("", False)
    assert requested_with(some, lambda row: not row.protected)[1]
