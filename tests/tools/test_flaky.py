"""What `make flaky` makes of the runs."""

import random

from tests.conftest import in_random_order
from tests.tools.flaky import failed_tests, report, runs_of

OUTPUT = """\
=========================== short test summary info ============================
SKIPPED [1] tests/a/test_a.py:53: needs chromium
FAILED tests/a/test_a.py::test_one[x-y] - AssertionError: no
ERROR tests/b/test_b.py
FAILED tests/b/test_b.py::test_two
FAILED tests/b/test_b.py::test_two
1 failed, 3 passed in 1.0s
"""


def test_failures_are_those_of_the_summary() -> None:
    assert failed_tests(OUTPUT, 1) == (
        "tests/a/test_a.py::test_one[x-y]",
        "tests/b/test_b.py",
        "tests/b/test_b.py::test_two",
    )
    assert failed_tests("2 passed", 0) == ()
    assert failed_tests("make: *** no rule", 2) == ("(no test; exit status 2)",)


def test_a_processor_is_taken_away_in_every_other_run() -> None:
    runs = list(runs_of(["test", "test-slow"], 4, 7))
    assert [run.order for run in runs] == [7, 8, 9, 10] * 2
    assert [run.busy for run in runs] == [False, True] * 4


def test_the_report_names_the_most_frequent_failure_first() -> None:
    first, second = runs_of(["test"], 2, 1)
    text = report({"t::rare": [first], "t::often": [first, second]}, 2)
    assert text.splitlines() == [
        "2 x t::often",
        "      in test, order 1",
        "      in test, order 2, a processor taken away",
        "1 x t::rare",
        "      in test, order 1",
        "2 tests failed in 2 runs; build/flaky has the output",
    ]
    assert report({}, 20) == "no test failed in 20 runs"


def test_an_order_keeps_the_tests_of_a_file_together_and_follows_from_its_seed() -> None:
    """Fixtures of a module are made once."""
    tests = [(file, number) for file in "abcde" for number in range(4)]
    made = in_random_order(tests, lambda test: test[0], random.Random(3))
    assert sorted(made) == tests
    assert made != tests
    assert made == in_random_order(tests, lambda test: test[0], random.Random(3))
    files = [file for file, _ in made]
    assert all(len(set(files[start : start + 4])) == 1 for start in range(0, 20, 4))
