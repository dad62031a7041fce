"""The model of labels (Dawid and Skene)."""
