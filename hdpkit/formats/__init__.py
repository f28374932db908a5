"""Files that are read and written: one module for each format, and what they share."""
