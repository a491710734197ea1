"""Scripts that take memory or disk, for a busybox shell. A `dd` that waits on a full pipe holds its buffer and no CPU."""


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
