"""Who may do what: tokens, rates, and the record of what was done."""
