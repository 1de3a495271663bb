"""Films of a scene: GIF, MP4 and PNG, drawn in NumPy with no display, no graphics card and no browser.

triangles  all triangles of a scene at a time            canvas   coverage, nearest triangle, transparency and light
renderer   pictures: what stands still is drawn once, what moves in front of it; the ground and shadows
captions   title, time and marks                         video    times of frames, GIF and MP4
film       the files
"""
