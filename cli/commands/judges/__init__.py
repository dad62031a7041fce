"""Commands on how judges agree."""
