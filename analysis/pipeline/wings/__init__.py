"""What a fit has of the wings: their analyses as steps, and tables that follow from results."""
