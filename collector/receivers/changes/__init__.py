"""What people and controllers did: one file per shape in which they tell it."""
