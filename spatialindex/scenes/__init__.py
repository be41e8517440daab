"""Scenes: recordings of engines and of real data, their files, and seeded generators.

- `spatialindex.scenes.recording`: `Recording`, the boxes of every frame, and what changed in each;
- `spatialindex.scenes.generators`: recordings made from a seed, and `open_scene` for a path or a
  specification such as ``uniform:n=10000,ndim=3``;
- `spatialindex.scenes.fields`, `npz` and `aabbs`: what a recording may hold, and its two files.

Nothing here needs the compiler.
"""
