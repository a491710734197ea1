"""Runs one end-to-end story: a disposable node, evictd as its own process, pods, and the kubelet suite's criteria.

A story says what is configured and which pods there are, and then in which order things are to be seen. Evidence is taken from
outside: `conditions.json`, the journal, the container runtime. All waiting is for a condition, within a generous bound.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from evictd.core.gc.container_gc import ContainerState
from evictd.core.units.quantity import parse_quantity
from evictd.errors import RuntimeRefusedError
from evictd_testnode.disks import DiskRecipe
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe

MIB = 1 << 20
DISK = DiskRecipe(size_bytes=96 << 20, inodes=12_000)
"""The small disk that most stories fill."""

BOUND = 120.0
"""Seconds within which everything must happen that does not depend on a configured period."""
STEP = 0.05
CALM = 1.5
"""Seconds for which a condition must stay away after it went."""

Plain = dict[str, Any]


# --- what pods do -----------------------------------------------------------------------------------------------------

OBEDIENT = "trap 'exit 143' TERM; "
STUBBORN = "trap '' TERM; "
REST = "while :; do sleep 0.2; done"


def writes(path: str, mib: int, *, pause: float = 0.05, how: str = OBEDIENT) -> str:
    """Write so many files of 1 MiB, then rest."""
    return (
        f"{how}i=0; while [ $i -lt {mib} ]; do dd if=/dev/zero of={path}/f$i bs=1M count=1 2>/dev/null; "
        f"i=$((i+1)); sleep {pause}; done; {REST}"
    )


def touches(path: str, files: int, *, how: str = OBEDIENT, then: str = REST) -> str:
    """Make so many empty files, fifty at a time."""
    return (
        f"{how}mkdir -p {path}; i=0; while [ $i -lt {files} ]; do for n in $(seq $i $((i+49))); do : > {path}/$n; done; "
        f"i=$((i+50)); sleep 0.02; done; {then}"
    )


def takes_memory(mib: int, *, pause: float = 0.1, how: str = OBEDIENT) -> str:
    """Allocate anonymous memory in steps of 4 MiB up to a size."""
    return (
        f"{how}i=0; while [ $i -lt {mib // 4} ]; do "
        "eval \"v$i=\\$(dd if=/dev/zero bs=1M count=4 2>/dev/null | tr '\\\\0' a)\"; "
        f"i=$((i+1)); sleep {pause}; done; {REST}"
    )


def sleepers(count: int, *, pause: float = 0, how: str = OBEDIENT) -> str:
    """Start so many processes that sleep, one at a time."""
    return f"{how}i=0; while [ $i -lt {count} ]; do sleep 100000 & i=$((i+1)); sleep {pause}; done; {REST}"


SLEEPS = f"{OBEDIENT}{REST}"


def times(journal: Sequence[Plain]) -> dict[str, float]:
    """Seconds from the first reading under pressure to the first action, and to the reading that ended the pressure."""
    pressed = [entry["now"] for entry in journal if any(d.get("conditions") for d in entry["decisions"])]
    acted = [entry["now"] for entry in journal if any(d["kind"] in _ACTIONS for d in entry["decisions"])]
    calm = [
        entry["now"]
        for entry in journal
        if pressed and entry["now"] > pressed[0] and any(d.get("conditions") == [] for d in entry["decisions"])
    ]
    found = {"action": acted[:1], "relief": calm[-1:]}
    return {name: (at[0] - pressed[0]) / 1e9 for name, at in found.items() if at and pressed}


_ACTIONS = {"ReclaimNode", "EvictPod"}


@dataclass(slots=True)
class Story:
    """A node and its evictd; a context manager that stops evictd and checks its exit status."""

    node: DisposableNode
    kubelet: Mapping[str, Any]
    evictd: Mapping[str, Any] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    pods: dict[str, RunningPod] = field(default_factory=dict)
    log_fd: int | None = None
    """Where evictd's log goes instead of into a file."""
    _process: "subprocess.Popen[bytes] | None" = None
    ended: ClassVar[list[dict[str, float]]] = []
    """The times of the stories that have ended well."""

    # --- evictd -------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.state.mkdir(mode=0o700, exist_ok=True)
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
            print(f"--- evictd's log ---\n{self.log()}--- the node ---\n{self._describe()}", file=sys.stderr)
            return
        self.stop()
        self.ended.append(times(self.journal()))

    @property
    def state(self) -> Path:
        """The state directory."""
        return Path(self.evictd.get("stateDirectory", self.node.folder / "evictd"))

    @staticmethod
    def boot_clock() -> int:
        """The clock of the journal's `now`."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def configure(self, kubelet: Mapping[str, Any] | None = None, evictd: Mapping[str, Any] | None = None) -> None:
        """Write the configuration, with these fields changed."""
        self.kubelet = {**self.kubelet, **(kubelet or {})}
        self.evictd = {**self.evictd, **(evictd or {})}
        first = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "evictionPressureTransitionPeriod": "2s",
            "containerRuntimeEndpoint": self.node.endpoint,
            "staticPodPath": str(self.node.manifests),
            "podLogsDir": str(self.node.log_folder),
            "cgroupRoot": self.node.cgroup,
            "nodeStatusUpdateFrequency": "1s",
            **self.kubelet,
        }
        second = {
            "apiVersion": "evictd.io/v1alpha1",
            "kind": "EvictdConfiguration",
            "housekeepingInterval": "500ms",
            "stateDirectory": str(self.state),
            "rootDir": str(self.node.kubelet_folder),
            "listenAddress": "",
            "allowApiPodsStandalone": True,  # the pods are as a kubelet runs those of an API server
            **self.evictd,
        }
        (self.node.folder / "config.yaml").write_text(json.dumps(first) + "\n---\n" + json.dumps(second) + "\n")

    def start(self) -> None:
        """Start evictd and wait for its readiness, which it reports after its first cycle."""
        self.configure()
        argv = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "evictd", "run"]
        argv += ["--config", str(self.node.folder / "config.yaml"), *self.arguments]
        address = self.node.folder / "notify"
        address.unlink(missing_ok=True)
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
            (self.node.folder / "evictd.log").open("ab") as log,
        ):
            manager.bind(str(address))
            manager.settimeout(BOUND)
            environment = {**os.environ, "NOTIFY_SOCKET": str(address)}
            stderr = log.fileno() if self.log_fd is None else self.log_fd
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=stderr, env=environment)
            assert manager.recv(1000).startswith(b"READY=1"), self.log()

    def stop(self) -> None:
        """Stop evictd with SIGTERM; it must end cleanly and soon."""
        process = self._process
        if process is not None:
            self._process = None
            process.send_signal(signal.SIGTERM)
            assert process.wait(BOUND) == 0, self.log()

    def kill(self) -> None:
        """End evictd as a crash would."""
        process = self._process
        if process is not None:
            self._process = None
            process.kill()
            process.wait(BOUND)

    def give_no_more_pids(self, cgroup: Path) -> None:
        """Put evictd into a cgroup of the pids controller, and let that have no more tasks than evictd has now."""
        assert self._process is not None
        (cgroup / "cgroup.procs").write_text(str(self._process.pid))
        (cgroup / "pids.max").write_text((cgroup / "pids.current").read_text())

    def reload(self) -> None:
        """Ask evictd to read its configuration again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def process_id(self) -> int:
        """The id of evictd's process."""
        assert self._process is not None
        return self._process.pid

    def resident_kib(self, *, peak: bool = False) -> int:
        """The resident memory of evictd, or the most that it was."""
        assert self._process is not None
        key = "VmHWM:" if peak else "VmRSS:"
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(key))

    def reads(self, folder: Path) -> bool:
        """Whether evictd has a directory open."""
        assert self._process is not None
        for descriptor in Path(f"/proc/{self._process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed since it was listed
                if descriptor.readlink() == folder:
                    return True
        return False

    def log(self) -> str:
        """The whole log of evictd."""
        path = self.node.folder / "evictd.log"
        return path.read_text() if path.exists() else ""

    # --- pods ---------------------------------------------------------------------------------------------------------

    def pod(
        self,
        name: str,
        script: str = SLEEPS,
        *,
        volumes: Sequence[VolumeRecipe] = (),
        requests: Mapping[str, str] | None = None,
        limits: Mapping[str, str] | None = None,
        grace: int = 1,
        **recipe: Any,
    ) -> RunningPod:
        """Start a pod of one container."""
        container = ContainerRecipe(name="main", script=script, requests=requests or {}, limits=limits or {})
        made = self.node.run_pod(
            PodRecipe(name=name, containers=(container,), volumes=tuple(volumes), grace_period_seconds=grace, **recipe)
        )
        self.pods[name] = made
        return made

    def remove(self, name: str) -> None:
        """Remove what is left of a pod; containerd refuses that while evictd is still stopping its sandbox."""
        sandbox = self.pods.pop(name).sandbox_id

        def removed() -> bool:
            with suppress(RuntimeRefusedError):
                self.node.client.remove_sandbox(sandbox)
                return True
            return False

        self.until(removed, f"{name} is removed")

    def runs(self, name: str) -> bool:
        """Whether a container of the pod is running."""
        ids = set(self.pods[name].containers.values())
        found = self.node.client.list_containers()
        return any(row.id in ids and row.state is ContainerState.RUNNING for row in found)

    def running(self) -> set[str]:
        """The names of the pods that run."""
        return {name for name in self.pods if self.runs(name)}

    # --- evidence -----------------------------------------------------------------------------------------------------

    def conditions(self) -> set[str]:
        """The conditions that are True, and `ready` so that a report without pressure is not empty."""
        try:
            document = json.loads((self.state / "conditions.json").read_text())
        except FileNotFoundError:
            return set()
        return {"ready", *(row["type"] for row in document["conditions"] if row["status"] == "True")}

    def remembered(self) -> Plain:
        """The core's state in the state file."""
        state: Plain = json.loads((self.state / "state.json").read_text())["remembered"]["state"]
        return state

    def victims_remembered(self) -> set[str]:
        """The full names of the victims in flight in the state file."""
        return {victim["fullName"] for victim in self.remembered()["inFlight"]}

    def journal(self) -> list[Plain]:
        """Every cycle that decided something."""
        path = self.state / "journal.jsonl"
        if not path.exists():
            return []
        lines = path.read_bytes().split(b"\n")
        return [json.loads(line) for line in lines[:-1] if line]

    def decisions(self, kind: str) -> list[Plain]:
        """Every decision of a kind, in order, with the `now` of its cycle."""
        return [
            {**decision, "now": entry["now"]}
            for entry in self.journal()
            for decision in entry["decisions"]
            if decision["kind"] == kind
        ]

    def evictions(self) -> list[Plain]:
        """Every eviction; a grace period cut short is not another one."""
        return [decision for decision in self.decisions("EvictPod") if not decision["shortens"]]

    def evicted(self) -> list[str]:
        """The names of the evicted pods in order."""
        return [decision["pod"]["name"] for decision in self.evictions()]

    # --- waiting ------------------------------------------------------------------------------------------------------

    def until(self, condition: Callable[[], bool], what: str, within: float = BOUND) -> float:
        """Wait for a condition; returns the seconds it took. A failure shows evictd's log."""
        began = time.monotonic()
        while not condition():
            if self._process is not None and self._process.poll() is not None:
                raise AssertionError(f"evictd ended while waiting until {what}")
            if time.monotonic() - began > within:
                raise AssertionError(f"not within {within:g} s: {what}")
            time.sleep(STEP)
        return time.monotonic() - began

    def until_condition(self, condition: str) -> float:
        """Wait until the node reports it."""
        return self.until(lambda: condition in self.conditions(), f"{condition} is reported")

    def until_evicted(self, *names: str) -> None:
        """Wait until these pods were evicted in this order, no other pod before them, and none of their containers runs."""
        self.until(lambda: len(self.evicted()) >= len(names), f"{', '.join(names)} are evicted")
        assert self.evicted()[: len(names)] == list(names)
        self.until(lambda: not self.running() & set(names), f"{', '.join(names)} do not run any more")

    def until_calm(self, condition: str, *, calm: float = CALM) -> None:
        """Wait until the condition is False, and check that it stays so for some seconds without another eviction."""
        before = self.running()
        self.until(lambda: self.conditions() == {"ready"}, f"{condition} is gone")
        calm_until = time.monotonic() + calm
        self.until(lambda: time.monotonic() > calm_until or condition in self.conditions(), "it is calm")
        assert self.conditions() == {"ready"}
        assert self.running() == before

    # --- the pass criteria of the kubelet's node suite -----------------------------------------------------

    def verify(self, *, evicted: Sequence[str], innocent: Sequence[str], starved: str = "") -> None:
        """The right pods and only they, each once and with its reasons; innocents alive; a new pod may run."""
        assert self.evicted() == list(evicted)
        assert self.running() >= set(innocent)
        for eviction in self.evictions():
            if starved:
                assert eviction["annotations"]["starved_resource"] == starved
                assert eviction["condition"]["type"] == "DisruptionTarget"
            if starved == "memory":
                self._verify_offenders(eviction)
        self.pod("newcomer")
        cycles = self.log().count("\n")
        self.until(lambda: self.runs("newcomer"), "a new pod runs")
        assert self.evicted() == list(evicted), f"a pod was evicted after {cycles} lines"

    @staticmethod
    def _verify_offenders(eviction: Plain) -> None:
        annotations = eviction["annotations"]
        assert annotations["offending_containers"] == "main"
        used = parse_quantity(annotations["offending_containers_usage"])
        assert used.value() > 0

    def free_bytes(self) -> int:
        """What is available on nodefs."""
        found = os.statvfs(self.node.kubelet_folder)
        return found.f_bavail * found.f_frsize

    def leaves(self, mib: int) -> int:
        """How many MiB to write so that so many are left."""
        return self.free_bytes() // MIB - mib

    def until_left(self, mib: int) -> None:
        """Wait until the pods have left no more than so many MiB and the rest of another."""
        self.until(lambda: self.leaves(mib) <= 0, f"{mib} MiB are left")

    def ballast(self, mib: int) -> Path:
        """Fill the disk at once with a file outside all pods, up to a number of MiB left."""
        made = self.node.kubelet_folder / "ballast"
        with made.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, self.leaves(mib) * MIB)
        return made

    def free_inodes(self) -> int:
        """How many inodes are free on nodefs."""
        return os.statvfs(self.node.kubelet_folder).f_ffree

    def images(self) -> set[str]:
        """The tags of all images on the node."""
        return {tag for image in self.node.client.list_images() for tag in image.repo_tags}

    def _describe(self) -> str:
        with suppress(Exception):  # only details of a failure that is raised anyway
            return f"running: {self.running()}\nconditions: {self.conditions()}\nevicted: {self.evicted()}\n"
        return ""
