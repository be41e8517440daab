"""The checks of the conformance suite, by theme.

Every ``check_*`` function takes ``(factory, ndim)`` and raises when an index that
``factory(ndim)`` makes does not keep the contract. `spatialindex.testing.conformance` collects
them; a new check is one function here and needs no list.
"""
