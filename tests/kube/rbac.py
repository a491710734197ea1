"""Authorises requests by RBAC as the API server does, from the YAML of `deploy/`.

A request is allowed if one rule of one role bound to the user names its verb, API group, resource (with `/subresource`) and,
where the rule has `resourceNames`, its name. `node_rules` are the built-in rules of a node's own identity, as far as evictd
needs them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """The attributes of one request that authorisation uses."""

    user: str
    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A rule with its subject and its namespace (empty: all namespaces)."""

    user: str
    namespace: str
    rule: Json

    def allows(self, request: Attributes) -> bool:
        resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
        return (
            self.user == request.user
            and self.namespace in ("", request.namespace)
            and request.verb in self.rule["verbs"]
            and request.group in self.rule["apiGroups"]
            and resource in self.rule["resources"]
            and (not self.rule.get("resourceNames") or request.name in self.rule["resourceNames"])
        )


class Rbac:
    """The grants of a set of manifests."""

    def __init__(self, grants: Iterable[Grant]) -> None:
        self.grants = tuple(grants)

    @classmethod
    def of_manifests(cls, manifests: Iterable[Json]) -> "Rbac":
        every = list(manifests)
        roles = {
            (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]): item["rules"]
            for item in every
            if item["kind"] in {"Role", "ClusterRole"}
        }
        return cls(
            Grant(user=_user(subject), namespace=namespace, rule=rule)
            for item in every
            if item["kind"] in {"RoleBinding", "ClusterRoleBinding"}
            for namespace in [item["metadata"].get("namespace", "") if item["kind"] == "RoleBinding" else ""]
            for rule in roles[
                (
                    item["roleRef"]["kind"],
                    namespace if item["roleRef"]["kind"] == "Role" else "",
                    item["roleRef"]["name"],
                )
            ]
            for subject in item["subjects"]
        )

    def allows(self, request: Attributes) -> bool:
        return any(grant.allows(request) for grant in self.grants)


def _user(subject: Json) -> str:
    if subject["kind"] == "ServiceAccount":
        return f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    return str(subject["name"])


def node_rules(node: str) -> Rbac:
    """The rules of the built-in role of a node's identity that concern evictd (`bootstrappolicy.NodeRules`)."""
    rules: list[Json] = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "delete"]},
        {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    ]
    return Rbac(Grant(user=f"system:node:{node}", namespace="", rule=rule) for rule in rules)
