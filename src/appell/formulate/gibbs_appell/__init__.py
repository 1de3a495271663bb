"""Dynamics from the Gibbs function, after Mata, Provenzano, Valera and Shafei."""
