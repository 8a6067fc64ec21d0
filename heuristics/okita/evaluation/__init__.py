"""What the paper's evaluation states, leaves open and draws, and how it is measured."""
