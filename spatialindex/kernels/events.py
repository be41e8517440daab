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
_GROUP = 4  # rows compared at once: with eight, some changes among many cost a third more


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
def _code(codes, i):
    """Return the code of a row, 0 when there are none."""
    return np.uint64(codes[i] & TO_SENSOR) if codes.shape[0] else np.uint64(0)


@inner_kernel
def _are_same(old, old_codes, new, new_codes, i, j):
    """Tell if a group of rows from `i` on, and their codes, are those from `j` on."""
    differ = np.int64(0)
    for r in range(_GROUP):
        p, q = i + np.uint64(r), j + np.uint64(r)
        differ |= (old[p, 0] ^ new[q, 0]) | (old[p, 1] ^ new[q, 1])
    if old_codes.shape[0]:
        for r in range(_GROUP):
            p, q = i + np.uint64(r), j + np.uint64(r)
            differ |= np.int64((old_codes[p] ^ new_codes[q]) & TO_SENSOR)
    return differ == 0


@inner_kernel
def _put(rows, i, code, is_told, contacts, sensors, n_contacts, n_sensors):
    """Write a row behind the `n_contacts` or `n_sensors` that are there, by its code.

    Returns how many there are then: `is_told`, 0 or 1, more of its kind. The last row of either
    output is written whenever there is no room.
    """
    # written whether it is told or not: that costs less than a branch nobody can foresee
    if code:
        k = min(n_sensors, np.uint64(sensors.shape[0] - 1))
        sensors[k, 0], sensors[k, 1] = rows[i, 0], rows[i, 1]
        n_sensors += is_told
    else:
        k = min(n_contacts, np.uint64(contacts.shape[0] - 1))
        contacts[k, 0], contacts[k, 1] = rows[i, 0], rows[i, 1]
        n_contacts += is_told
    return n_contacts, n_sensors


@kernel
def compare_rows(
    old, old_codes, new, new_codes, renewed, began, ended, sensor_began, sensor_ended, counts
):
    """Write what began and what ended between rows `old` and `new`, contacts and sensors apart.

    All rows are ``(any, 2)`` int64, `old` and `new` in canonical order; codes are uint8, empty for
    contacts alone. `renewed`, ascending, are ids that mean something else now: their old pairs have
    ended and their new ones begun, even if they are the same. Outputs have a row more than there is
    room for. `counts`, int64 ``(4,)``, becomes how many began, ended, began with a sensor, and
    ended with one, whether there was room or not.
    """
    n_old, n_new = np.uint64(old.shape[0]), np.uint64(new.shape[0])
    one, group = np.uint64(1), np.uint64(_GROUP)
    i = j = np.uint64(0)
    n_began = n_sensor_began = n_ended = n_sensor_ended = np.uint64(0)
    while i < n_old and j < n_new:
        if not renewed.shape[0]:
            # mostly nearly all rows are in both
            while i + group <= n_old and j + group <= n_new:
                if not _are_same(old, old_codes, new, new_codes, i, j):
                    break
                i += group
                j += group
        # where many are not, nobody can foresee which comes first: no branch depends on it
        for _ in range(min(group, n_old - i, n_new - j)):
            a, b = old[i, 0], old[i, 1]
            c, d = new[j, 0], new[j, 1]
            was, now = _code(old_codes, i), _code(new_codes, j)
            # ids are not negative, so that no difference overflows
            is_before = np.uint64(a - c - np.int64(b < d) < 0)  # the row of `old` comes first
            is_after = np.uint64(c - a - np.int64(d < b) < 0)
            differs = is_before | is_after | (was ^ now)
            if renewed.shape[0] and not differs:
                differs = np.uint64(_is_in(renewed, c) or _is_in(renewed, d))
            left, came = differs & (one ^ is_after), differs & (one ^ is_before)
            n_ended, n_sensor_ended = _put(
                old, i, was, left, ended, sensor_ended, n_ended, n_sensor_ended
            )
            n_began, n_sensor_began = _put(
                new, j, now, came, began, sensor_began, n_began, n_sensor_began
            )
            i += one ^ is_after
            j += one ^ is_before
    for r in range(i, n_old):
        n_ended, n_sensor_ended = _put(
            old, r, _code(old_codes, r), one, ended, sensor_ended, n_ended, n_sensor_ended
        )
    for r in range(j, n_new):
        n_began, n_sensor_began = _put(
            new, r, _code(new_codes, r), one, began, sensor_began, n_began, n_sensor_began
        )
    counts[0], counts[1] = n_began, n_ended
    counts[2], counts[3] = n_sensor_began, n_sensor_ended
