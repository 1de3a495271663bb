"""Trees with flexible links: kinematics of nodes, the Gibbs function, and recursions for its derivatives."""
