"""Checks when it is said that an image, whose size is not known, may have been enough."""

from dataclasses import replace

import pytest

from evictd.core.model.finding import SkipReason
from evictd.core.model.signal import Signal
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.incident.cause.unknown_images import images_remedy, passed_over_with_image, unknown_images_text
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.view import incident_document
from tests.render.recorded_incident import incident
from tests.stories import GI


def row(number: int, pod: str, *, request: int, skipped: str = "", chosen: bool = False) -> IncidentRow:
    return IncidentRow(
        number=number,
        pod=pod,
        usage=2 * GI,
        request=request,
        priority=0,
        protected=False,
        chosen=chosen,
        skipped=skipped,
    )


MODEL = row(1, "default/model", request=0, skipped=SkipReason.UNNECESSARY.value)
APP = row(2, "default/app", request=3 * GI, chosen=True)
FOUND = replace(
    incident(),
    signal=Signal.NODEFS_AVAILABLE,
    ranking=(MODEL, APP),
    verdict=EvictionVerdict(need=Need.NEEDED, pod="default/app", fewest=("default/app",), played=1),
    elsewhere=60 * GI,
)
"""A pod within its request went, and another one ranks before it."""


def test_the_end_of_a_pod_within_its_request_is_not_called_needed() -> None:
    """An innocent pod went in place of the pod of a large image, and its end was called needed."""
    assert passed_over_with_image(FOUND) == ("default/model",)
    then = "with its image deleted afterwards, is not known: the journal has no sizes of images"
    relieved = (
        "whether its end was needed is not known: it relieved the node; default/model ranks before it, "
        f"and whether its end would have as well, {then}"
    )
    assert unknown_images_text(FOUND) == relieved
    document = incident_document(FOUND)
    assert (document["need"], document["account"]) == (None, relieved)


def test_what_belongs_to_no_pod_is_named_with_the_command_that_shows_images() -> None:
    """The only advice was less growth of a pod that was within its request."""
    (remedy,) = images_remedy(FOUND)
    assert "the 60Gi that belong to no pod" in remedy
    assert "`crictl images`" in remedy
    assert remedy in avoidance(FOUND).by


def test_of_several_it_may_have_been_one() -> None:
    two = replace(
        FOUND, ranking=(MODEL, replace(MODEL, number=2, pod="default/web"), replace(APP, number=3)), known_for=0.0
    )
    assert unknown_images_text(two).startswith(
        "whether its end was needed is not known: default/model, default/web rank before it, "
        "and whether the end of one of them would have relieved the node, with"
    )


@pytest.mark.parametrize(
    "found",
    [
        replace(FOUND, signal=Signal.NODEFS_INODES_FREE),
        replace(FOUND, verdict=None),
        replace(FOUND, ranking=(MODEL, replace(APP, request=0))),
        replace(FOUND, ranking=(replace(MODEL, skipped=""), APP)),
        replace(FOUND, elsewhere=GI // 2),
    ],
    ids=["of inodes", "need not known", "beyond its request", "not passed over", "too little belongs to no pod"],
)
def test_else_it_is_not_said(found: Incident) -> None:
    assert (passed_over_with_image(found), unknown_images_text(found), images_remedy(found)) == ((), "", ())
