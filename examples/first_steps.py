"""Insert boxes, ask about them, move them, ask again.

python examples/first_steps.py
"""

import numpy as np

import spatialindex as si


def main() -> None:
    index = si.HashGrid(ndim=2)

    # a box is a row [lower x, lower y, upper x, upper y]; many boxes are an array of rows
    crates = index.insert([[0, 0, 2, 2], [2, 1, 4, 3], [3, 2, 5, 4], [9, 9, 10, 10]])
    print("ids given out:", crates)
    print("pairs that share a point:", index.pairs().tolist())  # 0 and 1 touch at x = 2

    print("in the region [1, 1, 3, 2]:", index.query([1, 1, 3, 2]))
    print("of these, wholly inside:", index.query([1, 1, 4, 3], predicate="inside"))
    print("at the point (4, 3):", index.query_point([4, 3]))
    print("within 5 of (9, 5):", index.query_radius([9, 5], 5.0))

    # many questions at once: rows (which question, which id)
    regions = si.box_from_center([[1, 1], [9.5, 9.5]], half_extents=1.0)
    print("two regions:", index.query(regions).tolist())

    index.update(3, [4, 3, 6, 5])  # however far: a move is just an update
    print("after moving 3:", index.pairs().tolist())

    index.remove([0, 1])
    print("without 0 and 1:", index.pairs().tolist(), "of", len(index), "objects")

    try:
        index.insert(np.array([[0, 0, 1, 1], [3, 0, 2, 1]]))
    except si.InvalidBoxError as error:
        print("refused:", error)
    print("and nothing of that batch is there:", index.ids)


if __name__ == "__main__":
    main()
