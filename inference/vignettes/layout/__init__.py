"""Layouts: files that describe a picture, and records placed and painted by them."""
