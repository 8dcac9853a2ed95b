"""Ad-hoc SQL from people: what may run, for how long, and in which shape the answer goes out."""
