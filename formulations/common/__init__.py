"""What several papers share: cluster traces and time-shifted problems."""
