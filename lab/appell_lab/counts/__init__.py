"""Operation counts of the formulations, counted as in the papers: for a general arm, as polynomials in its joints."""
