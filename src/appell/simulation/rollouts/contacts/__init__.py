"""Contacts, joint stops and dry friction over abstract scalars, so that whole steps with them fit into one kernel."""
