"""Estimates over all judged rows where people labelled rows by the answer of the judge."""
