"""A package is imported without what it would use if it were installed."""

import subprocess
import sys

import pytest

from evictd.daemon.telemetry.log import without


def test_a_module_is_missing_inside_the_block_and_importable_after_it() -> None:
    name = "this"  # a module that no other test imports
    assert name not in sys.modules
    with without(name), pytest.raises(ModuleNotFoundError):
        __import__(name)
    assert name not in sys.modules


def test_a_module_that_is_loaded_stays() -> None:
    with without("pytest"):
        assert __import__("pytest") is pytest


def test_the_daemon_loads_no_package_for_people_and_none_that_it_may_not_need() -> None:
    """What `evictd run` imports with an API server configured; a kubeconfig, and nothing else, brings `kubernetes` in."""
    code = (
        "import sys, evictd.daemon.run, evictd.act.cluster.wiring\n"
        "print(sorted({'rich', 'pygments', 'kubernetes', 'pydantic', 'requests', 'matplotlib', 'numpy', 'jinja2', 'psutil',"
        " 'jsonschema', 'unittest', 'multiprocessing', 'evictd.render.tables'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
