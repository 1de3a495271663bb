"""The version of appell, where everything can read it."""

VERSION = "0.1.0"
