"""Says what filled the disk before the minute of which growth is measured, where it belongs to no pod."""

from evictd.codec.times import rfc3339
from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND
from evictd.render.attribution import clock_text
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.incident import Incident
from evictd.render.text import amount_text


def earlier_step_text(found: Incident) -> str:
    """Write how much of what belongs to no pod came, and when; empty where nothing came, or what filled it is of no pod."""
    if found.step is None or found.host_filled:
        return ""
    held = amount_text(found.step.of_no_pod, Resource.EPHEMERAL_STORAGE)
    at = clock_text(rfc3339(time_of(found.event.at) + round(found.step.at * SECOND)))
    return f"{held} that belong to no pod had come at once by {at}, as an image does"


def earlier_step_remedy(found: Incident) -> tuple[str, ...]:
    """Write what would have left that free; empty without it."""
    if found.step is None or not earlier_step_text(found):
        return ()
    held = amount_text(found.step.of_no_pod, Resource.EPHEMERAL_STORAGE)
    return (f"less of the {held} that came before and belong to no pod: `crictl images` shows the sizes of images",)
