"""The zoo: trees as TOML files, mechanisms as functions that make them, each with its source."""
