"""Checks of answers: missing, shifted, copied or misread ones, and preferences for positions."""
