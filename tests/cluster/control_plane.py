"""A real etcd and kube-apiserver on free ports of loopback, with certificates and identities of their own; needs no root.

    with processes.folder() as folder, ControlPlane(folder, programs) as plane:
        plane.admin.request("GET", "/api/v1/nodes")
        Credentials(str(plane.kubeconfig("admin")))

Identities are static tokens (`USERS`); `service_account_token` gives the bound tokens of pods. Every request is in `audit.log`.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import urllib3
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.cluster.binaries import Programs
from tests.cluster.processes import Process
from tests.kube.admin import Admin
from tests.kube.certs import Authority
from tests.kube.waiting import eventually
from tests.ports import free_ports

Json = dict[str, Any]
PROGRAMS = ("etcd", "kube-apiserver")
USERS = {
    "admin": ("admin", "system:masters"),
    "other": ("other-writer", "system:masters"),
    "evictd": ("evictd", "system:masters"),
    "node": ("system:node:n1", "system:nodes"),
    "controllers": ("system:kube-controller-manager", "system:masters"),
    "scheduler": ("system:kube-scheduler", "system:masters"),
}
"""Name of the kubeconfig: user name and group."""
BRING_UP_SECONDS = 120.0
_AUDIT = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, verbs: [create, patch, delete, update]}
- {level: Metadata}
"""


class ControlPlane:
    """etcd and kube-apiserver; `start` and `stop` one by name through `processes`."""

    def __init__(self, folder: Path, programs: Programs) -> None:
        self.folder = folder
        self.authority = Authority(folder)
        self.tokens = {name: secrets.token_hex(16) for name in USERS}
        self.port, client, peer = free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self.audit_log = folder / "audit.log"
        self.etcd = Process("etcd", folder, _etcd(folder, programs["etcd"], client, peer))
        self._write_files()
        self.apiserver = Process("kube-apiserver", folder, self._apiserver(programs["kube-apiserver"], client))
        self.admin = self.client("admin")

    def __enter__(self) -> Self:
        self.etcd.start()
        self.apiserver.start()
        self.wait_until_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.admin.close()
        self.apiserver.stop()
        self.etcd.stop()

    def wait_until_ready(self) -> None:
        """Wait for `/readyz`, and for the namespaces that the server itself makes."""
        eventually(self._ready, BRING_UP_SECONDS)

    def _ready(self) -> bool:
        for process in (self.etcd, self.apiserver):
            assert process.running(), f"{process.name} has ended: {process.last_words()}"
        paths = ("/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-node-lease")
        try:
            return all(self.admin.request("GET", path).status == 200 for path in paths)
        except urllib3.exceptions.HTTPError:
            return False

    def controller_manager(self, program: Path, *controllers: str) -> Process:
        """Describe a controller manager with these controllers only; it is the caller's to start and stop."""
        flags = {
            "kubeconfig": str(self.kubeconfig("controllers")),
            "controllers": ",".join(controllers),
            "service-account-private-key-file": str(self.folder / "sa.key"),
            "root-ca-file": str(self.authority.cert),
            "leader-elect": "false",
            "secure-port": "0",
        }
        arguments = [str(program), *(f"--{name}={value}" for name, value in flags.items())]
        return Process("kube-controller-manager", self.folder, arguments)

    def client(self, user: str) -> Admin:
        """A client of one of `USERS`."""
        return self.client_with(self.tokens[user])

    def client_with(self, token: str) -> Admin:
        """A client with any token."""
        return Admin(self.url, self.authority.cert, token)

    def kubeconfig(self, user: str = "admin") -> Path:
        """Write the kubeconfig of one of `USERS`."""
        return self.kubeconfig_with({"token": self.tokens[user]}, f"{user}.kubeconfig")

    def kubeconfig_with(self, user: Mapping[str, Any], name: str) -> Path:
        """Write a kubeconfig with this `user` entry."""
        cluster = {"server": self.url, "certificate-authority": str(self.authority.cert)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "t",
            "clusters": [{"name": "c", "cluster": cluster}],
            "contexts": [{"name": "t", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": dict(user)}],
        }
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path

    def service_account_token(self, namespace: str, name: str, bound: Json | None = None) -> str:
        """Request a token of a service account, bound to a pod or node where one is given."""
        spec: Json = {"audiences": [], "expirationSeconds": 3600}
        if bound is not None:
            meta = bound["metadata"]
            spec["boundObjectRef"] = {
                "kind": bound["kind"],
                "apiVersion": "v1",
                "name": meta["name"],
                "uid": meta["uid"],
            }
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return str(self.admin.must("POST", path, body)["status"]["token"])

    def _write_files(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        (self.folder / "sa.key").write_bytes(key)
        lines = [f'{self.tokens[name]},{user},{name}-uid,"{group}"' for name, (user, group) in USERS.items()]
        (self.folder / "tokens.csv").write_text("\n".join(lines) + "\n")
        (self.folder / "audit.yaml").write_text(_AUDIT)

    def _apiserver(self, program: Path, etcd_port: int) -> list[str]:
        folder = self.folder
        server = self.authority.issue("kube-apiserver", server=True)
        kubelet_client = self.authority.issue("kubelet-client")
        flags = {
            "etcd-servers": f"http://127.0.0.1:{etcd_port}",
            "bind-address": "127.0.0.1",
            "secure-port": str(self.port),
            "advertise-address": "192.0.2.2",  # a documentation address; nothing speaks to it
            "endpoint-reconciler-type": "none",
            "service-cluster-ip-range": "192.0.2.128/25",
            "cert-dir": str(folder / "apiserver-certs"),
            "tls-cert-file": str(server.cert),
            "tls-private-key-file": str(server.key),
            "client-ca-file": str(self.authority.cert),
            "token-auth-file": str(folder / "tokens.csv"),
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction,ValidatingAdmissionPolicy",
            "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
            "service-account-key-file": str(folder / "sa.key"),
            "service-account-signing-key-file": str(folder / "sa.key"),
            "audit-policy-file": str(folder / "audit.yaml"),
            "audit-log-path": str(self.audit_log),
            "kubelet-client-certificate": str(kubelet_client.cert),
            "kubelet-client-key": str(kubelet_client.key),
            "kubelet-preferred-address-types": "InternalIP",
        }
        return [str(program), *(f"--{name}={value}" for name, value in flags.items())]


def _etcd(folder: Path, program: Path, client: int, peer: int) -> list[str]:
    flags = {
        "data-dir": str(folder / "etcd"),
        "listen-client-urls": f"http://127.0.0.1:{client}",
        "advertise-client-urls": f"http://127.0.0.1:{client}",
        "listen-peer-urls": f"http://127.0.0.1:{peer}",
        "initial-advertise-peer-urls": f"http://127.0.0.1:{peer}",
        "initial-cluster": f"default=http://127.0.0.1:{peer}",
        "log-level": "warn",
    }
    return [str(program), "--unsafe-no-fsync", *(f"--{name}={value}" for name, value in flags.items())]
