"""Canonical order by linear sorts.

Rows are packed into keys of 64 bits, or of 32 where they fit, first column high, sorted by a
least-significant-digit radix sort over only the bits that the keys can have, and unpacked::

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
    "name_rows",
    "order_rows",
    "pack_rows",
    "place_tops",
    "sort_keys",
    "sort_short",
    "unpack_rows",
]

_DIGIT = 12  # bits: 4096 counters stay in the nearest cache,
_WIDE_DIGIT = 14  # but a pass less is worth more where keys are as many as these counters
_NARROW_DIGIT = 8  # and where keys are few, most of the time would go into counters
_FEW = 400  # keys below which it would: 150 keys of 28 bits take 1.7 instead of 2.2 us
_SHORT = 48  # keys below which insertion beats counting


@inner_kernel
def _labels(rows, i, x, first, second, is_pair):
    """Return the labels of row `i`, see `pack_rows`."""
    # unsigned all along: places that cannot be negative take no test if they count from the end
    a = np.uint64(np.uint32(rows[i, x]))
    b = np.uint64(np.uint32(rows[i, 1 - x]))
    if first.shape[0]:
        a = np.uint64(first[a])
    if second.shape[0]:
        b = np.uint64(second[b])
    if is_pair:
        a, b = min(a, b), max(a, b)
    return a, b


@inner_kernel
def _write_names(out, i, a, b, first, second):
    """Write the ids of two labels to row `i`; `first` and `second` are as in `unpack_rows`."""
    out[i, 0] = first[a] if first.shape[0] else np.int64(a)
    out[i, 1] = second[b] if second.shape[0] else np.int64(b)


@kernel
def name_rows(rows, start, stop, x, labels, names, is_pair, out):
    """Write rows `start` to `stop` as ids, in the order they are in, to the same rows of `out`.

    `labels` and `names` are two arrays each, as `pack_rows` and `unpack_rows` take them.
    """
    for i in range(start, stop):
        a, b = _labels(rows, i, x, labels[0], labels[1], is_pair)
        _write_names(out, i, a, b, names[0], names[1])


@kernel
def pack_rows(rows, start, stop, x, labels, is_pair, bits, keys, top_shift, tops):
    """Pack rows `start` to `stop` of ``(m, 2)`` int32 into keys and count their top digits.

    Column `x` goes high, the other into the low `bits` bits. `labels` are int64 labels of the
    numbers in the high and the low column, or empty for the numbers themselves. With `is_pair`,
    the smaller label goes high. `keys`, uint64 or uint32 ``(m,)``, may be in the memory of `rows`.
    ``tops[key >> top_shift]`` is counted up, unless `tops` is empty.
    """
    shift = np.uint64(bits)
    for i in range(start, stop):
        a, b = _labels(rows, i, x, labels[0], labels[1], is_pair)
        key = (a << shift) | b
        keys[i] = key
        if tops.shape[0]:
            tops[key >> np.uint64(top_shift)] += 1


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
        digit = key >> np.uint64(top_shift)
        place = places[digit]
        out[np.uint64(place)] = key
        places[digit] = place + 1


@kernel
def unpack_rows(keys, start, stop, bits, names, out):
    """Unpack keys `start` to `stop` into the same rows of ``(m, 2)`` int64 `out`.

    `names` are the ids of labels in the first and in the second column; empty, labels are ids.
    """
    shift = np.uint64(bits)
    low = (np.uint64(1) << shift) - np.uint64(1)
    for i in range(start, stop):
        key = np.uint64(keys[i])
        _write_names(out, i, key >> shift, key & low, names[0], names[1])


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
    """Sort fewer than 2**32 keys, uint64 or uint32, by the `bits` above the lowest `low`; stable.

    The bits below `low` are in order already and those above are equal. `other` is scratch of the
    same length. Returns the one of `keys` and `other` that holds the sorted keys.
    """
    n = keys.shape[0]
    if n <= _SHORT:
        sort_short(keys)
        return keys
    widest = _DIGIT if n < (1 << _WIDE_DIGIT) else _WIDE_DIGIT
    if n < _FEW:
        widest = _NARROW_DIGIT
    passes = (bits + widest - 1) // widest
    if passes == 0:
        return keys
    digit = (bits + passes - 1) // passes
    size = 1 << digit
    mask = np.uint64(size - 1)
    counts = np.zeros((passes, size), np.uint32)
    for p in range(passes):
        # one digit at a time: counting all of them in one pass takes twice as long
        shift, count = np.uint64(low + p * digit), counts[p]
        for i in range(n):
            count[(np.uint64(keys[i]) >> shift) & mask] += np.uint32(1)
    for p in range(passes):
        shift, count = np.uint64(low + p * digit), counts[p]
        if count[(np.uint64(keys[0]) >> shift) & mask] == n:
            continue  # one digit value only: nothing to move
        total = np.uint32(0)
        for c in range(size):
            here = count[c]
            count[c] = total
            total += here
        for i in range(n):
            key = keys[i]
            c = (np.uint64(key) >> shift) & mask
            place = count[c]
            other[place] = key
            count[c] = place + np.uint32(1)
        keys, other = other, keys
    return keys


@allocating_kernel
def order_rows(rows, x, labels, names, is_pair, bits, key_bits, keys, other, out):
    """Write all rows as ids in canonical order to `out`, ``(m, 2)`` int64.

    Arguments are those of `pack_rows` and `unpack_rows`; keys have `key_bits` bits, and `other` is
    scratch as long as they, which may be the memory of `rows` behind `keys`.
    """
    n = rows.shape[0]
    tops = np.empty(0, np.int64)
    pack_rows(rows, 0, n, x, labels, is_pair, bits, keys, 0, tops)
    unpack_rows(sort_keys(keys, other, 0, key_bits), 0, n, bits, names, out)


@allocating_kernel
def finish_buckets(keys, other, starts, b, end, top_shift, bits, names, out):
    """Sort buckets `b` to `end`, which differ in the bits below `top_shift`, and unpack them."""
    for bucket in range(b, end):
        start, stop = starts[bucket], starts[bucket + 1]
        if start < stop:
            ordered = sort_keys(keys[start:stop], other[start:stop], 0, top_shift)
            unpack_rows(ordered, 0, stop - start, bits, names, out[start:stop])
