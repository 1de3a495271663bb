"""Films of a scene: GIF, MP4 and PNG, drawn in NumPy with no display, no graphics card and no browser.

course   where bodies are at a time           eye      from where they are looked at, and what is in the frame
cast     all triangles at a time              spans    which samples triangles cover
light    the colour of a surface              canvas   what is nearest in every sample
veils    what is seen through                 ground   the grid, and the shadow on it
studio   pictures: what stands is drawn once, what moves before it
letters  title, time and marks                pace     how fast, and the times of all frames
film     the files, by way of gif and mp4     progress a bar for what takes long
"""
