"""Checks of provenance: whether what answered is what was asked, and in the way that was asked."""
