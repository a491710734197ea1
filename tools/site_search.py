"""Decides what the search of the site finds first: a hook of mkdocs, named in mkdocs.yml.

Decision records and tables of tests have the words of every symptom and would come before the pages for users. Words that people
type and a page does not have are its tags, which the search weighs most: so none of them is a word of many pages, such as pod.
"""

from typing import Any

_BOOST = {"troubleshooting.md": 20.0, "alerts.md": 4.0, "tuning.md": 2.0, "operations.md": 2.0, "cluster.md": 2.0}
_EVIDENCE = {"parity.md", "kubelet.md", "laws.md", "faults.md", "incidents.md", "reliability.md", "benchmarks.md"}
_EVIDENCE |= {"compatibility.md", "stolen-token.md", "development.md"}
_WORDS = {
    "benchmarks.md": ("performance", "overhead", "how much it takes"),
    "charts.md": ("helm",),
    "cluster.md": ("API server", "outage", "kube-apiserver down"),
    "concepts.md": ("belongs",),
    "getting-started.md": ("uninstall", "dry run", "dry-run"),
    "install.md": ("install", "go live", "switch on", "undo", "rollback"),
    "metrics.md": ("Grafana", "operator", "scrape config"),
    "operations.md": ("retention", "log format", "JSON"),
    "platforms.md": ("k3s", "RKE2", "CRI-O", "cgroup v1", "cgroup v2", "containerd 2", "limitations"),
    "reliability.md": ("daemon dies", "crash"),
    "releases.md": ("update",),
    "rollout.md": ("50",),
    "runtime.md": ("runtime down", "containerd down"),
    "scenarios.md": ("rehearse",),
    "security.md": ("permissions", "RBAC", "ClusterRole", "ports", "firewall"),
    "troubleshooting.md": ("FAQ", "PDB", "exit code 137", "innocent", "late"),
    "tuning.md": ("protect", "protected", "stop", "exclude", "ignore", "never evict", "64 GiB"),
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
