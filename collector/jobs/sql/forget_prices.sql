-- Removes the prices that are about to be written anew.
delete from stored.prices
