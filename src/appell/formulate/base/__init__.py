"""Base parameters: the combinations of a system's parameters that its forces depend on, and no others.

structure    which changes of the parameters no joint feels, read off a tree without sampling it
choice       which columns of the regressor are kept, and what is added to their parameters
reduction    both, for the equations of any system
"""
