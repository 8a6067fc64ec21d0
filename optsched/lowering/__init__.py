"""What a solver does not take natively, as exact linear rows."""
