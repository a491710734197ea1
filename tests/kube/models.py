"""Checks that an object conforms to the API's types.

The types are those that the API server publishes as OpenAPI, carried by the `kubernetes` package as models. An unknown
field is a fault, so is a value of the wrong type or a required field that is missing; each fault names its path.
"""

import re
from datetime import datetime
from typing import Any

from kubernetes import client

MODELS = {
    ("v1", "Pod"): "V1Pod",
    ("v1", "PodList"): "V1PodList",
    ("v1", "Node"): "V1Node",
    ("v1", "Event"): "CoreV1Event",
    ("events.k8s.io/v1", "Event"): "EventsV1Event",
    ("coordination.k8s.io/v1", "Lease"): "V1Lease",
    ("policy/v1", "Eviction"): "V1Eviction",
    ("v1", "DeleteOptions"): "V1DeleteOptions",
    ("v1", "Namespace"): "V1Namespace",
    ("v1", "ConfigMap"): "V1ConfigMap",
    ("v1", "ServiceAccount"): "V1ServiceAccount",
    ("v1", "Service"): "V1Service",
    ("v1", "Secret"): "V1Secret",
    ("v1", "ResourceQuota"): "V1ResourceQuota",
    ("networking.k8s.io/v1", "NetworkPolicy"): "V1NetworkPolicy",
    ("apps/v1", "DaemonSet"): "V1DaemonSet",
    ("batch/v1", "Job"): "V1Job",
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): "V1ClusterRole",
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): "V1ClusterRoleBinding",
    ("rbac.authorization.k8s.io/v1", "Role"): "V1Role",
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): "V1RoleBinding",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): "V1ValidatingAdmissionPolicy",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): "V1ValidatingAdmissionPolicyBinding",
}
_OF = re.compile(r"(List|Dict)\[(?:str, )?(.+)\]")
_SCALARS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "bytes": (str,),
}


def faults(value: dict[str, Any]) -> list[str]:
    """Every fault of an object that names its own kind."""
    key = (str(value.get("apiVersion")), str(value.get("kind")))
    if key not in MODELS:
        return [f"apiVersion/kind: {key} is not known"]
    return check(value, MODELS[key], key[1])


def check(value: object, model: str, path: str = "") -> list[str]:
    """Every fault of a value against a type as the models spell it: `V1Pod`, `List[str]`, `Dict[str, V1Foo]`, `datetime`."""
    if value is None or model == "object":
        return []
    if inner := _OF.fullmatch(model):
        return _check_collection(value, inner[1], inner[2], path)
    if model == "datetime":
        return [] if _is_time(value) else [f"{path}: {value!r} is no time"]
    if model in _SCALARS:
        good = isinstance(value, _SCALARS[model]) and (model == "bool" or not isinstance(value, bool))
        # IntOrString is published as `object`; a plain `int` field never takes a string.
        return [] if good else [f"{path}: {value!r} is no {model}"]
    return _check_fields(value, model, path)


def _check_collection(value: object, kind: str, inner: str, path: str) -> list[str]:
    if kind == "List":
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no list"]
        return [fault for i, item in enumerate(value) for fault in check(item, inner, f"{path}[{i}]")]
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no map"]
    return [fault for key, item in value.items() for fault in check(item, inner, f"{path}.{key}")]


def _check_fields(value: object, model: str, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no {model}"]
    cls = getattr(client, model)
    types = {cls.attribute_map[name]: kind for name, kind in cls.openapi_types.items()}
    found = [f"{path}.{key}: not a field of {model}" for key in value if key not in types]
    for name, field in cls.model_fields.items():
        wire = field.serialization_alias or name
        if field.is_required() and wire not in value:
            found.append(f"{path}.{wire}: required by {model}")
    for key, item in value.items():
        if key in types:
            found += check(item, types[key], f"{path}.{key}")
    return found


def _is_time(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
