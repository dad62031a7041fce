"""Commands to begin with: what is installed, examples."""
