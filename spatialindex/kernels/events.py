"""What began and what ended: two answers of `pairs` compared row by row.

Both are in canonical order, so one pass over both finds what only one has, in canonical order::

    before  (1, 2) (1, 5) (4, 5)
    now     (1, 2) (3, 5) (4, 5)      ended: (1, 5)   began: (3, 5)

Rows may have codes: bit 0 `TO_SENSOR`, a sensor is in the pair. A contact of which a member becomes
a sensor has ended, and a pair with a sensor has begun.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.roles import SENSOR

__all__ = [
    "TO_SENSOR",
    "classify_rows",
    "compare_rows",
    "first_disorder",
    "merge_rows",
    "part_rows",
]

TO_SENSOR = 1


@kernel
def classify_rows(rows, slots, codes, found):
    """Write the code of each row of ids to `found`, uint8.

    `slots` holds the members' slots; empty where ids are slots. `codes` is a byte a slot, see
    `kernels.roles`.
    """
    for i in range(rows.shape[0]):
        if slots.shape[0]:
            one, two = codes[slots[i, 0]], codes[slots[i, 1]]
        else:
            one, two = codes[rows[i, 0]], codes[rows[i, 1]]
        found[i] = TO_SENSOR if (one | two) & SENSOR else 0


@kernel
def part_rows(rows, codes, slots, marks, kept, kept_codes, gone, gone_codes):
    """Part rows, and their codes, into those that stay and those with a marked member.

    `slots` holds the members' slots, -1 for ids that are gone, which count as marked; it is empty
    where ids are slots. ``marks[slot]`` is uint8 0 or 1. All outputs have room for one row more
    than there are. Returns how many stay.
    """
    k = 0
    j = 0
    for i in range(rows.shape[0]):
        if slots.shape[0]:
            one, two = slots[i, 0], slots[i, 1]
            is_gone = np.int64(1)
            if one >= 0 and two >= 0:
                is_gone = np.int64(marks[one] | marks[two])
        else:
            is_gone = np.int64(marks[rows[i, 0]] | marks[rows[i, 1]])
        # written to both: that costs less than a branch nobody can foresee
        kept[k, 0], kept[k, 1] = rows[i, 0], rows[i, 1]
        gone[j, 0], gone[j, 1] = rows[i, 0], rows[i, 1]
        kept_codes[k] = codes[i]
        gone_codes[j] = codes[i]
        k += 1 - is_gone
        j += is_gone
    return k


@kernel
def merge_rows(rows, codes, more, more_codes, out, out_codes):
    """Merge rows in canonical order, none in both, and their codes, into `out` and `out_codes`."""
    i = 0
    j = 0
    for k in range(out.shape[0]):
        is_first = j == more.shape[0]
        if not is_first and i < rows.shape[0]:
            is_first = rows[i, 0] < more[j, 0] or (
                rows[i, 0] == more[j, 0] and rows[i, 1] < more[j, 1]
            )
        if is_first:
            out[k, 0], out[k, 1] = rows[i, 0], rows[i, 1]
            out_codes[k] = codes[i]
            i += 1
        else:
            out[k, 0], out[k, 1] = more[j, 0], more[j, 1]
            out_codes[k] = more_codes[j]
            j += 1


@kernel
def first_disorder(rows):
    """Return the first row that does not come after the one before; -1 when there is none."""
    for i in range(1, rows.shape[0]):
        a, b = rows[i - 1, 0], rows[i, 0]
        if a > b or (a == b and rows[i - 1, 1] >= rows[i, 1]):
            return i
    return -1


@inner_kernel
def _is_in(ids, id_):
    """Tell if an id is in ascending `ids`."""
    low, high = 0, ids.shape[0]
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < id_:
            low = middle + 1
        else:
            high = middle
    return low < ids.shape[0] and ids[low] == id_


@inner_kernel
def _put(rows, i, code, contacts, sensors, counts, at):
    """Count a row in ``counts[at]``, contacts, or ``counts[at + 1]``, and write it if it fits."""
    if code & TO_SENSOR:
        k = counts[at + 1]
        counts[at + 1] = k + 1
        if k < sensors.shape[0]:
            sensors[k, 0], sensors[k, 1] = rows[i, 0], rows[i, 1]
    else:
        k = counts[at]
        counts[at] = k + 1
        if k < contacts.shape[0]:
            contacts[k, 0], contacts[k, 1] = rows[i, 0], rows[i, 1]


@kernel
def compare_rows(
    old, old_codes, new, new_codes, renewed, began, ended, sensor_began, sensor_ended, counts
):
    """Write what began and what ended between rows `old` and `new`, contacts and sensors apart.

    All rows are ``(any, 2)`` int64, `old` and `new` in canonical order; codes are uint8, empty for
    contacts alone. `renewed`, ascending, are ids that mean something else now: their old pairs have
    ended and their new ones begun, even if they are the same. `counts`, int64 ``(4,)``, becomes how
    many began, began with a sensor, ended, and ended with one, whether there was room or not.
    """
    counts[:] = 0
    n_old, n_new = old.shape[0], new.shape[0]
    i = 0
    j = 0
    has_codes = old_codes.shape[0] > 0 and new_codes.shape[0] > 0
    while i < n_old or j < n_new:
        if not renewed.shape[0]:
            # nearly all rows are in both
            while i < n_old and j < n_new:
                if old[i, 0] != new[j, 0] or old[i, 1] != new[j, 1]:
                    break
                if has_codes and (old_codes[i] ^ new_codes[j]) & TO_SENSOR:
                    break
                i += 1
                j += 1
            if i == n_old and j == n_new:
                break
        is_before = j == n_new  # the row of `old` comes first
        is_after = i == n_old
        if not is_before and not is_after:
            a, b = old[i, 0], new[j, 0]
            is_before = a < b or (a == b and old[i, 1] < new[j, 1])
            is_after = a > b or (a == b and old[i, 1] > new[j, 1])
        was = np.int64(0)
        now = np.int64(0)
        if not is_after and old_codes.shape[0]:
            was = np.int64(old_codes[i]) & TO_SENSOR
        if not is_before and new_codes.shape[0]:
            now = np.int64(new_codes[j]) & TO_SENSOR
        is_same = not is_before and not is_after and was == now
        if is_same and renewed.shape[0]:
            is_same = not (_is_in(renewed, new[j, 0]) or _is_in(renewed, new[j, 1]))
        if not is_same:
            if not is_after:
                _put(old, i, was, ended, sensor_ended, counts, 2)
            if not is_before:
                _put(new, j, now, began, sensor_began, counts, 0)
        i += 0 if is_after else 1
        j += 0 if is_before else 1
