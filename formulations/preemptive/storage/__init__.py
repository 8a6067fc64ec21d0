"""Problems (7) to (9), in which chunks take storage."""
