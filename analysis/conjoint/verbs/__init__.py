"""The verbs of conjoint analysis."""
