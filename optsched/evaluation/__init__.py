"""What methods make of an instance, and how far from its optimum that is."""
