"""Runs the machine once: boot, the job on the second disk, power off.

Emulated, so that it runs anywhere, though everything takes five to ten times as long in it; `EVICTD_VM_ACCEL=kvm` is for
hosts whose KVM works (nested ones may have the device and yet hang). The root disk is never written: qemu keeps the changes
in an unlinked file. qemu is killed with this process, however that ends.
"""

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.vm.build import Image

MEMORY_MIB = 1728
"""Two machines at the same time take less than 4 GiB, with what qemu needs itself."""
TRANSLATED_MIB = 224
"""How much translated code of the guest qemu keeps; a gigabyte if it is not told."""
JOB_BEGINS = "the job begins"
"""What job.sh prints first."""
START_SECONDS = 300
"""A guest is up after 30 s on a quiet host, and after 143 s on a very busy one."""
STARTS = 3
_KERNEL_ARGUMENTS = (
    "root=/dev/vda rw console=ttyS0 quiet systemd.show_status=false psi=1 mitigations=off no_timer_check panic=-1"
)
"""On a busy host the emulated timer fails the kernel's check of it; a kernel that panics all the same ends qemu."""
_CONTROL = re.compile(r"\x1b[P\]].*?(?:\x1b\\|\x07)|\x1b\[[0-9;?!]*[A-Za-z]|\x1bc|[\x00-\x08\x0b-\x1f]")
"""What the firmware and systemd send to a terminal that is not there."""


def boot(
    image: Image,
    data_disk: Path,
    *,
    limit_seconds: float,
    memory_mib: int = MEMORY_MIB,
    start_seconds: float = START_SECONDS,
) -> float | None:
    """Run the machine until it powers itself off, printing its serial port; give the seconds, `None` if the time was up.

    A machine that has not begun the job within `start_seconds`, or ended before it, is started anew. This repeats the boot of an
    emulated kernel and never a test: from `JOB_BEGINS` on the run is the only one, however it ends.
    """
    began = time.monotonic()
    # TMPDIR: where qemu keeps what is written to the root disk.
    environment = {**os.environ, "TMPDIR": str(data_disk.parent)}
    argv = ["setpriv", "--pdeathsig", "KILL", *_qemu(image, data_disk, memory_mib)]
    for start in range(STARTS):
        if start:
            print(
                f"[{time.monotonic() - began:5.0f}] the machine did not begin the job and is started anew", flush=True
            )
        left = limit_seconds - (time.monotonic() - began)
        job_began, expired = _run(argv, environment, began, start_seconds=min(start_seconds, left), limit_seconds=left)
        if job_began:
            return None if expired else time.monotonic() - began
        if time.monotonic() - began >= limit_seconds:
            break
    return None


def _run(
    argv: list[str], environment: dict[str, str], began: float, *, start_seconds: float, limit_seconds: float
) -> tuple[bool, bool]:
    """Run qemu once; whether the job began, and whether the time was up."""
    job_began = False
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as qemu:
        expired = threading.Event()
        until_job = threading.Timer(start_seconds, _end, (qemu, expired))
        until_end = threading.Timer(limit_seconds, _end, (qemu, expired))
        try:
            until_job.start()
            until_end.start()
            for text in _lines(qemu):
                print(f"[{time.monotonic() - began:5.0f}] {text}", flush=True)
                if JOB_BEGINS in text:
                    job_began = True
                    until_job.cancel()
        finally:
            until_job.cancel()
            until_end.cancel()
            qemu.kill()
    return job_began, expired.is_set()


def _end(qemu: subprocess.Popen[bytes], expired: threading.Event) -> None:
    expired.set()
    qemu.kill()


def _lines(qemu: subprocess.Popen[bytes]) -> Iterator[str]:
    assert qemu.stdout is not None
    for line in qemu.stdout:
        if text := _CONTROL.sub("", line.decode(errors="replace")).strip():
            yield text


def _qemu(image: Image, data_disk: Path, memory_mib: int) -> list[str]:
    kvm = os.environ.get("EVICTD_VM_ACCEL") == "kvm"
    # One thread for both processors takes no longer, and two machines at the same time have a processor each. With two threads
    # Linux 7.2 failed in 2 of some 30 boots, once at an instruction that the other processor was patching.
    return [
        "qemu-system-x86_64",
        *(
            ("-accel", "kvm", "-cpu", "host")
            if kvm
            else ("-accel", f"tcg,thread=single,tb-size={TRANSLATED_MIB}", "-cpu", "max")
        ),
        *("-smp", "2", "-m", str(memory_mib), "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"),
        *("-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", _KERNEL_ARGUMENTS),
        *("-drive", f"file={image.disk},format=raw,if=virtio,snapshot=on"),
        *("-drive", f"file={data_disk},format=raw,if=virtio,cache=unsafe"),
        *("-device", "virtio-rng-pci"),
    ]
