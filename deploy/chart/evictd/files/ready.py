"""Waits until a DaemonSet has a ready pod of its present revision on each selected node; `helm test` runs it in evictd's image.

    python ready.py NAMESPACE NAME SECONDS

It needs the standard library alone, so that it runs in any version of the image. Exit status 1: what is missing after SECONDS.
"""

import json
import os
import ssl
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
INTERVAL_SECONDS = 2


def missing(daemon_set: dict[str, Any]) -> str:
    """Return what is missing; empty if nothing is."""
    status = daemon_set["status"]
    if status.get("observedGeneration", 0) < daemon_set["metadata"]["generation"]:
        return "the DaemonSet's controller has not seen this revision yet"
    wanted = status["desiredNumberScheduled"]
    if not wanted:
        return "no node is selected: compare the values nodeSelector, affinity and tolerations with the nodes"
    for field, text in (("updatedNumberScheduled", "have this revision"), ("numberReady", "are ready")):
        if status.get(field, 0) < wanted:
            return f"{status.get(field, 0)} of {wanted} pods {text}"
    return ""


def read(namespace: str, name: str) -> dict[str, Any]:
    """Ask the API server for a DaemonSet, as the pod's service account."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    server = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    url = f"https://{server}/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}"
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    headers = {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"}
    with urlopen(Request(url, headers=headers), timeout=10, context=trusted) as answer:
        return dict(json.load(answer))


def main(namespace: str, name: str, seconds: str) -> int:
    """Ask until nothing is missing; print each new answer."""
    until = time.monotonic() + float(seconds)
    last = ""
    while True:
        try:
            found = missing(read(namespace, name))
        except OSError as error:  # among them what the server refuses
            found = f"the API server does not answer: {error}"
        if not found:
            print(f"{name}: a ready pod on each selected node")
            return 0
        if found != last:
            print(f"{name}: {found}", flush=True)
        last = found
        if time.monotonic() > until:
            print(f"not ready after {seconds} s: kubectl --namespace {namespace} describe daemonset,pods")
            return 1
        time.sleep(INTERVAL_SECONDS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
