"""The command line."""

import sys


def main() -> int:
    """Run the command line and return the exit code.

    0: every cell has a row that says something about its method. 1: some cell failed. 2: a mistake of the user's,
    said in readable lines. 3: the store cannot be written or read. 130: interrupted.
    """
    # Imported here, so that importing this package for its other modules stays cheap.
    from pianobench.experiments.cli.app import app
    from pianobench.experiments.mistakes import UserMistake
    from pianobench.results.attempt import StoreError

    try:
        app(prog_name="pianobench")
    except UserMistake as mistake:
        for line in str(mistake).splitlines():
            print(f"pianobench: {line}", file=sys.stderr)
        return 2
    except StoreError as error:
        # A line of progress may stand unfinished.
        print(f"\npianobench: {error}", file=sys.stderr)
        return 3
    return 0
