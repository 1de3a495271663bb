"""Shafei, Shafei 2018: the algorithm of their Appendix, step by step, branch by branch, as it is printed."""
