"""The structures, one file or one folder each, with their public classes.

The folder is not called ``structures`` because `spatialindex.structures` is a function.
"""
