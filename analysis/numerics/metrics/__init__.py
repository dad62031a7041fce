"""Metrics of labels and of probabilities: one record each, from which everything else follows."""
