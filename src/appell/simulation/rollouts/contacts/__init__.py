"""Contacts, joint stops and dry friction over abstract scalars, so that a kernel can contain complete steps."""
