"""Pods whose authors attack the daemon that evicts them, on a real containerd.

One pod has a tree of 100,000 levels, a folder of 20,000 files with hostile names, links to a neighbour's volume that come and go
while it is measured, a hard link to the neighbour's file, and escape sequences in its labels, annotations and log. Two sandboxes
have identities that no API server admits. Only what is the hostile pod's is removed, and no terminal, browser or parser acts on
what evictd writes, serves and prints.
"""

import html.parser
import json
import os
import subprocess
import sys
import unicodedata
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evictd_testnode.disks import DiskRecipe
from evictd_testnode.pods import ContainerRecipe, PodRecipe, VolumeRecipe
from tests.act.test_trees import dig
from tests.conftest import NodeFactory
from tests.e2e.story import OBEDIENT, REST, Story
from tests.ports import free_ports

pytestmark = [pytest.mark.root, pytest.mark.containerd]

LEVELS, FILES = 100_000, 20_000
DISK = DiskRecipe(size_bytes=96 << 20, inodes=300_000)
ACTIVE = '\x1b[2J\x1b]0;owned\x07\u202e\u2066\u200b\r\x9b31m\ufeff<script>alert(1)</script>"\'&amp;\\n{x="y"} 1'
"""What clears a terminal, renames its window, reverses what follows, runs in a page and begins a metric of its own."""
SHOUTS = r"printf '\033[2J\033]0;owned\007\342\200\256\r<script>\n\000\377\n'"
SWAPS = (
    "while :; do ln -s {target} /data/swap; rm /data/swap; mkdir /data/swap; touch /data/swap/f; rm -r /data/swap; done"
)
DATA = (VolumeRecipe(name="data"),)
SECRET = "the neighbour's own\n"


def test_hostile_pods_lose_what_is_theirs_and_no_sink_is_acted_upon(make_node: NodeFactory, tmp_path: Path) -> None:
    node = make_node(node_disk=DISK)
    (port,) = free_ports()
    with Story(node, {"evictionHard": {"nodefs.inodesFree": "1"}}, {"listenAddress": f"127.0.0.1:{port}"}) as story:
        kept = story.pod("neighbour", volumes=DATA).volumes["data"]
        (kept / "file").write_text(SECRET)
        impersonate(story, kept.parts[-4])
        precious = tmp_path / "precious"
        precious.mkdir()
        (precious / "file").write_text(SECRET)
        hostile = story.pod(
            "hostile",
            f"{OBEDIENT}{SHOUTS}; ({SWAPS.format(target=kept)}) 2>/dev/null & {REST}",
            volumes=DATA,
            annotations={"example.com/a": ACTIVE, "seccomp.security.alpha.kubernetes.io/pod": ACTIVE},
            labels={"app": ACTIVE, "io.kubernetes.pod.uid": "../../.."},
        )
        volume = hostile.volumes["data"]
        (volume / "hard").hardlink_to(kept / "file")
        for number, target in enumerate((kept, precious, Path("/"), Path("/proc/self/fd"))):
            (volume / f"link-{number}").symlink_to(target)
        dig(volume, LEVELS)
        (wide := volume / "wide").mkdir()
        for number in range(FILES):
            os.mknod(wide / f"{number}-\x1b[31m\u202e\n")

        story.configure({"evictionHard": {"nodefs.inodesFree": "200k"}})
        story.reload()
        story.until_evicted("hostile")
        story.until(lambda: not volume.exists(), "the volume is removed", within=120)
        story.until_calm("DiskPressure")
        assert story.evicted() == ["hostile"]
        assert story.running() == {"neighbour"}
        assert [(each / "file").read_text() for each in (kept, precious)] == [SECRET, SECRET]
        assert [each.name for each in kept.iterdir()] == ["file"]
        assert "is invalid; it is ignored" in story.log()
        verify_sinks(story, port)


def impersonate(story: Story, uid: str) -> None:
    """Run a pod with a name that acts on a terminal, and one with the uid of another."""
    containers = (ContainerRecipe(script="sleep 1000"),)
    story.node.run_pod(PodRecipe(name=ACTIVE.replace("/", "_"), containers=containers))
    story.node.run_pod(PodRecipe(name="copy", uid=uid, containers=containers))


def verify_sinks(story: Story, port: int) -> None:
    """Nothing that evictd wrote, serves or prints is acted upon."""
    assert_inert(story.log(), "the log")
    for name in ("journal.jsonl", "state.json", "conditions.json"):
        text = (story.state / name).read_bytes().strip(b" \0").decode()
        assert_inert(text, name)
        for document in text.splitlines() if name == "journal.jsonl" else [text]:
            json.loads(document)
    for path in ("/metrics", "/statusz", "/configz", "/", "/healthz"):
        body = fetch(port, path)
        if path == "/metrics":
            assert "evictd_evictions_total" in {s.name for f in text_string_to_metric_families(body) for s in f.samples}
        if path == "/":
            assert Scripts(body).inline == []
        assert_inert(body, path)
    address, state = f"127.0.0.1:{port}", str(story.state)
    for command in (
        ["status", "--address", address],
        ["status", "--address", address, "--output", "json"],
        ["history", "--directory", state],
        ["history", "--directory", state, "--output", "yaml"],
        ["why", "default/hostile", "--directory", state, "--address", address],
        ["why", f"default/{ACTIVE}", "--directory", state, "--address", address],
        ["replay", str(story.state / "journal.jsonl")],
    ):
        done = subprocess.run([sys.executable, "-m", "evictd", *command], capture_output=True, timeout=60, check=False)
        text = (done.stdout + done.stderr).decode()
        assert text
        assert "Traceback" not in text
        assert_inert(text, " ".join(command))


def assert_inert(text: str, where: str) -> None:
    found = [each for each in text if each != "\n" and unicodedata.category(each) in {"Cc", "Cf", "Zl", "Zp"}]
    assert found == [], f"{where}: {text[max(0, text.index(found[0]) - 200) :][:400]!r}" if found else where


def fetch(port: int, path: str) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    assert response.status == 200, body
    return body


class Scripts(html.parser.HTMLParser):
    """The scripts that a page has in itself, and the attributes that would run one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if (tag == "script" and "src" not in names) or any(name.startswith("on") for name in names):
            self.inline.append(tag)
