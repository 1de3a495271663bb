"""The screen: a scene of solids that move, as a page in a browser, a file that plays by itself, or a film.

Knows no robots. Who has something to show makes a `Scene` of it; everything here takes a scene and nothing more.
"""
