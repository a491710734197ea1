"""Says of a pod that only came back which growth of others had made the node short before its predecessor went."""

from dataclasses import replace

from evictd.render.attribution import clock_text
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.avoided import Avoidance
from evictd.render.text import first_of

_NAMED = 3


def came_back_cause(found: Incident, first: Incident, cause: str) -> str:
    """Write the cause of the first eviction, and that the pod came in place of the one that went then, or was there already."""
    at = f"at {clock_text(first.event.at)}, incident {first.id}"
    was = "would have been" if found.event.dry_run else "was"
    there = any(each.pod == found.event.pod for each in first.ranking)
    return f"{cause} ({at}); {found.event.pod} {f'{was} evicted for that as well' if there else 'came in its place'}"


def comes_again_text(found: Incident) -> str:
    """Write that the next pod makes the node short again while what grew before the first runs; empty where none of it does."""
    runs = _still_there(found)
    if not runs:
        return ""
    holds = "hold what they" if runs[1:] else "holds what it"
    return (
        f"the next pod of {found.event.owner} may make the node short again while {first_of(runs, _NAMED)} {holds} took: "
        "see what would have avoided it"
    )


def at_the_first(first: Incident, avoided: Avoidance) -> Avoidance:
    """Return what would have avoided the first eviction, with its pod and time: that may not be the first of the journal."""
    at = f"at the eviction of {first.event.pod} at {clock_text(first.event.at)}"
    return Avoidance(
        by=tuple(f"{at}: {each}" for each in avoided.by),
        in_vain=tuple(replace(each, at=at) for each in avoided.in_vain),
    )


def _still_there(found: Incident) -> list[str]:
    growers = () if found.first is None or found.first.verdict is None else found.first.verdict.notable
    return [each.pod or "what belongs to no pod" for each in growers if not each.pod or each.pod in found.running]
