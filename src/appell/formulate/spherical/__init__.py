"""Spherical parallel robots by the equations of Abedloo et al. 2014, written out by hand: no tape is differentiated."""
