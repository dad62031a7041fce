"""What a validation found, in sentences with numbers."""
