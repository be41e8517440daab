"""Writing rows of the object table: boxes scattered to their slots, and what changed noted."""

from spatialindex.kernels.jit import kernel

__all__ = ["move_rows"]


@kernel
def move_rows(boxes, pending, slots, new, mark):
    """Write ``new[i]`` to ``boxes[slots[i]]`` and `mark` to its pending bits, uint8.

    Stops at the first slot of which something is pending already. Returns how many rows are done.
    """
    for i in range(slots.shape[0]):
        slot = slots[i]
        if pending[slot] != 0:
            return i
        pending[slot] = mark
        for c in range(boxes.shape[1]):
            boxes[slot, c] = new[i, c]
    return slots.shape[0]
