"""CP-SAT, by its protocol buffers."""
