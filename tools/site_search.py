"""Decides what the search of the site finds first: a hook of mkdocs, named in mkdocs.yml.

Decision records and tables of tests have the words of every symptom and would come before the pages for users. Words that people
type and a page does not have are its tags, which the search weighs most: so none of them is a word of many pages, such as pod.
The search completes what is typed: a tag that begins with a short word, such as `notify` with `no`, would be found by it.
"""

from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority

_BOOST = {
    "troubleshooting.md": 20.0,
    "alerts.md": 4.0,
    "tuning.md": 2.0,
    "operations.md": 2.0,
    "cluster.md": 2.0,
    "scenarios.md": 2.0,
}
_EVIDENCE = {"parity.md", "kubelet.md", "laws.md", "faults.md", "incidents.md", "reliability.md", "benchmarks.md"}
_EVIDENCE |= {"compatibility.md", "stolen-token.md", "development.md"}
_WORDS = {
    "alerts.md": ("slack", "webhook", "email"),
    "benchmarks.md": ("performance", "overhead", "how much it takes"),
    "charts.md": ("helm",),
    "cluster.md": ("server", "kube-apiserver", "outage"),
    "concepts.md": ("belongs", "grace period", "soft", "order"),
    "formats.md": ("journal format", "statusz"),
    "getting-started.md": ("uninstall", "dry run", "dry-run", "remove evictd"),
    "install.md": ("install", "go live", "switch on", "undo", "rollback", "systemd", "daemonset"),
    "metrics.md": ("Grafana", "operator", "scrape config"),
    "operations.md": ("retention", "log", "readyz", "healthz"),
    "platforms.md": ("k3s", "RKE2", "CRI-O", "cgroup v1", "cgroup v2", "containerd 2", "limitations", "OpenShift"),
    "reference/exit-status.md": ("exit status", "exit code"),
    "reliability.md": ("daemon dies", "crash"),
    "releases.md": ("update",),
    "rollout.md": ("50", "disable", "turn off"),
    "runtime.md": ("runtime down", "containerd down", "preStop"),
    "scenarios.md": ("rehearse", "simulate", "try"),
    "security.md": ("permissions", "RBAC", "ClusterRole", "ports", "firewall"),
    "troubleshooting.md": ("FAQ", "PDB", "137", "innocent", "late"),
    "tuning.md": (
        "protect",
        "protected",
        "stop",
        "exclude",
        "ignore",
        "never evict",
        "64 GiB",
        "small",
        "whitelist",
        "priority",
        "static",
        "systemReserved",
        "garbage",
    ),
}


def on_page_markdown(markdown: str, /, *, page: Any, **_: object) -> str:
    """Leave decision records out of the search, and weigh the other pages."""
    path = page.file.src_uri
    if path.startswith("adr/"):
        page.meta["search"] = {"exclude": True}
    elif path in _EVIDENCE or path in _BOOST:
        page.meta["search"] = {"boost": _BOOST.get(path, 0.3)}
    if path in _WORDS:
        page.meta["tags"] = list(_WORDS[path])
    return markdown


@event_priority(-100)
def on_post_build(*, config: Any, **_: object) -> None:
    """Write the index a second time, as a script: a page that is opened as a file may read no other kind of file."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    index.with_suffix(".js").write_text(f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8")
