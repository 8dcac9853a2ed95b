"""Why a latency spike happened."""
