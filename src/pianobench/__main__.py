"""``python -m pianobench``: the command line, also where scripts are not on PATH."""

import sys

from pianobench.experiments.cli import main

if __name__ == "__main__":
    sys.exit(main())
