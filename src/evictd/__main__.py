"""Runs the command line for `python -m evictd`."""

import sys

from evictd.cli import main

if __name__ == "__main__":
    sys.exit(main())
