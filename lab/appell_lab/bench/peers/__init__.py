"""Other programs, built on this machine and measured beside appell: `appell bench --peers`.

peer             the interface of all peers, and the error of a peer that is not available
builds           compilers, headers, and cached builds with a time limit
pinocchio_*      Pinocchio in a C++ loop, or in a Python loop if it cannot be built
casadi_c         CasADi's generated C, for one sample per call and for packets of samples
mujoco_c         MuJoCo in a C loop
rollout_peers    CasADi and MuJoCo for rollouts
machine_speed    the reference loop and the peak of the machine
quantities       the rows of the table: quantities, batch sizes and aims
comparison       measurement of one row
run_peers        measurement of all rows
peer_report      the figures as JSON, as a table and as Markdown
"""
