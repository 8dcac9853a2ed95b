-- What a person says of one incident.
update stored.incidents
set human_verdict = $verdict, human_note = $note
where incident = $incident
