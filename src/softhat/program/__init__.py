"""What attention must do: heads and Boolean gates as data, independent of any weights."""
