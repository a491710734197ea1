"""Makes inputs from a corpus: tokens of kept inputs and hostile ones are replaced, inserted, deleted, repeated and spliced.

The tokens are those of JSON, YAML and the kernel's files, so that many inputs are still well-formed and reach far into a decoder.
"""

import random
import re
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[0-9]+|[A-Za-z_]+|\s+|.', re.DOTALL)
_HOSTILE = [
    *(b"-", b"+", b".", b",", b":", b"\n", b" ", b"\0", b"\xff", b"\\", b'"', b"{", b"}", b"[", b"]", b"=", b"/"),
    *(b"0", b"-1", b"1e5", b"0.5", b"1" * 19, b"9223372036854775807", b"9223372036854775808", b"18446744073709551616"),
    *(b"9" * 400, b"9" * 5000, b"1e400", b"1e999999999", b"-0", b"0x1", b"1_0", b"1e-400", b"NaN", b"Infinity", b"inf"),
    *(b"null", b"true", b"false", b"{}", b"[]", b'""', b"[null]", b'{"":null}', b"[" * 3000, b'{"a":' * 500, b"&a *a"),
    *(b'"\\ud800"', b'"\\u0000"', b'"\\u202e\\u001b[2J"', "\u202e".encode(), b"\x1b[31m", b"\xed\xa0\x80", b"\xc2\xb2"),
    *(
        b'"x"',
        b'"1Gi"',
        b'"1e4095"',
        b'"10%"',
        b'"0.1n"',
        b'"5m"',
        b'"9999-12-31T23:59:59-23:00"',
        b'"../.."',
        b"!!int",
    ),
    *(
        b"Gi",
        b"n",
        b"m",
        b"E",
        b"e9",
        b"%",
        b"h",
        b"us",
        b"\xc2\xb5s",
        b"Z",
        b"+24:00",
        b"\\777",
        b" - ",
        b"max",
        b"kB",
    ),
]
"""What broke decoders before, and what often does."""


class Mutator:
    """Makes inputs without end; the same seed makes the same ones."""

    def __init__(self, inputs: list[bytes], seed: int, longest: int) -> None:
        self._random = random.Random(seed)
        self._inputs = [_TOKEN.findall(each) or [b""] for each in inputs]
        self._words = [*_HOSTILE, *sorted({token for each in self._inputs for token in each})]
        self._longest = longest

    def next(self) -> bytes:
        """Return the next input."""
        chance, choice = self._random.random, self._random.choice
        tokens = choice(self._inputs).copy()
        while True:
            at, kind = int(chance() * (len(tokens) + 1)), chance()
            until = at + 1 + int(chance() * chance() * len(tokens))
            if kind < 0.5:
                tokens[at : at + 1] = [choice(self._words)]
            elif kind < 0.6:
                tokens.insert(at, choice(self._words))
            elif kind < 0.7:
                del tokens[at:until]
            elif kind < 0.75:
                part = tokens[at:until]
                most = self._longest // max(1, sum(map(len, part)))
                tokens[at:at] = part * min(int(2 ** (10 * chance())), most)
            elif kind < 0.85:
                other = choice(self._inputs)
                tokens[at:] = other[int(chance() * len(other)) :]
            elif at < len(tokens) and tokens[at]:
                token = bytearray(tokens[at])
                token[int(chance() * len(token))] = int(256 * chance())
                tokens[at] = bytes(token)
            if chance() < 0.6:
                return b"".join(tokens)[: self._longest]


def kept_inputs(target: str) -> list[bytes]:
    """Read the corpus of a target."""
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]
