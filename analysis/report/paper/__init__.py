"""What a paper needs: tables and figures to print, checklists, preregistrations, methods, metadata."""

from .paper_tables import PaperTable, tables_of_folder, tables_of_result

__all__ = ["PaperTable", "tables_of_folder", "tables_of_result"]
