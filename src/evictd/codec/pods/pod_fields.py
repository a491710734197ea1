"""Finds misspelt names in pods: fields, which decoding skips as the API server does, and resources of containers.

The API server and the kubelet refuse a pod with an unknown resource, so no file that was captured on a node has one. The table
has the fields of Kubernetes 1.37 in the objects that evictd reads and does not read itself (`codec.pods.pod_wire`). What is below
these is not looked at.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from evictd.codec.pods.pod_wire import (
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
from evictd.core.model.pod import Pod
from evictd.core.model.problem import ConfigProblem
from evictd.core.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from evictd.errors import did_you_mean

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
_RESOURCES = (CPU, MEMORY, EPHEMERAL_STORAGE)
_HUGE_PAGES = "hugepages-"


def unknown_pod_fields(scenario: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    """Yield the problem of each field that Kubernetes does not have, in the pods of a scenario that `decode_scenario` took."""
    steps = ((f"steps[{index}].pods", step.get("pods")) for index, step in enumerate(scenario["steps"]))
    for path, pods in chain(((name, scenario.get(name)) for name in ("pods", "admit")), steps):
        for index, pod in enumerate(pods or ()):
            yield from unknown_fields(WirePod, pod, f"{path}[{index}]", _ALSO)


def resource_remedy(name: str) -> str:
    """Return what to write instead of a name that no resource of a container has; empty for a resource."""
    if name in _RESOURCES or name.startswith(_HUGE_PAGES) or "/" in name:
        return ""
    return (
        did_you_mean(name, _RESOURCES)
        or f"give {', '.join(_RESOURCES)}, {_HUGE_PAGES}SIZE, or a name as example.com/gpu"
    )


def resource_problems(pods: Sequence[Pod]) -> Iterator[str]:
    """Yield the problem of each pod's requests and limits that no resource of a container has."""
    for index, pod in enumerate(pods):
        for containers, path in ((pod.containers, "containers"), (pod.init_containers, "initContainers")):
            for number, each in enumerate(containers):
                for field, amounts in (("requests", each.requests), ("limits", each.limits)):
                    for name in sorted(amounts):
                        if remedy := resource_remedy(name):
                            place = f"pods[{index}].spec.{path}[{number}].resources.{field}.{name}"
                            yield f"{place}: {amounts[name]}: is an unknown resource; {remedy}"
