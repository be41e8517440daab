"""The examples run as a person runs them, and print what they are there to show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def run(name, *arguments, cwd, **variables):
    """Run an example away from the repository, warnings as errors, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_first_steps_prints_its_answers(tmp_path):
    assert run("first_steps.py", cwd=tmp_path) == [
        "ids given out: [0 1 2 3]",
        "pairs that share a point: [[0, 1], [1, 2]]",
        "in the region [1, 1, 3, 2]: [0 1 2]",
        "of these, wholly inside: [1]",
        "at the point (4, 3): [1 2]",
        "within 5 of (9, 5): [2 3]",
        "two regions: [[0, 0], [0, 1], [1, 3]]",
        "after moving 3: [[0, 1], [1, 2], [1, 3], [2, 3]]",
        "without 0 and 1: [[2, 3]] of 2 objects",
        "refused: boxes[1]: lower x 3.0 exceeds upper x 2.0; swap the corners or drop the box",
        "and nothing of that batch is there: [2 3]",
    ]


def test_game_loop_tells_contacts_and_zone_events(tmp_path):
    lines = run("game_loop.py", "60", cwd=tmp_path)
    assert [line.split(":")[0] for line in lines[:2]] == ["frame  30", "frame  60"]
    began, entered, left = [int(word) for word in lines[2].split() if word.isdigit()]
    assert began > 0
    assert entered > 0
    assert left > 0
    assert lines[3].startswith("agents within 5 of [50.0, 50.0]: [")


def test_which_structure_reaches_a_verdict(tmp_path):
    lines = run(
        "which_structure.py", str(EXAMPLES / "recordings" / "rapier_log.npz"), "5", cwd=tmp_path
    )
    assert lines[0] == "<Recording 'rapier_log': 180 frames of 213 objects (13 static), 3D>"
    assert lines[1].startswith("checked against the oracle: 5 of 5 frames")
    assert [line.split(":")[0] for line in lines[2:-1]] == [
        "brute-force",
        "hash-grid",
        "hash-grid cell_size=4.0",
    ]
    assert all(" ms a frame" in line and " candidates for " in line for line in lines[2:-1])


def test_own_structure_keeps_the_contract_and_takes_part(tmp_path):
    lines = run("own_structure.py", cwd=tmp_path)
    assert lines[:3] == [
        "pairs: [[0, 1]]",
        "keeps the contract in 2D",
        "agrees with the oracle: True",
    ]
    found = [line.rpartition(" candidates, ")[2] for line in lines[3:]]
    assert len(found) == 2
    assert found[0] == found[1]


def numbers(line):
    return [int(word) for word in re.findall(r"\d+", line)]


def test_pymunk_loop_wakes_what_bullets_hit_and_notices_who_enters(tmp_path):
    lines = run("pymunk_loop.py", cwd=tmp_path)
    asleep = [numbers(line)[-1] for line in lines[:-1]]
    assert len(asleep) == 7
    assert asleep[3] == 11  # all crates, before the first shot
    assert asleep[4] < 11
    entered, left, hits = numbers(lines[-1])
    assert entered > left
    assert hits == 3


def test_pygame_crowd_runs_without_a_window(tmp_path):
    lines = run("pygame_crowd.py", "60", cwd=tmp_path, SDL_VIDEODRIVER="dummy")
    frame, seen, n, began = numbers(lines[-1])
    assert (frame, n) == (60, 500)
    assert 0 < seen < n
    assert began > 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_example_is_described_and_tested(path):
    assert f"`{path.name}`" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert f'"{path.name}"' in Path(__file__).read_text(encoding="utf-8")
