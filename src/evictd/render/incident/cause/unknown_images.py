"""Says of an eviction for a disk that the end of another pod, with its image deleted, may have relieved the node as well."""

from evictd.core.model.finding import SkipReason
from evictd.core.model.signal import Resource
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import UNKNOWN_NEED, Need
from evictd.render.text import amount_text, first_of

_NAMED = 3
"""How many pods are named."""


def passed_over_with_image(found: Incident) -> tuple[str, ...]:
    """Return the pods that rank before one within its request and may have relieved the node with an image, `namespace/name`.

    An image that no other pod uses can be deleted after the end of its pod. The journal has no sizes of images: they are a part
    of what belongs to no pod.
    """
    victim, need = found.victim, None if found.verdict is None else found.verdict.need
    if found.resource is not Resource.EPHEMERAL_STORAGE or need is not Need.NEEDED or victim is None:
        return ()
    if (victim.usage or 0) > victim.request or not found.missing or (found.elsewhere or 0) < found.missing:
        return ()
    before = (row for row in found.ranking if row.number < victim.number)
    return tuple(row.pod for row in before if row.skipped == SkipReason.UNNECESSARY.value)


def unknown_images_text(found: Incident) -> str:
    """Write what is not known for want of the sizes of images; empty where no image may have been enough."""
    pods = passed_over_with_image(found)
    if not pods:
        return ""
    one = len(pods) == 1
    whose = "ranks before it, and whether its end" if one else "rank before it, and whether the end of one of them"
    relieved = "it relieved the node; " if found.relieved else ""
    then = "would have as well" if relieved else "would have relieved the node"
    image = f"{whose} {then}, with its image deleted afterwards, is not known: the journal has no sizes of images"
    return f"{UNKNOWN_NEED}{relieved}{first_of(pods, _NAMED)} {image}"


def images_remedy(found: Incident) -> tuple[str, ...]:
    """Write how much belongs to no pod, and what shows the sizes of images; empty where no image may have been enough."""
    if not passed_over_with_image(found):
        return ()
    held = amount_text(found.elsewhere or 0, Resource.EPHEMERAL_STORAGE)
    most = f"where they are most of the {held} that belong to no pod"
    return (f"smaller images or fewer of them, {most}: `crictl images` shows their sizes",)
