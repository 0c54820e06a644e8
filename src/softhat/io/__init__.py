"""Where softhat meets the world: errors people read, files, processes, pictures."""
