"""Exhibits of simulations: estimates beside true values, and trials of estimators."""
