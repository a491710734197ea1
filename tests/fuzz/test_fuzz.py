"""Each decoder refuses garbage with an error of evictd, in a time that grows no faster than the input: `make fuzz`, in short."""

import pytest

from tests.fuzz.mutate import CORPUS, Mutator, kept_inputs
from tests.fuzz.run import LONGEST, attempt, faults, interrupted_if_endless
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs(name: str) -> None:
    """What broke a decoder once is kept beside the valid inputs."""
    assert [str(fault) for data in kept_inputs(name) if (fault := attempt(name, data)) is not None] == []


def test_a_corpus_for_each_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_made_inputs(name: str) -> None:
    """Half a second for each target, each time with other inputs than `make fuzz` begins with."""
    with interrupted_if_endless():
        assert [str(fault) for fault in faults(name, seconds=0.5, seed=1, counts={})] == []


def test_made_inputs_are_bounded_and_the_same_for_the_same_seed() -> None:
    one, other = (Mutator(kept_inputs("pod"), 7, LONGEST) for _ in range(2))
    made = [one.next() for _ in range(200)]
    assert made == [other.next() for _ in range(200)]
    assert len(set(made)) > 150
    assert max(map(len, made)) <= LONGEST


def test_an_error_and_an_endless_input_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "pod", lambda data: 1 / len(data))
    monkeypatch.setattr("tests.fuzz.run.BASE_SECONDS", -1.0)
    assert "ZeroDivisionError" in str(attempt("pod", b""))
    assert "took too long" in str(attempt("pod", b"x"))
