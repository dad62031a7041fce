"""The tables and figures of a paper by its numbering: published numbers, ours, and what differs."""

from .exhibit_layouts import PaperLayout, read_layout
from .replication_folder import Replication, replicate

__all__ = ["PaperLayout", "Replication", "read_layout", "replicate"]
