"""Says of a shortage that a pod caused which may not go why no other pod goes in its place, and what is needed."""

from evictd.core.eviction.shortage import needed_with_growth
from evictd.core.model.finding import NoAction
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Resource
from evictd.render.text import clean, pod_name, usage_text


def culprit_parts(finding: NoAction, culprit: Pod, resource: Resource) -> tuple[str, str]:
    """Return why no pod goes in the place of a culprit that may not go: which it is and why it may not, and then the amounts."""
    name = pod_name(culprit)
    if finding.needed is None:
        why = clean(finding.detail) or "stalls and may not be evicted now"
        return f"{name} {why}", "; no other pod goes in its place"
    pod = f"{name} {clean(finding.detail) or 'holds or grows more and may not go'}"
    pod = pod.replace("all of them", "all pods that may be evicted")
    reachable = "-" if finding.reachable is None else usage_text(finding.reachable.value(), resource)
    needed = needed_with_growth(finding, resource)
    held = f"The others that may be evicted hold {reachable} together"
    if finding.reachable is not None and not finding.reachable.nano:
        return pod, f"; {needed}, and no pod that may be evicted holds any"
    if finding.suffices:
        return f"{pod}, and no pod within its request goes in its place yet", f"; {needed}. {held}"
    return pod, f"; {needed}. {held}, so evicting them would not help"
