"""What survives a restart, and what is refused."""

import json
import stat
from pathlib import Path

import pytest

from evictd.daemon.store.state_file import StateFile, boot_id
from evictd.errors import InputError
from tests.recorded_errors import RecordedErrors


@pytest.fixture
def file(tmp_path: Path) -> StateFile:
    return StateFile(tmp_path / "state.json", "this-boot")


def test_what_was_written_is_read_again(file: StateFile) -> None:
    file.write({"grace": [1, 2], "images": {"a": 1}})
    assert file.read() == {"grace": [1, 2], "images": {"a": 1}}


def test_nothing_written_is_nothing_remembered(file: StateFile) -> None:
    assert file.read() is None


def test_another_boot_s_file_is_foreign(file: StateFile) -> None:
    file.write({})
    with pytest.raises(InputError, match="another boot of the machine"):
        StateFile(file.path, "next-boot").read()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 100,
        b"{",
        b"[]",
        b"null",
        b'{"kind": "Secret"}',
        b"[" * 100_000,
        b'{"apiVersion":"evictd.io/v1alpha1","kind":"EvictdState","bootID":"this-boot","remembered":[]}',
        b"\xff\xfe",
    ],
    ids=["empty", "zeroes", "cut", "list", "null", "foreign", "deep", "no object", "no text"],
)
def test_a_damaged_file_is_refused_in_one_line(file: StateFile, content: bytes) -> None:
    file.path.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        file.read()
    assert str(file.path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_refused_file_is_set_aside_for_people(file: StateFile) -> None:
    file.path.write_bytes(b"damaged")
    aside = file.set_aside()
    assert aside is not None
    assert aside.read_bytes() == b"damaged"
    assert not file.path.exists()
    assert file.set_aside() is None


def test_a_refused_file_that_cannot_be_set_aside_is_said_to_be_overwritten(file: StateFile) -> None:
    """`set aside as None` was logged."""
    file.path.write_bytes(b"damaged")
    file.path.with_name("state.json.set-aside").mkdir()
    errors = RecordedErrors()
    assert file.load(dict, fresh={"fresh": 1}, errors=errors, then="starting fresh") == {"fresh": 1}
    (said,) = errors
    assert "it cannot be set aside and is overwritten, starting fresh" in str(said)


def test_a_link_is_not_followed(file: StateFile, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("{}")
    file.path.symlink_to(elsewhere)
    with pytest.raises(InputError, match="cannot be read"):
        file.read()


def test_only_the_owner_may_read_it(file: StateFile) -> None:
    file.write({})
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_the_envelope_names_its_kind(file: StateFile) -> None:
    file.write({})
    document = json.loads(file.path.read_text())
    assert (document["kind"], document["bootID"]) == ("EvictdState", "this-boot")


def test_the_kernel_names_this_boot() -> None:
    assert len(boot_id()) == 36


def test_a_flipped_bit_is_found(file: StateFile) -> None:
    """525 of 2,000 changed what was read without a word: another pod, another time."""
    file.write({"until": 1_000, "uid": "hog"})
    whole = file.path.read_bytes()
    for old, new in ((b"1000", b"1001"), (b"hog", b"hnf")):
        file.path.write_bytes(whole.replace(old, new))
        with pytest.raises(InputError, match="its checksum does not match"):
            file.read()


def test_a_file_of_an_earlier_evictd_is_read(file: StateFile) -> None:
    envelope = {"apiVersion": "evictd.io/v1alpha1", "kind": "EvictdState", "bootID": "this-boot"}
    file.path.write_text(json.dumps({**envelope, "remembered": {"a": 1}}))
    assert file.read() == {"a": 1}
