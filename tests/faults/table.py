"""The table of faults: what happens, and the log line that names it."""

# ruff: noqa: E501 - one row of the table is one line

import ctypes
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import grpc
import pytest
from cri_api.v1 import api_pb2 as pb

from evictd import clock
from evictd.observe.threshold_watch import kernel_notifiers
from tests.faults.cri_server import Answer, failing
from tests.faults.harness import Fault, Point, Run
from tests.faults.node_double import MEMORY, FakePod
from tests.kube.faults import Fault as RequestFault
from tests.threads import no_thread_to_give

Context = Callable[[Run], AbstractContextManager[None]]
BEFORE = frozenset({Point.OBSERVE})
"""For a fault that matters only until the eviction was decided."""
MINUTE = 60_000_000_000
HOUR = 60 * MINUTE
YEAR = 365 * 24 * HOUR


# --- runtime ----------------------------------------------------------------------------------------------------------


def responses(**answers: Answer) -> Context:
    """Replace responses of the runtime; `every` replaces all."""

    @contextmanager
    def fault(run: Run) -> Iterator[None]:
        own = {("*" if name == "every" else name): answer for name, answer in answers.items()}
        run.node.faults.update(own)
        yield
        for name in own:
            del run.node.faults[name]

    return fault


def refused(code: grpc.StatusCode, text: str = "a fault") -> Answer:
    return failing(code, text)


def listing_too_large(request: bytes, context: grpc.ServicerContext) -> bytes:
    if pb.ListPodSandboxRequest.FromString(request).filter.label_selector:
        return pb.ListPodSandboxResponse().SerializeToString()
    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "trying to send message larger than max")
    raise AssertionError


def hostile_rows(_: bytes, __: grpc.ServicerContext) -> bytes:
    rows = [
        pb.PodSandbox(id=text, metadata=pb.PodSandboxMetadata(name=text, uid=text, namespace=text))
        for text in ("../..", "\x1b[2J\u202e", "a\nb", "x" * 5000, "/")
    ]
    return pb.ListPodSandboxResponse(items=rows).SerializeToString()


def hanging(method: str) -> Context:
    """Answer one call only when the fault is over, and then with an error; a deadline of the client ends it earlier."""

    @contextmanager
    def fault(run: Run) -> Iterator[None]:
        over = Event()

        def hang(_: bytes, context: grpc.ServicerContext) -> bytes:
            ended = Event()
            context.add_callback(ended.set)  # the client gave up: free the server's thread
            while not (over.is_set() or ended.wait(0.01)):
                pass
            context.abort(grpc.StatusCode.UNAVAILABLE, "hung until now")
            raise AssertionError

        with responses(**{method: hang})(run):
            yield
            over.set()

    return fault


@contextmanager
def slow(run: Run) -> Iterator[None]:
    """Let each call take three fifths of the client's time limit of a second."""
    run.node.delay = 0.6
    yield
    run.node.delay = 0.0


@contextmanager
def many_containers(run: Run) -> Iterator[None]:
    """List 10,000 containers that have ended, of 1,000 sandboxes that nothing runs in."""
    dead = [
        pb.Container(
            id=f"dead-{number}",
            pod_sandbox_id=f"s-dead-{number % 1000}",
            metadata=pb.ContainerMetadata(name="main"),
            image=pb.ImageSpec(image="app"),
            image_ref="app",
            state=pb.CONTAINER_EXITED,
            created_at=1,
            labels={"io.kubernetes.pod.uid": f"dead-{number % 1000}", "io.kubernetes.container.name": "main"},
        )
        for number in range(10_000)
    ]
    listed = pb.ListContainersResponse(containers=dead).SerializeToString()
    run.node.more_containers = listed
    yield
    run.node.more_containers = b""


LATE = (Point.PERFORM, Point.RESTART)
SECOND_FOR_A_CALL = {"runtimeRequestTimeout": "1s"}
"""Instead of 10 s for a read and two minutes for a change: a call that hangs ends at its deadline."""
HANGS = [
    ("ListPodSandbox", "ListPodSandbox.*DEADLINE", frozenset(LATE), ""),
    ("ListContainers", "ListContainers.*DEADLINE", frozenset(LATE), ""),
    ("PodSandboxStatus", "PodSandboxStatus.*DEADLINE", frozenset({Point.RESTART}), ""),
    ("ContainerStatus", "ContainerStatus.*DEADLINE", frozenset({Point.RESTART}), ""),
    ("ListContainerStats", "ListContainerStats.*DEADLINE", frozenset({Point.RESTART}), ""),
    ("ImageFsInfo", "ImageFsInfo.*DEADLINE", frozenset({Point.RESTART}), ""),
    ("ListImages", "", frozenset(), "no collection is asked for"),
    ("StopContainer", "", frozenset(), "the sandbox is stopped when the answer is overdue"),
    ("StopPodSandbox", "", frozenset(), "the containers have been stopped by then, and the call is repeated"),
    ("RemoveContainer", "", frozenset(), "the removal waits for nothing and is repeated"),
]
UNAVAILABLE, UNKNOWN = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN
RUNTIME = [
    Fault("the runtime is down", "runtime", responses(every=refused(UNAVAILABLE)), "container runtime.*UNAVAILABLE"),
    Fault("the runtime refuses every call", "runtime", responses(every=refused(UNKNOWN)), "container runtime.*UNKNOWN"),
    Fault("the runtime answers with random bytes", "runtime", responses(every=lambda *_: b"\xff" * 40), "container runtime"),
    Fault("the runtime implements no call", "runtime", responses(every=refused(grpc.StatusCode.UNIMPLEMENTED)), "UNIMPLEMENTED"),
    Fault("the runtime lists no pods", "runtime", responses(ListPodSandbox=lambda *_: b"", ListContainers=lambda *_: b""), harmless="an empty list is a valid answer: without candidates evictd waits"),
    Fault("the runtime lists no containers", "runtime", responses(ListContainers=lambda *_: b""), harmless="an empty list is a valid answer"),
    Fault("listing the sandboxes fails", "runtime", responses(ListPodSandbox=refused(UNKNOWN)), "ListPodSandbox"),
    Fault("listing the containers fails", "runtime", responses(ListContainers=refused(UNKNOWN)), "ListContainers"),
    Fault("the listing exceeds 16 MiB", "runtime", responses(ListPodSandbox=listing_too_large), "listed in parts"),
    Fault("the listing has hostile rows only", "runtime", responses(ListPodSandbox=hostile_rows), "pod identity.*invalid"),
    Fault("statuses of sandboxes are refused", "runtime", responses(PodSandboxStatus=refused(UNKNOWN)), "sandbox", frozenset({Point.RESTART})),
    Fault("statuses of containers are refused", "runtime", responses(ContainerStatus=refused(UNKNOWN)), "container", frozenset({Point.RESTART})),
    Fault("statistics are refused", "runtime", responses(ListContainerStats=refused(UNKNOWN)), "ListContainerStats", frozenset({Point.RESTART})),
    Fault("the filesystem of images is unknown", "runtime", responses(ImageFsInfo=refused(UNKNOWN)), "image filesystem"),
    Fault("stopping containers is refused", "runtime", responses(StopContainer=refused(UNKNOWN)), "stopping pod|StopContainer", frozenset()),
    Fault("stopping sandboxes is refused", "runtime", responses(StopPodSandbox=refused(UNKNOWN)), "stopping pod|StopPodSandbox", frozenset()),
    *(Fault(f"{method} hangs", "runtime", hanging(method), finding, noticed, harmless=harmless, points=LATE, kubelet=SECOND_FOR_A_CALL) for method, finding, noticed, harmless in HANGS),
    Fault("each call of the runtime takes three fifths of its time limit", "runtime", slow, points=LATE, kubelet=SECOND_FOR_A_CALL, harmless="each call is within its time limit"),
    Fault("the runtime lists 10,000 containers that have ended", "runtime", many_containers, points=LATE[:1], harmless="containers without a pod that runs are no candidates"),
    Fault("the container to stop is not found", "runtime", responses(StopContainer=refused(grpc.StatusCode.NOT_FOUND)), harmless="a container that does not exist has stopped"),
]  # fmt: skip


# --- the kernel's files -----------------------------------------------------------------------------------------------


def content(path: str, text: str) -> Context:
    """Replace the content of a file of the kernel."""

    @contextmanager
    def fault(run: Run) -> Iterator[None]:
        node = run.node
        with node.lock:  # else a pod that ends at the same time writes over it
            before = (node.folder / path).read_text()
            node.kept.add(path)
            node.write(path, text)
        yield
        with node.lock:
            node.kept.discard(path)
            node.write(path, before)

    return fault


MEMORY_LINE, PIDS_LINE = "memory of the node", "pids"
KERNEL = [
    Fault("memory.stat of the node is empty", "kernel files", content(MEMORY, ""), MEMORY_LINE),
    Fault("memory.stat of the node is cut", "kernel files", content(MEMORY, "anon 123"), MEMORY_LINE),
    Fault("memory.stat has a number of 5,000 digits", "kernel files", content(MEMORY, f"anon {'9' * 5000}\nfile 0\n"), MEMORY_LINE),
    Fault("memory.stat has a negative number", "kernel files", content(MEMORY, "anon -5\nfile 0\ninactive_file 0\n"), MEMORY_LINE),
    Fault("memory.stat is not UTF-8", "kernel files", content(MEMORY, "anon \udcff\nfile 0\n".encode("utf-8", "surrogatepass").decode("latin-1")), MEMORY_LINE),
    Fault("meminfo is empty", "kernel files", content("proc/meminfo", ""), "memory|signal has a threshold"),
    Fault("meminfo has no MemTotal", "kernel files", content("proc/meminfo", "MemFree: 1 kB\n"), "memory|signal has a threshold"),
    Fault("loadavg is malformed", "kernel files", content("proc/loadavg", "x\n"), PIDS_LINE),
    Fault("loadavg names 5,000 digits of tasks", "kernel files", content("proc/loadavg", f"0 0 0 1/{'9' * 5000} 1\n"), PIDS_LINE),
    Fault("pid_max is malformed", "kernel files", content("proc/sys/kernel/pid_max", "-\n"), PIDS_LINE),
    Fault("the mount table is empty", "kernel files", content("proc/self/mountinfo", ""), harmless="the device of a path is known without it"),
    Fault("the mount table has an invalid escape", "kernel files", content("proc/self/mountinfo", "1 1 0:1 / /\\777 rw - ext4 x rw\n"), harmless="the escape stays as it is"),
    Fault("the pressure file is malformed", "kernel files", content("proc/pressure/memory", "some\n"), "memory pressure"),
    Fault("the memory of all pods is malformed", "kernel files", content("cgroup/kubepods/memory.stat", "x\n"), "memory of the pods|signal has a threshold"),
    Fault("the memory of a pod is malformed", "kernel files", content("cgroup/kubepods/besteffort/poduid-web/memory.stat", "x\n"), "cgroup of|memory of"),
    Fault("the tasks of a pod are malformed", "kernel files", content("cgroup/kubepods/besteffort/poduid-web/pids.current", "x\n"), "cgroup of|pids|memory of"),
]  # fmt: skip


# --- disks, descriptors, threads --------------------------------------------------------------------------------------


@contextmanager
def state_removed(run: Run) -> Iterator[None]:
    shutil.rmtree(run.state, ignore_errors=True)  # the recorder may write at the same time
    yield


@contextmanager
def state_emptied(run: Run) -> Iterator[None]:
    for path in run.state.iterdir():
        path.unlink(missing_ok=True)
    yield


def put_instead(path: Path, aside: Path, make: Callable[[Path], None]) -> None:
    """Move a file aside and make something else in its place; the recorder's thread may write the file again in between."""
    for _ in range(1000):
        if path.exists():
            path.rename(aside)
        try:
            return make(path)
        except FileExistsError:
            continue
    raise AssertionError(f"{path} is written again each time")


def instead(name: str, make: Callable[[Path], None]) -> Context:
    """Put something else in the place of a file of the state directory."""

    @contextmanager
    def fault(run: Run) -> Iterator[None]:
        path = run.state / name
        aside = run.state / f"{name}.aside"
        put_instead(path, aside, make)
        yield
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if aside.exists():
            aside.rename(path)

    return fault


def replaced(name: str, text: bytes) -> Context:
    """Replace the content of a file of the state directory for good."""

    @contextmanager
    def fault(run: Run) -> Iterator[None]:
        (run.state / name).write_bytes(text)
        yield

    return fault


@contextmanager
def torn_journal(run: Run) -> Iterator[None]:
    with (run.state / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"kind": "JournalEntry", "now": 1')
    yield


@contextmanager
def no_threads(_: Run) -> Iterator[None]:
    with no_thread_to_give():
        yield


@contextmanager
def inotify_used_up(run: Run) -> Iterator[None]:
    """Refuse inotify instances, and let the file appear that would be watched: any process of the user can use them up."""

    def refuse(_: int) -> int:
        ctypes.set_errno(errno.EMFILE)
        return -1

    libc = SimpleNamespace(inotify_init1=refuse)
    refusing = SimpleNamespace(CDLL=lambda *_, **__: libc, get_errno=ctypes.get_errno, c_uint32=ctypes.c_uint32)
    (run.node.folder / "cgroup/kubepods/memory.events").write_text("oom 0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_notifiers, "ctypes", refusing)
        yield


DISKS = [
    Fault("the state directory is emptied", "disks", state_emptied, deletes_journal=True, harmless="what is written next is written anew; the records in it are lost"),
    Fault("the state directory is removed", "disks", state_removed, deletes_journal=True, harmless="it is made again; the records in it are lost"),
    Fault("the spare state file cannot be written", "disks", instead(".state.json.spare", os.mkdir), "state", frozenset()),
    Fault("state.json is a directory", "disks", instead("state.json", os.mkdir), "state", frozenset({Point.RESTART})),
    Fault("state.json is a symlink", "disks", instead("state.json", lambda path: path.symlink_to("/dev/zero")), "state", frozenset({Point.RESTART})),
    Fault("state.json is a FIFO", "disks", instead("state.json", os.mkfifo), "state", frozenset({Point.RESTART})),
    Fault("state.json is empty", "disks", replaced("state.json", b""), "set aside", frozenset({Point.RESTART})),
    Fault("state.json is of another boot", "disks", replaced("state.json", b'{"apiVersion": "evictd.io/v1alpha1", "kind": "EvictdState", "bootID": "x"}'), "set aside", frozenset({Point.RESTART})),
    Fault("state.json has wrong types", "disks", replaced("state.json", b'{"apiVersion": "evictd.io/v1alpha1", "kind": "EvictdState", "remembered": 5}'), "set aside", frozenset({Point.RESTART})),
    Fault("conditions.json is a directory", "disks", instead("conditions.json", os.mkdir), "conditions.json", frozenset()),
    Fault("conditions.json is a FIFO", "disks", instead("conditions.json", os.mkfifo), harmless="nothing is read of it, and the next write replaces it"),
    Fault("conditions.json is a link to /dev/zero", "disks", instead("conditions.json", lambda path: path.symlink_to("/dev/zero")), harmless="nothing is read of it, and the next write replaces it"),
    Fault("inotify instances are used up", "descriptors", inotify_used_up, "memory notification.*inotify: Too many open files", kubelet={"evictd": {"memory": {"watch": True}}}),
    Fault("no thread can be started", "threads", no_threads, "can't start new thread", frozenset({Point.RESTART})),
]  # fmt: skip


# --- clocks, signals --------------------------------------------------------------------------------------------------


def shifted(*, boot: int = 0, wall: int = 0, stands: bool = False) -> Context:
    """Shift the clocks; the wall clock returns, the boot clock never does."""

    @contextmanager
    def fault(run: Run) -> Iterator[None]:
        real, at = clock.time, clock.time.clock_gettime_ns(clock.time.CLOCK_BOOTTIME)  # type: ignore[attr-defined]
        fake = SimpleNamespace(
            CLOCK_BOOTTIME=real.CLOCK_BOOTTIME,
            clock_gettime_ns=lambda which: at if stands else real.clock_gettime_ns(which) + boot,
            time_ns=lambda: real.time_ns() + wall,
            monotonic_ns=real.monotonic_ns,
        )
        clock.time = fake  # type: ignore[attr-defined, assignment]
        run.restore.callback(setattr, clock, "time", real)
        yield
        if not boot:
            clock.time = real  # type: ignore[attr-defined]

    return fault


def configuration(text: str | None) -> Context:
    """Send SIGHUP before each cycle, with this configuration; `None` for the same."""

    @contextmanager
    def fault(run: Run) -> Iterator[None]:
        before = run.config.read_text()
        run.config.write_text(before if text is None else text)
        run.reloads = True
        yield
        run.config.write_text(before)
        run.reloads = False
        if run.running:
            run.loop._reload()

    return fault


CLOCKS = [
    Fault("the wall clock goes back ten years", "clocks", shifted(wall=-10 * YEAR), harmless="durations are of the boot clock"),
    Fault("the wall clock goes forward ten years", "clocks", shifted(wall=10 * YEAR), harmless="durations are of the boot clock"),
    Fault("the wall clock is before 1970", "clocks", shifted(wall=-80 * YEAR), harmless="durations are of the boot clock"),
    Fault("the machine sleeps for an hour", "clocks", shifted(boot=HOUR), harmless="deadlines do not count time in which evictd did not look"),
    Fault("the wall clock goes back an hour", "clocks", shifted(wall=-HOUR), points=LATE, harmless="durations are of the boot clock"),
    Fault("the wall clock goes forward an hour", "clocks", shifted(wall=HOUR), points=LATE, harmless="durations are of the boot clock"),
    Fault("evictd is halted for a minute (SIGSTOP)", "clocks", shifted(boot=MINUTE), points=LATE, harmless="deadlines do not count time in which evictd did not look"),
    Fault("the boot clock stands still", "clocks", shifted(stands=True), harmless="a hard threshold waits for no time to pass"),
    Fault("SIGHUP before each cycle", "signals", configuration(None), harmless="the same configuration changes nothing"),
    Fault("SIGHUP with a file that is no YAML", "signals", configuration("{"), "reload|configuration|config.yaml"),
    Fault("SIGHUP with an unknown field", "signals", configuration('{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "evictionHard": {"disk": "1"}}'), "reload|configuration|config.yaml"),
]  # fmt: skip


# --- pods -------------------------------------------------------------------------------------------------------------


@contextmanager
def obstinate(run: Run) -> Iterator[None]:
    pod = run.node.pods["hog"]
    pod.obstinate = True
    yield
    pod.obstinate = False


@contextmanager
def ends_itself(run: Run) -> Iterator[None]:
    run.node.end("hog")
    yield


@contextmanager
def replaced_pod(run: Run) -> Iterator[None]:
    """Another pod of the same name: the first one ended by itself."""
    run.node.end("hog")
    run.node.add(FakePod("hog", 1000, uid_suffix="-2"))
    yield


@contextmanager
def newcomer(run: Run) -> Iterator[None]:
    run.node.add(FakePod("newcomer", 7_000_000_000))
    yield


def annotated(**annotations: str) -> Context:
    @contextmanager
    def fault(run: Run) -> Iterator[None]:
        run.node.pods["web"].annotations.update(annotations)
        yield
        run.node.pods["web"].annotations.clear()

    return fault


@contextmanager
def many(run: Run) -> Iterator[None]:
    for number in range(40):
        run.node.add(FakePod(f"small-{number}", 1000))
    yield


TENANT = 500_000_000
STALLED = "some avg10=90.00 avg60=90.00 avg300=90.00 total=1\nfull avg10=90.00 avg60=90.00 avg300=90.00 total=1\n"
STALLS = {"evictd": {"pressure": [{"above": "20%", "for": "0s", "hard": True}]}}
"""A threshold on stalls that is due at once."""


@contextmanager
def stalling(run: Run) -> Iterator[None]:
    """A tenant within its request works at its own memory limit, so that all tasks of all pods stall."""
    tenant = FakePod("tenant", TENANT, request=TENANT, limit=TENANT)
    run.node.add(tenant)
    run.node.write(f"cgroup/{tenant.cgroup}/memory.pressure", STALLED)
    with content("cgroup/kubepods/memory.pressure", STALLED)(run):
        yield


PODS = [
    Fault("the victim does not stop", "pods", obstinate, harmless="it is waited for until its grace period is over"),
    Fault("the victim ends by itself", "pods", ends_itself, may_spare=True, harmless="the pressure ends with it"),
    Fault(
        "the victim is replaced by a pod of its name",
        "pods",
        replaced_pod,
        may_spare=True,
        harmless="the new pod has another uid",
    ),
    Fault(
        "a larger pod begins",
        "pods",
        newcomer,
        victims=frozenset({"hog", "newcomer"}),
        harmless="the largest one at the decision goes",
    ),
    Fault(
        "a pod claims to be static",
        "pods",
        annotated(**{"kubernetes.io/config.source": "file"}),
        harmless="only a manifest proves it",
    ),
    Fault(
        "a pod has hostile annotations",
        "pods",
        annotated(**{"\x1b[2J": "\u202e", "a" * 300: "x" * 200_000}),
        harmless="no decision depends on them",
    ),
    Fault(
        "a tenant stalls at its own memory limit",
        "pods",
        stalling,
        kubelet=STALLS,
        harmless="no other pod's end would end that stall",
    ),
    Fault("forty pods begin", "pods", many, harmless="they are ranked with the others"),
]

# --- the API server ---------------------------------------------------------------------------------------------------


def requests(**what: object) -> Context:
    """Spoil requests to the API server, watches that are open included."""

    @contextmanager
    def fault(run: Run) -> Iterator[None]:
        assert run.api is not None
        run.api.faults.add(RequestFault(**what))  # type: ignore[arg-type]
        run.api.cut_connections()
        yield
        run.api.faults.clear()
        run.api.cut_connections()

    return fault


@contextmanager
def server_down(run: Run) -> Iterator[None]:
    assert run.api is not None
    run.api.down()
    yield
    run.api.up()


@contextmanager
def token_expired(run: Run) -> Iterator[None]:
    assert run.api is not None
    run.api.tokens, valid = {}, run.api.tokens
    run.api.cut_connections()
    yield
    run.api.tokens = valid


API = [
    replace(fault, area="API server", cluster=True, points=(Point.PERFORM, Point.RESTART))
    for fault in (
        Fault("the API server is down", "", server_down, "apiserver.*(EOF|Connection reset|Connection aborted)"),
        Fault(
            "the API server closes each connection",
            "",
            requests(refuse=True),
            "apiserver.*Remote end closed connection",
        ),
        Fault("the API server answers 500", "", requests(status=500), "apiserver.* 500 "),
        Fault("the API server answers 429", "", requests(status=429, retry_after="1"), "apiserver.* 429 "),
        Fault(
            "the API server answers 403",
            "",
            requests(status=403),
            "apiserver.* 403 ",
            refused_for_good=True,
        ),
        Fault("the API server answers 401: the token expired", "", token_expired, "apiserver.* 401 "),
        Fault(
            "the API server answers with garbage",
            "",
            requests(status=200, body=b"\xff{garbage"),
            "apiserver.*invalid JSON",
        ),
        Fault(
            "the API server answers with an empty object",
            "",
            requests(status=200, body=b"{}"),
            "apiserver.*sent an invalid",
        ),
        Fault("answers of the API server are cut", "", requests(cut=40), "apiserver.*IncompleteRead"),
        Fault(
            "answers of the API server take a second",
            "",
            requests(delay=1.0),
            harmless="each request is within its time limit",
        ),
        Fault(
            "the watch never speaks",
            "",
            requests(verb="watch", delay=3600),
            harmless="the pods known before and the runtime are enough",
        ),
        Fault(
            "the watch sends endless bytes",
            "",
            requests(verb="watch", drip="body"),
            harmless="the pods known before and the runtime are enough",
        ),
        Fault("patches conflict", "", requests(verb="patch", status=409), "apiserver.*PATCH.* 409 "),
        Fault(
            "no pod's status can be written",
            "",
            requests(verb="patch", resource="pods/status", status=500),
            "apiserver.*pods/hog/status: 500 ",
            frozenset({Point.PERFORM}),
        ),
        Fault(
            "no event can be written",
            "",
            requests(resource="events", status=500),
            "apiserver.*events: 500 ",
            frozenset({Point.PERFORM}),
        ),
        Fault(
            "in a cluster, the wall clock goes back ten years",
            "",
            shifted(wall=-10 * YEAR),
            harmless="durations are of the boot clock",
        ),
        Fault(
            "in a cluster, the wall clock goes forward ten years",
            "",
            shifted(wall=10 * YEAR),
            harmless="durations are of the boot clock",
        ),
    )
]

FAULTS = (*API, *RUNTIME, *KERNEL, *DISKS, *CLOCKS, *PODS)
