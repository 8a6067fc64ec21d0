"""Instances: declared fields, JSON documents, tables, and read-only arrays."""
