"""Provides the fixtures that need root: disposable nodes with a real containerd. They skip with the reason where none can run.

`make_node` builds nodes to measure; `node` is one per test module on the machine's usual containerd, emptied after each test;
`each_node` is the same on every available version of containerd. A separate process removes the nodes of a session that was
killed, and each session starts by removing those of earlier ones.
"""

import gc
import os
import random
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from evictd_testnode.binaries import Binaries, Tool
    from evictd_testnode.node import DisposableNode
    from tests.cluster.control_plane import ControlPlane
    from tests.cluster.node import RealNode

# A shared machine stalls now and then: time is measured by `make bench`, never by a deadline in a test.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=150)  # `make test-slow`: `--hypothesis-profile`
settings.register_profile("many", deadline=None, max_examples=1500)  # `make laws`
settings.load_profile("quick")

T = TypeVar("T")
NodeFactory = Callable[..., "DisposableNode"]
"""Takes the fields of `NodeRecipe`; `binaries` and `mkfs_xfs` have defaults."""


NODE_FIXTURES = frozenset({"binaries", "make_node", "make_module_node"})
"""A test that uses one of these, directly or through another fixture, runs a containerd."""

LEVELS = {
    "root": re.compile(r"mark\.(root|containerd|crio)"),
    "cluster": re.compile(r"mark\.cluster|tests\.kube\.api"),
}
"""By which text `make test-node` and `make test-cluster` find the files that they collect."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make flaky`."""
    parser.addoption(
        "--random-order-seed", type=int, help="run the files, and the tests of each file, in a random order"
    )


def in_random_order(tests: Iterable[T], file_of: Callable[[T], object], chance: random.Random) -> list[T]:
    """Return the tests in another order; those of a file stay together, because they share the fixtures of their module."""
    by_file: dict[object, list[T]] = {}
    for test in tests:
        by_file.setdefault(file_of(test), []).append(test)
    files = list(by_file.values())
    chance.shuffle(files)
    for each in files:
        chance.shuffle(each)
    return [test for each in files for test in each]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order and mark the tests; skip what needs root for a user without it; `-m` chooses among the marks afterwards."""
    seed = config.getoption("--random-order-seed")
    if seed is not None:
        items[:] = in_random_order(items, lambda item: item.path, random.Random(seed))
    for item in items:
        if NODE_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.root)
            item.add_marker(pytest.mark.containerd)
        if os.geteuid() != 0 and item.get_closest_marker("root") is not None:
            item.add_marker(pytest.mark.skip(reason="needs root"))
    for level, text in LEVELS.items():
        marked = {item.path for item in items if item.get_closest_marker(level) is not None}
        if missing := sorted(str(path) for path in marked if not text.search(path.read_text())):
            raise pytest.UsageError(
                f"the Makefile finds the files of the tests marked {level} by their text, not {missing}"
            )


def pytest_configure(config: pytest.Config) -> None:
    """Have the daemons of the tests keep their lock in pytest's cache and not in /run, and their queues finish their jobs."""
    from evictd import worker
    from evictd.core.units.duration import SECOND
    from evictd.observe.filesystems.filesystem import FilesystemReader
    from tests import deep_folders

    pytest.MonkeyPatch().setattr("_pytest.pathlib.rm_rf", deep_folders.remove)
    # A shared machine may not run the thread of a queue, or the one that asks for a filesystem, for seconds.
    worker.CLOSE_SECONDS = 60.0
    vars(FilesystemReader)["__init__"].__kwdefaults__["timeout"] = 60 * SECOND
    cache = getattr(config, "cache", None)  # there is none under `-p no:cacheprovider`
    if cache is not None:
        os.environ.setdefault("RUNTIME_DIRECTORY", str(cache.mkdir("evictd-run")))


def pytest_sessionstart() -> None:
    if not reason_against_nodes():
        from evictd_testnode.sweep import start_cleanup_process, sweep

        sweep()
        start_cleanup_process("tests.cleanup_process")


def pytest_collection_finish() -> None:
    """Exempt the collected tests from garbage collection: else each full collection traverses ten thousand of them."""
    gc.collect()
    gc.freeze()


def reason_against_nodes() -> str:
    """Why no disposable node can run here; empty when one can."""
    if os.geteuid() != 0:
        return "needs root"
    if "\toverlay\n" not in Path("/proc/filesystems").read_text():
        return "needs overlayfs"
    from evictd_testnode.cgroups import group

    if not all(os.access(group(controller, "/"), os.W_OK) for controller in ("memory", "pids")):
        return "needs writable memory and pids cgroups"
    probe = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False, capture_output=True)
    return "" if probe.returncode == 0 else "needs mount and pid namespaces"


@pytest.fixture
def memory_cgroups(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this machine's cgroups be a planted tree where it has none with the memory controller."""
    from evictd.errors import NodeError
    from evictd.observe.cgroups.cgroup import find_hierarchy
    from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
    from evictd.observe.reading.roots import Roots
    from tests.trees import plant, v2_node

    files = FileDescriptorCache()
    try:
        find_hierarchy(Roots().cgroup, files)
    except NodeError:
        tree = plant(tmp_path_factory.mktemp("cgroup"), v2_node(systemd=False))
        monkeypatch.setitem(vars(Roots)["__init__"].__kwdefaults__, "cgroup", tree)
    finally:
        files.close()


@pytest.fixture(scope="session")
def control_plane() -> Iterator["ControlPlane"]:
    """One real etcd and kube-apiserver for the whole session; each test cleans up what it made."""
    from tests.cluster import processes
    from tests.cluster.binaries import Missing, find
    from tests.cluster.control_plane import PROGRAMS, ControlPlane

    programs = find(*PROGRAMS)
    if isinstance(programs, Missing):
        pytest.skip(str(programs))
    with processes.folder() as folder, ControlPlane(folder, programs) as plane:
        yield plane


@pytest.fixture(scope="session")
def real_node(binaries: "Binaries") -> Iterator["RealNode"]:
    """A real control plane and node n1 with kubelet and containerd, apart from `control_plane`."""
    from tests.cluster import processes
    from tests.cluster.binaries import Missing, find
    from tests.cluster.control_plane import ControlPlane
    from tests.cluster.node import PROGRAMS, RealNode

    programs = find(*PROGRAMS)
    if isinstance(programs, Missing):
        pytest.skip(str(programs))
    with (
        processes.folder() as folder,
        ControlPlane(folder, programs) as plane,
        RealNode(plane, programs, binaries) as node,
    ):
        yield node


@pytest.fixture(scope="session")
def binaries() -> "Binaries":
    """The machine's usual containerd (Debian's own where none is installed), or that of `make test-node RUNTIME=...`."""
    reason = reason_against_nodes()
    if reason:
        pytest.skip(reason)
    from evictd.errors import NodeError
    from evictd_testnode.binaries import default_cache
    from tests.binaries import node_binaries

    try:
        return node_binaries(default_cache())
    except NodeError as error:
        pytest.skip(f"no containerd: {error}")


@pytest.fixture(scope="session")
def newer_binaries(binaries: "Binaries") -> "Binaries":
    """The next Debian release's containerd."""
    from evictd_testnode.binaries import default_cache
    from tests.binaries import find_newer_binaries

    found = find_newer_binaries(default_cache())
    if found is None:
        pytest.skip("the newer containerd cannot be had here")
    return found


@pytest.fixture(scope="session")
def mkfs_xfs(binaries: "Binaries") -> "Tool":
    """What xfs disks are made with."""
    from evictd.errors import NodeError
    from evictd_testnode.binaries import default_cache
    from tests.binaries import find_mkfs_xfs

    try:
        return find_mkfs_xfs(default_cache())
    except NodeError as error:
        pytest.skip(f"no mkfs.xfs: {error}")


def _factory(stack: ExitStack, request: pytest.FixtureRequest) -> NodeFactory:
    from evictd_testnode.disks import DiskKind, DiskRecipe
    from evictd_testnode.node import DisposableNode, NodeRecipe

    def make(**fields: object) -> DisposableNode:
        fields.setdefault("binaries", request.getfixturevalue("binaries"))
        disks = [fields.get("node_disk"), fields.get("image_disk")]
        if any(isinstance(disk, DiskRecipe) and disk.kind is DiskKind.XFS for disk in disks):
            fields.setdefault("mkfs_xfs", request.getfixturevalue("mkfs_xfs"))
        return stack.enter_context(DisposableNode(NodeRecipe(**fields)))  # type: ignore[arg-type]

    return make


@pytest.fixture
def make_node(request: pytest.FixtureRequest) -> Iterator[NodeFactory]:
    """Make nodes for one test; they are torn down when it ends."""
    with ExitStack() as stack:
        yield _factory(stack, request)


@pytest.fixture(scope="module")
def make_module_node(request: pytest.FixtureRequest) -> Iterator[NodeFactory]:
    """Make nodes for all the tests of a module."""
    with ExitStack() as stack:
        yield _factory(stack, request)


@pytest.fixture(scope="module")
def module_node(make_module_node: NodeFactory) -> "DisposableNode":
    """One node for the module, in the dedicated layout: 64 MiB for the node, 64 MiB for the images."""
    from evictd_testnode.disks import DiskRecipe

    return make_module_node(node_disk=DiskRecipe(), image_disk=DiskRecipe())


@pytest.fixture
def node(module_node: "DisposableNode") -> Iterator["DisposableNode"]:
    """The module's node without pods."""
    yield module_node
    module_node.remove_all_pods()


@pytest.fixture(
    scope="module", params=["usual"] if os.environ.get("EVICTD_RUNTIME") == "containerd2" else ["usual", "newer"]
)
def each_module_node(request: pytest.FixtureRequest, make_module_node: NodeFactory) -> "DisposableNode":
    """One node for the module on each available version of containerd."""
    from evictd_testnode.disks import DiskRecipe

    found = request.getfixturevalue("binaries" if request.param == "usual" else "newer_binaries")
    return make_module_node(binaries=found, node_disk=DiskRecipe(), image_disk=DiskRecipe())


@pytest.fixture
def each_node(each_module_node: "DisposableNode") -> Iterator["DisposableNode"]:
    """The module's node of each version, without pods."""
    yield each_module_node
    each_module_node.remove_all_pods()
