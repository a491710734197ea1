"""Shell scripts that use memory, disk or PIDs. A `dd` that waits on a full pipe holds its buffer and no CPU."""


def holds(mebibytes: int) -> str:
    """Take so much memory at once, keep it, and end when asked to."""
    return f"dd if=/dev/zero bs={mebibytes}M count=1 2>/dev/null | sleep 100000 & trap 'exit 0' TERM; wait"


def grows(first_mebibytes: int, step_mebibytes: int, pause_seconds: float) -> str:
    """Take so much at once, then step by step more and more, for ever; SIGTERM is not heard."""
    return (
        f"dd if=/dev/zero bs={first_mebibytes}M count=1 2>/dev/null | sleep 100000 & "
        f"while :; do dd if=/dev/zero bs={step_mebibytes}M count=1 2>/dev/null | sleep 100000 & "
        f"sleep {pause_seconds}; done"
    )


def writes(folder: str, step_mebibytes: int, pause_seconds: float) -> str:
    """Fill a folder file by file, for ever."""
    return (
        f"i=0; while :; do dd if=/dev/zero of={folder}/$i bs={step_mebibytes}M count=1 2>/dev/null; "
        f"i=$((i+1)); sleep {pause_seconds}; done"
    )


def reads(folder: str, mebibytes: int, *, times: int) -> str:
    """Write a file and read it so many `times`, with a rest after each; from the second time on its pages are active.

    Then `done` is in the folder, and the pod rests.
    """
    return (
        f"dd if=/dev/zero of={folder}/read bs=1M count={mebibytes} conv=fsync 2>/dev/null; i=0; "
        f"while [ $i -lt {times} ]; do dd if={folder}/read of=/dev/null bs=1M 2>/dev/null; i=$((i+1)); sleep 0.5; done; "
        f": >{folder}/done; trap 'exit 0' TERM; while :; do sleep 1; done"
    )


def thrashes(folder: str, mebibytes: int) -> str:
    """Write a file and read it for ever by two readers, one close behind the other, as tasks that share data do.

    A page that is read twice while it is cached belongs to the working set. In a cgroup with a little less memory than the file
    such pages are given up and read back; read by one reader alone, or four times as large, the file would only pass through.
    """
    return (
        f"dd if=/dev/zero of={folder}/fill bs=1M count={mebibytes} conv=fsync 2>/dev/null; "
        f"for reader in 1 2; do while :; do cat {folder}/fill >/dev/null; done & done; wait"
    )


def forks(folder: str) -> str:
    """Once `go` is in the folder start one process after the other, for ever; writes a line to `refused` when no PID is left.

    Each process waits to open a pipe. A shell that cannot fork ends, so it executes itself anew, which takes no PID.
    """
    bomb = (
        f"trap 'echo >>{folder}/refused; read -t 0.1 x <>{folder}/idle; exec sh {folder}/bomb' EXIT; "
        f"while :; do : <{folder}/pipe & done"
    )
    return (
        f'cd {folder}; busybox mkfifo pipe idle; echo "{bomb}" >bomb; '
        f"until [ -e go ]; do sleep 0.2; done; exec sh bomb 2>/dev/null"
    )
