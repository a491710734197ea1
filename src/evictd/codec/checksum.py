"""Adds a checksum to a JSON object as its last field, and verifies it: a flipped bit often leaves JSON of another meaning.

CRC-32 finds every single flipped bit and every burst of up to 32. It is no protection from a user who may write the file. A text
without the field, of an earlier evictd or written by hand, is accepted as it is.
"""

import re
import zlib

from evictd.errors import InputError

_FIELD = re.compile(rb',"crc32":"([0-9a-f]{8})"\}$')


def sealed(document: bytes) -> bytes:
    """Return the text of a JSON object that is not empty with its checksum, a newline at its end kept."""
    body = document.rstrip()
    return b'%s,"crc32":"%08x"}%s' % (body[:-1], zlib.crc32(body), document[len(body) :])


def unsealed(document: bytes) -> bytes:
    """Return the sealed text without trailing spaces; raises `InputError` if the checksum does not match."""
    text = document.rstrip()
    field = _FIELD.search(text[-40:])
    if field is None:
        return text
    body = text[: -len(field[0])] + b"}"
    if zlib.crc32(body) != int(field[1], 16):
        raise InputError("its checksum does not match; it is damaged")
    return body
