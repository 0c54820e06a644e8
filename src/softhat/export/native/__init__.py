"""Labels of softhat's own architecture."""
