-- Keeps the grade of one decision.
update stored.recommendations
set grade = $grade
where ts = cast($ts as timestamptz) and pool = $pool
