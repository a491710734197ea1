"""What the daemon does not load."""

import subprocess
import sys


def test_the_daemon_loads_no_package_for_people_and_none_that_it_may_not_need() -> None:
    """What `evictd run` imports with an API server configured; a kubeconfig, and nothing else, brings `kubernetes` in."""
    code = (
        "import sys, evictd.daemon.run, evictd.act.cluster.wiring\n"
        "print(sorted({'rich', 'pygments', 'kubernetes', 'pydantic', 'requests', 'matplotlib', 'numpy', 'jinja2', 'psutil',"
        " 'jsonschema', 'structlog',"
        " 'prometheus_client', 'unittest', 'multiprocessing', 'evictd.render.simulation.tables'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
