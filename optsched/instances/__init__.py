"""Instances: fields and their declaration, documents, tables, and arrays nobody can write to."""
