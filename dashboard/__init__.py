"""The Streamlit pages; a thin HTTP client of the collector."""
