"""Methods based on the Gibbs function, after Mata, Provenzano and Valera, and with 4x4 matrices after Shafei."""
