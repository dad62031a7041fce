"""Judging on a cluster by Ray Data, with requests and answers as Parquet where all nodes read and write."""
