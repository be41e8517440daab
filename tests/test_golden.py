"""Figures of a full-coverage grid, worked out by enumeration, reproduced by the hash grid exactly.

``data/golden.json`` has small cases and a lattice of 729 boxes. For each cell size it says how many
memberships and occupied cells there are, what the fullest cell holds, how often two objects meet in
a cell (`visits`), how many distinct pairs those are (`candidates`) and how many overlap. The
figures are enumerated here once more, in plain Python, so that the file is no matter of trust.
"""

import itertools
import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import spatialindex as si

CASES = json.loads((Path(__file__).parent / "data" / "golden.json").read_text())["cases"]
STEPS = [-2 + 0.5 * k for k in range(9)]
LATTICE = [[x, y, x + w, y + h] for x in STEPS for y in STEPS for w in (0, 1, 2) for h in (0, 1, 2)]
FIGURES = [
    pytest.param(case, figures, id=f"{case['name']}, cell size {figures['cell_size']}")
    for case in CASES
    for figures in case["grid"]
]
NAMES = {"memberships": "entries", "cells": "buckets"}


def boxes_of(case):
    return np.array(case.get("boxes", LATTICE), np.float64)


@pytest.mark.parametrize(("case", "figures"), FIGURES)
def test_hash_grid_reports_the_golden_figures(case, figures):
    index = si.HashGrid(ndim=case["ndim"], cell_size=figures["cell_size"])
    index.insert(boxes_of(case))
    pairs = index.pairs(among="all")
    assert len(pairs) == case["n_pairs"]
    if "pairs" in case:
        assert pairs.tolist() == case["pairs"]
    stats = index.stats().as_dict()
    expected = {NAMES.get(name, name): value for name, value in figures.items()}
    del expected["cell_size"]
    assert {name: stats[name] for name in expected} == expected
    assert stats["wide"] == 0
    assert stats["objects"] == case["n"]


@pytest.mark.parametrize(("case", "figures"), FIGURES)
def test_figures_are_those_after_any_history(case, figures):
    boxes = boxes_of(case)
    rng = np.random.default_rng(len(boxes))
    index = si.HashGrid(ndim=case["ndim"], cell_size=figures["cell_size"])
    index.insert(boxes[rng.permutation(len(boxes))] + 17.3)
    index.pairs(among="all")
    index.update(None, boxes[::-1])
    index.pairs(among="all")
    index.insert(boxes, np.arange(len(boxes)) + 5000)
    index.pairs(among="all")
    index.remove(np.arange(len(boxes)) + 5000)
    index.update(None, boxes)
    assert len(index.pairs(among="all")) == figures["pairs"]
    stats = index.stats()
    assert stats.entries == figures["memberships"]
    assert stats.buckets == figures["cells"]
    assert stats.max_bucket == figures["max_bucket"]
    assert stats.visits == figures["visits"]
    assert stats.candidates == figures["candidates"]


@pytest.mark.parametrize(("case", "figures"), FIGURES)
def test_golden_figures_are_what_enumeration_gives(case, figures):
    boxes, size = boxes_of(case).tolist(), figures["cell_size"]
    ndim = case["ndim"]
    cells = defaultdict(list)
    for i, box in enumerate(boxes):
        spans = [
            range(math.floor(box[d] / size), math.floor(box[ndim + d] / size) + 1)
            for d in range(ndim)
        ]
        for cell in itertools.product(*spans):
            cells[cell].append(i)
    meetings = [pair for held in cells.values() for pair in itertools.combinations(held, 2)]
    overlapping = [
        (a, b)
        for a, b in set(meetings)
        if all(
            max(boxes[a][d], boxes[b][d]) <= min(boxes[a][ndim + d], boxes[b][ndim + d])
            for d in range(ndim)
        )
    ]
    assert figures == {
        "cell_size": size,
        "memberships": sum(map(len, cells.values())),
        "cells": len(cells),
        "max_bucket": max(map(len, cells.values())),
        "visits": len(meetings),
        "candidates": len(set(meetings)),
        "pairs": len(overlapping),
    }


def test_lattice_is_the_one_described():
    lattice = next(case for case in CASES if "lattice" in case["name"])
    assert lattice["n"] == len(LATTICE) == 729
    assert lattice["n_pairs"] == 53100
