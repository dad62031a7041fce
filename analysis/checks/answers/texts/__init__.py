"""Checks of the texts of answers: cut off, misread, in another language, or no answers at all."""
