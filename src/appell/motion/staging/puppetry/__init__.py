"""How a system is moved by hand: its sliders, the frames that can be dragged, and how it follows them."""
