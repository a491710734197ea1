"""`python -m evictd` and the console script."""

import sys

from evictd.cli import main

if __name__ == "__main__":
    sys.exit(main())
