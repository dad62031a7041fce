"""Vignettes drawn as pictures: layouts, text in many scripts, faces, and the files that judges are sent."""
