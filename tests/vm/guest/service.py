"""Runs evictd as an installed systemd service, and reads its state from systemd and its HTTP pages."""

import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.vm.guest.node import ENDPOINT, MANIFESTS
from tests.vm.guest.waiting import wait_for

JOB = Path("/srv/job")
NAME = "evictd.service"
UNIT = Path("/etc/systemd/system") / NAME
CONFIG = Path("/etc/evictd/config.yaml")
STATE = Path("/var/lib/evictd")
CGROUP = Path("/sys/fs/cgroup/evictd.slice") / NAME
PAGES = "http://127.0.0.1:10277"
START_SECONDS = 150

# What a package would install as a console script.
LAUNCHER = """#!/usr/bin/python3
import sys
sys.path[:0] = ["/srv/job/site", "/srv/job/src"]
from evictd.__main__ import main
sys.exit(main())
"""

KUBELET_DEFAULTS: Mapping[str, object] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cgroupDriver": "systemd",
    "containerRuntimeEndpoint": ENDPOINT,
    "staticPodPath": str(MANIFESTS),
    "evictionHard": {"memory.available": "100Mi"},
    "evictionPressureTransitionPeriod": "5s",
    "imageGCHighThresholdPercent": 100,
}
EVICTD_DEFAULTS: Mapping[str, object] = {
    "apiVersion": "evictd.io/v1alpha1",
    "kind": "EvictdConfiguration",
    "allowApiPodsStandalone": True,  # the pods are as a kubelet runs those of an API server
}


def systemctl(*arguments: str, check: bool = True) -> str:
    return subprocess.run(["systemctl", *arguments], check=check, capture_output=True, text=True).stdout


def install() -> None:
    """Put the units of deploy/ in place, and the program."""
    for name in (NAME, "evictd.slice"):
        shutil.copy(JOB / "deploy" / name, UNIT.parent)
    drop_in = UNIT.with_suffix(".service.d")
    drop_in.mkdir(exist_ok=True)
    shutil.copy(JOB / "deploy" / "notify-reload.conf", drop_in)
    shutil.copy(JOB / "deploy" / "evictd.tmpfiles", "/usr/lib/tmpfiles.d/evictd.conf")
    subprocess.run(["systemd-tmpfiles", "--create", "evictd.conf"], check=True)
    launcher = Path("/usr/bin/evictd")
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    systemctl("daemon-reload")


def configure(kubelet: Mapping[str, object], evictd: Mapping[str, object] | None = None) -> None:
    """Write the configuration: the defaults above, and what is given over them (JSON is YAML)."""
    CONFIG.parent.mkdir(exist_ok=True)
    documents = ({**KUBELET_DEFAULTS, **kubelet}, {**EVICTD_DEFAULTS, **(evictd or {})})
    CONFIG.write_text("\n---\n".join(json.dumps(document, indent=1) for document in documents) + "\n")


def start() -> None:
    """Start the service; returns after its READY notification to systemd."""
    subprocess.run(["systemctl", "start", NAME], check=False, timeout=START_SECONDS)
    if shown("ActiveState") != "active":
        raise AssertionError(f"not active: {systemctl('status', NAME, check=False)}\n{log_text()}")


def stop() -> None:
    """Stop the service and forget what it remembered."""
    systemctl("stop", NAME)
    systemctl("reset-failed", NAME, check=False)
    shutil.rmtree(STATE, ignore_errors=True)


def shown(prop: str) -> str:
    """Ask systemd for one property of the service."""
    return systemctl("show", NAME, "--property", prop, "--value").strip()


def main_pid() -> int:
    return int(shown("MainPID"))


def log_text() -> str:
    """Everything the service has logged since the machine was booted."""
    argv = ["journalctl", "--no-pager", "--output=cat", "--unit", NAME]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def page(path: str) -> str:
    """Get one of evictd's pages; raises `OSError` while evictd does not listen."""
    with urllib.request.urlopen(PAGES + path, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def status() -> dict[str, Any]:
    """The status document that `evictd status` reads."""
    document: dict[str, Any] = json.loads(page("/statusz"))
    return document


def metric(name: str, **labels: str) -> float:
    """Read one sample off /metrics; 0 where it is not there (yet)."""
    for line in page("/metrics").splitlines():
        sample, _, value = line.rpartition(" ")
        if sample.partition("{")[0] == name and all(f'{key}="{text}"' in sample for key, text in labels.items()):
            return float(value)
    return 0.0


def conditions() -> dict[str, str]:
    """Read the node's conditions by type."""
    try:
        document = json.loads((STATE / "conditions.json").read_text())
    except OSError:
        return {}
    return {entry["type"]: entry["status"] for entry in document["conditions"]}


def wait_until_watching() -> None:
    """Wait for the first cycle to have been shown."""

    def seen() -> bool:
        try:
            return bool(status()["signals"])
        except (OSError, urllib.error.HTTPError, KeyError):
            return False

    wait_for(seen, START_SECONDS, "the first cycle on /statusz")
