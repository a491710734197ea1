"""Files as `kubectl get pods -o json` and the kubelet's `/stats/summary` give them."""

import json
from pathlib import Path
from typing import Any

GI = 1 << 30


def pods_json(folder: Path, *, node: str = "node-1") -> Path:
    """Two pods on the node, one elsewhere, one that has ended; with fields that evictd does not read."""
    items = [
        _pod("web", node),
        _pod("db", node, priority=100),
        _pod("elsewhere", "node-2"),
        _pod("job", node, phase="Succeeded"),
    ]
    path = folder / "pods.json"
    path.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"resourceVersion": ""}})
    )
    return path


def _pod(name: str, node: str, *, priority: int = 0, phase: str = "Running") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "nodeName": node,
            "priority": priority,
            "dnsPolicy": "ClusterFirst",
            "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}}],
        },
        "status": {"phase": phase, "qosClass": "Burstable", "podIP": "10.0.0.1"},
    }


def summary_json(folder: Path, minute: int, *, web: int, db: int = GI) -> Path:
    """A node of 8 GiB of which the two pods use so many bytes, and the system one GiB."""
    time = f"2026-01-01T00:{minute:02}:00Z"
    used = GI + web + db
    fs = {
        "time": time,
        "availableBytes": 80 * GI,
        "capacityBytes": 100 * GI,
        "usedBytes": 20 * GI,
        "inodesFree": 900,
        "inodes": 1000,
    }
    document = {
        "node": {
            "nodeName": "node-1",
            "startTime": "2025-12-01T00:00:00Z",
            "cpu": {"time": time, "usageNanoCores": 5},
            "memory": {"time": time, "availableBytes": 8 * GI - used, "usageBytes": used, "workingSetBytes": used},
            "fs": fs,
            "runtime": {"imageFs": fs, "containerFs": fs},
            "rlimit": {"time": time, "maxpid": 4000, "curproc": 100},
        },
        "pods": [
            {
                "podRef": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
                "startTime": "2026-01-01T00:00:00Z",
                "containers": [{"name": "main", "memory": {"time": time, "workingSetBytes": amount}}],
                "memory": {"time": time, "workingSetBytes": amount},
                "network": {"time": time},
            }
            for name, amount in (("web", web), ("db", db))
        ],
    }  # fmt: skip
    path = folder / f"summary-{minute}.json"
    path.write_text(json.dumps(document))
    return path
