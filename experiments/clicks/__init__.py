"""Tables of the second paper, on clicks."""
