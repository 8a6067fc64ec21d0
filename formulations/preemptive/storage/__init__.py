"""Problems (7) to (9), in which chunks take storage, and what they are checked by."""
