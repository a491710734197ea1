"""The mount table is read when it changes, and identifies devices."""

import os
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.filesystems.mounts import Mount, MountTable, mount_number, parse_mountinfo
from tests import mounted
from tests.kube.waiting import eventually
from tests.trees import MOUNTINFO, plant


def table(base: Path, mountinfo: str) -> MountTable:
    made = MountTable(plant(base / "proc", {"self": {"mountinfo": mountinfo}}))
    made.changed()
    return made


def test_a_line_is_read_with_its_escapes_and_optional_fields() -> None:
    text = (
        b"36 35 98:0 /root /mnt\\040two rw shared:1 master:2 - ext3 /dev/a\\040b rw,errors=continue\n"
        + MOUNTINFO.encode()
    )
    assert parse_mountinfo(text) == (
        Mount(
            number="36",
            device="98:0",
            point=b"/mnt two",
            fs_type="ext3",
            source="/dev/a b",
            options=(b"rw", b"errors=continue"),
        ),
        Mount(number="27", device="254:0", point=b"/", fs_type="ext4", source="/dev/vda", options=(b"rw",)),
    )


def test_an_escape_that_is_no_byte_stays_as_it_is() -> None:
    (mount,) = parse_mountinfo(b"36 35 98:0 / /a\\777b\\040c rw - ext3 /dev/\\400 rw\n")
    assert (mount.point, mount.source) == (b"/a\\777b c", "/dev/\\400")


@pytest.mark.parametrize("text", [b"", b"garbage\n", b"36 35 98:0 /\n", b"36 35 98:0 / / rw - ext3\n", b"\xff\n - \n"])
def test_lines_cut_short_are_left_out(text: bytes) -> None:
    assert parse_mountinfo(text) == ()


def test_a_carriage_return_in_a_name_of_a_pod_hides_no_mount() -> None:
    """The kernel escapes blanks, tabs and line feeds alone; `subPath` is the author's."""
    (mount,) = parse_mountinfo(b"36 35 98:0 /pods/u/volumes/a\rb /mnt/a\rb rw - ext3 /dev/a rw\n")
    assert (mount.number, mount.device, mount.point) == ("36", "98:0", b"/mnt/a\rb")


def test_a_device_is_its_number_where_the_table_knows_it(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    mounts = table(tmp_path, f"27 1 {device} / / rw - ext4 /dev/vda rw\n")
    assert mounts.device_of(tmp_path) == device
    mounts.close()


def test_subvolumes_are_one_device_by_the_mount_above_them(tmp_path: Path) -> None:
    """On btrfs each subvolume has a number that is in no table."""
    plant(tmp_path, {"pool": {"images": {}, "kubelet": {}}, "other": {}})
    mounts = table(
        tmp_path,
        "27 1 9:98 / / rw - btrfs /dev/vda rw\n"
        f"28 27 9:99 / {tmp_path}/pool rw - btrfs /dev/vdb rw\n"
        f"29 27 9:97 / {tmp_path}/pool2 rw - btrfs /dev/vdc rw\n",
    )
    assert mounts.device_of(tmp_path / "pool/images") == mounts.device_of(tmp_path / "pool/kubelet") == "/dev/vdb"
    assert mounts.device_of(tmp_path / "other") == "/dev/vda"
    mounts.close()


@pytest.mark.parametrize(
    ("options", "read_only"),
    [
        ("rw", False),
        ("ro,errors=remount-ro", True),
        ("rw,errors=remount-ro", False),
        ("rw,emergency_ro", True),
        ("", False),
    ],
)
def test_a_filesystem_is_read_only_by_its_own_options(tmp_path: Path, options: str, read_only: bool) -> None:
    number = tmp_path.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    mounts = table(tmp_path, f"27 1 {device} / / ro,relatime - ext4 /dev/vda {options}\n")
    assert mounts.is_read_only(tmp_path) is read_only
    mounts.close()


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    mounts = table(tmp_path, MOUNTINFO)
    with pytest.raises(NodeError):
        mounts.device_of(tmp_path / "none")
    for path in ("/a\0b", "/\udfff\ud800"):
        with pytest.raises(NodeError, match="invalid path"):
            mounts.device_of(Path(path))
    mounts.close()
    with pytest.raises(NodeError):
        MountTable(tmp_path)


def test_a_directory_has_the_number_of_the_mount_that_it_is_on() -> None:
    """This mount namespace has both."""
    numbers = {}
    for point in (b"/", b"/proc"):
        folder = os.open(point, os.O_PATH)
        numbers[point] = mount_number(folder)
        os.close(folder)
    table = parse_mountinfo(Path("/proc/self/mountinfo").read_bytes())
    assert numbers == {each.point: each.number for each in table if each.point in numbers}


def test_the_table_is_not_read_again_without_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    mounts, table = MountTable(Path("/proc")), Path("/proc/self/mountinfo")
    assert mounts.changed()
    read, reads = mounts._read, list[bytes]()

    def noted() -> bytes:
        reads.append(read())
        return reads[-1]

    monkeypatch.setattr(mounts, "_read", noted)

    def looked_at_without_changes() -> bool:
        """Other programs of the machine may mount something between two looks."""
        mounts.changed()
        reads.clear()
        before = table.read_bytes()
        found = [mounts.changed() for _ in range(3)]
        return before == table.read_bytes() and (found, reads) == ([False] * 3, [])

    eventually(looked_at_without_changes)
    mounts.close()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_mount_that_comes_and_goes_is_noticed(tmp_path: Path) -> None:
    mounts = MountTable(Path("/proc"))
    assert mounts.changed()
    eventually(lambda: not mounts.changed())  # other tests mount their disks
    before = mounts.device_of(tmp_path)
    with mounted.tmpfs(tmp_path):
        assert mounts.changed()
        assert mounts.device_of(tmp_path) != before
    assert mounts.changed()
    assert mounts.device_of(tmp_path) == before
    mounts.close()
