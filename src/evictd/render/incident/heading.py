"""Says first of an incident what it was and what to do now, and what would have avoided it."""

from collections.abc import Iterator

from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.now import now_text
from evictd.render.incident.summary import summary_text


def heading_lines(found: Incident) -> Iterator[str]:
    """Write what the incident was, and what to do now; nothing of what is not known."""
    if short := summary_text(found):
        yield f"in short: {short}"
    if now := now_text(found):
        yield f"now: {now}"


def avoidance_lines(found: Incident) -> Iterator[str]:
    """Write each setting that would have avoided the eviction, and which ones would not have."""
    avoided = avoidance(found)
    for each in avoided.by:
        yield f"would have avoided it: {each}"
    for vain in avoided.in_vain:
        if vain.moves:
            yield f"would have kept this pod, and avoided no eviction: {vain.whole}"
    if settings := "; ".join(each.setting for each in avoided.in_vain if not each.moves):
        yield f"would not have: {settings} (`evictd incident` says why)"
