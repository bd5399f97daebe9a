"""`python -m remat snapshot snapshot.pickle snapshot.json.gz`: `export_snapshot` on the command line."""

import argparse
import sys

from .printing import tell
from .snapshots import SnapshotRefused, export_snapshot


def main():
    parser = argparse.ArgumentParser(prog="python -m remat")
    commands = parser.add_subparsers(dest="command", required=True)
    snapshot = commands.add_parser("snapshot", help="convert a file of torch.cuda.memory._dump_snapshot for remat memory")
    snapshot.add_argument("pickle", help="the file that torch.cuda.memory._dump_snapshot wrote")
    snapshot.add_argument("output", help="the file to write, such as snapshot.json.gz")
    given = parser.parse_args()
    try:
        export_snapshot(given.pickle, given.output)
    except (SnapshotRefused, OSError) as error:
        tell(error if isinstance(error, SnapshotRefused) else f"remat: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
