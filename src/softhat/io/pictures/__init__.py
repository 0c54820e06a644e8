"""Data to figures: one style, one way to save, and a drawing for each kind of data.

Nothing here knows a model: arrays and names come in, a matplotlib figure goes out (the extra
`plot`). So whatever users hold can draw itself, in every room.
"""
