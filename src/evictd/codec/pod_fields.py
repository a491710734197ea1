"""Finds misspelt fields in the pods of a scenario, which decoding skips as the API server does.

The table has the fields of Kubernetes 1.37 in the objects that evictd reads and does not read itself (`codec.pod_wire`). What is
below these is not looked at.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from evictd.codec.pod_wire import (
    WireContainer,
    WireContainerStatus,
    WireEmptyDir,
    WireMetadata,
    WireOwner,
    WirePod,
    WirePodStatus,
    WireRequirements,
    WireSpec,
    WireToleration,
    WireVolume,
)
from evictd.codec.strict import unknown_fields
from evictd.core.model.problem import ConfigProblem

_NOT_READ: Mapping[type[msgspec.Struct], str] = {
    WirePod: "apiVersion kind",
    WireMetadata: "creationTimestamp deletionTimestamp finalizers generateName managedFields selfLink",
    WireOwner: "blockOwnerDeletion",
    WireSpec: """
        activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks
        ephemeralContainers evictionResponders hostAliases hostIPC hostNetwork hostPID hostname
        hostnameOverride imagePullSecrets nodeSelector os preemptionPolicy readinessGates resourceClaims restartPolicy
        runtimeClassName schedulerName schedulingGates schedulingGroup securityContext serviceAccount serviceAccountName
        setHostnameAsFQDN shareProcessNamespace subdomain topologySpreadConstraints
    """,
    WireContainer: """
        args command env envFrom image imagePullPolicy lifecycle livenessProbe ports readinessProbe resizePolicy
        restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy
        tty volumeDevices volumeMounts workingDir
    """,
    WireRequirements: "claims",
    WireToleration: "tolerationSeconds",
    WireVolume: """
        awsElasticBlockStore azureDisk azureFile cephfs cinder csi ephemeral fc flexVolume flocker gcePersistentDisk
        glusterfs image iscsi nfs persistentVolumeClaim photonPersistentDisk portworxVolume quobyte rbd scaleIO
        storageos vsphereVolume
    """,
    WireEmptyDir: "mode",
    WirePodStatus: """
        conditions ephemeralContainerStatuses extendedResourceClaimStatus hostIP hostIPs message
        nodeAllocatableResourceClaimStatuses nominatedNodeName observedGeneration podIP podIPs resize
        resourceClaimStatuses startTime volumeHealth
    """,
    WireContainerStatus: """
        allocatedResourcesStatus containerID image imageID lastState ready restartCount started state stopSignal user
        volumeMounts
    """,
}
_ALSO = {kind: names.split() for kind, names in _NOT_READ.items()}


def unknown_pod_fields(scenario: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    """Yield the problem of each field that Kubernetes does not have, in the pods of a scenario that `decode_scenario` took."""
    steps = ((f"steps[{index}].pods", step.get("pods")) for index, step in enumerate(scenario["steps"]))
    for path, pods in chain(((name, scenario.get(name)) for name in ("pods", "admit")), steps):
        for index, pod in enumerate(pods or ()):
            yield from unknown_fields(WirePod, pod, f"{path}[{index}]", _ALSO)
