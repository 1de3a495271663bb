"""Movies of a scene as GIF or MP4, and pictures as PNG, rendered in NumPy without a display, GPU or browser.

triangles  all triangles of a scene at a time
canvas     coverage, nearest triangle, transparency and lighting
renderer   pictures: static parts are drawn once, moving parts in front of them; the ground and shadows
captions   title, time and timeline
video      frame times, GIF and MP4
movie      the files
"""
