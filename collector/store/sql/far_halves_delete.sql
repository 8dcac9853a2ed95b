-- Forgets what was noted before of halves that are noted again.
delete from stored.far_halves where sequence in (select sequence from incoming_far)
