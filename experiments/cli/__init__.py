"""The command line."""

import sys


def main() -> int:
    """Run the command line and return the exit code; a user's mistake ends as readable lines and 2."""
    # Imported here, so that importing this package for its other modules stays cheap.
    from pianobench.experiments.cli.app import app
    from pianobench.experiments.mistakes import UserMistake

    try:
        app(prog_name="pianobench")
    except UserMistake as mistake:
        for line in str(mistake).splitlines():
            print(f"pianobench: {line}", file=sys.stderr)
        return 2
    return 0
