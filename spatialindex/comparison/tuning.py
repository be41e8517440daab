"""`tune`: figures against a declared parameter of a structure."""

from __future__ import annotations

from spatialindex.comparison.curves import NEAR_BEST, Curve, CurvePoint

__all__ = ["NEAR_BEST", "Curve", "CurvePoint"]
