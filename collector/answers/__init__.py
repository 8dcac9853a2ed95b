"""One file per question: SQL reduces, analytics computes."""
