"""Films of a scene: GIF, MP4 and PNG, drawn in NumPy with no display, no graphics card and no browser.

poses    where bodies are at a time        eye      from where they are looked at, and what is in the picture
cast     the triangles of a scene          spans    which samples triangles cover
light    the colour of a surface           ground   the grid below, and the shadow on it
plate    what stands still, drawn once     frame    a picture at a time: the plate, and what moves before it
letters  title, time, marks                pace     how fast, and at which times
film     the files
"""
