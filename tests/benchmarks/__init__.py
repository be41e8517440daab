"""Benchmarks: the library's structures on scenes, beside other libraries, every answer checked.

``python -m tests.benchmarks`` is the command, ``--help`` says what it can do, and
``docs/how-to/benchmarks.md`` how to read it. A *job* (`tests.benchmarks.jobs`) makes *groups* of
*tasks* that answer the same question; `timing` runs the tasks of a group in alternation, and
`report` draws them and writes JSON.
"""
