"""What others can do, built on the spot and run beside appell: `appell bench --peers`.

peer          the face that all peers show, and how a peer says that it cannot
workshop      compilers, headers, and builds that are kept and limited in time
pinocchio_*   Pinocchio from a loop in C++, or from Python where nothing can be built
casadi_c      CasADi's generated C, one sample a call, and for packets of samples
mujoco_c      MuJoCo from a loop in C
gauge         the anchor loop and the peak of the machine
rows          the table: which quantities, how many samples, what is aimed at
contest       one row measured; match: all of them
standing      the figures as JSON, as a table and as Markdown
"""
