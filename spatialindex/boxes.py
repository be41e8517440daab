"""Making and checking boxes."""

from spatialindex.checks import as_boxes, as_points, as_radii

__all__ = ["as_boxes", "as_points", "as_radii"]
