"""Removes the nodes, cgroups and mounts of a test session that was killed (`evictd_testnode.sweep`)."""

import sys

from evictd_testnode.sweep import sweep, wait_for_exit
from tests import mounted, real_cgroups

if __name__ == "__main__":
    wait_for_exit(sys.argv[1:])
    sweep()
    real_cgroups.sweep()
    mounted.sweep()
