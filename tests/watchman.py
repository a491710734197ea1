"""Cleans up after a test session that was killed: its nodes, its cgroups and its mounts (`evictd.demo.watchman`)."""

import sys

from evictd.demo.sweep import sweep
from evictd.demo.watchman import wait_for_the_end
from tests import mounted, real_cgroups

if __name__ == "__main__":
    wait_for_the_end(sys.argv[1:])
    sweep()
    real_cgroups.sweep()
    mounted.sweep()
