"""Decides what the search of the site finds first: a hook of mkdocs, named in mkdocs.yml.

Decision records and tables of tests have the words of every symptom and would come before the pages for users. Words that people
type and a page does not have are its tags, which the search weighs most: so none of them is a word of many pages, such as pod.
The search completes what is typed: a tag that begins with a short word, such as `notify` with `no`, would be found by it, so
docs/hooks.md has that word itself.
"""

import json
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
_EVIDENCE |= {"compatibility.md", "stolen-token.md", "development.md", "reference/json.md"}
_WORDS = {
    "alerts.md": ("slack", "webhook", "email", "alert"),
    "benchmarks.md": ("performance", "overhead", "how much it takes"),
    "charts.md": ("helm",),
    "cluster.md": ("server", "kube-apiserver", "outage"),
    "concepts.md": ("belongs", "grace period", "soft", "order", "mirror"),
    "formats.md": ("journal format", "statusz"),
    "from-the-kubelet.md": ("risks", "drawbacks", "replace the kubelet", "migrate", "migration"),
    "getting-started.md": ("uninstall", "dry run", "dry-run", "remove evictd"),
    "install.md": ("install", "go live", "switch on", "undo", "rollback", "systemd", "daemonset"),
    "metrics.md": ("Grafana", "operator", "scrape config", "ServiceMonitor", "prometheus"),
    "operations.md": ("retention", "log", "readyz", "healthz"),
    "platforms.md": ("k3s", "RKE2", "CRI-O", "cgroup v1", "cgroup v2", "containerd 2", "limitations", "OpenShift"),
    "reference/exit-status.md": ("exit status", "exit code"),
    "reference/json.md": ("JSON output", "jq"),
    "reliability.md": ("daemon dies", "crash"),
    "releases.md": ("update",),
    "rollout.md": ("50", "disable", "turn off", "replace"),
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
        "512 MiB",
        "small",
        "whitelist",
        "priority",
        "static",
        "systemReserved",
        "garbage",
    ),
}

_SECTIONS = {
    "concepts.html#glossary": {"mirror"},
    "from-the-kubelet.html#risks-and-limits": {"risks", "drawbacks"},
    "tuning.html#protect-a-pod": {
        "protect", "protected", "stop", "exclude", "ignore", "never evict", "whitelist", "priority", "static",
    },
    "tuning.html#thresholds": {"64 GiB", "512 MiB", "small"},
    "tuning.html#reserve-memory-for-what-is-not-a-pod": {"systemReserved"},
    "platforms.html#k3s-and-rke2": {"k3s", "RKE2"},
    "platforms.html#known-limitations": {"limitations"},
}  # fmt: skip
"""The sections that words of a page are about: the search shows the page, and folds each section that it ranks below it."""
_ABOVE_ITS_PAGE = 4.0
"""The search multiplies what it found of a page by more than twice what it does for a section."""


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
    """Give the words of a section to it alone, and write the index as a script too.

    A page that is opened as a file may read no other kind of file.
    """
    index = Path(config.site_dir) / "search" / "search_index.json"
    found = json.loads(index.read_text(encoding="utf-8"))
    for entry in found["docs"]:
        page, _, section = entry["location"].partition("#")
        own = _SECTIONS.get(entry["location"], set())
        named = {word for name, words in _SECTIONS.items() if name.startswith(f"{page}#") for word in words}
        if named:
            entry["tags"] = [tag for tag in entry["tags"] if (tag in own if section else tag not in named)]
        if own:
            entry["boost"] = entry.get("boost", 1) * _ABOVE_ITS_PAGE
    index.write_text(json.dumps(found, separators=(",", ":")), encoding="utf-8")
    index.with_suffix(".js").write_text(f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8")
