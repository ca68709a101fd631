"""See docs/structure.md."""
