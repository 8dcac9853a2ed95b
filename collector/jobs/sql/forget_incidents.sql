-- Removes the incidents that are about to be written anew.
delete from stored.incidents
where incident in (select unnest($names))
