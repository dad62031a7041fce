"""The bridge to R."""
