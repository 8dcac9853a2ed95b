"""The daily curve, the burst, and a band around both."""
