"""The public schema: every view with its columns, types and meaning; what import accepts and SQL users rely on.

Types are DuckDB's. A column may hold NULL unless `required`; missing is NULL, never 0.
"""

from signals.views.registry import VIEWS

__all__ = ["VIEWS"]
