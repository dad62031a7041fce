"""Made-up data for tests; README.md in the folder above maps it."""
