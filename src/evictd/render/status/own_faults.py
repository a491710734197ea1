"""Names the faults of evictd itself that a person must mend, with what helps against each."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any


class OwnFaultKind(Enum):
    """Faults of evictd itself; a second sentence says what it still does."""

    STUCK = "evictd does not watch this node: its loop stands still, so no threshold is tested and no pod is evicted"
    NODE = "evictd does not see this node: its numbers cannot be read, so no threshold is tested and no pod is evicted"
    PODS = (
        "evictd cannot see the pods: the container runtime does not answer. Thresholds on disks (with policy Kubelet all) wait "
        "until a runtime has said which disks hold images and pods (LayoutUnknown), the others are tested; no pod can be chosen"
    )
    LISTED_PODS = (
        "evictd cannot see new pods: the container runtime does not answer. Thresholds are tested and the usage of pods is "
        "measured; only pods that the runtime listed before can be evicted, and no container or image can be removed"
    )
    CREDENTIALS = (
        "The API server rejects evictd's credentials: conditions, taints and events are not written. Hard thresholds still "
        "stop pods"
    )

    @property
    def wrong(self) -> str:
        """The first sentence, without its full stop: what is wrong."""
        return self.value.partition(". ")[0]

    @property
    def still(self) -> str:
        """What evictd still does, as a sentence; empty where it does nothing."""
        _, _, still = self.value.partition(". ")
        return f"{still}." if still else ""


FAULT_REMEDIES: Mapping[OwnFaultKind, str] = {
    OwnFaultKind.STUCK: "look at evictd's log and restart it; a restart loses no state, except a dry run's",
    OwnFaultKind.NODE: "restore the readings that are named under Health",
    **dict.fromkeys(
        (OwnFaultKind.PODS, OwnFaultKind.LISTED_PODS),
        "look whether the runtime runs (`systemctl status containerd`, or crio; `journalctl --unit containerd`) and restart it; "
        "running pods stay",
    ),
    OwnFaultKind.CREDENTIALS: (
        "delete evictd's pod, whose successor has a token of the new service account; with a systemd unit renew the kubeconfig"
    ),
}
"""What to do about each fault."""


def faults_of(status: Mapping[str, Any]) -> list[OwnFaultKind]:
    """Return the faults that the document of `/statusz` names; one of another version may name others, which are left out."""
    known = {kind.value: kind for kind in OwnFaultKind}
    return [known[text] for text in status.get("faults", ()) if text in known]  # the page's own document has none


def tests_thresholds(faults: Iterable[OwnFaultKind]) -> bool:
    """Whether evictd still tests the thresholds."""
    return not {OwnFaultKind.STUCK, OwnFaultKind.NODE} & set(faults)
