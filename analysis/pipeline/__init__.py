"""Fitting whole studies: steps, results, the manifest and the folder of results."""
