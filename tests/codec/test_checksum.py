"""No flipped bit changes what is read without a word."""

import json

import pytest

from evictd.codec.checksum import sealed, unsealed
from evictd.errors import InputError

TEXT = b'{"kind":"evictd.io/journal/v1","now":1000,"reason":"\\u00fc","until":[1,2]}'


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_what_is_sealed_is_json_and_comes_back(end: bytes) -> None:
    line = sealed(TEXT + end)
    assert line.endswith(b"}" + end)
    assert json.loads(line) == {**json.loads(TEXT), "crc32": json.loads(line)["crc32"]}
    assert unsealed(line) == TEXT
    assert unsealed(line + b"   ") == TEXT


def test_a_text_without_a_checksum_is_read_as_it_is() -> None:
    assert unsealed(TEXT + b"\n") == TEXT


@pytest.mark.parametrize("place", range(8 * len(sealed(TEXT))))
def test_every_flipped_bit_is_found_or_changes_nothing(place: int) -> None:
    line = bytearray(sealed(TEXT))
    line[place // 8] ^= 1 << place % 8
    try:
        read = json.loads(unsealed(bytes(line)))
    except (InputError, ValueError):
        return
    assert {name: read[name] for name in json.loads(TEXT)} == json.loads(TEXT)
