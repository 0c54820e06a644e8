"""What users hold: models, the driver that compiles them, folders, verification, the zoo."""
