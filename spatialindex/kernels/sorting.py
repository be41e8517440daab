"""Canonical order by linear sorts.

Rows are packed into 64-bit keys, first column high, sorted by a least-significant-digit radix sort
over only the bits that the keys can have, and unpacked::

    rows (2, 5) (0, 3)  with columns below 8  ->  keys 0b010_101 0b000_011  ->  (0, 3) (2, 5)

Where there are many, one pass deals them into buckets by their top digit first: each then sorts
within a near cache, and threads share the buckets.

Linear whatever the scene: a planet that touches everything costs what it costs to list.
Source: Knuth, The Art of Computer Programming 3, section 5.2.5.
"""

import numpy as np

from spatialindex.kernels.jit import allocating_kernel, inner_kernel, kernel

__all__ = [
    "deal_keys",
    "finish_buckets",
    "pack_rows",
    "place_tops",
    "sort_keys",
    "sort_short",
    "unpack_rows",
]

_DIGIT = 12  # bits: 4096 counters stay in the nearest cache
_SHORT = 48  # keys below which insertion beats counting


@kernel
def pack_rows(rows, start, stop, x, first, second, is_pair, bits, keys, top_shift, tops):
    """Pack rows `start` to `stop` of ``(m, 2)`` int32 into keys and count their top digits.

    Column `x` goes high, the other into the low `bits` bits. `first` and `second` are int64 labels
    of the numbers in the high and the low column, or empty for the numbers themselves. With
    `is_pair`, the smaller label goes high. `keys`, uint64 ``(m,)``, may be the memory of `rows`.
    ``tops[key >> top_shift]`` is counted up, unless `tops` is empty.
    """
    shift = np.uint64(bits)
    for i in range(start, stop):
        a = np.int64(rows[i, x])
        b = np.int64(rows[i, 1 - x])
        if first.shape[0]:
            a = first[a]
        if second.shape[0]:
            b = second[b]
        if is_pair and a > b:
            a, b = b, a
        key = (np.uint64(a) << shift) | np.uint64(b)
        keys[i] = key
        if tops.shape[0]:
            tops[np.int64(key >> np.uint64(top_shift))] += 1


@kernel
def place_tops(tops, starts):
    """Turn counts ``(chunks, digits)`` into places: where each chunk writes its first of a digit.

    Writes where each digit begins to `starts`, int64 ``(digits + 1,)``.
    """
    total = np.int64(0)
    for digit in range(tops.shape[1]):
        starts[digit] = total
        for chunk in range(tops.shape[0]):
            here = tops[chunk, digit]
            tops[chunk, digit] = total
            total += here
    starts[tops.shape[1]] = total


@kernel
def deal_keys(keys, start, stop, top_shift, places, out):
    """Write keys `start` to `stop` into `out`, each at the next place of its top digit."""
    for i in range(start, stop):
        key = keys[i]
        digit = np.int64(key >> np.uint64(top_shift))
        out[places[digit]] = key
        places[digit] += 1


@kernel
def unpack_rows(keys, start, stop, bits, first, second, out):
    """Unpack keys `start` to `stop` into the same rows of ``(m, 2)`` int64 `out`.

    `first` and `second` name labels; empty, labels are names.
    """
    shift = np.uint64(bits)
    low = (np.uint64(1) << shift) - np.uint64(1)
    for i in range(start, stop):
        a = np.int64(keys[i] >> shift)
        b = np.int64(keys[i] & low)
        if first.shape[0]:
            a = first[a]
        if second.shape[0]:
            b = second[b]
        out[i, 0] = a
        out[i, 1] = b


@inner_kernel
def sort_short(keys):
    """Sort a handful of keys in place by insertion."""
    for i in range(1, keys.shape[0]):
        key = keys[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


@allocating_kernel
def sort_keys(keys, other, low, bits):
    """Sort uint64 keys by the `bits` bits above the lowest `low`; stable.

    The bits below `low` are in order already and those above are equal. `other` is scratch of the
    same length. Returns the one of `keys` and `other` that holds the sorted keys.
    """
    n = keys.shape[0]
    if n <= _SHORT:
        sort_short(keys)
        return keys
    passes = (bits + _DIGIT - 1) // _DIGIT
    if passes == 0:
        return keys
    digit = (bits + passes - 1) // passes
    size = 1 << digit
    mask = np.uint64(size - 1)
    counts = np.zeros((passes, size), np.int64)
    for i in range(n):
        key = keys[i] >> np.uint64(low)
        for p in range(passes):
            counts[p, np.int64((key >> np.uint64(p * digit)) & mask)] += 1
    for p in range(passes):
        shift = np.uint64(low + p * digit)
        count = counts[p]
        if count[np.int64((keys[0] >> shift) & mask)] == n:
            continue  # one digit value only: nothing to move
        total = 0
        for c in range(size):
            here = count[c]
            count[c] = total
            total += here
        for i in range(n):
            key = keys[i]
            c = np.int64((key >> shift) & mask)
            other[count[c]] = key
            count[c] += 1
        keys, other = other, keys
    return keys


@allocating_kernel
def finish_buckets(keys, other, starts, b, end, top_shift, bits, first, second, out):
    """Sort buckets `b` to `end`, which differ in the bits below `top_shift`, and unpack them."""
    for bucket in range(b, end):
        start, stop = starts[bucket], starts[bucket + 1]
        if start < stop:
            ordered = sort_keys(keys[start:stop], other[start:stop], 0, top_shift)
            unpack_rows(ordered, 0, stop - start, bits, first, second, out[start:stop])
