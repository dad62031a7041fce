"""One module per command: options, one call of a layer, one summary."""
