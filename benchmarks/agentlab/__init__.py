"""The agent's laboratory: page server, collector's stand-in, and the machinery that runs a real agent between them."""
