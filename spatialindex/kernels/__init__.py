"""Compiled functions over plain arrays; no classes, no input checking, no errors raised."""
