"""The whole tree of errors, on one screen.

Foreign exceptions are mapped into it at the border where they appear (`clients`, `config.file`, `codec`); everything above
the border sees only these. Each error carries one line for the user: what, where, and what would be right.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status says."""

    DONE = 0
    NO = 1
    """The answer is 'no': lint findings, a mismatch."""
    USAGE = 2
    """Bad usage, or a configuration or input file that cannot be used."""
    UNREACHABLE = 3
    """The node or a server could not be reached."""


class EvictdError(Exception):
    """The root: anything evictd raises on purpose."""

    exit_code = ExitCode.NO


class InvalidValueError(EvictdError, ValueError):
    """A text that is no value of its kind (quantity, duration, percentage); raised by the core's parsers."""

    exit_code = ExitCode.USAGE


class InputError(EvictdError):
    """A file or document that cannot be used: `problems` holds every one of its faults, not only the first."""

    exit_code = ExitCode.USAGE

    def __init__(self, problems: "tuple[str, ...] | str") -> None:
        self.problems = (problems,) if isinstance(problems, str) else problems
        super().__init__("\n".join(self.problems))


class NodeError(EvictdError):
    """Something of this node could not be read or done: a cgroup, a mount, a file."""

    exit_code = ExitCode.UNREACHABLE


class RuntimeUnavailableError(EvictdError):
    """The container runtime did not answer, or not in time; the call may be tried again."""

    exit_code = ExitCode.UNREACHABLE


class RuntimeRefusedError(EvictdError):
    """The container runtime answered, and the answer was no."""


class RuntimeNotFoundError(RuntimeRefusedError):
    """The container, sandbox or image is not there (any more)."""


class RuntimeUnimplementedError(RuntimeRefusedError):
    """This runtime does not know the call."""


class ApiUnavailableError(EvictdError):
    """The API server did not answer, or asked to come again later (`retry_after_seconds`)."""

    exit_code = ExitCode.UNREACHABLE

    def __init__(self, message: str, *, retry_after_seconds: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class ApiRefusedError(EvictdError):
    """The API server answered with a refusal; `status` is the HTTP status, `reason` the machine-readable word."""

    def __init__(self, message: str, *, status: int, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
