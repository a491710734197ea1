"""Decides which objects of the API server are the mirrors of this node's static pods.

A kubelet shows each static pod to the API server as a mirror: an object with a uid of its own, the static pod's uid in the
annotation `kubernetes.io/config.mirror`, and the node as its controlling owner (kubelet `pod/mirror_client.go`). Sandboxes,
cgroups and statistics know only the static pod's uid, so the mirror is treated under that uid.

Each of these marks can be written by a pod's author, who could thereby exempt the pod from eviction or replace the entry of
another pod (docs/security.md). What cannot be forged is what the runtime runs: a mirror has no sandbox, and its static pod has
one of the same namespace and name whose `kubernetes.io/config.source`, which the kubelet writes, is not `api`.
"""

from collections.abc import Collection, Mapping
from dataclasses import field, replace

from evictd.codec.pods.slim_pods import SlimPod
from evictd.core.frozen import frozen
from evictd.core.model.pod import Pod, PodSource


@frozen
class KnownSandboxes:
    """The runtime's data about this node's pods that is needed to recognise mirrors."""

    uids: Collection[str] = frozenset()
    """The uids of all pods that have a sandbox."""
    static: Mapping[str, str] = field(default_factory=dict)
    """`namespace/name` by uid, of the pods whose source is not the API server."""


NO_SANDBOXES = KnownSandboxes()
"""The runtime has not answered yet."""


def bound_pod(entry: SlimPod, known: KnownSandboxes) -> Pod:
    """Return the pod that this object represents; no two objects of one list have the same uid.

    A mirror of a static pod with a sandbox here gets that pod's uid. A claimed mirror that has a sandbox itself is an ordinary
    pod. Any other claimed mirror runs nothing and keeps its own uid: it is not evicted, and no statistic belongs to it.
    """
    pod = entry.pod
    if not entry.mirror_of:
        return pod
    if pod.uid in known.uids:
        return replace(pod, source=PodSource.API)
    # Namespace and name belong to one object at a time, so that only one mirror can match.
    return replace(pod, uid=entry.mirror_of) if known.static.get(entry.mirror_of) == pod.full_name else pod
