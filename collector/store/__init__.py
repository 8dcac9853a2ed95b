"""The DuckDB file: schema, writer, reader."""
