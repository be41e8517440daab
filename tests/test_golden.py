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
from spatialindex.testing.samples import lattice_boxes

CASES = json.loads((Path(__file__).parent / "data" / "golden.json").read_text())["cases"]
STEPS = [-2 + 0.5 * k for k in range(9)]
LATTICE = [[x, y, x + w, y + h] for x in STEPS for y in STEPS for w in (0, 1, 2) for h in (0, 1, 2)]
FIGURES = [
    pytest.param(
        case,
        figures,
        id=f"{case['name']}, cell size {figures['cell_size']}",
        marks=[pytest.mark.slow] if case["n"] > 100 else [],
    )
    for case in CASES
    for figures in case["grid"]
]
NAMES = {"memberships": "entries", "cells": "buckets"}


def boxes_of(case):
    return np.array(case.get("boxes", LATTICE), np.float64)


def wandering_boxes(rng, n, ndim):
    """Small boxes far from the origin, on both sides of it, and close to each other."""
    lower = rng.choice([-520.1, 0.0, 77.7], (n, ndim)) + rng.normal(0, 1, (n, ndim))
    return np.concatenate((lower, lower + rng.uniform(0, 1.5, (n, ndim))), axis=1)


def enumerated(boxes, size):
    """The figures of a grid, by going through all cells and all pairs in each."""
    ndim = boxes.shape[1] // 2
    boxes = boxes.tolist()
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
    return {
        "cell_size": size,
        "memberships": sum(map(len, cells.values())),
        "cells": len(cells),
        "max_bucket": max(map(len, cells.values())),
        "visits": len(meetings),
        "candidates": len(set(meetings)),
        "pairs": len(overlapping),
    }


def reported(index):
    """The figures of an index by the names of the file."""
    stats = index.stats().as_dict()
    assert stats["wide"] == 0
    names = ("memberships", "cells", "max_bucket", "visits", "candidates", "pairs")
    return {"cell_size": index.cell_size} | {name: stats[NAMES.get(name, name)] for name in names}


@pytest.mark.parametrize(("case", "figures"), FIGURES)
def test_hash_grid_reports_the_golden_figures(case, figures):
    index = si.HashGrid(ndim=case["ndim"], cell_size=figures["cell_size"])
    index.insert(boxes_of(case))
    pairs = index.pairs(among="all")
    assert len(pairs) == case["n_pairs"]
    if "pairs" in case:
        assert pairs.tolist() == case["pairs"]
    assert reported(index) == figures
    assert index.stats().objects == case["n"]


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
    assert reported(index) == figures


@pytest.mark.parametrize(("case", "figures"), FIGURES)
def test_golden_figures_are_what_enumeration_gives(case, figures):
    assert enumerated(boxes_of(case), figures["cell_size"]) == figures


@pytest.mark.parametrize("ndim", [2, 3], ids="{}D".format)
@pytest.mark.parametrize("size", [0.3, 0.5, 0.7, 1.0, 4.0])
def test_figures_of_other_scenes_are_what_enumeration_gives(ndim, size):
    rng = np.random.default_rng(ndim)
    index = si.HashGrid(ndim=ndim, cell_size=size)
    for make in (lattice_boxes, lattice_boxes, wandering_boxes):
        boxes = make(rng, 120, ndim)
        index.clear()
        index.insert(boxes)
        index.pairs(among="all")
        assert reported(index) == enumerated(boxes, size)


def test_lattice_is_the_one_described():
    lattice = next(case for case in CASES if "lattice" in case["name"])
    assert lattice["n"] == len(LATTICE) == 729
    assert lattice["n_pairs"] == 53100
