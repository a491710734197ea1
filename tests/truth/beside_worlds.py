"""Worlds in which a pod above its request goes for what another one holds: a leak within its request, or a static pod."""

from typing import Any

_WEB = {"count": 5, "requests": {"memory": "500Mi"}, "behaviours": [{"hold": {"of": "memory", "amount": "450Mi"}}]}
_Document = dict[str, Any]


def leak_within_request() -> _Document:
    """Return a world whose database leaks within its request until a small pod above its own goes."""
    leak = [{"hold": {"of": "memory", "amount": "1Gi"}}, {"grow": {"of": "memory", "rate": "5Mi", "start": "1m"}}]
    db = {"name": "db", "priority": 1000, "requests": {"memory": "4Gi"}, "behaviours": leak}
    held = [{"hold": {"of": "memory", "amount": "1250Mi"}}]
    cache = {"name": "cache", "requests": {"memory": "400Mi"}, "behaviours": held}
    return _world([db, cache, {"name": "web", **_WEB}], "14m")


def early_leak_beside_host() -> _Document:
    """Return a world whose pod leaks within its request for four minutes, beside 800Mi of the host that stand still."""
    leak = [{"hold": {"of": "memory", "amount": "500Mi"}}, {"grow": {"of": "memory", "rate": "10Mi"}}]
    held = [{"hold": {"of": "memory", "amount": "2500Mi"}}]
    worker = {
        "count": 2,
        "requests": {"memory": "256Mi"},
        "behaviours": [{"hold": {"of": "memory", "amount": "700Mi"}}],
    }
    pods: list[_Document] = [
        {"name": "db", "requests": {"memory": "1Gi"}, "behaviours": held},
        {"name": "leak", "requests": {"memory": "3Gi"}, "behaviours": leak},
        {"name": "worker", **worker},
    ]
    host = [{"name": "system", "behaviours": [{"hold": {"of": "memory", "amount": "800Mi"}}]}]
    return {**_world(pods, "8m"), "host": host}


def static_pod_before() -> _Document:
    """Return a world whose static pod grows far beyond its request, long before a pod starts and another one goes for it."""
    grows = [
        {"hold": {"of": "memory", "amount": "500Mi"}},
        {"grow": {"of": "memory", "rate": "20Mi", "bound": "3500Mi"}},
    ]
    proxy = {"name": "proxy", "static": True, "requests": {"memory": "500Mi"}, "behaviours": grows}
    starts = [{"grow": {"of": "memory", "rate": "5Mi", "bound": "880Mi"}}]
    shop = {"name": "shop", "start": "8m", "requests": {"memory": "900Mi"}, "behaviours": starts}
    held = [{"hold": {"of": "memory", "amount": "400Mi"}}]
    batch = {"name": "batch", "requests": {"memory": "100Mi"}, "behaviours": held}
    web = {"name": "web", "count": 6, "requests": {"memory": "500Mi"}, "behaviours": held}
    return _world([proxy, shop, batch, web], "13m")


def two_jobs(request: str, count: int) -> _Document:
    """Return a world with so many pods of one job beside seven of another, which start later and use as much."""
    pods = [_job("ci-a", request, count), {**_job("ci-b", request, 7), "start": "10m"}]
    registry = {"name": "registry", "priority": 5000, "requests": {"memory": "3Gi"}}
    pods.append({**registry, "behaviours": [{"hold": {"of": "memory", "amount": "2500Mi"}}]})
    soft = {"evictionSoft": {"memory.available": "1Gi"}, "evictionSoftGracePeriod": {"memory.available": "90s"}}
    made = _world(pods, "40m")
    made["config"] |= {**soft, "evictionMaxPodGracePeriod": 30}
    made["node"]["memory"] = "16Gi"
    made["owners"] = [{"name": each["owner"], "delay": "10s"} for each in pods[:2]]
    made["host"] = [{"name": "system", "behaviours": [{"hold": {"of": "memory", "amount": "800Mi"}}]}]
    return made


def _job(name: str, request: str, count: int) -> _Document:
    grows = {"of": "memory", "rate": "100Mi", "start": "30s", "bound": "900Mi"}
    behaviours = [{"hold": {"of": "memory", "amount": "300Mi"}}, {"grow": grows}]
    asked = {"requests": {"memory": request}, "owner": f"Job/{name}"}
    return {"name": name, "count": count, **asked, "behaviours": behaviours}


def _world(pods: list[_Document], duration: str) -> _Document:
    return {
        "kind": "World",
        "name": "beside",
        "config": {"evictionHard": {"memory.available": "500Mi"}},
        "node": {"memory": "8Gi", "unusableMemory": "150Mi"},
        "duration": duration,
        "pods": pods,
    }
