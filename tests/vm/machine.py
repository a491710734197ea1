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
from pathlib import Path

from tests.vm.build import Image

MEMORY_MIB = 2048
_KERNEL_ARGUMENTS = (
    "root=/dev/vda rw console=ttyS0 quiet systemd.show_status=false psi=1 mitigations=off no_timer_check panic=-1"
)
"""On a busy host the emulated timer fails the kernel's check of it; a kernel that panics all the same ends qemu."""
_CONTROL = re.compile(r"\x1b[P\]].*?(?:\x1b\\|\x07)|\x1b\[[0-9;?!]*[A-Za-z]|\x1bc|[\x00-\x08\x0b-\x1f]")
"""What the firmware and systemd send to a terminal that is not there."""


def boot(image: Image, data_disk: Path, *, limit_seconds: float, memory_mib: int = MEMORY_MIB) -> float | None:
    """Run the machine until it powers itself off, printing its serial port; give the seconds, `None` if the time was up."""
    began = time.monotonic()
    # TMPDIR: where qemu keeps what is written to the root disk.
    environment = {**os.environ, "TMPDIR": str(data_disk.parent)}
    argv = ["setpriv", "--pdeathsig", "KILL", *_qemu(image, data_disk, memory_mib)]
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as qemu:
        expired = threading.Event()
        timer = threading.Timer(limit_seconds, _end, (qemu, expired))
        timer.start()
        try:
            _print_lines(qemu, began)
        finally:
            timer.cancel()
            qemu.kill()
    return None if expired.is_set() else time.monotonic() - began


def _end(qemu: subprocess.Popen[bytes], expired: threading.Event) -> None:
    expired.set()
    qemu.kill()


def _print_lines(qemu: subprocess.Popen[bytes], began: float) -> None:
    assert qemu.stdout is not None
    for line in qemu.stdout:
        text = _CONTROL.sub("", line.decode(errors="replace")).strip()
        if text:
            print(f"[{time.monotonic() - began:5.0f}] {text}", flush=True)


def _qemu(image: Image, data_disk: Path, memory_mib: int) -> list[str]:
    kvm = os.environ.get("EVICTD_VM_ACCEL") == "kvm"
    return [
        "qemu-system-x86_64",
        *(("-accel", "kvm", "-cpu", "host") if kvm else ("-accel", "tcg,thread=multi", "-cpu", "max")),
        *("-smp", "2", "-m", str(memory_mib), "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"),
        *("-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", _KERNEL_ARGUMENTS),
        *("-drive", f"file={image.disk},format=raw,if=virtio,snapshot=on"),
        *("-drive", f"file={data_disk},format=raw,if=virtio,cache=unsafe"),
        *("-device", "virtio-rng-pci"),
    ]
