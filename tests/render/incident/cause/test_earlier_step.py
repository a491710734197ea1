"""Checks what is said of what filled the disk before the minute of which growth is measured."""

from dataclasses import replace

from evictd.render.incident.cause.earlier_step import earlier_step_remedy, earlier_step_text
from evictd.render.incident.record.step_before import StepBefore
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.summary import summary_text
from tests.render.recorded_incident import incident
from tests.stories import GI


def test_an_image_that_came_before_is_named() -> None:
    found = replace(incident(), host_filled=False, step=StepBefore(-20.0, 30 * GI))
    said = "30Gi that belong to no pod had come at once by 00:00:10, as an image does"
    assert earlier_step_text(found) == said
    assert said in summary_text(found)
    (remedy,) = earlier_step_remedy(found)
    assert remedy.startswith("less of the 30Gi that came before and belong to no pod")
    assert remedy in avoidance(found).by


def test_nothing_is_said_without_it_or_where_it_is_the_cause_already() -> None:
    for found in (incident(), replace(incident(), host_filled=True, step=StepBefore(-20.0, GI))):
        assert earlier_step_text(found) == ""
        assert earlier_step_remedy(found) == ()
