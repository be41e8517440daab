"""Which structure is right for a scene? Play it through all of them and look.

    python examples/which_structure.py [recording] [frames]

The same as `spatialindex compare`, from Python: answers are checked against plain NumPy first, then
everything is timed on this machine.
"""

import sys
from pathlib import Path

import spatialindex as si

RECORDINGS = Path(__file__).resolve().parent / "recordings"


def main(path: str | Path = RECORDINGS / "rapier_log.npz", frames: int = 60) -> None:
    recording = si.Recording.load(path)
    print(recording)

    # names, or names with parameters: two hash grids with different cells take part
    structures = ["brute-force", "hash-grid", ("hash-grid", {"cell_size": 4.0})]
    result = si.compare(recording, structures, frames=int(frames), budget=20.0)

    print("checked against the oracle:", result.checked.words)
    for row in result.rows:
        if row.frame is None or row.work is None:
            continue  # the empty contestant has no work; one that differs has no times
        print(
            f"{row.label}: {1e3 * row.frame.median:.3f} ms a frame,"
            f" worst {1e3 * row.frame.worst:.3f} ms;"
            f" {row.work.candidates} candidates for {row.work.pairs} pairs,"
            f" {row.work.nbytes / 1024:.0f} KiB"
        )
    print(result.verdict.words)
    if not result.agrees:
        sys.exit("a structure gave a wrong answer: please report it with the recording")


if __name__ == "__main__":
    main(*sys.argv[1:3])
