"""Requests in batches: one backend for the batch interfaces of all providers."""
