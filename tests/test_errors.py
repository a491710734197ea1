"""The error classes: one root, an exit status each."""

import pytest

from evictd import errors
from evictd.errors import (
    ApiRefusedError,
    ApiUnavailableError,
    EvictdError,
    ExitCode,
    InputError,
    InvalidValueError,
    NodeError,
    RuntimeNotFoundError,
    RuntimeRefusedError,
    RuntimeUnavailableError,
    StateTakenError,
    did_you_mean,
    file_fault,
    missing_package,
)

ALL = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", ALL)
def test_every_error_has_the_root_a_reason_and_an_exit_status(kind: type[EvictdError]) -> None:
    """Catching the root catches all."""
    assert issubclass(kind, EvictdError)
    assert kind.__doc__
    assert isinstance(kind.exit_code, ExitCode)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (InputError, ExitCode.USAGE),
        (InvalidValueError, ExitCode.USAGE),
        (NodeError, ExitCode.UNREACHABLE),
        (StateTakenError, ExitCode.TAKEN),
        (RuntimeUnavailableError, ExitCode.UNREACHABLE),
        (ApiUnavailableError, ExitCode.UNREACHABLE),
        (RuntimeRefusedError, ExitCode.NO),
    ],
)
def test_the_exit_status_tells_the_kind_of_failure(kind: type[EvictdError], code: ExitCode) -> None:
    """2: the input is faulty; 3: the node or a server cannot be reached; 1: the answer was no."""
    assert kind.exit_code is code


def test_input_errors_keep_every_problem() -> None:
    """One line each, nothing lost."""
    error = InputError(("a: wrong", "b: wrong too"))
    assert error.problems == ("a: wrong", "b: wrong too")
    assert str(error).splitlines() == list(error.problems)
    assert InputError("alone").problems == ("alone",)


def test_refusals_carry_retry_after_and_reason() -> None:
    """As fields, not in the text."""
    assert ApiUnavailableError("busy", retry_after_seconds=7).retry_after_seconds == 7
    refused = ApiRefusedError("no", status=403, reason="Forbidden")
    assert (refused.status, refused.reason) == (403, "Forbidden")


def test_not_found_is_a_refusal() -> None:
    """A caller may treat both alike."""
    assert issubclass(RuntimeNotFoundError, RuntimeRefusedError)


def test_the_most_similar_name_is_asked_for() -> None:
    assert did_you_mean("statsu", ("status", "why")) == "did you mean status?"
    assert did_you_mean("q" * 100_000, ("status", "why")) == ""


def test_why_a_file_cannot_be_used_is_said_in_words() -> None:
    assert file_fault(FileNotFoundError(2, "No such file or directory")) == "there is no such file"
    assert file_fault(PermissionError(13, "Permission denied")) == "permission denied"
    assert file_fault(OSError("odd")) == "odd"


def test_a_missing_package_is_said_with_the_way_to_install_it() -> None:
    """The name of the extra alone was given to pip, and no index has evictd."""
    text = missing_package("pyarrow", "fleet")
    assert text.startswith("pyarrow is not installed; it comes with the extra `fleet`: in a clone run make setup; ")
    assert text.endswith("/usr/lib/evictd/bin/python3 install pyarrow")
