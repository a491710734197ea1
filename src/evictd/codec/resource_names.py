"""Tells the resources that a container can have from names that a person misspelt.

The API server and the kubelet refuse a pod with such a name, so no file that was captured on a node has one.
"""

from collections.abc import Iterator, Sequence

from evictd.core.model.pod import Pod
from evictd.core.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from evictd.errors import did_you_mean

_KNOWN = (CPU, MEMORY, EPHEMERAL_STORAGE)
_HUGE_PAGES = "hugepages-"


def resource_remedy(name: str) -> str:
    """Return what to write instead of a name that no resource of a container has; empty for a resource."""
    if name in _KNOWN or name.startswith(_HUGE_PAGES) or "/" in name:
        return ""
    return did_you_mean(name, _KNOWN) or f"give {', '.join(_KNOWN)}, {_HUGE_PAGES}SIZE, or a name as example.com/gpu"


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
