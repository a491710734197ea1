"""Defines all errors of evictd, the exit codes, the kinds of error sources, and the question that answers a misspelt name.

Exceptions of libraries and of the system are mapped to these classes where they are raised (`clients`, `config.file`, `codec`,
`observe`); other packages handle only these. A message is one line for the user: what failed, where, and what is expected.
"""

import difflib
from collections.abc import Iterable
from enum import IntEnum, StrEnum

_LONGEST_NAME = 320
"""More than the longest `namespace/name`; the time of a comparison grows with the square of the length."""

NOTHING_YET = "no cycle has ended yet"
"""What the daemon answers while it starts; by this the commands know it from another program at its address."""


class ExitCode(IntEnum):
    """The exit status of a command."""

    DONE = 0
    NO = 1
    """A negative result: an error of `evictd check`, a mismatch, an unmet expectation of a world, no such pod or eviction."""
    USAGE = 2
    """Invalid usage, or an unusable configuration or input file."""
    UNREACHABLE = 3
    """The node or a server could not be reached."""
    TAKEN = 4
    """Another daemon has the state directory; trying again does not help while it runs."""


class EvictdError(Exception):
    """The base class of all errors that evictd raises."""

    exit_code = ExitCode.NO


class InvalidValueError(EvictdError, ValueError):
    """A text that is not a valid value of its kind (quantity, duration, percentage, ...)."""

    exit_code = ExitCode.USAGE


class InputError(EvictdError):
    """An unusable file or document; `problems` holds all its errors, one line each."""

    exit_code = ExitCode.USAGE

    def __init__(self, problems: "tuple[str, ...] | str") -> None:
        self.problems = (problems,) if isinstance(problems, str) else problems
        super().__init__("\n".join(self.problems))


class NotFoundError(EvictdError):
    """What was asked for is not in the input."""


class NoEvictionError(NotFoundError):
    """A journal has no eviction; the message says why no pod went. `kernel_killed`: it says what the kernel killed instead."""

    def __init__(self, message: str, *, kernel_killed: bool = False) -> None:
        super().__init__(message)
        self.kernel_killed = kernel_killed


class NodeError(EvictdError):
    """A cgroup, mount, file or other resource of this node could not be read or changed."""

    exit_code = ExitCode.UNREACHABLE


class StateTakenError(NodeError):
    """Another daemon uses the state directory."""

    exit_code = ExitCode.TAKEN


class RuntimeUnavailableError(EvictdError):
    """The container runtime did not respond, or not in time; the call may be retried."""

    exit_code = ExitCode.UNREACHABLE


class RuntimeRefusedError(EvictdError):
    """The container runtime responded with an error."""


class RuntimeNotFoundError(RuntimeRefusedError):
    """The container, sandbox or image does not exist (any more)."""


class RuntimeUnimplementedError(RuntimeRefusedError):
    """This runtime does not implement the call."""


class RuntimeResponseTooLargeError(RuntimeRefusedError):
    """A response is larger than the runtime may send or evictd may receive; a smaller part may be requested."""


class ApiUnavailableError(EvictdError):
    """The API server did not respond, or temporarily refused (`retry_after_seconds`); the request may be retried.

    `reached`: the server answered this request with a temporary error, or took it and did not answer in time. Other requests may
    succeed: a webhook that is down concerns only what it is called for.
    """

    exit_code = ExitCode.UNREACHABLE

    def __init__(self, message: str, *, retry_after_seconds: int | None = None, reached: bool = False) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        self.reached = reached


class ApiResponseTooLargeError(ApiUnavailableError):
    """A response of the API server is larger than evictd takes; a smaller part may be requested."""


class ApiRefusedError(EvictdError):
    """The API server refused a request; `status` is the HTTP status, `reason` that of the API's `Status` object."""

    def __init__(self, message: str, *, status: int, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


def file_fault(error: OSError) -> str:
    """Return in words why a file cannot be used."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return (error.strerror or str(error)).lower()


def missing_package(package: str, extra: str) -> str:
    """Return that a package of an extra is not installed, and how to install it in each kind of installation."""
    return (
        f"{package} is not installed; it comes with the extra `{extra}`: in a clone run make setup; beside the Debian package "
        f"run sudo python3 -m pip --python /usr/lib/evictd/bin/python3 install {package}"
    )


def similar_names(name: str, known: Iterable[str], *, most: int, similarity: float = 0.6) -> list[str]:
    """Return at most `most` known names, the most similar first; `similarity` is the least ratio of `difflib`, from 0 to 1."""
    return difflib.get_close_matches(name[:_LONGEST_NAME], known, n=most, cutoff=similarity)


def most_similar(name: str, known: Iterable[str], *, similarity: float = 0.6) -> str:
    """Return the most similar known name, and "" where none is similar enough (0 to 1, `difflib`)."""
    return next(iter(similar_names(name, known, most=1, similarity=similarity)), "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question that names the most similar known name, and "" where none is similar enough."""
    near = most_similar(name, known)
    return f"did you mean {near}?" if near else ""


ROOT_DIR_REMEDY = "make rootDir or set it to a directory of the disk that pods fill"
"""What to do where `rootDir` is missing and no kubelet makes it."""

CREDENTIALS_SOURCE = "apiserver/credentials"
"""Names the problem that the API server rejects the credentials, which makes the daemon unready."""


class SourceKind(StrEnum):
    """The kinds of sources of errors and problems: the values of the label of `evictd_errors_total`.

    A source is a kind, or a kind followed by a blank, a colon or a slash and the name of one object.
    """

    ALLOCATED_RESOURCES = "allocated resources"
    API_REQUESTS = "api-requests"
    APISERVER = "apiserver"
    CGROUP_OF = "cgroup of"
    COLLECT = "collect"
    CONDITIONS_JSON = "conditions.json"
    CONTAINER = "container"
    CONTAINER_RUNTIME = "container runtime"
    CONTAINERFS = "containerfs"
    CYCLE = "cycle"
    DISK_USAGE = "disk usage"
    DISK_USAGE_THREAD = "disk-usage"
    EMERGENCY_FILE = "emergency file"
    FILESYSTEM_LAYOUT = "filesystem layout"
    HOOK = "hook"
    HOSTS_FILE = "hosts file"
    HTTP = "http"
    IMAGE = "image"
    IMAGEFS = "imagefs"
    IO_PRESSURE = "io pressure"
    JOURNAL = "journal"
    KILLING_POD = "killing pod"
    LISTEN = "listen"
    LOCK = "lock"
    LOCK_MEMORY = "lock memory"
    LOG_FOLDER = "log folder"
    LOGS_OF = "logs of"
    MANIFESTS = "manifests"
    MEMORY_NOTIFICATION = "memory notification"
    MEMORY_OF_CONTAINER = "memory of container"
    MEMORY_OF_THE_NODE = "memory of the node"
    MEMORY_OF_THE_PODS_CGROUP = "memory of the pods cgroup"
    MEMORY_PRESSURE = "memory pressure"
    MEMORY_QOS = "memory QoS"
    MEMORY_THRESHOLD = "memory threshold"
    NODEFS = "nodefs"
    OOM_SCORE_ADJ = "oom_score_adj"
    PERFORM = "perform"
    PIDS = "pids"
    POD_IDENTITY = "pod identity"
    POD_WATCH = "pod-watch"
    PODS_CGROUP = "pods cgroup"
    RELOAD = "reload"
    SANDBOX = "sandbox"
    STANDALONE = "standalone"
    STATE = "state"
    STOPPING_POD = "stopping pod"
    SYSTEMD_OOMD = "systemd-oomd"
    TERMINATE = "terminate"
    VOLUME = "volume"
    VOLUMES = "volumes"
    WAIT = "wait"
    WRITABLE_LAYER = "writable layer"


OTHER_SOURCE = "other"
"""The kind of a source that is not in the list."""


def source_kind(source: str) -> str:
    """Return the longest kind that a source begins with, `OTHER_SOURCE` if there is none."""
    matching = (
        kind.value for kind in SourceKind if source == kind or source.startswith((f"{kind} ", f"{kind}:", f"{kind}/"))
    )
    return max(matching, key=len, default=OTHER_SOURCE)
