"""Removes the nodes, cgroups and mounts of a test session that was killed (`evictd_testnode.cleanup_process`)."""

import sys

from evictd_testnode.cleanup_process import wait_for_exit
from evictd_testnode.sweep import sweep
from tests import mounted, real_cgroups

if __name__ == "__main__":
    wait_for_exit(sys.argv[1:])
    sweep()
    real_cgroups.sweep()
    mounted.sweep()
