"""Clean file pages of the pods' cgroup are dropped in steps, as far as needed and within a time."""

import errno
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from evictd.act.gc.page_cache import LIMIT, STEP, PageCacheReclaimer
from evictd.core.model.observation import ReclaimOutcome
from evictd.core.units.duration import SECOND
from tests.threads import no_thread_to_give

MIB = 1 << 20


class Kernel:
    """A cgroup directory whose `memory.reclaim` drops inactive pages first; `knows` is whether it takes `swappiness`."""

    def __init__(
        self, folder: Path, *, knows: bool = True, inactive: int = 32, active: int = 400, anon: int = 100
    ) -> None:
        self.folder, self.knows = folder, knows
        self.inactive, self.active, self.anon = (each * MIB for each in (inactive, active, anon))
        self.asked: list[str] = []
        (folder / "memory.reclaim").touch()
        self._show()

    def _show(self) -> None:
        (self.folder / "memory.current").write_text(f"{self.inactive + self.active + self.anon}\n")
        (self.folder / "memory.stat").write_text(f"anon {self.anon}\ninactive_file {self.inactive}\n")

    def write(self, _: int, text: bytes) -> int:
        """As `os.write` on memory.reclaim."""
        words = text.decode().split()
        self.asked.append(text.decode())
        if len(words) > 1 and not self.knows:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        size = int(words[0])
        dropped = min(size, self.inactive)
        self.inactive -= dropped
        rest = min(size - dropped, self.active)
        self.active -= rest
        self._show()
        if dropped + rest < size:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return len(text)


def dropped(
    tmp_path: Path, folder: Path | None, wanted: int, clock: Callable[[], int] = lambda: 0, *, swaps: int = 0
) -> ReclaimOutcome:
    """The outcome of one reclaim on a machine with so many swap devices."""
    (tmp_path / "swaps").write_text("Filename Type Size Used Priority\n" + "/dev/sda2 partition 1 0 -2\n" * swaps)
    ended = Event()
    with closing(PageCacheReclaimer(lambda: folder, proc=tmp_path, clock=clock, wake=ended.set)) as reclaimer:
        with no_thread_to_give():  # as on a node that needs it
            reclaimer.begin(wanted)
        assert ended.wait(60)
        outcome = reclaimer.outcome()
    assert outcome is not None
    return outcome


def test_pages_are_dropped_until_the_working_set_has_fallen_by_what_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel(tmp_path)
    monkeypatch.setattr(os, "write", kernel.write)
    outcome = dropped(tmp_path, tmp_path, 100 * MIB)
    assert (outcome.freed_bytes, outcome.error) == (100 * MIB, "")
    assert kernel.asked == [f"{STEP} swappiness=0"] * 8 + [f"{4 * MIB} swappiness=0"]


def test_no_more_is_asked_for_than_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(tmp_path, active=40)
    monkeypatch.setattr(os, "write", kernel.write)
    assert dropped(tmp_path, tmp_path, 100 * MIB).freed_bytes == 40 * MIB
    assert kernel.asked[-1] == f"{STEP} swappiness=0"


def test_it_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes on by a second with each look."""
    kernel, seconds = Kernel(tmp_path), iter(range(1000))
    monkeypatch.setattr(os, "write", kernel.write)
    dropped(tmp_path, tmp_path, 300 * MIB, lambda: next(seconds) * SECOND)
    assert len(kernel.asked) == LIMIT // SECOND - 1


@pytest.mark.parametrize("swaps", [0, 1])
def test_a_kernel_without_swappiness_is_asked_only_where_nothing_can_be_swapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swaps: int
) -> None:
    kernel = Kernel(tmp_path, knows=False)
    monkeypatch.setattr(os, "write", kernel.write)
    outcome = dropped(tmp_path, tmp_path, 10 * MIB, swaps=swaps)
    if swaps:
        assert outcome.error == "this kernel would swap as well: memory.reclaim takes no swappiness"
        assert kernel.asked == [f"{STEP} swappiness=0"]
    else:
        assert (outcome.freed_bytes, outcome.error) == (10 * MIB, "")
        assert kernel.asked == [f"{STEP} swappiness=0", str(STEP), str(STEP), str(10 * MIB)]


def test_without_cgroup_v2_it_says_so(tmp_path: Path) -> None:
    outcome = dropped(tmp_path, tmp_path, MIB)
    assert outcome.error == "page cache can be dropped only with cgroup v2 and Linux 5.19 or newer"


def test_a_cgroup_of_all_pods_that_is_not_found_is_an_error(tmp_path: Path) -> None:
    assert dropped(tmp_path, None, MIB).error == "the cgroup of all pods is not known"


def test_one_at_a_time(tmp_path: Path) -> None:
    """A second request beside a kernel that hangs is an error, and nothing waits."""
    hangs, asked, ended = Event(), Event(), Event()

    def find() -> None:
        asked.set()
        hangs.wait(60)

    with closing(PageCacheReclaimer(find, proc=tmp_path, clock=lambda: 0, wake=ended.set)) as reclaimer:
        reclaimer.begin(MIB)
        assert asked.wait(60)
        assert reclaimer.outcome() is None
        reclaimer.begin(MIB)
        outcome = reclaimer.outcome()
        assert outcome is not None
        assert outcome.error == "the kernel is still at work on the last request"
        ended.clear()
        hangs.set()
        assert ended.wait(60)
