"""Edits people really made, taken from consecutive releases of packages, as requests to complete them."""
