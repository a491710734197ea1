"""Which pods write the most, by what their cgroups show."""

from pathlib import Path

from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup_reader import CgroupV2
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.kernel_text import CgroupWrites
from evictd.observe.disk_usage.writers import MOST, Writers
from tests.trees import plant, v2

MIB = 1 << 20


class Cgroups(CgroupV2):
    """What each cgroup writes: MiB so far, and MiB that wait to be written."""

    def __init__(self, root: Path, **written: tuple[int, int]) -> None:
        super().__init__(plant(root, v2()), FileDescriptorCache(0))
        self.written = written

    def writes(self, path: str) -> CgroupWrites:
        if path not in self.written:
            raise NodeError(f"{path}: absent")
        total, waiting = self.written[path]
        return CgroupWrites(total * MIB, waiting * MIB)


def found(writers: Writers, names: str) -> str:
    return "".join(sorted(writers.find({name: (f"other-{name}", name) for name in names})))


def test_a_pods_first_reading_is_no_growth_but_what_waits_to_be_written_counts(tmp_path: Path) -> None:
    cgroups = Cgroups(tmp_path, a=(9000, 0), b=(0, 5), c=(0, 0))
    writers = Writers(cgroups)
    assert found(writers, "abc") == "b"
    cgroups.written |= {"a": (9100, 0), "c": (10, 0)}
    assert found(writers, "abc") == "a"
    assert found(writers, "abc") == "b", "a has stopped writing"


def test_the_largest_few_are_found_and_nothing_while_all_are_idle(tmp_path: Path) -> None:
    names = "abcdefgh"
    cgroups = Cgroups(tmp_path, **dict.fromkeys(names, (0, 0)))
    writers = Writers(cgroups)
    assert found(writers, names) == ""
    cgroups.written = dict.fromkeys(names, (10, 0))
    assert found(writers, names) == "", "none writes a quarter of it all"
    cgroups.written |= dict.fromkeys("bfgh", (100, 0))
    assert len(found(writers, "bfgh")) == MOST


def test_a_cgroup_that_was_emptied_or_made_again_has_written_nothing(tmp_path: Path) -> None:
    cgroups = Cgroups(tmp_path, a=(100, 0), b=(0, 0))
    writers = Writers(cgroups)
    found(writers, "ab")
    cgroups.written = {"a": (20, 0), "b": (2, 0)}
    assert found(writers, "ab") == "b"
    del cgroups.written["a"]
    assert found(writers, "ab") == ""
