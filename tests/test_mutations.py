"""The tool that breaks one thing at a time: each text it changes is there, and its answer is right.

Trying all mutations takes minutes and is done by hand, ``python -m tests.mutations``.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments):
    command = [sys.executable, "-m", "tests.mutations", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_texts_of_mutations_are_in_place():
    done = run("--check")
    assert done.returncode == 0, done.stderr
    assert "each with its text in place" in done.stdout


def test_mutation_whose_text_is_gone_fails_loudly():
    code = (
        "import sys; from tests import mutations as m; first = m.MUTATIONS[0]\n"
        "m.MUTATIONS = (first._replace(old='no such text'),); sys.exit(m.main([]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "has 'no such text' 0 times, not once" in done.stderr


def test_unknown_mutations_are_refused():
    done = run("nonsense")
    assert done.returncode == 2
    assert "no mutation has a name with nonsense" in done.stderr


def test_closed_ray_test_is_tested():
    done = run("the end of what is met")
    assert done.returncode == 0, done.stderr
    assert "1 of 1 mutations caught" in done.stdout
