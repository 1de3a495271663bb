"""Operation counts of the formulations, as in the papers: for a general arm, as polynomials in its number of joints."""
