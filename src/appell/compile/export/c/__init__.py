"""Functions as C99, to the last bit.

source        CSource, what `Function.to_c` gives: a file and its header
page          the two texts: the function for one sample, the function for batches
signature     arguments and results as C spells them          names    what C takes as a name
straight      a tape as statements                            looped   a program as loops
body          what is asked of either
statements    the emitters of the machine code, in C's words
library       sine, cosine and arctangent, which the file brings along
carried       a step that remembers, with its struct
"""
