"""The zoo of robots: trees as TOML files, mechanisms as functions, each with its reference."""
